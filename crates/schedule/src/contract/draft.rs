//! Contractions before it is known for which blocks they are run.

use cotan_nest::{BufferId, Draft, Instr, Nest};

use super::{Contraction, Load, Product, Ranged};
use crate::order::LoopOrder;
use crate::target::Target;

/// The blocks that a contraction is run for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The dimension of the nest.
    pub dim: usize,
    /// The positions of a block.
    pub block: usize,
}

/// What is known of a contraction that is not yet cut into blocks.
pub(crate) trait Cuts {
    /// Whether operands are read where they lie for blocks of so many positions.
    fn is_direct(&self, cut: Cut, target: &Target, length: impl Fn(BufferId) -> usize) -> bool;

    /// Whether it may be run for blocks of a dimension, and how many elements it then reads again
    /// for each of them.
    fn read_again(&self, dim: usize, length: impl Fn(BufferId) -> usize) -> Option<usize>;

    /// The product, if it is run as a whole.
    fn product(&self, target: &Target, length: impl Fn(BufferId) -> usize) -> Option<Product>;

    /// The contraction, whole or for blocks. `length` says how many elements a buffer has.
    fn finish(
        &self,
        cut: Option<Cut>,
        target: &Target,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Contraction<LoopOrder>>;
}

impl Cuts for Draft {
    fn is_direct(&self, cut: Cut, target: &Target, length: impl Fn(BufferId) -> usize) -> bool {
        let mut core = self.core.clone();
        core.extents[cut.dim] = core.extents[cut.dim].min(cut.block);
        Product::recognise(&core, target, length).is_some_and(|found| found.direct)
    }

    fn read_again(&self, dim: usize, length: impl Fn(BufferId) -> usize) -> Option<usize> {
        let mut again = 0;
        for (load, finite) in loads(self)?.into_iter().zip(self.finite) {
            if load.checks.iter().any(|(check, _)| check.coeffs[dim] != 0) {
                return None;
            }
            match load.at.coeffs[dim] {
                0 => again += length(load.buffer),
                // What is known of checked reads holds for the whole space.
                _ if !load.checks.is_empty() => return None,
                // All between the first and the last element of a block is looked at.
                step if finite && span(self, &load, dim)? > step.unsigned_abs() => return None,
                _ => {}
            }
        }
        Some(again)
    }

    fn product(&self, target: &Target, length: impl Fn(BufferId) -> usize) -> Option<Product> {
        product(self, &self.core, target, &length)
    }

    fn finish(
        &self,
        cut: Option<Cut>,
        target: &Target,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Contraction<LoopOrder>> {
        let Some(cut) = cut else {
            let product = self.product(target, length)?;
            return Some(around(self, target, product, None, None));
        };
        let for_range = |positions: usize| {
            let mut core = self.core.clone();
            core.extents[cut.dim] = positions;
            product(self, &core, target, &length)
        };
        let whole = for_range(cut.block)?;
        let rest = match self.core.extents[cut.dim] % cut.block {
            0 => None,
            rest => Some(Box::new(for_range(rest)?)),
        };
        let [a, b] = loads(self)?.map(|load| load.at.coeffs[cut.dim]);
        let steps = [self.core.write.place()?.coeffs[cut.dim], a, b];
        let ranged = Ranged { positions: cut.block, steps, rest };
        Some(around(self, target, whole, Some(cut), Some(ranged)))
    }
}

/// A product with what is run besides.
fn around(
    draft: &Draft,
    target: &Target,
    product: Product,
    cut: Option<Cut>,
    ranged: Option<Ranged>,
) -> Contraction<LoopOrder> {
    let order = |nest: &Nest, cut: Option<Cut>| {
        let (nest, dim) = nest.clone().collapse(cut.map(|cut| cut.dim));
        Box::new(LoopOrder::new(nest, false, dim, target))
    };
    let parallel = draft.core.extents.len() - draft.core.reduced;
    // What is done with the sums does not have the dimensions that are summed over.
    let shared = cut.filter(|cut| cut.dim < parallel);
    Contraction {
        product,
        finite: if draft.needs_whole() { draft.finite } else { [false; 2] },
        fallback: draft.needs_whole().then(|| order(&draft.whole, cut)),
        after: draft.after.as_ref().map(|after| (order(after, shared), shared.is_some())),
        ranged,
        scratch: None,
        source: draft.whole.source.or(draft.core.source),
    }
}

/// The product that a nest is, multiplied by the factor of the draft.
fn product(
    draft: &Draft,
    core: &Nest,
    target: &Target,
    length: &impl Fn(BufferId) -> usize,
) -> Option<Product> {
    let product = Product::recognise(core, target, length)?;
    Some(Product { factor: draft.factor, ..product })
}

/// The two loads.
fn loads(draft: &Draft) -> Option<[Load<'_>; 2]> {
    let Instr::Op(_, args) = &draft.core.instrs[draft.core.value.index()] else { return None };
    let [a, b] = args[..] else { return None };
    Some([Load::of(&draft.core, a)?, Load::of(&draft.core, b)?])
}

/// The elements from the first to the last that a load reads at a position of a dimension.
fn span(draft: &Draft, load: &Load<'_>, dim: usize) -> Option<u64> {
    let mut extents = draft.core.extents.clone();
    extents[dim] = 1;
    let (lo, hi) = load.at.range(&extents)?;
    Some(hi.abs_diff(lo) + 1)
}
