//! Arrays of numpy and arrays of ours.
//!
//! Large contiguous arrays are lent to a call without a copy; results give their memory to numpy.

use std::panic::{RefUnwindSafe, UnwindSafe};

use cotan_array::{Array, Dtype, Element, Shape};
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::error::exception;

/// `cotan._data.to_numpy`, for everything that is not an array of our element types.
static TO_NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Arrays of fewer bytes are copied: that is faster than to lend them.
const LENT_BYTES: usize = 4096;

/// A value from Python.
pub struct Given {
    /// The elements.
    pub array: Array,
    /// Whether it is a number of Python, which takes the element type of what it meets.
    pub weak: bool,
}

/// Whether elements may be lent, or are copied because they are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For the time of a call.
    Lend,
    /// For good: the owner may change them.
    Copy,
}

/// The elements of an array of numpy, which stay where they are.
struct Lent<T> {
    start: *const T,
    len: usize,
    /// Keeps the elements alive.
    _owner: Py<PyAny>,
}

// SAFETY: the pointer is only read, and the array that it points into is kept alive by the owner,
// whose reference count is changed with the interpreter attached only.
unsafe impl<T: Sync> Send for Lent<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Lent<T> {}

// Elements that are only read are whole after a panic.
impl<T> UnwindSafe for Lent<T> {}
impl<T> RefUnwindSafe for Lent<T> {}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `start` is aligned and points to `len` elements of a contiguous array that the
        // owner keeps alive. A program that writes to an array while a call reads it has a race of
        // its own, as with numpy's functions that run without the lock.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

fn from_array<T: Element + numpy::Element>(
    array: &Bound<'_, PyArrayDyn<T>>,
    keep: Keep,
) -> PyResult<Option<Array>> {
    let (start, len) = (array.data().cast_const(), array.len());
    if !array.is_c_contiguous() || (len > 0 && !start.is_aligned()) {
        return Ok(None);
    }
    let py = array.py();
    let shape = Shape::new("array", array.shape());
    let shape =
        shape.map_err(|error| exception(py, "LimitError", "array", &error.to_string(), None))?;
    let lent = Lent { start, len, _owner: array.as_any().clone().unbind() };
    let made = match keep {
        _ if len == 0 => Array::from_slice::<T>(shape, &[]),
        Keep::Lend if len * size_of::<T>() >= LENT_BYTES => {
            Array::from_lender(shape, Box::new(lent))
        }
        Keep::Lend | Keep::Copy => Array::from_slice(shape, lent.as_ref()),
    };
    made.map(Some).map_err(|error| exception(py, "LimitError", "array", &error.to_string(), None))
}

/// The array of an ndarray whose element type is one of ours, if it lies in memory as ours do.
fn from_ndarray(any: &Bound<'_, PyAny>, keep: Keep) -> PyResult<Option<Array>> {
    if let Ok(array) = any.cast::<PyArrayDyn<f64>>() {
        return from_array(array, keep);
    }
    if let Ok(array) = any.cast::<PyArrayDyn<f32>>() {
        return from_array(array, keep);
    }
    if let Ok(array) = any.cast::<PyArrayDyn<i64>>() {
        return from_array(array, keep);
    }
    Ok(None)
}

