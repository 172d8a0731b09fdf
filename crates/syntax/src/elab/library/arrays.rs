//! Making, measuring, rearranging and converting arrays.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar, cast};
use cotan_ir::{Param, Span, TermId};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::ops::Operand;
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R, Reported};

pub(super) const MAKING: &[Row] = &[
    (
        "zeros(sizes, dtype = f64)",
        |e, c| filled(e, c, 0),
        "Zeros (`false` for bool).",
        "zeros([2, 3])",
    ),
    (
        "ones(sizes, dtype = f64)",
        |e, c| filled(e, c, 1),
        "Ones (`true` for bool).",
        "ones([3], i64)",
    ),
    ("full(sizes, v)", full, "`v` at every position; `v` may be an array, too.", "full([2], 7.0)"),
    ("eye(n, dtype = f64)", eye, "The unit matrix.", "eye(2)"),
];

pub(super) const SIZES: &[Row] = &[
    ("len(a)", len, "The outermost size, a static integer.", "len([4.0, 5.0, 6.0])"),
    (
        "shape(a, axis = all)",
        shape,
        "The size of an axis, or the tuple of all sizes.",
        "shape([[1, 2, 3], [4, 5, 6]], 1)",
    ),
    ("size(a)", size, "The number of elements, a static integer.", "size([[1, 2, 3], [4, 5, 6]])"),
];

pub(super) const ARRANGING: &[Row] = &[
    (
        "broadcast(a, sizes)",
        broadcast,
        "`a` repeated to a larger shape that it fits from the last axis on.",
        "broadcast([1.0, 2.0], [2, 2])",
    ),
    (
        "flatten(a)",
        flatten,
        "All elements along one axis, in row-major order.",
        "flatten([[1, 2], [3, 4]])",
    ),
    (
        "concat(a, .., axis = 0)",
        concat,
        "Arrays one after the other along an axis.",
        "concat([1, 2], [3])",
    ),
    (
        "reverse(a, axis = 0)",
        reverse,
        "The elements along an axis, last to first.",
        "reverse([1, 2, 3])",
    ),
    (
        "concatenate(a, .., axis = 0)",
        concat,
        "Another name for `concat`.",
        "concatenate([1, 2], [3])",
    ),
    ("flip(a, axis = 0)", reverse, "Another name for `reverse`.", "flip([1, 2, 3])"),
    (
        "take(a, ix)",
        take,
        "The parts of `a` at the positions `ix`, an array of i64; 0 outside.",
        "take([10, 20, 30], [2, 0])",
    ),
];

pub(super) const ELEMENTWISE: &[Row] = &[
    ("f64(x)", |e, c| convert(e, c, Dtype::F64), "Conversion to f64.", "f64([1, 2])"),
    ("f32(x)", |e, c| convert(e, c, Dtype::F32), "Conversion to f32.", "f32(0.1)"),
    (
        "i64(x)",
        |e, c| convert(e, c, Dtype::I64),
        "Conversion to i64: rounds towards 0, saturates, NaN gives 0.",
        "i64([1.5, -1.5])",
    ),
    ("bool(x)", |e, c| convert(e, c, Dtype::Bool), "Whether a number is not 0.", "bool([0, 2])"),
    (
        "clamp(x, lo, hi)",
        clamp,
        "`x` where it lies between `lo` and `hi`, else the nearer of these.",
        "clamp([-2.0, 0.5, 3.0], 0.0, 1.0)",
    ),
    ("clip(x, lo, hi)", clamp, "Another name for `clamp`.", "clip([-2.0, 0.5, 3.0], 0.0, 1.0)"),
    ("square(x)", square, "`x * x`.", "square([1.0, 3.0])"),
    (
        "relu(x)",
        relu,
        "`x` where it is positive, else 0; its derivative at 0 is 0.",
        "relu([-1.0, 2.0])",
    ),
    ("sigmoid(x)", |e, c| row(e, c, Op::Logistic), "Another name for `logistic`.", "sigmoid(0.0)"),
    (
        "maximum(a, b)",
        |e, c| row(e, c, Op::Max),
        "The larger of two, elementwise: `max(a, b)`.",
        "maximum([1.0, 5.0], 2.0)",
    ),
    (
        "minimum(a, b)",
        |e, c| row(e, c, Op::Min),
        "The smaller of two, elementwise: `min(a, b)`.",
        "minimum([1.0, 5.0], 2.0)",
    ),
    (
        "pi",
        |_, _| Ok(Value::Known(Known::new(Scalar::F64(std::f64::consts::PI), true))),
        "Half the circumference of the unit circle; adapts like a literal.",
        "sin(pi / 2.0)",
    ),
];

