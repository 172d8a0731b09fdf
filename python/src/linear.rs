//! A function at a point, and its derivative there as a linear function of tangents, or the transpose
//! of that, of cotangents.

use cotan::untyped::{self, AnyArr};
use cotan::{Error, Linearized};
use cotan_array::{Array, Dtype};
use cotan_ir::Type;
use pyo3::prelude::*;

use crate::callback::{Raised, strong, tracers};
use crate::convert::{Keep, given, to_numpy};
use crate::error::{exception, guarded, of_library, traced};
use crate::operand::Operand;
use crate::program::{Compiled, Signature};
use crate::tracer::Tracer;

type Arrays = Vec<AnyArr>;

/// The derivative of a function at a point, for arrays of numpy.
#[pyclass(frozen, name = "LinearMap", module = "cotan._core")]
pub struct LinearMap {
    compiled: Compiled,
    /// What the function at the point left for it.
    residuals: Vec<Array>,
    /// The element types of the directions.
    types: Vec<Dtype>,
}

/// The values of a function of lists at arrays, and its derivative there (`transposed`: for
/// cotangents).
#[pyfunction]
pub fn linearize_concrete(
    py: Python<'_>,
    leaves: Vec<Bound<'_, PyAny>>,
    transposed: bool,
    f: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Py<PyAny>>, LinearMap)> {
    let point = leaves.iter().map(|leaf| given(leaf, Keep::Copy)).collect::<PyResult<Vec<_>>>()?;
    let types: Vec<Signature> =
        point.iter().map(|x| (x.array.dtype(), x.weak, x.array.shape().dims().to_vec())).collect();
    let dtypes: Vec<Dtype> = types.iter().map(|(dtype, ..)| *dtype).collect();
    expect_floats(py, "argument", &dtypes)?;
    let names = (0..point.len()).map(|n| format!("x{n}")).collect();
    let program = Compiled::staged_list(py, names, &types, f)?;
    let outputs: Vec<Dtype> =
        program.outputs().iter().map(|output| program.ty(output.term).dtype).collect();
    if !transposed {
        expect_floats(py, "result", &outputs)?;
    }
    let split = guarded(py, || untyped::linearized(&program, transposed))?;
    let split = split.map_err(|error| of_library(py, &error))?;
    let arrays: Vec<Array> = point.into_iter().map(|x| x.array).collect();
    let mut values = Compiled::new(py, split.primal)?.arrays(py, &arrays)?;
    let residuals = values.split_off(outputs.len().min(values.len()));
    let values: PyResult<Vec<_>> = values.into_iter().map(|array| to_numpy(py, array)).collect();
    let compiled = Compiled::new(py, split.linear)?;
    let types = if transposed { outputs } else { dtypes };
    Ok((values?, LinearMap { compiled, residuals, types }))
}

/// Only floats have derivatives.
fn expect_floats(py: Python<'_>, what: &str, dtypes: &[Dtype]) -> PyResult<()> {
    match dtypes.iter().find(|dtype| !dtype.is_float()) {
        None => Ok(()),
        Some(&dtype) => {
            let message = format!("an {what} of {}", crate::convert::numpy_name(dtype));
            let message = message.replace("an result", "a result");
            let hint = "only float64 and float32 have derivatives: convert it by `.astype(float)`, \
                        or capture it";
            Err(exception(py, "ArrayTypeError", "linearize", &message, Some(hint)))
        }
    }
}

#[pymethods]
impl LinearMap {
    /// The results for tangents, or cotangents: arrays of numpy, or part of what is being traced.
    fn call(&self, py: Python<'_>, directions: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Py<PyAny>>> {
        // Integers among the results of a function have no cotangents.
        let pairs = directions.iter().zip(&self.types).filter(|(_, dtype)| dtype.is_float());
        if untyped::is_staging() {
            let mut operands: Arrays =
                traced(py, "linearize", || self.residuals.iter().map(untyped::constant).collect())?;
            for (direction, &dtype) in pairs {
                operands.push(Operand::of(direction)?.cast(py, dtype)?);
            }
            let made = Raised::default()
                .watched(py, || untyped::inline(&self.compiled.source, &operands))?;
            let made = tracers(py, &made)?.into_iter();
            return made.map(|x| Ok(Bound::new(py, x)?.into_any().unbind())).collect();
        }
        let mut arrays = self.residuals.clone();
        for (direction, &dtype) in pairs {
            let cast = given(direction, Keep::Lend)?.array.cast(dtype);
            arrays.push(cast.map_err(|error| {
                exception(py, "LimitError", "linearize", &error.to_string(), None)
            })?);
        }
        self.compiled.run(py, &arrays)
    }
}

/// The derivative at a point inside the function being traced.
#[pyclass(frozen, name = "StagedLinearMap", module = "cotan._core")]
pub struct StagedLinearMap(Linearized<Arrays, Arrays>, Vec<Type>);

/// The values of a function of lists inside the function being traced, and its derivative there.
#[pyfunction]
pub fn linearize_staged(
    py: Python<'_>,
    args: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Tracer>, StagedLinearMap)> {
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
    Ok((tracers(py, &values)?, StagedLinearMap(linear, types)))
}

#[pymethods]
impl StagedLinearMap {
    /// The results for tangents.
    fn call(&self, py: Python<'_>, tangents: Vec<Operand>) -> PyResult<Vec<Tracer>> {
        let StagedLinearMap(linear, types) = self;
        let tangents: PyResult<Arrays> =
            tangents.iter().zip(types).map(|(x, ty)| x.cast(py, ty.dtype)).collect();
        let tangents = tangents?;
        let made = traced(py, "linearize", || linear.at(tangents))?;
        tracers(py, &made)
    }
}
