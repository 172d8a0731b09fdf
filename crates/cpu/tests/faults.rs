//! The checker of plans against seeded faults: correct plans of random programs, changed at one
//! place in one of many ways.
//!
//! What the checker lets pass must be harmless: the interpreter of plans runs it without a fault, for
//! all inputs that are tried. It may then compute something else, as `a - b` for `b - a` does: that is
//! a plan of another program, which only comparison with the reference interpreter finds. Every way
//! to change a plan must be caught by the checker in some plan.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

#[path = "faults/mutations.rs"]
mod mutations;

use std::collections::BTreeMap;

use cotan_array::{Array, Dtype};
use cotan_ir::Program;
use cotan_nest::{Buffer, InterpretError, Plan, Role, Step, check_memory, place_temporaries};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_schedule::{Group, LoopOrder, Member, Schedule, Target, Thresholds, lower};
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Config, InputKind, Rng, for_each_case, generate, inputs_for};
use mutations::{MUTATIONS, Mutation};

const LIMIT: u64 = 2_000_000;

/// How often a change was caught, and how often it was let pass with the same results and others.
#[derive(Default)]
struct Tally {
    caught: usize,
    harmless: usize,
    other: usize,
}

/// What random programs seldom have: products of matrices, and loops that are largest elements.
const SOURCES: [&str; 2] = [
    "def f(a: [6, 9]f64, b: [9, 7]f64, c: [6, 7]f64) = matmul(a, b) * c + matmul(a, b * 2.0)",
    "def f(a: [8, 5]f64) = fold(a[0], a, (s, x) => max(s, x))",
];

fn source(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = instantiate(&modules, "f", &[], &[], &Default::default());
    made.unwrap_or_else(|e| panic!("{e}\n{text}")).program
}

/// The plan of a random program, or of its gradient, with inputs.
fn sample(rng: &mut Rng, n: usize) -> Option<(Plan, Vec<Vec<Array>>)> {
    let config = match n % 3 {
        0 => Config { updates: 50, max_nodes: 24, ..Config::default() },
        1 => Config { phrases: 60, ..Config::default() },
        _ => Config::default(),
    };
    let program = match SOURCES.get(n % 40) {
        Some(text) => source(text),
        None => generate(&config, rng).ok()?,
    };
    let program: Program = match n % 2 {
        0 => derive(&program, Derivative::Vjp, None).ok()?,
        _ => Pipeline::new(&[Pass::BULK]).run(&program).ok()?,
    };
    let thresholds = if n.is_multiple_of(7) { Thresholds::USUAL } else { Thresholds::TINY };
    let target = Target { min_direct_products: 1, ..Target::portable() };
    let in_order = !n.is_multiple_of(3) && n % 40 >= SOURCES.len();
    let plan = lower(&program, in_order, &target.with_thresholds(thresholds)).ok()?;
    let kinds = [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special];
    let mut inputs = Vec::new();
    for kind in kinds {
        let values = inputs_for(&program, rng, kind).ok()?;
        inputs.push(values.iter().map(|v| v.to_array().unwrap()).collect());
    }
    Some((plan, inputs))
}

/// Bits of results, to compare.
fn results(plan: &Plan, inputs: &[Vec<Array>]) -> Result<Vec<String>, InterpretError> {
    let run = |arrays: &Vec<Array>| Ok(format!("{:?}", plan.interpret(arrays, LIMIT)?));
    inputs.iter().map(run).collect()
}

#[test]
fn changed_plans_are_caught_or_harmless() {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut n = 0;
    for_each_case("faults", 400, |rng| {
        n += 1;
        let Some((plan, inputs)) = sample(rng, n) else { return Ok(()) };
        let text = plan.to_string();
        let Ok(expected) = results(&plan, &inputs) else { return Ok(()) };
        for Mutation { name, apply } in MUTATIONS {
            for _ in 0..3 {
                let mut changed: Plan = text.parse().map_err(|e| format!("{e}\n{text}"))?;
                if !apply(&mut changed, rng) || changed.to_string() == text {
                    continue;
                }
                let tally = tallies.entry(name).or_default();
                if changed.check().is_err() {
                    tally.caught += 1;
                    continue;
                }
                match results(&changed, &inputs) {
                    Ok(found) if found == expected => tally.harmless += 1,
                    Ok(_) | Err(InterpretError::Limit) => tally.other += 1,
                    Err(fault) => {
                        return Err(format!("{name} passes, but {fault}:\n{changed}\nof\n{text}"));
                    }
                }
            }
        }
        Ok(())
    });
    for (name, Tally { caught, harmless, other }) in &tallies {
        println!("{name}: {caught} caught, {harmless} harmless, {other} of another program");
    }
    let missed = MUTATIONS.iter().filter(|m| tallies.get(m.name).is_none_or(|t| t.caught == 0));
    let missed: Vec<&str> = missed.map(|m| m.name).collect();
    assert!(missed.is_empty(), "never caught: {missed:?}");
    assert!(MUTATIONS.len() >= 30);
}

