//! Minimisation by the method of the library.

use cotan::optim::{Lbfgs, Stop};
use cotan::untyped::AnyTensor;
use cotan::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::cell::RefCell;

use crate::convert::{Keep, given, to_numpy};
use crate::error::of_library;

fn arrays(leaves: &[Bound<'_, PyAny>]) -> PyResult<Vec<AnyTensor>> {
    leaves.iter().map(|leaf| Ok(AnyTensor(given(leaf, Keep::Copy)?.array))).collect()
}

fn leaves(py: Python<'_>, arrays: &[AnyTensor]) -> PyResult<Vec<Py<PyAny>>> {
    arrays.iter().map(|x| to_numpy(py, x.0.clone())).collect()
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Gradient => "gradient",
        Stop::Value => "value",
        Stop::Iterations => "iterations",
        Stop::LineSearch => "line search",
        Stop::NotFinite => "not finite",
        _ => "asked",
    }
}

/// What was found: point, value, gradient, iterations, evaluations, why it ended.
type Found = (Vec<Py<PyAny>>, f64, Vec<Py<PyAny>>, usize, usize, &'static str);

/// L-BFGS from a point; `f` takes a list and gives a value and a list.
#[pyfunction]
pub fn lbfgs(
    py: Python<'_>,
    f: &Bound<'_, PyAny>,
    start: Vec<Bound<'_, PyAny>>,
    memory: usize,
    max_iterations: usize,
    gradient_tolerance: f64,
    value_tolerance: f64,
) -> PyResult<Found> {
    let raised: RefCell<Option<PyErr>> = RefCell::new(None);
    let method = Lbfgs { memory, max_iterations, gradient_tolerance, value_tolerance };
    let at = |x: &Vec<AnyTensor>| -> PyResult<(f64, Vec<AnyTensor>)> {
        py.check_signals()?;
        let point = PyList::new(py, leaves(py, x)?)?;
        let (value, gradient): (f64, Vec<Bound<'_, PyAny>>) = f.call1((point,))?.extract()?;
        Ok((value, arrays(&gradient)?))
    };
    let found = method.minimize(
        |x: &Vec<AnyTensor>| {
            at(x).map_err(|error| {
                raised.borrow_mut().get_or_insert(error);
                Error::new(ErrorKind::Data, "python", "an exception")
            })
        },
        arrays(&start)?,
    );
    if let Some(error) = raised.into_inner() {
        return Err(error);
    }
    let found = found.map_err(|error| of_library(py, &error))?;
    let (point, gradient) = (leaves(py, &found.point)?, leaves(py, &found.gradient)?);
    Ok((point, found.value, gradient, found.iterations, found.evaluations, reason(found.stop)))
}
