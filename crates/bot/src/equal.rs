//! Branches that are taken at one index only.
//!
//! Under the condition `i == k` the index is `k`, so `where(i == k, u, v)` is
//! `where(i == k, u[k / i], v)`: what a build computes for each of its elements, to take one of them,
//! is computed once. In reverse mode that is the difference between a read of one element and a copy
//! of a whole array, which a loop would have to save in each of its steps.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, Param, Result, TermId, TermMap};

use crate::order::{all_dependencies, post_order};
use crate::transform::{Bot, rule};

/// A branch of more nodes that depend on the index is left alone: a chain of conditions, each in the
/// branch of the next, would be copied once for each of them.
const MAX_COPIED: usize = 64;

impl Bot<'_> {
    /// The branches of `where(p, u, v)` (or `cond`), terms of the result, with the value that the
    /// condition gives an index in place of the index, if it is one that does.
    pub(crate) fn at_equal(
        &mut self,
        p: TermId,
        u: TermId,
        v: TermId,
    ) -> Result<Option<(TermId, TermId)>> {
        if !self.options.drop_guards || self.b.shape(p).rank() > 0 {
            return Ok(None);
        }
        let at_u = self.with_known_indices(p, true, u)?;
        let at_v = self.with_known_indices(p, false, v)?;
        Ok(((at_u, at_v) != (u, v)).then_some((at_u, at_v)))
    }

    /// A branch that is taken where the condition holds (or fails).
    fn with_known_indices(&mut self, p: TermId, holds: bool, branch: TermId) -> Result<TermId> {
        let mut branch = branch;
        for (part, holds) in self.parts(p, holds).unwrap_or_default() {
            let Some((index, value)) = self.index_and_value(part, holds) else { continue };
            if let Some(known) = self.substituted(branch, index, value)? {
                let ty = self.b.ty(branch).clone();
                branch = rule!(self, "guard/equal", branch, ty, known)?;
            }
        }
        Ok(branch)
    }

    /// The index of a lambda that has a value where a condition holds (or fails), and the value, which
    /// does not depend on that lambda.
    fn index_and_value(&self, part: TermId, holds: bool) -> Option<(TermId, TermId)> {
        let Node::Op(op, args) = self.b.node(part) else { return None };
        let equal = match op {
            Op::Eq => holds,
            Op::Ne => !holds,
            _ => return None,
        };
        let is_index = |t: TermId| match self.b.node(t) {
            Node::Var { param, .. } => matches!(**param, Param::Index(_)),
            _ => false,
        };
        let (x, y) = (*args.first()?, *args.get(1)?);
        // Of two indices the inner one is replaced.
        let level = |t: TermId| self.b.free(t).innermost();
        let found = [(x, y), (y, x)].into_iter().find(|&(i, k)| is_index(i) && level(k) < level(i));
        found.filter(|_| equal)
    }

    /// A term with a value in place of an index, if that changes it and it is not too large.
    fn substituted(&mut self, t: TermId, index: TermId, value: TermId) -> Result<Option<TermId>> {
        let level = self.b.free(index).innermost();
        let (b, captures) = (&self.b, &mut self.captures);
        let (mut nodes, mut copied) = (0usize, true);
        let order = post_order(
            &[t],
            |u| {
                // A loop without a bound may run for ever at an index that no element has.
                let endless = matches!(b.node(u), Node::While(w) if w.bound.is_none());
                nodes += 1;
                copied &= !endless && nodes <= 4 * MAX_COPIED;
                // Other variables of the same lambda stay.
                let is_variable = matches!(b.node(u), Node::Var { .. });
                copied && !is_variable && b.free(u).contains(level)
            },
            |u, found| all_dependencies(b, captures, u, found),
        );
        if !copied || order.is_empty() && t != index || order.len() > MAX_COPIED {
            return Ok(None);
        }
        let mut images = TermMap::new();
        images.insert(index, value);
        for &u in &order {
            let image = self.copy_node(u, &mut images)?;
            images.insert(u, image);
        }
        Ok(images.get(t).copied().filter(|&image| image != t))
    }
}
