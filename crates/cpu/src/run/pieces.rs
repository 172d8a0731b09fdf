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

#[cfg(test)]
mod tests {
    use super::*;

    /// All of it, in its order, little at a time.
    #[test]
    fn pieces_and_ranges_make_up_the_whole() {
        for bytes in [0, 1, BYTES_AT_A_TIME, 3 * BYTES_AT_A_TIME + 5] {
            let mut end = 0;
            for (start, count) in pieces(bytes) {
                assert!(start == end && (1..=BYTES_AT_A_TIME).contains(&count));
                end += count;
            }
            assert_eq!(end, bytes);
        }
        for parts in [1, 3, 64, 2 * ADDED_AT_A_TIME] {
            for elements in [0, 1, 20_000] {
                let mut end = 0;
                for range in ranges(elements, parts) {
                    assert!(range.start == end && !range.is_empty());
                    assert!(range.len() == 1 || range.len() * parts <= ADDED_AT_A_TIME);
                    end = range.end;
                }
                assert_eq!(end, elements);
            }
        }
    }
}
