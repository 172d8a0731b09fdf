//! What can go wrong with a shape, a view or a file.

use crate::{Dtype, Shape};

/// An error of this crate. Each message says what was asked, what is allowed, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// More elements or bytes than the limit, or than can be counted.
    #[error("{op}: an array of shape {shape} {}", too_large(*.dtype, *.bytes, *.limit))]
    TooLarge {
        /// The operation that asked for it.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
        /// The element type asked for.
        dtype: Dtype,
        /// Bytes needed; `None` when the elements of no type could be counted.
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
    /// The allocator gave no memory, although the limit allowed it.
    #[error("{op}: no memory for an array of shape {shape} of {dtype} ({bytes} bytes)")]
    OutOfMemory {
        /// The operation that asked for it.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
        /// The element type asked for.
        dtype: Dtype,
        /// Bytes asked for.
        bytes: u64,
    },
    /// The elements are of another type than the one asked for.
    #[error("{op}: the elements are {found}, not {wanted}; convert them with `cast`")]
    WrongDtype {
        /// The operation that was asked for.
        op: &'static str,
        /// The element type asked for.
        wanted: Dtype,
        /// The element type of the array.
        found: Dtype,
    },
    /// An axis beyond the last.
    #[error("{op}: no axis {axis} in shape {shape}, which has {} axes", .shape.rank())]
    BadAxis {
        /// The operation that was asked for.
        op: &'static str,
        /// The axis asked for, the outermost being 0.
        axis: usize,
        /// The shape of the array.
        shape: Shape,
    },
    /// Not a permutation of the outermost axes.
    #[error("{op}: {perm:?} is not a permutation of the outermost axes of shape {shape}; \
             use each of 0 to {} once", .perm.len().saturating_sub(1))]
    BadPermutation {
        /// The operation that was asked for.
        op: &'static str,
        /// The permutation asked for.
        perm: Vec<usize>,
        /// The shape of the array.
        shape: Shape,
    },
    /// An index beyond the end of its axis.
    #[error("{op}: index {index} is outside the outermost axis of shape {shape}")]
    IndexOutOfRange {
        /// The operation that was asked for.
        op: &'static str,
        /// The index asked for.
        index: usize,
        /// The shape of the array.
        shape: Shape,
    },
    /// A slice that leaves its axis.
    #[error(
        "slice: {len} elements from {start} in steps of {step} leave axis {axis} of shape \
             {shape}, which has {size} elements"
    )]
    SliceOutOfRange {
        /// The axis sliced.
        axis: usize,
        /// The first element asked for.
        start: usize,
        /// The number of elements asked for.
        len: usize,
        /// The distance between two of them.
        step: isize,
        /// The size of the axis.
        size: usize,
        /// The shape of the array.
        shape: Shape,
    },
}

fn too_large(dtype: Dtype, bytes: Option<u64>, limit: u64) -> String {
    match bytes {
        Some(bytes) => format!("of {dtype} needs {bytes} bytes; the limit is {limit}"),
        None => "has too many elements: an array has fewer than 2^60, counting the axes that are \
                 not empty"
            .to_owned(),
    }
}
