//! Loops that find the largest or smallest: reductions, for which no step is run.
//!
//! The core language has no reduction by `max`, but the loop $s' = \max(s, x_k)$ over the rows of an
//! array is one. The largest of all rows is found by one nest, and compared with where the state
//! begins if that is not the first row anyway.

use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{MapAccum, Node, TermId};
use cotan_nest::{BufferId, Nest, Val, Write};

use super::expand::{Expansion, row_major};
use super::{Lowering, R};

/// A loop of which each step is `max(state, row)`, or `min`.
pub(super) struct Fold {
    pub init: TermId,
    /// The array of the rows, of which there is at least one.
    pub input: TermId,
    op: Op,
}

impl Lowering<'_> {
    /// A loop as a fold, if it is one.
    pub(super) fn fold(&self, m: &MapAccum) -> Option<Fold> {
        let region = self.program.region(m.step);
        let (&[init], &[input]) = (&m.init[..], &m.inputs[..]) else { return None };
        let (&[state, row], &[next]) = (region.params(), region.results()) else { return None };
        match self.program.node(next) {
            // From the first row to the last: of 0 and -0 the first counts.
            Node::Op(op @ (Op::Max | Op::Min), args)
                if args[..] == [state, row] && m.length > 0 && !m.reverse =>
            {
                Some(Fold { init, input, op: *op })
            }
            _ => None,
        }
    }

    /// Whether a fold begins with the first row, as far as its node says.
    pub(super) fn is_first_row(&self, fold: &Fold) -> bool {
        let Node::Index(array, ix) = self.program.node(fold.init) else { return false };
        let first = |&i: &TermId| matches!(self.uniform(i), Some(Scalar::I64(0)));
        *array == fold.input && ix.len() == 1 && ix.iter().all(first)
    }

    /// The nest that finds the best of all rows, and whether that is all: whether the fold begins
    /// with one of them, or with what nothing is worse than.
    pub(super) fn fold_nest(&mut self, t: TermId, fold: &Fold, to: BufferId) -> R<(Nest, bool)> {
        let dims = self.program.shape(fold.init).dims().to_vec();
        let rank = dims.len();
        let mut extents = dims.clone();
        extents.push(self.program.shape(fold.input).dims().first().copied().unwrap_or(0));
        let mut e = Expansion::new(extents);
        let position = e.indices(None, 0..rank);
        let row = |k: Val| std::iter::once(k).chain(position.iter().copied()).collect::<Vec<_>>();
        let begin = self.element(&mut e, fold.init, &position)?;
        let zero = e.body.constant(Scalar::I64(0));
        let first = self.element(&mut e, fold.input, &row(zero))?;
        let index = e.body.index(rank);
        let value = self.element(&mut e, fold.input, &row(index))?;
        let largest = fold.op == Op::Max;
        let nothing = match self.uniform(fold.init) {
            Some(Scalar::F64(x)) => x == if largest { f64::NEG_INFINITY } else { f64::INFINITY },
            Some(Scalar::F32(x)) => x == if largest { f32::NEG_INFINITY } else { f32::INFINITY },
            Some(Scalar::I64(x)) => x == if largest { i64::MIN } else { i64::MAX },
            Some(Scalar::Bool(_) | Scalar::Fp(_)) | None => false,
        };
        let at = row_major(&dims, 0..rank, rank + 1);
        let nest = e.finish(t, value, 1, to, Write::Best { at, largest });
        Ok((nest, nothing || begin == first))
    }

    /// The nest that compares the best of all rows with what the fold begins with.
    pub(super) fn fold_init(
        &mut self,
        t: TermId,
        fold: &Fold,
        best: BufferId,
        to: BufferId,
    ) -> R<Nest> {
        let ty = self.program.ty(fold.init).clone();
        let dims = ty.shape.dims();
        let mut e = Expansion::new(dims.to_vec());
        let position = e.indices(None, 0..dims.len());
        let begin = self.element(&mut e, fold.init, &position)?;
        let best = e.body.load(best, ty.dtype, dims, &position);
        let value = e.op(fold.op, &[begin, best])?;
        let at = row_major(dims, 0..dims.len(), dims.len());
        Ok(e.finish(t, value, 0, to, Write::Store(at)))
    }
}