fn static_value(elab: &mut Elab<'_>, value: usize) -> Value {
    elab.size_known(i64::try_from(value).unwrap_or(i64::MAX))
}

impl Elab<'_> {
    /// `t` repeated along new leading axes.
    pub(super) fn replicate_all(&mut self, sizes: &[usize], t: TermId, span: Span) -> R<TermId> {
        let mut term = t;
        for &k in sizes.iter().rev() {
            let made = self.b.replicate(k, term);
            term = self.lift(made, span)?;
        }
        Ok(term)
    }

    /// A scalar of an element type.
    pub(super) fn scalar_of(&mut self, value: i64, dtype: Dtype, span: Span) -> R<TermId> {
        self.constant(Known::new(cast(Scalar::I64(value), dtype), false), span)
    }

    /// The operation on terms of any shapes that fit.
    pub(super) fn op(&mut self, op: Op, terms: &[TermId], span: Span) -> R<TermId> {
        let operands: Vec<Operand> = terms.iter().map(|&t| (Value::Term(t), span)).collect();
        let value = self.row(op, &operands, span)?;
        self.term(&value, span)
    }
}

fn filled(elab: &mut Elab<'_>, call: &Call, value: i64) -> R<Value> {
    let sizes = elab.sizes_at(call, 0)?;
    let dtype = elab.dtype_at(call, 1, Dtype::F64)?;
    let scalar = elab.scalar_of(value, dtype, call.span)?;
    elab.replicate_all(&sizes, scalar, call.span).map(Value::Term)
}

fn full(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let sizes = elab.sizes_at(call, 0)?;
    let (value, span) = elab.value_at(call, 1);
    elab.map_leaves(&value, span, &mut |elab, t| elab.replicate_all(&sizes, t, call.span))
}

fn eye(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let n = elab.size_at(call, 0)?;
    let dtype = elab.dtype_at(call, 1, Dtype::F64)?;
    let made = elab.b.iota(n);
    let iota = elab.lift(made, call.span)?;
    let rows = elab.spread(iota, &[0], &[n, n], call.span)?;
    let columns = elab.spread(iota, &[1], &[n, n], call.span)?;
    let equal = elab.op(Op::Eq, &[rows, columns], call.span)?;
    cast_term(elab, equal, dtype, call.span).map(Value::Term)
}

// ---- sizes ------------------------------------------------------------------------------------

/// The shape that an argument has: of a structure of arrays, that of the first.
fn dims_at(elab: &mut Elab<'_>, call: &Call) -> R<Vec<usize>> {
    let (value, span) = elab.value_at(call, 0);
    match elab.leaves(&value, span)?.first() {
        Some(&t) => Ok(elab.b.shape(t).dims().to_vec()),
        None => Ok(Vec::new()),
    }
}

fn len(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    match dims_at(elab, call)?.first() {
        Some(&k) => Ok(static_value(elab, k)),
        None => {
            let message = "a scalar has no length";
            Err(elab.report(Diagnostic::new(Code::NotAnArray, call.span, message)))
        }
    }
}

fn shape(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let dims = dims_at(elab, call)?;
    if call.arg(1).is_none() {
        let sizes = Value::tuple(dims.into_iter().map(|k| static_value(elab, k)).collect());
        return elab.bounded(sizes, call.span);
    }
    let axis = elab.axis_at(call, 1, dims.len(), 0)?;
    Ok(static_value(elab, dims.get(axis).copied().unwrap_or(0)))
}

fn size(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let dims = elab.b.shape(t).dims().to_vec();
    elab.track_product(&dims);
    Ok(static_value(elab, dims.iter().product()))
}

// ---- arranging --------------------------------------------------------------------------------

fn broadcast(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let dims = elab.sizes_after(call, &value, 1)?;
    let t = elab.term(&value, span)?;
    let own = elab.b.shape(t).dims();
    let fits = own.len() <= dims.len()
        && own.iter().rev().zip(dims.iter().rev()).all(|(&j, &k)| j == k || j == 1);
    if !fits {
        if own.len() <= dims.len() {
            let own = own.to_vec();
            elab.unless_stretches(&own, &dims);
        }
        let message = format!("{} does not broadcast to {dims:?}", elab.b.ty(t));
        let hint = "from the last axis back, its sizes must be equal or 1";
        return Err(
            elab.report(Diagnostic::new(Code::ShapeMismatch, call.span, message).hint(hint))
        );
    }
    elab.broadcast_to(t, &dims, call.span).map(Value::Term)
}

