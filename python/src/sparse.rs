//! Sparse Jacobians and Hessians of traced functions: patterns, and the programs that compute the
//! entries.

use cotan::Error;
use cotan_array::Array;
use cotan_sparse::{Kind, Mode, Plan, SparseDerivative};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::convert::{Keep, given, to_numpy};
use crate::error::{exception, of_library};
use crate::program::{Compiled, Inspected, interruptible};

/// What computes a sparse derivative for arguments of one signature.
#[pyclass(frozen, name = "SparsePlan", module = "cotan._core")]
pub struct SparsePlan {
    plan: Plan,
    compiled: Compiled,
}

fn arrays(leaves: &[Bound<'_, PyAny>], keep: Keep) -> PyResult<Vec<Array>> {
    leaves.iter().map(|leaf| Ok(given(leaf, keep)?.array)).collect()
}

/// The plan for a function that was traced, at arguments, by some of them (all are numbered by their
/// arrays).
#[pyfunction]
pub fn sparse_plan(
    py: Python<'_>,
    kind: &str,
    program: &Inspected,
    leaves: Vec<Bound<'_, PyAny>>,
    chosen: Vec<usize>,
) -> PyResult<SparsePlan> {
    let kind = match kind {
        "sparse_jacobian" => Kind::Jacobian,
        "sparse_hessian" => Kind::Hessian,
        _ => return Err(exception(py, "InternalError", kind, "an unknown kind", None)),
    };
    // The arguments that decide the pattern are compared with later ones, so they are copied.
    let inputs = arrays(&leaves, Keep::Copy)?;
    let source = &program.compiled.source;
    let plan = interruptible(py, true, |cancel| {
        let watch = cotan_ir::Watch { cancel, ..cotan_ir::Watch::default() };
        cotan_ir::within(watch, || {
            let derivative = SparseDerivative::new(source, kind, Some(&chosen))?;
            Ok::<_, Error>(derivative.plan(&inputs)?)
        })
    })?;
    let compiled = Compiled::new(py, plan.program.clone())?;
    Ok(SparsePlan { plan, compiled })
}

type Entries<'py> = (Vec<Py<PyAny>>, Py<PyAny>);

#[pymethods]
impl SparsePlan {
    /// Whether it serves for these arguments, too: those that decide the pattern are the same.
    fn holds_at(&self, leaves: Vec<Bound<'_, PyAny>>) -> PyResult<bool> {
        if self.plan.decided_by().next().is_none() {
            return Ok(true);
        }
        Ok(self.plan.holds_at(&arrays(&leaves, Keep::Lend)?))
    }

    /// The values of the function (none for a Hessian), and the entries, row by row.
    fn call<'py>(&self, py: Python<'py>, leaves: Vec<Bound<'py, PyAny>>) -> PyResult<Entries<'py>> {
        let mut inputs = arrays(&leaves, Keep::Lend)?;
        inputs.extend(self.plan.extra.iter().cloned());
        let outputs = self.compiled.arrays(py, &inputs)?;
        let assembled = self.plan.assemble(outputs);
        let (values, entries) = assembled.map_err(|error| of_library(py, &Error::from(error)))?;
        let values: PyResult<Vec<_>> = values.into_iter().map(|x| to_numpy(py, x)).collect();
        Ok((values?, to_numpy(py, entries)?))
    }

    /// The sizes of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let shape = self.plan.pattern.shape();
        (shape.rows, shape.columns)
    }

    /// Where rows begin in the entries, and the columns of these: what SciPy calls `indptr` and
    /// `indices`.
    fn pattern<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>) {
        let pattern = &self.plan.pattern;
        let starts: Vec<i64> = pattern.row_starts().iter().map(|&k| k as i64).collect();
        let columns: Vec<i64> = pattern.column_indices().iter().map(|&k| i64::from(k)).collect();
        (starts.into_pyarray(py), columns.into_pyarray(py))
    }

    /// The number of products that the entries are read off.
    #[getter]
    fn colors(&self) -> usize {
        self.plan.colors
    }

    /// How the products are computed.
    #[getter]
    fn mode(&self) -> &'static str {
        match self.plan.mode {
            Mode::Forward => "forward",
            Mode::Reverse => "reverse",
            Mode::Symmetric => "symmetric",
        }
    }

    /// The numbers of the arrays whose values decide the pattern.
    #[getter]
    fn decided_by(&self) -> Vec<usize> {
        self.plan.decided_by().collect()
    }
}
