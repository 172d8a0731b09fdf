//! Every deliberate fault is found: by random programs, within a bounded number of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{Verdict, configs};
use cotan_bot::Fault;
use cotan_testkit::{Oracle, Rng, generate, scaled};

/// The most programs a fault may survive.
const BOUND: usize = 10_000;

/// How many programs it takes to find a fault.
fn programs_until_found(fault: Fault) -> Option<usize> {
    let (oracle, configs) = (Oracle::exact(), configs());
    let seed = 1_000_000 * (1 + fault as u64);
    (0..scaled(BOUND)).find(|&n| {
        let rng = &mut Rng::new(seed + n as u64);
        let program = generate(&configs[n % configs.len()], rng).expect("a program");
        common::verdict(&program, Some(fault), &oracle, rng) == Verdict::Wrong
    })
}

#[test]
fn every_fault_is_found() {
    assert!(Fault::ALL.len() >= 40);
    let mut survivors = Vec::new();
    for &fault in Fault::ALL {
        match programs_until_found(fault) {
            Some(n) => println!("{fault:?} is found after {} programs", n + 1),
            None => survivors.push(fault),
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:?}");
}

#[test]
fn without_a_fault_nothing_is_found() {
    let (oracle, configs) = (Oracle::exact(), configs());
    for n in 0..300 {
        let rng = &mut Rng::new(n);
        let program = generate(&configs[n as usize % configs.len()], rng).expect("a program");
        assert_ne!(common::verdict(&program, None, &oracle, rng), Verdict::Wrong, "{program}");
    }
}
