//! How much is done between looks at the limits of a run, where that is not for kernels to say.

use std::ops::Range;

/// So many bytes are copied, or made 0, between looks at the limits of a run.
const BYTES_AT_A_TIME: usize = 1 << 22;

/// So many elements are added up between looks, of all parts together.
const ADDED_AT_A_TIME: usize = 1 << 20;

/// The first byte and the number of pieces of so many bytes.
pub(super) fn pieces(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = (0..bytes).step_by(BYTES_AT_A_TIME);
    starts.map(move |start| (start, BYTES_AT_A_TIME.min(bytes - start)))
}

/// Elements of so many parts are added up between looks at the limits of a run.
pub(super) fn ranges(elements: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let count = (ADDED_AT_A_TIME / parts.max(1)).max(1);
    (0..elements).step_by(count).map(move |start| start..elements.min(start + count))
}
