//! Guards that say again what an out-of-range read does anyway.
//!
//! A read out of range is 0, so `where(ix in range, t[ix], 0)` is `t[ix]`.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, Result, TermId};

use crate::affine::Affine;
use crate::options::Fault;
use crate::transform::{Bot, rule};

/// Guards of more parts than this are left alone.
const MAX_PARTS: usize = 8;
/// Sums of a few integers below this do not wrap.
const SMALL: i64 = 1 << 60;

impl Bot<'_> {
    /// What `where(p, u, v)` (or `cond`) may be replaced by, if the guard is redundant.
    pub(crate) fn drop_guard(&mut self, p: TermId, u: TermId, v: TermId) -> Result<Option<TermId>> {
        if !self.options.drop_guards || self.b.shape(p).rank() > 0 {
            return Ok(None);
        }
        // where(g, t[ix], 0)  ~>  t[ix]                     (ix in range implies g)
        if self.is_zero(v) && self.redundant(p, u, Op::And, false) {
            let expected = self.b.ty(u).clone();
            return rule!(self, "guard/read", u, expected, u).map(Some);
        }
        // where(h, 0, t[ix])  ~>  t[ix]                     (ix in range implies not h)
        if self.is_zero(u) && self.redundant(p, v, Op::Or, true) {
            let expected = self.b.ty(v).clone();
            return rule!(self, "guard/read", v, expected, v).map(Some);
        }
        // where(g, where(h, t, 0), v)  ~>  where(g, t, v)   (each conjunct of h is one of g)
        if let Node::Op(Op::Select, args) = self.b.node(u) {
            let (h, t, zero) = (args[0], args[1], args[2]);
            if self.is_zero(zero) && self.b.shape(t).rank() == 0 {
                let known = self.parts(p, Op::And);
                let nested = known.is_some_and(|known| {
                    let inner = self.parts(h, Op::And);
                    inner.is_some_and(|inner| inner.iter().all(|c| known.contains(c)))
                });
                if nested || self.faulty(Fault::GuardNestedAlways) {
                    let expected = self.b.ty(u).clone();
                    let made = self.b.op(Op::Select, &[p, t, v])?;
                    return rule!(self, "guard/nested", u, expected, made).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// The parts of a conjunction or disjunction, unless there are many.
    fn parts(&self, p: TermId, op: Op) -> Option<Vec<TermId>> {
        let mut parts = Vec::new();
        let mut stack = vec![p];
        while let Some(t) = stack.pop() {
            match self.b.node(t) {
                Node::Op(o, args) if *o == op => stack.extend(args.iter()),
                _ => parts.push(t),
            }
            if parts.len() + stack.len() > MAX_PARTS {
                return None;
            }
        }
        Some(parts)
    }

    /// Whether `read` is an `index` and each part of the guard follows from its being in range (the
    /// guard's negation, if `negated`).
    fn redundant(&mut self, guard: TermId, read: TermId, op: Op, negated: bool) -> bool {
        let Node::Index(t, ix) = self.b.node(read) else { return false };
        let (dims, ix) = (self.b.shape(*t).dims().to_vec(), ix.clone());
        if self.faulty(Fault::GuardReadAlways) {
            return true;
        }
        let Some(parts) = self.parts(guard, op) else { return false };
        parts.into_iter().all(|part| {
            let Some(difference) = self.comparison(part, negated) else { return false };
            ix.iter().zip(&dims).any(|(&i, &size)| {
                // In range: i >= 0 and size - 1 - i >= 0. The part says difference >= 0.
                let index = self.affine_of(i);
                let above = index.clone();
                let below = Affine::constant(size as i64 - 1).plus(&index, -1);
                [above, below].iter().any(|known| {
                    let slack = difference.constant.checked_sub(known.constant);
                    difference.terms == known.terms
                        && slack.is_some_and(|slack| (0..SMALL).contains(&slack))
                })
            })
        })
    }

    /// A comparison as `difference >= 0`.
    fn comparison(&mut self, part: TermId, negated: bool) -> Option<Affine> {
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
        Some(high.plus(&low, -1).plus(&Affine::constant(1), -i64::from(strict)))
    }

    /// Whether sums and differences of a few such terms cannot wrap.
    fn small(&self, t: TermId) -> bool {
        let bounds = self.b.bounds(t);
        bounds.lo > -SMALL && bounds.hi < SMALL
    }

    /// Whether a term is positive zero (or `false`) throughout.
    fn is_zero(&self, t: TermId) -> bool {
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
