//! The meaning of each term former: one function each, in the order of [`Node`].

use std::cmp::Ordering;
use std::rc::Rc;

use cotan_array::{Array, Shape};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Custom, Extreme, Literal, MapAccum, Node, RegionId, TermId, Type, While};

use crate::error::Result;
use crate::machine::{Machine, PART, Slot};
use crate::position::offset;
use crate::report::Access;
use crate::tensor::{Entry, Tensor};
use crate::value::{Value, scalars};

/// Where an index points, and whether the index itself depends on an out-of-range read.
struct Target {
    /// `None` when out of range.
    position: Option<Vec<usize>>,
    poisoned: bool,
}

impl Machine<'_> {
    /// The value of a node whose operands and captures have values.
    pub(crate) fn compute(&mut self, t: TermId) -> Result<Slot> {
        let program = self.program;
        let ty = program.ty(t);
        let one = |y: Tensor| Slot::One(Rc::new(y));
        Ok(match program.node(t) {
            Node::Const(c) => one(self.constant(c)?),
            Node::Input(_) => return Err(self.internal("an input without a value")),
            Node::Var { .. } => return Err(self.internal("a variable outside its lambda")),
            Node::Cond(b, u, v) => Slot::One(self.cond(*b, *u, *v)?),
            Node::Op(op, args) => one(self.elementwise(ty, *op, args)?),
            Node::Index(t, ix) => one(self.index(ty, *t, ix)?),
            Node::SumOuter(t) => one(self.sum_outer(ty, *t)?),
            Node::Gather(t, r) => one(self.gather(ty, *t, *r)?),
            Node::Scatter(outer, t, r) => one(self.scatter(ty, outer, *t, *r)?),
            Node::Stack(ts) => one(self.stack(ty, ts)?),
            Node::Replicate(_, t) => one(self.replicate(ty, *t)?),
            Node::Transpose(perm, t) => one(self.transpose(ty, perm, *t)?),
            Node::Reshape(_, t) => one(self.reshape(ty, *t)?),
            Node::Build1(r) => one(self.build1(ty, *r)?),
            Node::Iota(_) => one(self.iota(ty)?),
            Node::OneHot(outer, v, ix) => one(self.one_hot(ty, outer, *v, ix)?),
            Node::ArgExtreme(extreme, t) => one(self.arg_extreme(ty, *extreme, *t)?),
            Node::ArgSort(t) => one(self.arg_sort(ty, *t)?),
            Node::SegmentArg(extreme, _, t, ids) => one(self.segment_arg(ty, *extreme, *t, *ids)?),
            Node::Routine(routine, ts) => one(self.routine(ty, *routine, ts)?),
            Node::MapAccum(m) => Slot::Several(self.map_accum(t, m)?),
            Node::While(w) => Slot::Several(self.while_accum(t, w)?),
            Node::Custom(c) => Slot::Several(self.custom(c)?),
            Node::Result(t, n) => Slot::One(self.result(*t, *n as usize)?),
        })
    }

    /// A value from outside, in the mode of the run.
    pub(crate) fn admit(&mut self, value: &Value) -> Result<Tensor> {
        self.admit_scalars(value.ty(), &mut value.elements().iter().copied())
    }

    /// An array from outside, in the mode of the run.
    pub(crate) fn admit_array(&mut self, array: &Array) -> Result<Tensor> {
        self.admit_scalars(&Type::of(array), &mut *scalars(array))
    }

    fn admit_scalars(
        &mut self,
        ty: &Type,
        elements: &mut dyn Iterator<Item = Scalar>,
    ) -> Result<Tensor> {
        let mode = self.options.mode;
        self.make(ty, |m, entries| {
            m.in_parts(ty.shape.numel(), |part| {
                let part = (&mut *elements).take(part.len());
                entries.extend(part.map(|x| Entry::sound(mode.admit(x))));
            })
        })
    }

    /// `c`
    fn constant(&mut self, c: &Literal) -> Result<Tensor> {
        self.admit_array(c)
    }

    /// `cond b u v = u if b, v otherwise`; the other branch is not evaluated.
    fn cond(&mut self, b: TermId, u: TermId, v: TermId) -> Result<Rc<Tensor>> {
        let b = self.value(b)?.item();
        let chosen = self.value(if b.value == Scalar::Bool(true) { u } else { v })?;
        if !b.poisoned {
            return Ok(chosen);
        }
        self.tainted(&chosen)
    }

    /// `(op t ..)[is] = op(t[is], ..)`
    fn elementwise(&mut self, ty: &Type, op: Op, args: &[TermId]) -> Result<Tensor> {
        let args: Vec<Rc<Tensor>> = args.iter().map(|&t| self.value(t)).collect::<Result<_>>()?;
        let (mut xs, mut values) = (Vec::new(), Vec::new());
        self.tabulate(ty, |m, is| {
            xs.clear();
            xs.extend(args.iter().map(|t| t.at(is.iter().copied())));
            values.clear();
            values.extend(xs.iter().map(|x| x.value));
            m.reads(xs.len() as u64)?;
            let y = Entry::sound(m.scalar(op, &values)?);
            Ok(y.tainted_by(match (op, xs.as_slice()) {
                // A selection depends on the branch it takes and not on the other.
                (Op::Select, [c, a, b]) => {
                    c.poisoned
                        || if c.value == Scalar::Bool(true) { a.poisoned } else { b.poisoned }
                }
                (_, xs) => xs.iter().any(|x| x.poisoned),
            }))
        })
    }

    /// `(index t ix)[js] = t[ix ++ js]`, or 0 if `ix` is out of range.
    fn index(&mut self, ty: &Type, t: TermId, ix: &[TermId]) -> Result<Tensor> {
        let t = self.value(t)?;
        let ix: Vec<Rc<Tensor>> = ix.iter().map(|&i| self.value(i)).collect::<Result<_>>()?;
        let target = self.target(Access::Read, &ix, &t.ty)?;
        self.make(ty, |m, entries| m.read_block(&t, &target, ty.shape.dims(), entries))
    }

    /// `(sumOuter t)[is] = 0 + t[0 : is] + t[1 : is] + ..`, from left to right.
    fn sum_outer(&mut self, ty: &Type, t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        self.tabulate(ty, |m, is| {
            let mut sum = m.zero(ty.dtype);
            for k in 0..t.outer() {
                m.reads(1)?;
                sum = m.add(sum, t.at(cons(k, is)))?;
            }
            Ok(sum)
        })
    }

    /// `(gather sh t (\is -> ix))[is ++ js] = t[ix(is) ++ js]`, or 0 if `ix(is)` is out of range.
    fn gather(&mut self, ty: &Type, t: TermId, r: RegionId) -> Result<Tensor> {
        let t = self.value(t)?;
        let sizes = self.program.index_sizes(r);
        let inner = ty.shape.drop_outer(sizes.len());
        self.make(ty, |m, entries| {
            m.each_position(&sizes, |m, is| {
                let ix = m.call_at(r, is)?;
                let target = m.target(Access::Read, &ix, &t.ty)?;
                m.read_block(&t, &target, inner.dims(), entries)
            })
        })
    }

    /// `(scatter sh t (\is -> ix))[ks ++ js] = 0 + the sum of t[is ++ js] over all is with
    /// ix(is) = ks`, the `is` in row-major order. Those with `ix(is)` out of range are dropped.
    fn scatter(&mut self, ty: &Type, outer: &Shape, t: TermId, r: RegionId) -> Result<Tensor> {
        let t = self.value(t)?;
        let sizes = self.program.index_sizes(r);
        let inner = ty.shape.drop_outer(outer.rank());
        let mut sum = self.tabulate(ty, |m, _| Ok(m.zero(ty.dtype)))?;
        let mut poisoned = false;
        self.each_position(&sizes, |m, is| {
            let ix = m.call_at(r, is)?;
            let target = m.target(Access::Write, &ix, ty)?;
            // Every element would be another if this index were.
            poisoned |= target.poisoned;
            let Some(ks) = target.position else { return Ok(()) };
            m.each_position(inner.dims(), |m, js| {
                m.reads(1)?;
                let x = t.at(is.iter().chain(js).copied());
                let place = offset(sum.dims(), ks.iter().chain(js).copied());
                sum.entries[place] = m.add(sum.entries[place], x)?;
                Ok(())
            })
        })?;
        if poisoned {
            self.in_parts(sum.entries.len(), |part| {
                sum.entries[part].iter_mut().for_each(|x| *x = x.tainted_by(true));
            })?;
        }
        Ok(sum)
    }

    /// `[t1, .., tn][k : is] = tk[is]`
    fn stack(&mut self, ty: &Type, ts: &[TermId]) -> Result<Tensor> {
        self.make(ty, |m, entries| {
            for &t in ts {
                let t = m.value(t)?;
                m.append(&t, entries)?;
            }
            Ok(())
        })
    }

    /// `(replicate k t)[i : is] = t[is]`
    fn replicate(&mut self, ty: &Type, t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        self.tabulate(ty, |m, is| {
            m.reads(1)?;
            Ok(t.at(is.iter().skip(1).copied()))
        })
    }

    /// `(tr [k1, .., km] t)[is] = t[js]` where `js[kn] = is[n]` and the further components agree.
    fn transpose(&mut self, ty: &Type, perm: &[u8], t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        let mut js = Vec::new();
        self.tabulate(ty, |m, is| {
            m.reads(1)?;
            js.clear();
            js.extend_from_slice(is);
            for (n, &k) in perm.iter().enumerate() {
                js[usize::from(k)] = is[n];
            }
            Ok(t.at(js.iter().copied()))
        })
    }

    /// The same elements in row-major order.
    fn reshape(&mut self, ty: &Type, t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        self.make(ty, |m, entries| m.append(&t, entries))
    }

    /// `(build1 k (\i -> t))[i : is] = t(i)[is]`
    fn build1(&mut self, ty: &Type, r: RegionId) -> Result<Tensor> {
        self.make(ty, |m, entries| {
            for i in 0..ty.shape.dims().first().copied().unwrap_or(0) {
                for result in m.call_at(r, &[i])? {
                    m.append(&result, entries)?;
                }
            }
            Ok(())
        })
    }

    /// `(iota k)[i] = i`
    fn iota(&mut self, ty: &Type) -> Result<Tensor> {
        self.tabulate(ty, |_, is| Ok(position(is.first().copied().unwrap_or(0))))
    }

    /// `(oneHot sh v ix)[is ++ js] = v[js] if is = ix, 0 otherwise`
    fn one_hot(&mut self, ty: &Type, outer: &Shape, v: TermId, ix: &[TermId]) -> Result<Tensor> {
        let v = self.value(v)?;
        let ix: Vec<Rc<Tensor>> = ix.iter().map(|&i| self.value(i)).collect::<Result<_>>()?;
        let target = self.target(Access::Write, &ix, ty)?;
        self.tabulate(ty, |m, place| {
            let (is, js) = place.split_at(outer.rank());
            let x = if target.position.as_deref() == Some(is) {
                m.reads(1)?;
                v.at(js.iter().copied())
            } else {
                m.zero(ty.dtype)
            };
            Ok(x.tainted_by(target.poisoned))
        })
    }

    /// `(argmax t)[is]` is the first `k` with the largest `t[k : is]`, the first NaN if there is
    /// one, 0 if there are no elements; `argmin` alike.
    fn arg_extreme(&mut self, ty: &Type, extreme: Extreme, t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        let better = match extreme {
            Extreme::Max => Ordering::Greater,
            Extreme::Min => Ordering::Less,
        };
        self.tabulate(ty, |m, is| {
            let lane = m.lane(&t, is)?;
            m.scalar_ops((lane.len() as u64).saturating_sub(1))?;
            let (mut best, mut poisoned) = (0, false);
            m.in_parts(lane.len(), |part| {
                for k in part {
                    let (champion, x) = (lane[best].value, lane[k]);
                    poisoned |= x.poisoned;
                    // The first NaN stays.
                    let wins = is_nan(x.value) || x.value.compare(champion) == Some(better);
                    if wins && !is_nan(champion) {
                        best = k;
                    }
                }
            })?;
            Ok(position(best).tainted_by(poisoned))
        })
    }

    /// `(argsort t)[.. : is]` is the permutation `p` with `t[p[0] : is] <= t[p[1] : is] <= ..`,
    /// equal elements in their order, then the NaNs in theirs.
    fn arg_sort(&mut self, ty: &Type, t: TermId) -> Result<Tensor> {
        let t = self.value(t)?;
        let inner = ty.shape.drop_outer(1);
        let mut lanes = Vec::new();
        self.each_position(inner.dims(), |m, is| {
            let lane = m.lane(&t, is)?;
            let k = lane.len() as u64;
            m.scalar_ops(k.saturating_mul(ceil_log2(k)))?;
            let order = m.sorted(&lane)?;
            let mut poisoned = false;
            m.in_parts(lane.len(), |part| poisoned |= lane[part].iter().any(|x| x.poisoned))?;
            lanes.push((order, poisoned));
            Ok(())
        })?;
        self.tabulate(ty, |_, is| {
            let (k, is) = (is[0], &is[1..]);
            let (order, poisoned) = &lanes[offset(inner.dims(), is.iter().copied())];
            Ok(position(order[k]).tainted_by(*poisoned))
        })
    }

    /// `(segmentArgmax m t ids)[j : is]` is the first `k` with the largest `t[k : is]` among those
    /// with `ids[k : is] = j`, the first NaN if there is one, the number of all `k` if there are
    /// none; `segmentArgmin` alike.
    fn segment_arg(
        &mut self,
        ty: &Type,
        extreme: Extreme,
        t: TermId,
        ids: TermId,
    ) -> Result<Tensor> {
        let (t, ids) = (self.value(t)?, self.value(ids)?);
        let better = match extreme {
            Extreme::Max => Ordering::Greater,
            Extreme::Min => Ordering::Less,
        };
        let (n, inner) = (t.outer(), ty.shape.drop_outer(1));
        let mut found = self.tabulate(ty, |_, _| Ok(position(n)))?;
        self.each_position(inner.dims(), |m, is| {
            let (lane, ids) = (m.lane(&t, is)?, m.lane(&ids, is)?);
            m.scalar_ops(n as u64)?;
            let mut poisoned = false;
            m.in_parts(n, |part| {
                for k in part {
                    let (x, id) = (lane[k], ids[k]);
                    poisoned |= x.poisoned || id.poisoned;
                    let Some(j) = row(id.value, found.outer()) else { continue };
                    let place = offset(found.dims(), cons(j, is));
                    let champion = row(found.entries[place].value, n).map(|best| lane[best].value);
                    // The first NaN stays.
                    let wins = champion.is_none_or(|champion| {
                        let beaten = is_nan(x.value) || x.value.compare(champion) == Some(better);
                        beaten && !is_nan(champion)
                    });
                    if wins {
                        found.entries[place] = position(k);
                    }
                }
            })?;
            // Every position would be another if this element or its id were.
            m.in_parts(if poisoned { found.outer() } else { 0 }, |part| {
                for j in part {
                    let place = offset(found.dims(), cons(j, is));
                    found.entries[place] = found.entries[place].tainted_by(true);
                }
            })
        })?;
        Ok(found)
    }

    /// `for k in 0 .. n, or backwards: (s, y[k]) = step(s, x[k])`; results are the final `s`, then
    /// the `y`.
    fn map_accum(&mut self, t: TermId, m: &MapAccum) -> Result<Vec<Rc<Tensor>>> {
        let mut states: Vec<Rc<Tensor>> =
            m.init.iter().map(|&s| self.value(s)).collect::<Result<_>>()?;
        let inputs: Vec<Rc<Tensor>> =
            m.inputs.iter().map(|&x| self.value(x)).collect::<Result<_>>()?;
        let mut outputs = self.room_for_outputs(t, states.len())?;
        for step in 0..m.length {
            let k = if m.reverse { m.length - 1 - step } else { step };
            let mut args = states;
            for x in &inputs {
                args.push(Rc::new(self.row(x, k)?));
            }
            states = self.call(m.step, args)?;
            let ys = states.split_off(m.init.len());
            self.write_rows(k, ys, &mut outputs)?;
        }
        states.extend(outputs.into_iter().map(Rc::new));
        Ok(states)
    }

    /// `k = 0; while k < bound and b(s): (s, y[k]) = step(s), k = k + 1`; results are the final `s`,
    /// then the `y`, zeros from the last `k` on. The step is not run for states whose condition
    /// fails.
    fn while_accum(&mut self, t: TermId, w: &While) -> Result<Vec<Rc<Tensor>>> {
        let mut states: Vec<Rc<Tensor>> =
            w.init.iter().map(|&s| self.value(s)).collect::<Result<_>>()?;
        let mut outputs = self.room_for_outputs(t, states.len())?;
        let mut poisoned = false;
        let mut k = 0;
        while w.bound.is_none_or(|bound| k < bound) {
            let turn = self.call_while(w.step, states.clone())?;
            // Every element would be another if the loop ended elsewhere.
            poisoned |= turn.poisoned;
            let Some(mut results) = turn.results else { break };
            let ys = results.split_off(states.len());
            states = results;
            self.write_rows(k, ys, &mut outputs)?;
            k += 1;
        }
        states.extend(outputs.into_iter().map(Rc::new));
        if poisoned {
            for s in &mut states {
                *s = self.tainted(s)?;
            }
        }
        Ok(states)
    }

    /// The function; its rule is for derivatives and is not run.
    fn custom(&mut self, c: &Custom) -> Result<Vec<Rc<Tensor>>> {
        let args = c.args.iter().map(|&t| self.value(t)).collect::<Result<_>>()?;
        self.call_first(c.region, args, c.outputs)
    }

    // ---- what several formers share -----------------------------------------------------------

    /// The array as one that depends on an out-of-range read.
    fn tainted(&mut self, t: &Tensor) -> Result<Rc<Tensor>> {
        Ok(Rc::new(self.make(&t.ty, |m, entries| {
            m.in_parts(t.entries.len(), |part| {
                entries.extend(t.entries[part].iter().map(|x| x.tainted_by(true)));
            })
        })?))
    }

    /// Zeros for the outputs of a loop, its results after the states.
    fn room_for_outputs(&mut self, t: TermId, states: usize) -> Result<Vec<Tensor>> {
        let types = self.program.result_types(t).unwrap_or_default();
        let mut outputs = Vec::new();
        for ty in types.iter().skip(states) {
            // Overwritten by the steps; not counted twice.
            let zero = self.zero(ty.dtype);
            outputs.push(self.make(ty, |m, entries| {
                m.in_parts(ty.shape.numel(), |part| entries.resize(part.end, zero))
            })?);
        }
        Ok(outputs)
    }

    /// The outputs of step `k` at their place.
    fn write_rows(&mut self, k: usize, ys: Vec<Rc<Tensor>>, outputs: &mut [Tensor]) -> Result<()> {
        for (output, y) in outputs.iter_mut().zip(ys) {
            let size = y.entries.len();
            self.reads(size as u64)?;
            self.writes(size as u64)?;
            let row = &mut output.entries[k * size..][..size];
            self.in_parts(size, |part| row[part.clone()].copy_from_slice(&y.entries[part]))?;
        }
        Ok(())
    }

    /// Where an index into an array of a type points.
    fn target(&mut self, access: Access, ix: &[Rc<Tensor>], ty: &Type) -> Result<Target> {
        self.reads(ix.len() as u64)?;
        let poisoned = ix.iter().any(|i| i.item().poisoned);
        let mut components = Vec::with_capacity(ix.len());
        for i in ix {
            let i = i.item().value.as_i64();
            components.push(i.ok_or_else(|| self.internal("an index is not an i64"))?);
        }
        let position: Option<Vec<usize>> = components
            .iter()
            .zip(ty.shape.dims())
            .map(|(&i, &k)| usize::try_from(i).ok().filter(|&i| i < k))
            .collect();
        if position.is_none() {
            self.report_out_of_range(access, &components, ty);
        }
        Ok(Target { position, poisoned })
    }

    /// Adds the sub-array of `t` at a target to `entries`: zeros when out of range.
    fn read_block(
        &mut self,
        t: &Tensor,
        target: &Target,
        inner: &[usize],
        entries: &mut Vec<Entry>,
    ) -> Result<()> {
        self.each_position(inner, |m, js| {
            m.writes(1)?;
            entries.push(match &target.position {
                Some(ix) => {
                    m.reads(1)?;
                    t.at(ix.iter().chain(js).copied()).tainted_by(target.poisoned)
                }
                None => m.zero(t.ty.dtype).tainted_by(true),
            });
            Ok(())
        })
    }

    /// Adds all elements of `t` to `entries`.
    fn append(&mut self, t: &Tensor, entries: &mut Vec<Entry>) -> Result<()> {
        for &x in &t.entries {
            self.reads(1)?;
            self.writes(1)?;
            entries.push(x);
        }
        Ok(())
    }

    /// The sub-array `t[k]` of an array with at least `k + 1` of them.
    fn row(&mut self, t: &Tensor, k: usize) -> Result<Tensor> {
        let inner = Type::new(t.ty.dtype, t.ty.shape.drop_outer(1));
        self.tabulate(&inner, |m, is| {
            m.reads(1)?;
            Ok(t.at(cons(k, is)))
        })
    }

    /// The elements `t[0 : is], t[1 : is], ..`.
    fn lane(&mut self, t: &Tensor, is: &[usize]) -> Result<Vec<Entry>> {
        self.reads(t.outer() as u64)?;
        let mut lane = Vec::with_capacity(t.outer());
        self.in_parts(t.outer(), |part| lane.extend(part.map(|k| t.at(cons(k, is)))))?;
        Ok(lane)
    }

    /// The permutation that sorts elements, equals in their order: parts are sorted, then merged.
    fn sorted(&self, lane: &[Entry]) -> Result<Vec<usize>> {
        let order = |a: usize, b: usize| nan_last(lane[a].value, lane[b].value);
        let mut sorted = Vec::with_capacity(lane.len());
        self.in_parts(lane.len(), |part| {
            let start = part.start;
            sorted.extend(part);
            sorted[start..].sort_by(|&a, &b| order(a, b));
        })?;
        let mut width = PART;
        while width < lane.len() {
            let (mut merged, mut pairs) =
                (Vec::with_capacity(lane.len()), sorted.chunks(2 * width));
            let (mut a, mut b): (&[usize], &[usize]) = (&[], &[]);
            self.in_parts(lane.len(), |part| {
                for _ in part {
                    if a.is_empty() && b.is_empty() {
                        let pair = pairs.next().unwrap_or_default();
                        (a, b) = pair.split_at(width.min(pair.len()));
                    }
                    let from_b = match (a, b) {
                        ([x, ..], [y, ..]) => order(*y, *x) == Ordering::Less,
                        _ => a.is_empty(),
                    };
                    let from = if from_b { &mut b } else { &mut a };
                    if let Some((&k, rest)) = from.split_first() {
                        merged.push(k);
                        *from = rest;
                    }
                }
            })?;
            sorted = merged;
            width *= 2;
        }
        Ok(sorted)
    }
}

