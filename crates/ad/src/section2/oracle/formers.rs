//! The meaning of each former on elements in row-major order.
//!
//! An array of shape `[k, ..]` is `k` blocks, one after the other: most formers move blocks.

use std::cmp::Ordering;
use std::rc::Rc;

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Custom, Extreme, MapAccum, Node, RegionId, Result, TermId, Type, While};

use super::machine::{Dual, Elements, Machine, Slot};
use super::numbers::Derivative;

impl<M: Derivative> Machine<'_, M> {
    /// What a node is, given what its operands and captures are.
    pub(super) fn compute(&mut self, t: TermId) -> Result<Slot<M::D>> {
        let program = self.program;
        if let Node::MapAccum(m) = program.node(t) {
            return Ok(Slot::Several(self.map_accum(t, m)?));
        }
        if let Node::While(w) = program.node(t) {
            return Ok(Slot::Several(self.while_accum(t, w)?));
        }
        if let Node::Custom(c) = program.node(t) {
            return Ok(Slot::Several(self.custom(c)?));
        }
        let ty = program.ty(t);
        if ty.shape.numel() == 0 {
            // However often a lambda would run for it.
            return Ok(Slot::One(Rc::default()));
        }
        // Before any memory is taken.
        self.spend(ty.shape.numel())?;
        let elements = match program.node(t) {
            Node::Const(c) => Rc::new(self.constant(c)),
            Node::Input(_) | Node::Var { .. } => return Err(self.internal("not defined")),
            Node::Cond(b, u, v) => {
                let (b, u, v) = (self.value(*b)?, self.value(*u)?, self.value(*v)?);
                if matches!(b.first(), Some(b) if b.x == Scalar::Bool(true)) { u } else { v }
            }
            Node::Op(op, args) => Rc::new(self.elementwise(*op, args, ty)?),
            Node::Index(t, ix) => {
                let block = self.read(*t, &self.all(ix)?, ty.shape.numel())?;
                Rc::new(block)
            }
            Node::SumOuter(t) => Rc::new(self.sum_outer(*t, ty)?),
            Node::Gather(t, r) => Rc::new(self.gather(*t, *r, ty)?),
            Node::Scatter(outer, t, r) => Rc::new(self.scatter(outer, *t, *r, ty)?),
            Node::Stack(ts) => {
                Rc::new(self.all(ts)?.iter().flat_map(|t| t.iter().cloned()).collect())
            }
            Node::Replicate(k, t) => {
                let t = self.value(*t)?;
                Rc::new((0..*k).flat_map(|_| t.iter().cloned()).collect())
            }
            Node::Transpose(perm, t) => Rc::new(self.transpose(perm, *t, ty)?),
            Node::Reshape(_, t) => self.value(*t)?,
            Node::Build1(r) => Rc::new(self.build1(*r)?),
            Node::Iota(k) => Rc::new((0..*k).map(|i| self.integer(i)).collect()),
            Node::OneHot(outer, v, ix) => Rc::new(self.one_hot(outer, *v, ix, ty)?),
            Node::ArgExtreme(extreme, t) => Rc::new(self.arg_extreme(*extreme, *t)?),
            Node::ArgSort(t) => Rc::new(self.arg_sort(*t)?),
            Node::SegmentArg(extreme, k, t, ids) => {
                Rc::new(self.segment_arg(*extreme, *k, *t, *ids)?)
            }
            Node::Routine(routine, ts) => Rc::new(self.routine(*routine, ts, ty)?),
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => {
                return Err(self.internal("has several results"));
            }
            Node::Result(t, n) => self.result(*t, *n as usize)?,
        };
        if elements.len() != ty.shape.numel() {
            return Err(self.internal("elements and shape disagree"));
        }
        Ok(Slot::One(elements))
    }

    fn constant(&self, c: &Array) -> Vec<Dual<M::D>> {
        fn scalars<T: Element>(c: &Array, wrap: impl Fn(T) -> Scalar) -> Vec<Scalar> {
            c.iter::<T>().into_iter().flatten().map(wrap).collect()
        }
        let xs = match c.dtype() {
            Dtype::F64 => scalars(c, Scalar::F64),
            Dtype::F32 => scalars(c, Scalar::F32),
            Dtype::I64 => scalars(c, Scalar::I64),
            Dtype::Bool => scalars(c, Scalar::Bool),
        };
        xs.into_iter().map(|x| self.plain(x)).collect()
    }

    fn elementwise(&mut self, op: Op, args: &[TermId], ty: &Type) -> Result<Vec<Dual<M::D>>> {
        let args = self.all(args)?;
        let mut elements = Vec::with_capacity(ty.shape.numel());
        for n in 0..ty.shape.numel() {
            let xs: Vec<&Dual<M::D>> = args.iter().filter_map(|arg| arg.get(n)).collect();
            elements.push(self.apply(op, &xs, ty.dtype)?);
        }
        Ok(elements)
    }

    /// Sums each place from the first block to the last.
    fn sum_outer(&mut self, t: TermId, ty: &Type) -> Result<Vec<Dual<M::D>>> {
        let t = self.value(t)?;
        let mut sum = vec![self.zero(ty.dtype); ty.shape.numel()];
        for block in t.chunks(ty.shape.numel()) {
            self.add_block(&mut sum, block, ty.dtype)?;
        }
        Ok(sum)
    }

    fn gather(&mut self, t: TermId, r: RegionId, ty: &Type) -> Result<Vec<Dual<M::D>>> {
        let sizes = self.program.index_sizes(r);
        let size = ty.shape.drop_outer(sizes.len()).numel();
        let mut elements = Vec::with_capacity(ty.shape.numel());
        for n in 0..count(&sizes) {
            let ix = self.call_at(r, &unravel(n, &sizes))?;
            elements.extend(self.read(t, &ix, size)?);
        }
        Ok(elements)
    }

    fn scatter(
        &mut self,
        outer: &Shape,
        t: TermId,
        r: RegionId,
        ty: &Type,
    ) -> Result<Vec<Dual<M::D>>> {
        let t = self.value(t)?;
        let sizes = self.program.index_sizes(r);
        let size = ty.shape.drop_outer(outer.rank()).numel();
        let mut sums = vec![self.zero(ty.dtype); ty.shape.numel()];
        for n in 0..count(&sizes) {
            let ix = self.call_at(r, &unravel(n, &sizes))?;
            if let Some(place) = self.block(&ix, outer.dims())? {
                let (to, from) = (place * size, n * size);
                let block = t.get(from..from + size);
                if let (Some(to), Some(block)) = (sums.get_mut(to..to + size), block) {
                    self.add_block(to, block, ty.dtype)?;
                }
            }
        }
        Ok(sums)
    }

    /// `sum += block`, place by place.
    fn add_block(
        &mut self,
        sum: &mut [Dual<M::D>],
        block: &[Dual<M::D>],
        dtype: Dtype,
    ) -> Result<()> {
        for (s, x) in sum.iter_mut().zip(block) {
            *s = self.apply(Op::Add, &[&*s, x], dtype)?;
        }
        Ok(())
    }

    /// Axis `n` of the result is axis `perm[n]` of the operand.
    fn transpose(&mut self, perm: &[u8], t: TermId, ty: &Type) -> Result<Vec<Dual<M::D>>> {
        let strides = self.program.shape(t).strides();
        let t = self.value(t)?;
        let axis = |n: usize| perm.get(n).map_or(n, |&k| usize::from(k));
        let mut elements = Vec::with_capacity(ty.shape.numel());
        for n in 0..ty.shape.numel() {
            let ix = unravel(n, ty.shape.dims());
            let place = ix.iter().enumerate().map(|(n, i)| i * strides[axis(n)]).sum::<usize>();
            elements.extend(t.get(place).cloned());
        }
        Ok(elements)
    }

    fn build1(&mut self, r: RegionId) -> Result<Vec<Dual<M::D>>> {
        let mut elements = Vec::new();
        for i in 0..count(&self.program.index_sizes(r)) {
            for block in self.call_at(r, &[i])? {
                elements.extend(block.iter().cloned());
            }
        }
        Ok(elements)
    }

    fn one_hot(
        &mut self,
        outer: &Shape,
        v: TermId,
        ix: &[TermId],
        ty: &Type,
    ) -> Result<Vec<Dual<M::D>>> {
        let v = self.value(v)?;
        let mut elements = vec![self.zero(ty.dtype); ty.shape.numel()];
        if let Some(place) = self.block(&self.all(ix)?, outer.dims())? {
            for (to, x) in elements.iter_mut().skip(place * v.len()).zip(v.iter()) {
                *to = x.clone();
            }
        }
        Ok(elements)
    }

    /// The first of the extreme elements, or the first NaN; 0 if there are no elements.
    fn arg_extreme(&mut self, extreme: Extreme, t: TermId) -> Result<Vec<Dual<M::D>>> {
        let lanes = self.lanes(t)?;
        let best = |lane: &Vec<Scalar>| {
            let better = |b: usize, k: usize| if wins(extreme, lane[k], lane[b]) { k } else { b };
            self.integer((1..lane.len()).fold(0, better))
        };
        Ok(lanes.iter().map(best).collect())
    }

    /// For each id, the first of the extreme elements that have it, or the first NaN; the number of
    /// elements if none has it.
    fn segment_arg(
        &mut self,
        extreme: Extreme,
        segments: usize,
        t: TermId,
        ids: TermId,
    ) -> Result<Vec<Dual<M::D>>> {
        let n = self.program.shape(t).dims().first().copied().unwrap_or(0);
        let (lanes, ids) = (self.lanes(t)?, self.lanes(ids)?);
        self.spend(segments.saturating_mul(lanes.len()))?;
        let mut found: Vec<Option<usize>> = vec![None; segments * lanes.len()];
        for (place, (lane, ids)) in lanes.iter().zip(&ids).enumerate() {
            for (k, id) in ids.iter().enumerate() {
                let Scalar::I64(id) = *id else { continue };
                if (0..segments as i64).contains(&id) {
                    let best = &mut found[id as usize * lanes.len() + place];
                    *best = best.filter(|&b| !wins(extreme, lane[k], lane[b])).or(Some(k));
                }
            }
        }
        Ok(found.into_iter().map(|best| self.integer(best.unwrap_or(n))).collect())
    }

    /// The stable permutation that sorts each lane, NaNs last.
    fn arg_sort(&mut self, t: TermId) -> Result<Vec<Dual<M::D>>> {
        let lanes = self.lanes(t)?;
        let sorted = |lane: &Vec<Scalar>| {
            let mut order: Vec<usize> = (0..lane.len()).collect();
            let rank = |x: Scalar, y: Scalar| x.compare(y).unwrap_or(is_nan(x).cmp(&is_nan(y)));
            order.sort_by(|&j, &k| rank(lane[j], lane[k]));
            order
        };
        let orders: Vec<Vec<usize>> = lanes.iter().map(sorted).collect();
        let outer = self.program.shape(t).dims().first().copied().unwrap_or(0);
        let row = |k: usize| orders.iter().filter_map(move |order| order.get(k));
        Ok((0..outer).flat_map(row).map(|&k| self.integer(k)).collect())
    }

    /// For each place of a block, the primals there, from the first block to the last.
    fn lanes(&mut self, t: TermId) -> Result<Vec<Vec<Scalar>>> {
        let size = self.program.shape(t).drop_outer(1).numel();
        let t = self.value(t)?;
        self.spend(t.len())?;
        Ok((0..size).map(|n| t.iter().skip(n).step_by(size).map(|dual| dual.x).collect()).collect())
    }

    /// `for k in 0 .. n, or backwards: (s, y[k]) = step(s, x[k])`: the final `s`, then the `y`.
    fn map_accum(&mut self, t: TermId, m: &MapAccum) -> Result<Vec<Elements<M::D>>> {
        let types = self.program.result_types(t).unwrap_or_default();
        for ty in &types {
            self.spend(ty.shape.numel())?;
        }
        let mut states = self.all(&m.init)?;
        let inputs = self.all(&m.inputs)?;
        // Each output, in the order of the steps.
        let mut steps =
            vec![Vec::<Elements<M::D>>::new(); types.len().saturating_sub(states.len())];
        for step in 0..m.length {
            let k = if m.reverse { m.length - 1 - step } else { step };
            let mut args = states;
            for x in &inputs {
                let size = x.len() / m.length;
                self.spend(size)?;
                args.push(Rc::new(x.iter().skip(k * size).take(size).cloned().collect()));
            }
            states = self.call(m.step, args)?;
            for (ys, y) in steps.iter_mut().zip(states.split_off(m.init.len())) {
                ys.push(y);
            }
        }
        for mut ys in steps {
            if m.reverse {
                ys.reverse();
            }
            states.push(Rc::new(ys.iter().flat_map(|y| y.iter().cloned()).collect()));
        }
        Ok(states)
    }

    /// `while k < bound and b(s): (s, y[k]) = step(s)`: the final `s`, then the `y`, zeros where
    /// there was no step. Operations are total, so the step may run once more than is needed.
    fn while_accum(&mut self, t: TermId, w: &While) -> Result<Vec<Elements<M::D>>> {
        let types = self.program.result_types(t).unwrap_or_default();
        for ty in &types {
            self.spend(ty.shape.numel())?;
        }
        let mut states = self.all(&w.init)?;
        let outputs = types.get(states.len()..).unwrap_or_default();
        let mut rows: Vec<Vec<Dual<M::D>>> = vec![Vec::new(); outputs.len()];
        let mut steps = 0;
        while w.bound.is_none_or(|bound| steps < bound) {
            let mut results = self.call(w.step, states.clone())?.into_iter();
            let condition = results.next().and_then(|b| b.first().map(|b| b.x));
            if condition != Some(Scalar::Bool(true)) {
                break;
            }
            states = results.by_ref().take(states.len()).collect();
            for (all, y) in rows.iter_mut().zip(results) {
                all.extend(y.iter().cloned());
            }
            steps += 1;
        }
        for (mut all, ty) in rows.into_iter().zip(outputs) {
            all.resize(ty.shape.numel(), self.zero(ty.dtype));
            states.push(Rc::new(all));
        }
        Ok(states)
    }

    /// The function, differentiated like everything else: its rule is what the oracle is for.
    fn custom(&mut self, c: &Custom) -> Result<Vec<Elements<M::D>>> {
        let mut args = self.all(&c.args)?;
        // Nothing that the function computes depends on what only the rule is given.
        for &p in self.program.region(c.region).params().iter().skip(args.len()) {
            let ty = self.program.ty(p);
            self.spend(ty.shape.numel())?;
            args.push(Rc::new(vec![self.zero(ty.dtype); ty.shape.numel()]));
        }
        let mut results = self.call(c.region, args)?;
        results.truncate(c.outputs);
        Ok(results)
    }

    // ---- indices ------------------------------------------------------------------------------

    /// The block of `t` at an index, of the given size: zeros out of range.
    fn read(&mut self, t: TermId, ix: &[Elements<M::D>], size: usize) -> Result<Vec<Dual<M::D>>> {
        let (shape, dtype) = (self.program.shape(t), self.program.dtype(t));
        let dims = shape.dims().get(..ix.len()).unwrap_or_default();
        let elements = self.value(t)?;
        Ok(match self.block(ix, dims)? {
            Some(n) => elements.iter().skip(n * size).take(size).cloned().collect(),
            None => vec![self.zero(dtype); size],
        })
    }

    /// Which block an index into leading axes of these sizes names; `None` out of range.
    fn block(&self, ix: &[Elements<M::D>], dims: &[usize]) -> Result<Option<usize>> {
        let mut n = 0;
        for (i, &k) in ix.iter().zip(dims) {
            let i = i.first().and_then(|i| i.x.as_i64());
            let i = i.ok_or_else(|| self.internal("an index is not an i64"))?;
            match usize::try_from(i) {
                Ok(i) if i < k => n = n * k + i,
                Ok(_) | Err(_) => return Ok(None),
            }
        }
        Ok(Some(n))
    }
}

/// How many positions there are.
fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The `n`-th position in row-major order.
fn unravel(n: usize, dims: &[usize]) -> Vec<usize> {
    let mut n = n;
    let mut ix: Vec<usize> = dims
        .iter()
        .rev()
        .map(|&k| {
            let i = n % k;
            n /= k;
            i
        })
        .collect();
    ix.reverse();
    ix
}

/// Whether an element comes before the best so far.
fn wins(extreme: Extreme, x: Scalar, champion: Scalar) -> bool {
    match x.compare(champion) {
        Some(order) => match extreme {
            Extreme::Max => order == Ordering::Greater,
            Extreme::Min => order == Ordering::Less,
        },
        None => is_nan(x) && !is_nan(champion),
    }
}

/// Whether `x` is not even equal to itself.
fn is_nan(x: Scalar) -> bool {
    x.compare(x).is_none()
}