/// A way to spoil a schedule, at the first group or nest where there is one.
type Spoil = fn(&mut Group<LoopOrder>, &mut [Buffer]) -> bool;

/// The first nest of a group.
fn order(group: &mut Group<LoopOrder>, change: impl FnOnce(&mut LoopOrder) -> bool) -> bool {
    group
        .members
        .iter_mut()
        .find_map(|member| match member {
            Member::Nest(order) => Some(&mut **order),
            Member::Wedged(_) | Member::Contraction(_) => None,
        })
        .is_some_and(change)
}

/// Everything that these change is wrong afterwards.
const SPOILS: &[(&str, Spoil)] = &[
    ("blocks of nothing", |group, _| {
        group.block = 0;
        true
    }),
    ("blocks that are too long", |group, _| {
        group.block = group.extent.max(1) + 1;
        true
    }),
    ("chunks of nothing", |group, _| {
        group.per_chunk = 0;
        true
    }),
    ("a loop twice", |group, _| {
        order(group, |order| {
            let several = order.dims.len() > 1;
            let last = order.dims.last().copied();
            if let (true, Some(last)) = (several, last) {
                order.dims[0] = last;
            }
            several
        })
    }),
    ("a loop left out", |group, _| order(group, |order| order.dims.pop().is_some())),
    ("reduced loops around others", |group, _| {
        order(group, |order| {
            let both = order.first_reduced > 0 && order.first_reduced < order.dims.len();
            order.dims.reverse();
            both
        })
    }),
    ("another number of reduced loops", |group, _| {
        order(group, |order| {
            order.first_reduced += 1;
            true
        })
    }),
    ("no lanes", |group, _| {
        order(group, |order| order.lane_loop.take().is_some() && order.first_reduced > 0)
    }),
    ("lanes that are not innermost", |group, _| {
        order(group, |order| {
            let outer = order.first_reduced > 1 && order.dims.len() > 1;
            order.lane_loop = Some(0);
            outer
        })
    }),
    ("an instruction outside of its loops", |group, _| {
        order(group, |order| {
            let Some(level) = order.levels.iter_mut().find(|level| **level > 0) else {
                return false;
            };
            *level = 0;
            true
        })
    }),
    ("a level too few", |group, _| order(group, |order| order.levels.pop().is_some())),
    ("blocks of a loop that is not there", |group, _| {
        order(group, |order| {
            order.block = order.dims.len().max(1);
            true
        })
    }),
    ("a nest of fewer positions", |group, _| {
        let shared = group.members.len() > 1 || group.block < group.extent;
        order(group, |order| {
            let Some(dim) = order.blocked() else { return false };
            order.nest.extents[dim] += 1;
            shared
        })
    }),
    ("parts that are too few", |group, buffers| {
        let Some(partial) = group.partials.first() else { return false };
        buffers[partial.parts.index()].shape = cotan_array::Shape::scalar();
        group.chunks() * partial.spread.numel() != 1
    }),
    ("parts of another type", |group, buffers| {
        let Some(partial) = group.partials.first() else { return false };
        buffers[partial.parts.index()].dtype = Dtype::Bool;
        true
    }),
    ("parts that nobody makes", |group, _| {
        let some = !group.partials.is_empty();
        group.members.clear();
        some
    }),
    ("parts in order", |group, _| {
        group.serial = true;
        !group.partials.is_empty()
    }),
    ("a local buffer with another role", |group, buffers| {
        let Some(local) = group.locals.first() else { return false };
        buffers[local.buffer.index()].role = Role::Output;
        true
    }),
    ("a local buffer beyond the memory of a thread", |group, buffers| {
        let Some(local) = group.locals.first() else { return false };
        buffers[local.buffer.index()].role = Role::Local(1 << 40);
        local.stride > 0 && buffers[local.buffer.index()].bytes() > 0
    }),
];

