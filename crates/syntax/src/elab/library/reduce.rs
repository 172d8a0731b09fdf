//! Reductions over axes, and sorting.
//!
//! A reduction brings its axes to the front and works on the outermost one. `axis` is one axis or
//! several, negative ones count from the end, and without it all axes are reduced.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Extreme, MapAccum, Param, Span, TermId, Type};

use super::arrays::cast_term;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R};

pub(super) const REDUCING: &[Row] = &[
    ("sum(x, axis = all)", sum, "The sum.", "sum([[1.0, 2.0], [3.0, 4.0]], axis = 0)"),
    (
        "mean(x, axis = all)",
        mean,
        "The sum divided by the number of elements.",
        "mean([1.0, 2.0, 6.0])",
    ),
    ("prod(x, axis = all)", prod, "The product.", "prod([2.0, 3.0, 4.0])"),
    (
        "max(x, axis = all)",
        |e, c| extreme(e, c, Extreme::Max),
        "The largest element, -inf of none; `max(a, b)` is the larger of two, elementwise.",
        "max([3.0, 5.0, 4.0])",
    ),
    (
        "min(x, axis = all)",
        |e, c| extreme(e, c, Extreme::Min),
        "The smallest element, inf of none; `min(a, b)` is the smaller of two, elementwise.",
        "min([3.0, 5.0, 4.0])",
    ),
    ("any(x, axis = all)", any, "Whether some element is true.", "any([false, true])"),
    ("all(x, axis = all)", all, "Whether every element is true.", "all([false, true])"),
    (
        "logsumexp(x, axis = all)",
        logsumexp,
        "`log(sum(exp(x)))`, without overflow.",
        "logsumexp([1000.0, 1000.0])",
    ),
    (
        "softmax(x, axis = -1)",
        softmax,
        "`exp(x)` divided by its sum along the axis, without overflow.",
        "softmax([0.0, 0.0])",
    ),
    ("norm(x, axis = all)", norm, "The square root of the sum of squares.", "norm([3.0, 4.0])"),
    (
        "cumsum(x, axis = 0)",
        |e, c| cumulate(e, c, Op::Add, 0),
        "The sums of the first 1, 2, .. elements along an axis.",
        "cumsum([1.0, 2.0, 3.0])",
    ),
    (
        "cumprod(x, axis = 0)",
        |e, c| cumulate(e, c, Op::Mul, 1),
        "The products of the first 1, 2, .. elements along an axis.",
        "cumprod([1.0, 2.0, 3.0])",
    ),
];

pub(super) const SORTING: &[Row] = &[
    (
        "argmax(x, axis = the only one)",
        |e, c| arg_extreme(e, c, Extreme::Max),
        "The position of the largest element along an axis; the first of equals.",
        "argmax([3.0, 5.0, 4.0])",
    ),
    (
        "argmin(x, axis = the only one)",
        |e, c| arg_extreme(e, c, Extreme::Min),
        "The position of the smallest element along an axis; the first of equals.",
        "argmin([3.0, 5.0, 4.0])",
    ),
    (
        "sort(x, axis = -1)",
        sort,
        "The elements in ascending order along an axis, NaNs last.",
        "sort([3.0, 5.0, 4.0])",
    ),
    (
        "argsort(x, axis = -1)",
        argsort,
        "The permutation that sorts along an axis; stable.",
        "argsort([3.0, 5.0, 4.0])",
    ),
];

/// An array with the axes to reduce in front.
struct Fronted {
    /// The array, its reduced axes outermost.
    t: TermId,
    /// The shape before.
    dims: Vec<usize>,
    /// The reduced axes.
    axes: Vec<usize>,
    /// The other axes.
    rest: Vec<usize>,
}

impl Fronted {
    fn rest_dims(&self) -> Vec<usize> {
        self.rest.iter().filter_map(|&k| self.dims.get(k).copied()).collect()
    }

    /// The number of elements that become one.
    fn count(&self) -> usize {
        self.axes.iter().filter_map(|&k| self.dims.get(k)).product()
    }
}

