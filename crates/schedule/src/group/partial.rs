//! Sums over the shared dimension, and largest and smallest elements: taken block by block.
//!
//! Every chunk of blocks has a part for what it sums: the elements of the result one after the other,
//! whatever array they belong to. The result itself may be a piece of a larger array, such as a part
//! of a concatenation. When all parts are there they are added up, and the sums go to their places;
//! the rest of the array is not touched.

use std::cmp::Reverse;

use cotan_nest::{Affine, Buffer, BufferId, Reduction, Role};
use smallvec::SmallVec;

use super::close::Closing;
use super::join::GroupItem;
use super::{Local, Scheduler, size};
use crate::lower::R;

/// A sum over the shared dimension, or the largest or smallest element: what each chunk of blocks
/// gives, and what it gives together.
#[derive(Debug)]
pub struct Partial {
    /// What the chunks give, one after the other.
    pub parts: BufferId,
    /// What they give together.
    pub target: BufferId,
    /// How parts are put together.
    pub reduction: Reduction,
    /// Where the elements of a part go in the target.
    pub spread: Spread,
    /// Where a thread keeps the sum of one block.
    pub local: usize,
}

/// The places in an array of elements that lie one after the other elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Spread {
    /// The place of the first element.
    start: i64,
    /// How many positions each axis has, and how far apart they lie; the innermost last.
    axes: SmallVec<[(usize, i64); 4]>,
}

impl Spread {
    /// The places that an affine form has over dimensions of the given extents, and the form that
    /// has the elements one after the other, in the order of memory where that is possible.
    pub(super) fn of(at: &Affine, extents: &[usize]) -> (Spread, Affine) {
        let mut order: SmallVec<[usize; 4]> = (0..extents.len()).collect();
        order.sort_by_key(|&dim| Reverse(at.coeffs[dim].unsigned_abs()));
        let mut dense = Affine::constant(0, at.coeffs.len());
        let mut stride = 1i64;
        for &dim in order.iter().rev() {
            dense.coeffs[dim] = stride;
            // No array has more elements than fit, and none of these places is another's.
            stride = stride.saturating_mul(extents[dim] as i64);
        }
        let mut axes: SmallVec<[(usize, i64); 4]> = SmallVec::new();
        for &dim in order.iter().filter(|&&dim| extents[dim] != 1) {
            let (extent, step) = (extents[dim], at.coeffs[dim]);
            match axes.last_mut() {
                Some((outer, far)) if step.checked_mul(extent as i64) == Some(*far) => {
                    (*outer, *far) = (outer.saturating_mul(extent), step);
                }
                _ => axes.push((extent, step)),
            }
        }
        (Spread { start: at.constant, axes }, dense)
    }

    /// How many elements there are.
    pub fn numel(&self) -> usize {
        self.axes.iter().fold(1, |n, axis| n.saturating_mul(axis.0))
    }

    /// The first and the last place.
    pub(crate) fn ends(&self) -> (i128, i128) {
        let start = i128::from(self.start);
        self.axes.iter().fold((start, start), |(lo, hi), &(extent, step)| {
            let far = (extent as i128 - 1) * i128::from(step);
            (lo + far.min(0), hi + far.max(0))
        })
    }

    /// The place of the first element, if all of them are neighbours in their order.
    pub fn contiguous(&self) -> Option<usize> {
        matches!(self.axes[..], [] | [(_, 1)]).then_some(self.start as usize)
    }

    /// Calls `f` with the place of each run of neighbours and the number of its elements, in order,
    /// until it gives an error.
    pub fn try_for_each_run<E>(
        &self,
        mut f: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let (axes, run) = match &self.axes[..] {
            [axes @ .., (run, 1)] => (axes, *run),
            axes => (axes, 1),
        };
        if self.numel() == 0 {
            return Ok(());
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, axes.len());
        let mut place = self.start;
        loop {
            f(place as usize, run)?;
            let Some(axis) = (0..axes.len()).rev().find(|&axis| index[axis] + 1 < axes[axis].0)
            else {
                return Ok(());
            };
            index[axis] += 1;
            place += axes[axis].1;
            for inner in axis + 1..axes.len() {
                place -= axes[inner].1 * index[inner] as i64;
                index[inner] = 0;
            }
        }
    }
}