/// [`from_ndarray`] of what is known to be an ndarray of this element type, for a call; nothing for
/// truth values, and for what is not as it is known.
pub fn ndarray(any: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Option<Array>> {
    match dtype {
        Dtype::F64 => any.cast::<PyArrayDyn<f64>>().map_or(Ok(None), |x| from_array(x, Keep::Lend)),
        Dtype::F32 => any.cast::<PyArrayDyn<f32>>().map_or(Ok(None), |x| from_array(x, Keep::Lend)),
        Dtype::I64 => any.cast::<PyArrayDyn<i64>>().map_or(Ok(None), |x| from_array(x, Keep::Lend)),
        Dtype::Bool => Ok(None),
    }
}

/// The array of what is a float or an integer of Python; nothing for an integer that does not fit.
pub fn number(any: &Bound<'_, PyAny>) -> Option<Array> {
    match any.is_exact_instance_of::<PyFloat>() {
        true => any.extract::<f64>().ok().map(Array::scalar),
        false => any.extract::<i64>().ok().map(Array::scalar),
    }
}

/// The array of truth values whose bytes are given: a byte that is not 0 is true.
fn from_bytes(any: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = any.py();
    let bytes = any.call_method1("view", ("uint8",))?;
    let bytes = bytes.cast::<PyArrayDyn<u8>>()?.readonly();
    let truth: Vec<bool> = bytes.as_slice()?.iter().map(|&byte| byte != 0).collect();
    let shape = Shape::new("array", bytes.shape());
    shape
        .and_then(|shape| Array::from_vec(shape, truth))
        .map_err(|error| exception(py, "LimitError", "array", &error.to_string(), None))
}

/// The array that a value of Python stands for: a number, an ndarray, or what converts to one.
pub fn given(any: &Bound<'_, PyAny>, keep: Keep) -> PyResult<Given> {
    let py = any.py();
    if any.is_exact_instance_of::<PyFloat>() {
        return Ok(Given { array: Array::scalar(any.extract::<f64>()?), weak: true });
    }
    if any.is_exact_instance_of::<PyBool>() {
        return Ok(Given { array: Array::scalar(any.extract::<bool>()?), weak: true });
    }
    if any.is_exact_instance_of::<PyInt>() {
        let number = any.extract::<i64>().map_err(|_| {
            let hint = "numbers are 64-bit integers or floats: write it as a float";
            exception(
                py,
                "DataError",
                "int",
                &format!("{any} is more than an int64 holds"),
                Some(hint),
            )
        })?;
        return Ok(Given { array: Array::scalar(number), weak: true });
    }
    if let Some(array) = from_ndarray(any, keep)? {
        return Ok(Given { array, weak: false });
    }
    let convert = TO_NUMPY.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("cotan._data")?.getattr("to_numpy")?.unbind())
    })?;
    let converted = convert.bind(py).call1((any,))?;
    let array = match from_ndarray(&converted, keep)? {
        Some(array) => array,
        None => from_bytes(&converted)?,
    };
    Ok(Given { array, weak: false })
}

fn owned<T: Element + numpy::Element>(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    let dims = IxDyn(array.shape().dims());
    // To make an array of numpy is faster than to make one that owns memory of ours.
    if let Some(elements) = array.as_slice::<T>()
        && size_of_val(elements) < LENT_BYTES
    {
        // SAFETY: every element is written before anybody sees the array, which is new and contiguous.
        let made = unsafe {
            let made = PyArrayDyn::<T>::new(py, dims, false);
            std::ptr::copy_nonoverlapping(elements.as_ptr(), made.data(), elements.len());
            made
        };
        return Ok(made.into_any().unbind());
    }
    let fault = |text: String| exception(py, "InternalError", "result", &text, None);
    let elements = array.into_vec::<T>().map_err(|error| fault(error.to_string()))?;
    let made = ArrayD::from_shape_vec(dims, elements).map_err(|error| fault(error.to_string()))?;
    Ok(made.into_pyarray(py).into_any().unbind())
}

/// An ndarray of the elements, without a copy where nobody else holds them.
pub fn to_numpy(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    match array.dtype() {
        Dtype::F64 => owned::<f64>(py, array),
        Dtype::F32 => owned::<f32>(py, array),
        Dtype::I64 => owned::<i64>(py, array),
        Dtype::Bool => owned::<bool>(py, array),
    }
}

/// The name that numpy has for an element type.
pub fn numpy_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "float64",
        Dtype::F32 => "float32",
        Dtype::I64 => "int64",
        Dtype::Bool => "bool",
    }
}

/// The element type of that name.
pub fn dtype_of(py: Python<'_>, name: &str) -> PyResult<Dtype> {
    match name {
        "float64" => Ok(Dtype::F64),
        "float32" => Ok(Dtype::F32),
        "int64" => Ok(Dtype::I64),
        "bool" => Ok(Dtype::Bool),
        _ => {
            let hint = "element types are float32, float64, int64 and bool";
            let message = format!("there are no arrays of {name}");
            Err(exception(py, "ArrayTypeError", "dtype", &message, Some(hint)))
        }
    }
}
