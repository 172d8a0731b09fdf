//! Guards that say again what an out-of-range read does anyway.
//!
//! A read out of range is 0, so `where(ix in range, t[ix], 0)` is `t[ix]`.

use cotan_ir::scalar::Op;
use cotan_ir::{Linear, Node, Result, TermId};

use crate::transform::{Bot, rule};

/// Guards of more parts than this are left alone.
const MAX_PARTS: usize = 8;
/// Sums of a few integers below this do not wrap.
const SMALL: i64 = 1 << 60;

/// A part of a condition, and whether it is to hold or to fail.
pub(crate) type Part = (TermId, bool);

impl Bot<'_> {
    /// What `where(p, u, v)` (or `cond`) of the source may be replaced by, if the guard is
    /// redundant.
    pub(crate) fn drop_guard(&mut self, p: TermId, u: TermId, v: TermId) -> Result<Option<TermId>> {
        if !self.options.drop_guards || self.source.shape(p).rank() > 0 {
            return Ok(None);
        }
        let guard = self.image(p)?;
        // where(g, t[ix], 0)  ~>  t[ix]                     (ix in range implies g)
        // where(h, 0, t[ix])  ~>  t[ix]                     (ix in range implies not h)
        for (read, other, holds) in [(u, v, true), (v, u, false)] {
            let other = self.image(other)?;
            if self.is_zero(other) && self.redundant(guard, holds, read)? {
                let image = self.image(read)?;
                let expected = self.b.ty(image).clone();
                return rule!(self, "guard/read", image, expected, image).map(Some);
            }
        }
        // where(g, where(h, t, 0), v)  ~>  where(g, t, v)   (each conjunct of h is one of g)
        let (u, v) = (self.image(u)?, self.image(v)?);
        if let Node::Op(Op::Select, args) = self.b.node(u) {
            let (h, t, zero) = (args[0], args[1], args[2]);
            if self.is_zero(zero) && self.b.shape(t).rank() == 0 {
                let known = self.parts(guard, true);
                let nested = known.is_some_and(|known| {
                    let inner = self.parts(h, true);
                    inner.is_some_and(|inner| inner.iter().all(|c| known.contains(c)))
                });
                if nested {
                    let expected = self.b.ty(u).clone();
                    let made = self.b.op(Op::Select, &[guard, t, v])?;
                    return rule!(self, "guard/nested", u, expected, made).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// The parts that all hold (or fail) where the condition holds (or fails), unless there are
    /// many: those of a conjunction, of a disjunction that fails, of a negation.
    pub(crate) fn parts(&self, p: TermId, holds: bool) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut stack = vec![(p, holds)];
        while let Some((t, holds)) = stack.pop() {
            match (self.b.node(t), holds) {
                (Node::Op(Op::And, args), true) | (Node::Op(Op::Or, args), false) => {
                    stack.extend(args.iter().map(|&q| (q, holds)));
                }
                (Node::Op(Op::Not, args), _) => stack.extend(args.iter().map(|&q| (q, !holds))),
                _ => parts.push((t, holds)),
            }
            if parts.len() + stack.len() > MAX_PARTS {
                return None;
            }
        }
        Some(parts)
    }

    /// Whether `read` is an `index` in the source, and the guard holds (or fails) wherever it is in
    /// range.
    fn redundant(&mut self, guard: TermId, holds: bool, read: TermId) -> Result<bool> {
        let Node::Index(t, ix) = self.source.node(read) else { return Ok(false) };
        let dims = self.source.shape(*t).dims();
        let ix = self.images(ix)?;
        let Some(parts) = self.parts(guard, holds) else { return Ok(false) };
        let follows = |(part, holds): Part| {
            let Some(difference) = self.comparison(part, !holds) else { return false };
            ix.iter().zip(dims).any(|(&i, &size)| {
                // In range: i >= 0 and size - 1 - i >= 0. The part says difference >= 0.
                let index = self.affine_of(i);
                let below = Linear::constant(size as i64 - 1).plus(&index, -1);
                [index, below].iter().any(|known| {
                    let slack = difference.constant.checked_sub(known.constant);
                    difference.terms == known.terms
                        && slack.is_some_and(|slack| (0..SMALL).contains(&slack))
                })
            })
        };
        Ok(parts.into_iter().all(follows))
    }

    /// A comparison as `difference >= 0`.
    fn comparison(&mut self, part: TermId, negated: bool) -> Option<Linear> {
        let Node::Op(op, args) = self.b.node(part) else { return None };
        let (op, a, b) = (*op, *args.first()?, *args.get(1)?);
        if self.b.dtype(a) != cotan_array::Dtype::I64 {
            return None;
        }
        // a >= b  is  a - b >= 0;  a > b  is  a - b - 1 >= 0;  the others exchange the sides.
        let (greater, strict) = match (op, negated) {
            (Op::Ge, false) | (Op::Lt, true) => (true, false),
            (Op::Gt, false) | (Op::Le, true) => (true, true),
            (Op::Le, false) | (Op::Gt, true) => (false, false),
            (Op::Lt, false) | (Op::Ge, true) => (false, true),
            _ => return None,
        };
        // With one side small, an index in range and a small slack, no difference here can wrap.
        if !self.small(a) && !self.small(b) {
            return None;
        }
        let (high, low) = if greater { (a, b) } else { (b, a) };
        let (high, low) = (self.affine_of(high), self.affine_of(low));
        Some(high.plus(&low, -1).plus(&Linear::constant(1), -i64::from(strict)))
    }

    /// Whether sums and differences of a few such terms cannot wrap.
    fn small(&self, t: TermId) -> bool {
        let bounds = self.b.bounds(t);
        bounds.lo > -SMALL && bounds.hi < SMALL
    }

    /// Whether a term is positive zero (or `false`) throughout.
    pub(crate) fn is_zero(&self, t: TermId) -> bool {
        let mut t = t;
        while let Node::Replicate(_, u) = self.b.node(t) {
            t = *u;
        }
        match self.b.node(t) {
            Node::Const(c) => match c.dtype() {
                cotan_array::Dtype::F64 => {
                    c.iter::<f64>().is_some_and(|mut xs| xs.all(|x| x.to_bits() == 0))
                }
                cotan_array::Dtype::F32 => {
                    c.iter::<f32>().is_some_and(|mut xs| xs.all(|x| x.to_bits() == 0))
                }
                cotan_array::Dtype::I64 => c.iter::<i64>().is_some_and(|mut xs| xs.all(|x| x == 0)),
                cotan_array::Dtype::Bool => c.iter::<bool>().is_some_and(|mut xs| xs.all(|x| !x)),
            },
            _ => false,
        }
    }
}
