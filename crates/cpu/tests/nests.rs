//! Plans between lowering and the machine, on random programs and their derivatives: their text is
//! read back as it was, and the interpreter of nests gives what the reference interpreter gives.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::Array;
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_nest::{InterpretError, Plan, Step};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_schedule::{Target, Thresholds, lower};
use cotan_testkit::{
    Config, Data, Equality, InputKind, Rng, exact, first_difference, for_each_case, generate,
    inputs_for, run_program, shrink,
};

/// The element operations that a plan of a random program may take.
const LIMIT: u64 = 20_000_000;

/// The plan without the terms that it comes from, which are no part of its text.
fn without_sources(steps: &mut [Step<cotan_nest::Nest>]) {
    for step in steps {
        match step {
            Step::Compute(nest) => {
                nest.source = None;
                nest.also.iter_mut().for_each(|also| also.source = None);
            }
            Step::Contract(draft) => {
                let nests = [&mut draft.core, &mut draft.whole].into_iter().chain(&mut draft.after);
                nests.for_each(|nest| nest.source = None);
            }
            Step::Scalars(packed) => **packed = packed.without_sources(),
            Step::Loop(l) => without_sources(&mut l.steps),
            Step::While(w) => {
                without_sources(&mut w.before);
                without_sources(&mut w.body.steps);
            }
            Step::If(branches) => {
                without_sources(&mut branches.then);
                without_sources(&mut branches.otherwise);
            }
            Step::Zero(_) | Step::Copy { .. } | Step::ArgSort { .. } => {}
            Step::SegmentArg(_) | Step::Routine(_) => {}
        }
    }
}

/// Reading what was written gives the same plan.
fn reads_back(plan: &mut Plan) -> Result<(), String> {
    let text = plan.to_string();
    let read: Plan = text.parse().map_err(|e| format!("{e}\n{text}"))?;
    without_sources(&mut plan.steps);
    let (before, after) = (format!("{plan:?}"), format!("{read:?}"));
    if before != after || read.to_string() != text {
        return Err(format!("another plan:\n{text}\nis read as\n{read}"));
    }
    Ok(())
}

/// Checks one program; `None` if it has no plan, or cannot be run.
fn checked(
    program: &Program,
    (in_order, tiny): (bool, bool),
    kinds: &[InputKind],
    mut rng: Rng,
) -> Option<Result<(), String>> {
    let thresholds = if tiny { Thresholds::TINY } else { Thresholds::USUAL };
    let target = Target::portable().with_thresholds(thresholds);
    let mut plan = lower(program, in_order, &target).ok()?;
    let mut run = |plan: &mut Plan| -> Result<(), String> {
        plan.check().map_err(|fault| format!("{fault}\nin\n{plan}"))?;
        for &kind in kinds {
            let Ok(inputs) = inputs_for(program, &mut rng, kind) else { return Ok(()) };
            let Ok(expected) = run_program(program, &inputs, Mode::Ieee) else { return Ok(()) };
            let arrays: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
            let found = match plan.interpret(&arrays, LIMIT) {
                Ok(found) => found,
                Err(InterpretError::Limit) => return Ok(()),
                Err(error) => return Err(format!("{error}\nin\n{plan}")),
            };
            let found: Vec<Value> = found.iter().map(Value::from).collect();
            let equality = if in_order { Equality::Bits } else { Equality::Values };
            if let Some(difference) = first_difference(&expected, &found, equality) {
                return Err(format!("{kind:?}: {difference}\nin\n{plan}"));
            }
        }
        reads_back(plan)
    };
    Some(run(&mut plan).map_err(|error| format!("{error}\nof\n{program}")))
}

/// Checks what `make` makes of random programs, of which at least so many in a hundred have a plan.
fn check(
    name: &str,
    count: usize,
    supported: usize,
    (config, how, kinds): (&Config, (bool, bool), &[InputKind]),
    make: impl Fn(&Program) -> Option<Program>,
) {
    let (ran, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_each_case(name, count, |rng| {
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let data = rng.fork();
        let Some(made) = make(&program) else { return Ok(()) };
        seen.set(seen.get() + 1);
        let outcome = |p: &Program| checked(p, how, kinds, data.clone());
        match outcome(&made) {
            None => Ok(()),
            Some(Ok(())) => {
                ran.set(ran.get() + 1);
                Ok(())
            }
            Some(Err(first)) => {
                let fails =
                    |p: &Program| make(p).is_some_and(|p| matches!(outcome(&p), Some(Err(_))));
                let smallest = shrink(&program, 2000, fails);
                match make(&smallest).and_then(|p| outcome(&p)) {
                    Some(Err(text)) => Err(text),
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

fn gradient(program: &Program) -> Option<Program> {
    derive(program, Derivative::Vjp, None).ok()
}

#[test]
fn programs() {
    let config = Config::default();
    check("nests.bulk", 1000, 90, (&config, (true, false), &ALL), bulk);
    check("nests.bulk.tiny", 500, 90, (&config, (true, true), &ALL), bulk);
    check("nests.source", 300, 70, (&config, (true, false), &ALL), |p| Some(p.clone()));
    let config = Config { phrases: 60, ..Config::default() };
    check("nests.phrases", 300, 90, (&config, (true, true), &ALL), bulk);
}

#[test]
fn derivatives() {
    let config = Config::default();
    check("nests.vjp", 500, 90, (&config, (true, false), &ALL), gradient);
    check("nests.vjp.tiny", 500, 90, (&config, (true, true), &ALL), gradient);
    let jvp = |p: &Program| derive(p, Derivative::Jvp, None).ok();
    check("nests.jvp", 200, 90, (&config, (true, true), &ALL), jvp);
}

/// Loops that change parts of their states.
#[test]
fn updates() {
    let config = Config { updates: 50, max_nodes: 24, ..Config::default() };
    check("nests.updates", 400, 90, (&config, (true, false), &ALL), bulk);
    check("nests.updates.vjp", 300, 90, (&config, (true, false), &ALL), gradient);
}

/// Sums taken apart, products of matrices: exact, so that the order is no matter.
#[test]
fn sums_in_the_order_of_the_machine() {
    let config = Config { data: Data::SmallIntegers, ..Config::default() };
    let how = |tiny: bool| (&config, (false, tiny), &[InputKind::SmallIntegers][..]);
    check("nests.sums", 500, 30, how(false), |p| bulk(p).filter(exact::never_rounds));
    check("nests.sums.tiny", 500, 30, how(true), |p| bulk(p).filter(exact::never_rounds));
    check("nests.sums.vjp", 500, 30, how(true), |p| gradient(p).filter(exact::never_rounds));
}