fn flatten(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let dims = elab.b.shape(t).dims().to_vec();
    elab.track_product(&dims);
    let made = elab.b.reshape(&[dims.iter().product()], t);
    elab.lift(made, call.span).map(Value::Term)
}

fn reverse(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let dims = elab.b.shape(t).dims().to_vec();
    let axis = elab.axis_at(call, 1, dims.len(), 0)?;
    let leading = dims.get(..=axis).unwrap_or_default();
    let last = leading.last().map_or(0, |&k| k as i64 - 1);
    let params: Vec<Param> = leading.iter().map(|&k| Param::Index(k)).collect();
    let region = elab.region(&params, call.span, |elab, vars| {
        let mut ix = vars.to_vec();
        if let Some(i) = ix.last_mut() {
            let made = elab.b.scalar(last).and_then(|last| elab.b.op(Op::Sub, &[last, *i]));
            *i = elab.lift(made, call.span)?;
        }
        Ok(ix)
    })?;
    let made = elab.b.gather(t, region);
    elab.lift(made, call.span).map(Value::Term)
}

fn take(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let (ix, ix_span) = elab.value_at(call, 1);
    let ix = elab.term(&ix, ix_span)?;
    if elab.b.dtype(ix) != Dtype::I64 {
        let message = format!("positions are i64; this is {}", elab.b.ty(ix));
        return Err(elab.report(
            Diagnostic::new(Code::TypeMismatch, ix_span, message).hint("convert it: `i64(…)`"),
        ));
    }
    let params: Vec<Param> = elab.b.shape(ix).dims().iter().map(|&k| Param::Index(k)).collect();
    elab.map_leaves(&value, span, &mut |elab, t| {
        let region = elab.region(&params, call.span, |elab, vars| {
            let made = elab.b.index(ix, vars);
            Ok(vec![elab.lift(made, call.span)?])
        })?;
        let made = elab.b.gather(t, region);
        elab.lift(made, call.span)
    })
}

/// Equal lengths are a stack with two axes made one; others are joined two by two, in a balanced
/// tree, by reading each array where it stands in the whole.
fn concat(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let values: Vec<Operand> = call.args(0).iter().map(|arg| elab.arg_value(arg)).collect();
    let mut arrays = Vec::new();
    for (value, span) in &values {
        arrays.push((elab.term(value, *span)?, *span));
    }
    let Some(&(first, first_span)) = arrays.first() else {
        return Err(elab.internal("a missing argument"));
    };
    let rank = elab.b.shape(first).rank();
    let axis = elab.axis_at(call, 1, rank, 0)?;
    let front: Vec<usize> = std::iter::once(axis).chain((0..rank).filter(|&k| k != axis)).collect();
    let mut parts = Vec::new();
    for (t, span) in arrays {
        let (ty, wanted) = (elab.b.ty(t).clone(), elab.b.ty(first).clone());
        let others = |dims: &[usize]| -> Vec<usize> {
            front.iter().skip(1).filter_map(|&k| dims.get(k).copied()).collect()
        };
        if ty.dtype != wanted.dtype
            || ty.shape.rank() != rank
            || others(ty.shape.dims()) != others(wanted.shape.dims())
        {
            if ty.dtype == wanted.dtype && ty.shape.rank() == rank {
                let pairs: Vec<(usize, usize)> =
                    others(ty.shape.dims()).into_iter().zip(others(wanted.shape.dims())).collect();
                elab.unless_equal(&pairs);
            }
            let message = format!("arrays that do not fit along axis {axis}: {wanted} and {ty}");
            let hint = "element types and all other sizes must be equal";
            return Err(elab.report(
                Diagnostic::new(Code::ShapeMismatch, span, message)
                    .label(format!("this is {ty}"))
                    .also(first_span, format!("this is {wanted}"))
                    .hint(hint),
            ));
        }
        parts.push(elab.permute(t, &front, call.span)?);
    }
    let joined = join(elab, parts, call.span)?;
    let mut back = vec![0; rank];
    for (from, &to) in front.iter().enumerate() {
        if let Some(place) = back.get_mut(to) {
            *place = from;
        }
    }
    elab.permute(joined, &back, call.span).map(Value::Term)
}

