//! The order of elements, and the permutations that sort along the outermost axis.

use std::cmp::Ordering;

use cotan_array::Dtype;

/// Whether an element is NaN, and so differs from itself.
#[inline(always)]
#[allow(clippy::eq_op, reason = "that is how to tell")]
pub(crate) fn is_nan<T: PartialEq + Copy>(x: T) -> bool {
    x != x
}

/// Runs `$body` with `$t` standing for the type of the elements; truth values are bytes.
macro_rules! with_elements {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            Dtype::F64 => {
                type $t = f64;
                $body
            }
            Dtype::F32 => {
                type $t = f32;
                $body
            }
            Dtype::I64 => {
                type $t = i64;
                $body
            }
            Dtype::Bool => {
                type $t = u8;
                $body
            }
        }
    };
}

pub(crate) use with_elements;

/// Rows that are sorted, or merged, between looks at the limits of a run.
const AT_A_TIME: usize = 1 << 13;

/// What it takes to sort or to merge a row, in additions.
const PER_ROW: usize = 128;

/// Rows that are written down between looks, and what it takes to write one.
const WRITTEN_AT_A_TIME: usize = 1 << 16;
const PER_WRITE: usize = 16;

/// How many columns there must be room for, to sort so many.
pub(crate) fn columns_of_room(inner: usize) -> usize {
    inner.min(2)
}

/// The stable permutation that sorts each of `inner` columns ascending, NaNs last. `go_on` is told
/// how much is about to be done, in additions; when it says no, that is the end, and `false`.
///
/// # Safety
/// `from` holds `outer * inner` elements of the type, `to` has room for as many integers, and `room`
/// for [`columns_of_room`] columns.
pub(crate) unsafe fn arg_sort(
    dtype: Dtype,
    from: *const u8,
    (to, room): (*mut i64, *mut i64),
    (outer, inner): (usize, usize),
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    if outer == 0 || inner == 0 {
        // No elements, however many rows there are.
        return true;
    }
    // A single column is sorted where it is to be, which may hold nothing yet.
    let sorted = if inner == 1 { to } else { room.wrapping_add(outer) };
    for start in (0..outer).step_by(WRITTEN_AT_A_TIME) {
        let count = WRITTEN_AT_A_TIME.min(outer - start);
        if !go_on(count * PER_WRITE) {
            return false;
        }
        // SAFETY: there is room for a column.
        unsafe { std::ptr::write_bytes(sorted.add(start), 0, count) };
    }
    // SAFETY: by the contract; both have been written, and they do not overlap.
    let (sorted, room) = unsafe {
        (std::slice::from_raw_parts_mut(sorted, outer), std::slice::from_raw_parts_mut(room, outer))
    };
    with_elements!(dtype, T => {
        for column in 0..inner {
            // SAFETY: an element of the array: rows are below `outer`.
            let at =
                |row: i64| unsafe { from.cast::<T>().add(row as usize * inner + column).read() };
            let order = |a: i64, b: i64| {
                let (x, y) = (at(a), at(b));
                x.partial_cmp(&y).unwrap_or_else(|| is_nan(x).cmp(&is_nan(y)))
            };
            if !sort(sorted, room, order, go_on) {
                return false;
            }
            if inner == 1 {
                break;
            }
            for (part, rows) in sorted.chunks(WRITTEN_AT_A_TIME).enumerate() {
                if !go_on(rows.len() * PER_WRITE) {
                    return false;
                }
                for (n, &row) in rows.iter().enumerate() {
                    let n = part * WRITTEN_AT_A_TIME + n;
                    // SAFETY: an element of the result.
                    unsafe { to.add(n * inner + column).write(row) };
                }
            }
        }
    });
    true
}

