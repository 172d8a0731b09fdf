//! Extremes by segment: one pass over the elements, without sorting them.

use std::ops::Range;

use cotan_array::Dtype;
use cotan_ir::Extreme;
use cotan_nest::{SegmentStep, Strided};

use crate::search::{is_nan, with_elements};

/// Elements that are looked at between looks at the limits of a run, and what it takes to look at
/// one, in additions.
const AT_A_TIME: usize = 1 << 16;
const PER_ELEMENT: usize = 8;

/// Running it.
pub(crate) trait RunSegments {
    /// Runs it; gives `false` when `go_on`, which is told how much is about to be done, in
    /// additions, says no.
    ///
    /// # Safety
    /// `to` has room for an integer at each segment and column, and there is an id and, where they
    /// are compared, a key of the type at each row and column from `ids` and `keys` on.
    unsafe fn run(
        &self,
        to: *mut i64,
        ids: *const i64,
        keys: *const u8,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> bool;
}

impl RunSegments for SegmentStep {
    unsafe fn run(
        &self,
        to: *mut i64,
        ids: *const i64,
        keys: *const u8,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let places = self.segments * self.columns;
        for start in (0..places).step_by(AT_A_TIME) {
            let end = places.min(start + AT_A_TIME);
            if !go_on(end - start) {
                return false;
            }
            // SAFETY: there is room for so many integers.
            (start..end).for_each(|n| unsafe { to.add(n).write(self.rows as i64) });
        }
        let Some(Strided { row: next_row, column: next_column, .. }) = self.keys else {
            // Later rows have greater numbers.
            let last = self.extreme == Extreme::Max;
            // SAFETY: by the contract.
            return unsafe { pass(self, ids, to, go_on, |best, _, _| last || best == self.rows) };
        };
        with_elements!(self.dtype, T => {
            // SAFETY: an element of the keys.
            let at = |row: usize, column: usize| unsafe {
                keys.cast::<T>().add(row * next_row + column * next_column).read()
            };
            let greater = self.extreme == Extreme::Max;
            let wins = |best: usize, row: usize, column: usize| {
                if best == self.rows {
                    return true;
                }
                let (x, champion) = (at(row, column), at(best, column));
                let better = if greater { x > champion } else { x < champion };
                // The first NaN stays.
                better || is_nan(x) && !is_nan(champion)
            };
            // SAFETY: by the contract.
            unsafe { pass(self, ids, to, go_on, wins) }
        })
    }
}

/// Looks at each element once; `wins` says whether a row becomes the best in a column, in place
/// of one before or of none.
///
/// # Safety
/// As for [`RunSegments::run`]; every place of the target holds a row, or the number of rows.
#[inline(always)]
unsafe fn pass(
    step: &SegmentStep,
    ids: *const i64,
    to: *mut i64,
    go_on: &mut dyn FnMut(usize) -> bool,
    wins: impl Fn(usize, usize, usize) -> bool,
) -> bool {
    let look = |row: usize, column: usize| {
        // SAFETY: an element of the ids.
        let id = unsafe { ids.add(row * step.ids.row + column * step.ids.column).read() };
        // Negative ones are large.
        if id as u64 >= step.segments as u64 {
            return;
        }
        // SAFETY: a place of the target: the id is below the number of segments.
        let place = unsafe { &mut *to.add(id as usize * step.columns + column) };
        if wins(*place as usize, row, column) {
            *place = row as i64;
        }
    };
    let part = |rows: Range<usize>, columns: Range<usize>| match columns.len() {
        1 => rows.for_each(|row| look(row, columns.start)),
        _ => rows.for_each(|row| columns.clone().for_each(|column| look(row, column))),
    };
    // Along what lies closer together in memory.
    let array = step.keys.unwrap_or(step.ids);
    let wide = if array.column <= array.row { step.columns.clamp(1, AT_A_TIME) } else { 1 };
    let high = AT_A_TIME / wide;
    for first in (0..step.columns).step_by(wide) {
        let columns = first..step.columns.min(first + wide);
        for first in (0..step.rows).step_by(high) {
            let rows = first..step.rows.min(first + high);
            if !go_on(rows.len() * columns.len() * PER_ELEMENT) {
                return false;
            }
            part(rows, columns.clone());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use cotan_nest::BufferId;

    use super::*;

    /// Rows and columns of numbers with many equals, and of ids around the range of the segments.
    fn sample(count: usize, bound: u64) -> Vec<i64> {
        let mut state = 88_172_645_463_325_252u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % bound) as i64 - 2
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    /// What is found, unless the last of so many looks says no; and how many looks there were.
    fn run(
        step: &SegmentStep,
        keys: &[f64],
        ids: &[i64],
        last: usize,
    ) -> (Option<Vec<i64>>, usize) {
        let mut to = vec![-1; step.segments * step.columns];
        let mut asked = 0;
        let go_on = &mut |_: usize| {
            asked += 1;
            asked < last
        };
        // SAFETY: there is room for what is found, and as many keys and ids as it looks at.
        let done = unsafe { step.run(to.as_mut_ptr(), ids.as_ptr(), keys.as_ptr().cast(), go_on) };
        (done.then_some(to), asked)
    }

    #[test]
    fn arrays_are_read_where_they_lie() {
        let b = BufferId(0);
        for (rows, columns) in [(0, 3), (1, 1), (50, 1), (50, 4), (3, 0), (AT_A_TIME + 7, 2)] {
            let numbers = sample(rows * columns, 9);
            let keys: Vec<f64> =
                numbers.iter().map(|&x| if x == 5 { f64::NAN } else { x as f64 }).collect();
            let ids = sample(rows * columns, 11);
            // By rows, by columns, and one for all columns or rows.
            for (row, column) in [(columns, 1), (1, rows), (1, 0), (0, 1)] {
                for extreme in [Extreme::Max, Extreme::Min] {
                    for compared in [true, false] {
                        let array = Strided { buffer: b, row, column };
                        let step = SegmentStep {
                            extreme,
                            keys: compared.then_some(array),
                            dtype: Dtype::F64,
                            ids: array,
                            to: b,
                            rows,
                            columns,
                            segments: 6,
                        };
                        let (found, looks) = run(&step, &keys, &ids, usize::MAX);
                        let found = found.unwrap();
                        for (place, &best) in found.iter().enumerate() {
                            let (segment, c) = (place / columns, place % columns);
                            let at = |r: usize| r * row + c * column;
                            let key = |r: usize| if compared { keys[at(r)] } else { r as f64 };
                            let own = (0..rows).filter(|&r| ids[at(r)] == segment as i64);
                            let expected = own.reduce(|b, r| match extreme {
                                _ if key(b).is_nan() => b,
                                _ if key(r).is_nan() => r,
                                Extreme::Max => {
                                    if key(r) > key(b) {
                                        r
                                    } else {
                                        b
                                    }
                                }
                                Extreme::Min => {
                                    if key(r) < key(b) {
                                        r
                                    } else {
                                        b
                                    }
                                }
                            });
                            assert_eq!(best, expected.unwrap_or(rows) as i64, "{step:?}");
                        }
                        assert!(looks >= (rows * columns).div_ceil(AT_A_TIME));
                        for last in 1..=looks {
                            assert_eq!(run(&step, &keys, &ids, last), (None, last));
                        }
                    }
                }
            }
        }
    }
}
