//! Products of vectors and matrices: a sum along an axis of an elementwise product.

use cotan_ir::scalar::Op;
use cotan_ir::{Span, TermId};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const LINEAR: &[Row] = &[
    (
        "dot(a, b)",
        dot,
        "The scalar product of vectors; of matrices, the matrix product.",
        "dot([1.0, 2.0], [3.0, 4.0])",
    ),
    (
        "matmul(a, b)",
        matmul,
        "The matrix product; further leading axes are a batch, and broadcast.",
        "matmul([[1.0, 2.0], [3.0, 4.0]], [[1.0], [1.0]])",
    ),
];

fn dot(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    matmul(elab, call)
}

/// With `a` of shape `[batch, m, k]` and `b` of shape `[batch, k, n]`, both are spread to
/// `[k, batch, m, n]`, multiplied and summed. Vectors lack `m` or `n`.
fn matmul(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let ((a, a_span), (b, b_span)) = (elab.value_at(call, 0), elab.value_at(call, 1));
    let (a, b) = (elab.term(&a, a_span)?, elab.term(&b, b_span)?);
    let (a_dims, b_dims) = (elab.b.shape(a).dims().to_vec(), elab.b.shape(b).dims().to_vec());
    let (a_batch, m, k) = match *a_dims {
        [k] => (&[][..], None, k),
        [ref batch @ .., m, k] => (batch, Some(m), k),
        [] => return Err(scalar(elab, a_span, call)),
    };
    let (b_batch, k2, n) = match *b_dims {
        [k] => (&[][..], k, None),
        [ref batch @ .., k, n] => (batch, k, Some(n)),
        [] => return Err(scalar(elab, b_span, call)),
    };
    let batch = cotan_ir::broadcast_dims(a_batch, b_batch);
    let Some(batch) = batch.filter(|_| k == k2 && elab.b.dtype(a) == elab.b.dtype(b)) else {
        let (left, right) = (elab.b.ty(a).to_string(), elab.b.ty(b).to_string());
        if elab.b.dtype(a) == elab.b.dtype(b) {
            match k == k2 {
                true => elab.unless_broadcast(a_batch, b_batch),
                false => elab.unless_equal(&[(k, k2)]),
            }
        }
        let message = format!("`{}` of {left} and {right}", call.builtin.name);
        let hint = "the last size of the first must be the last but one of the second (the only one of a vector), and the element types equal";
        return Err(elab.report(
            Diagnostic::new(Code::ShapeMismatch, b_span, message)
                .label(format!("this is {right}"))
                .also(a_span, format!("this is {left}"))
                .hint(hint),
        ));
    };
    let span = call.span;
    let dims: Vec<usize> =
        std::iter::once(k).chain(batch.iter().copied()).chain(m).chain(n).collect();
    let batch_axes = 1..=batch.len();
    let a_places: Vec<usize> =
        batch_axes.clone().chain(m.map(|_| batch.len() + 1)).chain([0]).collect();
    let b_places: Vec<usize> = batch_axes.chain([0]).chain(n.map(|_| dims.len() - 1)).collect();
    let a = place(elab, a, &batch, &a_places, &dims, span)?;
    let b = place(elab, b, &batch, &b_places, &dims, span)?;
    let product = elab.op(Op::Mul, &[a, b], span)?;
    let made = elab.b.sum_outer(product);
    elab.lift(made, span).map(Value::Term)
}

/// `t` with its batch axes broadcast, and then its axes at their places.
fn place(
    elab: &mut Elab<'_>,
    t: TermId,
    batch: &[usize],
    places: &[usize],
    dims: &[usize],
    span: Span,
) -> R<TermId> {
    let own: Vec<usize> =
        places.iter().skip(batch.len()).filter_map(|&axis| dims.get(axis).copied()).collect();
    // A matrix or vector without batch axes is spread along them in one go.
    if elab.b.shape(t).rank() == own.len() {
        return elab.spread(t, places.get(batch.len()..).unwrap_or_default(), dims, span);
    }
    let whole: Vec<usize> = batch.iter().copied().chain(own).collect();
    let t = elab.broadcast_to(t, &whole, span)?;
    elab.spread(t, places, dims, span)
}

fn scalar(elab: &mut Elab<'_>, span: Span, call: &Call) -> crate::elab::Reported {
    let message = format!("`{}` needs vectors or matrices; this is a scalar", call.builtin.name);
    elab.report(Diagnostic::new(Code::ShapeMismatch, span, message).hint("multiply scalars by `*`"))
}
