//! The functions of the library, for element types that are known at run time: one row for each.
//!
//! A row says which element types the function takes (`any`, `number`, `float`; others are converted),
//! how many arrays it takes, and what else.

use cotan::nn;
use cotan::untyped::AnyArr;
use cotan::{Arr, PadMode};
use cotan_array::Dtype;
use pyo3::prelude::*;

use crate::callback::tracers;
use crate::error::{exception, traced};
use crate::operand::{Operand, float, number, promoted_to};
use crate::tracer::Tracer;
use crate::types::{typed, with_types};

/// The element type that a function works on.
macro_rules! chosen {
    (any) => {
        |dtype| dtype
    };
    (number) => {
        number
    };
    (float) => {
        float
    };
}

/// Functions of so many arrays of one element type, and other arguments, to one array.
macro_rules! functions {
    ($($kind:ident $name:ident($($x:ident),+; $($arg:ident: $ty:ty),*) = $f:expr;)*) => {
        $(
            #[pyfunction]
            fn $name(py: Python<'_>, $($x: Operand,)+ $($arg: $ty),*) -> PyResult<Tracer> {
                let (operands, weak) = promoted_to(py, &[$($x),+], chosen!($kind))?;
                let [$($x),+] = operands[..] else { return Err(missing(py, stringify!($name))) };
                let dtype = first_of([$($x),+]).dtype();
                let made = traced(py, stringify!($name), || with_types!($kind dtype, T => {
                    let f = $f;
                    AnyArr::from(f($(typed::<T>($x)),+))
                }))?;
                Tracer::new(py, made, weak)
            }
        )*

        fn register_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

fn first_of<const N: usize>(arrays: [AnyArr; N]) -> AnyArr {
    arrays[0]
}

fn missing(py: Python<'_>, name: &str) -> PyErr {
    exception(py, "InternalError", name, "an operand is missing", None)
}

/// The reductions: over axes, or over all of them.
macro_rules! reduced {
    ($axes:ident, $keep:ident, $all:ident, $along:ident, $kept:ident $(, $arg:expr)*) => {
        |x: Arr<T>| match &$axes {
            Some(axes) if $keep => x.$kept(axes.as_slice() $(, $arg)*),
            Some(axes) => x.$along(axes.as_slice() $(, $arg)*),
            None if $keep => x.$kept((0..x.rank()).collect::<Vec<_>>().as_slice() $(, $arg)*),
            None => x.$all($($arg),*),
        }
    };
}

type Axes = Option<Vec<i64>>;

functions! {
    number sum(x; axes: Axes, keep: bool) = reduced!(axes, keep, sum, sum_axis, sum_keep);
    number prod(x; axes: Axes, keep: bool) = reduced!(axes, keep, prod, prod_axis, prod_keep);
    number max(x; axes: Axes, keep: bool) = reduced!(axes, keep, max, max_axis, max_keep);
    number min(x; axes: Axes, keep: bool) = reduced!(axes, keep, min, min_axis, min_keep);
    number argmax(x; axes: Axes, keep: bool) = reduced!(axes, keep, argmax, argmax_axis, argmax_keep);
    number argmin(x; axes: Axes, keep: bool) = reduced!(axes, keep, argmin, argmin_axis, argmin_keep);
    float mean(x; axes: Axes, keep: bool) = reduced!(axes, keep, mean, mean_axis, mean_keep);
    float var(x; axes: Axes, keep: bool, ddof: usize) = reduced!(axes, keep, var, var_axis, var_keep, ddof);
    float std_dev(x; axes: Axes, keep: bool, ddof: usize) = reduced!(axes, keep, std, std_axis, std_keep, ddof);
    float median(x; axes: Axes, keep: bool) = reduced!(axes, keep, median, median_axis, median_keep);
    float quantile(x; axes: Axes, keep: bool, q: f64) = reduced!(axes, keep, quantile, quantile_axis, quantile_keep, q);
    float logsumexp(x; axes: Axes, keep: bool) = reduced!(axes, keep, logsumexp, logsumexp_axis, logsumexp_keep);
    float norm(x; axes: Axes, keep: bool, p: f64) = reduced!(axes, keep, norm_p, norm_p_axis, norm_p_keep, p);

    any reshape(x; sizes: Vec<usize>) = |x: Arr<T>| x.reshape(&sizes);
    any transpose(x; axes: Vec<i64>) = |x: Arr<T>| x.permute(axes.as_slice());
    any broadcast_to(x; sizes: Vec<usize>) = |x: Arr<T>| x.broadcast_to(&sizes);
    any tile(x; counts: Vec<usize>) = |x: Arr<T>| x.tile(&counts);
    any repeat(x; count: usize, axis: i64) = |x: Arr<T>| x.repeat(count, [axis].as_slice());
    any flip(x; axes: Vec<i64>) = |x: Arr<T>| x.flip(axes.as_slice());
    any roll(x; shift: i64, axis: i64) = |x: Arr<T>| x.roll(shift, [axis].as_slice());
    any expand_dims(x; axes: Vec<i64>) = |x: Arr<T>| x.expand_dims(axes.as_slice());
    any squeeze(x; axes: Vec<i64>) = |x: Arr<T>| x.squeeze(axes.as_slice());
    any diagonal(x; k: i64) = |x: Arr<T>| x.diagonal(k);
    any tril(x; k: i64) = |x: Arr<T>| x.tril(k);
    any triu(x; k: i64) = |x: Arr<T>| x.triu(k);
    number diag(x; k: i64) = |x: Arr<T>| x.diag(k);
    number trace(x;) = |x: Arr<T>| x.trace();
    any pad_with(x, value; widths: Vec<(usize, usize)>) =
        |x: Arr<T>, value: Arr<T>| x.pad_with(widths.as_slice(), value);
    any pad_edge(x; widths: Vec<(usize, usize)>) = |x: Arr<T>| x.pad_mode(widths.as_slice(), PadMode::Edge);
    any pad_reflect(x; widths: Vec<(usize, usize)>) =
        |x: Arr<T>| x.pad_mode(widths.as_slice(), PadMode::Reflect);
    any pad_wrap(x; widths: Vec<(usize, usize)>) = |x: Arr<T>| x.pad_mode(widths.as_slice(), PadMode::Wrap);
    any sliding_window(x; size: usize, stride: usize, axis: i64) =
        |x: Arr<T>| x.sliding_window(size, stride, [axis].as_slice());

    number matmul(x, y;) = |x: Arr<T>, y: Arr<T>| x.matmul(y);
    number dot(x, y;) = |x: Arr<T>, y: Arr<T>| x.dot(y);
    number vecdot(x, y;) = |x: Arr<T>, y: Arr<T>| x.vecdot(y);
    number inner(x, y;) = |x: Arr<T>, y: Arr<T>| x.inner(y);
    number outer(x, y;) = |x: Arr<T>, y: Arr<T>| x.outer(y);
    number kron(x, y;) = |x: Arr<T>, y: Arr<T>| x.kron(y);
    number cross(x, y;) = |x: Arr<T>, y: Arr<T>| x.cross(y);
    number matrix_power(x; n: u32) = |x: Arr<T>| x.matrix_power(n);
    number tensordot(x, y; x_axes: Vec<i64>, y_axes: Vec<i64>) =
        |x: Arr<T>, y: Arr<T>| cotan::tensordot(x, y, x_axes.as_slice(), y_axes.as_slice());
    float cholesky(x;) = |x: Arr<T>| x.cholesky();
    float inverse(x;) = |x: Arr<T>| x.inverse();
    float det(x;) = |x: Arr<T>| x.det();
    float solve(x, y;) = |x: Arr<T>, y: Arr<T>| x.solve(y);
    float cholesky_solve(x, y;) = |x: Arr<T>, y: Arr<T>| x.cholesky_solve(y);
    float solve_triangular(x, y; lower: bool) = |x: Arr<T>, y: Arr<T>| x.solve_triangular(y, lower);

    number cumsum(x; axis: i32, reverse: bool) =
        |x: Arr<T>| if reverse { x.cumsum_reverse(axis) } else { x.cumsum(axis) };
    number cumprod(x; axis: i32, reverse: bool) =
        |x: Arr<T>| if reverse { x.cumprod_reverse(axis) } else { x.cumprod(axis) };
    number cummax(x; axis: i32, reverse: bool) =
        |x: Arr<T>| if reverse { x.cummax_reverse(axis) } else { x.cummax(axis) };
    number cummin(x; axis: i32, reverse: bool) =
        |x: Arr<T>| if reverse { x.cummin_reverse(axis) } else { x.cummin(axis) };
    float cumlogsumexp(x; axis: i32, reverse: bool) =
        |x: Arr<T>| if reverse { x.cumlogsumexp_reverse(axis) } else { x.cumlogsumexp(axis) };
    number diff(x; axis: i32) = |x: Arr<T>| x.diff(axis);
    number sort(x; axis: i32, descending: bool) =
        |x: Arr<T>| if descending { x.sort_descending(axis) } else { x.sort(axis) };
    number argsort(x; axis: i32, descending: bool) =
        |x: Arr<T>| if descending { x.argsort_descending(axis) } else { x.argsort(axis) };
    number searchsorted(x, values; right: bool) =
        |x: Arr<T>, v: Arr<T>| if right { x.searchsorted_right(v) } else { x.searchsorted(v) };
    float isnan(x;) = |x: Arr<T>| x.is_nan();
    float isinf(x;) = |x: Arr<T>| x.is_inf();
    float isfinite(x;) = |x: Arr<T>| x.is_finite();
    float hypot(x, y;) = |x: Arr<T>, y: Arr<T>| x.hypot(y);
    float logaddexp(x, y;) = |x: Arr<T>, y: Arr<T>| x.logaddexp(y);

    float softmax(x; axes: Vec<i64>) = |x: Arr<T>| x.softmax(axes.as_slice());
    float log_softmax(x; axes: Vec<i64>) = |x: Arr<T>| x.log_softmax(axes.as_slice());
    float relu(x;) = |x: Arr<T>| x.relu();
    float leaky_relu(x, slope;) = |x: Arr<T>, slope: Arr<T>| x.leaky_relu(slope);
    float elu(x, alpha;) = |x: Arr<T>, alpha: Arr<T>| x.elu(alpha);
    float selu(x;) = |x: Arr<T>| x.selu();
    float gelu(x;) = |x: Arr<T>| x.gelu();
    float gelu_tanh(x;) = |x: Arr<T>| x.gelu_tanh();
    float silu(x;) = |x: Arr<T>| x.silu();
    float softplus(x;) = |x: Arr<T>| x.softplus();
    float softsign(x;) = |x: Arr<T>| x.softsign();
    float hard_tanh(x;) = |x: Arr<T>| x.hard_tanh();
    float sigmoid(x;) = |x: Arr<T>| x.sigmoid();
    float log_sigmoid(x;) = |x: Arr<T>| x.log_sigmoid();
    float mish(x;) = |x: Arr<T>| x.mish();
    float glu(x; axis: i64) = |x: Arr<T>| x.glu([axis].as_slice());
    float standardize(x; axes: Vec<i64>, epsilon: f64) =
        |x: Arr<T>| nn::standardize(x, axes.as_slice(), epsilon);
    float layer_norm(x, scale, bias; epsilon: f64) =
        |x: Arr<T>, scale: Arr<T>, bias: Arr<T>| nn::layer_norm(x, scale, bias, epsilon);
    float rms_norm(x, scale; epsilon: f64) = |x: Arr<T>, scale: Arr<T>| nn::rms_norm(x, scale, epsilon);
    float squared_error(x, target;) = |x: Arr<T>, y: Arr<T>| nn::squared_error(x, y);
    float mse(x, target;) = |x: Arr<T>, y: Arr<T>| nn::mse(x, y);
    float absolute_error(x, target;) = |x: Arr<T>, y: Arr<T>| nn::absolute_error(x, y);
    float mae(x, target;) = |x: Arr<T>, y: Arr<T>| nn::mae(x, y);
    float huber(x, target; delta: f64) = |x: Arr<T>, y: Arr<T>| nn::huber(x, y, delta);
    float smooth_l1(x, target; beta: f64) = |x: Arr<T>, y: Arr<T>| nn::smooth_l1(x, y, beta);
    float hinge(x, target;) = |x: Arr<T>, y: Arr<T>| nn::hinge(x, y);
    float binary_cross_entropy(x, target;) = |x: Arr<T>, y: Arr<T>| nn::binary_cross_entropy(x, y);
    float binary_cross_entropy_with_logits(x, target;) =
        |x: Arr<T>, y: Arr<T>| nn::binary_cross_entropy_with_logits(x, y);
    float kl_divergence(x, target;) = |x: Arr<T>, y: Arr<T>| nn::kl_divergence(x, y);
    float global_avg_pool(x;) = |x: Arr<T>| nn::global_avg_pool(x);
    float global_max_pool(x;) = |x: Arr<T>| nn::global_max_pool(x);
}

/// A function of arrays and of indices, which are integers.
macro_rules! by_index {
    ($($kind:ident $name:ident($x:ident, $i:ident; $($arg:ident: $ty:ty),*) = $f:expr;)*) => {
        $(
            #[pyfunction]
            fn $name(py: Python<'_>, $x: Operand, $i: Operand, $($arg: $ty),*) -> PyResult<Tracer> {
                let index = crate::index::integers(py, stringify!($name), $i)?;
                let x = $x.cast(py, (chosen!($kind))($x.value.dtype()))?;
                let made = traced(py, stringify!($name), || with_types!($kind x.dtype(), T => {
                    let f = $f;
                    AnyArr::from(f(typed::<T>(x), index))
                }))?;
                Tracer::new(py, made, $x.weak)
            }
        )*

        fn register_by_index(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

by_index! {
    any take(x, index; axis: i64) = |x: Arr<T>, i: Arr<i64>| x.take(i, [axis].as_slice());
    any take_along_axis(x, index; axis: i64) = |x: Arr<T>, i: Arr<i64>| x.take_along(i, [axis].as_slice());
    any embedding(table, ids;) = |x: Arr<T>, i: Arr<i64>| nn::embedding(x, i);
    number segment_sum(x, ids; n: usize) = |x: Arr<T>, i: Arr<i64>| x.segment_sum(i, n);
    number segment_max(x, ids; n: usize) = |x: Arr<T>, i: Arr<i64>| x.segment_max(i, n);
    number segment_min(x, ids; n: usize) = |x: Arr<T>, i: Arr<i64>| x.segment_min(i, n);
    float segment_mean(x, ids; n: usize) = |x: Arr<T>, i: Arr<i64>| x.segment_mean(i, n);
    float cross_entropy(logits, labels;) = |x: Arr<T>, i: Arr<i64>| nn::cross_entropy(x, i);
    float nll(logs, labels;) = |x: Arr<T>, i: Arr<i64>| nn::nll(x, i);
    float polygamma(x, n;) = |x: Arr<T>, n: Arr<i64>| x.polygamma(n);
}

/// Functions of so many arrays of one element type to several arrays.
macro_rules! of_several {
    ($($kind:ident $name:ident($($x:ident),+; $($arg:ident: $ty:ty),*) = $f:expr;)*) => {
        $(
            #[pyfunction]
            fn $name(py: Python<'_>, $($x: Operand,)+ $($arg: $ty),*) -> PyResult<Vec<Tracer>> {
                let (operands, _) = promoted_to(py, &[$($x),+], chosen!($kind))?;
                let [$($x),+] = operands[..] else { return Err(missing(py, stringify!($name))) };
                let dtype = first_of([$($x),+]).dtype();
                let made = traced(py, stringify!($name), || with_types!($kind dtype, T => {
                    let f = $f;
                    f($(typed::<T>($x)),+)
                }))?;
                tracers(py, &made)
            }
        )*

        fn register_of_several(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

of_several! {
    float slogdet(x;) = |x: Arr<T>| {
        let (sign, log) = x.slogdet();
        vec![AnyArr::from(sign), AnyArr::from(log)]
    };
}

/// Arrays of one element type, joined to one.
#[pyfunction]
fn concatenate(py: Python<'_>, arrays: Vec<Operand>, axis: i64) -> PyResult<Tracer> {
    joined(py, "concatenate", arrays, |xs| {
        with_types!(any xs[0].dtype(), T => {
            let xs: Vec<Arr<T>> = xs.iter().map(|&x| typed(x)).collect();
            cotan::concat(&xs, [axis].as_slice()).into()
        })
    })
}

/// Arrays of one type, stacked along a new axis.
#[pyfunction]
fn stack(py: Python<'_>, arrays: Vec<Operand>, axis: i64) -> PyResult<Tracer> {
    joined(py, "stack", arrays, |xs| {
        with_types!(any xs[0].dtype(), T => {
            let xs: Vec<Arr<T>> = xs.iter().map(|&x| typed(x)).collect();
            cotan::stack(&xs, [axis].as_slice()).into()
        })
    })
}

/// Einstein's summation.
#[pyfunction]
fn einsum(py: Python<'_>, subscripts: &str, arrays: Vec<Operand>) -> PyResult<Tracer> {
    let arrays = arrays
        .into_iter()
        .map(|x| Ok(Operand { value: x.cast(py, number(x.value.dtype()))?, ..x }))
        .collect::<PyResult<Vec<_>>>()?;
    joined(py, "einsum", arrays, |xs| {
        with_types!(number xs[0].dtype(), T => {
            let xs: Vec<Arr<T>> = xs.iter().map(|&x| typed(x)).collect();
            cotan::einsum(subscripts, &xs).into()
        })
    })
}

fn joined(
    py: Python<'_>,
    name: &str,
    arrays: Vec<Operand>,
    join: impl FnOnce(&[AnyArr]) -> AnyArr,
) -> PyResult<Tracer> {
    if arrays.is_empty() {
        return Err(exception(py, "ArrayTypeError", name, "there are no arrays", None));
    }
    let (arrays, weak) = promoted_to(py, &arrays, |dtype| dtype)?;
    let made = traced(py, name, || join(&arrays))?;
    Tracer::new(py, made, weak)
}

/// Whether any, or all, elements are true, along axes or of all.
#[pyfunction]
fn any_or_all(py: Python<'_>, x: Operand, axes: Axes, keep: bool, all: bool) -> PyResult<Tracer> {
    type T = bool;
    let x: Arr<bool> = typed(x.cast(py, Dtype::Bool)?);
    let made = traced(py, if all { "all" } else { "any" }, || match all {
        true => reduced!(axes, keep, all, all_axis, all_keep)(x),
        false => reduced!(axes, keep, any, any_axis, any_keep)(x),
    })?;
    Tracer::new(py, made.into(), false)
}

/// `[0, 1, .., n - 1]`.
#[pyfunction]
fn iota(py: Python<'_>, n: usize) -> PyResult<Tracer> {
    let made = traced(py, "iota", || AnyArr::from(cotan::iota(n)))?;
    Tracer::new(py, made, false)
}

/// A vector of vectors of 0 and a 1.
#[pyfunction]
fn one_hot(py: Python<'_>, index: Operand, n: usize, single: bool) -> PyResult<Tracer> {
    let index = crate::index::integers(py, "one_hot", index)?;
    let made = traced(py, "one_hot", || match single {
        true => AnyArr::from(index.one_hot::<f32>(n)),
        false => AnyArr::from(index.one_hot::<f64>(n)),
    })?;
    Tracer::new(py, made, false)
}

/// Attention, with a mask if one is given.
#[pyfunction]
fn attention(
    py: Python<'_>,
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Option<Operand>,
) -> PyResult<Tracer> {
    let (qkv, _) = promoted_to(py, &[q, k, v], float)?;
    let mask = mask.map(|mask| mask.cast(py, Dtype::Bool)).transpose()?.map(typed::<bool>);
    let made = traced(py, "attention", || {
        with_types!(float qkv[0].dtype(), T => {
            let [q, k, v] = [qkv[0], qkv[1], qkv[2]].map(typed::<T>);
            AnyArr::from(nn::attention(q, k, v, mask))
        })
    })?;
    Tracer::new(py, made, false)
}

/// The functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_functions(module)?;
    register_by_index(module)?;
    register_of_several(module)?;
    crate::windows::register(module)?;
    module.add_function(wrap_pyfunction!(concatenate, module)?)?;
    module.add_function(wrap_pyfunction!(stack, module)?)?;
    module.add_function(wrap_pyfunction!(einsum, module)?)?;
    module.add_function(wrap_pyfunction!(any_or_all, module)?)?;
    module.add_function(wrap_pyfunction!(iota, module)?)?;
    module.add_function(wrap_pyfunction!(one_hot, module)?)?;
    module.add_function(wrap_pyfunction!(attention, module)?)?;
    Ok(())
}
