//! Factors: constants are taken out of products and of sums, multiples of one term are added up, and
//! a factor that comes twice is squared once.
//!
//! Derivatives are full of them. Of $x \cdot x \cdot x$ the derivative comes as the sum of three
//! products that are equal up to the order of their factors, of $(x - y)^2$ with a factor 2 in every
//! summand.
//!
//! Constants are moved only if they are of moderate size, and joined only if that rounds nothing and
//! gives one of moderate size again. No constant is moved to where another one stays: of
//! $(c x_1)(c x_2) \cdots$ one factor is without its constant on the way, not all of them. So results
//! change by rounding, and overflow where they did up to a moderate factor.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Node, Result, TermId};

use crate::pass::{Fired, Opt, rule};
use crate::view::{View, is_all, uniform, view};

/// A constant of moderate size is at most this, and at least its reciprocal.
const MODERATE: f64 = 65536.0;

/// A term as a multiple $c\,x$ of another, $c$ a constant of moderate size.
#[derive(Clone, Copy, Debug)]
struct Multiple {
    factor: f64,
    of: TermId,
}

impl Opt<'_> {
    /// Rules of products and sums of floats.
    pub(crate) fn factor_rules(&mut self, op: Op, args: &[TermId]) -> Result<Fired> {
        if !self.options.factors || !args.iter().all(|&t| self.b.dtype(t).is_float()) {
            return Ok(None);
        }
        match (op, args) {
            (Op::Div, &[x, y]) if self.is_reciprocal(x, y) => {
                Ok(Some((rule!("div/reciprocal"), self.op(Op::Mul, &[x, x])?)))
            }
            (Op::Mul | Op::StrongMul, &[x, y]) => self.out_of_product(op, x, y),
            (Op::Scale, &[x, y]) => match self.squared(x, y)? {
                None => self.out_of_product(op, x, y),
                fired => Ok(fired),
            },
            (Op::Add | Op::Sub, &[x, y]) => match self.multiples(op, x, y)? {
                None => self.among_others(op, x, y),
                fired => Ok(fired),
            },
            _ => Ok(None),
        }
    }

    /// Whether a term is $1 / y$.
    fn is_reciprocal(&self, t: TermId, y: TermId) -> bool {
        match self.b.node(t) {
            Node::Op(Op::Div, args) => args[1] == y && is_all(&self.b, args[0], 1),
            Node::Op(Op::Recip, args) => args[0] == y,
            _ => false,
        }
    }

    /// A factor that comes twice, where its square is computed anyway: if that overflows, then
    /// somewhere else too.
    fn squared(&mut self, x: TermId, y: TermId) -> Result<Fired> {
        let Node::Op(Op::Scale, args) = self.b.node(x) else { return Ok(None) };
        let &[first, again] = args.as_slice() else { return Ok(None) };
        if again != y || !self.used_once(x) {
            return Ok(None);
        }
        let known = self.b.len();
        let square = self.op(Op::Mul, &[y, y])?;
        // What was only tried has no use.
        if square.index() >= known || self.use_count(square) == 0 {
            return Ok(None);
        }
        Ok(Some((rule!("factor/square"), self.op(Op::Scale, &[first, square])?)))
    }

    // ---- products -----------------------------------------------------------------------------

    /// The constant factor of a product, also under a view of it.
    fn multiple(&mut self, t: TermId) -> Result<Option<Multiple>> {
        let v = view(&self.b, t);
        let Node::Op(Op::Mul, args) = self.b.node(v.base) else { return Ok(None) };
        let &[x, y] = args.as_slice() else { return Ok(None) };
        for (c, other) in [(x, y), (y, x)] {
            if let Some(factor) = self.moderate(c) {
                let dims = self.dims(t);
                let of = self.view_of(other, &v.map, &dims)?;
                return Ok(Some(Multiple { factor, of }));
            }
        }
        Ok(None)
    }

    /// The same for a factor of a product, if the constant can be taken out of it without meeting one
    /// that stays another.
    fn movable(&mut self, t: TermId, other: TermId) -> Result<Option<Multiple>> {
        let Some(c) = self.own_factor(t) else { return Ok(None) };
        let meets = match self.own_factor(other) {
            Some(d) => self.product_of(t, c, d).is_none(),
            None => false,
        };
        if meets { Ok(None) } else { self.alone(t) }
    }

    /// The constant factor of a term that has no other.
    fn alone(&mut self, t: TermId) -> Result<Option<Multiple>> {
        let multiple = self.multiple(t)?;
        Ok(multiple.filter(|multiple| self.own_factor(multiple.of).is_none()))
    }

    /// The constant factor of a product, also under a view of it.
    fn own_factor(&self, t: TermId) -> Option<f64> {
        let Node::Op(Op::Mul, args) = self.b.node(view(&self.b, t).base) else { return None };
        args.iter().find_map(|&t| self.moderate(t))
    }

    /// The product of two constants that terms like `t` are multiplied with, if it is one.
    fn product_of(&self, t: TermId, c: f64, d: f64) -> Option<f64> {
        self.exactly(t, c * d, || c.mul_add(d, -(c * d)) == 0.0)
    }

    /// The constant that all elements are, if it is of moderate size.
    fn moderate(&self, t: TermId) -> Option<f64> {
        let c = match uniform(&self.b, t)? {
            Scalar::F64(c) => c,
            Scalar::F32(c) => f64::from(c),
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => return None,
        };
        is_moderate(c).then_some(c)
    }

    /// A term times a constant.
    fn times(&mut self, t: TermId, c: f64) -> Result<TermId> {
        let dims = self.dims(t);
        let c = match self.b.dtype(t) {
            Dtype::F32 => self.b.constant(&Array::scalar(c as f32))?,
            _ => self.b.constant(&Array::scalar(c))?,
        };
        let c = self.fill(c, &dims)?;
        self.op(Op::Mul, &[t, c])
    }

    /// $(c x) y$ as $c (x y)$, and $d (c x)$ as $(c d) x$.
    fn out_of_product(&mut self, op: Op, x: TermId, y: TermId) -> Result<Fired> {
        for (part, other, first) in [(x, y, true), (y, x, false)] {
            if uniform(&self.b, other).is_some() {
                match self.twice_multiplied(part, other)? {
                    None => continue,
                    fired => return Ok(fired),
                }
            }
            let v = view(&self.b, part);
            // What is copied would be multiplied more often than before.
            if !v.is_full() || !self.used_once(part) || !self.used_once(v.base) {
                continue;
            }
            let Some(Multiple { factor, of }) = self.movable(part, other)? else { continue };
            let product = self.op(op, &if first { [of, other] } else { [other, of] })?;
            return Ok(Some((rule!("factor/product"), self.times(product, factor)?)));
        }
        Ok(None)
    }

    /// $d (c x)$ as $(c d) x$, also where $c x$ is chosen or 0.
    fn twice_multiplied(&mut self, t: TermId, constant: TermId) -> Result<Fired> {
        let Some(c) = self.moderate(constant) else { return Ok(None) };
        let (inner, mask) = match self.b.node(t) {
            Node::Op(Op::Select, args) if is_all(&self.b, args[2], 0) && self.used_once(t) => {
                (args[1], Some((args[0], args[2])))
            }
            _ => (t, None),
        };
        let Some(Multiple { factor, of }) = self.multiple(inner)? else { return Ok(None) };
        let Some(joined) = self.product_of(t, c, factor) else { return Ok(None) };
        let mut product = self.times(of, joined)?;
        if let Some((p, zero)) = mask {
            product = self.op(Op::Select, &[p, product, zero])?;
        }
        Ok(Some((rule!("factor/constants"), product)))
    }

    /// A constant for terms like `t`, if it is what it should be and of moderate size.
    fn exactly(&self, t: TermId, c: f64, exact: impl FnOnce() -> bool) -> Option<f64> {
        let fits = self.b.dtype(t) == Dtype::F64 || f64::from(c as f32) == c;
        (fits && is_moderate(c) && exact()).then_some(c)
    }

    // ---- sums of two --------------------------------------------------------------------------

    /// A term as a multiple of another: every term is one of itself.
    fn signed(&mut self, t: TermId) -> Result<Multiple> {
        let (sign, t) = match self.negated(t)? {
            Some(positive) => (-1.0, positive),
            None => (1.0, t),
        };
        let multiple = self.multiple(t)?.unwrap_or(Multiple { factor: 1.0, of: t });
        Ok(Multiple { factor: sign * multiple.factor, ..multiple })
    }

    /// The sum of two multiples of one term that have the same sign.
    fn joined(&self, a: Multiple, b: Multiple) -> Option<Multiple> {
        if a.of != b.of || a.factor * b.factor < 0.0 {
            return None;
        }
        let sum = a.factor + b.factor;
        let exact = || sum - a.factor == b.factor && sum - b.factor == a.factor;
        self.exactly(a.of, sum, exact).map(|factor| Multiple { factor, of: a.of })
    }

    /// $c x + d x$ as $(c + d) x$.
    fn multiples(&mut self, op: Op, x: TermId, y: TermId) -> Result<Fired> {
        let (a, mut b) = (self.signed(x)?, self.signed(y)?);
        if op == Op::Sub {
            b.factor = -b.factor;
        }
        let Some(Multiple { factor, of }) = self.joined(a, b) else { return Ok(None) };
        Ok(Some((rule!("factor/multiples"), self.times(of, factor)?)))
    }

    /// $(c x + y) + d x$ as $(c + d) x + y$.
    fn among_others(&mut self, op: Op, x: TermId, y: TermId) -> Result<Fired> {
        let sides = if op == Op::Add { &[(x, y), (y, x)][..] } else { &[(x, y)] };
        for &(inner, other) in sides {
            let Node::Op(inner_op @ (Op::Add | Op::Sub), args) = self.b.node(inner) else {
                continue;
            };
            let (inner_op, &[p, q]) = (*inner_op, args.as_slice()) else { continue };
            if !self.used_once(inner) {
                continue;
            }
            let mut more = self.signed(other)?;
            if op == Op::Sub {
                more.factor = -more.factor;
            }
            let first = self.signed(p)?;
            if let Some(Multiple { factor, of }) = self.joined(first, more) {
                let together = self.times(of, factor)?;
                return Ok(Some((
                    rule!("factor/among-others"),
                    self.op(inner_op, &[together, q])?,
                )));
            }
            let mut second = self.signed(q)?;
            if inner_op == Op::Sub {
                second.factor = -second.factor;
            }
            if let Some(Multiple { factor, of }) = self.joined(second, more) {
                let together = self.times(of, factor)?;
                return Ok(Some((rule!("factor/among-others"), self.op(Op::Add, &[p, together])?)));
            }
        }
        Ok(None)
    }

    // ---- sums of many -------------------------------------------------------------------------

    /// The constant factor of all summands of a sum over the outermost axis of a view of an operation.
    pub(crate) fn out_of_sum(
        &mut self,
        op: Op,
        args: &[TermId],
        v: &View,
        dims: &[usize],
    ) -> Result<Fired> {
        if !self.options.factors || !self.b.dtype(v.base).is_float() {
            return Ok(None);
        }
        let summands = match (op, args) {
            (Op::Mul | Op::Scale | Op::StrongMul, _) if self.used_once(v.base) => {
                self.summand(v.base, 1)?
            }
            (Op::Select, &[p, x, zero]) if is_all(&self.b, zero, 0) => match self.summand(x, 1)? {
                Some(Multiple { factor, of }) => {
                    let of = self.op(Op::Select, &[p, of, zero])?;
                    Some(Multiple { factor, of })
                }
                None => None,
            },
            (Op::Add | Op::Sub, &[x, y]) => {
                let uses = if view(&self.b, x).base == view(&self.b, y).base { 2 } else { 1 };
                match (self.summand(x, uses)?, self.summand(y, uses)?) {
                    (Some(a), Some(b)) if a.factor == b.factor => {
                        let of = self.op(op, &[a.of, b.of])?;
                        Some(Multiple { factor: a.factor, of })
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(Multiple { factor, of }) = summands else { return Ok(None) };
        let summed = self.view_of(of, &v.map, dims)?;
        let sum = self.sum(summed)?;
        Ok(Some((rule!("factor/sum"), self.times(sum, factor)?)))
    }

    /// The constant factor of a term, or of one of its own factors, if the term is used so often only.
    fn summand(&mut self, t: TermId, uses: u32) -> Result<Option<Multiple>> {
        if let found @ Some(_) = self.alone(t)? {
            return Ok(found);
        }
        let v = view(&self.b, t);
        let Node::Op(op @ (Op::Mul | Op::Scale | Op::StrongMul), args) = self.b.node(v.base) else {
            return Ok(None);
        };
        let (op, &[x, y]) = (*op, args.as_slice()) else { return Ok(None) };
        if self.use_count(v.base) > uses {
            return Ok(None);
        }
        for (part, other, first) in [(x, y, true), (y, x, false)] {
            let Some(Multiple { factor, of }) = self.movable(part, other)? else { continue };
            let product = self.op(op, &if first { [of, other] } else { [other, of] })?;
            let dims = self.dims(t);
            return Ok(Some(Multiple { factor, of: self.view_of(product, &v.map, &dims)? }));
        }
        Ok(None)
    }
}

fn is_moderate(c: f64) -> bool {
    (1.0 / MODERATE..=MODERATE).contains(&c.abs())
}
