//! Nests: elements as functions of the loop indices.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Extreme, Node, RegionId, TermId};
use cotan_nest::{Affine, Body, BufferId, Instr, Nest, Val, Write, components};
use rustc_hash::FxHashMap;

use super::placement::{NOWHERE, ScopePlacements};
use super::split::{IndexBox, boxes};
use super::{Lowering, Place, R, Unsupported};

/// Elements that were expanded: which array, at which index.
type Memo = FxHashMap<(TermId, Vec<Val>), Val>;

/// A body in the making, with what the variables of open index functions stand for.
pub(super) struct Expansion {
    pub(super) body: Body,
    variables: FxHashMap<TermId, Val>,
    /// For each open index function its level and the values made under it; the first is outside.
    memos: Vec<(u8, Memo)>,
    depth: usize,
    /// A sum whose summand is taken in its place, at the index of a dimension.
    joined: Option<(TermId, usize)>,
}

impl Expansion {
    pub(super) fn new(extents: Vec<usize>) -> Expansion {
        Expansion {
            body: Body::new(extents),
            variables: FxHashMap::default(),
            memos: vec![(0, FxHashMap::default())],
            depth: 0,
            joined: None,
        }
    }

    /// The index of an element: the part that it is in, then the indices of some dimensions.
    pub(super) fn indices(
        &mut self,
        part: Option<usize>,
        dims: std::ops::Range<usize>,
    ) -> Vec<Val> {
        let mut ix = Vec::with_capacity(dims.len() + 1);
        ix.extend(part.map(|n| self.body.constant(Scalar::I64(n as i64))));
        ix.extend(dims.map(|dim| self.body.index(dim)));
        ix
    }

    /// An integer that does not depend on the indices.
    fn known(&self, v: Val) -> Option<i64> {
        self.body.as_affine(v).and_then(Affine::known)
    }

    /// An element of a constant at a known index within it.
    fn known_element(&self, array: &Array, ix: &[Val]) -> Option<Scalar> {
        let position = |&v: &Val| self.known(v).and_then(|i| usize::try_from(i).ok());
        let ix: Vec<usize> = ix.iter().map(position).collect::<Option<_>>()?;
        scalar_at(array, &ix)
    }

    pub(super) fn op(&mut self, op: Op, args: &[Val]) -> R<Val> {
        self.body.op(op, args).ok_or(Unsupported("an operation that does not fit"))
    }

    /// Which memo holds a node whose innermost variable has this level.
    fn memo(&mut self, level: u8) -> &mut Memo {
        let at = self.memos.iter().rposition(|(l, _)| *l <= level).unwrap_or(0);
        &mut self.memos[at].1
    }

    pub(super) fn finish(
        self,
        source: TermId,
        value: Val,
        reduced: usize,
        target: BufferId,
        write: Write,
    ) -> Nest {
        let Body { extents, instrs, dtypes, .. } = self.body;
        let source = Some(source);
        Nest { extents, reduced, instrs, dtypes, value, target, write, also: Vec::new(), source }
            .without_dead()
    }
}

fn scalar_at(array: &Array, ix: &[usize]) -> Option<Scalar> {
    match array.dtype() {
        Dtype::F64 => array.get(ix).map(Scalar::F64),
        Dtype::F32 => array.get(ix).map(Scalar::F32),
        Dtype::I64 => array.get(ix).map(Scalar::I64),
        Dtype::Bool => array.get(ix).map(Scalar::Bool),
    }
}

/// The row-major place of an index.
pub(crate) fn row_major(dims: &[usize], ix: impl Iterator<Item = usize>, rank: usize) -> Affine {
    let mut at = Affine::constant(0, rank);
    let mut stride = 1i64;
    let ix: Vec<usize> = ix.collect();
    for (&k, &dim) in dims.iter().zip(&ix).rev() {
        at.coeffs[dim] = stride;
        stride = stride.saturating_mul(k as i64);
    }
    at
}

