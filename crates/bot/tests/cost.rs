//! The transformed program does at most a constant times the work of the source.

mod common;

use common::configs;
use cotan_bot::{Options, bulk};
use cotan_interp::{Interp, Options as Run};
use cotan_ir::Program;
use cotan_testkit::{InputKind, Rng, generate, inputs_for, scaled};

/// The work of a strict run: both branches of each conditional.
fn work(program: &Program, rng: &Rng) -> u64 {
    let inputs = inputs_for(program, &mut rng.clone(), InputKind::SmallIntegers).expect("inputs");
    let options = Run { strict: true, ..Run::default() };
    Interp::new(program).with_options(options).run(&inputs).expect("a run").counts.work()
}

#[test]
fn work_is_bounded_in_random_programs() {
    let configs = configs();
    let mut worst: Vec<(f64, String)> = Vec::new();
    for n in 0..scaled(3000) {
        let rng = &mut Rng::new(9_000_000 + n as u64);
        let program = generate(&configs[n % configs.len()], rng).expect("a program");
        let (result, _) = bulk(&program, &Options::default()).expect("a result");
        let (before, after) = (work(&program, rng), work(&result, rng));
        let ratio = after as f64 / (before as f64 + 200.0);
        worst.push((ratio, format!("{before} {after}\n{program}---\n{result}")));
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (ratio, text) in worst.iter().take(6) {
        println!("{ratio} {text}");
    }
    assert!(worst[0].0 < 3.0);
}
