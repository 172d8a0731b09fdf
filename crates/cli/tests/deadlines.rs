//! A deadline holds in every stage between a text and its plan.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::time::Instant;

use cotan_cpu::{Engine, Executable, Unsupported};
use cotan_ir::{CancelToken, ErrorKind, Limits, Watch, within};
use cotan_pipeline::{Derivative, derive};
use cotan_syntax::{Code, instantiate, load_text};

const LINES: usize = 5000;

/// Nodes between two looks.
const NODES_PER_LOOK: usize = 1024;

/// A chain of operations on a vector, each needed twice, so that each is a nest of its own.
fn chain() -> String {
    let lines: String =
        (0..LINES).map(|n| format!("  let t{} = sin(t{n}) * 2.0 in\n", n + 1)).collect();
    format!("def main(t0: [3]f64) =\n{lines}  sum(t{LINES})\n")
}

/// Whether work is stopped by a deadline that has passed, by a token, and when the time ends after
/// some looks.
fn is_stopped<T>(stage: &str, looks: usize, kind: impl Fn() -> Result<T, ErrorKind>) {
    let past = Watch { deadline: Some(Instant::now()), ..Watch::default() };
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = Watch { cancel, ..Watch::default() };
    assert_eq!(within(past, &kind).err(), Some(ErrorKind::Deadline), "{stage}");
    let found = within(cancelled, &kind).err();
    assert!(matches!(found, Some(ErrorKind::Cancelled)), "{stage}: {found:?}");
    for looks in [1, looks / 2, looks - 1] {
        let some = Watch { looks: Some(looks), ..Watch::default() };
        assert_eq!(within(some, &kind).err(), Some(ErrorKind::Deadline), "{stage}, {looks} looks");
    }
    assert!(within(Watch::default(), &kind).is_ok(), "{stage}");
}

#[test]
fn every_stage_looks_at_the_deadline() {
    let text = chain();
    // Parsing says no more than that it was stopped, and where.
    let only_limit = || {
        let messages = load_text("a.ct", &text).err();
        messages.map(|failure| failure.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>())
    };
    let past = || Watch { deadline: Some(Instant::now()), ..Watch::default() };
    assert_eq!(within(past(), only_limit), Some(vec![Code::LimitExceeded]));
    let one = Watch { looks: Some(1), ..Watch::default() };
    assert_eq!(within(one, only_limit), Some(vec![Code::LimitExceeded]));
    let modules = load_text("a.ct", &text).unwrap();
    let limits = Limits { deadline: Some(Instant::now()), ..Limits::default() };
    assert!(instantiate(&modules, "main", &[], &[], &limits).is_err());
    let program = instantiate(&modules, "main", &[], &[], &Limits::default()).unwrap().program;
    let nodes = program.len() / NODES_PER_LOOK;
    is_stopped("bulk", nodes, || {
        cotan_bot::bulk(&program, &cotan_bot::Options::default()).map_err(|error| error.kind())
    });
    is_stopped("derive", 3 * nodes, || {
        derive(&program, Derivative::ValueAndGrad, None).map_err(|error| error.kind())
    });
    let derived = derive(&program, Derivative::ValueAndGrad, None).unwrap();
    is_stopped("optimise", derived.len() / NODES_PER_LOOK, || {
        cotan_opt::optimise(&derived, &cotan_opt::Options::default()).map_err(|error| error.kind())
    });
    let optimised = cotan_opt::optimise(&derived, &cotan_opt::Options::default()).unwrap().0;
    for engine in [Engine::Machine, Engine::Native] {
        let planned = || Executable::planned(&optimised, false, engine);
        let stopped = |looks: usize| {
            let watch = Watch { looks: Some(looks), ..Watch::default() };
            within(watch, planned).err() == Some(Unsupported::STOPPED)
        };
        // Nodes are lowered, then each nest is put to its place, and its group is planned.
        let lowered = optimised.len() / 64;
        for looks in [0, 1, lowered / 2, lowered + LINES / 2, lowered + LINES] {
            assert!(stopped(looks), "{engine:?}, {looks} looks");
        }
        assert!(!stopped(usize::MAX));
    }
}
