//! Sums of products that have a sum among their factors, as one sum.
//!
//! $$\sum_b w_{vb} \sum_j p_{vj} q_{xbj} = \sum_{b,j} (w_{vb} p_{vj}) q_{xbj}$$
//!
//! On the left the inner sum is an array of $v \times x \times b$ elements, written and read; on the
//! right there is one matrix product, with an operand of $v \times b \times j$ elements. The inner sum
//! may be read through windows, $\sum_u g_{i-u,u}$ with $g_{pu} = \sum_f y_{pf} k_{fu}$, which is how the
//! derivative of a convolution comes: it is a convolution then, too.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, TermId};
use cotan_nest::{Nest, Step};
use smallvec::SmallVec;

use super::placement::{NodeUses, ScopePlacements};
use super::sums::with_masks_as_factors;
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
        };
        // Factors, and how many elements each has to have: as many as there are summands, or as what a
        // window is read from.
        let mut open: SmallVec<[(TermId, usize); 8]> = SmallVec::from_slice(&[(summand, elements)]);
        for _ in 0..self.target.search.max_factors {
            let (u, count) = open.pop()?;
            if !own(&u) || program.shape(u).numel() != count {
                continue;
            }
            let kept = placements.chosen(u) == Placement::Stored;
            match program.node(u) {
                Node::SumOuter(v) if u != summand && apart(u) => {
                    let depth = program.shape(*v).dims().first().copied().unwrap_or(0);
                    if !self.joining_pays(count, elements, depth) {
                        return None;
                    }
                    let single = !self.absorbs(program.node(u), placements)
                        && !matches!(placements.chosen(u), Placement::Joined(_));
                    return single.then_some(u);
                }
                Node::Op(Op::Mul | Op::Scale | Op::StrongMul | Op::Neg, args) if !kept => {
                    open.extend(args.iter().map(|&arg| (arg, count)));
                }
                Node::Transpose(_, v) if !kept => open.push((*v, count)),
                // The windows of a convolution, from the other side.
                Node::Gather(v, _) if !kept && !self.looks_up(program.node(u)) => {
                    open.push((*v, program.shape(*v).numel()));
                }
                _ => {}
            }
        }
        None
    }

    /// Whether it is better to take so many sums of so many products where `made` different ones are
    /// needed, which would have to be written and read: for each vector of them an access that is
    /// far, against the products of those that are not needed.
    fn joining_pays(&self, made: usize, taken: usize, depth: usize) -> bool {
        let more = taken.saturating_sub(made) as f64;
        more * depth as f64 <= made as f64 * self.target.costs.far
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
        if self.contraction_within(most, &with_masks_as_factors(&nest), steps).is_some() {
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
