//! Traced arrays: what the functions of users see in the place of arrays.

#![allow(unsafe_op_in_unsafe_fn, reason = "what `pymethods` writes inside of a macro")]

use cotan::untyped::{AnyArr, elementwise};
use cotan_array::Dtype;
use cotan_ir::Type;
use cotan_ir::scalar::Op;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use crate::convert::{dtype_of, numpy_name};
use crate::error::{concrete_needed, exception, traced};
use crate::operand::{Operand, float, number, promoted, promoted_to};

/// An array of a function that is being traced: it has a shape and an element type, but no elements
/// yet. What is done with it is recorded.
// No sequence of C, so that numpy does not hide our exceptions behind one that says so.
#[pyclass(frozen, mapping, name = "Array", module = "cotan")]
pub struct Tracer {
    /// The array in the program.
    pub value: AnyArr,
    /// Whether it comes from a number of Python.
    pub weak: bool,
    /// Its shape and element type.
    pub ty: Type,
}

impl Tracer {
    /// The handle of an array that was just made.
    pub fn new(py: Python<'_>, value: AnyArr, weak: bool) -> PyResult<Tracer> {
        match value.ty() {
            Some(ty) => Ok(Tracer { value, weak, ty }),
            None => Err(exception(py, "InternalError", "trace", "an array without a type", None)),
        }
    }

    pub(crate) fn operand(&self) -> Operand {
        Operand { value: self.value, weak: self.weak }
    }
}

/// A scalar operation on operands that are of one element type already.
pub fn applied(py: Python<'_>, op: Op, operands: &[AnyArr], weak: bool) -> PyResult<Tracer> {
    let made = traced(py, op.name(), || elementwise(op, operands))?;
    Tracer::new(py, made, weak)
}

/// The operators of Python on two operands.
#[derive(Clone, Copy)]
enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

fn binary(py: Python<'_>, kind: Binary, a: Operand, b: Operand) -> PyResult<Tracer> {
    let choose = |dtype: Dtype| match kind {
        Binary::Div => float(dtype),
        Binary::Sub | Binary::FloorDiv | Binary::Rem => number(dtype),
        _ => dtype,
    };
    let (both, weak) = promoted_to(py, &[a, b], choose)?;
    let truth = both.iter().all(|x| x.dtype() == Dtype::Bool);
    let op = match kind {
        // Of truth values these are what numpy makes of them.
        Binary::Add if truth => Op::Or,
        Binary::Mul if truth => Op::And,
        Binary::Add => Op::Add,
        Binary::Sub => Op::Sub,
        Binary::Mul => Op::Mul,
        Binary::Div => Op::Div,
        Binary::FloorDiv => Op::FloorDiv,
        Binary::Rem => Op::Rem,
        Binary::And => Op::And,
        Binary::Or => Op::Or,
        Binary::Xor => Op::Xor,
        Binary::ShiftLeft => Op::ShiftLeft,
        Binary::ShiftRight => Op::ShiftRight,
    };
    applied(py, op, &both, weak)
}

/// `a ** b`. Integer powers of floats have exact derivatives everywhere.
fn power(py: Python<'_>, a: Operand, b: Operand) -> PyResult<Tracer> {
    let exponent_is_integer = rank_is_integer(b.value.dtype());
    if exponent_is_integer && a.value.dtype().is_float() {
        let n = b.cast(py, Dtype::I64)?;
        return applied(py, Op::Powi, &[a.value, n], a.weak);
    }
    if exponent_is_integer {
        let both = [a.cast(py, Dtype::I64)?, b.cast(py, Dtype::I64)?];
        return applied(py, Op::IntPow, &both, a.weak && b.weak);
    }
    let (both, weak) = promoted_to(py, &[a, b], float)?;
    applied(py, Op::Pow, &both, weak)
}

fn rank_is_integer(dtype: Dtype) -> bool {
    !dtype.is_float()
}

fn made(py: Python<'_>, kind: Binary, a: Operand, b: Operand) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, binary(py, kind, a, b)?)?.into_any())
}

/// What an operator makes of an array beside complex numbers, which are pairs of arrays in Python; the
/// error if they are none.
fn beside_complex<'py>(
    x: &Bound<'py, Tracer>,
    operator: &str,
    other: &Bound<'py, PyAny>,
    error: PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let beside = other.py().import("cotan._complex")?.getattr("beside")?;
    let made = beside.call1((x, operator, other))?;
    if made.is_none() { Err(error) } else { Ok(made) }
}

