//! Derivatives inside the function being traced.

use cotan::untyped::{self, AnyArr, Named};
use cotan_array::Dtype;
use cotan_pipeline::Derivative;
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
    let named: Vec<Named> = names.into_iter().zip(&args).map(|(name, x)| (name, x.value)).collect();
    let directions: Vec<AnyArr> = directions.iter().map(|x| x.value).collect();
    let raised = Raised::default();
    let derived = raised.watched(py, || {
        untyped::derivative(derivative.name(), derivative, &named, &chosen, &directions, &mut |x| {
            // Numbers of Python stay what they are.
            let mut given = strong(x);
            given.iter_mut().zip(&args).for_each(|(x, arg)| x.weak = arg.weak);
            let results = raised.call(py, f, &[&given])?;
            let named = results.into_iter().enumerate();
            Ok(named.map(|(n, x)| (n.to_string(), x.value)).collect())
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
    let converted = traced(py, kind, || {
        let parts = derived.parts.iter().zip(&wanted);
        parts.map(|(x, &dtype)| x.cast(dtype)).collect::<Vec<_>>()
    })?;
    let parts: PyResult<Vec<Tracer>> =
        converted.into_iter().map(|x| Tracer::new(py, x, false)).collect();
    Ok((results.len(), parts?))
}
