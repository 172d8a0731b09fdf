//! Sums of products that have a sum among their factors, as one sum.
//!
//! $$\sum_b w_{vb} \sum_j p_{vj} q_{xbj} = \sum_{b,j} (w_{vb} p_{vj}) q_{xbj}$$
//!
//! On the left the inner sum is an array of $v \times x \times b$ elements, written and read; on the
//! right there is one matrix product, with an operand of $v \times b \times j$ elements.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, TermId};
use cotan_nest::{Nest, Step};
use smallvec::SmallVec;

use super::placement::{NodeUses, ScopePlacements};
use super::{Lowering, Place, Placement, R};

impl Lowering<'_> {
    /// A sum among the factors of what node `t` sums, which has as many elements as these and is
    /// used for nothing else: multiplied by the other factors, its summands are no more than before.
    pub(super) fn factor_sum(
        &self,
        t: TermId,
        users: &NodeUses,
        placements: &ScopePlacements,
    ) -> Option<TermId> {
        let program = self.program;
        let Node::SumOuter(u) = program.node(t) else { return None };
        let apart = |t: TermId| !placements.is_absorbed(t) && !placements.stacked.contains(&t);
        if !apart(t) || placements.chosen(t) == Placement::Unrolled || !program.dtype(t).is_float()
        {
            return None;
        }
        let mut summand = self.below_transposes(*u);
        while let Node::SumOuter(v) = program.node(summand)
            && placements.is_absorbed(summand)
        {
            summand = self.below_transposes(*v);
        }
        let elements = program.shape(summand).numel();
        let own = |u: &TermId| {
            users.uses.get(*u) == 1
                && !users.captured.contains(u)
                && !placements.forced.contains(u)
                && program.free(*u).innermost() == self.level
                && program.shape(*u).numel() == elements
        };
        let mut open: SmallVec<[TermId; 8]> = SmallVec::from_slice(&[summand]);
        for _ in 0..self.target.search.max_factors {
            let u = open.pop()?;
            if !own(&u) {
                continue;
            }
            let kept = placements.chosen(u) == Placement::Stored;
            match program.node(u) {
                Node::SumOuter(_) if u != summand && apart(u) => {
                    let single = !self.absorbs(program.node(u), placements)
                        && !matches!(placements.chosen(u), Placement::Joined(_));
                    return single.then_some(u);
                }
                Node::Op(Op::Mul | Op::Scale | Op::StrongMul | Op::Neg, args) if !kept => {
                    open.extend(args.iter().copied());
                }
                Node::Transpose(_, v) if !kept => open.push(*v),
                _ => {}
            }
        }
        None
    }

    /// Makes a sum of products of which `factor` is one: as one matrix product, or one sum after the
    /// other.
    pub(super) fn join(
        &mut self,
        t: TermId,
        factor: TermId,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Place> {
        let to = self.temporary(self.program.ty(t));
        let nest = self.sum_nest(t, to, None, Some(factor), placements)?;
        let most = self.program.shape(factor).numel();
        if self.contraction_within(most, &nest, steps).is_some() {
            return Ok(Place::Buffer(to));
        }
        if placements.chosen(factor) != (Placement::Factor { unrolled: true }) {
            self.make_operands(placements.operands.get(&factor), placements, steps)?;
            let made = self.sum(factor, placements, steps)?;
            self.places.insert(factor, made);
        }
        let nest = self.sum_nest(t, to, None, None, placements)?;
        self.sum_steps(nest, steps);
        Ok(Place::Buffer(to))
    }
}
