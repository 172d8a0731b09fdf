//! Where the time of a compiled function goes.

use std::fmt;
use std::time::Duration;

use crate::compile::{Compiled, RunOptions};
use crate::error::Result;
use crate::structure::{Arrays, Feed};

/// Where the time of calls goes; see [`Compiled::profile`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The time of a call, in seconds: the median of many short turns.
    pub seconds: f64,
    /// The least time of a call.
    pub least: f64,
    /// How many calls were made.
    pub calls: u64,
    /// How much longer calls took while they were looked at, as a fraction.
    pub overhead: f64,
    /// How many threads were at work on average, where the system says so.
    pub busy_threads: Option<f64>,
    /// The bytes of memory that a call takes besides arguments and results.
    pub workspace: u64,
    /// The kernels, in the order in which they run.
    pub kernels: Vec<KernelProfile>,
}

/// A kernel, and what it takes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelProfile {
    /// What it is.
    pub what: String,
    /// Where that was written: the place of the operation whose result it stores.
    pub place: Option<String>,
    /// Its time in one call.
    pub seconds: f64,
    /// Its scalar operations in one call.
    pub operations: u64,
    /// The bytes of the arrays that it reads and writes in one call.
    pub bytes: u64,
}

impl<A: Arrays, R: Arrays> Compiled<A, R> {
    /// Calls the function again and again for about so long, and says where the time goes. A thread
    /// looks a thousand times a second at what is at work, so the times of short kernels need long
    /// measurements.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.sin() * x).sum(), [1000])?;
    /// let profile = f.profile(&vec![0.5; 1000], Duration::from_millis(20))?;
    /// assert!(profile.seconds > 0.0 && !profile.kernels.is_empty());
    /// println!("{profile}");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn profile(&self, args: impl Feed<A>, time: Duration) -> Result<Profile> {
        let location = std::panic::Location::caller();
        self.profile_fed(args, time).map_err(|error| error.at(location))
    }

    fn profile_fed(&self, args: impl Feed<A>, time: Duration) -> Result<Profile> {
        let fed = args.feed();
        self.check("profile", &fed.tree)?;
        let found = self.runner().profile(&RunOptions::default(), &fed.arrays, time)?;
        let program = self.optimised();
        let place = |t: cotan_ir::TermId| {
            let span = program.span(t);
            let at = program.sources().position(span)?;
            Some(format!("{}:{}:{}", program.sources().name(span.file), at.line, at.column))
        };
        let kernels = found.kernels.iter().map(|kernel| KernelProfile {
            what: kernel.info.title(),
            place: kernel.info.terms.iter().find_map(|&t| place(t)),
            seconds: kernel.seconds,
            operations: kernel.info.operations,
            bytes: kernel.info.bytes,
        });
        Ok(Profile {
            seconds: found.seconds,
            least: found.least,
            calls: found.runs,
            overhead: found.overhead,
            busy_threads: found.busy,
            workspace: found.workspace,
            kernels: kernels.collect(),
        })
    }
}

impl fmt::Display for Profile {
    /// A line for each kernel: microseconds, share of the time, operations and bytes a nanosecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.calls;
        writeln!(f, "{:.2} us a call, of {calls} calls", 1e6 * self.seconds)?;
        writeln!(f, "{:>12} {:>6} {:>8} {:>8}  kernel", "us", "share", "Gop/s", "GB/s")?;
        for kernel in &self.kernels {
            let share = 100.0 * kernel.seconds / self.seconds.max(1e-12);
            let rate = |n: u64| n as f64 / kernel.seconds.max(1e-12) / 1e9;
            let (operations, bytes) = match kernel.seconds > 0.0 {
                true => (
                    format!("{:.2}", rate(kernel.operations)),
                    format!("{:.2}", rate(kernel.bytes)),
                ),
                false => ("-".to_owned(), "-".to_owned()),
            };
            let (time, what) = (1e6 * kernel.seconds, &kernel.what);
            write!(f, "{time:12.2} {share:5.1}% {operations:>8} {bytes:>8}  {what}")?;
            match &kernel.place {
                Some(place) => writeln!(f, " ({place})")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
