//! Adding tiles up, and finding their largest or smallest elements.
//!
//! Lanes that are summed are added to [`accumulators`]: lane $k$ to number $k$ modulo their count,
//! whatever the instruction set, so that every executor adds in the same order. Likewise for the
//! largest and smallest: there the order decides between 0 and -0.

use std::ops::Range;

use cotan_array::Dtype;
use cotan_nest::Reduction;

use crate::isa::for_each_isa;

/// The accumulators of a sum over lanes fill so many bytes.
pub(crate) const ACCUMULATOR_BYTES: usize = 128;

/// How many accumulators a sum over lanes has.
pub(super) fn accumulators(dtype: Dtype) -> usize {
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

    /// Lets lanes take the places of the largest, or smallest, so far: those of the accumulators if
    /// lanes are reduced, else each its own.
    ///
    /// # Safety
    /// As [`add`].
    unsafe fn better(
        dtype: Dtype,
        best: *mut u8,
        a: *const u8,
        n: usize,
        reduced: bool,
        largest: bool
    ) {
        // As the operations of the table: the first of equals, and NaN.
        macro_rules! float {
            ($t:ty, $count:literal, $better:tt) => {
                match reduced {
                    true => cyclic!(best, a, n, $t, $count, |s, k| {
                        // SAFETY: the operand has `n` elements.
                        let x = unsafe { a.cast::<$t>().add(k).read() };
                        *s = if x $better *s || x.is_nan() { x } else { *s };
                    }),
                    false => parallel!(best, n, $t, |s, k| {
                        // SAFETY: as above.
                        let x = unsafe { a.cast::<$t>().add(k).read() };
                        *s = if x $better *s || x.is_nan() { x } else { *s };
                    }),
                }
            };
        }
        macro_rules! integer {
            ($better:tt) => {
                match reduced {
                    true => cyclic!(best, a, n, i64, 16, |s, k| {
                        // SAFETY: as above.
                        let x = unsafe { a.cast::<i64>().add(k).read() };
                        *s = if x $better *s { x } else { *s };
                    }),
                    false => parallel!(best, n, i64, |s, k| {
                        // SAFETY: as above.
                        let x = unsafe { a.cast::<i64>().add(k).read() };
                        *s = if x $better *s { x } else { *s };
                    }),
                }
            };
        }
        match (dtype, largest) {
            (Dtype::F64, true) => float!(f64, 16, >),
            (Dtype::F64, false) => float!(f64, 16, <),
            (Dtype::F32, true) => float!(f32, 32, >),
            (Dtype::F32, false) => float!(f32, 32, <),
            (Dtype::I64, true) => integer!(>),
            (Dtype::I64, false) => integer!(<),
            // Truth values are no numbers.
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

/// What nothing is smaller than, or larger, as bits.
pub(super) fn worst(dtype: Dtype, largest: bool) -> u64 {
    match (dtype, largest) {
        (Dtype::F64, true) => f64::NEG_INFINITY.to_bits(),
        (Dtype::F64, false) => f64::INFINITY.to_bits(),
        (Dtype::F32, true) => u64::from(f32::NEG_INFINITY.to_bits()),
        (Dtype::F32, false) => u64::from(f32::INFINITY.to_bits()),
        (Dtype::I64, true) => i64::MIN as u64,
        (Dtype::I64, false) => i64::MAX as u64,
        (Dtype::Bool, largest) => u64::from(!largest),
    }
}

/// Adds lanes to a sum, or lets them take the places of the best.
///
/// # Safety
/// As [`add`].
pub(super) unsafe fn combine(
    dtype: Dtype,
    to: *mut u8,
    a: *const u8,
    n: usize,
    (reduction, reduced): (Reduction, bool),
) {
    // SAFETY: by the contract.
    unsafe {
        match reduction {
            Reduction::Sum => add(dtype, to, a, n, reduced),
            Reduction::Largest => better(dtype, to, a, n, reduced, true),
            Reduction::Smallest => better(dtype, to, a, n, reduced, false),
        }
    }
}

/// What the accumulators give together, in the first: halves are combined with each other.
///
/// # Safety
/// The accumulators of a type of numbers.
pub(super) unsafe fn fold(reduction: Reduction, dtype: Dtype, sum: *mut u8) {
    let mut left = accumulators(dtype);
    while left > 1 {
        left /= 2;
        // SAFETY: the upper half of what is left is added to the lower, which it is apart from.
        unsafe { combine(dtype, sum, sum.add(left * dtype.size()), left, (reduction, false)) };
    }
}

/// Adds up a range of the elements of parts, in the order of the parts.
///
/// # Safety
/// There are so many parts, of the given bytes each, one after the other, and the target is another
/// such part, or the first of them. The range lies within.
pub(crate) unsafe fn add_up(
    reduction: Reduction,
    dtype: Dtype,
    to: *mut u8,
    (from, bytes): (*const u8, usize),
    range: Range<usize>,
    parts: usize,
) {
    let (first, size) = (range.start * dtype.size(), range.len() * dtype.size());
    // SAFETY: by the contract.
    unsafe {
        let (to, from) = (to.add(first), from.add(first));
        if !std::ptr::eq(from, to) {
            std::ptr::copy_nonoverlapping(from, to, size);
        }
        for part in 1..parts {
            combine(dtype, to, from.add(part * bytes), range.len(), (reduction, false));
        }
    }
}

/// Adds `n` elements to others.
///
/// # Safety
/// There are so many of both, apart from each other.
pub(crate) unsafe fn add_to(
    reduction: Reduction,
    dtype: Dtype,
    to: *mut u8,
    from: *const u8,
    n: usize,
) {
    // SAFETY: by the contract.
    unsafe { combine(dtype, to, from, n, (reduction, false)) };
}
