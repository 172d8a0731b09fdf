//! Every deliberate fault is found: by random programs, within a bounded number of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{configs, transformed};
use cotan_bot::{Fault, Options};
use cotan_ir::Program;
use cotan_testkit::{Oracle, Rng, generate, scaled};

/// What became of a program under a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The fault changed nothing.
    Same,
    /// The result is another program with the same meaning on the inputs tried.
    Harmless,
    /// An error, or another meaning.
    Wrong,
}

/// Transforms a program with a fault and compares.
fn verdict(program: &Program, fault: Option<Fault>, oracle: &Oracle, rng: &mut Rng) -> Verdict {
    let options = Options { fault, ..Options::default() };
    let Ok(result) = transformed(program, &options) else { return Verdict::Wrong };
    if fault.is_some() {
        let sound = transformed(program, &Options::default());
        if sound.is_ok_and(|sound| sound.to_string() == result.to_string()) {
            return Verdict::Same;
        }
    }
    match oracle.compare(program, &result, rng) {
        Ok(()) => Verdict::Harmless,
        Err(_) => Verdict::Wrong,
    }
}

/// The most programs a fault may survive.
const BOUND: usize = 10_000;

/// How many programs it takes to find a fault.
fn programs_until_found(fault: Fault) -> Option<usize> {
    let (oracle, configs) = (Oracle::exact(), configs());
    let seed = 1_000_000 * (1 + fault as u64);
    (0..scaled(BOUND)).find(|&n| {
        let rng = &mut Rng::new(seed + n as u64);
        let program = generate(&configs[n % configs.len()], rng).expect("a program");
        verdict(&program, Some(fault), &oracle, rng) == Verdict::Wrong
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
        assert_ne!(verdict(&program, None, &oracle, rng), Verdict::Wrong, "{program}");
    }
}
