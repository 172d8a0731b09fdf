//! Writes of many elements, the last of which counts.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, Param, Span, TermId};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const OVERWRITING: &[Row] = &[(
    "overwrite(a, t, f)",
    overwrite,
    "`a` with each part of `t` at `is` written at the index `f(is)`, the last where several meet; dropped outside. Cotangents go to what is read in the end.",
    "overwrite([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], i => [i // 2])",
)];

/// Which part of `t` is written last at each place of `a` is the largest of their numbers by place;
/// then every place reads that part, or itself. So the derivative is that of a read.
fn overwrite(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let span = call.span;
    let (target, target_span) = elab.value_at(call, 0);
    let (parts, parts_span) = elab.value_at(call, 1);
    let f = elab.function_arg(call, 2)?;
    let targets = elab.leaves(&target, target_span)?;
    let sources = elab.leaves(&parts, parts_span)?;
    let consumed = elab.arity(&f).unwrap_or(1);
    let (Some(&first_target), Some(&first_source)) = (targets.first(), sources.first()) else {
        return Ok(target);
    };
    let dims = elab.b.shape(first_target).dims().to_vec();
    let leading: Vec<usize> =
        elab.b.shape(first_source).dims().iter().take(consumed).copied().collect();
    let mut rank = 0;
    let places = elab.build_over(&leading, span, |elab, vars| {
        let args = vars.iter().map(|&i| (Value::Term(i), span)).collect();
        let components = elab.apply_index(&f, args, span)?;
        rank = components.len();
        let mut ix = Vec::new();
        for (value, place) in &components {
            ix.push(elab.index_scalar(value, *place)?);
        }
        place(elab, &ix, &dims, span).map(Value::Term)
    })?;
    let places = elab.term(&places, span)?;
    for (&a, &t) in targets.iter().zip(&sources) {
        let (outer, part) = (elab.b.ty(a).clone(), elab.b.ty(t).clone());
        let fits = targets.len() == sources.len()
            && outer.dtype == part.dtype
            && outer.shape.rank() >= rank
            && outer.shape.dims().get(..rank) == dims.get(..rank)
            && part.shape.dims().get(..leading.len()) == Some(leading.as_slice())
            && outer.shape.dims().get(rank..) == part.shape.dims().get(leading.len()..);
        if !fits {
            let message = format!(
                "parts of {part} do not fit into {outer} at indices of {rank} components from {} axes",
                leading.len()
            );
            let hint = format!("its signature is `{}`", call.builtin.signature);
            let diagnostic = Diagnostic::new(Code::ShapeMismatch, parts_span, message);
            return Err(
                elab.report(diagnostic.also(target_span, format!("this is {outer}")).hint(hint))
            );
        }
    }
    let writer =
        last_writer(elab, places, numel(&leading), numel(dims.get(..rank).unwrap_or(&[])), span)?;
    let mut sources = sources.into_iter();
    elab.map_leaves(&target, target_span, &mut |elab, a| {
        let source = sources.next().ok_or_else(|| elab.internal("too few parts"))?;
        read(elab, a, source, writer, leading.len(), rank, span)
    })
}

fn numel(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The number of a place in row-major order, or -1 if it is outside.
fn place(elab: &mut Elab<'_>, ix: &[TermId], dims: &[usize], span: Span) -> R<TermId> {
    let zero = elab.scalar_of(0, Dtype::I64, span)?;
    let (mut linear, mut inside) = (zero, None);
    for (&i, &k) in ix.iter().zip(dims) {
        let size = elab.scalar_of(k as i64, Dtype::I64, span)?;
        let (low, high) = (elab.op(Op::Ge, &[i, zero], span)?, elab.op(Op::Lt, &[i, size], span)?);
        let within = elab.op(Op::And, &[low, high], span)?;
        inside = Some(match inside {
            Some(before) => elab.op(Op::And, &[before, within], span)?,
            None => within,
        });
        let row = elab.op(Op::Mul, &[linear, size], span)?;
        linear = elab.op(Op::Add, &[row, i], span)?;
    }
    match inside {
        Some(inside) => {
            let outside = elab.scalar_of(-1, Dtype::I64, span)?;
            elab.op(Op::Select, &[inside, linear, outside], span)
        }
        None => Ok(linear),
    }
}

/// For each of `count` places, the number of the last of `n` parts that goes there, or `n`.
fn last_writer(
    elab: &mut Elab<'_>,
    places: TermId,
    n: usize,
    count: usize,
    span: Span,
) -> R<TermId> {
    let made = elab.b.reshape(&[n], places).and_then(|places| {
        let numbers = elab.b.iota(n)?;
        elab.b.segment_arg(Extreme::Max, count, numbers, places)
    });
    elab.lift(made, span)
}

/// `a` with the parts of `source` that `writer` names.
fn read(
    elab: &mut Elab<'_>,
    a: TermId,
    source: TermId,
    writer: TermId,
    leading: usize,
    rank: usize,
    span: Span,
) -> R<TermId> {
    let (whole, parts) = (elab.b.shape(a).dims().to_vec(), elab.b.shape(source).dims().to_vec());
    let (outer, inner) = whole.split_at(rank);
    let n = numel(parts.get(..leading).unwrap_or(&[]));
    let count = numel(outer);
    let flat = |k: usize| -> Vec<usize> { [k].into_iter().chain(inner.iter().copied()).collect() };
    let made = elab.b.reshape(&flat(n), source);
    let source = elab.lift(made, span)?;
    let made = elab.b.reshape(&flat(count), a);
    let before = elab.lift(made, span)?;
    let region = elab.region(&[Param::Index(count)], span, |elab, vars| {
        let made = elab.b.index(writer, vars);
        Ok(vec![elab.lift(made, span)?])
    })?;
    let made = elab.b.gather(source, region);
    let written = elab.lift(made, span)?;
    let nobody = elab.scalar_of(n as i64, Dtype::I64, span)?;
    let is_written = elab.op(Op::Lt, &[writer, nobody], span)?;
    let mask = elab.spread(is_written, &[0], &flat(count), span)?;
    let chosen = elab.op(Op::Select, &[mask, written, before], span)?;
    let made = elab.b.reshape(&whole, chosen);
    elab.lift(made, span)
}
