//! `cotan-soak`: the random tests of all crates, for hours, each time from seeds that were not tried
//! before.
//!
//! A random test is a test that calls `cotan_testkit::for_each_case`. The tests are not changed for a
//! soak: each is run again and again with other values of `COTAN_SEED` and `COTAN_CASES`, in a
//! process of its own ([`chunk`]), and says by `COTAN_TALLY` how many cases passed. What was run is
//! kept in a file ([`state`]), so that the next soak goes on from there; each failure is a file with
//! the command that reproduces it.

mod binaries;
mod chunk;
mod report;
mod schedule;
mod state;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::binaries::{Test, built, exported, find};
use crate::schedule::{Plan, soak};
use crate::state::State;

/// Runs the random tests of all crates again and again, from fresh seeds, and stores a file for each
/// failure.
///
/// What was run is kept in DIR: the next soak goes on from there. Progress goes to standard error,
/// the counts of each property, as a table in Markdown, to standard output. It fails if a test did.
#[derive(Debug, Parser)]
#[command(name = "cotan-soak", version, max_term_width = 100)]
struct Args {
    /// Run tests whose package, file or name contains one of these words; all random tests if none
    /// is given
    filters: Vec<String>,

    /// How long to run
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0)]
    minutes: f64,

    /// How many tests to run at a time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// The first seed of a new soak [default: from the clock]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,

    /// Where the state of the soak and its failures are kept
    #[arg(long, value_name = "DIR", default_value = "target/soak")]
    dir: PathBuf,

    /// Forget what earlier soaks have run
    #[arg(long)]
    fresh: bool,

    /// Run the test programs in this folder, which `--export` has made, instead of building them
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Build the test programs, copy them to this folder, and end: for a machine without Rust
    #[arg(long, value_name = "DIR", conflicts_with = "binaries")]
    export: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("cotan-soak: {message}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing failed.
fn run(args: &Args) -> Result<bool, String> {
    if let Some(dir) = &args.export {
        let count = exported(&built()?, dir)?;
        eprintln!("{count} test programs in {}", dir.display());
        return Ok(true);
    }
    let binaries = match &args.binaries {
        Some(dir) => find(dir)?,
        None => built()?,
    };
    let mut tests = Vec::new();
    for binary in &binaries {
        tests.extend(binary.tests()?);
    }
    let chosen = |test: &Test| {
        args.filters.is_empty() || args.filters.iter().any(|word| test.key().contains(word))
    };
    tests.retain(chosen);
    if tests.is_empty() {
        return Err("no test has one of these words in its name".into());
    }
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let plan = Plan {
        time: Duration::try_from_secs_f64(args.minutes * 60.0)
            .map_err(|_| format!("{} minutes are no time to run", args.minutes))?,
        jobs: args.jobs.unwrap_or(processors).max(1),
        dir: args.dir.clone(),
    };
    let state = State::open(&args.dir, args.fresh, args.seed)?;
    let state = soak(&tests, state, &plan)?;
    print!("{}", report::table(&state));
    Ok(state.failures == 0)
}
