//! The order of elements, and the permutations that sort along the outermost axis.

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

/// Rows that are moved between looks at the limits of a run, and what it takes to move one, in
/// additions.
const AT_A_TIME: usize = 1 << 16;
const PER_MOVE: usize = 16;

/// Fewer rows are sorted by comparisons: counting digits takes as long as that.
const FEW_ROWS: usize = 1 << 10;

/// What it takes to sort one of few rows, in additions.
const PER_ROW: usize = 128;

/// Keys are sorted by digits of so many bits, the last digit first: their counts stay in the first
/// cache.
const DIGIT_BITS: usize = 8;
const DIGITS: usize = u64::BITS as usize / DIGIT_BITS;
const BUCKETS: usize = 1 << DIGIT_BITS;

/// An element as a number of the same order, NaNs last: equals, such as 0 and -0, are one number.
trait SortKey: Copy {
    fn key(self) -> u64;
}

/// The most significant bit.
const TOP: u64 = 1 << 63;

impl SortKey for f64 {
    #[inline(always)]
    fn key(self) -> u64 {
        if self.is_nan() {
            return u64::MAX;
        }
        // -0 + 0 is 0.
        let bits = (self + 0.0).to_bits();
        if bits & TOP == 0 { bits | TOP } else { !bits }
    }
}

impl SortKey for f32 {
    #[inline(always)]
    fn key(self) -> u64 {
        // The same order, in fewer digits that differ.
        if self.is_nan() {
            return u64::from(u32::MAX);
        }
        let bits = (self + 0.0).to_bits();
        u64::from(if bits >> 31 == 0 { bits | 1 << 31 } else { !bits })
    }
}

impl SortKey for i64 {
    #[inline(always)]
    fn key(self) -> u64 {
        self as u64 ^ TOP
    }
}

impl SortKey for u8 {
    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self)
    }
}

/// The stable permutation that sorts each of `inner` columns ascending, NaNs last. `go_on` is told
/// how much is about to be done, in additions; when it says no, that is the end, and `false`.
///
/// # Safety
/// `from` holds `outer * inner` elements of the type, `to` has room for as many integers, and `room`
/// for [`cotan_schedule::columns_of_room`] columns, which have been written.
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
    // A single column is sorted where it is to be.
    let sorted = if inner == 1 { to } else { room.wrapping_add(3 * outer) };
    // The result may hold nothing yet.
    for start in (0..outer).step_by(AT_A_TIME) {
        let count = AT_A_TIME.min(outer - start);
        if !go_on(count * PER_MOVE) {
            return false;
        }
        // SAFETY: there is room for a column.
        unsafe { std::ptr::write_bytes(sorted.add(start), 0, count) };
    }
    // SAFETY: by the contract; these are different columns of memory that has been written.
    let (sorted, other, keys, other_keys) = unsafe {
        let keys = room.add(outer).cast::<u64>();
        (
            std::slice::from_raw_parts_mut(sorted, outer),
            std::slice::from_raw_parts_mut(room, outer),
            std::slice::from_raw_parts_mut(keys, outer),
            std::slice::from_raw_parts_mut(keys.add(outer), outer),
        )
    };
    with_elements!(dtype, T => {
        for column in 0..inner {
            // SAFETY: an element of the array: rows are below `outer`.
            let at = |row: usize| unsafe { from.cast::<T>().add(row * inner + column).read() };
            for (part, keys) in keys.chunks_mut(AT_A_TIME).enumerate() {
                if !go_on(keys.len() * PER_MOVE) {
                    return false;
                }
                let rows = part * AT_A_TIME..;
                keys.iter_mut().zip(rows).for_each(|(key, row)| *key = at(row).key());
            }
            if !sort([sorted, other], [keys, other_keys], go_on) {
                return false;
            }
            if inner == 1 {
                break;
            }
            for (part, rows) in sorted.chunks(AT_A_TIME).enumerate() {
                if !go_on(rows.len() * PER_MOVE) {
                    return false;
                }
                for (n, &row) in rows.iter().enumerate() {
                    let n = part * AT_A_TIME + n;
                    // SAFETY: an element of the result.
                    unsafe { to.add(n * inner + column).write(row) };
                }
            }
        }
    });
    true
}

