//! Calls like the one before: recognised without taking their arguments apart.

use std::sync::Arc;

use cotan_array::{Array, Dtype};
use numpy::PyUntypedArray;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::convert::{ndarray, number};
use crate::jit::Entry;
use crate::program::Signature;

/// A call whose arguments were arrays and numbers, none of them static or a structure.
pub struct Again {
    /// What was run.
    pub entry: Arc<Entry>,
    /// How many arguments were positional.
    positional: usize,
    /// The keywords, in the order in which they were given.
    names: Vec<Py<PyAny>>,
    /// Which array of the program each keyword is.
    slots: Vec<usize>,
}

impl Again {
    /// Nothing for a call that has to be taken apart each time. Keywords are arguments of the program
    /// in the order of their names, after those that are positional.
    pub fn new(
        entry: &Arc<Entry>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Again>> {
        let (positional, keywords) = (args.len(), kwargs.map_or(0, |kwargs| kwargs.len()));
        if !entry.is_flat(positional, keywords) {
            return Ok(None);
        }
        let mut again = Again {
            entry: Arc::clone(entry),
            positional,
            names: Vec::with_capacity(keywords),
            slots: Vec::with_capacity(keywords),
        };
        if let Some(kwargs) = kwargs {
            let sorted = kwargs.keys();
            sorted.sort()?;
            for name in kwargs.keys() {
                again.slots.push(positional + sorted.index(&name)?);
                again.names.push(name.unbind());
            }
        }
        Ok(Some(again))
    }

    /// The arrays of the program, if this call has arguments like those of the one before. A keyword is
    /// known by its identity, since callers give the same names again; another object with the same
    /// text is only slower.
    pub fn arrays(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Vec<Array>>> {
        let keywords = kwargs.map_or(0, |kwargs| kwargs.len());
        if args.len() != self.positional || keywords != self.names.len() {
            return Ok(None);
        }
        let mut values: Vec<Option<Bound<'_, PyAny>>> = args.iter().map(Some).collect();
        values.resize(self.positional + keywords, None);
        if let Some(kwargs) = kwargs {
            for ((name, value), (known, &slot)) in
                kwargs.iter().zip(self.names.iter().zip(&self.slots))
            {
                if !name.is(known) {
                    return Ok(None);
                }
                values[slot] = Some(value);
            }
        }
        let mut arrays = Vec::with_capacity(values.len());
        for (value, wanted) in values.iter().zip(&self.entry.types) {
            let Some(array) = value.as_ref().map(|value| like(value, wanted)).transpose()? else {
                return Ok(None);
            };
            let Some(array) = array else { return Ok(None) };
            arrays.push(array);
        }
        Ok(Some(arrays))
    }
}

/// The array of a value whose class and element type are those of before; nothing for any other.
fn like(value: &Bound<'_, PyAny>, wanted: &Signature) -> PyResult<Option<Array>> {
    let (dtype, weak, dims) = wanted;
    let class = value.get_type_ptr();
    let py = value.py();
    let same_class = match (weak, dtype) {
        (true, Dtype::F64) => class == PyFloat::type_object_raw(py),
        (true, Dtype::I64) => class == PyInt::type_object_raw(py),
        // Truth values may be static, and are rare.
        (true, _) => false,
        (false, _) => class == PyUntypedArray::type_object_raw(py),
    };
    if !same_class {
        return Ok(None);
    }
    let array = match weak {
        true => number(value),
        false => ndarray(value, *dtype)?,
    };
    Ok(array.filter(|array| array.shape().dims() == dims))
}