impl Elab<'_> {
    fn fronted(&mut self, call: &Call, default: Option<i64>) -> R<Fronted> {
        let t = self.term_at(call, 0)?;
        let dims = self.b.shape(t).dims().to_vec();
        let axes = match (self.axes_at(call, 1, dims.len())?, default) {
            (Some(axes), _) => axes,
            (None, None) => (0..dims.len()).collect(),
            (None, Some(axis)) => vec![self.axis_at(call, 1, dims.len(), axis)?],
        };
        self.bring_to_front(t, axes, call.span)
    }

    fn bring_to_front(&mut self, t: TermId, mut axes: Vec<usize>, span: Span) -> R<Fronted> {
        axes.sort_unstable();
        let dims = self.b.shape(t).dims().to_vec();
        let rest: Vec<usize> = (0..dims.len()).filter(|k| !axes.contains(k)).collect();
        let order: Vec<usize> = axes.iter().chain(&rest).copied().collect();
        let t = self.permute(t, &order, span)?;
        Ok(Fronted { t, dims, axes, rest })
    }

    /// The reduced axes as one.
    fn merged(&mut self, f: &Fronted, span: Span) -> R<TermId> {
        if f.axes.len() == 1 {
            return Ok(f.t);
        }
        let merged: Vec<usize> = f.axes.iter().filter_map(|&k| f.dims.get(k).copied()).collect();
        self.track_product(&merged);
        let dims: Vec<usize> = std::iter::once(f.count()).chain(f.rest_dims()).collect();
        let made = self.b.reshape(&dims, f.t);
        self.lift(made, span)
    }

    fn sum_front(&mut self, f: &Fronted, span: Span) -> R<TermId> {
        let mut term = f.t;
        for _ in &f.axes {
            let made = self.b.sum_outer(term);
            term = self.lift(made, span)?;
        }
        Ok(term)
    }

    fn max_front(&mut self, f: &Fronted, extreme: Extreme, span: Span) -> R<TermId> {
        let t = self.merged(f, span)?;
        let (dtype, rest) = (self.b.dtype(t), f.rest_dims());
        if f.count() == 0 {
            let least = self.constant(Known::new(bound_of(dtype, extreme), false), span)?;
            return self.replicate_all(&rest, least, span);
        }
        let made = self.b.arg_extreme(extreme, t);
        let position = self.lift(made, span)?;
        self.pick(t, position, &rest, span)
    }

    /// `t[position[is], is]` for all `is`.
    fn pick(&mut self, t: TermId, position: TermId, sizes: &[usize], span: Span) -> R<TermId> {
        if sizes.is_empty() {
            let made = self.b.index(t, &[position]);
            return self.lift(made, span);
        }
        let params: Vec<Param> = sizes.iter().map(|&k| Param::Index(k)).collect();
        let region = self.region(&params, span, |this, vars| {
            let made = this.b.index(position, vars);
            let mut ix = vec![this.lift(made, span)?];
            ix.extend(vars);
            Ok(ix)
        })?;
        let made = self.b.gather(t, region);
        self.lift(made, span)
    }

    /// A reduced array repeated to the shape before the reduction.
    fn unreduce(&mut self, reduced: TermId, f: &Fronted, span: Span) -> R<TermId> {
        self.spread(reduced, &f.rest, &f.dims, span)
    }

    /// Undoes [`Elab::bring_to_front`] on an array of the same shape as the fronted one.
    fn restore(&mut self, t: TermId, f: &Fronted, span: Span) -> R<TermId> {
        let mut perm = vec![0; f.dims.len()];
        for (from, &to) in f.axes.iter().chain(&f.rest).enumerate() {
            if let Some(place) = perm.get_mut(to) {
                *place = from;
            }
        }
        self.permute(t, &perm, span)
    }

    pub(super) fn expect_float(&mut self, t: TermId, call: &Call) -> R<()> {
        if self.b.dtype(t).is_float() {
            return Ok(());
        }
        let message = format!("`{}` needs floats, not {}", call.builtin.name, self.b.ty(t));
        Err(self.report(
            Diagnostic::new(Code::BadOperand, call.span, message).hint("convert: `f64(…)`"),
        ))
    }
}

/// The neutral element of the largest or smallest.
pub(super) fn bound_of(dtype: Dtype, extreme: Extreme) -> Scalar {
    let max = extreme == Extreme::Max;
    match dtype {
        Dtype::F64 => Scalar::F64(if max { f64::NEG_INFINITY } else { f64::INFINITY }),
        Dtype::F32 => Scalar::F32(if max { f32::NEG_INFINITY } else { f32::INFINITY }),
        Dtype::I64 => Scalar::I64(if max { i64::MIN } else { i64::MAX }),
        Dtype::Bool => Scalar::Bool(!max),
    }
}

