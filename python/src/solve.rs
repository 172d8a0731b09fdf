//! What solves something for a function of Python: equations, linear systems given by products,
//! differential equations, integrals. Structures are taken apart in Python.

use cotan::untyped::AnyArr;
use cotan::{Arr, Element, Error, Float, Krylov, Method, Ode, Stop};
use cotan_array::Dtype;
use pyo3::prelude::*;

use crate::callback::{Raised, strong, tracers};
use crate::error::exception;
use crate::operand::{Operand, float, promoted_to};
use crate::tracer::Tracer;

/// Unknowns in the float type that they have in common.
fn floats(py: Python<'_>, xs: &[Operand]) -> PyResult<Vec<AnyArr>> {
    Ok(promoted_to(py, xs, float)?.0)
}

fn unknown(py: Python<'_>, what: &str, name: &str) -> PyErr {
    exception(py, "InternalError", what, &format!("there is no {what} `{name}`"), None)
}

/// What the solver with this name finds from `xs` for a function of a list to a list like it: `root`
/// and `fixed_point` from a first guess, the linear ones from the right side.
#[pyfunction]
pub fn endomorphic(
    py: Python<'_>,
    solver: &str,
    xs: Vec<Operand>,
    tolerance: Option<f64>,
    at_most: Option<usize>,
    restart: usize,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let stop = Stop { tolerance, at_most };
    let xs = floats(py, &xs)?;
    let call = |x: Vec<AnyArr>| raised.call_or_fail(py, f, &[&strong(&x)]);
    let linear = |method| move |xs| cotan::linear_solve(method, xs, stop, call);
    let found = raised.watched(py, || match solver {
        "root" => Ok(Some(cotan::root(xs, stop, call))),
        "fixed_point" => Ok(Some(cotan::fixed_point(xs, stop, call))),
        "cg" => Ok(Some(linear(Krylov::Cg)(xs))),
        "bicgstab" => Ok(Some(linear(Krylov::Bicgstab)(xs))),
        "gmres" => Ok(Some(linear(Krylov::Gmres(restart))(xs))),
        _ => Ok(None),
    })?;
    tracers(py, &found.ok_or_else(|| unknown(py, "solver", solver))?)
}

/// A point where the gradient of a function of a list is 0.
#[pyfunction]
pub fn minimize(
    py: Python<'_>,
    xs: Vec<Operand>,
    tolerance: Option<f64>,
    at_most: Option<usize>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let stop = Stop { tolerance, at_most };
    let xs = floats(py, &xs)?;
    let raised = Raised::default();
    let f32s = xs.first().is_some_and(|x| x.dtype() == Dtype::F32);
    let found = raised.watched(py, || {
        Ok(match f32s {
            true => cotan::minimize(xs, stop, |x| value::<f32>(py, &raised, f, &x)),
            false => cotan::minimize(xs, stop, |x| value::<f64>(py, &raised, f, &x)),
        })
    })?;
    tracers(py, &found)
}

/// The one result of a function of a list.
fn value<T: Element>(
    py: Python<'_>,
    raised: &Raised,
    f: &Bound<'_, PyAny>,
    x: &[AnyArr],
) -> Arr<T> {
    typed(raised.call_or_fail(py, f, &[&strong(x)]).first().copied())
}

/// An array of an element type that it is converted to; zero after an error, which was recorded.
fn typed<T: Element>(x: Option<AnyArr>) -> Arr<T> {
    x.and_then(|x| x.cast(T::DTYPE).typed()).unwrap_or_else(|| cotan::full((), T::default()))
}

/// The states at times of a list whose slope is a function of the time and the list.
#[pyfunction]
#[pyo3(signature = (y0, times, method, steps, tolerance, at_most, continuous, f))]
#[expect(clippy::too_many_arguments, reason = "keywords of one function of Python")]
pub fn odeint(
    py: Python<'_>,
    y0: Vec<Operand>,
    times: Operand,
    method: &str,
    steps: usize,
    tolerance: Option<f64>,
    at_most: Option<usize>,
    continuous: bool,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let Some(method) = Method::from_name(method, steps) else {
        return Err(unknown(py, "method", method));
    };
    let ode = Ode { method, stop: Stop { tolerance, at_most }, continuous };
    let mut y0 = floats(py, &[y0, vec![times]].concat())?;
    let raised = Raised::default();
    let states = raised.watched(py, || match y0.pop() {
        Some(times) if times.dtype() == Dtype::F32 => {
            Ok(integrated::<f32>(py, &raised, (y0, times), ode, f))
        }
        Some(times) => Ok(integrated::<f64>(py, &raised, (y0, times), ode, f)),
        None => Err(Error::new(cotan::ErrorKind::Internal, "odeint", "times are missing")),
    })?;
    tracers(py, &states)
}

fn integrated<T: Float>(
    py: Python<'_>,
    raised: &Raised,
    (y0, times): (Vec<AnyArr>, AnyArr),
    ode: Ode,
    f: &Bound<'_, PyAny>,
) -> Vec<AnyArr> {
    let slope = |t: Arr<T>, y: Vec<AnyArr>| {
        raised.call_or_fail(py, f, &[&strong(&[t.into()]), &strong(&y)])
    };
    cotan::odeint(y0, typed::<T>(Some(times)), ode, slope)
}

/// The integral of a function of a number to a list between two limits: adaptive, or by Gauss' rule of
/// so many points.
#[pyfunction]
pub fn integral(
    py: Python<'_>,
    limits: [Operand; 2],
    points: Option<usize>,
    tolerance: Option<f64>,
    at_most: Option<usize>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let stop = Stop { tolerance, at_most };
    let limits = floats(py, &limits)?;
    let raised = Raised::default();
    let f32s = limits.iter().all(|x| x.dtype() == Dtype::F32);
    let found = raised.watched(py, || {
        Ok(match f32s {
            true => summed::<f32>(py, &raised, &limits, points, stop, f),
            false => summed::<f64>(py, &raised, &limits, points, stop, f),
        })
    })?;
    tracers(py, &found)
}

fn summed<T: Float>(
    py: Python<'_>,
    raised: &Raised,
    limits: &[AnyArr],
    points: Option<usize>,
    stop: Stop,
    f: &Bound<'_, PyAny>,
) -> Vec<AnyArr> {
    let mut ends = limits.iter().copied().map(|x| typed::<T>(Some(x)));
    let (Some(a), Some(b)) = (ends.next(), ends.next()) else { return Vec::new() };
    let integrand = |x: Arr<T>| raised.call_or_fail(py, f, &[&strong(&[x.into()])]);
    match points {
        Some(points) => cotan::gauss_legendre(a, b, points, integrand),
        None => cotan::quadrature(a, b, stop, integrand),
    }
}
