//! Machine code against the tile machine, on random programs and their derivatives: the results are
//! the same to the last bit, whatever the data and the order of sums.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::{Array, Shape};
use cotan_cpu::{Engine, Executable, RunLimits, Unsupported};
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Equality, InputKind, Rng, first_difference, for_each_case, generate, inputs_for,
};

type Plan = fn(&Program, bool, Engine) -> Result<Executable, Unsupported>;

fn run(program: &Program, plan: Plan, how: (bool, Engine), inputs: &[Array]) -> Option<Vec<Value>> {
    Some(run_planned(plan(program, how.0, how.1).ok()?, how.1, inputs))
}

fn run_planned(executable: Executable, engine: Engine, inputs: &[Array]) -> Vec<Value> {
    // Memory that nothing was written to is different for each engine.
    let stale = if engine == Engine::Native { 0xff } else { 0x7e };
    let found = executable.with_stale_memory(stale).run(inputs, &RunLimits::default()).unwrap();
    found.iter().map(Value::from).collect()
}

fn agree(program: &Program, plan: Plan, rng: &mut Rng) -> Result<(), String> {
    for kind in [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special] {
        let Ok(inputs) = inputs_for(program, rng, kind) else { return Ok(()) };
        let inputs: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
        for in_order in [false, true] {
            let wanted = run(program, plan, (in_order, Engine::Machine), &inputs);
            let found = run(program, plan, (in_order, Engine::Native), &inputs);
            let (Some(wanted), Some(found)) = (wanted, found) else { return Ok(()) };
            if let Some(difference) = first_difference(&wanted, &found, Equality::Bits) {
                return Err(format!("in order: {in_order}, {kind:?}: {difference}\nof\n{program}"));
            }
        }
    }
    Ok(())
}

fn check(name: &str, count: usize, make: impl Fn(&Program) -> Option<Program>) {
    for_each_case(name, count, |rng| {
        let phrases = if rng.chance(50) { 50 } else { 0 };
        let config = Config { phrases, ..Config::default() };
        let program = generate(&config, rng).map_err(|e| e.to_string())?;
        let Some(program) = make(&program) else { return Ok(()) };
        agree(&program, Executable::planned, rng)?;
        agree(&program, Executable::in_tiny_blocks, rng)
    });
}

#[test]
fn on_programs_in_bulk_operations() {
    check("engines.bulk", 600, |p| Pipeline::new(&[Pass::BULK]).run(p).ok());
}

#[test]
fn on_derivatives() {
    check("engines.vjp", 300, |p| derive(p, Derivative::Vjp, None).ok());
    check("engines.jvp", 200, |p| derive(p, Derivative::Jvp, None).ok());
}

/// Which products look for zeros is decided by the arrays, whoever runs the nests: in short groups,
/// and in loops that are nothing but such groups.
#[test]
fn on_groups_that_look_at_their_arrays() {
    let once = "def main(x: f32, y: [2]f32) =
        let b = y * replicate(x, 2)
        in b - scale(scale(b, replicate(x, 2)), replicate(x, 2))";
    let in_a_loop = "def main(x: f32, y: [2]f32) =
        let m = map_accum((y,), (), ((s,), ()) =>
          let b = s * replicate(x, 2)
          in ((b - scale(scale(b, replicate(x, 2)), replicate(x, 2)),), ()), length = 2)
        in m.0.0";
    for text in [once, in_a_loop] {
        let program = cotan_syntax::parse_program(text).unwrap();
        let mut different = false;
        let special = [0.0, -0.0, 1e-20, f32::MAX, f32::INFINITY, f32::NAN];
        // Products that are rounded together with a sum are others in about half of the cases.
        let ordinary = (0..40).map(|k| 0.377 * k as f32 - 7.3);
        for x in special.into_iter().chain(ordinary) {
            for y in [[0.0, -0.0], [0.7, -6.6], [6.532_104, 3e7], [f32::NAN, 1.0]] {
                let shape = Shape::new("test", &[2]).unwrap();
                let inputs = [Array::scalar(x), Array::from_slice(shape, &y).unwrap()];
                let [machine, native] = [Engine::Machine, Engine::Native].map(|engine| {
                    let planned = Executable::in_tiny_blocks(&program, false, engine).unwrap();
                    different |= planned.kernels(&program).contains("moderate");
                    run_planned(planned, engine, &inputs)
                });
                let difference = first_difference(&machine, &native, Equality::Bits);
                assert!(difference.is_none(), "{x} and {y:?}: {difference:?}\nof\n{program}");
            }
        }
        assert!(different, "no group looks at its arrays");
    }
}
