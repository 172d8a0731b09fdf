//! Loops over scalars as one function, against the interpreter.

use cotan_interp::{Mode, Value};
use cotan_nest::Step;
use cotan_syntax::parse_program;
use cotan_testkit::{Equality, InputKind, Rng, first_difference, inputs_for, run_program};

use crate::compiled::CompiledGroup;
use crate::limits::RunLimits;
use crate::run::Executable;

/// How many loops of some steps are one function.
fn whole(steps: &[Step<CompiledGroup>]) -> usize {
    let of = |step: &Step<CompiledGroup>| match step {
        Step::Loop(l) => {
            whole(&l.steps)
                + usize::from(l.schedule.tight.as_ref().is_some_and(|t| t.whole.is_some()))
        }
        _ => 0,
    };
    steps.iter().map(of).sum()
}

/// Programs, and how many of their loops are over scalars.
const PROGRAMS: [(&str, usize); 14] = [
    ("def main(x: [9]f64) = map_accum(0.5, x, (s, v) => (s * 0.99 + v, s * v))", 1),
    ("def main(x: [9]f64) = map_accum(0.5, x, (s, v) => (s * v - s, s), reverse = true)", 1),
    ("def main(x: [1]f64, a: f64) = fold(a, x, (s, v) => s * v)", 1),
    // Many more steps than are taken at a time.
    ("def main(x: [150000]f64) = map_accum(0.5, x, (s, v) => (s * 0.5 + v, s - v))", 1),
    ("def main(x: [150001]f64) = fold(0.5, x, (s, v) => v - s * 0.5, reverse = true)", 1),
    // States that go from one to the other, and one that stays.
    (
        "def main(x: [8]f64, c: f64) =
           map_accum((0.0, 1.0, c), x, ((a, b, c), v) => ((b, a * 0.5 + v, c), a * c))",
        1,
    ),
    ("def main(x: [7]f64) = map_accum((1.0, 2.0), x, ((a, b), v) => ((b, a), a - b * v))", 1),
    // All types.
    (
        "def main(x: [6]f64, k: [6]i64, y: [6]f32) =
           map_accum((true, 1, 0.5f32), (x, k, y), ((p, n, z), (v, m, w)) =>
             ((not p, n * 3 + m, if p then z * w else w), (p, n, z, if p then v else -v)))",
        1,
    ),
    ("def main(x: [9]f64) = map_accum(0.5, x, (s, v) => (sin(s) + exp(-v * v), tanh(v) ** 3))", 1),
    // Rows of several elements, and elements that are not there.
    (
        "def main(x: [5, 3]f64, w: [4]f64) =
           map_accum(w[1], x, (s, v) => (s * w[3] + v[0] * v[2] - v[1], v[2] + w[2]))",
        1,
    ),
    // A loop in a loop, which begins anew in each step.
    (
        "def main(x: [4, 6]f64) =
           map_accum(1.0, x, (s, row) => (s * 0.5 + fold(s, row, (a, v) => a * 0.5 - v), s))",
        1,
    ),
    // These are not: vectors, sums, and places that are computed.
    ("def main(x: [5, 3]f64) = fold(zeros([3]), x, (s, v) => s * 0.5 + v)", 0),
    ("def main(x: [5, 40]f64) = fold(0.0, x, (s, v) => s * 0.5 + sum(v))", 0),
    ("def main(k: [5]i64, w: [9]f64) = fold(0.0, k, (s, i) => s * 0.5 + w[i])", 0),
];

#[test]
fn loops_over_scalars() {
    for (text, expected) in PROGRAMS {
        let program = parse_program(text).unwrap_or_else(|_| panic!("does not parse: {text}"));
        let program = cotan_pipeline::Pipeline::new(&[cotan_pipeline::Pass::BULK]).run(&program);
        let program = program.unwrap();
        let executable = Executable::in_order(&program).unwrap();
        if super::super::isa::best().is_some() {
            assert_eq!(whole(&executable.plan.steps), expected, "{text}");
        }
        let rng = &mut Rng::new(7);
        for kind in [InputKind::Generic, InputKind::Special, InputKind::SmallIntegers] {
            let inputs = inputs_for(&program, rng, kind).unwrap();
            let wanted = run_program(&program, &inputs, Mode::Ieee).unwrap();
            let arrays: Vec<_> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
            // Twice, as nothing of a run may be left for the next.
            for _ in 0..2 {
                let found = executable.run(&arrays, &RunLimits::default()).unwrap();
                let found: Vec<Value> = found.iter().map(Value::from).collect();
                if let Some(difference) = first_difference(&wanted, &found, Equality::Bits) {
                    panic!("{kind:?}: {difference}\nof\n{text}");
                }
            }
        }
    }
}
