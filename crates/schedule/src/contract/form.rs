//! The dimensions of a contraction in four groups, and places taken apart by them.

use cotan_nest::{Affine, BufferId};
use smallvec::SmallVec;

/// What a dimension of the nest is to a product $c_{bij} = \sum_k a_{bik} b_{bkj}$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Both operands and the result depend on it.
    Batch,
    /// The left operand and the result do.
    Rows,
    /// The right operand and the result do.
    Columns,
    /// It is summed over.
    Depth,
}

/// The extents of the dimensions in each group, outermost first.
#[derive(Clone, Debug, Default)]
pub struct Extents([SmallVec<[usize; 3]>; 4]);

impl Extents {
    /// Those of one group.
    pub fn of(&self, group: Axis) -> &[usize] {
        &self.0[group as usize]
    }

    /// How many positions a group has.
    pub fn count(&self, group: Axis) -> usize {
        self.of(group).iter().product()
    }
}

/// An affine form, taken apart: a constant and, for each group, the step along each dimension.
#[derive(Clone, Debug, Default)]
pub struct PlaceForm {
    constant: i64,
    steps: [SmallVec<[i64; 3]>; 4],
}

impl PlaceForm {
    /// The steps along the dimensions of a group.
    pub fn steps(&self, group: Axis) -> &[i64] {
        &self.steps[group as usize]
    }

    /// The one step along a group of at most one dimension.
    pub fn step(&self, group: Axis) -> i64 {
        self.steps(group).first().copied().unwrap_or(0)
    }

    /// The same with every step 0 but those along some group.
    pub fn frozen(&self, but: Option<Axis>) -> PlaceForm {
        let mut form = self.clone();
        for (group, steps) in form.steps.iter_mut().enumerate() {
            if but.map(|but| but as usize) != Some(group) {
                steps.iter_mut().for_each(|step| *step = 0);
            }
        }
        form
    }

    /// The part of the constant and of one position of the batch.
    pub fn base(&self, extents: &Extents, position: usize) -> i64 {
        self.constant.wrapping_add(self.part(extents, Axis::Batch, position))
    }

    /// The part of one position of a group.
    fn part(&self, extents: &Extents, group: Axis, mut position: usize) -> i64 {
        let mut sum = 0i64;
        let dims = extents.of(group).iter().zip(self.steps(group));
        for (n, (&extent, &step)) in dims.enumerate().rev() {
            let index = if n == 0 { position } else { position % extent };
            sum = sum.wrapping_add(step.wrapping_mul(index as i64));
            position /= extent;
        }
        sum
    }

    /// The parts of the positions of a group from `first` on.
    pub fn fill(&self, extents: &Extents, group: Axis, first: usize, to: &mut [i64]) {
        let Some((&last, &step)) = extents.of(group).last().zip(self.steps(group).last()) else {
            to.fill(0);
            return;
        };
        // Runs along the innermost dimension.
        let mut at = 0;
        while at < to.len() {
            let position = first + at;
            let run = (last - position % last).min(to.len() - at);
            let begin = self.part(extents, group, position);
            for (n, x) in to[at..at + run].iter_mut().enumerate() {
                *x = begin.wrapping_add(step.wrapping_mul(n as i64));
            }
            at += run;
        }
    }
}

/// An operand: where its elements are, and which of them are 0 instead.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Where its elements are.
    pub buffer: BufferId,
    /// The place of each element.
    pub place: PlaceForm,
    /// Forms that must lie between 0 and a size. If there are any, the last is the place itself.
    pub checks: Vec<(PlaceForm, i64)>,
    /// The first and the last element that may be read, as far as is known.
    pub ends: (usize, usize),
}

/// The groups of dimensions, as lists of dimensions of the nest.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(pub [SmallVec<[usize; 3]>; 4]);

impl Groups {
    pub(super) fn of(&mut self, group: Axis) -> &mut SmallVec<[usize; 3]> {
        &mut self.0[group as usize]
    }

    /// Makes one of neighbours in a group wherever all `forms` run through both as through one;
    /// gives the extents and the forms by what is left.
    pub(super) fn merge(&self, extents: &[usize], forms: &[&Affine]) -> (Extents, Vec<PlaceForm>) {
        let mut merged = Extents::default();
        let start =
            |affine: &&Affine| PlaceForm { constant: affine.constant, ..PlaceForm::default() };
        let mut found: Vec<PlaceForm> = forms.iter().map(start).collect();
        for (group, dims) in self.0.iter().enumerate() {
            for &dim in dims {
                let extent = extents[dim];
                let follows = |(form, affine): (&PlaceForm, &&Affine)| {
                    let inner = affine.coeffs[dim].checked_mul(extent as i64);
                    form.steps[group].last().copied() == inner
                };
                let one = merged.0[group].last().is_some() && found.iter().zip(forms).all(follows);
                if one && let Some(outer) = merged.0[group].last_mut() {
                    *outer *= extent;
                } else {
                    merged.0[group].push(extent);
                }
                for (form, affine) in found.iter_mut().zip(forms) {
                    if one {
                        form.steps[group].pop();
                    }
                    form.steps[group].push(affine.coeffs[dim]);
                }
            }
        }
        (merged, found)
    }
}
