//! Keys, and random numbers made of them.

use cotan::random::Key;
use cotan::{Result, Tensor};
use pyo3::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::convert::to_numpy;
use crate::error::of_library;

/// What random numbers are made of: the same key gives the same numbers, on every machine.
#[pyclass(frozen, name = "Key", module = "cotan.random")]
pub struct PyKey(Key);

fn single<T: cotan::Element>(py: Python<'_>, made: Result<Tensor<T>>) -> PyResult<Py<PyAny>> {
    let tensor = made.map_err(|error| of_library(py, &error))?;
    let array = tensor.as_array().clone();
    drop(tensor);
    to_numpy(py, array)
}

/// Draws floats of the type that is asked for.
macro_rules! draw {
    ($py:ident, $single:ident, $key:expr, $method:ident($($arg:expr),*)) => {
        match $single {
            true => single($py, $key.$method::<f32>($($arg),*)),
            false => single($py, $key.$method::<f64>($($arg),*)),
        }
    };
}

#[pymethods]
impl PyKey {
    #[new]
    fn new(seed: u64) -> PyKey {
        PyKey(Key::new(seed))
    }

    /// Keys that have nothing to do with each other.
    fn split(&self, n: usize) -> Vec<PyKey> {
        self.0.split(n).into_iter().map(PyKey).collect()
    }

    /// The key with this number.
    fn fold_in(&self, number: u64) -> PyKey {
        PyKey(self.0.fold_in(number))
    }

    fn uniform(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        low: f64,
        high: f64,
        single_precision: bool,
    ) -> PyResult<Py<PyAny>> {
        draw!(py, single_precision, self.0, uniform_in(sizes, low, high))
    }

    fn normal(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        single_precision: bool,
    ) -> PyResult<Py<PyAny>> {
        draw!(py, single_precision, self.0, normal(sizes))
    }

    fn truncated_normal(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        bound: f64,
        single_precision: bool,
    ) -> PyResult<Py<PyAny>> {
        draw!(py, single_precision, self.0, truncated_normal(sizes, bound))
    }

    fn exponential(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        single_precision: bool,
    ) -> PyResult<Py<PyAny>> {
        draw!(py, single_precision, self.0, exponential(sizes))
    }

    fn gamma(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        alpha: f64,
        single_precision: bool,
    ) -> PyResult<Py<PyAny>> {
        draw!(py, single_precision, self.0, gamma(sizes, alpha))
    }

    fn integers(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        low: i64,
        high: i64,
    ) -> PyResult<Py<PyAny>> {
        single(py, self.0.integers(sizes, low..high))
    }

    fn bernoulli(&self, py: Python<'_>, sizes: Vec<usize>, p: f64) -> PyResult<Py<PyAny>> {
        single(py, self.0.bernoulli(sizes, p))
    }

    fn categorical(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        weights: Vec<f64>,
    ) -> PyResult<Py<PyAny>> {
        single(py, self.0.categorical(sizes, &weights))
    }

    fn permutation(&self, py: Python<'_>, n: usize) -> PyResult<Py<PyAny>> {
        single(py, self.0.permutation(n))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyKey>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }
}
