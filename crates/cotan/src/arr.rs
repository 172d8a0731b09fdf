//! Staged arrays: handles into the function being staged.

use std::fmt;
use std::marker::PhantomData;

use cotan_array::{Array, Dtype};
use cotan_ir::Type;

use crate::element::{Element, Number};
use crate::error::{Error, ErrorKind};
use crate::stage::{self, Raw, emit};
use crate::tensor::Tensor;

/// An array of `T` in a function that is staged, or run eagerly.
///
/// It is a handle: `Copy`, and using a variable twice shares what it stands for. Its element type
/// is known to Rust, its shape while staging. A scalar is an array without axes.
///
/// Operators work element by element, on arrays whose shapes fit as numpy's do (from the last axis
/// back, sizes are equal, 1 or missing), and mix with numbers of the element type:
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|a: Arr<f64>, b: Arr<f64>| 2.0 * a * b + 1.0, ([2, 3], [3]))?;
/// let y = f.call(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 0.0, -1.0]))?;
/// assert_eq!(y.shape(), [2, 3]);
/// assert_eq!(y.to_vec(), [3.0, 1.0, -5.0, 9.0, 1.0, -11.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
///
/// An operation that does not fit (shapes that differ, an axis that is not there) makes the
/// function as a whole fail: `compile` returns the first such error, with the caller's line.
///
/// # Panics
///
/// An `Arr` lives inside a function that is staged, or run eagerly. Where there is none on this
/// thread, nothing could return an error, so making an `Arr`, calculating with one and asking for its
/// shape panic. Outside of functions arrays are [`Tensor`]s.
///
/// ```should_panic
/// let c = cotan::constant([1.0, 2.0]); // no function is being staged
/// ```
pub struct Arr<T> {
    pub(crate) raw: Raw,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Arr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Arr<T> {}

impl<T: Element> fmt::Debug for Arr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match stage::type_of(self.raw) {
            Some(ty) => write!(f, "Arr({ty})"),
            None => write!(f, "Arr(nothing)"),
        }
    }
}

impl<T: Element> Arr<T> {
    pub(crate) fn from_raw(raw: Raw) -> Arr<T> {
        Arr { raw, element: PhantomData }
    }

    /// A handle to nothing, after an error.
    pub(crate) fn nothing() -> Arr<T> {
        Arr::from_raw(Raw::default())
    }

    #[track_caller]
    fn ty(self, op: &'static str) -> Option<Type> {
        stage::type_here(op, self.raw)
    }

    /// The sizes of the axes. After an error, those of a scalar.
    #[track_caller]
    pub fn shape(self) -> Vec<usize> {
        self.ty("shape").map_or_else(Vec::new, |ty| ty.shape.dims().to_vec())
    }

    /// The sizes of the axes, as many as the pattern has.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>| {
    ///     let [n, m] = x.dims();
    ///     x.sum() / (n * m) as f64
    /// };
    /// assert_eq!(compile(f, [2, 2])?.call([[1.0, 2.0], [3.0, 6.0]])?, 3.0);
    /// assert!(compile(f, [2]).unwrap_err().to_string().contains("2 axes are needed"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn dims<const R: usize>(self) -> [usize; R] {
        let Some(ty) = self.ty("dims") else { return [1; R] };
        match <[usize; R]>::try_from(ty.shape.dims()) {
            Ok(dims) => dims,
            Err(_) => {
                let axes = if R == 1 { "axis is" } else { "axes are" };
                let message = format!("{R} {axes} needed, {ty} has {}", ty.shape.rank());
                stage::fail(Error::type_error("dims", message));
                [1; R]
            }
        }
    }

    /// The number of axes.
    #[track_caller]
    pub fn rank(self) -> usize {
        self.ty("rank").map_or(0, |ty| ty.shape.rank())
    }

    /// The outermost size.
    #[track_caller]
    #[allow(clippy::len_without_is_empty, reason = "a size to calculate with, not a container")]
    pub fn len(self) -> usize {
        let Some(ty) = self.ty("len") else { return 1 };
        match ty.shape.dims().first() {
            Some(&k) => k,
            None => {
                let error = Error::type_error("len", format!("{ty} has no axes"));
                stage::fail(error.with_hint("the number of elements is its `size`"));
                1
            }
        }
    }

    /// The number of elements.
    #[track_caller]
    pub fn size(self) -> usize {
        self.ty("size").map_or(1, |ty| ty.shape.numel())
    }

    /// The elements converted to another type: floats to integers towards 0, saturating, NaN to 0;
    /// numbers to bool as `x != 0`. The derivative passes between the float types.
    #[doc(alias = "astype")]
    #[track_caller]
    pub fn cast<U: Element>(self) -> Arr<U> {
        if T::DTYPE == U::DTYPE {
            return Arr::from_raw(self.raw);
        }
        let op = match U::DTYPE {
            Dtype::F64 => cotan_ir::scalar::Op::ToF64,
            Dtype::F32 => cotan_ir::scalar::Op::ToF32,
            Dtype::I64 => cotan_ir::scalar::Op::ToI64,
            Dtype::Bool => cotan_ir::scalar::Op::ToBool,
        };
        Arr::from_raw(emit("cast", &[self.raw], |b, ts| b.op(op, ts)))
    }
}

