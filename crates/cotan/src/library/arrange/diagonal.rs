//! Diagonals and triangles of matrices.

use crate::arr::Arr;
use crate::element::{Element, Number};
use crate::library::call::library;
use crate::sizes::Sizes;

/// Ones on the diagonal and zeros elsewhere: the unit matrix of `n` rows, or a matrix of the given
/// two sizes.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| x + eye([2, 3]), ())?;
/// assert_eq!(f.call(0.0)?, Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn eye<T: Element>(sizes: impl Sizes) -> Arr<T> {
    library!("eye", eye(sizes = sizes.sizes(), dtype = T::DTYPE))
}

/// Ones on and below diagonal `k` and zeros above: 0 is the main diagonal, 1 the one above it.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| x + tri(2, 3, 0), ())?;
/// assert_eq!(f.call(0.0)?, Tensor::from([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn tri<T: Element>(rows: usize, columns: usize, k: i64) -> Arr<T> {
    library!("tri", tri(rows = rows, columns = columns, k = k, dtype = T::DTYPE))
}

impl<T: Element> Arr<T> {
    /// The elements on diagonal `k` of the matrices in the last two axes: 0 is the main diagonal, 1
    /// the one above it. A diagonal that a matrix does not have is empty.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.diagonal(0), x.diagonal(-1)), [2, 2])?;
    /// let (main, below) = f.call([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(main, Tensor::from([1.0, 4.0]));
    /// assert_eq!(below, Tensor::from([3.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn diagonal(self, k: i64) -> Arr<T> {
        library!("diagonal", diagonal(x = self, k = k))
    }

    /// The matrices in the last two axes with zeros above diagonal `k`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.tril(0), x.triu(1)), [2, 2])?;
    /// let (lower, upper) = f.call([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(lower, Tensor::from([[1.0, 0.0], [3.0, 4.0]]));
    /// assert_eq!(upper, Tensor::from([[0.0, 2.0], [0.0, 0.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn tril(self, k: i64) -> Arr<T> {
        library!("tril", tril(x = self, k = k))
    }

    /// The matrices in the last two axes with zeros below diagonal `k`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.triu(0), [2, 2])?;
    /// assert_eq!(f.call([[1.0, 2.0], [3.0, 4.0]])?, Tensor::from([[1.0, 2.0], [0.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn triu(self, k: i64) -> Arr<T> {
        library!("triu", triu(x = self, k = k))
    }
}

impl<T: Number> Arr<T> {
    /// Of a vector the matrix that has it on diagonal `k` and zeros elsewhere; of a matrix its
    /// [`diagonal`](Arr::diagonal).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.diag(0), x.diag(1).diag(1)), [2])?;
    /// let (matrix, again) = f.call([1.0, 2.0])?;
    /// assert_eq!(matrix, Tensor::from([[1.0, 0.0], [0.0, 2.0]]));
    /// assert_eq!(again, Tensor::from([1.0, 2.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn diag(self, k: i64) -> Arr<T> {
        library!("diag", diag(x = self, k = k))
    }

    /// The sum of the main diagonal of the matrices in the last two axes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.trace()).call([[1.0, 2.0], [3.0, 4.0]])?, 5.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn trace(self) -> Arr<T> {
        library!("trace", trace(a = self))
    }
}
