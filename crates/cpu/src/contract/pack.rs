//! Packing: the elements of an operand in the order in which tiles need them.
//!
//! Rows are taken a panel of `W` at a time; a panel holds, for each position of the depth, its `W`
//! elements next to each other. (For the right operand read columns for rows.)

use std::ops::Range;

use smallvec::SmallVec;

use crate::vector::Real;

/// A value that must lie in `0..size` for an element to be read: a part for each row, one for each
/// position of the depth, and what does not depend on either.
pub(crate) struct RangeCheck<'a> {
    pub base: i64,
    pub rows: &'a [i64],
    pub depth: &'a [i64],
    pub size: i64,
}

/// What to pack: elements at `from + rows[r] + depth[k]`.
pub(crate) struct Source<'a, E> {
    pub from: *const E,
    pub rows: &'a [i64],
    pub depth: &'a [i64],
    /// Where one of these fails the element is 0. Not empty only if one may fail, and then one of
    /// them says that the place is within the buffer.
    pub checks: &'a [RangeCheck<'a>],
}

/// Packs all rows; the last panel is filled up with zeros.
pub(crate) type Pack<E> = unsafe fn(&Source<E>, *mut E);

/// Whether each offset follows the one before.
pub(super) fn is_unit(offsets: &[i64]) -> bool {
    offsets.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == 1)
}

/// [`pack`] for each set of vector instructions: what moves whole vectors takes the widest ones.
pub(super) mod by_isa {
    use super::{Real, Source, pack};

    /// # Safety
    /// As [`pack`].
    pub unsafe fn plain<E: Real, const W: usize>(source: &Source<E>, to: *mut E) {
        // SAFETY: by the contract.
        unsafe { pack::<E, W>(source, to) }
    }

    /// # Safety
    /// As [`pack`]; the instructions are there.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2<E: Real, const W: usize>(source: &Source<E>, to: *mut E) {
        // SAFETY: by the contract.
        unsafe { pack::<E, W>(source, to) }
    }

    /// # Safety
    /// As [`pack`]; the instructions are there.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx2,fma")]
    pub unsafe fn avx512<E: Real, const W: usize>(source: &Source<E>, to: *mut E) {
        // SAFETY: by the contract.
        unsafe { pack::<E, W>(source, to) }
    }
}

/// So many neighbours in a row are moved together.
const RUN: usize = 8;

/// So many positions of the depth are packed at a time for all panels if they are no neighbours:
/// memory is then read along several lines at once, and not a little here and there.
const PART: usize = 16;

/// How many offsets from the first on follow each other.
fn run(offsets: &[i64]) -> usize {
    let follow = |pair: &&[i64]| pair[1].wrapping_sub(pair[0]) == 1;
    offsets.windows(2).take_while(follow).count() + 1
}

/// Rows that lie next to each other: the first offset, the number of the first row, and how many.
type Runs = SmallVec<[(i64, usize, usize); 8]>;

/// The runs of some rows, if they are long enough to be moved as such.
fn runs(rows: &[i64]) -> Option<Runs> {
    let mut runs = Runs::new();
    let mut at = 0;
    while at < rows.len() {
        let length = run(&rows[at..]);
        runs.push((rows[at], at, length));
        at += length;
        if runs.len() * RUN > rows.len() && length < rows.len() {
            return None;
        }
    }
    Some(runs)
}

/// Packs panels of `W` rows.
///
/// # Safety
/// All elements that pass the checks exist; there is room for all rows, rounded up to full panels.
#[inline(always)]
unsafe fn pack<E: Real, const W: usize>(source: &Source<E>, to: *mut E) {
    let mut first = 0;
    while first < source.depth.len() {
        let left = &source.depth[first..];
        let deep = run(left);
        let (part, deep) = match deep >= RUN.min(left.len()) {
            true => (deep, true),
            false => (left.len().min(PART), false),
        };
        let depth = &left[..part];
        for (panel, rows) in source.rows.chunks(W).enumerate() {
            // SAFETY: by the contract: panel after panel, part after part.
            unsafe {
                let to = to.add((panel * source.depth.len() + first) * W);
                if !source.checks.is_empty() {
                    checked::<E, W>(source, panel * W, first..first + part, to);
                } else if rows.len() == W && deep && !is_unit(rows) {
                    transposed::<E, W>(source.from, rows, depth, to);
                } else if let Some(runs) = runs(rows) {
                    for (k, &depth) in depth.iter().enumerate() {
                        moved::<E, W>(source.from, &runs, rows.len(), depth, to.add(k * W));
                    }
                } else {
                    for (k, &depth) in depth.iter().enumerate() {
                        line::<E, W>(source.from, rows, depth, to.add(k * W));
                    }
                }
            }
        }
        first += part;
    }
}

/// One position of the depth: an element for each row, and zeros.
///
/// # Safety
/// The elements exist; there is room for `W`.
#[inline(always)]
unsafe fn line<E: Real, const W: usize>(from: *const E, rows: &[i64], depth: i64, to: *mut E) {
    // SAFETY: by the contract.
    unsafe {
        for (r, &row) in rows.iter().enumerate() {
            to.add(r).write(from.wrapping_offset(row.wrapping_add(depth) as isize).read());
        }
        zeros::<E, W>(rows.len(), to);
    }
}