fn sum(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.fronted(call, None)?;
    elab.sum_front(&f, call.span).map(Value::Term)
}

fn mean(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.fronted(call, None)?;
    elab.expect_float(f.t, call)?;
    let total = elab.sum_front(&f, call.span)?;
    let count = elab.scalar_of(f.count() as i64, elab.b.dtype(f.t), call.span)?;
    elab.op(Op::Div, &[total, count], call.span).map(Value::Term)
}

fn extreme(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    if call.positional() == 2 {
        let operands = elab.all_values(call);
        let op = match extreme {
            Extreme::Max => Op::Max,
            Extreme::Min => Op::Min,
        };
        return elab.row(op, &operands, call.span);
    }
    let f = elab.fronted(call, None)?;
    elab.max_front(&f, extreme, call.span).map(Value::Term)
}

fn truth_counts(elab: &mut Elab<'_>, call: &Call, of: Op) -> R<(TermId, TermId)> {
    let mut f = elab.fronted(call, None)?;
    if elab.b.dtype(f.t) != Dtype::Bool {
        let message = format!("`{}` needs bool, not {}", call.builtin.name, elab.b.ty(f.t));
        return Err(elab.report(
            Diagnostic::new(Code::BadOperand, call.span, message).hint("compare: `x != 0`"),
        ));
    }
    if of == Op::Not {
        f.t = elab.op(Op::Not, &[f.t], call.span)?;
    }
    f.t = cast_term(elab, f.t, Dtype::I64, call.span)?;
    let count = elab.sum_front(&f, call.span)?;
    Ok((count, elab.scalar_of(0, Dtype::I64, call.span)?))
}

fn any(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (count, zero) = truth_counts(elab, call, Op::ToBool)?;
    elab.op(Op::Ne, &[count, zero], call.span).map(Value::Term)
}

fn all(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (count, zero) = truth_counts(elab, call, Op::Not)?;
    elab.op(Op::Eq, &[count, zero], call.span).map(Value::Term)
}

/// `m + log(sum(exp(x - m)))`, where `m` is the largest element if that is finite and 0 otherwise:
/// so infinities give what they should, and not `inf - inf`. Neither this nor `softmax` depends on
/// `m`, which counts as a constant for derivatives.
fn logsumexp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let span = call.span;
    let f = elab.fronted(call, None)?;
    elab.expect_float(f.t, call)?;
    let shift = finite_max(elab, &f, span)?;
    let shift = elab.op(Op::StopGradient, &[shift], span)?;
    let (_, fronted) = shifted_exp(elab, f, shift, span)?;
    let total = elab.sum_front(&fronted, span)?;
    let log = elab.op(Op::Log, &[total], span)?;
    elab.op(Op::Add, &[shift, log], span).map(Value::Term)
}

/// `exp(x - shift)`, as it is and with the axes in front over which `shift` is the same.
fn shifted_exp(elab: &mut Elab<'_>, f: Fronted, shift: TermId, span: Span) -> R<(TermId, Fronted)> {
    let x = elab.restore(f.t, &f, span)?;
    let spread = elab.unreduce(shift, &f, span)?;
    let below = elab.op(Op::Sub, &[x, spread], span)?;
    let exp = elab.op(Op::Exp, &[below], span)?;
    let fronted = elab.bring_to_front(exp, f.axes, span)?;
    Ok((exp, fronted))
}

/// The largest element if that is finite, else 0.
fn finite_max(elab: &mut Elab<'_>, f: &Fronted, span: Span) -> R<TermId> {
    let largest = elab.max_front(f, Extreme::Max, span)?;
    let dtype = elab.b.dtype(largest);
    let infinity = elab.constant(Known::new(bound_of(dtype, Extreme::Min), false), span)?;
    let magnitude = elab.op(Op::Abs, &[largest], span)?;
    let finite = elab.op(Op::Lt, &[magnitude, infinity], span)?;
    let zero = elab.scalar_of(0, dtype, span)?;
    elab.op(Op::Select, &[finite, largest, zero], span)
}

