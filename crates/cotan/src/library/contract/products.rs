//! Products of vectors and matrices.

use crate::arr::{Arr, Operand};
use crate::element::Number;
use crate::library::call::library;
use crate::sizes::Axes;

/// The sum of products over pairs of axes: axis `n` of `a_axes` runs with axis `n` of `b_axes`. The
/// result has the other axes of `a`, then those of `b`.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|a: Arr<f64>, b: Arr<f64>| tensordot(a, b, 0, 1));
/// let y = f.call(([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [1.0, 1.0]]))?;
/// assert_eq!(y.to_vec(), [1.0, 4.0, 2.0, 6.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn tensordot<T: Number>(a: Arr<T>, b: Arr<T>, a_axes: impl Axes, b_axes: impl Axes) -> Arr<T> {
    let (a_axes, b_axes) = (a_axes.axes(), b_axes.axes());
    library!("tensordot", tensordot(a = a, b = b, a_axes = a_axes, b_axes = b_axes))
}

impl<T: Number> Arr<T> {
    /// The product of matrices: over the last axis of the first and the last but one of the second.
    /// Leading axes are broadcast. A vector on the left is a row, on the right a column, and that
    /// axis goes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, x: Arr<f64>| a.matmul(x));
    /// assert_eq!(f.call(([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]))?.to_vec(), [21.0, 43.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul(self, other: impl Operand<T>) -> Arr<T> {
        library!("matmul", matmul(a = self, b = other.operand()))
    }

    /// The product as in numpy: with a scalar elementwise, else over the last axis of the first and
    /// the last but one (the only one of a vector) of the second, for all other axes of both. Of two
    /// vectors it is their scalar product, of two matrices their product.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.dot(b));
    /// assert_eq!(f.call(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))?, 32.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn dot(self, other: impl Operand<T>) -> Arr<T> {
        library!("dot", dot(a = self, b = other.operand()))
    }

    /// The scalar product along the last axes, which must be of one size; leading axes are broadcast.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.vecdot(b));
    /// assert_eq!(f.call(([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]))?.to_vec(), [21.0, 43.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn vecdot(self, other: impl Operand<T>) -> Arr<T> {
        library!("vecdot", vecdot(a = self, b = other.operand()))
    }

    /// The sum of products over the last axes of both, for all other axes of both. With a scalar it
    /// is elementwise.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.inner(b));
    /// let a = [[1.0, 2.0], [3.0, 4.0]];
    /// assert_eq!(f.call((a, a))?.to_vec(), [5.0, 11.0, 11.0, 25.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn inner(self, other: impl Operand<T>) -> Arr<T> {
        library!("inner", inner(a = self, b = other.operand()))
    }

    /// The matrix of the products of each element of the first with each of the second, both taken as
    /// vectors.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.outer(b));
    /// assert_eq!(f.call(([1.0, 2.0], [3.0, 4.0]))?, Tensor::from([[3.0, 4.0], [6.0, 8.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn outer(self, other: Arr<T>) -> Arr<T> {
        library!("outer", outer(a = self, b = other))
    }

    /// The Kronecker product: each element of the first times the second, as blocks. An array of
    /// fewer axes gets leading ones of size 1.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.kron(b));
    /// assert_eq!(f.call(([1.0, 10.0], [1.0, 2.0, 3.0]))?.to_vec(), [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn kron(self, other: impl Operand<T>) -> Arr<T> {
        library!("kron", kron(a = self, b = other.operand()))
    }

    /// The cross product of vectors of three along the last axes; leading axes are broadcast.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.cross(b));
    /// assert_eq!(f.call(([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))?.to_vec(), [0.0, 0.0, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn cross(self, other: impl Operand<T>) -> Arr<T> {
        library!("cross", cross(a = self, b = other.operand()))
    }

    /// The product of a square matrix with itself, `n` times; the identity for 0. Leading axes hold
    /// several matrices. It takes about `2 log2 n` products.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<i64>| a.matrix_power(10));
    /// assert_eq!(f.call([[1, 1], [1, 0]])?, Tensor::from([[89, 55], [55, 34]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn matrix_power(self, n: u32) -> Arr<T> {
        library!("matrix_power", matrix_power(a = self, n = n))
    }
}
