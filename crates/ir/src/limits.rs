//! Limits on the size of programs and data, and the token that stops long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a program may ask for. Exceeding a limit is an error, never a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes of a program.
    pub max_nodes: usize,
    /// Elements of one array.
    pub max_elements: u64,
    /// Bytes of one array.
    pub max_bytes: u64,
    /// When to give up.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    /// 2^26 nodes, 2^34 elements, 64 GiB an array, no deadline.
    fn default() -> Limits {
        Limits { max_nodes: 1 << 26, max_elements: 1 << 34, max_bytes: 64 << 30, deadline: None }
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
