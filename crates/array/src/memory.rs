//! The one place where memory for elements is asked for.

use crate::{ArrayError, Element, Shape};

/// The most bytes that one operation may allocate for its result, unless it takes a limit of its
/// own: 16 GiB. Whoever wants less asks [`Shape::within`] first.
pub const DEFAULT_LIMIT: u64 = 16 << 30;

/// An empty vector with room for the elements of an array of `shape`. Refused before allocation
/// when it would pass `limit` bytes, and an error instead of an abort when there is no memory.
pub(crate) fn allocate<T: Element>(
    op: &'static str,
    shape: &Shape,
    limit: u64,
) -> Result<Vec<T>, ArrayError> {
    let bytes = shape.bytes(T::DTYPE);
    let dtype = T::DTYPE;
    if bytes > limit {
        let bytes = Some(bytes);
        return Err(ArrayError::TooLarge { op, shape: shape.clone(), dtype, bytes, limit });
    }
    let mut elements = Vec::new();
    match elements.try_reserve_exact(shape.numel()) {
        Ok(()) => Ok(elements),
        Err(_) => Err(ArrayError::OutOfMemory { op, shape: shape.clone(), dtype, bytes }),
    }
}
