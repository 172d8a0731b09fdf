//! Adding tiles up.
//!
//! Lanes that are summed are added to [`accumulators`]: lane $k$ to number $k$ modulo their count,
//! whatever the instruction set, so that every executor adds in the same order.

use cotan_array::Dtype;

use crate::isa::for_each_isa;

/// The accumulators of a sum over lanes fill so many bytes.
pub(crate) const ACCUMULATOR_BYTES: usize = 128;

/// How many accumulators a sum over lanes has.
pub(crate) fn accumulators(dtype: Dtype) -> usize {
    ACCUMULATOR_BYTES / dtype.size().max(4)
}

/// Adds `a[k]`, or `a[k] * b[k]` rounded once, to `sum[k mod N]`.
macro_rules! cyclic {
    ($sum:expr, $a:expr, $n:expr, $t:ty, $count:literal, |$s:ident, $k:ident| $formula:expr) => {{
        let (sum, n) = ($sum.cast::<[$t; $count]>(), $n);
        // SAFETY: there are that many accumulators.
        let mut local = unsafe { sum.read() };
        let mut first = 0;
        while first + $count <= n {
            for (j, $s) in local.iter_mut().enumerate() {
                let $k = first + j;
                $formula;
            }
            first += $count;
        }
        for (j, $s) in local.iter_mut().enumerate().take(n - first) {
            let $k = first + j;
            $formula;
        }
        // SAFETY: as above.
        unsafe { sum.write(local) };
    }};
}

/// Adds `a[k]`, or `a[k] * b[k]` rounded once, to `sum[k]`.
macro_rules! parallel {
    ($sum:expr, $n:expr, $t:ty, |$s:ident, $k:ident| $formula:expr) => {{
        // SAFETY: the target has `n` elements, and is no operand.
        let sums = unsafe { std::slice::from_raw_parts_mut($sum.cast::<$t>(), $n) };
        for ($k, $s) in sums.iter_mut().enumerate() {
            $formula;
        }
    }};
}

for_each_isa! {
    /// Adds lanes to a sum: to the accumulators if they are reduced, else each to its own.
    ///
    /// # Safety
    /// There are `n` lanes; the sum has accumulators, or `n` lanes, and is apart from the lanes.
    pub(super) unsafe fn add(dtype: Dtype, sum: *mut u8, a: *const u8, n: usize, reduced: bool) {
        macro_rules! at {
            ($t:ty, $k:expr) => {
                // SAFETY: the operand has `n` elements.
                unsafe { a.cast::<$t>().add($k).read() }
            };
        }
        match (dtype, reduced) {
            (Dtype::F64, true) => cyclic!(sum, a, n, f64, 16, |s, k| *s += at!(f64, k)),
            (Dtype::F32, true) => cyclic!(sum, a, n, f32, 32, |s, k| *s += at!(f32, k)),
            (Dtype::I64, true) => {
                cyclic!(sum, a, n, i64, 16, |s, k| *s = s.wrapping_add(at!(i64, k)))
            }
            (Dtype::F64, false) => parallel!(sum, n, f64, |s, k| *s += at!(f64, k)),
            (Dtype::F32, false) => parallel!(sum, n, f32, |s, k| *s += at!(f32, k)),
            (Dtype::I64, false) => {
                parallel!(sum, n, i64, |s, k| *s = s.wrapping_add(at!(i64, k)))
            }
            // Truth values are never added.
            (Dtype::Bool, _) => {}
        }
    }

    /// Adds products of lanes to a sum, each rounded once with it.
    ///
    /// # Safety
    /// As [`add`], of both factors.
    pub(super) unsafe fn add_products(
        dtype: Dtype,
        sum: *mut u8,
        factors: (*const u8, *const u8),
        n: usize,
        reduced: bool,
    ) {
        let (a, b) = factors;
        macro_rules! fma {
            ($t:ty, $k:expr, $s:expr) => {
                // SAFETY: the operands have `n` elements.
                unsafe { a.cast::<$t>().add($k).read().mul_add(b.cast::<$t>().add($k).read(), *$s) }
            };
        }
        match (dtype, reduced) {
            (Dtype::F64, true) => cyclic!(sum, a, n, f64, 16, |s, k| *s = fma!(f64, k, s)),
            (Dtype::F32, true) => cyclic!(sum, a, n, f32, 32, |s, k| *s = fma!(f32, k, s)),
            (Dtype::F64, false) => parallel!(sum, n, f64, |s, k| *s = fma!(f64, k, s)),
            (Dtype::F32, false) => parallel!(sum, n, f32, |s, k| *s = fma!(f32, k, s)),
            // Only products of floats are rounded with the sum.
            (Dtype::I64 | Dtype::Bool, _) => {}
        }
    }
}

/// The sum of the accumulators in the first: halves are added to each other.
///
/// # Safety
/// The accumulators of a type of numbers.
pub(super) unsafe fn fold(dtype: Dtype, sum: *mut u8) {
    let mut left = accumulators(dtype);
    while left > 1 {
        left /= 2;
        // SAFETY: the upper half of what is left is added to the lower, which it is apart from.
        unsafe { add(dtype, sum, sum.add(left * dtype.size()), left, false) };
    }
}

/// Adds up parts of `n` elements each, in their order.
///
/// # Safety
/// There are so many parts one after the other, and the target has room for one.
pub(crate) unsafe fn add_up(dtype: Dtype, to: *mut u8, from: *const u8, n: usize, parts: usize) {
    let bytes = n * dtype.size();
    // SAFETY: by the contract.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
        for part in 1..parts {
            add(dtype, to, from.add(part * bytes), n, false);
        }
    }
}

/// Adds `n` elements to others.
///
/// # Safety
/// There are so many of both, apart from each other.
pub(crate) unsafe fn add_to(dtype: Dtype, to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: by the contract.
    unsafe { add(dtype, to, from, n, false) };
}
