//! The tests are tested: every deliberate fault is found by them.

use cotan_ad::fault::{Fault, Kind, Point, Stage};
use cotan_ir::scalar::Op;
use cotan_testkit::{Config, Former, Rng, TypedOp, generate, scaled};

use crate::support::text;
use crate::{corners, exact};

/// The most programs that a fault may survive.
const BOUND: usize = 2000;

/// Programs in which a fault is likely to be met.
fn config(fault: Fault) -> Config {
    let mut config = Config { max_elements: 16, ..exact::ring().nodes(16) };
    let only = |config: Config, formers: &[Former]| {
        let always = [Former::Op, Former::Input, Former::Var, Former::Result];
        let keep = |f: &Former| formers.contains(f) || always.contains(f);
        Config { formers: config.formers.iter().copied().filter(keep).collect(), ..config }
    };
    match fault {
        Fault::Partial(op, ..) => {
            config.ops = TypedOp::all();
            config.ops.retain(|t| [op, Op::Sub].contains(&t.op) && t.result.is_float());
            only(config, &[Former::Stack])
        }
        Fault::At(_, kind, _) => match kind {
            Kind::Result => only(config, &[Former::MapAccum, Former::While]),
            Kind::Cond => only(config, &[Former::Cond, Former::Stack]),
            Kind::Transpose => only(config, &[Former::Transpose, Former::Replicate]),
            Kind::Scatter => only(config, &[Former::Scatter, Former::SumOuter]),
            Kind::Routine => only(config, &[Former::Routine, Former::SumOuter]),
            Kind::OneHot => only(config, &[Former::OneHot, Former::SumOuter]),
            Kind::Cast | Kind::Select => only(config, &[Former::Stack]),
            Kind::Input | Kind::Add | Kind::Scale | Kind::Index | Kind::SumOuter => config,
            Kind::Gather | Kind::LitArray | Kind::Replicate | Kind::Reshape => config,
        },
        Fault::Point(point) => match point {
            Point::LoopDirection
            | Point::LoopForwardDirection
            | Point::LoopTangentDirection
            | Point::LoopIgnoresOutputs
            | Point::LoopIgnoresFinalStates
            | Point::LoopLosesCaptures
            | Point::LoopKeepsLastCapture
            | Point::LoopLosesElements
            | Point::LoopSavesNextStates
            | Point::LoopForwardLosesElements
            | Point::LoopTangentLosesCaptures
            | Point::ActivityForgetsStates => only(config, &[Former::MapAccum, Former::SumOuter]),
            Point::WhileStartsLate
            | Point::WhileIgnoresOutputs
            | Point::WhileIgnoresFinalStates
            | Point::WhileLosesCaptures
            | Point::WhileForwardStartsLate
            | Point::WhileTangentLosesCaptures => only(config, &[Former::While, Former::SumOuter]),
            Point::CondSwapped | Point::TangentCondSwapped | Point::ForwardBranchesSwapped => {
                only(config, &[Former::Cond, Former::Stack])
            }
            Point::ReadsAtFirstPlace | Point::ReadsLoseLast => {
                only(config, &[Former::Index, Former::Stack])
            }
            _ => config,
        },
    }
}

/// How many programs it takes to find a fault.
fn programs_until_found(fault: Fault, number: usize) -> Option<usize> {
    // Some faults show at special points only, which have tests of their own.
    if let Some(found) = corners::finds(fault) {
        return found.then_some(0);
    }
    let config = config(fault);
    (0..scaled(BOUND)).find(|&n| {
        let rng = &mut Rng::new((1_000_000 * (1 + number) + n) as u64);
        let program = generate(&config, rng).map_err(text).expect("a program");
        fault.while_in(|| exact::check(&program, rng)).is_err()
    })
}

#[test]
fn every_fault_is_found() {
    let all = Fault::all();
    assert!(all.len() >= 200, "{}", all.len());
    let mut most = 0;
    let mut survivors = Vec::new();
    for (number, &fault) in all.iter().enumerate() {
        match programs_until_found(fault, number) {
            Some(n) => most = most.max(n + 1),
            None => survivors.push(fault),
        }
    }
    println!("{} faults, the most hidden found after {most} programs", all.len());
    assert!(survivors.is_empty(), "{} not found: {survivors:?}", survivors.len());
}

/// The list names faults of every stage.
#[test]
fn every_stage_has_faults() {
    for &stage in Stage::ALL {
        assert!(Fault::all().iter().any(|f| matches!(f, Fault::At(s, ..) if *s == stage)));
    }
}
