//! Affine index terms: $c_0 + \sum_n c_n x_n$ over terms that are not affine themselves.
//!
//! Arithmetic on `i64` wraps, so it is arithmetic in a ring, and an affine term equals its normal
//! form exactly. Terms with the same normal form become the same node.

use cotan_ir::scalar::Op;
use cotan_ir::{Linear, Node, Result, TermId};

use crate::build::is_discrete_scalar;
use crate::transform::Bot;
use cotan_array::Dtype;

/// Forms of more summands than this are left alone.
const MAX_TERMS: usize = 8;

impl Bot<'_> {
    /// The affine form of a scalar `i64` term: the term itself if it is none, or a long sum.
    pub(crate) fn affine_of(&self, t: TermId) -> Linear {
        let form = self.b.linear(t, |_| true).filter(|form| form.terms.len() <= MAX_TERMS);
        form.unwrap_or_else(|| Linear::atom(t))
    }

    /// Index terms in normal form: affine ones as `a*x + b*y - c*z + d`, quotients and remainders of
    /// affine terms split where that is exact.
    pub(crate) fn normalise_all(&mut self, ts: &[TermId]) -> Result<Vec<TermId>> {
        ts.iter().map(|&t| self.normalise(t)).collect()
    }

    fn normalise(&mut self, t: TermId) -> Result<TermId> {
        let scalar = is_discrete_scalar(&self.b, t) && self.b.dtype(t) == Dtype::I64;
        if !self.options.normalise_affine || !scalar {
            return Ok(t);
        }
        if let Node::Op(op @ (Op::FloorDiv | Op::Rem), args) = self.b.node(t) {
            let (op, a, n) = (*op, args[0], args[1]);
            return match self.b.constant_index(n) {
                Some(n) if n > 0 => {
                    let form = self.affine_of(a);
                    self.divide(op, &form, n)
                }
                _ => Ok(t),
            };
        }
        let form = self.affine_of(t);
        self.rebuild(&form)
    }

    /// `form // n` or `form % n`: of `n q + r` with `0 <= r < n` these are `q` and `r`.
    pub(crate) fn divide(&mut self, op: Op, form: &Linear, n: i64) -> Result<TermId> {
        let (mut q, mut r) = (Linear::constant(0), Linear::constant(0));
        for &(t, c) in &form.terms {
            let part = if c % n == 0 { (&mut q, c / n) } else { (&mut r, c) };
            part.0.terms.push((t, part.1));
        }
        q.constant = form.constant.div_euclid(n);
        r.constant = form.constant.rem_euclid(n);
        let (whole, rest) = (self.rebuild(form)?, self.rebuild(&r)?);
        // Exact only if nothing wraps: the interval of the whole is then not everything.
        let bounds = self.b.bounds(rest);
        let exact =
            self.b.bounds(whole) != cotan_ir::Interval::ALL && bounds.lo >= 0 && bounds.hi < n;
        match op {
            Op::FloorDiv if exact => self.rebuild(&q),
            Op::Rem if exact => Ok(rest),
            _ => {
                let n = self.b.scalar(n)?;
                self.b.op(op, &[whole, n])
            }
        }
    }

    /// The term of an affine form: positive summands, then negative ones, then the constant.
    pub(crate) fn rebuild(&mut self, form: &Linear) -> Result<TermId> {
        let mut sum: Option<TermId> = None;
        let constant = form.constant;
        let positive = |c: i64| c > 0;
        for &(t, c) in form.terms.iter().filter(|(_, c)| positive(*c)) {
            let part = self.multiple(t, c)?;
            sum = Some(match sum {
                Some(sum) => self.b.op(Op::Add, &[sum, part])?,
                None => part,
            });
        }
        // Without positive summands the constant comes first: `4 - i`.
        let leading = sum.is_none();
        if leading {
            sum = Some(self.b.scalar(constant)?);
        }
        for &(t, c) in form.terms.iter().filter(|(_, c)| !positive(*c)) {
            let part = self.multiple(t, c.wrapping_neg())?;
            sum = Some(match sum {
                Some(sum) => self.b.op(Op::Sub, &[sum, part])?,
                None => part,
            });
        }
        let sum = match sum {
            Some(sum) => sum,
            None => return self.b.scalar(constant),
        };
        if leading || constant == 0 {
            return Ok(sum);
        }
        let (op, magnitude) =
            if constant > 0 { (Op::Add, constant) } else { (Op::Sub, constant.wrapping_neg()) };
        let magnitude = self.b.scalar(magnitude)?;
        self.b.op(op, &[sum, magnitude])
    }

    fn multiple(&mut self, t: TermId, c: i64) -> Result<TermId> {
        if c == 1 {
            return Ok(t);
        }
        let c = self.b.scalar(c)?;
        self.b.op(Op::Mul, &[t, c])
    }
}
