//! Derivatives inside the function being traced.

use cotan::Error;
use cotan::untyped::{self, AnyArr, Named};
use cotan_array::Dtype;
use cotan_pipeline::{Derivative, Taylor};
use pyo3::prelude::*;

use crate::callback::{Raised, strong};
use crate::error::{exception, traced};
use crate::operand::Operand;
use crate::tracer::Tracer;

/// A derivative of a function of lists by some of its arguments: the number of its results, and the
/// arrays that the derivative consists of, in the element types of what they belong to.
#[pyfunction]
pub fn derivative(
    py: Python<'_>,
    kind: &str,
    names: Vec<String>,
    args: Vec<Operand>,
    chosen: Vec<usize>,
    directions: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<(usize, Vec<Tracer>)> {
    let Some(derivative) = Derivative::from_name(kind) else {
        return Err(exception(py, "InternalError", kind, "there is no such derivative", None));
    };
    let named = named(names, &args);
    let directions: Vec<AnyArr> = directions.iter().map(|x| x.value).collect();
    let raised = Raised::default();
    let derived = raised.watched(py, || {
        let name = derivative.name();
        untyped::derivative(name, derivative, &named, &chosen, &directions, &mut |x| {
            results_of(py, &raised, f, &args, x)
        })
    })?;
    let results: Vec<Dtype> = derived.results.iter().map(|ty| ty.dtype).collect();
    let point: Vec<Dtype> =
        chosen.iter().filter_map(|&k| args.get(k)).map(|x| x.value.dtype()).collect();
    let wanted: Vec<Dtype> = match derivative {
        Derivative::Grad | Derivative::Hvp => point,
        Derivative::ValueAndGrad | Derivative::Vjp => [results.as_slice(), &point].concat(),
        Derivative::Jvp => [results.as_slice(), &results].concat(),
        Derivative::JacRev | Derivative::JacFwd | Derivative::Jacobian => {
            results.iter().flat_map(|_| point.clone()).collect()
        }
        Derivative::Hessian => point.iter().flat_map(|_| point.clone()).collect(),
    };
    Ok((results.len(), converted(py, kind, &derived.parts, &wanted)?))
}

/// A derivative by series: the coefficients up to an order along directions, or without an order the
/// Laplacian. Results as those of [`derivative`].
#[pyfunction]
pub fn series(
    py: Python<'_>,
    order: Option<usize>,
    names: Vec<String>,
    args: Vec<Operand>,
    chosen: Vec<usize>,
    directions: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<(usize, Vec<Tracer>)> {
    let (name, taylor) = match order {
        Some(order) => ("jet", Taylor::Jet(order)),
        None => ("laplacian", Taylor::Laplacian),
    };
    let named = named(names, &args);
    let directions: Vec<AnyArr> = directions.iter().map(|x| x.value).collect();
    let raised = Raised::default();
    let derived = raised.watched(py, || {
        untyped::series(name, taylor, &named, &chosen, &directions, &mut |x| {
            results_of(py, &raised, f, &args, x)
        })
    })?;
    let results: Vec<Dtype> = derived.results.iter().map(|ty| ty.dtype).collect();
    let wanted = match taylor {
        Taylor::Jet(_) => [results.as_slice(), &results].concat(),
        Taylor::Laplacian => results.clone(),
    };
    Ok((results.len(), converted(py, name, &derived.parts, &wanted)?))
}

fn named(names: Vec<String>, args: &[Operand]) -> Vec<Named> {
    names.into_iter().zip(args).map(|(name, x)| (name, x.value)).collect()
}

/// What a function of Python gives for arrays in the place of its arguments.
fn results_of(
    py: Python<'_>,
    raised: &Raised,
    f: &Bound<'_, PyAny>,
    args: &[Operand],
    x: &[AnyArr],
) -> Result<Vec<Named>, Error> {
    // Numbers of Python stay what they are.
    let mut given = strong(x);
    given.iter_mut().zip(args).for_each(|(x, arg)| x.weak = arg.weak);
    let results = raised.call(py, f, &[&given])?;
    let numbered = results.into_iter().enumerate();
    Ok(numbered.map(|(n, x)| (n.to_string(), x.value)).collect())
}

/// Arrays in the element types that are wanted of them.
fn converted(
    py: Python<'_>,
    name: &str,
    parts: &[AnyArr],
    wanted: &[Dtype],
) -> PyResult<Vec<Tracer>> {
    let converted = traced(py, name, || {
        let parts = parts.iter().zip(wanted);
        parts.map(|(x, &dtype)| x.cast(dtype)).collect::<Vec<_>>()
    })?;
    converted.into_iter().map(|x| Tracer::new(py, x, false)).collect()
}