/// The same for rows that lie next to each other in runs, `count` in all.
///
/// # Safety
/// As [`line`].
#[inline(always)]
unsafe fn moved<E: Real, const W: usize>(
    from: *const E,
    runs: &Runs,
    count: usize,
    depth: i64,
    to: *mut E,
) {
    // SAFETY: by the contract.
    unsafe {
        for &(row, first, length) in runs {
            let from = from.wrapping_offset(row.wrapping_add(depth) as isize);
            let to = to.add(first);
            if length == W {
                std::ptr::copy_nonoverlapping(from, to, W);
                return;
            }
            let mut at = block::<E, 16>(from, to, 0, length);
            at = block::<E, 4>(from, to, at, length);
            block::<E, 1>(from, to, at, length);
        }
        zeros::<E, W>(count, to);
    }
}

/// Moves neighbours from number `at` on, `N` at a time, as long as there are so many; gives the first
/// that is left.
///
/// # Safety
/// There are `length` elements at both places.
#[inline(always)]
unsafe fn block<E: Real, const N: usize>(
    from: *const E,
    to: *mut E,
    mut at: usize,
    length: usize,
) -> usize {
    while at + N <= length {
        // SAFETY: by the contract.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), N) };
        at += N;
    }
    at
}

/// Zeros from row `first` on.
///
/// # Safety
/// There is room for `W` elements.
#[inline(always)]
unsafe fn zeros<E: Real, const W: usize>(first: usize, to: *mut E) {
    for r in first..W {
        // SAFETY: by the contract.
        unsafe { to.add(r).write(E::ZERO) };
    }
}

/// A part of a panel whose rows lie in memory one element after the other.
///
/// # Safety
/// As [`pack`], for one full panel.
#[inline(always)]
unsafe fn transposed<E: Real, const W: usize>(
    from: *const E,
    rows: &[i64],
    depth: &[i64],
    to: *mut E,
) {
    let (begin, count) = (depth.first().copied().unwrap_or(0), depth.len());
    let from = |row: i64| from.wrapping_offset(row.wrapping_add(begin) as isize);
    // SAFETY: by the contract.
    unsafe {
        for (group, rows) in rows.chunks(4).enumerate() {
            let to = to.add(group * 4);
            match *rows {
                [a, b, c, d] => side_by_side([a, b, c, d].map(from), count, to, W),
                [a, b] => side_by_side([a, b].map(from), count, to, W),
                _ => {
                    for (r, &row) in rows.iter().enumerate() {
                        side_by_side([from(row)], count, to.add(r), W);
                    }
                }
            }
        }
    }
}

/// Elements of `N` rows next to each other, `step` from those of the next position of the depth.
///
/// # Safety
/// The rows have `depth` elements; there is room for them.
#[inline(always)]
unsafe fn side_by_side<E: Real, const N: usize>(
    from: [*const E; N],
    depth: usize,
    to: *mut E,
    step: usize,
) {
    for k in 0..depth {
        // SAFETY: by the contract.
        unsafe {
            let x = from.map(|from| from.add(k).read());
            to.add(k * step).cast::<[E; N]>().write_unaligned(x);
        }
    }
}

/// A panel some of whose elements may be out of range, from row `first` on, in a part of the depth.
///
/// # Safety
/// As [`pack`], for one panel.
unsafe fn checked<E: Real, const W: usize>(
    source: &Source<E>,
    first: usize,
    part: Range<usize>,
    to: *mut E,
) {
    let rows = &source.rows[first..(first + W).min(source.rows.len())];
    // The least and the greatest part of the rows, for each check.
    let ends: SmallVec<[(i64, i64); 8]> = source
        .checks
        .iter()
        .map(|check| {
            let rows = &check.rows[first..first + rows.len()];
            rows.iter().fold((i64::MAX, i64::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)))
        })
        .collect();
    let runs = runs(rows);
    for (n, k) in part.enumerate() {
        let depth = source.depth[k];
        let (mut all, mut none) = (true, false);
        for (check, &(lo, hi)) in source.checks.iter().zip(&ends) {
            let at = check.base.wrapping_add(check.depth[k]);
            let (lo, hi) = (at.wrapping_add(lo), at.wrapping_add(hi));
            all &= lo >= 0 && hi < check.size && lo <= hi;
            none |= (hi < 0 || lo >= check.size) && lo <= hi;
        }
        // SAFETY: by the contract; an element is read only where all checks hold.
        unsafe {
            let to = to.add(n * W);
            if let (true, Some(runs)) = (all, &runs) {
                moved::<E, W>(source.from, runs, rows.len(), depth, to);
            } else if all {
                line::<E, W>(source.from, rows, depth, to);
            } else if none {
                zeros::<E, W>(0, to);
            } else {
                for r in 0..W {
                    let holds = |check: &RangeCheck| {
                        let at = check.base.wrapping_add(check.depth[k]);
                        (0..check.size).contains(&at.wrapping_add(check.rows[first + r]))
                    };
                    let x = if r < rows.len() && source.checks.iter().all(holds) {
                        let place = rows[r].wrapping_add(depth) as isize;
                        source.from.wrapping_offset(place).read()
                    } else {
                        E::ZERO
                    };
                    to.add(r).write(x);
                }
            }
        }
    }
}
