//! Machine code against the tile machine, on random programs and their derivatives: the results are
//! the same to the last bit, whatever the data and the order of sums.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::Array;
use cotan_exec::{Engine, Executable, RunLimits, Unsupported};
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Equality, InputKind, Rng, first_difference, for_each_case, generate, inputs_for,
};

type Plan = fn(&Program, bool, Engine) -> Result<Executable, Unsupported>;

fn run(program: &Program, plan: Plan, how: (bool, Engine), inputs: &[Array]) -> Option<Vec<Value>> {
    let executable = plan(program, how.0, how.1).ok()?;
    let found = executable.run(inputs, &RunLimits::default()).unwrap();
    Some(found.iter().map(Value::from).collect())
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
