//! Reads of a few elements of something that is summed: only these are summed.
//!
//! A machine computes an array of sums before anything reads it. Where reads need fewer elements than
//! there are, they go to the summands:
//!
//! $$\big(\sum_k u_{k}\big)[f(i)] = \sum_k u_{k f(i)}$$
//!
//! and through operations to their arguments, until there is nothing left that is computed for them.

use cotan_ir::{Node, RegionId, Result, TermId};

use crate::pass::{Fired, Opt, rule};

/// Reads go at most so deep, and through so many nodes.
const DEEPEST: usize = 24;
const MOST_NODES: usize = 64;

/// So many reads of the same array may each compute what they need.
const MOST_READS: u32 = 8;

/// What is summed must have this many times the elements that are read of it.
const FEW: u64 = 2;

impl Opt<'_> {
    /// Reads of few elements of what is made of sums.
    pub(crate) fn push_rules(&mut self, raw: TermId, t: TermId, r: RegionId) -> Result<Fired> {
        let read = self.b.shape(raw).numel() as u64;
        let reads = self.only_gathered(t).filter(|&n| n <= MOST_READS);
        let reads = reads.map(|n| u64::from(n).saturating_mul(read));
        let few = |n: u64| n.saturating_mul(FEW) <= self.b.shape(t).numel() as u64;
        if !reads.is_some_and(few) || !self.leads_to_sum(t, r) {
            return Ok(None);
        }
        let rule = match self.b.node(t) {
            Node::SumOuter(_) => rule!("gather/sum"),
            _ => rule!("gather/op"),
        };
        let mut nodes = MOST_NODES;
        Ok(Some((rule, self.pushed(t, r, 0, &mut nodes)?)))
    }

    /// Whether a read goes through a node: to the summands, or to the arguments of an operation that
    /// is 0 where they are read out of range.
    fn passes(&self, t: TermId, r: RegionId) -> bool {
        match self.b.node(t) {
            Node::SumOuter(u) => self.b.shape(*u).dims().first().is_some_and(|&k| k > 0),
            Node::Op(op, _) => {
                let ix = self.b.region(r).results();
                op.row().preserves_zero || self.is_within(ix, self.b.shape(t).dims())
            }
            _ => false,
        }
    }

    /// Whether there is a sum among what a read would go to.
    fn leads_to_sum(&self, t: TermId, r: RegionId) -> bool {
        let mut open = vec![t];
        for _ in 0..DEEPEST {
            let Some(u) = open.pop() else { return false };
            if !self.passes(u, r) || u != t && !self.used_once(u) {
                continue;
            }
            match self.b.node(u) {
                Node::SumOuter(_) => return true,
                Node::Op(_, args) => open.extend(args.iter().copied()),
                _ => {}
            }
        }
        false
    }

    /// A read that goes through what has no other use, so many `nodes` at most.
    fn pushed(
        &mut self,
        t: TermId,
        r: RegionId,
        depth: usize,
        nodes: &mut usize,
    ) -> Result<TermId> {
        let own = depth == 0 || self.used_once(t);
        if depth < DEEPEST && *nodes > 0 && own && self.passes(t, r) {
            *nodes -= 1;
            match self.b.node(t).clone() {
                Node::Op(op, args) => {
                    let args: Result<Vec<TermId>> =
                        args.iter().map(|&arg| self.pushed(arg, r, depth + 1, nodes)).collect();
                    return self.op(op, &args?);
                }
                Node::SumOuter(u) => return self.read_summands(u, r, depth, nodes),
                _ => {}
            }
        }
        self.gather(t, r)
    }

    /// The sum of what is read of summands.
    fn read_summands(
        &mut self,
        u: TermId,
        r: RegionId,
        depth: usize,
        nodes: &mut usize,
    ) -> Result<TermId> {
        let mut sizes = self.b.index_sizes(r).to_vec();
        let ix = self.b.region(r).results().to_vec();
        let variables = sizes.len();
        sizes.push(self.b.shape(u).dims()[0]);
        // The variables of a region at this depth are those of the one before; the summand is last.
        let f = self.index_function(&sizes, |_, vars| {
            Ok(std::iter::once(vars[variables]).chain(ix).collect())
        })?;
        let summands = self.pushed(u, f, depth + 1, nodes)?;
        let perm: Vec<usize> = std::iter::once(variables).chain(0..variables).collect();
        let raw = self.b.transpose(&perm, summands)?;
        let summands = self.simplify(raw)?;
        self.sum(summands)
    }
}
