//! When a run has to end, and how many threads it may have.

use std::sync::LazyLock;
use std::time::Instant;

use cotan_ir::CancelToken;

use crate::profile::Marker;

/// How a run goes, and when it has to end before it is done.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// When to give up. What a run has begun then that takes long to give back to the system is given
    /// back by another thread; runs that need much memory wait for that.
    pub deadline: Option<Instant>,
    /// Asks for an end from another thread.
    pub cancel: CancelToken,
    /// How many threads may work on it; by default as many as the environment variable
    /// `COTAN_THREADS` says, or as the machine has. Results do not depend on it.
    pub threads: Option<usize>,
    /// Where the run says what it is at, for a [profile](crate::Profile).
    pub marker: Option<Marker>,
}

static THREADS: LazyLock<usize> = LazyLock::new(|| {
    let said = std::env::var("COTAN_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
    said.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
});

impl RunLimits {
    pub(crate) fn reached(&self) -> bool {
        #[cfg(all(test, not(miri)))]
        if crate::polls::look() {
            return true;
        }
        self.over()
    }

    /// As [`reached`](RunLimits::reached), but does not count as a look in tests.
    pub(crate) fn over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Says what the run is at: the address of a step or of a part of one.
    #[inline]
    pub(crate) fn at<T>(&self, place: *const T) {
        if let Some(marker) = &self.marker {
            marker.set(place as usize);
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or(*THREADS).clamp(1, 256)
    }
}

/// Why a run gave no results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A limit of [`RunLimits`] was reached.
    Limit,
    /// An input is not of the type that the program says.
    Input(usize),
    /// There is not enough memory.
    Memory,
}
