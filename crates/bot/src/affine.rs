//! Affine index terms: $c_0 + \sum_n c_n x_n$ over terms that are not affine themselves.
//!
//! Arithmetic on `i64` wraps, so it is arithmetic in a ring, and an affine term equals its normal
//! form exactly. Terms with the same normal form become the same node.

use cotan_ir::scalar::Op;
use cotan_ir::{Arena, Node, Result, TermId, TermMap};
use smallvec::SmallVec;

use crate::build::is_discrete_scalar;
use crate::transform::Bot;
use cotan_array::Dtype;

/// A term with more summands than this is not taken apart.
const MAX_TERMS: usize = 8;

/// $c_0 + \sum_n c_n x_n$, the $x_n$ distinct and in order, the $c_n$ not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Affine {
    pub(crate) terms: SmallVec<[(TermId, i64); 2]>,
    pub(crate) constant: i64,
}

impl Affine {
    pub(crate) fn constant(c: i64) -> Affine {
        Affine { terms: SmallVec::new(), constant: c }
    }

    pub(crate) fn atom(t: TermId) -> Affine {
        Affine { terms: SmallVec::from_slice(&[(t, 1)]), constant: 0 }
    }

    /// $a + c\,b$.
    pub(crate) fn plus(&self, other: &Affine, c: i64) -> Affine {
        let mut sum = Affine {
            terms: SmallVec::new(),
            constant: self.constant.wrapping_add(c.wrapping_mul(other.constant)),
        };
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (t, coefficient) = match (a.peek(), b.peek()) {
                (None, None) => return sum,
                (Some(&&(x, m)), Some(&&(y, n))) if x == y => {
                    a.next();
                    b.next();
                    (x, m.wrapping_add(c.wrapping_mul(n)))
                }
                (Some(&&(x, m)), other) if other.is_none_or(|&&(y, _)| x < y) => {
                    a.next();
                    (x, m)
                }
                (_, Some(&&(y, n))) => {
                    b.next();
                    (y, c.wrapping_mul(n))
                }
                (Some(_), None) => return sum,
            };
            if coefficient != 0 {
                sum.terms.push((t, coefficient));
            }
        }
    }

    fn scaled(&self, c: i64) -> Affine {
        Affine::constant(0).plus(self, c)
    }
}

/// The affine forms of terms, as far as they were asked for.
#[derive(Default)]
pub(crate) struct AffineForms {
    /// The position of a term's form; nothing for a term that is its own.
    positions: TermMap<Option<u32>>,
    forms: Vec<Affine>,
}

impl AffineForms {
    fn knows(&self, t: TermId) -> bool {
        self.positions.contains(t)
    }

    fn get(&self, t: TermId) -> Option<&Affine> {
        let position = (*self.positions.get(t)?)?;
        self.forms.get(position as usize)
    }

    fn insert(&mut self, t: TermId, form: Option<Affine>) {
        let position = form.map(|form| {
            self.forms.push(form);
            self.forms.len() as u32 - 1
        });
        self.positions.insert(t, position);
    }
}

/// The scalar integer that a node is, if it is a constant.
pub(crate) fn constant_value(arena: &Arena, t: TermId) -> Option<i64> {
    match arena.node(t) {
        Node::Const(c) if c.dtype() == Dtype::I64 && c.shape().rank() == 0 => c.item::<i64>(),
        _ => None,
    }
}

impl Bot<'_> {
    /// The affine form of a scalar `i64` term.
    pub(crate) fn affine_of(&mut self, root: TermId) -> Affine {
        // Bottom-up with an explicit stack: index terms may be long sums.
        let mut stack = vec![root];
        while let Some(&t) = stack.last() {
            if self.affine.knows(t) {
                stack.pop();
                continue;
            }
            let operands: SmallVec<[TermId; 2]> = match self.b.node(t) {
                Node::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg, args) => {
                    args.iter().copied().collect()
                }
                _ => SmallVec::new(),
            };
            let waiting: SmallVec<[TermId; 2]> =
                operands.iter().copied().filter(|&u| !self.affine.knows(u)).collect();
            if !waiting.is_empty() {
                stack.extend(waiting);
                continue;
            }
            let form = self.combine(t);
            self.affine.insert(t, form.filter(|form| form.terms.len() <= MAX_TERMS));
            stack.pop();
        }
        self.form(root)
    }

    fn form(&self, t: TermId) -> Affine {
        self.affine.get(t).cloned().unwrap_or_else(|| Affine::atom(t))
    }

    fn combine(&self, t: TermId) -> Option<Affine> {
        match self.b.node(t) {
            Node::Const(_) => constant_value(&self.b, t).map(Affine::constant),
            Node::Op(Op::Add, args) => Some(self.form(args[0]).plus(&self.form(args[1]), 1)),
            Node::Op(Op::Sub, args) => Some(self.form(args[0]).plus(&self.form(args[1]), -1)),
            Node::Op(Op::Neg, args) => Some(self.form(args[0]).scaled(-1)),
            Node::Op(Op::Mul, args) => {
                let (a, b) = (self.form(args[0]), self.form(args[1]));
                if a.terms.is_empty() {
                    Some(b.scaled(a.constant))
                } else if b.terms.is_empty() {
                    Some(a.scaled(b.constant))
                } else {
                    None
                }
            }
            _ => None,
        }
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
            return match constant_value(&self.b, n) {
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
    pub(crate) fn divide(&mut self, op: Op, form: &Affine, n: i64) -> Result<TermId> {
        let (mut q, mut r) = (Affine::constant(0), Affine::constant(0));
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
    pub(crate) fn rebuild(&mut self, form: &Affine) -> Result<TermId> {
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
