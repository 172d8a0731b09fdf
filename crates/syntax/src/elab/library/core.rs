//! The formers of the core language, one builtin each: exactly that node, nothing simplified.

use cotan_array::Array;
use cotan_ir::{Extreme, Param, RegionId, TermId};

use super::{Call, Row};
use crate::elab::call::Applied;
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const CORE: &[Row] = &[
    (
        "cond(c, a, b)",
        cond,
        "`a` if the scalar `c` holds, else `b`; never decided early.",
        "cond(true, 1.0, 2.0)",
    ),
    (
        "sum_outer(t)",
        sum_outer,
        "The sum along the outermost axis.",
        "sum_outer([[1.0, 2.0], [3.0, 4.0]])",
    ),
    (
        "gather(t, sizes, f)",
        gather,
        "At each position `is` of the sizes, the part of `t` at the index `f(is)`; 0 outside.",
        "gather([1.0, 2.0, 3.0], [3], i => [2 - i])",
    ),
    (
        "scatter(t, sizes, f)",
        scatter,
        "Each part of `t` at `is` added to zeros at the index `f(is)`; dropped outside.",
        "scatter([1.0, 2.0, 3.0], [2], i => [i // 2])",
    ),
    (
        "stack(a, ..)",
        stack,
        "Arrays of one type along a new outermost axis.",
        "stack([1.0, 2.0], [3.0, 4.0])",
    ),
    (
        "replicate(t, k)",
        replicate,
        "`k` copies along a new outermost axis.",
        "replicate([1.0, 2.0], 2)",
    ),
    (
        "transpose(a, perm = reversed)",
        transpose,
        "Axis `n` of the result is axis `perm[n]`; without `perm` the axes are reversed.",
        "transpose([[1, 2, 3], [4, 5, 6]])",
    ),
    (
        "reshape(t, sizes)",
        reshape,
        "The same elements in row-major order in another shape.",
        "reshape([[1, 2, 3], [4, 5, 6]], [3, 2])",
    ),
    ("iota(k)", iota, "The integers from 0 to `k - 1`.", "iota(4)"),
    (
        "one_hot(v, sizes, ix)",
        one_hot,
        "`v` at the index `ix` of zeros with these leading sizes.",
        "one_hot(5.0, [2, 3], [1, 2])",
    ),
    (
        "argmax_outer(t)",
        |e, c| arg_extreme(e, c, Extreme::Max),
        "The position of the largest element along the outermost axis.",
        "argmax_outer([3.0, 5.0, 4.0])",
    ),
    (
        "argmin_outer(t)",
        |e, c| arg_extreme(e, c, Extreme::Min),
        "The position of the smallest element along the outermost axis.",
        "argmin_outer([3.0, 5.0, 4.0])",
    ),
    (
        "argsort_outer(t)",
        arg_sort,
        "The permutation that sorts along the outermost axis.",
        "argsort_outer([3.0, 5.0, 4.0])",
    ),
    (
        "segment_argmax_outer(t, ids, k)",
        |e, c| segment_arg(e, c, Extreme::Max),
        "For each id below `k` the position along the outermost axis of the largest element that has it in `ids`, an array like `t`; the size of the axis for none.",
        "segment_argmax_outer([3.0, 5.0, 4.0], [1, 0, 1], 3)",
    ),
    (
        "segment_argmin_outer(t, ids, k)",
        |e, c| segment_arg(e, c, Extreme::Min),
        "For each id below `k` the position of the smallest element, likewise.",
        "segment_argmin_outer([3.0, 5.0, 4.0], [1, 0, 1], 3)",
    ),
    ("empty(sizes, dtype)", empty, "An array without elements.", "empty([0, 3], f64)"),
];

fn cond(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (c, c_span) = elab.value_at(call, 0);
    let (a, b) = (elab.value_at(call, 1), elab.value_at(call, 2));
    let c = elab.scalar_bool(&c, c_span)?;
    elab.choose(c, a, b, call.span)
}

fn sum_outer(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let made = elab.b.sum_outer(t);
    elab.lift(made, call.span).map(Value::Term)
}

/// The array and the sizes that follow it.
fn array_and_sizes(elab: &mut Elab<'_>, call: &Call) -> R<(TermId, Vec<usize>)> {
    let (value, span) = elab.value_at(call, 0);
    let sizes = elab.sizes_after(call, &value, 1)?;
    Ok((elab.term(&value, span)?, sizes))
}

