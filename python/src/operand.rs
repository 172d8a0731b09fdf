//! What stands in an expression: traced arrays, numbers, arrays of numpy; and the element type that
//! several of them have in common.

use cotan::untyped::{self, AnyArr};
use cotan_array::Dtype;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::convert::{Keep, given};
use crate::error::traced;
use crate::tracer::Tracer;

/// An array of the function being traced.
#[derive(Clone, Copy)]
pub struct Operand {
    /// The array.
    pub value: AnyArr,
    /// Whether it comes from a number of Python, which takes the element type of what it meets.
    pub weak: bool,
}

impl Operand {
    /// What a value of Python stands for.
    pub fn of(any: &Bound<'_, PyAny>) -> PyResult<Operand> {
        if let Ok(tracer) = any.cast_exact::<Tracer>() {
            let Tracer { value, weak, .. } = *tracer.get();
            return Ok(Operand { value, weak });
        }
        let py = any.py();
        if any.is_exact_instance_of::<PyList>() || any.is_exact_instance_of::<PyTuple>() {
            let stack = py.import("cotan.numpy")?.getattr("asarray")?.call1((any,))?;
            if let Ok(tracer) = stack.cast_exact::<Tracer>() {
                return Ok(tracer.get().operand());
            }
        }
        let given = given(any, Keep::Copy)?;
        let value = traced(py, "constant", || untyped::constant(&given.array))?;
        Ok(Operand { value, weak: given.weak })
    }

    /// With elements of another type.
    pub fn cast(self, py: Python<'_>, dtype: Dtype) -> PyResult<AnyArr> {
        match self.value.dtype() == dtype {
            true => Ok(self.value),
            false => traced(py, "astype", || self.value.cast(dtype)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Operand {
    type Error = PyErr;

    fn extract(any: Borrowed<'_, 'py, PyAny>) -> PyResult<Operand> {
        Operand::of(&any)
    }
}

/// A kind of number, for numbers of Python.
fn rank(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::Bool => 0,
        Dtype::I64 => 1,
        Dtype::F32 | Dtype::F64 => 2,
    }
}

/// The element type in common, as numpy 2 has it: integers and `float32` make `float64`.
fn joined(a: Dtype, b: Dtype) -> Dtype {
    match (a, b) {
        _ if a == b => a,
        (Dtype::Bool, other) | (other, Dtype::Bool) => other,
        _ => Dtype::F64,
    }
}

/// The element type that values have in common, and whether that of a number of Python; those take
/// the element type of arrays of their kind.
pub fn common(operands: &[Operand]) -> (Dtype, bool) {
    let of = |weak: bool| operands.iter().filter(move |x| x.weak == weak).map(|x| x.value.dtype());
    let highest = of(true).max_by_key(|&dtype| rank(dtype));
    match (of(false).reduce(joined), highest) {
        (Some(strong), Some(weak)) if rank(weak) > rank(strong) => (weak, false),
        (Some(strong), _) => (strong, false),
        (None, weak) => (weak.unwrap_or(Dtype::F64), true),
    }
}

/// The values in the element type that they have in common.
pub fn promoted(py: Python<'_>, operands: &[Operand]) -> PyResult<(Vec<AnyArr>, bool)> {
    promoted_to(py, operands, |dtype| dtype)
}

/// The values in the element type that is made of the one they have in common.
pub fn promoted_to(
    py: Python<'_>,
    operands: &[Operand],
    choose: impl FnOnce(Dtype) -> Dtype,
) -> PyResult<(Vec<AnyArr>, bool)> {
    let (dtype, weak) = common(operands);
    let dtype = choose(dtype);
    let cast: PyResult<Vec<AnyArr>> = operands.iter().map(|x| x.cast(py, dtype)).collect();
    Ok((cast?, weak))
}

/// The float type for elements of this type.
pub fn float(dtype: Dtype) -> Dtype {
    if dtype == Dtype::F32 { Dtype::F32 } else { Dtype::F64 }
}

/// The number type for elements of this type.
pub fn number(dtype: Dtype) -> Dtype {
    if dtype == Dtype::Bool { Dtype::I64 } else { dtype }
}
