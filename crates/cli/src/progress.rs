//! A line that says that something is going on.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::terminal::Terminal;

/// Does the work; if someone watches and it takes more than a second, says how long it takes.
pub fn watched<T>(terminal: &Terminal, what: &str, work: impl FnOnce() -> T) -> T {
    if !terminal.is_watched() {
        return work();
    }
    thread::scope(|scope| {
        // Dropped when the work ends, also by a panic, which ends the ticking.
        let (_working, ended) = mpsc::channel::<()>();
        scope.spawn(move || tick(what, &ended));
        work()
    })
}

fn tick(what: &str, ended: &mpsc::Receiver<()>) {
    let begin = Instant::now();
    let mut shown = false;
    while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        shown = true;
        let mut error = io::stderr().lock();
        let _ = write!(error, "\r{what}: {} s", begin.elapsed().as_secs());
        let _ = error.flush();
    }
    if shown {
        // Back to the beginning of the line, and erase it.
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}