macro_rules! operators {
    ($($kind:ident $left:ident $right:ident;)*) => {
        #[pymethods]
        impl Tracer { $(
            // Not as operands: what cannot be one would be for Python to explain.
            fn $left<'py>(
                slf: &Bound<'py, Tracer>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                match Operand::of(other) {
                    Ok(b) => made(other.py(), Binary::$kind, slf.get().operand(), b),
                    Err(error) => beside_complex(slf, stringify!($left), other, error),
                }
            }

            fn $right<'py>(
                slf: &Bound<'py, Tracer>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                match Operand::of(other) {
                    Ok(a) => made(other.py(), Binary::$kind, a, slf.get().operand()),
                    Err(error) => beside_complex(slf, stringify!($right), other, error),
                }
            }
        )*

        fn __pow__(
            &self,
            other: &Bound<'_, PyAny>,
            modulo: Option<Bound<'_, PyAny>>,
        ) -> PyResult<Tracer> {
            no_modulo(modulo)?;
            if !self.ty.dtype.is_float() && other.extract::<i64>().is_ok_and(|n| n < 0) {
                let message = "an integer to a negative power";
                let hint = "convert it first: x.astype(float) ** -1";
                return Err(exception(other.py(), "ArrayTypeError", "pow", message, Some(hint)));
            }
            power(other.py(), self.operand(), Operand::of(other)?)
        }

        fn __rpow__(
            &self,
            other: &Bound<'_, PyAny>,
            modulo: Option<Bound<'_, PyAny>>,
        ) -> PyResult<Tracer> {
            no_modulo(modulo)?;
            power(other.py(), Operand::of(other)?, self.operand())
        }

        fn __neg__(&self, py: Python<'_>) -> PyResult<Tracer> {
            let x = self.operand().cast(py, number(self.ty.dtype))?;
            applied(py, Op::Neg, &[x], self.weak)
        }

        fn __pos__(slf: Bound<'_, Tracer>) -> Bound<'_, Tracer> {
            slf
        }

        fn __abs__(&self, py: Python<'_>) -> PyResult<Tracer> {
            let x = self.operand().cast(py, number(self.ty.dtype))?;
            applied(py, Op::Abs, &[x], self.weak)
        }

        fn __invert__(&self, py: Python<'_>) -> PyResult<Tracer> {
            match self.ty.dtype {
                Dtype::I64 => {
                    let minus = applied(py, Op::Neg, &[self.value], self.weak)?;
                    let one = Operand::of(PyInt::new(py, 1).as_any())?;
                    binary(py, Binary::Sub, minus.operand(), one)
                }
                _ => applied(py, Op::Not, &[self.value], self.weak),
            }
        }

        fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
            let py = other.py();
            // `x == None` asks what `x is None` does.
            if other.is_none() && matches!(op, CompareOp::Eq | CompareOp::Ne) {
                let differs = matches!(op, CompareOp::Ne);
                return Ok(PyBool::new(py, differs).to_owned().into_any().unbind());
            }
            let (both, _) = promoted(py, &[self.operand(), Operand::of(other)?])?;
            let op = match op {
                CompareOp::Lt => Op::Lt,
                CompareOp::Le => Op::Le,
                CompareOp::Eq => Op::Eq,
                CompareOp::Ne => Op::Ne,
                CompareOp::Gt => Op::Gt,
                CompareOp::Ge => Op::Ge,
            };
            Ok(Bound::new(py, applied(py, op, &both, false)?)?.into_any().unbind())
        }

        /// The sizes of the axes.
        #[getter]
        fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
            PyTuple::new(py, self.ty.shape.dims())
        }

        /// The name of the element type, as numpy has it.
        #[getter]
        fn dtype_name(&self) -> &'static str {
            numpy_name(self.ty.dtype)
        }

        /// Whether it comes from a number of Python, which takes the element type of what it meets.
        #[getter]
        fn weak_type(&self) -> bool {
            self.weak
        }

        /// The number of axes.
        #[getter]
        fn ndim(&self) -> usize {
            self.ty.shape.rank()
        }

        /// The number of elements.
        #[getter]
        fn size(&self) -> usize {
            self.ty.shape.numel()
        }

        fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
            let outer = self.ty.shape.dims().first().copied();
            outer.ok_or_else(|| {
                let hint = "only arrays with axes have a length: stack scalars to a vector";
                exception(py, "ArrayTypeError", "len", "a scalar has no axes", Some(hint))
            })
        }

        fn __getitem__(slf: &Bound<'_, Tracer>, index: &Bound<'_, PyAny>) -> PyResult<Tracer> {
            crate::index::getitem(slf.py(), slf, index)
        }

        fn __repr__(&self) -> String {
            format!("Array({}{})", self.ty.shape, numpy_name(self.ty.dtype))
        }

        fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
            let hint = "`if`, `while`, `and`, `or` and `not` need a value: write \
                        `ct.where(condition, a, b)` for elements, `ct.cond(condition, f, g, *args)` \
                        to evaluate one of two, `ct.while_loop` for loops, `&`, `|`, `~` for logic, and \
                        `cotan.numpy` for `max`, `min` and `sorted`";
            Err(concrete_needed(py, "bool", hint))
        }

        fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
            let hint = "float(x) needs a value: use the array as it is, `x.astype(float)` to \
                        convert it, and `cotan.numpy` in the place of `math`";
            Err(concrete_needed(py, "float", hint))
        }

        fn __int__(&self, py: Python<'_>) -> PyResult<i64> {
            let hint = "int(x) needs a value: `x.astype(int)` converts the array";
            Err(concrete_needed(py, "int", hint))
        }

        fn __complex__(&self, py: Python<'_>) -> PyResult<f64> {
            Err(concrete_needed(py, "complex", "complex numbers are pairs of reals, `ct.Complex`"))
        }

        fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
            let hint = "range(n), shapes and slices need numbers: take them from shapes, pass them \
                        as `static_argnums`, or write `ct.fori_loop(0, n, body, init)` for a loop \
                        and `ct.dynamic_slice` for a part; a[i] itself takes a traced index";
            Err(concrete_needed(py, "index", hint))
        }

        /// With elements of the type that has this name.
        fn cast_to(&self, py: Python<'_>, name: &str) -> PyResult<Tracer> {
            let dtype = dtype_of(py, name)?;
            Tracer::new(py, self.operand().cast(py, dtype)?, false)
        }
    } };
}