impl Scheduler<'_> {
    /// Lets sums over the shared dimension be taken block by block.
    pub(super) fn make_partial(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, group, .. } = closing;
        for n in 0..items.len() {
            let (item, dim) = &items[n];
            let parallel = item.parallel();
            if *dim < parallel {
                continue;
            }
            let main = item.whole();
            let (Some(reduction), Some(at)) = (main.write.reduction(), main.write.place()) else {
                continue;
            };
            let (spread, dense) = Spread::of(at, &main.extents[..parallel]);
            let target = item.target();
            let dtype = self.buffers[target.index()].dtype;
            // Of one part, until it is known how many there are.
            let shape = size::vector(spread.numel());
            let parts = self.temporary(Buffer::new(dtype, shape, Role::Temporary(0)));
            let item = &mut items[n].0;
            item.move_target(parts, &dense);
            if let GroupItem::Draft(draft) = item
                && let Some(between) = draft.between()
            {
                // Sums of a block, which every thread needs for itself.
                let fixed = self.buffers[between.index()].bytes();
                group.buffers.retain(|&b| b != between);
                group.locals.push(Local { buffer: between, stride: 0, row: 0, fixed });
            }
            group.partials.push(Partial { parts, target, reduction, spread, local: 0 });
            group.buffers.push(parts);
            let mut touched = false;
            for (item, _) in &*items {
                item.for_each_buffer(&mut |b| touched |= b == target);
            }
            if !touched {
                group.buffers.retain(|&b| b != target);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(constant: i64, coeffs: &[i64], extents: &[usize]) -> (Spread, Vec<i64>) {
        let at = Affine { constant, coeffs: SmallVec::from_slice(coeffs) };
        let (spread, dense) = Spread::of(&at, extents);
        assert_eq!(dense.constant, 0);
        (spread, dense.coeffs.to_vec())
    }

    fn runs(spread: &Spread) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let done: Result<(), ()> = spread.try_for_each_run(|place, count| {
            runs.push((place, count));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        runs
    }

    #[test]
    fn neighbours_are_one_run() {
        for (coeffs, extents, dense) in [
            (&[5, 1, 0][..], &[4, 5][..], &[5, 1, 0][..]),
            (&[1, 4], &[4, 5], &[1, 4]),
            (&[7, 1], &[1, 5], &[5, 1]),
            (&[], &[], &[]),
        ] {
            let (spread, found) = spread(3, coeffs, extents);
            assert_eq!(spread.contiguous(), Some(3));
            assert_eq!(found, dense);
            assert_eq!(runs(&spread), [(3, extents.iter().product())]);
        }
    }

    #[test]
    fn pieces_of_rows_and_columns() {
        // Columns 1 and 2 of 3 rows of 4, each row by itself.
        let (rows, dense) = spread(1, &[4, 1], &[3, 2]);
        assert_eq!((rows.contiguous(), rows.numel()), (None, 6));
        assert_eq!(dense, [2, 1]);
        assert_eq!(runs(&rows), [(1, 2), (5, 2), (9, 2)]);
        // A column, from the last row to the first.
        let (column, _) = spread(10, &[-4], &[3]);
        assert_eq!(runs(&column), [(10, 1), (6, 1), (2, 1)]);
        // Every other element of two axes.
        let (apart, dense) = spread(0, &[2, 12], &[3, 2]);
        assert_eq!(dense, [1, 3]);
        assert_eq!(runs(&apart), [(0, 1), (2, 1), (4, 1), (12, 1), (14, 1), (16, 1)]);
    }

    #[test]
    fn nothing_has_no_runs() {
        assert_eq!(runs(&spread(0, &[2, 1], &[0, 1]).0), []);
    }
}
