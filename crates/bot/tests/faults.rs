//! Every deliberate fault is found: by random programs, within a bounded number of them.

mod common;

use common::Verdict;
use cotan_bot::Fault;
use cotan_testkit::{Config, Former, Oracle, Rng, generate, scaled};

/// The most programs a fault may survive.
const BOUND: usize = 6000;

/// The programs in which a fault is looked for: all kinds, or those of the formers it concerns.
fn config(n: usize) -> Config {
    let config = match n % 3 {
        0 => Config::default(),
        1 => Config::integers(),
        _ => Config::ring(),
    };
    match n % 2 {
        0 => config,
        _ => config.without(&[Former::ArgExtreme, Former::ArgSort, Former::Iota]),
    }
}

/// How many programs it takes to find a fault.
fn programs_until_found(fault: Fault) -> Option<usize> {
    let oracle = Oracle::exact();
    let seed = 1_000_000 * (1 + fault as u64);
    (0..scaled(BOUND)).find(|&n| {
        let rng = &mut Rng::new(seed + n as u64);
        let program = generate(&config(n), rng).expect("a program");
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
    let oracle = Oracle::exact();
    for n in 0..300 {
        let rng = &mut Rng::new(n);
        let program = generate(&config(n as usize), rng).expect("a program");
        assert_ne!(common::verdict(&program, None, &oracle, rng), Verdict::Wrong, "{program}");
    }
}
