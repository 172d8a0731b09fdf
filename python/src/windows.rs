//! Convolutions and pooling over one, two or three axes.

use cotan::nn::{self, Conv, Padding, Pool};
use cotan::untyped::AnyArr;
use cotan::{Arr, Float};
use pyo3::prelude::*;

use crate::error::{exception, traced};
use crate::operand::{Operand, float, promoted_to};
use crate::tracer::Tracer;

/// How windows lie: what a list says for each axis.
#[derive(FromPyObject)]
struct Layout {
    stride: Vec<usize>,
    dilation: Vec<usize>,
    /// None for as much as keeps the size.
    padding: Option<Vec<(usize, usize)>>,
    groups: usize,
}

fn sizes<const N: usize>(given: &[usize]) -> [usize; N] {
    std::array::from_fn(|k| given.get(k).copied().unwrap_or(1))
}

fn padding<const N: usize>(layout: &Layout) -> Padding<N> {
    match &layout.padding {
        None => Padding::Same,
        Some(pairs) => {
            Padding::Explicit(std::array::from_fn(|k| pairs.get(k).copied().unwrap_or((0, 0))))
        }
    }
}

fn conv_over<T: Float, const N: usize>(
    x: Arr<T>,
    w: Arr<T>,
    layout: &Layout,
    back: bool,
) -> Arr<T> {
    let options = Conv::<N> {
        stride: sizes(&layout.stride),
        padding: padding(layout),
        dilation: sizes(&layout.dilation),
        groups: layout.groups,
    };
    if back { nn::conv_transpose(x, w, options) } else { nn::conv(x, w, options) }
}

fn conv_of<T: Float>(x: AnyArr, w: AnyArr, layout: &Layout, back: bool) -> Option<AnyArr> {
    let (x, w) = (x.typed::<T>()?, w.typed::<T>()?);
    match layout.stride.len() {
        1 => Some(conv_over::<T, 1>(x, w, layout, back).into()),
        2 => Some(conv_over::<T, 2>(x, w, layout, back).into()),
        3 => Some(conv_over::<T, 3>(x, w, layout, back).into()),
        _ => None,
    }
}

/// A convolution, or its transpose.
#[pyfunction]
fn conv(py: Python<'_>, x: Operand, w: Operand, layout: Layout, back: bool) -> PyResult<Tracer> {
    let (both, _) = promoted_to(py, &[x, w], float)?;
    let made = traced(py, "conv", || {
        conv_of::<f64>(both[0], both[1], &layout, back)
            .or_else(|| conv_of::<f32>(both[0], both[1], &layout, back))
    })?;
    of_few_axes(py, "conv", made)
}

fn pool_over<T: Float, const N: usize>(
    x: Arr<T>,
    window: &[usize],
    layout: &Layout,
    max: bool,
) -> Arr<T> {
    let pool = Pool::<N>::new(sizes(window)).stride(sizes(&layout.stride));
    let pool = match padding::<N>(layout) {
        Padding::Explicit(pairs) => pool.padding(pairs),
        _ => pool.same(),
    };
    if max { nn::max_pool(x, pool) } else { nn::avg_pool(x, pool) }
}

fn pool_of<T: Float>(x: AnyArr, window: &[usize], layout: &Layout, max: bool) -> Option<AnyArr> {
    let x = x.typed::<T>()?;
    match window.len() {
        1 => Some(pool_over::<T, 1>(x, window, layout, max).into()),
        2 => Some(pool_over::<T, 2>(x, window, layout, max).into()),
        3 => Some(pool_over::<T, 3>(x, window, layout, max).into()),
        _ => None,
    }
}

/// The greatest, or the mean, of each window.
#[pyfunction]
fn pool(
    py: Python<'_>,
    x: Operand,
    window: Vec<usize>,
    layout: Layout,
    max: bool,
) -> PyResult<Tracer> {
    let (x, _) = promoted_to(py, &[x], float)?;
    let made = traced(py, "pool", || {
        pool_of::<f64>(x[0], &window, &layout, max)
            .or_else(|| pool_of::<f32>(x[0], &window, &layout, max))
    })?;
    of_few_axes(py, "pool", made)
}

fn of_few_axes(py: Python<'_>, name: &str, made: Option<AnyArr>) -> PyResult<Tracer> {
    match made {
        Some(made) => Tracer::new(py, made, false),
        None => {
            let message = "windows over more than three axes";
            let hint = "windows have one, two or three axes, and a stride for each";
            Err(exception(py, "ArrayTypeError", name, message, Some(hint)))
        }
    }
}

/// The functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(conv, module)?)?;
    module.add_function(wrap_pyfunction!(pool, module)?)
}
