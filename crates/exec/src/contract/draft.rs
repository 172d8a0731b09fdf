//! Contractions before it is known for which blocks they are run.

use super::{Contraction, Load};
use crate::isa;
use crate::nest::{Affine, BufferId, Instr, Nest};
use crate::plan::{Compute, Contract};
use crate::vm::Kernel;

/// A contraction of a plan that is not yet cut into blocks.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The sum of products of two loads.
    pub core: Nest,
    /// What the sums are multiplied by.
    pub factor: f64,
    /// The operands that must be finite: where 0 times anything has to be 0.
    pub finite: [bool; 2],
    /// The nest that all of this stands for.
    pub whole: Nest,
    /// What is done with the sums.
    pub after: Option<Nest>,
}

/// The blocks that a contraction is run for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The dimension of the nest.
    pub dim: usize,
    /// The positions of a block.
    pub block: usize,
}

impl Draft {
    /// What it fills in the end.
    pub(crate) fn target(&self) -> BufferId {
        self.whole.target
    }

    /// Lets it fill another buffer, at places by the dimensions that are not reduced.
    pub(crate) fn move_target(&mut self, to: BufferId, at: &Affine) {
        self.whole.move_target(to, at);
        match &mut self.after {
            Some(after) => after.move_target(to, at),
            None => self.core.move_target(to, at),
        }
    }

    /// The buffer of the sums, if they are not what it fills in the end.
    pub(crate) fn between(&self) -> Option<BufferId> {
        self.after.as_ref().map(|_| self.core.target)
    }

    /// Whether another nest must be at hand.
    fn needs_whole(&self) -> bool {
        self.finite.contains(&true)
    }

    /// Its nests: those of its dimensions, and the one without those that are summed over.
    pub(crate) fn nests(&self) -> impl Iterator<Item = &Nest> {
        let whole = self.needs_whole().then_some(&self.whole);
        [&self.core].into_iter().chain(whole).chain(&self.after)
    }

    /// The same, to change them.
    pub(crate) fn nests_mut(&mut self) -> impl Iterator<Item = &mut Nest> {
        let needs_whole = self.needs_whole();
        let whole = Some(&mut self.whole).filter(|_| needs_whole);
        [&mut self.core].into_iter().chain(whole).chain(&mut self.after)
    }

    /// The buffers that it names, to change them.
    pub(crate) fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        let nests = [&mut self.core, &mut self.whole].into_iter().chain(&mut self.after);
        nests.for_each(|nest| nest.for_each_buffer_mut(f));
    }

    /// The two loads.
    fn loads(&self) -> Option<[Load<'_>; 2]> {
        let Instr::Op(_, args) = &self.core.instrs[self.core.value.index()] else { return None };
        let [a, b] = args[..] else { return None };
        Some([Load::of(&self.core, a)?, Load::of(&self.core, b)?])
    }

    /// Whether operands are read where they lie for blocks of so many positions.
    pub(crate) fn is_direct(
        &self,
        dim: usize,
        block: usize,
        length: impl Fn(BufferId) -> usize,
    ) -> bool {
        let mut core = self.core.clone();
        core.extents[dim] = core.extents[dim].min(block);
        Contraction::recognise(&core, isa::best(), length).is_some_and(|found| found.direct)
    }

    /// Whether it may be run for blocks of a dimension, and how many elements it then reads again
    /// for each of them.
    pub(crate) fn read_again(
        &self,
        dim: usize,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<usize> {
        let mut again = 0;
        for (load, finite) in self.loads()?.into_iter().zip(self.finite) {
            if load.checks.iter().any(|(check, _)| check.coeffs[dim] != 0) {
                return None;
            }
            match load.at.coeffs[dim] {
                0 => again += length(load.buffer),
                // What is known of checked reads holds for the whole space.
                _ if !load.checks.is_empty() => return None,
                // All between the first and the last element of a block is looked at.
                step if finite && self.span(&load, dim)? > step.unsigned_abs() => return None,
                _ => {}
            }
        }
        Some(again)
    }

    /// The elements from the first to the last that a load reads at a position of a dimension.
    fn span(&self, load: &Load<'_>, dim: usize) -> Option<u64> {
        let mut extents = self.core.extents.clone();
        extents[dim] = 1;
        let (lo, hi) = load.at.range(&extents)?;
        Some(hi.abs_diff(lo) + 1)
    }

    /// The contraction, whole or for blocks. `length` says how many elements a buffer has.
    pub(crate) fn finish(
        &self,
        cut: Option<Cut>,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Contraction> {
        let of_size = |positions: Option<usize>| {
            let mut core = self.core.clone();
            if let (Some(cut), Some(positions)) = (cut, positions) {
                core.extents[cut.dim] = positions;
            }
            let mut contraction = Contraction::recognise(&core, isa::best(), &length)?;
            contraction.set_factor(self.factor);
            Some(contraction)
        };
        let mut contraction = of_size(cut.map(|cut| cut.block))?;
        let parallel = self.core.extents.len() - self.core.reduced;
        if let Some(cut) = cut {
            let rest = match self.core.extents[cut.dim] % cut.block {
                0 => None,
                rest => Some(of_size(Some(rest))?),
            };
            contraction.set_blocks(&self.core, cut, rest);
        }
        let kernel = |nest: &Nest, cut: Option<Cut>| {
            let (nest, dim) = nest.clone().collapse(cut.map(|cut| cut.dim));
            Kernel::new(nest, false, dim)
        };
        if self.needs_whole() {
            contraction.set_finite(self.finite, kernel(&self.whole, cut));
        }
        if let Some(after) = &self.after {
            let cut = cut.filter(|cut| cut.dim < parallel);
            contraction.set_after(kernel(after, cut), cut.is_some());
        }
        Some(contraction)
    }
}

impl Contract for Draft {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        f(self.target());
        self.nests().for_each(|nest| nest.for_each_buffer(f));
    }
}
