//! Functions of Python that are called while tracing.

use std::cell::RefCell;

use cotan::untyped::{self, AnyArr};
use cotan::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::{guarded, of_library};
use crate::operand::Operand;
use crate::tracer::Tracer;

/// What Python functions raised on their way through the library, which has errors of its own.
#[derive(Default)]
pub struct Raised(RefCell<Option<PyErr>>);

impl Raised {
    /// Keeps an exception, and gives the error that stands for it.
    fn keep(&self, raised: PyErr) -> Error {
        self.0.borrow_mut().get_or_insert(raised);
        Error::new(ErrorKind::Data, "python", "an exception")
    }

    /// Calls a function of Python with lists of arrays; it gives a list of arrays.
    pub fn call(
        &self,
        py: Python<'_>,
        f: &Bound<'_, PyAny>,
        lists: &[&[Operand]],
    ) -> Result<Vec<Operand>, Error> {
        // After an error of the library there are no arrays to call it with.
        if lists.iter().copied().flatten().any(|x| x.value.ty().is_none()) {
            return Err(Error::new(ErrorKind::Data, "python", "an earlier error"));
        }
        called(py, f, lists).map_err(|raised| self.keep(raised))
    }

    /// [`call`](Raised::call) for functions that cannot fail: the function being traced does, instead.
    pub fn call_or_fail(
        &self,
        py: Python<'_>,
        f: &Bound<'_, PyAny>,
        lists: &[&[Operand]],
    ) -> Vec<AnyArr> {
        match self.call(py, f, lists) {
            Ok(results) => results.into_iter().map(|x| x.value).collect(),
            Err(error) => {
                untyped::fail(error);
                Vec::new()
            }
        }
    }

    /// Runs something that calls functions of Python; their exceptions come first.
    pub fn watched<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<R, Error>,
    ) -> PyResult<R> {
        let done = guarded(py, work);
        let recorded = untyped::take_error();
        if let Some(raised) = self.0.borrow_mut().take() {
            return Err(raised);
        }
        match (recorded, done?) {
            (Some(error), _) | (None, Err(error)) => Err(of_library(py, &error)),
            (None, Ok(made)) => Ok(made),
        }
    }
}

fn called(py: Python<'_>, f: &Bound<'_, PyAny>, lists: &[&[Operand]]) -> PyResult<Vec<Operand>> {
    let mut args = Vec::with_capacity(lists.len());
    for list in lists {
        let tracers = list.iter().map(|x| Bound::new(py, Tracer::new(py, x.value, x.weak)?));
        args.push(PyList::new(py, tracers.collect::<PyResult<Vec<_>>>()?)?);
    }
    let results = f.call1(PyTuple::new(py, args)?)?;
    results.cast_into::<PyList>()?.iter().map(|x| Operand::of(&x)).collect()
}

/// Arrays as operands.
pub fn strong(arrays: &[AnyArr]) -> Vec<Operand> {
    arrays.iter().map(|&value| Operand { value, weak: false }).collect()
}

/// Handles of arrays.
pub fn tracers(py: Python<'_>, arrays: &[AnyArr]) -> PyResult<Vec<Tracer>> {
    arrays.iter().map(|&x| Tracer::new(py, x, false)).collect()
}