fn join(elab: &mut Elab<'_>, mut parts: Vec<TermId>, span: Span) -> R<TermId> {
    let length = |elab: &Elab<'_>, t: TermId| elab.b.shape(t).dims().first().copied().unwrap_or(0);
    let lengths: Vec<usize> = parts.iter().map(|&t| length(elab, t)).collect();
    elab.track_sum(&lengths);
    if let [first, _, ..] = *parts
        && parts.iter().all(|&t| length(elab, t) == length(elab, first))
    {
        let mut dims = elab.b.shape(first).dims().to_vec();
        if let Some(outer) = dims.first_mut() {
            *outer *= parts.len();
        }
        let made = elab.b.stack(&parts).and_then(|stacked| elab.b.reshape(&dims, stacked));
        return elab.lift(made, span);
    }
    while parts.len() > 1 {
        let mut halved = Vec::new();
        for pair in parts.chunks(2) {
            halved.push(match *pair {
                [a, b] => join_two(elab, a, b, span)?,
                [a, ..] => a,
                [] => continue,
            });
        }
        parts = halved;
    }
    parts.first().copied().ok_or_else(|| elab.internal("nothing to join"))
}

fn join_two(elab: &mut Elab<'_>, a: TermId, b: TermId, span: Span) -> R<TermId> {
    let (m, rest) = match elab.b.shape(a).dims() {
        [m, rest @ ..] => (*m, rest.to_vec()),
        [] => return Err(elab.internal("a scalar has no axis")),
    };
    let total = m + elab.b.shape(b).dims().first().copied().unwrap_or(0);
    let shifted = |elab: &mut Elab<'_>, t: TermId, by: i64| {
        let region = elab.region(&[Param::Index(total)], span, |elab, vars| {
            vars.iter().map(|&i| elab.affine(i, 1, by, span)).collect()
        })?;
        let made = elab.b.gather(t, region);
        elab.lift(made, span)
    };
    let (left, right) = (shifted(elab, a, 0)?, shifted(elab, b, -(m as i64))?);
    let made = elab.b.iota(total);
    let iota = elab.lift(made, span)?;
    let border = elab.scalar_of(m as i64, Dtype::I64, span)?;
    let first = elab.op(Op::Lt, &[iota, border], span)?;
    let dims: Vec<usize> = std::iter::once(total).chain(rest).collect();
    let mask = elab.spread(first, &[0], &dims, span)?;
    elab.op(Op::Select, &[mask, left, right], span)
}

// ---- elementwise ------------------------------------------------------------------------------

pub(super) fn cast_term(elab: &mut Elab<'_>, t: TermId, dtype: Dtype, span: Span) -> R<TermId> {
    if elab.b.dtype(t) == dtype {
        return Ok(t);
    }
    let op = match dtype {
        Dtype::F64 => Op::ToF64,
        Dtype::F32 => Op::ToF32,
        Dtype::I64 => Op::ToI64,
        Dtype::Bool => Op::ToBool,
    };
    let made = elab.b.op(op, &[t]);
    elab.lift(made, span)
}

fn convert(elab: &mut Elab<'_>, call: &Call, dtype: Dtype) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    match &value {
        Value::Known(known) => Ok(Value::Known(known.cast(dtype))),
        Value::Error => Err(Reported),
        Value::Term(_) | Value::Tuple(_) | Value::Record(_) | Value::Function(_) => {
            elab.map_leaves(&value, span, &mut |elab, t| cast_term(elab, t, dtype, call.span))
        }
    }
}

fn clamp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (x, lo, hi) = (elab.value_at(call, 0), elab.value_at(call, 1), elab.value_at(call, 2));
    let raised = elab.row(Op::Max, &[x, lo], call.span)?;
    elab.row(Op::Min, &[(raised, call.span), hi], call.span)
}

/// `max(0, x)`: ties go to the first, the constant.
fn relu(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let x = elab.value_at(call, 0);
    elab.row(Op::Max, &[(Value::int(0), call.span), x], call.span)
}

/// A scalar operation under another name.
fn row(elab: &mut Elab<'_>, call: &Call, op: Op) -> R<Value> {
    let operands = elab.all_values(call);
    elab.row(op, &operands, call.span)
}

fn square(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let x = elab.value_at(call, 0);
    elab.row(Op::Mul, &[x.clone(), x], call.span)
}
