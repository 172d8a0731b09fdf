//! Integer scalars as sums of multiples of terms, to see what does not depend on any of them.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Node, TermId};

/// At most so many nodes are looked into.
const MAX_NODES: usize = 64;

/// `constant + sum of coefficient * term`.
#[derive(Default)]
pub(super) struct Affine {
    terms: Vec<(TermId, i64)>,
    constant: i64,
}

impl Affine {
    /// `a - b`, if that is the same whatever the values of the terms in them.
    pub(super) fn difference(b: &Builder, a: TermId, minus: TermId) -> Option<i64> {
        let mut sum = Affine::default();
        sum.add(b, a, 1)?;
        sum.add(b, minus, -1)?;
        sum.terms.iter().all(|&(_, coefficient)| coefficient == 0).then_some(sum.constant)
    }

    /// Adds a multiple of a term.
    fn add(&mut self, b: &Builder, t: TermId, factor: i64) -> Option<()> {
        let known = |t: TermId| match b.node(t) {
            Node::Const(c) if c.dtype() == Dtype::I64 && c.shape().rank() == 0 => c.get::<i64>(&[]),
            _ => None,
        };
        let mut todo = vec![(t, factor)];
        for _ in 0..MAX_NODES {
            let Some((t, factor)) = todo.pop() else { return Some(()) };
            if let Some(c) = known(t) {
                self.constant = self.constant.checked_add(c.checked_mul(factor)?)?;
                continue;
            }
            match b.node(t) {
                Node::Op(Op::Add, args) => todo.extend(args.iter().map(|&u| (u, factor))),
                Node::Op(Op::Sub, args) => {
                    let signs = [factor, factor.checked_neg()?];
                    todo.extend(args.iter().copied().zip(signs));
                }
                Node::Op(Op::Neg, args) => {
                    let negated = factor.checked_neg()?;
                    todo.extend(args.iter().map(|&u| (u, negated)));
                }
                Node::Op(Op::Mul, args) => match (known(args[0]), known(args[1])) {
                    (Some(c), _) => todo.push((args[1], factor.checked_mul(c)?)),
                    (_, Some(c)) => todo.push((args[0], factor.checked_mul(c)?)),
                    (None, None) => self.push(t, factor)?,
                },
                _ => self.push(t, factor)?,
            }
        }
        None
    }

    fn push(&mut self, t: TermId, factor: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(known, _)| *known == t) {
            Some((_, coefficient)) => *coefficient = coefficient.checked_add(factor)?,
            None => self.terms.push((t, factor)),
        }
        Some(())
    }
}
