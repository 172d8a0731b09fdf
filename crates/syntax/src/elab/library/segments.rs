//! Reductions of the parts of an array that have the same id.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, Param, Span, TermId};

use super::reduce::bound_of;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R};

pub(super) const SEGMENTS: &[Row] = &[
    (
        "segment_sum(x, ids, n)",
        segment_sum,
        "For each id below `n`, the sum of the parts of `x` along the outermost axis that have it in the vector `ids`; 0 for none. Parts with other ids are left out, here and below.",
        "segment_sum([1.0, 2.0, 3.0], [2, 0, 2], 3)",
    ),
    (
        "segment_mean(x, ids, n)",
        segment_mean,
        "For each id the mean of its parts, elementwise; nan for none.",
        "segment_mean([1.0, 2.0, 6.0], [1, 0, 1], 2)",
    ),
    (
        "segment_max(x, ids, n)",
        |e, c| segment_extreme(e, c, Extreme::Max),
        "For each id the largest of its parts, elementwise; -inf for none. The derivative goes to the first of equals.",
        "segment_max([1.0, 2.0, 3.0], [2, 0, 2], 3)",
    ),
    (
        "segment_min(x, ids, n)",
        |e, c| segment_extreme(e, c, Extreme::Min),
        "For each id the smallest of its parts, elementwise; inf for none.",
        "segment_min([1.0, 2.0, 3.0], [2, 0, 2], 3)",
    ),
];

pub(super) const SEGMENT_POSITIONS: &[Row] = &[
    (
        "segment_argmax(x, ids, n)",
        |e, c| segment_position(e, c, Extreme::Max),
        "For each id below `n` the position of the largest among the parts of `x` that have it in the vector `ids`, elementwise; the first of equals, `len(x)` for none.",
        "segment_argmax([1.0, 2.0, 3.0], [2, 0, 2], 3)",
    ),
    (
        "segment_argmin(x, ids, n)",
        |e, c| segment_position(e, c, Extreme::Min),
        "For each id the position of the smallest, likewise.",
        "segment_argmin([1.0, 2.0, 3.0], [2, 0, 2], 3)",
    ),
];

/// The arguments of a reduction by id.
struct Segments {
    x: TermId,
    ids: TermId,
    n: usize,
}

/// An array, and an id for each of its parts.
fn arguments(elab: &mut Elab<'_>, call: &Call) -> R<Segments> {
    let (x, x_span) = elab.value_at(call, 0);
    let (ids, ids_span) = elab.value_at(call, 1);
    let (x, ids) = (elab.term(&x, x_span)?, elab.term(&ids, ids_span)?);
    let n = elab.size_at(call, 2)?;
    let (ty, own) = (elab.b.ty(x).clone(), elab.b.ty(ids).clone());
    let lead = ty.shape.dims().get(..1);
    if own.dtype != Dtype::I64 || lead != Some(own.shape.dims()) {
        let mut hint = "ids are a vector of i64, as long as the array".to_owned();
        match (lead, own.shape.dims()) {
            (Some(&[k]), &[m]) if own.dtype == Dtype::I64 => elab.unless_equal(&[(k, m)]),
            (_, [_]) if own.dtype != Dtype::I64 => hint = "convert them: `i64(…)`".to_owned(),
            _ => {}
        }
        let message = format!("ids {own} for the parts of {ty}");
        let diagnostic = Diagnostic::new(Code::ShapeMismatch, ids_span, message);
        return Err(elab.report(diagnostic.also(x_span, format!("this is {ty}")).hint(hint)));
    }
    Ok(Segments { x, ids, n })
}

/// The sum of parts by their ids.
fn summed(elab: &mut Elab<'_>, x: TermId, ids: TermId, n: usize, span: Span) -> R<TermId> {
    let count = elab.b.shape(ids).numel();
    let region = elab.region(&[Param::Index(count)], span, |elab, vars| {
        let made = elab.b.index(ids, vars);
        Ok(vec![elab.lift(made, span)?])
    })?;
    let made = elab.b.scatter(&[n], x, region);
    elab.lift(made, span)
}

fn segment_sum(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let Segments { x, ids, n } = arguments(elab, call)?;
    summed(elab, x, ids, n, call.span).map(Value::Term)
}

fn segment_mean(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let Segments { x, ids, n } = arguments(elab, call)?;
    let span = call.span;
    elab.expect_float(x, call)?;
    let total = summed(elab, x, ids, n, span)?;
    let one = elab.scalar_of(1, elab.b.dtype(x), span)?;
    let (count, dims) = (elab.b.shape(ids).numel(), elab.b.shape(total).dims().to_vec());
    let ones = elab.broadcast_to(one, &[count], span)?;
    let counts = summed(elab, ones, ids, n, span)?;
    let counts = elab.spread(counts, &[0], &dims, span)?;
    elab.op(Op::Div, &[total, counts], span).map(Value::Term)
}

/// The positions of the extremes, for each id and place of a part.
fn positions(elab: &mut Elab<'_>, of: &Segments, extreme: Extreme, span: Span) -> R<TermId> {
    let dims = elab.b.shape(of.x).dims().to_vec();
    let ids = elab.spread(of.ids, &[0], &dims, span)?;
    let made = elab.b.segment_arg(extreme, of.n, of.x, ids);
    elab.lift(made, span)
}

fn segment_position(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    let of = arguments(elab, call)?;
    positions(elab, &of, extreme, call.span).map(Value::Term)
}

/// What stands at the positions; where there is none, which is a position outside, the neutral
/// element.
fn segment_extreme(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    let span = call.span;
    let of = arguments(elab, call)?;
    let position = positions(elab, &of, extreme, span)?;
    let dims = elab.b.shape(position).dims().to_vec();
    let params: Vec<Param> = dims.iter().map(|&k| Param::Index(k)).collect();
    let region = elab.region(&params, span, |elab, vars| {
        let made = elab.b.index(position, vars);
        let at = elab.lift(made, span)?;
        Ok(std::iter::once(at).chain(vars.iter().skip(1).copied()).collect())
    })?;
    let made = elab.b.gather(of.x, region);
    let found = elab.lift(made, span)?;
    let dtype = elab.b.dtype(of.x);
    let none = elab.constant(Known::new(bound_of(dtype, extreme), false), span)?;
    let count = elab.scalar_of(elab.b.shape(of.ids).numel() as i64, Dtype::I64, span)?;
    let is_there = elab.op(Op::Lt, &[position, count], span)?;
    elab.op(Op::Select, &[is_there, found, none], span).map(Value::Term)
}
