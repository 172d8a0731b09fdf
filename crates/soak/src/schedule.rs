//! Which test is run next, and what is done with what came of it.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::binaries::Test;
use crate::chunk::{Chunk, Failure, Outcome};
use crate::report;
use crate::state::State;

/// How a soak goes.
pub struct Plan {
    pub time: Duration,
    pub jobs: usize,
    pub dir: PathBuf,
}

/// Chunks are made so large that they take about so long.
const CHUNK: Duration = Duration::from_secs(15);

/// A chunk that takes longer does not end: a failure may take long to shrink.
const PATIENCE: Duration = Duration::from_secs(900);

/// A test that failed so often is left alone: it says nothing new.
const MAX_FAILURES: u64 = 20;

/// How much of the time each package gets, as a share.
fn weight(package: &str) -> f64 {
    match package {
        "cotan-cpu" => 4.0,
        "cotan-ad" | "cotan-opt" => 2.0,
        _ => 1.0,
    }
}

/// A soak at work.
struct Soak<'a> {
    tests: &'a [Test],
    plan: &'a Plan,
    begin: Instant,
    shared: Mutex<Shared>,
}

struct Shared {
    state: State,
    /// Which tests are being run.
    running: Vec<bool>,
    /// What went wrong with the soak itself.
    trouble: Option<String>,
}

/// Runs tests until the time is over; gives the state then.
pub fn soak(tests: &[Test], state: State, plan: &Plan) -> Result<State, String> {
    let shared = Shared { state, running: vec![false; tests.len()], trouble: None };
    let soak = Soak { tests, plan, begin: Instant::now(), shared: Mutex::new(shared) };
    thread::scope(|scope| {
        for job in 0..plan.jobs {
            let soak = &soak;
            scope.spawn(move || soak.work(job));
        }
    });
    let shared = soak.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    shared.trouble.map_or(Ok(shared.state), Err)
}

impl Soak<'_> {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One job: a test after the other.
    fn work(&self, job: usize) {
        while self.begin.elapsed() < self.plan.time {
            let Some(n) = self.choose() else {
                // The few tests there are are all being run.
                thread::sleep(Duration::from_millis(100));
                if self.shared().trouble.is_some() || self.is_done() {
                    return;
                }
                continue;
            };
            let test = &self.tests[n];
            let progress = self.shared().state.progress(&test.key()).clone();
            let chunk = Chunk {
                test,
                seed: progress.seed,
                times: progress.times,
                turn: progress.chunks as usize,
                patience: PATIENCE,
            };
            let outcome = chunk.run(&self.plan.dir, job);
            let mut shared = self.shared();
            shared.running[n] = false;
            let noted = outcome.and_then(|outcome| self.note(&mut shared.state, test, outcome));
            if let Err(message) = noted {
                shared.trouble = Some(message);
                return;
            }
        }
    }

    /// Whether no test is left that could be run.
    fn is_done(&self) -> bool {
        let mut shared = self.shared();
        let Shared { state, .. } = &mut *shared;
        self.tests.iter().all(|test| is_over(state, test))
    }

    /// The test that has had the least of its share of the time, now taken.
    fn choose(&self) -> Option<usize> {
        let mut shared = self.shared();
        if shared.trouble.is_some() {
            return None;
        }
        let Shared { state, running, .. } = &mut *shared;
        let share = |state: &mut State, test: &Test| {
            state.progress(&test.key()).seconds / weight(&test.binary.package)
        };
        let mut best: Option<(usize, f64)> = None;
        for (n, test) in self.tests.iter().enumerate() {
            if running[n] || is_over(state, test) {
                continue;
            }
            let had = share(state, test);
            if best.is_none_or(|(_, least)| had < least) {
                best = Some((n, had));
            }
        }
        let (n, _) = best?;
        running[n] = true;
        Some(n)
    }

    /// Adds what came of a chunk to the state, and saves it.
    fn note(&self, state: &mut State, test: &Test, outcome: Outcome) -> Result<(), String> {
        let progress = state.progress(&test.key());
        let first = progress.seed;
        progress.seed = outcome.next_seed;
        progress.seconds += outcome.seconds;
        progress.chunks += 1;
        progress.fixed = outcome.passed.is_empty() && outcome.failure.is_none();
        if outcome.failure.is_none() {
            let faster = CHUNK.as_secs_f64() / outcome.seconds.max(0.01);
            progress.times = (progress.times * faster.clamp(0.1, 20.0)).clamp(0.001, 1e6);
        }
        if outcome.failure.is_some() {
            progress.failures += 1;
            state.failures += 1;
        }
        state.seconds += outcome.seconds;
        for (property, count) in &outcome.passed {
            *state.passed.entry(format!("{} {property}", test.binary.package)).or_default() +=
                count;
        }
        if let Some(failure) = &outcome.failure {
            self.store(test, failure, first)?;
        }
        state.save()?;
        report::progress(state, self.begin.elapsed(), self.plan.time);
        Ok(())
    }

    /// A file with the command that reproduces a failure, and what it said.
    fn store(&self, test: &Test, failure: &Failure, first: u64) -> Result<(), String> {
        let seed = failure.seed.unwrap_or(first);
        let name: String = format!("{} {seed}.txt", test.key())
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '.' })
            .collect();
        let path = self.plan.dir.join("failures").join(name);
        // No case is left out by `COTAN_CASES=0`, which runs one.
        let count = if failure.seed.is_some() { "COTAN_CASES=0 " } else { "" };
        let text = format!(
            "# Reproduce it by\n{}COTAN_SEED={seed} {count}cargo {}\n\n{}",
            failure.environment,
            test.cargo_arguments(),
            failure.output
        );
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("\r\x1b[Kfailed: {}, see {}", test.key(), path.display());
        Ok(())
    }
}

fn is_over(state: &mut State, test: &Test) -> bool {
    let progress = state.progress(&test.key());
    progress.fixed || progress.failures >= MAX_FAILURES
}
