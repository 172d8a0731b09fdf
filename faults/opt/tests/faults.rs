//! Every deliberate fault is found: by random programs and their derivatives, within a bounded number
//! of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{configs, exact, optimised};
use cotan_opt::{Fault, Options};
use cotan_pipeline::Derivative;
use cotan_testkit::{Oracle, Rng, derived, generate, scaled};

/// The most programs a fault may survive.
const BOUND: usize = 20_000;

/// Whether a fault makes itself felt in a program.
fn is_found(n: usize, seed: u64, fault: Option<Fault>) -> bool {
    let (oracle, configs) = (Oracle::exact(), configs());
    let rng = &mut Rng::new(seed + n as u64);
    let program = generate(&configs[n % configs.len()], rng).expect("a program");
    let kind = if n.is_multiple_of(2) { Derivative::Vjp } else { Derivative::Jvp };
    let program = derived(&program, kind).expect("a derivative");
    match optimised(&program, &Options { fault, ..exact() }) {
        Err(_) => true,
        Ok(result) => oracle.compare(&program, &result, rng).is_err(),
    }
}

#[test]
fn every_fault_is_found() {
    let mut survivors = Vec::new();
    for &fault in Fault::ALL {
        let seed = 1_000_000 * (1 + fault as u64);
        match (0..scaled(BOUND)).find(|&n| is_found(n, seed, Some(fault))) {
            Some(n) => println!("{fault:?} is found after {} programs", n + 1),
            None => survivors.push(fault),
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:?}");
}

#[test]
fn without_a_fault_nothing_is_found() {
    for n in 0..200 {
        assert!(!is_found(n, 77_000_000, None), "{n}");
    }
}
