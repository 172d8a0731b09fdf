//! Diagonals and triangles of matrices.

use super::access::{affine, at_least, attempt, column, gathered, scattered, shown};
use crate::arr::{Arr, iota};
use crate::element::{Element, Number};
use crate::error::Error;
use crate::ops::select;
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
    attempt("eye", || match *sizes.sizes() {
        [n] => Ok(differences(n, n).eq(0).cast()),
        [n, m] => Ok(differences(n, m).eq(0).cast()),
        ref sizes => {
            let message = format!("one or two sizes are needed, not {sizes:?}");
            Err(Error::type_error("eye", message))
        }
    })
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
    attempt("tri", || Ok(differences(rows, columns).le(k).cast()))
}

/// The number of the diagonal that each element of a matrix lies on.
fn differences(rows: usize, columns: usize) -> Arr<i64> {
    iota(columns) - column(iota(rows), 1)
}

/// Where diagonal `k` begins: row and column.
fn corner(k: i64) -> (i64, i64) {
    (k.min(0).saturating_neg(), k.max(0))
}

fn extent(k: i64) -> usize {
    usize::try_from(k).unwrap_or(usize::MAX)
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
        attempt("diagonal", || {
            at_least("diagonal", self, 2)?;
            let dims = self.shape();
            let [batch @ .., rows, columns] = dims.as_slice() else { return Ok(Arr::nothing()) };
            let (row, col) = corner(k);
            let length = rows.saturating_sub(extent(row)).min(columns.saturating_sub(extent(col)));
            let sizes: Vec<usize> = batch.iter().copied().chain([length]).collect();
            Ok(gathered(self, &sizes, |is| match is {
                [before @ .., i] => {
                    before.iter().copied().chain([affine(*i, 1, row), affine(*i, 1, col)]).collect()
                }
                [] => Vec::new(),
            }))
        })
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
        attempt("tril", || {
            at_least("tril", self, 2)?;
            Ok(self.triangle(|diagonal| diagonal.le(k)))
        })
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
        attempt("triu", || {
            at_least("triu", self, 2)?;
            Ok(self.triangle(|diagonal| diagonal.ge(k)))
        })
    }

    fn triangle(self, kept: impl FnOnce(Arr<i64>) -> Arr<bool>) -> Arr<T> {
        match *self.shape() {
            [.., rows, columns] => select(kept(differences(rows, columns)), self, T::default()),
            _ => Arr::nothing(),
        }
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
        attempt("diag", || match *self.shape() {
            [length] => {
                let (row, col) = corner(k);
                let n = length.saturating_add(extent(row.max(col)));
                let place = |is: &[Arr<i64>]| match is {
                    [i] => vec![affine(*i, 1, row), affine(*i, 1, col)],
                    _ => Vec::new(),
                };
                Ok(scattered(&[n, n], self, &[length], place))
            }
            [_, _] => Ok(self.diagonal(k)),
            _ => {
                let message = format!("a vector or a matrix is needed, not {}", shown(self));
                let hint = "`diagonal` takes those of all matrices in the last two axes";
                Err(Error::type_error("diag", message).with_hint(hint))
            }
        })
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
        attempt("trace", || {
            at_least("trace", self, 2)?;
            Ok(self.diagonal(0).sum_axis(-1))
        })
    }
}
