//! The machine against the reference interpreter, on random programs and their derivatives.
//!
//! With sums in order every bit is the same, whatever the data. In the machine's own order sums of
//! small integers are the same, because they are exact.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::Array;
use cotan_cpu::{Engine, Executable, RunLimits, Unsupported};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Data, Equality, InputKind, Rng, exact, first_difference, for_each_case, generate,
    inputs_for, run_program, shrink,
};

fn blocks(program: &Program) -> Result<Executable, Unsupported> {
    Executable::in_tiny_blocks(program, false, Engine::Native)
}

fn blocks_in_order(program: &Program) -> Result<Executable, Unsupported> {
    Executable::in_tiny_blocks(program, true, Engine::Native)
}

/// What a comparison found.
enum Outcome {
    Same,
    Unsupported,
    Different(String),
}

type Plan = fn(&Program) -> Result<Executable, Unsupported>;

/// What memory holds before a run: NaN everywhere, or large numbers.
const STALE: [u8; 2] = [0xff, 0x7e];

fn compare(program: &Program, plan: Plan, kinds: &[InputKind], mut rng: Rng) -> Outcome {
    // In the order of the machine a sum may begin with its first element instead of 0.
    let machine = [Executable::new as Plan, blocks as Plan];
    let machine = machine.iter().any(|&f| std::ptr::fn_addr_eq(plan, f));
    let equality = if machine { Equality::Values } else { Equality::Bits };
    let Ok(executable) = plan(program) else { return Outcome::Unsupported };
    for (n, &kind) in kinds.iter().enumerate() {
        let executable = executable.clone().with_stale_memory(STALE[n % STALE.len()]);
        let Ok(inputs) = inputs_for(program, &mut rng, kind) else { return Outcome::Same };
        let Ok(expected) = run_program(program, &inputs, Mode::Ieee) else { return Outcome::Same };
        let arrays: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
        let found = match executable.run(&arrays, &RunLimits::default()) {
            Ok(found) => found,
            Err(stop) => return Outcome::Different(format!("it did not run: {stop:?}")),
        };
        let found: Vec<Value> = found.iter().map(Value::from).collect();
        if let Some(difference) = first_difference(&expected, &found, equality) {
            return Outcome::Different(format!("{kind:?}: {difference}\nof\n{program}"));
        }
    }
    Outcome::Same
}