fn softmax(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let span = call.span;
    let f = elab.fronted(call, Some(-1))?;
    elab.expect_float(f.t, call)?;
    let shift = elab.max_front(&f, Extreme::Max, span)?;
    let shift = elab.op(Op::StopGradient, &[shift], span)?;
    let (exp, fronted) = shifted_exp(elab, f, shift, span)?;
    let total = elab.sum_front(&fronted, span)?;
    let total = elab.unreduce(total, &fronted, span)?;
    elab.op(Op::Div, &[exp, total], span).map(Value::Term)
}

fn norm(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let mut f = elab.fronted(call, None)?;
    elab.expect_float(f.t, call)?;
    f.t = elab.op(Op::Mul, &[f.t, f.t], call.span)?;
    let total = elab.sum_front(&f, call.span)?;
    elab.op(Op::Sqrt, &[total], call.span).map(Value::Term)
}

/// A loop `s => s op x` from a neutral element: its last state, and all states.
fn accumulate(
    elab: &mut Elab<'_>,
    t: TermId,
    op: Op,
    neutral: i64,
    span: Span,
) -> R<(TermId, TermId)> {
    let ty = elab.b.ty(t).clone();
    let (length, inner) = (ty.shape.dims().first().copied().unwrap_or(0), ty.shape.drop_outer(1));
    let scalar = elab.scalar_of(neutral, ty.dtype, span)?;
    let init = elab.replicate_all(inner.dims(), scalar, span)?;
    let param = Param::Value(Type::new(ty.dtype, inner));
    let step = elab.region(&[param.clone(), param], span, |elab, vars| {
        let made = elab.b.op(op, vars);
        let next = elab.lift(made, span)?;
        Ok(vec![next, next])
    })?;
    let node = MapAccum { length, reverse: false, init: [init].into(), inputs: [t].into(), step };
    let made = elab.b.map_accum(node);
    let node = elab.lift(made, span)?;
    let made = elab.b.result(node, 0).and_then(|last| Ok((last, elab.b.result(node, 1)?)));
    elab.lift(made, span)
}

fn prod(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.fronted(call, None)?;
    let t = elab.merged(&f, call.span)?;
    accumulate(elab, t, Op::Mul, 1, call.span).map(|(last, _)| Value::Term(last))
}

fn cumulate(elab: &mut Elab<'_>, call: &Call, op: Op, neutral: i64) -> R<Value> {
    let f = elab.fronted(call, Some(0))?;
    let (_, states) = accumulate(elab, f.t, op, neutral, call.span)?;
    elab.restore(states, &f, call.span).map(Value::Term)
}

// ---- sorting ----------------------------------------------------------------------------------

fn arg_extreme(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let rank = elab.b.shape(t).rank();
    if call.arg(1).is_none() && rank != 1 {
        let message = format!("`{}` of {} needs an axis", call.builtin.name, elab.b.ty(t));
        let hint = format!("write `{}(x, axis = 0)`", call.builtin.name);
        return Err(
            elab.report(Diagnostic::new(Code::WrongArguments, call.span, message).hint(hint))
        );
    }
    let axis = elab.axis_at(call, 1, rank, 0)?;
    let f = elab.bring_to_front(t, vec![axis], call.span)?;
    let made = elab.b.arg_extreme(extreme, f.t);
    elab.lift(made, call.span).map(Value::Term)
}

fn argsort(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.fronted(call, Some(-1))?;
    let made = elab.b.arg_sort(f.t);
    let order = elab.lift(made, call.span)?;
    elab.restore(order, &f, call.span).map(Value::Term)
}

fn sort(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.fronted(call, Some(-1))?;
    let made = elab.b.arg_sort(f.t);
    let order = elab.lift(made, call.span)?;
    let params: Vec<Param> = elab.b.shape(f.t).dims().iter().map(|&k| Param::Index(k)).collect();
    let region = elab.region(&params, call.span, |elab, vars| {
        let made = elab.b.index(order, vars);
        let mut ix = vec![elab.lift(made, call.span)?];
        ix.extend(vars.iter().skip(1));
        Ok(ix)
    })?;
    let made = elab.b.gather(f.t, region);
    let sorted = elab.lift(made, call.span)?;
    elab.restore(sorted, &f, call.span).map(Value::Term)
}