/// The region of an index function at index variables of the given sizes.
fn index_function(elab: &mut Elab<'_>, sizes: &[usize], f: &Applied, call: &Call) -> R<RegionId> {
    let params: Vec<Param> = sizes.iter().map(|&k| Param::Index(k)).collect();
    elab.region(&params, call.span, |elab, vars| {
        let args = vars.iter().map(|&i| (Value::Term(i), call.span)).collect();
        let components = elab.apply_index(f, args, call.span)?;
        components.iter().map(|(value, span)| elab.index_scalar(value, *span)).collect()
    })
}

fn gather(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (t, sizes) = array_and_sizes(elab, call)?;
    let f = elab.function_arg(call, 2)?;
    let region = index_function(elab, &sizes, &f, call)?;
    let made = elab.b.gather(t, region);
    elab.lift(made, call.span).map(Value::Term)
}

fn scatter(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (t, sizes) = array_and_sizes(elab, call)?;
    let f = elab.function_arg(call, 2)?;
    // As many leading axes as the function has parameters; a function without a visible number of
    // them takes one.
    let consumed = elab.arity(&f).unwrap_or(1);
    let leading: Vec<usize> = elab.b.shape(t).dims().iter().take(consumed).copied().collect();
    let region = index_function(elab, &leading, &f, call)?;
    let made = elab.b.scatter(&sizes, t, region);
    elab.lift(made, call.span).map(Value::Term)
}

fn stack(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let values = elab.all_values(call);
    elab.stack_values(&values, call.span)
}

fn replicate(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let &[k] = elab.sizes_after(call, &value, 1)?.as_slice() else {
        let message = "one size is needed here";
        let hint = "for several new axes write `full(sizes, v)`";
        let diagnostic = crate::Diagnostic::new(crate::Code::BadSize, call.span, message);
        return Err(elab.report(diagnostic.hint(hint)));
    };
    elab.map_leaves(&value, span, &mut |elab, t| {
        let made = elab.b.replicate(k, t);
        elab.lift(made, call.span)
    })
}

fn transpose(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let rank = elab.b.shape(t).rank();
    match elab.axes_at(call, 1, rank)? {
        Some(perm) => {
            let made = elab.b.transpose(&perm, t);
            elab.lift(made, call.span).map(Value::Term)
        }
        None => {
            let perm: Vec<usize> = (0..rank).rev().collect();
            elab.permute(t, &perm, call.span).map(Value::Term)
        }
    }
}

fn reshape(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (t, sizes) = array_and_sizes(elab, call)?;
    let own = elab.b.shape(t).dims().to_vec();
    elab.unless_as_many(&own, &sizes);
    let made = elab.b.reshape(&sizes, t);
    elab.lift(made, call.span).map(Value::Term)
}

fn iota(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let k = elab.size_at(call, 0)?;
    let made = elab.b.iota(k);
    elab.lift(made, call.span).map(Value::Term)
}

fn one_hot(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (v, sizes) = array_and_sizes(elab, call)?;
    let ix = elab.index_arg(call, 2)?;
    let made = elab.b.one_hot(&sizes, v, &ix);
    elab.lift(made, call.span).map(Value::Term)
}

fn arg_extreme(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    let t = elab.term_at(call, 0)?;
    let made = elab.b.arg_extreme(extreme, t);
    elab.lift(made, call.span).map(Value::Term)
}

fn arg_sort(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let t: TermId = elab.term_at(call, 0)?;
    let made = elab.b.arg_sort(t);
    elab.lift(made, call.span).map(Value::Term)
}

fn segment_arg(elab: &mut Elab<'_>, call: &Call, extreme: Extreme) -> R<Value> {
    let (t, ids) = (elab.term_at(call, 0)?, elab.term_at(call, 1)?);
    let k = elab.size_at(call, 2)?;
    let made = elab.b.segment_arg(extreme, k, t, ids);
    elab.lift(made, call.span).map(Value::Term)
}

fn empty(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let sizes = elab.sizes_at(call, 0)?;
    let dtype = elab.dtype_at(call, 1, cotan_array::Dtype::F64)?;
    let shape = elab.shape(&sizes, call.span)?;
    if shape.numel() != 0 {
        let message = format!("an array of shape {shape} has elements");
        let hint = "write `zeros(…)` or `full(…)`";
        let diagnostic = crate::Diagnostic::new(crate::Code::BadSize, call.span, message);
        return Err(elab.report(diagnostic.hint(hint)));
    }
    let array = Array::zeros(dtype, shape).map_err(cotan_ir::Error::from);
    let array = elab.lift(array, call.span)?;
    let made = elab.b.constant(&array);
    elab.lift(made, call.span).map(Value::Term)
}
