//! Limits on making programs, and the token that stops long work.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};

/// What making a program may take. Exceeding a limit is an error, never a crash.
///
/// The sizes of arrays are not limited here, but for what [`cotan_array::Shape`] can represent: most
/// arrays of a program are never in memory. Limits on memory are those of what runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes of a program.
    pub max_nodes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    /// 2^26 nodes, no deadline.
    fn default() -> Limits {
        Limits { max_nodes: 1 << 26, deadline: None }
    }
}

/// Asks long work to stop, from any thread.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that nobody has cancelled yet.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks for an end. Takes effect when the work next polls the token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an end was asked for.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When the work of [`within`] has to end.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Asks for an end from another thread.
    pub cancel: CancelToken,
    /// How many more looks find that there is time: for tests.
    #[doc(hidden)]
    pub looks: Option<usize>,
}

thread_local! {
    /// The watches of the calls of [`within`] that are running, the innermost last.
    static WATCHES: RefCell<Vec<Watch>> = const { RefCell::new(Vec::new()) };
}

/// Does work on this thread that ends early when a deadline has passed or somebody cancels: making
/// nodes fails, and so does every pass and the planning of a program.
///
/// Passes consist of many functions that make programs of their own, none of which has to hand on a
/// deadline in this way.
pub fn within<T>(watch: Watch, work: impl FnOnce() -> T) -> T {
    /// Takes the watch away again, also when the work panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            WATCHES.with_borrow_mut(|watches| drop(watches.pop()));
        }
    }
    WATCHES.with_borrow_mut(|watches| watches.push(watch));
    let _guard = Guard;
    work()
}

/// An error of the operation `op` if the work of [`within`] has to end.
pub fn look(op: &str) -> Result<()> {
    WATCHES.with_borrow_mut(|watches| watches.iter_mut().try_for_each(|watch| watch.look(op)))
}

impl Watch {
    fn look(&mut self, op: &str) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, op, "cancelled"));
        }
        let mut over = self.deadline.is_some_and(|end| Instant::now() >= end);
        if let Some(looks) = &mut self.looks {
            over |= *looks == 0;
            *looks = looks.saturating_sub(1);
        }
        if over { Err(Error::new(ErrorKind::Deadline, op, "out of time")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(result: Result<()>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind())
    }

    #[test]
    fn watches_are_for_the_work_and_what_it_calls() {
        assert_eq!(kind(look("test")), None);
        let cancel = CancelToken::new();
        let outer = Watch { cancel: cancel.clone(), ..Watch::default() };
        within(outer, || {
            let past = Watch { deadline: Some(Instant::now()), ..Watch::default() };
            assert_eq!(kind(within(past, || look("test"))), Some(ErrorKind::Deadline));
            assert_eq!(kind(look("test")), None);
            cancel.cancel();
            assert_eq!(kind(within(Watch::default(), || look("test"))), Some(ErrorKind::Cancelled));
        });
        assert_eq!(kind(look("test")), None);
        let unwound = std::panic::catch_unwind(|| {
            within(Watch { looks: Some(0), ..Watch::default() }, || {
                std::panic::resume_unwind(Box::new(()))
            })
        });
        assert!(unwound.is_err());
        assert_eq!(kind(look("test")), None);
    }
}
