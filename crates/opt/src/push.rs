//! Reads of a few elements of something that is summed: only these are summed.
//!
//! A machine computes an array of sums before anything reads it. Where reads need fewer elements than
//! there are, they go to the summands:
//!
//! $$\big(\sum_k u_{k}\big)[f(i)] = \sum_k u_{k f(i)}$$
//!
//! and through operations to their arguments, until there is nothing left that is computed for them.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, RegionId, Result, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pass::{Fired, Opt, rule};
use crate::view::{AxisMap, View, view};

/// Reads go at most so deep, and through so many nodes.
const DEEPEST: usize = 24;
const MOST_NODES: usize = 64;

/// So many reads of the same array may each compute what they need.
const MOST_READS: u32 = 8;

/// What is summed must have this many times the elements that are read of it.
const FEW: u64 = 2;

/// What reads go through: computed for them only.
struct ReadPath {
    nodes: FxHashSet<TermId>,
    /// How many nodes it may still go through.
    left: usize,
}

impl Opt<'_> {
    /// Reads of few elements of what is made of sums.
    pub(crate) fn push_rules(&mut self, raw: TermId, t: TermId, r: RegionId) -> Result<Fired> {
        let read = self.b.shape(raw).numel() as u64;
        let reads = self.only_gathered(t).filter(|reads| reads.count <= MOST_READS);
        let reads = reads.map(|reads| reads.elements.max(read));
        let few = |n: u64| n.saturating_mul(FEW) <= self.b.shape(t).numel() as u64;
        if !reads.is_some_and(few) {
            return Ok(None);
        }
        let rule = match self.b.node(t) {
            Node::SumOuter(_) => rule!("gather/sum"),
            Node::Op(..) | Node::Cond(..) => rule!("gather/op"),
            _ => return Ok(None),
        };
        let Some(mut way) = self.way_to_sums(t) else { return Ok(None) };
        let (ix, dims) = (self.b.region(r).results().to_vec(), self.dims(t));
        let outside = |n: &usize| !self.b.bounds(ix[*n]).within(dims[*n]);
        let outside: Vec<usize> = (0..ix.len()).filter(outside).collect();
        // What is out of range is read at the border, and made 0 in the end.
        let sizes = self.b.index_sizes(r).to_vec();
        let mut at = ix.clone();
        let f = self.index_function(&sizes, |opt, _| {
            for &n in &outside {
                let (first, last) = (opt.b.scalar(0i64)?, opt.b.scalar(dims[n] as i64 - 1)?);
                let least = opt.op(Op::Max, &[at[n], first])?;
                at[n] = opt.op(Op::Min, &[least, last])?;
            }
            Ok(at)
        })?;
        let mut read = self.pushed_once(t, f, 0, &mut way)?;
        let ty = self.b.ty(raw).clone();
        for &n in &outside {
            let (inside, zeros) = (self.b.scalar(true)?, self.zeros(&ty)?);
            let inside = self.b.replicate(dims[n], inside)?;
            let f = self.index_function(&sizes, |_, _| Ok(vec![ix[n]]))?;
            let mask = self.gather(inside, f)?;
            let axes = (0..ty.shape.rank()).map(|n| Some(n).filter(|&n| n < sizes.len()));
            let mask = self.view_of(mask, &axes.collect::<AxisMap>(), ty.shape.dims())?;
            read = self.op(Op::Select, &[mask, read, zeros])?;
        }
        Ok(Some((rule, read)))
    }

    /// The way of a read of `t`, if there are sums on it.
    fn way_to_sums(&self, t: TermId) -> Option<ReadPath> {
        let mut nodes = FxHashSet::default();
        let mut seen: FxHashMap<TermId, u32> = FxHashMap::default();
        let (mut open, mut sums) = (vec![t], false);
        while let Some(u) = open.pop()
            && nodes.len() < MOST_NODES
        {
            let args: &[TermId] = match self.b.node(u) {
                Node::Op(_, args) => args,
                Node::Cond(_, x, y) => &[*x, *y],
                Node::SumOuter(v) if self.b.shape(*v).numel() > 0 => {
                    sums = true;
                    &[*v]
                }
                Node::Transpose(_, v) | Node::Replicate(_, v) => &[*v],
                _ => continue,
            };
            nodes.insert(u);
            for &arg in args {
                let seen = seen.entry(arg).or_default();
                *seen += 1;
                if *seen == self.use_count(arg).max(1) {
                    open.push(arg);
                }
            }
        }
        sums.then_some(ReadPath { nodes, left: MOST_NODES })
    }

    /// A read that goes its way.
    fn pushed(
        &mut self,
        t: TermId,
        r: RegionId,
        depth: usize,
        way: &mut ReadPath,
    ) -> Result<TermId> {
        if depth >= DEEPEST || way.left == 0 || !way.nodes.contains(&t) {
            return self.gather(t, r);
        }
        way.left -= 1;
        match self.b.node(t).clone() {
            Node::Op(op, args) => {
                let args: Result<Vec<TermId>> =
                    args.iter().map(|&arg| self.pushed(arg, r, depth + 1, way)).collect();
                self.op(op, &args?)
            }
            Node::Cond(p, x, y) => {
                let x = self.pushed(x, r, depth + 1, way)?;
                let y = self.pushed(y, r, depth + 1, way)?;
                let raw = self.b.cond(p, x, y)?;
                self.simplify(raw)
            }
            Node::SumOuter(u) => self.read_summands(u, r, depth, way),
            _ => self.read_base(t, r, depth, way),
        }
    }

    /// What is read of the base of a view, and seen as the view was.
    fn read_base(
        &mut self,
        t: TermId,
        r: RegionId,
        depth: usize,
        way: &mut ReadPath,
    ) -> Result<TermId> {
        let View { base, map } = view(&self.b, t);
        let (mut sizes, dims) = (self.b.index_sizes(r).to_vec(), self.dims(t));
        let ix = self.b.region(r).results().to_vec();
        let (variables, indexed) = (sizes.len(), ix.len());
        let of_axis = |axis: usize| map.iter().position(|&m| m == Some(axis));
        let axes: Option<Vec<usize>> = (0..self.b.shape(base).rank()).map(of_axis).collect();
        let in_range = |n: usize| map[n].is_some() || self.b.bounds(ix[n]).within(dims[n]);
        let Some(axes) = axes.filter(|_| base != t && (0..indexed).all(in_range)) else {
            return self.gather(t, r);
        };
        // A variable for each axis that is read as a whole, but for copies.
        let whole: Vec<usize> = (indexed..dims.len()).filter(|&n| map[n].is_some()).collect();
        sizes.extend(whole.iter().map(|&n| dims[n]));
        let variable = |n: &usize| variables + whole.iter().take_while(|m| *m < n).count();
        let f = self.index_function(&sizes, |_, vars| {
            Ok(axes
                .iter()
                .map(|n| ix.get(*n).copied().unwrap_or_else(|| vars[variable(n)]))
                .collect())
        })?;
        let read = self.pushed_once(base, f, depth + 1, way)?;
        let rest = (indexed..dims.len()).map(|n| map[n].map(|_| variable(&n)));
        let seen: AxisMap = (0..variables).map(Some).chain(rest).collect();
        let dims = [&sizes[..variables], &dims[indexed..]].concat();
        self.view_of(read, &seen, &dims)
    }

    /// A read that goes its way for the variables that it depends on; the others copy.
    fn pushed_once(
        &mut self,
        t: TermId,
        r: RegionId,
        depth: usize,
        way: &mut ReadPath,
    ) -> Result<TermId> {
        let Some((f, seen)) = self.without_ignored(r)? else {
            return self.pushed(t, r, depth, way);
        };
        let sizes = self.b.index_sizes(r).to_vec();
        let rest = self.dims(t).split_off(self.b.region(r).results().len());
        let read = self.pushed(t, f, depth, way)?;
        let kept = seen.iter().flatten().count();
        let seen: AxisMap =
            seen.into_iter().chain((0..rest.len()).map(|n| Some(kept + n))).collect();
        self.view_of(read, &seen, &[sizes, rest].concat())
    }

    /// An index function without the variables that it ignores, and which of its variables each one
    /// of the other is; none if it needs all.
    pub(crate) fn without_ignored(&mut self, r: RegionId) -> Result<Option<(RegionId, AxisMap)>> {
        let region = self.b.region(r).clone();
        let sizes = self.b.index_sizes(r).to_vec();
        let mut used = vec![false; sizes.len()];
        for &e in region.results() {
            if !self.is_light(r, e) {
                return Ok(None);
            }
            for t in self.light_order(region.level(), &[e]) {
                if let Node::Var { position, .. } = self.b.node(t) {
                    used[*position as usize] = true;
                }
            }
        }
        let kept: Vec<usize> = (0..sizes.len()).filter(|&k| used[k]).collect();
        if kept.len() == sizes.len() || sizes.contains(&0) {
            return Ok(None);
        }
        let f = self.of_variables(r, &kept)?;
        let seen = (0..sizes.len()).map(|k| kept.iter().position(|&n| n == k)).collect();
        Ok(Some((f, seen)))
    }

    /// The sum of what is read of summands.
    fn read_summands(
        &mut self,
        u: TermId,
        r: RegionId,
        depth: usize,
        way: &mut ReadPath,
    ) -> Result<TermId> {
        let mut sizes = self.b.index_sizes(r).to_vec();
        let ix = self.b.region(r).results().to_vec();
        let variables = sizes.len();
        sizes.extend(self.b.shape(u).dims().first());
        // The variables of a region at this depth are those of the one before; the summand is last.
        let f = self.index_function(&sizes, |_, vars| {
            Ok(std::iter::once(vars[variables]).chain(ix).collect())
        })?;
        let summands = self.pushed(u, f, depth + 1, way)?;
        let perm: Vec<usize> = std::iter::once(variables).chain(0..variables).collect();
        let raw = self.b.transpose(&perm, summands)?;
        let summands = self.simplify(raw)?;
        self.sum(summands)
    }
}
