//! Sums: fewer summands, factors taken out, and sums in the order that allows it.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, RegionId, Result, TermId, Type};

use crate::pass::{Fired, Opt, rule};
use crate::view::{AxisMap, View, compose, is_all, view};

/// A masked sum over fewer rows or places than this is better than a scatter. At least 5, as smaller
/// scatters become masked sums.
const MIN_PLACES: usize = 8;

/// Sums of up to so many parts of a stack are written out.
const MAX_PARTS: usize = 8;

impl Opt<'_> {
    pub(crate) fn sum_rules(&mut self, raw: TermId, t: TermId) -> Result<Fired> {
        if !self.options.sums {
            return Ok(None);
        }
        let dims = self.dims(t);
        let ty = self.b.ty(raw).clone();
        let Some(&k) = dims.first() else { return Ok(None) };
        if k == 0 || is_all(&self.b, t, 0) {
            return Ok(Some((rule!("sum/zero"), self.zeros(&ty)?)));
        }
        if k == 1 {
            return Ok(Some((rule!("sum/single"), self.reshape(&dims[1..], t)?)));
        }
        let v = view(&self.b, t);
        if v.map[0].is_none() {
            let one = self.without_axis(&v, &dims, 0)?;
            let count = self.fill_number(&ty, k as i64)?;
            return Ok(Some((rule!("sum/replicate"), self.op(Op::Mul, &[one, count])?)));
        }
        if v.map.contains(&None) {
            // What is copied along other axes is summed once.
            let kept: Vec<usize> = (0..dims.len()).filter(|&n| v.map[n].is_some()).collect();
            let map: AxisMap = kept.iter().map(|&n| v.map[n]).collect();
            let small: Vec<usize> = kept.iter().map(|&n| dims[n]).collect();
            let inner = self.view_of(v.base, &map, &small)?;
            let sum = self.sum(inner)?;
            let copies: AxisMap = (1..dims.len())
                .map(|n| kept.iter().position(|&k| k == n).map(|at| at - 1))
                .collect();
            return Ok(Some((rule!("sum/copies"), self.view_of(sum, &copies, ty.shape.dims())?)));
        }
        match self.b.node(v.base).clone() {
            Node::Op(op, args) => match self.sum_of_op(op, &args, &v, &dims, &ty)? {
                None => self.out_of_sum(op, &args, &v, &dims),
                fired => Ok(fired),
            },
            Node::SumOuter(u) => self.sum_of_sum(v.base, u, &v, &dims),
            Node::Reshape(_, u) if v.is_plain() => self.sum_of_reshape(u, &dims),
            Node::Iota(k) => {
                let k = k as i64;
                let total = (k - 1).wrapping_mul(k).wrapping_div(2);
                let total = self.b.scalar(total)?;
                Ok(Some((rule!("sum/iota"), self.fill(total, ty.shape.dims())?)))
            }
            Node::OneHot(outer, x, ix) if v.is_plain() => {
                // Out of range along the summed axis nothing is added.
                if ix.is_empty() || !self.b.bounds(ix[0]).within(outer.dims()[0]) {
                    return Ok(None);
                }
                let sum = self.one_hot(&outer.dims()[1..], x, &ix[1..])?;
                Ok(Some((rule!("sum/one-hot"), sum)))
            }
            Node::Scatter(outer, x, r) if v.is_plain() && self.used_once(v.base) => {
                self.sum_of_scatter(outer.dims(), x, r)
            }
            Node::Stack(ts) if v.is_plain() && ts.len() <= MAX_PARTS => {
                let mut sum = ts[0];
                for &part in &ts[1..] {
                    sum = self.op(Op::Add, &[sum, part])?;
                }
                Ok(Some((rule!("sum/stack"), sum)))
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Cond(..) => Ok(None),
            Node::Index(..) | Node::Gather(..) | Node::Scatter(..) | Node::Stack(_) => Ok(None),
            Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => Ok(None),
            Node::Build1(_) | Node::OneHot(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => {
                Ok(None)
            }
            Node::SegmentArg(..) | Node::Routine(..) => Ok(None),
            Node::MapAccum(_) | Node::While(_) => Ok(None),
            Node::Custom(_) | Node::Result(..) => Ok(None),
        }
    }

    /// An argument of the operation under a view, as a view of its own base.
    fn seen_through(&self, v: &View, arg: TermId) -> View {
        let inner = view(&self.b, arg);
        View { base: inner.base, map: compose(&v.map, &inner.map) }
    }

    fn sum_of_op(
        &mut self,
        op: Op,
        args: &[TermId],
        v: &View,
        dims: &[usize],
        ty: &Type,
    ) -> Result<Fired> {
        let parts: Vec<View> = args.iter().map(|&t| self.seen_through(v, t)).collect();
        let whole = |opt: &mut Self, n: usize| opt.view_of(parts[n].base, &parts[n].map, dims);
        let fixed = |n: usize| parts[n].map[0].is_none();
        let once = |opt: &mut Self, n: usize| opt.without_axis(&parts[n], dims, 0);
        match op {
            Op::Neg => {
                let inner = whole(self, 0)?;
                let sum = self.sum(inner)?;
                Ok(Some((rule!("sum/neg"), self.op(Op::Neg, &[sum])?)))
            }
            Op::Mul | Op::Scale | Op::StrongMul | Op::Div => {
                let factor = match (fixed(0), fixed(1)) {
                    (true, _) if op != Op::Div => 0,
                    (_, true) => 1,
                    _ => return Ok(None),
                };
                let summed = whole(self, 1 - factor)?;
                let sum = self.sum(summed)?;
                let kept = once(self, factor)?;
                let product = if factor == 0 { [kept, sum] } else { [sum, kept] };
                Ok(Some((rule!("sum/factor"), self.op(op, &product)?)))
            }
            Op::Select if fixed(0) => {
                let zero = [1, 2].into_iter().find(|&n| is_all(&self.b, args[n], 0));
                let Some(zero) = zero else { return Ok(None) };
                let other = whole(self, 3 - zero)?;
                let sum = self.sum(other)?;
                let (mask, nothing) = (once(self, 0)?, self.zeros(ty)?);
                let choice = if zero == 2 { [mask, sum, nothing] } else { [mask, nothing, sum] };
                Ok(Some((rule!("sum/mask"), self.op(Op::Select, &choice)?)))
            }
            Op::Add => {
                let one =
                    self.is_at_place(&parts[0], dims)? || self.is_at_place(&parts[1], dims)?;
                if !one {
                    return Ok(None);
                }
                let mut sums = [args[0]; 2];
                for (n, sum) in sums.iter_mut().enumerate() {
                    let all = whole(self, n)?;
                    *sum = self.sum(all)?;
                }
                Ok(Some((rule!("sum/apart"), self.op(Op::Add, &sums)?)))
            }
            Op::Select if is_all(&self.b, args[2], 0) => {
                let mut all = whole(self, 1)?;
                let mut name = rule!("sum/select");
                let place = match self.only_place(&parts[0], dims)? {
                    Some(place) => place,
                    None => {
                        let Some((place, others)) = self.place_among(&parts[0], dims)? else {
                            return self.sum_by_place(&parts[0], &parts[1], dims);
                        };
                        let nothing = self.b.ty(all).clone();
                        let nothing = self.zeros(&nothing)?;
                        for mask in others {
                            let mask = self.view_of(mask.base, &mask.map, dims)?;
                            all = self.op(Op::Select, &[mask, all, nothing])?;
                        }
                        name = rule!("sum/select-among");
                        place
                    }
                };
                let f = self.index_function(&dims[1..], |opt, vars| {
                    let place = opt.index(place, vars)?;
                    Ok(std::iter::once(place).chain(vars.iter().copied()).collect())
                })?;
                Ok(Some((name, self.gather(all, f)?)))
            }
            _ => Ok(None),
        }
    }

    /// For a mask that holds along the outermost axis where the index is `t`, that `t`, an array over
    /// the other axes.
    fn only_place(&mut self, mask: &View, dims: &[usize]) -> Result<Option<TermId>> {
        let Node::Op(Op::Eq, args) = self.b.node(mask.base) else { return Ok(None) };
        let sides = [self.seen_through(mask, args[0]), self.seen_through(mask, args[1])];
        for (count, place) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            let counts = matches!(self.b.node(count.base), Node::Iota(_))
                && count.map.iter().enumerate().all(|(n, m)| m.is_some() == (n == 0));
            if counts && place.map[0].is_none() {
                return self.without_axis(place, dims, 0).map(Some);
            }
        }
        Ok(None)
    }

    /// Such a place for one of several conditions that all have to hold, and the others.
    fn place_among(&mut self, mask: &View, dims: &[usize]) -> Result<Option<(TermId, Vec<View>)>> {
        let mut open = vec![mask.clone()];
        let (mut place, mut others) = (None, Vec::new());
        while let Some(mask) = open.pop() {
            if open.len() + others.len() > MAX_PARTS {
                return Ok(None);
            }
            if let Node::Op(Op::And, args) = self.b.node(mask.base) {
                let args = *args;
                open.extend(args.iter().map(|&t| self.seen_through(&mask, t)));
            } else if place.is_none() {
                place = self.only_place(&mask, dims)?;
                if place.is_none() {
                    others.push(mask);
                }
            } else {
                others.push(mask);
            }
        }
        Ok(place.map(|place| (place, others)))
    }

    /// Whether a summand is 0 but for one place along the outermost axis.
    fn is_at_place(&mut self, summand: &View, dims: &[usize]) -> Result<bool> {
        let Node::Op(Op::Select, args) = self.b.node(summand.base) else { return Ok(false) };
        if !is_all(&self.b, args[2], 0) {
            return Ok(false);
        }
        let mask = self.seen_through(summand, args[0]);
        Ok(self.only_place(&mask, dims)?.is_some() || self.place_among(&mask, dims)?.is_some())
    }

    /// A sum of what stands in row `i` at place `v[i]`, a masked sum over all places, is a scatter.
    fn sum_by_place(&mut self, mask: &View, value: &View, dims: &[usize]) -> Result<Fired> {
        let Node::Op(Op::Eq, args) = self.b.node(mask.base) else { return Ok(None) };
        let sides = [self.seen_through(mask, args[0]), self.seen_through(mask, args[1])];
        for (count, place) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            let only = |v: &View| {
                let mut axes = (0..dims.len()).filter(|&n| v.map[n].is_some());
                axes.next().filter(|_| axes.next().is_none())
            };
            let (Node::Iota(_), Some(axis), Some(0)) =
                (self.b.node(count.base), only(count), only(place))
            else {
                continue;
            };
            let (rows, places) = (dims[0], dims[axis]);
            if axis == 0 || places < MIN_PLACES || rows < MIN_PLACES {
                continue;
            }
            let place = self.view_of(place.base, &place.map[..1], &[rows])?;
            let all = self.view_of(value.base, &value.map, dims)?;
            // Of each row what stands at its place, the axis of places left out.
            let mut small = dims.to_vec();
            small.remove(axis);
            let f = self.index_function(&small, |opt, vars| {
                let mut ix = vars.to_vec();
                ix.insert(axis, opt.index(place, &vars[..1])?);
                Ok(ix)
            })?;
            let chosen = self.gather(all, f)?;
            let f = self.index_function(&[rows], |opt, vars| Ok(vec![opt.index(place, vars)?]))?;
            let sum = self.scatter(&[places], chosen, f)?;
            // Places come first; the result has them after the axes before.
            let map: AxisMap = (1..dims.len())
                .map(|n| {
                    Some(if n == axis {
                        0
                    } else if n < axis {
                        n
                    } else {
                        n - 1
                    })
                })
                .collect();
            return Ok(Some((rule!("sum/by-place"), self.view_of(sum, &map, &dims[1..])?)));
        }
        Ok(None)
    }

    /// Of two sums, takes the other one first when that takes a factor out of it, or removes a
    /// transposition.
    ///
    /// With $u$ the array under the sum `inner`, and $v$ the view of `inner` that is summed.
    fn sum_of_sum(&mut self, inner: TermId, u: TermId, v: &View, dims: &[usize]) -> Result<Fired> {
        let Some(Some(axis)) = v.map.first().copied() else { return Ok(None) };
        // The axis of u that the outer sum is over; the inner one is over axis 0.
        let outer = axis + 1;
        let w = view(&self.b, u);
        let (Some(&first), Some(&second)) = (w.map.first(), w.map.get(outer)) else {
            return Ok(None);
        };
        let invariant = |t: TermId, axis: Option<usize>| {
            axis.is_some_and(|axis| view(&self.b, t).map.get(axis) == Some(&None))
        };
        let factored = match self.b.node(w.base) {
            Node::Op(Op::Mul | Op::Scale | Op::StrongMul, args) => {
                args.iter().any(|&t| invariant(t, second) && !invariant(t, first))
            }
            _ => false,
        };
        let rule = if factored && self.used_once(inner) {
            rule!("sum/exchange")
        } else if v.is_plain() && w.is_full() && first > second {
            rule!("sum/order")
        } else {
            return Ok(None);
        };
        let udims = self.dims(u);
        let rank = udims.len();
        // Axis `outer` first, then the others in order.
        let order: AxisMap =
            std::iter::once(outer).chain((0..rank).filter(|&n| n != outer)).map(Some).collect();
        let turned: Vec<usize> = order.iter().flatten().map(|&n| udims[n]).collect();
        let t = self.view_of(u, &order, &turned)?;
        let once = self.sum(t)?;
        let both = self.sum(once)?;
        // Axes of the view, less the one summed: of `inner`, then of u, then of `both`.
        let map: AxisMap =
            v.map[1..].iter().map(|m| m.map(|n| if n > axis { n - 1 } else { n })).collect();
        Ok(Some((rule, self.view_of(both, &map, &dims[1..])?)))
    }

    /// A sum over an axis that several axes were made into is a sum over each of them.
    fn sum_of_reshape(&mut self, u: TermId, dims: &[usize]) -> Result<Fired> {
        let inner = self.dims(u);
        let summed = (2..=inner.len())
            .find(|&n| inner[..n].iter().product::<usize>() == dims[0] && inner[n..] == dims[1..]);
        let Some(summed) = summed else { return Ok(None) };
        // Axes of size 1 are no sums.
        if inner[..summed].iter().filter(|&&k| k != 1).count() < 2 {
            return Ok(None);
        }
        let mut sum = u;
        for _ in 0..summed {
            sum = self.sum(sum)?;
        }
        Ok(Some((rule!("sum/reshape"), sum)))
    }

    /// Along an axis in which a scatter stays, it does not matter where.
    fn sum_of_scatter(&mut self, outer: &[usize], x: TermId, r: RegionId) -> Result<Fired> {
        let ix = self.b.region(r).results().to_vec();
        let (Some((&first, rest)), Some((&k, outer))) = (ix.split_first(), outer.split_first())
        else {
            return Ok(None);
        };
        if !self.b.bounds(first).within(k)
            || self.b.region(r).level() as usize != self.b.depth() + 1
        {
            return Ok(None);
        }
        let sizes = self.b.index_sizes(r).to_vec();
        if rest.is_empty() {
            let mut sum = x;
            for _ in &sizes {
                sum = self.sum(sum)?;
            }
            return Ok(Some((rule!("sum/scatter"), sum)));
        }
        let f = self.index_function(&sizes, |_, _| Ok(rest.to_vec()))?;
        Ok(Some((rule!("sum/scatter"), self.scatter(outer, x, f)?)))
    }
}
