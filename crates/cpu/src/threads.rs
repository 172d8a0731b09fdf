//! Threads that share the blocks of a group among each other.
//!
//! Blocks are claimed one by one: whoever is ready takes the next, the caller too, and the caller
//! waits only for blocks that somebody has taken. A thread that the machine has given to others
//! holds nobody up.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread looks for new work before it sleeps.
const AWAKE: Duration = Duration::from_micros(50);

/// What is done with a block: by which of the threads, and which block.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Work that is shared.
struct SharedWork {
    /// Called for blocks below `blocks` only, and so only before the caller of [`share`] returns.
    work: *const Work<'static>,
    blocks: usize,
    threads: usize,
    /// The next block that nobody has taken.
    next: AtomicUsize,
    /// Blocks that are done.
    done: AtomicUsize,
    /// How many threads have come, the caller included.
    present: AtomicUsize,
    /// Whether work for a block has panicked.
    failed: AtomicBool,
}

// SAFETY: `work` may be called from several threads at once, and is only while it exists.
unsafe impl Send for SharedWork {}
// SAFETY: as above.
unsafe impl Sync for SharedWork {}

impl SharedWork {
    fn help(&self, thread: usize) {
        loop {
            let block = self.next.fetch_add(1, Ordering::Relaxed);
            if block >= self.blocks {
                return;
            }
            // Done also if it panics, or the caller would wait for ever.
            let _done = CountsBlock(self);
            // SAFETY: the block was not done, so the caller of `share` is still waiting.
            unsafe { (*self.work)(thread, block) };
        }
    }
}

/// Counts a block as done when it is dropped.
struct CountsBlock<'a>(&'a SharedWork);

impl Drop for CountsBlock<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.done.fetch_add(1, Ordering::Release);
    }
}

#[derive(Default)]
struct Pool {
    /// The last job, and how many there have been.
    latest: Mutex<(Option<Arc<SharedWork>>, u64)>,
    count: std::sync::atomic::AtomicU64,
    changed: Condvar,
    workers: Mutex<usize>,
}

static POOL: LazyLock<Pool> = LazyLock::new(Pool::default);

impl Pool {
    fn latest(&self) -> std::sync::MutexGuard<'_, (Option<Arc<SharedWork>>, u64)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that there are so many threads besides callers; fewer if the machine refuses.
    fn grow(&'static self, wanted: usize) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while *workers < wanted {
            let builder = std::thread::Builder::new().name("cotan".into());
            if builder.spawn(move || self.serve()).is_err() {
                break;
            }
            *workers += 1;
        }
    }

    fn serve(&self) {
        let mut seen = 0;
        loop {
            // Look for a while, then sleep.
            let since = Instant::now();
            while self.count.load(Ordering::Acquire) == seen && since.elapsed() < AWAKE {
                std::hint::spin_loop();
            }
            let job = {
                let mut latest = self.latest();
                while latest.1 == seen {
                    latest = self.changed.wait(latest).unwrap_or_else(PoisonError::into_inner);
                }
                seen = latest.1;
                latest.0.clone()
            };
            if let Some(job) = job {
                let thread = job.present.fetch_add(1, Ordering::Relaxed);
                if thread < job.threads {
                    // The thread goes on; whoever waits for the job learns of it.
                    let _ = catch_unwind(AssertUnwindSafe(|| job.help(thread)));
                }
            }
        }
    }
}

/// Does `work` for each of `blocks` blocks on up to so many threads, numbered from 0; says whether
/// it was done for all of them, that is, whether no other thread has panicked. A panic of the caller
/// goes on when no other thread is at work any more.
#[must_use]
pub(crate) fn share(threads: usize, blocks: usize, work: &Work<'_>) -> bool {
    POOL.grow(threads.saturating_sub(1));
    let work: *const Work<'_> = work;
    let job = Arc::new(SharedWork {
        // SAFETY: only the lifetime changes; see `SharedWork::work`.
        work: unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) },
        blocks,
        threads,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        present: AtomicUsize::new(1),
        failed: AtomicBool::new(false),
    });
    {
        let mut latest = POOL.latest();
        latest.0 = Some(Arc::clone(&job));
        latest.1 += 1;
        POOL.count.store(latest.1, Ordering::Release);
    }
    POOL.changed.notify_all();
    let mut panic = None;
    // All blocks must be taken before this returns, also those after one that panics.
    while let Err(payload) = catch_unwind(AssertUnwindSafe(|| job.help(0))) {
        panic.get_or_insert(payload);
    }
    let mut spins = 0u32;
    while job.done.load(Ordering::Acquire) < blocks {
        // The thread that has the last block may need this processor.
        spins = spins.saturating_add(1);
        if spins < 1 << 12 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
    !job.failed.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_done_once() {
        for threads in [1, 2, 3, 7] {
            for blocks in [1, 2, 100, if cfg!(miri) { 20 } else { 1000 }] {
                let counts: Vec<AtomicUsize> = (0..blocks).map(|_| AtomicUsize::new(0)).collect();
                let done = share(threads, blocks, &|thread, block| {
                    assert!(thread < threads);
                    counts[block].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done);
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn callers_do_not_wait_for_each_other() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 10 } else { 200 } {
                        let sum = AtomicUsize::new(0);
                        let done = share(3, 20, &|_, block| {
                            sum.fetch_add(block, Ordering::Relaxed);
                        });
                        assert!(done);
                        assert_eq!(sum.load(Ordering::Relaxed), 190);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_in_another_thread_ends_in_a_report() {
        // The caller waits with its own block until another thread has panicked with the second.
        let panicked = AtomicBool::new(false);
        let begin = Instant::now();
        let done = share(2, 2, &|thread, _| {
            if thread > 0 {
                panicked.store(true, Ordering::Relaxed);
                panic!("on purpose");
            }
            while !panicked.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(5) {
                std::thread::yield_now();
            }
        });
        assert_eq!(done, !panicked.into_inner());
        // The pool still works.
        assert!(share(2, 8, &|_, _| {}));
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_other_threads() {
        let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let begin = Instant::now();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            share(2, 2, &|thread, _| {
                if thread > 0 {
                    begun.store(true, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(50));
                    ended.store(true, Ordering::Relaxed);
                    return;
                }
                while !begun.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(5) {
                    std::thread::yield_now();
                }
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(begun.into_inner(), ended.into_inner(), "another thread is still at work");
    }
}
