//! The oracles for functions of the library.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::panic, reason = "tests")]

pub mod plain;

use cotan::{Feed, Function, compile_like};
use cotan_interp::Value;
use cotan_testkit::{Rng, check_gradients};

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
    let compiled = compile_fed(f, &fed);
    let inputs: Vec<Value> = fed.arrays.iter().map(Value::from).collect();
    let mut rng = Rng::new(inputs.len() as u64 + 7);
    if let Err(message) = check_gradients(&compiled, &inputs, smooth, &mut rng) {
        panic!("{message}");
    }
}

#[track_caller]
fn compile_fed<F: Function<M>, M>(f: F, fed: &cotan::structure::Fed) -> cotan_ir::Program {
    match compile_like(f, fed.clone()) {
        Ok(compiled) => compiled.source().clone(),
        Err(error) => panic!("{error}"),
    }
}
