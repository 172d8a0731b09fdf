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

/// The stable permutation that sorts each of `inner` columns ascending, NaNs last.
///
/// # Safety
/// `from` holds `outer * inner` elements of the type, `to` has room for as many integers.
pub(crate) unsafe fn arg_sort(
    dtype: Dtype,
    from: *const u8,
    to: *mut i64,
    outer: usize,
    inner: usize,
) {
    if inner == 0 {
        // No elements, however many rows there are.
        return;
    }
    with_elements!(dtype, T => {
        let mut rows: Vec<usize> = Vec::with_capacity(outer);
        for column in 0..inner {
            // SAFETY: an element of the array.
            let at = |row: usize| unsafe { from.cast::<T>().add(row * inner + column).read() };
            rows.clear();
            rows.extend(0..outer);
            rows.sort_by(|&a, &b| {
                let (x, y) = (at(a), at(b));
                x.partial_cmp(&y).unwrap_or_else(|| is_nan(x).cmp(&is_nan(y)))
            });
            for (n, &row) in rows.iter().enumerate() {
                // SAFETY: an element of the result.
                unsafe { to.add(n * inner + column).write(row as i64) };
            }
        }
    });
}