/// Puts the numbers of all rows into `sorted`, equals in their order: short runs first, which are then
/// merged, so that it can stop on its way.
fn sort(
    sorted: &mut [i64],
    room: &mut [i64],
    order: impl Fn(i64, i64) -> Ordering,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    let count = sorted.len();
    let merges = count.div_ceil(AT_A_TIME).next_power_of_two().trailing_zeros();
    // Each merge goes from one to the other, and the last to `sorted`.
    let (mut from, mut to) = if merges.is_multiple_of(2) { (sorted, room) } else { (room, sorted) };
    for (n, run) in from.chunks_mut(AT_A_TIME).enumerate() {
        if !go_on(run.len() * PER_ROW) {
            return false;
        }
        let rows = (n * AT_A_TIME) as i64..;
        run.iter_mut().zip(rows).for_each(|(place, row)| *place = row);
        run.sort_by(|&a, &b| order(a, b));
    }
    for merge in 0..merges {
        let width = AT_A_TIME << merge;
        for (pair, merged) in from.chunks(2 * width).zip(to.chunks_mut(2 * width)) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            for part in merged.chunks_mut(AT_A_TIME) {
                if !go_on(part.len() * PER_ROW) {
                    return false;
                }
                for place in part {
                    let first = match (a.first(), b.first()) {
                        (Some(&x), Some(&y)) => order(y, x) != Ordering::Less,
                        (_, None) => true,
                        (None, _) => false,
                    };
                    let next = if first { &mut a } else { &mut b };
                    let Some((&row, rest)) = next.split_first() else { break };
                    (*place, *next) = (row, rest);
                }
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below `bound`, so that many are equal.
    fn numbers(n: usize, bound: u64) -> Vec<u64> {
        let mut state = 88_172_645_463_325_252u64;
        (0..n)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % bound
            })
            .collect()
    }

    fn by(keys: &[u64]) -> impl Fn(i64, i64) -> Ordering {
        |a, b| keys[a as usize].cmp(&keys[b as usize])
    }

    #[test]
    fn runs_are_merged_and_equals_keep_their_order() {
        for n in
            [0, 1, 2, AT_A_TIME, AT_A_TIME + 1, 3 * AT_A_TIME + 5, 5 * AT_A_TIME, 8 * AT_A_TIME]
        {
            for bound in [1, 50, u64::MAX] {
                let keys = numbers(n, bound);
                let (mut rows, mut room) = (vec![-1; n], vec![-1; n]);
                assert!(sort(&mut rows, &mut room, by(&keys), &mut |_| true));
                let mut expected: Vec<i64> = (0..n as i64).collect();
                expected.sort_by_key(|&row| keys[row as usize]);
                assert_eq!(rows, expected, "{n} rows, {bound} keys");
            }
        }
    }

    /// Several columns, and one that takes less room, written a part at a time.
    #[test]
    fn columns_are_sorted_and_stopped() {
        let outer = WRITTEN_AT_A_TIME + 9;
        for inner in [1, 2, 3] {
            let keys: Vec<i64> =
                numbers(outer * inner, 1000).into_iter().map(|key| key as i64).collect();
            let run = |last: usize| {
                let mut to = vec![-1i64; outer * inner];
                let mut room = vec![-1i64; outer * columns_of_room(inner)];
                let mut asked = 0;
                let go_on = &mut |_: usize| {
                    asked += 1;
                    asked < last
                };
                let (from, places) = (keys.as_ptr().cast(), (to.as_mut_ptr(), room.as_mut_ptr()));
                // SAFETY: there are as many elements, and as much room, as it needs.
                let done = unsafe { arg_sort(Dtype::I64, from, places, (outer, inner), go_on) };
                (done, asked, to)
            };
            let (done, all, found) = run(usize::MAX);
            assert!(done);
            for column in 0..inner {
                let mut expected: Vec<i64> = (0..outer as i64).collect();
                expected.sort_by_key(|&row| keys[row as usize * inner + column]);
                let sorted: Vec<i64> = (0..outer).map(|n| found[n * inner + column]).collect();
                assert_eq!(sorted, expected, "column {column} of {inner}");
            }
            // Nine runs, in four merges nine parts each, two parts written before and, if there are
            // several columns, after.
            let each = 9 * 5 + if inner > 1 { 2 } else { 0 };
            assert_eq!(all, 2 + inner * each);
            for last in [1, 2, 3, all / 2, all] {
                let (done, asked, _) = run(last);
                assert_eq!((done, asked), (false, last));
            }
        }
    }

    #[test]
    fn it_asks_whether_to_go_on() {
        let n = 16 * AT_A_TIME;
        let keys = numbers(n, u64::MAX);
        let asked = |last: usize| {
            let (mut rows, mut room) = (vec![-1; n], vec![-1; n]);
            let mut asked = 0;
            let done = sort(&mut rows, &mut room, by(&keys), &mut |_| {
                asked += 1;
                asked < last
            });
            (done, asked)
        };
        let (done, all) = asked(usize::MAX);
        // Each row in a run and in four merges.
        assert!(done);
        assert_eq!(all, 16 * 5);
        for last in [1, 16, 20, all] {
            assert_eq!(asked(last), (false, last));
        }
    }
}
