//! What a long program takes in memory, stage by stage.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_ir::Limits;
use cotan_pipeline::{Derivative, derive_owned};
use cotan_syntax::{instantiate, load_text};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: by the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: by the contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Large pieces grow where they are.
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        add(bytes);
        // SAFETY: by the contract.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that each stage may take for a line, with what is there before.
struct Most {
    parse: usize,
    elaborate: usize,
    derive: usize,
    optimise: usize,
    plan: usize,
    run: usize,
}

/// Does something within so many bytes for each line, with what is there before.
#[track_caller]
fn stage<T>(name: &str, most: usize, work: impl FnOnce() -> T) -> T {
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    let begin = std::time::Instant::now();
    let done = work();
    let peak = PEAK.load(Ordering::Relaxed) / LINES;
    let live = LIVE.load(Ordering::Relaxed) / LINES;
    println!("{name:10} {peak:5} bytes a line, {live:5} left, {:.2?}", begin.elapsed());
    assert!(peak <= most, "{name}: {peak} bytes a line, not {most}");
    done
}

const LINES: usize = 100_000;

/// A program of `LINES` lines.
fn program(head: &str, line: impl Fn(usize) -> String, end: &str) -> String {
    let lines: String = (0..LINES).map(|n| format!("  {}\n", line(n))).collect();
    format!("{head} =\n{lines}  {end}\n")
}

/// From a text of many lines to the run of its gradient, or of itself, as the command does it: what a
/// stage made is gone when the next but one begins.
fn runs(name: &str, text: String, inputs: &[cotan_array::Array], gradient: bool, most: &Most) {
    println!("{name}");
    let modules = stage("parse", most.parse, || load_text("a.ct", &text).unwrap());
    drop(text);
    let program = stage("elaborate", most.elaborate, || {
        instantiate(&modules, "main", &[], &[], &Limits::default()).unwrap().program
    });
    drop(modules);
    let derived = if gradient {
        let derive = || derive_owned(program, Derivative::ValueAndGrad, None).unwrap();
        // In debug builds programs are checked after each pass, with a table of all nodes.
        let checked = if cfg!(debug_assertions) { 150 } else { 0 };
        stage("derive", most.derive + checked, derive)
    } else {
        program
    };
    let options = cotan_opt::Options::default();
    let optimised = stage("optimise", most.optimise, || {
        cotan_opt::optimise_owned(derived, &options).unwrap().0
    });
    let plan = || Executable::planned(&optimised, false, Engine::Native).unwrap();
    // So are plans, with what is written of every buffer: more the more values a line stores.
    let checked = if cfg!(debug_assertions) { most.plan / 2 } else { 0 };
    let executable = stage("plan", most.plan + checked, plan);
    let run = || executable.run(inputs, &RunLimits::default());
    let results = stage("run", most.run, run).unwrap();
    assert_eq!(results.len(), if gradient { 1 + inputs.len() } else { 1 });
}

/// The shapes that long programs have: one line after the other, or side by side. One test, because
/// what is counted is what all threads allocate.
#[test]
fn a_line_of_a_long_program_takes_few_bytes() {
    let scalar = cotan_array::Array::scalar;
    let end = format!("t{LINES}");
    let line = |n| format!("let t{} = sin(t{n}) in", n + 1);
    let sines = program("def main(t0: f64)", line, &end);
    // Three nodes a line.
    let most = Most { parse: 700, elaborate: 560, derive: 310, optimise: 410, plan: 380, run: 320 };
    runs("sines", sines, &[scalar(0.5)], true, &most);
    let products = || {
        let line = |n| format!("let t{} = sin(t{n}) * a in", n + 1);
        program("def main(t0: f64, a: f64)", line, &end)
    };
    let inputs = [scalar(0.5), scalar(1.01)];
    // Seven nodes a line, and two.
    let most = Most { parse: 720, elaborate: 640, derive: 680, optimise: 860, plan: 770, run: 640 };
    runs("products", products(), &inputs, true, &most);
    let most = Most { derive: 0, optimise: 310, plan: 250, run: 200, ..most };
    runs("products alone", products(), &inputs, false, &most);
    let line = |n| format!("let t{} = t{n} + sin(x * {n}.5) in", n + 1);
    let wide = program("def main(x: f64, t0: f64)", line, &end);
    // Eight nodes a line, with a number of its own for each.
    let most =
        Most { parse: 1150, elaborate: 1200, derive: 1200, optimise: 1200, plan: 820, run: 600 };
    runs("wide", wide, &[scalar(0.5), scalar(0.0)], true, &most);
}