#[test]
fn changed_schedules_are_caught() {
    let mut caught: BTreeMap<&str, usize> = BTreeMap::new();
    let mut n = 0;
    for_each_case("faults.schedule", 300, |rng| {
        n += 1;
        let in_order = n % 2 == 0;
        let target = Target::portable().with_thresholds(Thresholds::TINY);
        let config = Config { max_nodes: 30, ..Config::default() };
        let Ok(program) = generate(&config, rng) else { return Ok(()) };
        let Ok(program) = Pipeline::new(&[Pass::BULK]).run(&program) else { return Ok(()) };
        let made = || {
            let plan = lower(&program, in_order, &target).ok()?;
            Schedule::of_plan(plan, in_order, &target).ok()
        };
        let Some(schedule) = made() else { return Ok(()) };
        schedule.check().map_err(|fault| format!("{fault}\n{schedule}\nof\n{program}"))?;
        for (name, spoil) in SPOILS {
            let Some(mut schedule) = made() else { return Ok(()) };
            let Schedule { steps, buffers, .. } = &mut schedule;
            let spoilt = steps.iter_mut().any(|step| match step {
                Step::Compute(group) => spoil(group, buffers),
                _ => false,
            });
            if spoilt {
                match schedule.check() {
                    Ok(()) => return Err(format!("{name} passes:\n{schedule}\nof\n{program}")),
                    Err(_) => *caught.entry(name).or_default() += 1,
                }
            }
        }
        Ok(())
    });
    let missed = SPOILS.iter().filter(|(name, _)| !caught.contains_key(name));
    let missed: Vec<&str> = missed.map(|(name, _)| *name).collect();
    assert!(missed.is_empty(), "never there: {missed:?}");
}

/// Temporaries at other places: caught, or no two that are needed at once meet.
#[test]
fn changed_memory_plans_are_caught_or_harmless() {
    let (mut caught, mut harmless, mut n) = ([0; 5], [0; 5], 0);
    for_each_case("faults.memory", 600, |rng| {
        n += 1;
        let Some((mut plan, inputs)) = sample(rng, n) else { return Ok(()) };
        let arena = place_temporaries(&mut plan.buffers, &plan.steps, Target::portable().alignment);
        check_memory(&plan.buffers, &plan.steps, arena).map_err(|fault| fault.to_string())?;
        let run = |plan: &Plan| -> Result<Vec<String>, InterpretError> {
            let one = |a: &Vec<Array>| Ok(format!("{:?}", plan.interpret_placed(a, LIMIT)?));
            inputs.iter().map(one).collect()
        };
        let expected = match run(&plan) {
            Ok(expected) => expected,
            Err(InterpretError::Limit) => return Ok(()),
            Err(fault) => return Err(format!("{fault}\n{plan}")),
        };
        let temporary = |k: &usize| {
            let buffer = &plan.buffers[*k];
            matches!(buffer.role, Role::Temporary(_)) && buffer.bytes() > 0
        };
        let temporaries: Vec<usize> = (0..plan.buffers.len()).filter(temporary).collect();
        if temporaries.is_empty() {
            return Ok(());
        }
        let text = plan.to_string();
        for kind in 0..5 {
            let mut changed: Plan = text.parse().map_err(|e| format!("{e}\n{text}"))?;
            let (a, b) = (*rng.pick(&temporaries), *rng.pick(&temporaries));
            let place = |k: usize| match changed.buffers[k].role {
                Role::Temporary(offset) => offset,
                _ => 0,
            };
            let (at, other, size) = (place(a), place(b), changed.buffers[a].dtype.size());
            let moved = match kind {
                // Onto another one, beyond the end, by a byte, by an element, and what is freed.
                0 => other,
                1 => arena,
                2 => at + 1,
                3 => at + size,
                _ => at,
            };
            if kind == 4 {
                changed.steps.push(Step::Zero(cotan_nest::BufferId(b as u32)));
                let first = Step::Zero(cotan_nest::BufferId(a as u32));
                changed.steps.insert(0, first);
            }
            changed.buffers[a].role = Role::Temporary(moved);
            if changed.to_string() == text {
                continue;
            }
            if check_memory(&changed.buffers, &changed.steps, arena).is_err() {
                caught[kind] += 1;
                continue;
            }
            match run(&changed) {
                Ok(found) if found == expected => harmless[kind] += 1,
                Ok(_) => return Err(format!("other results:\n{changed}\nof\n{text}")),
                Err(fault) => {
                    return Err(format!("it passes, but {fault}:\n{changed}\nof\n{text}"));
                }
            }
        }
        Ok(())
    });
    println!("caught {caught:?}, harmless {harmless:?}");
    assert!(caught.iter().all(|&n| n > 0), "{caught:?}");
}
