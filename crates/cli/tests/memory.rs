//! What a long program takes in memory, stage by stage.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cotan_exec::{Engine, Executable, RunLimits};
use cotan_ir::Limits;
use cotan_pipeline::{Derivative, derive};
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

/// From a text of many lines to the run of its gradient, as the command does it: what a stage made is
/// gone when the next but one begins.
#[test]
fn a_line_of_a_long_program_takes_few_bytes() {
    let text = {
        let lines: String =
            (0..LINES).map(|n| format!("  let t{} = sin(t{n}) in\n", n + 1)).collect();
        format!("def main(t0: f64) =\n{lines}  t{LINES}\n")
    };
    let modules = stage("parse", 1100, || load_text("a.ct", &text).unwrap());
    drop(text);
    let program = stage("elaborate", 1000, || {
        instantiate(&modules, "main", &[], &[], &Limits::default()).unwrap().program
    });
    drop(modules);
    let derived =
        stage("derive", 1000, || derive(&program, Derivative::ValueAndGrad, None).unwrap());
    drop(program);
    let options = cotan_opt::Options::default();
    let optimised =
        stage("optimise", 1250, || cotan_opt::optimise_owned(derived, &options).unwrap().0);
    let plan = || Executable::planned(&optimised, false, Engine::Native).unwrap();
    let executable = stage("plan", 3000, plan);
    let run = || executable.run(&[cotan_array::Array::scalar(0.5)], &RunLimits::default());
    let results = stage("run", 1300, run).unwrap();
    assert_eq!(results.len(), 2);
}
