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

/// The stable permutation that sorts each of `inner` columns ascending, NaNs last. `go_on` is told
/// how much is about to be done, in additions; when it says no, that is the end, and `false`.
///
/// # Safety
/// `from` holds `outer * inner` elements of the type, `to` has room for as many integers.
pub(crate) unsafe fn arg_sort(
    dtype: Dtype,
    from: *const u8,
    to: *mut i64,
    outer: usize,
    inner: usize,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    if inner == 0 {
        // No elements, however many rows there are.
        return true;
    }
    with_elements!(dtype, T => {
        let mut rows: Vec<usize> = Vec::with_capacity(outer);
        let mut merged: Vec<usize> = Vec::new();
        for column in 0..inner {
            // SAFETY: an element of the array.
            let at = |row: usize| unsafe { from.cast::<T>().add(row * inner + column).read() };
            let order = |a: usize, b: usize| {
                let (x, y) = (at(a), at(b));
                x.partial_cmp(&y).unwrap_or_else(|| is_nan(x).cmp(&is_nan(y)))
            };
            rows.clear();
            rows.extend(0..outer);
            if !sort(&mut rows, &mut merged, order, go_on) {
                return false;
            }
            for (n, &row) in rows.iter().enumerate() {
                // SAFETY: an element of the result.
                unsafe { to.add(n * inner + column).write(row as i64) };
            }
        }
    });
    true
}

/// Sorts rows, equals in their order: short runs first, which are then merged, so that it can stop
/// on its way.
fn sort(
    rows: &mut Vec<usize>,
    merged: &mut Vec<usize>,
    order: impl Fn(usize, usize) -> Ordering,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    for run in rows.chunks_mut(AT_A_TIME) {
        if !go_on(run.len() * PER_ROW) {
            return false;
        }
        run.sort_by(|&a, &b| order(a, b));
    }
    let mut width = AT_A_TIME;
    while width < rows.len() {
        merged.clear();
        for pair in rows.chunks(2 * width) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            while let (Some((&x, after_x)), Some((&y, after_y))) =
                (a.split_first(), b.split_first())
            {
                if merged.len().is_multiple_of(AT_A_TIME) && !go_on(AT_A_TIME * PER_ROW) {
                    return false;
                }
                if order(y, x) == Ordering::Less {
                    merged.push(y);
                    b = after_y;
                } else {
                    merged.push(x);
                    a = after_x;
                }
            }
            merged.extend_from_slice(a);
            merged.extend_from_slice(b);
        }
        std::mem::swap(rows, merged);
        width *= 2;
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
    fn runs_are_merged_and_equals_keep_their_order() {
        for n in [0, 1, 2, AT_A_TIME, AT_A_TIME + 1, 3 * AT_A_TIME + 5, 8 * AT_A_TIME] {
            for bound in [1, 50, u64::MAX] {
                let keys = numbers(n, bound);
                let (mut rows, mut room): (Vec<usize>, _) = ((0..n).collect(), Vec::new());
                assert!(sort(&mut rows, &mut room, |a, b| keys[a].cmp(&keys[b]), &mut |_| true));
                let mut expected: Vec<usize> = (0..n).collect();
                expected.sort_by_key(|&row| keys[row]);
                assert_eq!(rows, expected, "{n} rows, {bound} keys");
            }
        }
    }

    #[test]
    fn it_asks_whether_to_go_on() {
        let n = 16 * AT_A_TIME;
        let keys = numbers(n, u64::MAX);
        let asked = |last: usize| {
            let (mut rows, mut room): (Vec<usize>, _) = ((0..n).collect(), Vec::new());
            let mut asked = 0;
            let done = sort(&mut rows, &mut room, |a, b| keys[a].cmp(&keys[b]), &mut |_| {
                asked += 1;
                asked < last
            });
            (done, asked)
        };
        let (done, all) = asked(usize::MAX);
        assert!(done && all >= 16 * 4, "{all}");
        for last in [1, 16, 20, all] {
            assert_eq!(asked(last), (false, last));
        }
    }
}
