//! Scatters of parts to places that are known: stacks.
//!
//! The cotangents of parts of an array, such as the gates of a network, come as
//! $\mathit{out}[p] = \sum_i [c_i = p]\, t_i$ with constants $c_i$: every part of the result is a sum
//! of some of the $t_i$, most often one of them.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Node, RegionId, Result, TermId, Type};

use crate::pass::{Fired, Opt, rule};

/// So many places at most are written out.
const MOST: usize = 64;

impl Opt<'_> {
    /// A scatter of a stack to constant places, in the region's order, as a stack.
    pub(crate) fn scatter_known(
        &mut self,
        ty: &Type,
        outer: &[usize],
        t: TermId,
        r: RegionId,
    ) -> Result<Fired> {
        let Node::Stack(parts) = self.b.node(t) else { return Ok(None) };
        let parts = parts.clone();
        let places = outer.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        // Zeros that nothing is added to cost as much as parts.
        let few = (1..=MOST.min(2 * parts.len())).contains(&places);
        if !few || ty.dtype == Dtype::Bool {
            return Ok(None);
        }
        let region = self.b.region(r);
        let &[variable] = region.params() else { return Ok(None) };
        let mut at: Vec<Option<usize>> = vec![Some(0); parts.len()];
        for (&component, &size) in region.results().iter().zip(outer) {
            let Some(known) = self.known_at(component, variable, parts.len()) else {
                return Ok(None);
            };
            for (at, k) in at.iter_mut().zip(known) {
                let k = usize::try_from(k).ok().filter(|&k| k < size);
                *at = at.zip(k).map(|(at, k)| at * size + k);
            }
        }
        let mut sums: Vec<Option<TermId>> = vec![None; places];
        for (&part, at) in parts.iter().zip(at) {
            let Some(at) = at else { continue };
            sums[at] = Some(match sums[at] {
                Some(sum) => self.op(Op::Add, &[sum, part])?,
                None => part,
            });
        }
        let inner = self.b.ty(parts[0]).clone();
        let mut all = Vec::with_capacity(places);
        for sum in sums {
            all.push(match sum {
                Some(sum) => sum,
                None => self.zeros(&inner)?,
            });
        }
        // From the innermost axis out.
        for &size in outer.iter().rev() {
            let mut stacks = Vec::with_capacity(all.len() / size);
            for parts in all.chunks(size) {
                let raw = self.b.stack(parts)?;
                stacks.push(self.simplify(raw)?);
            }
            all = stacks;
        }
        Ok(all.first().map(|&stack| (rule!("scatter/stack"), stack)))
    }

    /// What an index term is for each value of its variable, if that is known.
    fn known_at(&self, t: TermId, variable: TermId, count: usize) -> Option<Vec<i64>> {
        if t == variable {
            return Some((0..count as i64).collect());
        }
        if let Some(k) = self.b.constant_index(t) {
            return Some(vec![k; count]);
        }
        let Node::Index(table, ix) = self.b.node(t) else { return None };
        if ix[..] != [variable] {
            return None;
        }
        let known = match self.b.node(*table) {
            Node::Const(c) => c.to_vec::<i64>().ok()?,
            Node::Stack(ts) => {
                ts.iter().map(|&t| self.b.constant_index(t)).collect::<Option<_>>()?
            }
            _ => return None,
        };
        (known.len() == count).then_some(known)
    }
}
