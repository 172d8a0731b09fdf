//! Optimised gradients on the machine: they have a plan, give the interpreter's results, and need
//! less memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{configs, optimised};
use cotan_array::Array;
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_opt::Options;
use cotan_pipeline::{Derivative, derive};
use cotan_syntax::parse_program;
use cotan_testkit::{
    Equality, InputKind, bulk, derived, first_difference, for_each_case, generate, inputs_for,
    run_program,
};

fn arrays(values: &[Value]) -> Vec<Array> {
    values.iter().map(|v| v.to_array().unwrap()).collect()
}

/// What had a plan has one, and the machine agrees with the interpreter on what is optimised.
#[test]
fn the_machine_runs_what_is_optimised() {
    let configs = configs();
    for_each_case("optimised on the machine", 600, |rng| {
        let config = &configs[rng.below(configs.len())];
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let before = derived(&program, Derivative::Vjp)?;
        let after = optimised(&before, &Options::default())?;
        if Executable::in_order(&before).is_err() {
            return Ok(());
        }
        let executable = Executable::in_order(&after)
            .map_err(|e| format!("{e:?}: no plan of\n{after}though of\n{before}"))?;
        let inputs = inputs_for(&after, rng, InputKind::Special).map_err(|e| e.to_string())?;
        let expected = run_program(&after, &inputs, Mode::Ieee).map_err(|e| e.to_string())?;
        let found = executable.run(&arrays(&inputs), &RunLimits::default());
        let found: Vec<Value> =
            found.map_err(|e| format!("{e:?}"))?.iter().map(Value::from).collect();
        match first_difference(&expected, &found, Equality::Bits) {
            None => Ok(()),
            Some(difference) => Err(format!("{difference}\nof\n{after}")),
        }
    });
}

/// Machine code and the tile machine give the same bits of what is optimised, in both orders of sums,
/// in large and in tiny blocks.
#[test]
fn both_engines_agree_on_what_is_optimised() {
    let configs = configs();
    for_each_case("optimised on both engines", 600, |rng| {
        let config = &configs[rng.below(configs.len())];
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let program =
            if rng.chance(50) { bulk(&program)? } else { derived(&program, Derivative::Vjp)? };
        let program = optimised(&program, &Options::default())?;
        for kind in [InputKind::Generic, InputKind::Special] {
            let inputs = inputs_for(&program, rng, kind).map_err(|e| e.to_string())?;
            let inputs = arrays(&inputs);
            for plan in [Executable::planned, Executable::in_tiny_blocks] {
                for in_order in [false, true] {
                    let run = |engine: Engine| {
                        let executable = plan(&program, in_order, engine).ok()?;
                        let found = executable.run(&inputs, &RunLimits::default()).unwrap();
                        Some(found.iter().map(Value::from).collect::<Vec<_>>())
                    };
                    let (Some(wanted), Some(found)) = (run(Engine::Machine), run(Engine::Native))
                    else {
                        return Ok(());
                    };
                    if let Some(difference) = first_difference(&wanted, &found, Equality::Bits) {
                        return Err(format!("in order: {in_order}, {difference}\nof\n{program}"));
                    }
                }
            }
        }
        Ok(())
    });
}

/// The gradients of `logsumexp` and `softmax` need no position, that of pooling does. Their plans are
/// files in `crates/pipeline/tests/plans`.
#[test]
fn maxima_are_reductions_where_nothing_needs_the_position() {
    let optimised_gradient = |text: &str| {
        let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
        let gradient = derive(&program, Derivative::ValueAndGrad, None).unwrap();
        optimised(&gradient, &Options::default()).unwrap()
    };
    let rows = "def main(x: [300, 40]f64) = sum(build 300 (i => logsumexp(x[i])))";
    let columns = "def main(x: [40, 300]f64) = sum(logsumexp(x, axis = 0))";
    let softmax = "def main(x: [300, 40]f64, w: [300, 40]f64) =
        sum(build 300 (i => sum(softmax(x[i]) * w[i])))";
    for text in [rows, columns, softmax] {
        let gradient = optimised_gradient(text);
        assert!(!gradient.to_string().contains("argmax"), "{gradient}");
    }
    let pooling = "def main(x: [400]f64) = sum(build 50 (i => max(build 8 (j => x[8 * i + j]))))";
    let gradient = optimised_gradient(pooling);
    assert!(gradient.to_string().contains("argmax"), "{gradient}");
}

#[test]
fn gradients_take_less_memory() {
    let programs = [
        ("dot", "def main(a: [20000]f64, b: [20000]f64) = sum(build 20000 (i => a[i] * b[i]))"),
        (
            "matrix product",
            "def main(a: [60, 50]f64, b: [50, 40]f64) = sum(build (60, 40) ((i, j) => square(sum(build 50 (k => a[i, k] * b[k, j])))))",
        ),
        (
            "convolution",
            "def main(x: [20000]f64, w: [9]f64) = sum(build 19992 (i => square(sum(build 9 (j => x[i + j] * w[j])))))",
        ),
        (
            "stencil",
            "def main(u: [100, 100]f64) = sum(fold(u, (), (u, _) => build (100, 100) ((i, j) => 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])), length = 10))",
        ),
        (
            "pairwise energies",
            "def main(p: [200, 3]f64) = sum(build (200, 200) ((i, j) => exp(-sum(square(p[i] - p[j])))))",
        ),
        (
            "nearest centre",
            "def main(x: [2000, 4]f64, c: [20, 4]f64) = sum(build 2000 (i => let d = build 20 (j => sum(square(x[i] - c[j]))) in d[argmin(d)]))",
        ),
        (
            "recurrent network",
            "def main(w: [40, 40]f64, u: [40, 30]f64, xs: [70, 30]f64) = sum(fold(zeros([40]), xs, (h, x) => build 40 (i => tanh(sum(build 40 (j => w[i, j] * h[j])) + sum(build 30 (k => u[i, k] * x[k]))))))",
        ),
    ];
    for (name, text) in programs {
        let program = parse_program(text).unwrap_or_else(|_| panic!("{name} does not parse"));
        let before = derive(&program, Derivative::ValueAndGrad, None).unwrap();
        let after = optimised(&before, &Options::default()).unwrap();
        let bytes = |program: &Program| Executable::new(program).unwrap().workspace_bytes();
        let (large, small) = (bytes(&before), bytes(&after));
        println!("{name:20} {large} bytes before, {small} after");
        assert!(small < large || large == 0, "{name}: {small} of {large}\n{after}");
    }
}