/// Checks what `make` makes of random programs, of which at least so many in a hundred have a plan.
fn check(
    name: &str,
    count: usize,
    supported: usize,
    (config, plan, kinds): (&Config, Plan, &[InputKind]),
    make: impl Fn(&Program) -> Option<Program>,
) {
    let (ran, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_each_case(name, count, |rng| {
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let data = rng.fork();
        let Some(made) = make(&program) else { return Ok(()) };
        seen.set(seen.get() + 1);
        let outcome = |p: &Program| compare(p, plan, kinds, data.clone());
        match outcome(&made) {
            Outcome::Same => {
                ran.set(ran.get() + 1);
                Ok(())
            }
            Outcome::Unsupported => Ok(()),
            Outcome::Different(first) => {
                let fails = |p: &Program| {
                    make(p).is_some_and(|p| matches!(outcome(&p), Outcome::Different(_)))
                };
                let smallest = shrink(&program, 2000, fails);
                match make(&smallest).map(|p| outcome(&p)) {
                    Some(Outcome::Different(text)) => Err(text),
                    _ => Err(first),
                }
            }
        }
    });
    println!("{name}: {} of {} ran", ran.get(), seen.get());
    assert!(ran.get() > 0 && ran.get() * 100 >= seen.get() * supported, "{}", ran.get());
}

const ALL: [InputKind; 3] = [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special];

fn bulk(program: &Program) -> Option<Program> {
    Pipeline::new(&[Pass::BULK]).run(program).ok()
}

#[test]
fn programs_in_bulk_operations() {
    let how = (&Config::default(), Executable::in_order as Plan, &ALL[..]);
    check("exec.bulk", 3000, 90, how, bulk);
}

#[test]
fn programs_of_phrases() {
    let config = Config { phrases: 60, ..Config::default() };
    check("exec.phrases", 1000, 90, (&config, Executable::in_order as Plan, &ALL[..]), bulk);
    check("exec.phrases.blocks", 500, 90, (&config, blocks_in_order as Plan, &ALL[..]), bulk);
}

/// Loops that change parts of their states, and their derivatives.
#[test]
fn updates() {
    let config = Config { updates: 50, max_nodes: 24, ..Config::default() };
    let how = (&config, Executable::in_order as Plan, &ALL[..]);
    check("exec.updates", 600, 90, how, bulk);
    check("exec.updates.vjp", 400, 90, how, |p| derive(p, Derivative::Vjp, None).ok());
    check("exec.updates.jvp", 200, 90, how, |p| derive(p, Derivative::Jvp, None).ok());
    // In place also where zeros are added elsewhere.
    let config = Config { data: Data::SmallIntegers, ..config };
    let how = (&config, Executable::new as Plan, &[InputKind::SmallIntegers][..]);
    check("exec.updates.sums", 400, 10, how, |p| bulk(p).filter(exact::never_rounds));
    let gradient = |p: &Program| derive(p, Derivative::Vjp, None).ok();
    check("exec.updates.sums.vjp", 400, 10, how, |p| gradient(p).filter(exact::never_rounds));
}

/// Checkpoints, what reverse passes compute again, and loops that are run again from a few states.
#[test]
fn checkpoints() {
    let config = Config { max_nodes: 24, ..Config::default() }.with_checkpoints();
    let how = (&config, Executable::in_order as Plan, &ALL[..]);
    check("exec.checkpoints", 300, 90, how, bulk);
    check("exec.checkpoints.vjp", 300, 85, how, |p| derive(p, Derivative::Vjp, None).ok());
}

#[test]
fn programs_as_written() {
    // Reductions inside a build are for the transform.
    let how = (&Config::default(), Executable::in_order as Plan, &ALL[..]);
    check("exec.source", 1000, 70, how, |p| Some(p.clone()));
}

#[test]
fn derivatives() {
    let how = (&Config::default(), Executable::in_order as Plan, &ALL[..]);
    check("exec.vjp", 1000, 90, how, |p| derive(p, Derivative::Vjp, None).ok());
    check("exec.jvp", 500, 90, how, |p| derive(p, Derivative::Jvp, None).ok());
    check("exec.jacobian", 300, 90, how, |p| derive(p, Derivative::Jacobian, None).ok());
}

#[test]
fn sums_in_the_order_of_the_machine() {
    let config = Config { data: Data::SmallIntegers, ..Config::default() };
    let how = (&config, Executable::new as Plan, &[InputKind::SmallIntegers][..]);
    check("exec.sums", 2000, 30, how, |p| bulk(p).filter(exact::never_rounds));
    let gradient = |p: &Program| derive(p, Derivative::Vjp, None).ok();
    check("exec.sums.vjp", 1000, 30, how, |p| gradient(p).filter(exact::never_rounds));
}

#[test]
fn nests_in_blocks() {
    let how = (&Config::default(), blocks_in_order as Plan, &ALL[..]);
    check("exec.blocks", 1000, 90, how, bulk);
    check("exec.blocks.vjp", 1000, 90, how, |p| derive(p, Derivative::Vjp, None).ok());
    let config = Config { data: Data::SmallIntegers, ..Config::default() };
    let how = (&config, blocks as Plan, &[InputKind::SmallIntegers][..]);
    check("exec.blocks.sums", 1000, 30, how, |p| bulk(p).filter(exact::never_rounds));
    let gradient = |p: &Program| derive(p, Derivative::Vjp, None).ok();
    check("exec.blocks.sums.vjp", 1000, 30, how, |p| gradient(p).filter(exact::never_rounds));
}
