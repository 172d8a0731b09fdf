//! A line that says that something is going on.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::terminal::Terminal;

/// Where nobody watches, in a log, a line says so this often.
const LOGGED: u64 = 10;

/// Does the work; if someone watches and it takes more than a second, says how long it takes.
pub fn watched<T>(terminal: &Terminal, what: &str, work: impl FnOnce() -> T) -> T {
    if !terminal.is_watched() {
        return work();
    }
    ticking(&|seconds| rewrite(&format!("{what}: {seconds} s")), work)
}

/// Work in steps that has a time of its own, and how far it is.
pub struct Pace {
    what: String,
    begin: Instant,
    time: Duration,
    done: AtomicUsize,
    of: AtomicUsize,
}

impl Pace {
    /// Work that begins now and should take no more than a time.
    pub fn new(what: String, time: Duration) -> Pace {
        let (done, of) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Pace { what, begin: Instant::now(), time, done, of }
    }

    /// Says how far the work is.
    pub fn at(&self, done: usize, of: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    /// Whether the time is up: no step is begun any more.
    pub fn is_over(&self) -> bool {
        self.begin.elapsed() >= self.time
    }

    /// The same for the first half of what is left.
    pub fn half(&self) -> Pace {
        let left = self.time.saturating_sub(self.begin.elapsed());
        Pace::new(String::new(), left / 2)
    }

    /// When a step that takes too long is given up.
    pub fn end(&self) -> Instant {
        let far = Duration::from_secs(1 << 30);
        self.begin + self.time.min(far) + (self.time / 2).min(far)
    }

    /// Whether that is over.
    pub fn is_long_over(&self) -> bool {
        Instant::now() >= self.end()
    }

    fn line(&self, seconds: u64) -> String {
        let (done, of) = (self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed));
        let far = match of {
            0 => String::new(),
            of => format!(", {} %", 100 * done.min(of) / of),
        };
        format!("{}: {seconds} s{far}", self.what)
    }
}

/// Does the work and says how far it is: on a terminal every second, elsewhere now and then.
pub fn paced<T>(terminal: &Terminal, pace: &Pace, work: impl FnOnce() -> T) -> T {
    if terminal.is_watched() {
        return ticking(&|seconds| rewrite(&pace.line(seconds)), work);
    }
    let log = |seconds: u64| {
        if seconds.is_multiple_of(LOGGED) {
            let _ = writeln!(io::stderr().lock(), "{}", pace.line(seconds));
        }
        false
    };
    ticking(&log, work)
}

/// Does the work while every second something is said, which may have to be taken away at the end.
fn ticking<T>(say: &(dyn Fn(u64) -> bool + Sync), work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Dropped when the work ends, also by a panic, which ends the ticking.
        let (_working, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            let (begin, mut shown) = (Instant::now(), false);
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                shown |= say(begin.elapsed().as_secs());
            }
            if shown {
                rewrite("");
            }
        });
        work()
    })
}

/// Writes over the line before.
fn rewrite(line: &str) -> bool {
    let mut error = io::stderr().lock();
    let _ = write!(error, "\r\x1b[K{line}");
    let _ = error.flush();
    true
}
