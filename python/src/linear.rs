//! A function at a point, and its derivative there as a linear function.

use cotan::structure::{Fed, Tree};
use cotan::untyped::{AnyArr, AnyTensor};
use cotan::{Error, Linear, Linearized};
use cotan_array::Array;
use cotan_ir::Type;
use pyo3::prelude::*;

use crate::callback::{Raised, strong, tracers};
use crate::convert::{Keep, given, to_numpy};
use crate::error::{exception, of_library, traced};
use crate::operand::Operand;
use crate::tracer::Tracer;

type Arrays = Vec<AnyArr>;

/// The derivative of a function at a point.
#[pyclass(frozen, name = "LinearMap", module = "cotan._core")]
pub struct LinearMap(Kind);

enum Kind {
    Concrete(Linear<Arrays, Arrays>, Vec<Type>),
    Staged(Linearized<Arrays, Arrays>, Vec<Type>),
}

fn fed(arrays: Vec<Array>) -> Fed {
    let leaves = arrays.iter().map(|array| Tree::Leaf(Type::of(array)));
    Fed { tree: Tree::numbered(leaves), arrays }
}

/// The values of a function of lists at arrays, and its derivative there.
#[pyfunction]
pub fn linearize_concrete(
    py: Python<'_>,
    leaves: Vec<Bound<'_, PyAny>>,
    f: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Py<PyAny>>, LinearMap)> {
    let arrays: PyResult<Vec<Array>> =
        leaves.iter().map(|leaf| Ok(given(leaf, Keep::Copy)?.array)).collect();
    let fed = fed(arrays?);
    let types = fed.arrays.iter().map(Type::of).collect();
    let raised = Raised::default();
    let (values, linear) = raised.watched(py, || {
        let own = |x: Arrays| -> Result<Arrays, Error> {
            let results = raised.call(py, f, &[&strong(&x)])?;
            Ok(results.into_iter().map(|x| x.value).collect())
        };
        cotan::linearize(own).call(fed)
    })?;
    let values: PyResult<Vec<_>> =
        values.into_iter().map(|AnyTensor(array)| to_numpy(py, array)).collect();
    Ok((values?, LinearMap(Kind::Concrete(linear, types))))
}

/// The same inside the function being traced.
#[pyfunction]
pub fn linearize_staged(
    py: Python<'_>,
    args: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Tracer>, LinearMap)> {
    let at: Arrays = args.iter().map(|x| x.value).collect();
    let types = at.iter().filter_map(|x| x.ty()).collect();
    let raised = Raised::default();
    let (values, linear) = raised.watched(py, || {
        let own = |x: Arrays| -> Result<Arrays, Error> {
            let results = raised.call(py, f, &[&strong(&x)])?;
            Ok(results.into_iter().map(|x| x.value).collect())
        };
        Ok(cotan::linearize(own).at(at))
    })?;
    Ok((tracers(py, &values)?, LinearMap(Kind::Staged(linear, types))))
}

#[pymethods]
impl LinearMap {
    /// The results for tangents, as numpy arrays.
    fn call_concrete(
        &self,
        py: Python<'_>,
        tangents: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let Kind::Concrete(linear, types) = &self.0 else { return Err(other_place(py)) };
        let mut arrays = Vec::with_capacity(tangents.len());
        for (tangent, ty) in tangents.iter().zip(types) {
            let array = given(tangent, Keep::Lend)?.array;
            let cast = array.cast(ty.dtype);
            arrays.push(cast.map_err(|error| {
                exception(py, "LimitError", "linearize", &error.to_string(), None)
            })?);
        }
        let fed = fed(arrays);
        let done = py.detach(|| linear.call(fed));
        let values = done.map_err(|error| of_library(py, &error))?;
        values.into_iter().map(|AnyTensor(array)| to_numpy(py, array)).collect()
    }

    /// The results for tangents inside the function being traced.
    fn call_staged(&self, py: Python<'_>, tangents: Vec<Operand>) -> PyResult<Vec<Tracer>> {
        let Kind::Staged(linear, types) = &self.0 else { return Err(other_place(py)) };
        let tangents: PyResult<Arrays> =
            tangents.iter().zip(types).map(|(x, ty)| x.cast(py, ty.dtype)).collect();
        let tangents = tangents?;
        let made = traced(py, "linearize", || linear.at(tangents))?;
        tracers(py, &made)
    }
}

fn other_place(py: Python<'_>) -> PyErr {
    let message = "a linear function of another place";
    let hint = "one that was made inside a traced function is called there, one from outside with \
                arrays of numpy";
    exception(py, "ScopeError", "linearize", message, Some(hint))
}