/// The array of a function that has the given elements, whatever the arguments are.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| constant([1.0, 2.0]) * x, [2])?;
/// assert_eq!(f.call([3.0, 4.0])?.to_vec(), [3.0, 8.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn constant<T: Element>(elements: impl Into<Tensor<T>>) -> Arr<T> {
    let tensor: Tensor<T> = elements.into();
    constant_array(tensor.as_array())
}

#[track_caller]
pub(crate) fn constant_array<T: Element>(array: &Array) -> Arr<T> {
    Arr::from_raw(emit("constant", &[], |b, _| b.constant(array)))
}

/// `[0, 1, .., k - 1]`.
#[track_caller]
pub fn iota(k: usize) -> Arr<i64> {
    Arr::from_raw(emit("iota", &[], |b, _| b.iota(k)))
}

/// What may stand where an array of `T` is expected: an array, a number, a [`Tensor`]; for `i64`
/// also the sizes and indices of Rust.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand where an array of `{T}` is expected",
    label = "not an array or number of `{T}`",
    note = "element types do not mix: convert an array by `.cast::<{T}>()`, and write numbers as \
            those of the element type, `2.0` for floats and `2` for integers"
)]
pub trait Operand<T: Element> {
    /// The array.
    fn operand(self) -> Arr<T>;
}

impl<T: Element> Operand<T> for Arr<T> {
    fn operand(self) -> Arr<T> {
        self
    }
}

impl<T: Element> Operand<T> for T {
    #[track_caller]
    fn operand(self) -> Arr<T> {
        constant_array(&Array::scalar(self))
    }
}

impl<T: Element> Operand<T> for Tensor<T> {
    #[track_caller]
    fn operand(self) -> Arr<T> {
        constant_array(self.as_array())
    }
}

impl<T: Element> Operand<T> for &Tensor<T> {
    #[track_caller]
    fn operand(self) -> Arr<T> {
        constant_array(self.as_array())
    }
}

impl Operand<i64> for usize {
    #[track_caller]
    fn operand(self) -> Arr<i64> {
        match i64::try_from(self) {
            Ok(k) => k.operand(),
            Err(_) => {
                let message = format!("{self} is more than an i64 holds");
                stage::fail(Error::new(ErrorKind::Limit, "constant", message));
                Arr::nothing()
            }
        }
    }
}

impl Operand<i64> for i32 {
    #[track_caller]
    fn operand(self) -> Arr<i64> {
        i64::from(self).operand()
    }
}

/// Zeros of the given shape; `false` for bool.
#[track_caller]
pub fn zeros<T: Element>(sizes: impl crate::sizes::Sizes) -> Arr<T> {
    full(sizes, T::default())
}

/// Ones of the given shape.
#[track_caller]
pub fn ones<T: Number>(sizes: impl crate::sizes::Sizes) -> Arr<T> {
    full(sizes, T::ONE)
}

/// `x` at every position of the given shape; `x` may be an array, whose axes come last.
#[track_caller]
pub fn full<T: Element>(sizes: impl crate::sizes::Sizes, x: impl Operand<T>) -> Arr<T> {
    let sizes = sizes.sizes();
    Arr::from_raw(emit("full", &[x.operand().raw], |b, ts| {
        sizes.iter().rev().try_fold(ts[0], |t, &k| b.replicate(k, t))
    }))
}
