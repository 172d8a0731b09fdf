//! What the generator makes: everything, often enough, and never the same twice by accident.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, Levels, Node, Program, Scopes, TermId, live_nodes, use_counts};
use cotan_testkit::{Config, Former, Rng, TypedOp, exact, for_each_case, generate};

/// The live nodes of a program.
fn live(program: &Program) -> impl Iterator<Item = &Node> {
    let live = live_nodes(program, program.outputs().iter().map(|o| o.term));
    program.terms().filter(move |t| live[t.index()]).map(|t| program.node(t))
}

#[test]
fn every_former_and_every_typed_operation_is_generated() {
    const PROGRAMS: u64 = 3000;
    let mut formers: HashMap<Former, usize> = HashMap::new();
    let mut ops: HashMap<TypedOp, usize> = HashMap::new();
    let mut extremes = [0; 2];
    for seed in 0..PROGRAMS {
        let mut config = Config::default();
        if seed % 2 == 0 {
            config = config.with_checkpoints();
        }
        let program = generate(&config, &mut Rng::new(seed)).unwrap();
        for node in live(&program) {
            *formers.entry(Former::of(node)).or_default() += 1;
            match node {
                Node::Op(op, args) => {
                    let args: Vec<_> = args.iter().map(|&t| program.dtype(t)).collect();
                    let result = op.result_dtype(&args).unwrap();
                    *ops.entry(TypedOp { op: *op, args, result }).or_default() += 1;
                }
                Node::ArgExtreme(extreme, _) | Node::SegmentArg(extreme, ..) => {
                    extremes[usize::from(*extreme == Extreme::Max)] += 1;
                }
                _ => {}
            }
        }
    }
    let count = |f: &Former| formers.get(f).copied().unwrap_or(0);
    let rare: Vec<_> =
        Former::ALL.iter().filter(|f| count(f) < 300).map(|f| (f, count(f))).collect();
    assert!(rare.is_empty(), "too few in {PROGRAMS} programs: {rare:?}");
    let all = TypedOp::all();
    let count = |row: &TypedOp| ops.get(row).copied().unwrap_or(0);
    let rare: Vec<_> = all.iter().filter(|row| count(row) < 10).map(|r| (r, count(r))).collect();
    assert!(rare.is_empty(), "too few in {PROGRAMS} programs: {rare:?}");
    assert!(extremes.iter().all(|&n| n > 100), "{extremes:?}");
}

/// A summary of many programs of one configuration.
#[derive(Debug, Default)]
struct Survey {
    nodes: usize,
    /// Live nodes used more than once.
    shared: usize,
    /// Programs all of whose outputs have no elements.
    empty: usize,
    builds: usize,
    /// Builds whose body depends on their index.
    dependent_builds: usize,
    /// Lambdas inside lambdas.
    nested: usize,
    /// Lambdas that use terms of an enclosing lambda.
    capturing: usize,
}

fn survey(config: &Config, programs: u64) -> Survey {
    let mut s = Survey::default();
    for seed in 0..programs {
        let program = generate(config, &mut Rng::new(seed)).unwrap();
        let scopes = Scopes::new(&program);
        let uses = use_counts(&program);
        s.nodes += live(&program).count();
        s.shared += uses.iter().filter(|&&n| n > 1).count();
        let outputs = program.outputs();
        s.empty += usize::from(outputs.iter().all(|o| program.shape(o.term).numel() == 0));
        for node in live(&program) {
            let Some(r) = node.region() else { continue };
            let region = program.region(r);
            let own = |&t: &TermId| program.free(t).contains(region.level());
            if let Node::Build1(_) = node {
                s.builds += 1;
                s.dependent_builds += usize::from(region.results().iter().any(own));
            }
            s.nested += usize::from(region.level() > 1);
            let captures = scopes.region(r).captures();
            s.capturing += usize::from(captures.iter().any(|&t| program.free(t) != Levels::NONE));
        }
    }
    s
}

#[test]
fn programs_share_nest_capture_and_have_elements() {
    let configs = [Config::default(), Config::smooth(), Config::ring(), Config::integers()];
    for config in configs {
        let s = survey(&config, 1000);
        assert!(s.nodes > 15_000, "{s:?}");
        assert!(s.shared * 7 > s.nodes, "{s:?}");
        assert!(s.empty < 150, "{s:?}");
        assert!(s.dependent_builds * 2 > s.builds, "{s:?}");
        assert!(s.nested > 500 && s.capturing > 150, "{s:?}");
    }
}

#[test]
fn a_seed_always_makes_the_same_program() {
    for_each_case("same seed, same program", 50, |rng| {
        let mut again = rng.clone();
        let one = generate(&Config::default(), rng).map_err(|e| e.to_string())?;
        let two = generate(&Config::default(), &mut again).map_err(|e| e.to_string())?;
        if one.to_string() == two.to_string() { Ok(()) } else { Err(format!("{one}\n{two}")) }
    });
}

#[test]
fn configurations_keep_their_promises() {
    for_each_case("smooth programs", 200, |rng| {
        let program = generate(&Config::smooth(), rng).map_err(|e| e.to_string())?;
        for node in live(&program) {
            let compared = match node {
                Node::ArgExtreme(_, t) | Node::ArgSort(t) | Node::SegmentArg(_, _, t, _) => {
                    program.dtype(*t).is_float()
                }
                Node::Op(op, args) => {
                    let args: Vec<_> = args.iter().map(|&t| program.dtype(t)).collect();
                    let result = op.result_dtype(&args).ok_or("an operation without type")?;
                    !TypedOp { op: *op, args, result }.is_smooth()
                }
                _ => false,
            };
            if compared {
                return Err(format!("{} is not smooth in\n{program}", node.name()));
            }
        }
        Ok(())
    });
    for_each_case("exact programs", 200, |rng| {
        let program = generate(&Config::integers(), rng).map_err(|e| e.to_string())?;
        if exact::never_rounds(&program) { Ok(()) } else { Err(program.to_string()) }
    });
    let sparse = Config::default().without(&[Former::MapAccum, Former::Scatter, Former::Cond]);
    for_each_case("excluded formers", 200, |rng| {
        let program = generate(&sparse, rng).map_err(|e| e.to_string())?;
        let excluded = |node: &Node| matches!(node, Node::MapAccum(_) | Node::Scatter(..));
        if live(&program).any(excluded) { Err(program.to_string()) } else { Ok(()) }
    });
}

#[test]
fn smooth_operations_are_those_with_honest_derivatives() {
    let smooth = |op: Op| {
        let mut rows = TypedOp::all().into_iter().filter(|row| row.op == op);
        rows.any(|row| row.args[0] == Dtype::F64 && row.is_smooth())
    };
    for op in [Op::Add, Op::Div, Op::Exp, Op::Powi, Op::Lgamma, Op::Atan2, Op::Scale, Op::ToF32] {
        assert!(smooth(op), "{op}");
    }
    // Kinks, steps, comparisons, and what derivatives do not look into.
    for op in [Op::Abs, Op::Max, Op::Floor, Op::Sign, Op::Rem, Op::Lt, Op::ToI64, Op::StopGradient]
    {
        assert!(!smooth(op), "{op}");
    }
}

#[test]
fn programs_grow_with_the_configured_size() {
    let average = |nodes: usize| survey(&Config::default().nodes(nodes), 100).nodes / 100;
    let sizes = [10, 40, 160, 640].map(average);
    assert!(sizes[0] > 3 && sizes.windows(2).all(|pair| 2 * pair[1] > 3 * pair[0]), "{sizes:?}");
}