/// Puts the numbers of all rows in the order of their keys into the first of `rows`, equals in their
/// order; the other one, and both keys, are used up.
fn sort(
    rows: [&mut [i64]; 2],
    keys: [&mut [u64]; 2],
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    let ([sorted, other], [keys, other_keys]) = (rows, keys);
    if sorted.len() < FEW_ROWS {
        if !go_on(sorted.len() * PER_ROW) {
            return false;
        }
        sorted.iter_mut().zip(0..).for_each(|(place, row)| *place = row);
        sorted.sort_by_key(|&row| keys[row as usize]);
        return true;
    }
    let digit = |key: u64, n: usize| (key >> (n * DIGIT_BITS)) as usize % BUCKETS;
    let mut counts = [[0usize; BUCKETS]; DIGITS];
    for keys in keys.chunks(AT_A_TIME) {
        if !go_on(keys.len() * PER_MOVE) {
            return false;
        }
        for &key in keys {
            counts.iter_mut().enumerate().for_each(|(n, counts)| counts[digit(key, n)] += 1);
        }
    }
    // A digit that all keys have in common needs no pass.
    let count = keys.len();
    let differs = |n: &usize| !counts[*n].contains(&count);
    let passes = (0..DIGITS).filter(differs).count();
    // Each pass goes from one to the other, and the last to `sorted`.
    let (first, second) = if passes.is_multiple_of(2) { (sorted, other) } else { (other, sorted) };
    let (mut from, mut to) = ((first, keys), (second, other_keys));
    from.0.iter_mut().zip(0..).for_each(|(place, row)| *place = row);
    for n in (0..DIGITS).filter(differs) {
        let mut places = [0usize; BUCKETS];
        for bucket in 1..BUCKETS {
            places[bucket] = places[bucket - 1] + counts[n][bucket - 1];
        }
        for (rows, keys) in from.0.chunks(AT_A_TIME).zip(from.1.chunks(AT_A_TIME)) {
            if !go_on(rows.len() * PER_MOVE) {
                return false;
            }
            for (&row, &key) in rows.iter().zip(keys) {
                let place = &mut places[digit(key, n)];
                (to.0[*place], to.1[*place]) = (row, key);
                *place += 1;
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

    #[test]
    fn rows_are_sorted_and_equals_keep_their_order() {
        for n in [0, 1, 2, FEW_ROWS - 1, FEW_ROWS, 3 * FEW_ROWS + 5, AT_A_TIME + 1] {
            for bound in [1, 50, 1000, 1 << 40, u64::MAX] {
                let keys = numbers(n, bound);
                let (mut rows, mut room) = (vec![-1; n], vec![-1; n]);
                let (mut used, mut other) = (keys.clone(), vec![0; n]);
                assert!(sort([&mut rows, &mut room], [&mut used, &mut other], &mut |_| true));
                let mut expected: Vec<i64> = (0..n as i64).collect();
                expected.sort_by_key(|&row| keys[row as usize]);
                assert_eq!(rows, expected, "{n} rows, {bound} keys");
            }
        }
    }

    #[test]
    fn keys_are_in_the_order_of_the_elements() {
        fn check<T: SortKey + PartialOrd + std::fmt::Debug>(ascending: &[T]) {
            for pair in ascending.windows(2) {
                let equal = pair[0] == pair[1];
                let (a, b) = (pair[0].key(), pair[1].key());
                assert!(if equal { a == b } else { a < b }, "{pair:?}");
            }
        }
        let (inf, tiny) = (f64::INFINITY, f64::from_bits(1));
        check(&[-inf, f64::MIN, -1.5, -tiny, -0.0, 0.0, tiny, 1.0, 1.5, f64::MAX, inf, f64::NAN]);
        assert_eq!(f64::NAN.key(), (-f64::NAN).key());
        let (inf, tiny) = (f32::INFINITY, f32::from_bits(1));
        check(&[-inf, f32::MIN, -1.5, -tiny, -0.0, 0.0, tiny, 1.0, 1.5, f32::MAX, inf, f32::NAN]);
        assert_eq!(f32::NAN.key(), (-f32::NAN).key());
        check(&[i64::MIN, -1, 0, 1, 255, 256, i64::MAX]);
        check(&[0u8, 1]);
    }

    /// Several columns, and one that takes less room, a part at a time, stopped at any look.
    #[test]
    fn columns_are_sorted_and_stopped() {
        for outer in [FEW_ROWS / 2, AT_A_TIME + 9] {
            for inner in [1, 2, 3] {
                let keys: Vec<i64> =
                    numbers(outer * inner, 1000).into_iter().map(|key| key as i64 - 300).collect();
                let run = |last: usize| {
                    let mut to = vec![-1i64; outer * inner];
                    let mut room = vec![-1i64; outer * cotan_schedule::columns_of_room(inner)];
                    let mut asked = 0;
                    let go_on = &mut |_: usize| {
                        asked += 1;
                        asked < last
                    };
                    let (from, places) =
                        (keys.as_ptr().cast(), (to.as_mut_ptr(), room.as_mut_ptr()));
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
                // Looks for all parts of all rows: before, for the keys, to sort, and after.
                assert!(all >= (1 + inner * 2) * outer.div_ceil(AT_A_TIME));
                for last in (1..=all).step_by(1 + all / 40).chain([all]) {
                    let (done, asked, _) = run(last);
                    assert_eq!((done, asked), (false, last));
                }
            }
        }
    }
}
