//! Functions for XLA: what they do to arrays of given types, as the text of a StableHLO module.

use cotan::{Sharding, StableHloOptions};
use pyo3::prelude::*;

use crate::convert::{dtype_of, numpy_name};
use crate::error::{guarded, of_library};
use crate::program::{Compiled, Inspected, Signature};

/// The name of an element type, and sizes.
type Described = (String, Vec<usize>);

/// Of an array its name and, of each of its axes that is cut, the axis of the mesh and its number.
type Cuts = (String, Vec<(String, usize)>);

/// A function of a list of arrays to a list, traced for arguments of these types: the module, and
/// the types of its results.
#[pyfunction]
pub fn stablehlo_of(
    py: Python<'_>,
    name: String,
    types: Vec<Described>,
    assume_finite: bool,
    f: &Bound<'_, PyAny>,
) -> PyResult<(String, Vec<Described>)> {
    let types: PyResult<Vec<Signature>> =
        types.into_iter().map(|(dtype, dims)| Ok((dtype_of(py, &dtype)?, false, dims))).collect();
    let types = types?;
    let names = (0..types.len()).map(|n| format!("x{n}")).collect();
    let compiled = Compiled::new(py, Compiled::staged_list(py, names, &types, f)?)?;
    let program = compiled.prepared.program();
    let results = program.outputs().iter().map(|output| {
        let ty = program.ty(output.term);
        (numpy_name(ty.dtype).to_owned(), ty.shape.dims().to_vec())
    });
    let options = StableHloOptions { name, assume_finite, ..StableHloOptions::default() };
    Ok((written(py, &compiled, &options)?, results.collect()))
}

/// A program as a module, with arrays cut along the axes of a mesh if there is one.
#[pyfunction]
pub fn program_stablehlo(
    py: Python<'_>,
    program: &Inspected,
    name: String,
    assume_finite: bool,
    mesh: Vec<(String, usize)>,
    arrays: Vec<Cuts>,
) -> PyResult<String> {
    let sharding = (!mesh.is_empty()).then_some(Sharding { mesh, arrays, replicate_rest: false });
    written(
        py,
        &program.compiled,
        &StableHloOptions { name, assume_finite, sharding, ..StableHloOptions::default() },
    )
}

fn written(py: Python<'_>, compiled: &Compiled, options: &StableHloOptions) -> PyResult<String> {
    let text = guarded(py, || compiled.prepared.stablehlo(options))?;
    text.map_err(|error| of_library(py, &error))
}