operators! {
    Add __add__ __radd__;
    Sub __sub__ __rsub__;
    Mul __mul__ __rmul__;
    Div __truediv__ __rtruediv__;
    FloorDiv __floordiv__ __rfloordiv__;
    Rem __mod__ __rmod__;
    And __and__ __rand__;
    Or __or__ __ror__;
    Xor __xor__ __rxor__;
    ShiftLeft __lshift__ __rlshift__;
    ShiftRight __rshift__ __rrshift__;
}

fn no_modulo(modulo: Option<Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(modulo) if !modulo.is_none() => {
            Err(PyTypeError::new_err("pow() with a modulus: write (x ** n) % m"))
        }
        _ => Ok(()),
    }
}

/// The scalar operation with this name on operands that are converted to their common type, or to
/// floats where it is one of floats.
#[pyfunction]
pub fn scalar(py: Python<'_>, name: &str, kind: &str, operands: Vec<Operand>) -> PyResult<Tracer> {
    let Some(op) = Op::from_name(name) else {
        return Err(exception(py, "InternalError", name, "there is no such operation", None));
    };
    let choose = |dtype: Dtype| match kind {
        "float" => float(dtype),
        "number" => number(dtype),
        "bool" => Dtype::Bool,
        "int" => Dtype::I64,
        _ => dtype,
    };
    let (operands, weak) = promoted_to(py, &operands, choose)?;
    applied(py, op, &operands, weak)
}

/// `a` where the condition holds, `b` elsewhere.
#[pyfunction]
pub fn select(py: Python<'_>, condition: Operand, a: Operand, b: Operand) -> PyResult<Tracer> {
    let condition = condition.cast(py, Dtype::Bool)?;
    let (both, weak) = promoted(py, &[a, b])?;
    applied(py, Op::Select, &[condition, both[0], both[1]], weak)
}

/// The array of a value, traced.
#[pyfunction]
pub fn asarray(py: Python<'_>, value: Operand) -> PyResult<Tracer> {
    Tracer::new(py, value.value, value.weak)
}
