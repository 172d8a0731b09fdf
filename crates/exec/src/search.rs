//! Sorting permutations along the outermost axis.

use std::cmp::Ordering;

use cotan_array::Dtype;

/// Elements in the order of the language, which may have NaNs.
trait Ordered: Copy {
    fn order(self, other: Self) -> Option<Ordering>;
    fn nan(self) -> bool;
}

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            fn order(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
            fn nan(self) -> bool {
                self.is_nan()
            }
        }
    )* };
}

floats!(f64, f32);

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            fn order(self, other: Self) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
            fn nan(self) -> bool {
                false
            }
        }
    )* };
}

integers!(i64, u8);

macro_rules! with_ordered {
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
    with_ordered!(dtype, T => {
        let mut rows: Vec<usize> = Vec::with_capacity(outer);
        for column in 0..inner {
            // SAFETY: an element of the array.
            let at = |row: usize| unsafe { from.cast::<T>().add(row * inner + column).read() };
            rows.clear();
            rows.extend(0..outer);
            rows.sort_by(|&a, &b| {
                let (x, y) = (at(a), at(b));
                x.order(y).unwrap_or_else(|| x.nan().cmp(&y.nan()))
            });
            for (n, &row) in rows.iter().enumerate() {
                // SAFETY: an element of the result.
                unsafe { to.add(n * inner + column).write(row as i64) };
            }
        }
    });
}
