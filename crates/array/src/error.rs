//! What can go wrong with a shape, a view or a file.

use crate::{Dtype, Shape};

/// An error of this crate. Each message says what was asked, what is allowed, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// More elements or bytes than the limit, or than can be counted.
    #[error("{op}: an array of shape {shape} of {dtype} needs {} bytes; the limit is {limit}", show_bytes(.bytes))]
    TooLarge {
        /// The operation that asked for it.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
        /// The element type asked for.
        dtype: Dtype,
        /// Bytes needed; `None` when they cannot be counted in 64 bits.
        bytes: Option<u64>,
        /// Bytes allowed.
        limit: u64,
    },
    /// More axes than [`crate::MAX_RANK`].
    #[error("{op}: {rank} axes; at most {} are allowed", crate::MAX_RANK)]
    RankTooLarge {
        /// The operation that asked for it.
        op: &'static str,
        /// Axes asked for.
        rank: usize,
    },
    /// The number of elements and the shape disagree.
    #[error("{op}: {got} elements do not fill shape {shape}, which has {} elements", .shape.numel())]
    WrongCount {
        /// The operation that was asked for.
        op: &'static str,
        /// The shape.
        shape: Shape,
        /// Elements given.
        got: usize,
    },
}

fn show_bytes(bytes: &Option<u64>) -> String {
    bytes.map_or_else(|| "more than 2^64".to_string(), |b| b.to_string())
}