impl Lowering<'_> {
    /// The nests that make an array, or a part of it.
    pub(super) fn array_nests(
        &mut self,
        t: TermId,
        to: BufferId,
        part: Option<usize>,
    ) -> R<Vec<Nest>> {
        if part.is_some() {
            return self.cut_nests(t, to, part, true);
        }
        // The elements of a reshaped array lie in the same order.
        let mut from = t;
        while let Node::Reshape(_, u) = self.program.node(from) {
            from = *u;
            if self.held(from).is_some() {
                break;
            }
        }
        self.cut_nests(from, to, None, from == t)
    }

    /// The nests that put the elements of an array into a buffer.
    pub(super) fn copy_nests(&mut self, t: TermId, to: BufferId) -> R<Vec<Nest>> {
        self.cut_nests(t, to, None, false)
    }

    /// The nest that makes part `n` of a stack.
    pub(super) fn store_nest(&mut self, t: TermId, to: BufferId, n: usize) -> R<Nest> {
        self.part_nest(t, to, (None, n * self.program.shape(t).numel()), None, false)
    }

    /// The nests that make a part of an array along its outermost axis, or all of it: one, or one
    /// for each box of indices in which no condition on them changes.
    fn cut_nests(
        &mut self,
        t: TermId,
        to: BufferId,
        part: Option<usize>,
        own: bool,
    ) -> R<Vec<Nest>> {
        let whole = self.part_nest(t, to, (part, 0), None, own)?;
        if self.wanted.is_some() {
            // What the boxes read is read by the whole.
            return Ok(Vec::new());
        }
        let Some(boxes) =
            boxes(&whole, self.target.thresholds.min_split_positions, self.target.search.max_boxes)
        else {
            return Ok(vec![whole]);
        };
        boxes.iter().map(|b| self.part_nest(t, to, (part, 0), Some(b), own)).collect()
    }

    /// The nest that makes a part of an array along its outermost axis, or all of it, or a box of
    /// that, and puts it at an offset.
    fn part_nest(
        &mut self,
        t: TermId,
        to: BufferId,
        (part, offset): (Option<usize>, usize),
        within: Option<&IndexBox>,
        own: bool,
    ) -> R<Nest> {
        let all = self.program.shape(t).dims();
        let dims = all[usize::from(part.is_some())..].to_vec();
        let extents = match within {
            Some(ranges) => ranges.iter().map(|range| range.1).collect(),
            None => dims.clone(),
        };
        let mut e = Expansion::new(extents);
        let mut ix = e.indices(part, 0..dims.len());
        let mut at = row_major(&dims, 0..dims.len(), dims.len());
        at.constant = (offset + part.unwrap_or(0) * dims.iter().product::<usize>()) as i64;
        for (dim, &(first, _)) in within.into_iter().flatten().enumerate() {
            let mut index = Affine::index(dim, dims.len());
            index.constant = first as i64;
            ix[dim + usize::from(part.is_some())] = e.body.affine(index);
            at.constant += first as i64 * at.coeffs[dim];
        }
        let value = if own { self.expand(&mut e, t, &ix)? } else { self.element(&mut e, t, &ix)? };
        Ok(e.finish(t, value, 0, to, Write::Store(at)))
    }

    /// The nest of a sum, and of the sums that it is the only user of; or of a part of it along its
    /// outermost axis. A sum that is a factor may be `joined`.
    pub(super) fn sum_nest(
        &mut self,
        t: TermId,
        to: BufferId,
        part: Option<usize>,
        joined: Option<TermId>,
        placements: &ScopePlacements,
    ) -> R<Nest> {
        let shape = self.program.shape(t).dims();
        let dims = shape[usize::from(part.is_some())..].to_vec();
        let rank = dims.len();
        let mut extents = dims.clone();
        // The dimension that each axis of what is summed runs along, if it is not in one position.
        // The sum that is taken first runs innermost: over the outermost axis.
        let mut axes: Vec<Option<usize>> = part.map(|_| None).into_iter().collect();
        axes.extend((0..rank).map(Some));
        let (mut at, mut inner) = (t, t);
        while let Node::SumOuter(u) = self.program.node(inner)
            && (inner == t || placements.is_absorbed(inner))
        {
            let of_sum = if inner == t { axes } else { self.axes_below(at, axes) };
            axes = std::iter::once(Some(extents.len())).chain(of_sum).collect();
            extents.push(self.program.shape(*u).dims().first().copied().unwrap_or(0));
            (at, inner) = (*u, self.below_transposes(*u));
        }
        let joined = joined.map(|factor| (factor, extents.len()));
        if let Some((factor, _)) = joined
            && let Node::SumOuter(u) = self.program.node(factor)
        {
            extents.push(self.program.shape(*u).dims().first().copied().unwrap_or(0));
        }
        let all = extents.len();
        let mut e = Expansion { joined, ..Expansion::new(extents) };
        let position = e.body.constant(Scalar::I64(part.unwrap_or(0) as i64));
        let index = |axis: &Option<usize>| axis.map_or(position, |dim| e.body.index(dim));
        let ix: Vec<Val> = axes.iter().map(index).collect();
        let value = self.element(&mut e, at, &ix)?;
        let mut place = row_major(&dims, 0..rank, all);
        place.constant = (part.unwrap_or(0) * dims.iter().product::<usize>()) as i64;
        Ok(e.finish(t, value, all - rank, to, Write::Sum(place)))
    }

    /// The nest of a search along the outermost axis.
    pub(super) fn extreme_nest(&mut self, t: TermId, to: BufferId) -> R<Nest> {
        let Node::ArgExtreme(extreme, u) = self.program.node(t) else {
            return Err(Unsupported("not a search"));
        };
        let dims = self.program.shape(t).dims().to_vec();
        let rank = dims.len();
        let mut extents = dims.clone();
        extents.push(self.program.shape(*u).dims().first().copied().unwrap_or(0));
        let mut e = Expansion::new(extents);
        let mut ix = vec![e.body.index(rank)];
        ix.extend(e.indices(None, 0..rank));
        let value = self.element(&mut e, *u, &ix)?;
        let at = row_major(&dims, 0..rank, rank + 1);
        let write = Write::Extreme { at, largest: *extreme == Extreme::Max };
        Ok(e.finish(t, value, 1, to, write))
    }

    /// The number that all elements of an array are, if they are copies of a constant.
    pub(super) fn uniform(&self, t: TermId) -> Option<Scalar> {
        let mut at = t;
        // No deeper than arrays of a reasonable number of axes need.
        for _ in 0..16 {
            match self.program.node(at) {
                Node::Replicate(_, u) | Node::Reshape(_, u) | Node::Transpose(_, u) => at = *u,
                Node::Const(c) if c.shape().rank() == 0 => return scalar_at(c, &[]),
                _ => return None,
            }
        }
        None
    }

    /// What an array is a transposition of, however often.
    pub(super) fn below_transposes(&self, mut t: TermId) -> TermId {
        while let Node::Transpose(_, u) = self.program.node(t) {
            t = *u;
        }
        t
    }

    /// Given the dimension that each axis of an array runs along, those of what it is a
    /// transposition of.
    fn axes_below(&self, mut t: TermId, mut axes: Vec<Option<usize>>) -> Vec<Option<usize>> {
        while let Node::Transpose(perm, u) = self.program.node(t) {
            let mut below = axes.clone();
            for (n, &k) in perm.iter().enumerate() {
                below[usize::from(k)] = axes[n];
            }
            (t, axes) = (*u, below);
        }
        axes
    }

    /// The nest of a scatter into zeros.
    pub(super) fn scatter_nest(&mut self, t: TermId, to: BufferId) -> R<Nest> {
        let Node::Scatter(_, u, r) = self.program.node(t) else {
            return Err(Unsupported("not a scatter"));
        };
        let dims = self.program.shape(*u).dims().to_vec();
        let mut e = Expansion::new(dims.clone());
        let ix: Vec<Val> = (0..dims.len()).map(|dim| e.body.index(dim)).collect();
        let sizes = self.program.index_sizes(*r).len();
        let value = self.element(&mut e, *u, &ix)?;
        let mut places = self.call(&mut e, *r, &ix[..sizes])?;
        places.extend(&ix[sizes..]);
        let shape = self.program.shape(t).dims();
        let write = match e.body.affine_place(shape, &places) {
            Some((at, checks)) => Write::Add { at, checks },
            None => Write::AddAt(components(shape, &places)),
        };
        Ok(e.finish(t, value, 0, to, write))
    }

    /// The index that an index function gives.
    fn call(&mut self, e: &mut Expansion, r: RegionId, at: &[Val]) -> R<Vec<Val>> {
        let region = self.program.region(r);
        let before: Vec<(TermId, Option<Val>)> =
            region.params().iter().zip(at).map(|(&p, &v)| (p, e.variables.insert(p, v))).collect();
        e.memos.push((region.level(), FxHashMap::default()));
        let results: R<Vec<Val>> =
            region.results().to_vec().into_iter().map(|t| self.element(e, t, &[])).collect();
        e.memos.pop();
        for (p, v) in before {
            match v {
                Some(v) => e.variables.insert(p, v),
                None => e.variables.remove(&p),
            };
        }
        results
    }

    /// The element of an array at an index within it.
    pub(super) fn element(&mut self, e: &mut Expansion, t: TermId, ix: &[Val]) -> R<Val> {
        if let Some(&v) = e.variables.get(&t) {
            return Ok(v);
        }
        if let Node::Const(c) = self.program.node(t)
            && let Some(x) = e.known_element(c, ix)
        {
            return Ok(e.body.constant(x));
        }
        // What is made of nothing is not read from memory, should it be there.
        if let (Node::Iota(_), &[i]) = (self.program.node(t), ix) {
            return Ok(i);
        }
        if let Some(x) = self.uniform(t) {
            return Ok(e.body.constant(x));
        }
        if let Some(b) = self.held(t) {
            let ty = self.program.ty(t);
            return Ok(e.body.load(b, ty.dtype, ty.shape.dims(), ix));
        }
        let level = self.program.free(t).innermost();
        let key = (t, ix.to_vec());
        if let Some(&v) = e.memo(level).get(&key) {
            return Ok(v);
        }
        if e.depth > self.target.search.max_expansion_depth {
            return Err(Unsupported("an index function that is too deep"));
        }
        if e.body.instrs.len() > self.target.search.max_expansion_instrs {
            return Err(Unsupported("an index function that is too long"));
        }
        e.depth += 1;
        let v = self.expand(e, t, ix);
        e.depth -= 1;
        let v = v?;
        e.memo(level).insert(key, v);
        Ok(v)
    }

    /// The element of an array at any index: 0 outside.
    fn read(&mut self, e: &mut Expansion, t: TermId, ix: &[Val], trusted: &[bool]) -> R<Val> {
        let ty = self.program.ty(t).clone();
        if let Some(b) = self.held(t) {
            return Ok(e.body.load(b, ty.dtype, ty.shape.dims(), ix));
        }
        if let Node::Const(_) = self.program.node(t)
            && ty.shape.rank() > 0
        {
            let b = self.constant_buffer(t);
            return Ok(e.body.load(b, ty.dtype, ty.shape.dims(), ix));
        }
        let value = self.element(e, t, ix)?;
        let checks: Vec<(Val, usize, bool)> = ix
            .iter()
            .zip(ty.shape.dims())
            .enumerate()
            .map(|(n, (&v, &size))| (v, size, trusted.get(n) == Some(&true)))
            .collect();
        e.body.guarded(value, &checks).ok_or(Unsupported("a size that does not fit"))
    }

    /// Whether interval analysis shows that an index term stays within a size.
    fn within(&self, i: TermId, size: usize) -> bool {
        let bounds = self.program.bounds(i);
        bounds.is_empty() || bounds.lo >= 0 && i64::try_from(size).is_ok_and(|k| bounds.hi < k)
    }

    fn expand(&mut self, e: &mut Expansion, t: TermId, ix: &[Val]) -> R<Val> {
        let program = self.program;
        let ty = program.ty(t);
        if let (Node::SumOuter(u), Some((joined, dim))) = (program.node(t), e.joined)
            && joined == t
        {
            let mut jx = vec![e.body.index(dim)];
            jx.extend(ix);
            return self.element(e, *u, &jx);
        }
        match program.node(t) {
            Node::Const(_) => {
                let b = self.constant_buffer(t);
                Ok(e.body.load(b, ty.dtype, ty.shape.dims(), ix))
            }
            Node::Cond(p, u, v) => {
                let p = self.element(e, *p, &[])?;
                let (u, v) = (self.element(e, *u, ix)?, self.element(e, *v, ix)?);
                e.op(Op::Select, &[p, u, v])
            }
            Node::Op(op, args) => {
                let mut values: smallvec::SmallVec<[Val; 3]> = smallvec::SmallVec::new();
                for &arg in args {
                    values.push(self.element(e, arg, ix)?);
                }
                if self.wanted.is_some() && ty.dtype.is_float() {
                    // Some float: only indices are surveyed.
                    let some = Instr::LoadAt { buffer: NOWHERE, index: Vec::new() };
                    return Ok(e.body.push(some, ty.dtype));
                }
                e.op(*op, &values)
            }
            Node::Index(u, jx) => {
                let dims = program.shape(*u).dims();
                let mut whole = Vec::with_capacity(dims.len());
                let mut trusted = Vec::with_capacity(dims.len());
                for (n, &j) in jx.iter().enumerate() {
                    whole.push(self.element(e, j, &[])?);
                    trusted.push(self.within(j, dims[n]));
                }
                whole.extend(ix);
                trusted.resize(whole.len(), true);
                self.read(e, *u, &whole, &trusted)
            }
            Node::Gather(u, r) => {
                let sizes = program.index_sizes(*r).len();
                let dims = program.shape(*u).dims();
                let mut whole = self.call(e, *r, &ix[..sizes])?;
                let results = program.region(*r).results();
                let mut trusted: Vec<bool> =
                    results.iter().zip(dims).map(|(&i, &size)| self.within(i, size)).collect();
                whole.extend(&ix[sizes..]);
                trusted.resize(whole.len(), true);
                self.read(e, *u, &whole, &trusted)
            }
            Node::Replicate(_, u) => self.element(e, *u, &ix[1..]),
            Node::Transpose(perm, u) => {
                let mut jx = ix.to_vec();
                for (n, &k) in perm.iter().enumerate() {
                    jx[usize::from(k)] = ix[n];
                }
                self.element(e, *u, &jx)
            }
            Node::Reshape(_, u) => self.reshaped(e, t, *u, ix),
            Node::Build1(r) => {
                let region = program.region(*r);
                let (Some(&p), Some(&y)) = (region.params().first(), region.results().first())
                else {
                    return Err(Unsupported("a build without an index"));
                };
                let before = e.variables.insert(p, ix[0]);
                e.memos.push((region.level(), FxHashMap::default()));
                let value = self.element(e, y, &ix[1..]);
                e.memos.pop();
                match before {
                    Some(v) => e.variables.insert(p, v),
                    None => e.variables.remove(&p),
                };
                value
            }
            Node::Iota(_) => Ok(ix[0]),
            Node::OneHot(outer, v, jx) => {
                let n = outer.rank();
                let value = self.element(e, *v, &ix[n..])?;
                let mut mask: Option<Val> = None;
                for (&i, &j) in ix.iter().zip(jx.iter()) {
                    let j = self.element(e, j, &[])?;
                    let same = e.op(Op::Eq, &[i, j])?;
                    mask = Some(match mask {
                        Some(mask) => e.op(Op::And, &[mask, same])?,
                        None => same,
                    });
                }
                match mask {
                    None => Ok(value),
                    Some(mask) => {
                        let zero = e.body.zero(ty.dtype);
                        e.op(Op::Select, &[mask, value, zero])
                    }
                }
            }
            Node::Stack(ts) => {
                if let Some(n) = e.known(ix[0]) {
                    return match usize::try_from(n).ok().and_then(|n| ts.get(n)) {
                        Some(&part) => self.element(e, part, &ix[1..]),
                        None => Ok(e.body.zero(ty.dtype)),
                    };
                }
                if program.free(t).innermost() <= self.level && self.wants(t) {
                    return Ok(e.body.load(NOWHERE, ty.dtype, ty.shape.dims(), ix));
                }
                self.chosen(e, ts, ix)
            }
            Node::SumOuter(u)
                if program.shape(*u).dims()[0] <= self.target.inlining.max_unrolled_sum =>
            {
                let mut jx = vec![Val(0)];
                jx.extend(ix);
                let mut sum = e.body.zero(ty.dtype);
                for n in 0..program.shape(*u).dims()[0] {
                    jx[0] = e.body.constant(Scalar::I64(n as i64));
                    let x = self.element(e, *u, &jx)?;
                    // Beginning with 0, as every sum: it is never -0.
                    sum = e.op(Op::Add, &[sum, x])?;
                }
                Ok(sum)
            }
            Node::Input(_) | Node::Var { .. } => Err(Unsupported("a variable without a place")),
            Node::SumOuter(_)
            | Node::Scatter(..)
            | Node::ArgExtreme(..)
            | Node::ArgSort(_)
            | Node::SegmentArg(..) => Err(Unsupported("a reduction inside an index function")),
            Node::Routine(..) => Err(Unsupported("a routine inside an index function")),
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => {
                Err(Unsupported("a loop inside an index function"))
            }
        }
    }

    /// The element of one of several arrays, by the first component of the index.
    fn chosen(&mut self, e: &mut Expansion, ts: &[TermId], ix: &[Val]) -> R<Val> {
        if ts.len() > self.target.inlining.max_stack_parts {
            return Err(Unsupported("a long stack inside an index function"));
        }
        let mut value = self.element(e, ts[ts.len() - 1], &ix[1..])?;
        for (n, &part) in ts.iter().enumerate().rev().skip(1) {
            let part = self.element(e, part, &ix[1..])?;
            let k = e.body.constant(Scalar::I64(n as i64));
            let here = e.op(Op::Eq, &[ix[0], k])?;
            value = e.op(Op::Select, &[here, part, value])?;
        }
        Ok(value)
    }

    /// The element of a reshaped array: by the place in row-major order, axes that stay together
    /// apart.
    fn reshaped(&mut self, e: &mut Expansion, t: TermId, u: TermId, ix: &[Val]) -> R<Val> {
        let (dims, inner) = (self.program.shape(t).dims(), self.program.shape(u).dims());
        if dims.contains(&0) {
            // Nothing is ever read.
            let dtype = self.program.dtype(t);
            return Ok(e.body.zero(dtype));
        }
        let mut jx: Vec<Val> = Vec::with_capacity(inner.len());
        // From the last axis back: groups of axes of equal size on both sides.
        let (mut a, mut b) = (dims.len(), inner.len());
        while b > 0 || a > 0 {
            let (a_end, b_end) = (a, b);
            let (mut p, mut q) = (1usize, 1usize);
            loop {
                if p == q && (a < a_end || b < b_end) && p > 1 {
                    break;
                }
                if p <= q && a > 0 {
                    a -= 1;
                    p *= dims[a];
                } else if b > 0 {
                    b -= 1;
                    q *= inner[b];
                } else if a > 0 {
                    a -= 1;
                    p *= dims[a];
                } else {
                    break;
                }
            }
            let mut place = e.body.constant(Scalar::I64(0));
            for n in a..a_end {
                let k = e.body.constant(Scalar::I64(dims[n] as i64));
                let scaled = e.op(Op::Mul, &[place, k])?;
                place = e.op(Op::Add, &[scaled, ix[n]])?;
            }
            let group = &inner[b..b_end];
            for (n, &k) in group.iter().enumerate().rev() {
                let size = e.body.constant(Scalar::I64(k as i64));
                let component = if n == 0 { place } else { e.op(Op::Rem, &[place, size])? };
                jx.push(if k == 1 { e.body.constant(Scalar::I64(0)) } else { component });
                if n > 0 {
                    place = e.op(Op::FloorDiv, &[place, size])?;
                }
            }
        }
        jx.reverse();
        let affine = jx.iter().all(|&j| e.body.as_affine(j).is_some());
        let given = ix.iter().all(|&i| e.body.as_affine(i).is_some());
        let inline = matches!(self.places.get(u), Some(Place::Inline));
        if !affine && given && inline && self.program.free(u).innermost() == self.level {
            // Cheaper than divisions for each element.
            self.wants(u);
        }
        if let Some(buffer) = self.held(u) {
            // In memory the place is all that matters.
            let mut place = e.body.constant(Scalar::I64(0));
            for (&k, &i) in dims.iter().zip(ix) {
                let k = e.body.constant(Scalar::I64(k as i64));
                let scaled = e.op(Op::Mul, &[place, k])?;
                place = e.op(Op::Add, &[scaled, i])?;
            }
            let numel = self.program.shape(u).numel();
            return Ok(e.body.load(buffer, self.program.dtype(u), &[numel], &[place]));
        }
        self.element(e, u, &jx)
    }
}
