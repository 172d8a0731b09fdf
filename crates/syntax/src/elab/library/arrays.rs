//! Making, measuring, rearranging and converting arrays.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar, cast};
use cotan_ir::{Span, TermId};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::ops::Operand;
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R, Reported};

pub(super) const MAKING: &[Row] = &[(
    "full(sizes, v)",
    full,
    "`v` at every position; `v` may be an array, too.",
    "full([2], 7.0)",
)];

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

fn full(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let sizes = elab.sizes_at(call, 0)?;
    let (value, span) = elab.value_at(call, 1);
    elab.map_leaves(&value, span, &mut |elab, t| elab.replicate_all(&sizes, t, call.span))
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