/// The index `k : is`.
fn cons(k: usize, is: &[usize]) -> impl Iterator<Item = usize> {
    std::iter::once(k).chain(is.iter().copied())
}

/// An element that is a position along an axis.
fn position(k: usize) -> Entry {
    // Sizes of axes fit in i64 by the invariant of shapes.
    Entry::sound(Scalar::I64(k as i64))
}

/// The position below `n` that an integer stands for, if any.
fn row(k: Scalar, n: usize) -> Option<usize> {
    match k {
        Scalar::I64(k) => usize::try_from(k).ok().filter(|&k| k < n),
        _ => None,
    }
}

/// Whether `x` is not even equal to itself.
fn is_nan(x: Scalar) -> bool {
    x.compare(x).is_none()
}

/// Ascending, NaNs last; `-0` and `0` are equal.
fn nan_last(a: Scalar, b: Scalar) -> Ordering {
    a.compare(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

/// The smallest `n` with `2^n >= k`.
fn ceil_log2(k: u64) -> u64 {
    u64::from(u64::BITS - k.saturating_sub(1).leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_rounds_up() {
        let got: Vec<u64> = [0, 1, 2, 3, 4, 5, 8, 9, u64::MAX].map(ceil_log2).to_vec();
        assert_eq!(got, [0, 0, 1, 2, 2, 3, 3, 4, 64]);
    }
}
