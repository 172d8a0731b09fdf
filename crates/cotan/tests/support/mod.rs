//! The oracles for functions of the library.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::panic, reason = "tests")]

pub mod plain;

use cotan::{Feed, Function, compile_like};
use cotan_array::Array;
use cotan_cpu::{Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_testkit::{Equality, Rng, check_gradients, first_difference, run_program};

/// Checks a smooth function at arguments: see [`check_gradients`].
#[track_caller]
pub fn check<F: Function<M>, M>(f: F, args: impl Feed<F::Args>) {
    check_with(f, args, true);
}

/// Checks a function that has kinks or jumps: everything but differences.
#[track_caller]
pub fn check_rough<F: Function<M>, M>(f: F, args: impl Feed<F::Args>) {
    check_with(f, args, false);
}

#[track_caller]
fn check_with<F: Function<M>, M>(f: F, args: impl Feed<F::Args>, smooth: bool) {
    let fed = args.feed();
    let compiled = match compile_like(f, fed.clone()) {
        Ok(compiled) => compiled,
        Err(error) => panic!("{error}"),
    };
    let inputs: Vec<Value> = fed.arrays.iter().map(Value::from).collect();
    let mut rng = Rng::new(inputs.len() as u64 + 7);
    if let Err(message) = check_gradients(compiled.source(), &inputs, smooth, &mut rng) {
        panic!("{message}");
    }
    check_machine(compiled.program(), &fed.arrays, &inputs);
}

/// The machine gives what the interpreter gives: to the last bit with sums in order, and up to the
/// rounding of sums in an order of its own.
#[track_caller]
fn check_machine(program: &Program, arrays: &[Array], inputs: &[Value]) {
    let Ok(in_order) = Executable::in_order(program) else { return };
    let expected = run_program(program, inputs, Mode::Ieee).unwrap_or_default();
    for (machine, equality) in
        [(Ok(in_order), Equality::Bits), (Executable::new(program), Equality::ScaledUlps(256))]
    {
        let ran = machine.map(|machine| machine.run(arrays, &RunLimits::default()));
        let Ok(Ok(found)) = ran else { panic!("{ran:?} of\n{program}") };
        let found: Vec<Value> = found.iter().map(Value::from).collect();
        if let Some(difference) = first_difference(&expected, &found, equality) {
            panic!("the machine differs: {difference}\nof\n{program}");
        }
    }
}
