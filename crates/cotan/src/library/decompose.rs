//! Factorisations of matrices, and what is made of them.

use cotan_library::functions;

use super::call::{call_all, library};
use crate::arr::{Arr, Operand};
use crate::element::Float;

impl<T: Float> Arr<T> {
    /// The results of a function of the library that gives several arrays.
    #[track_caller]
    fn parts<const N: usize>(
        self,
        name: &'static str,
        function: &cotan_library::Function,
    ) -> [Arr<T>; N] {
        let made = call_all(name, function, vec![("a", self.into())]).unwrap_or_default();
        std::array::from_fn(|n| made.get(n).map_or_else(Arr::nothing, |&raw| Arr::from_raw(raw)))
    }

    /// The permutation matrix `p`, the lower triangular `l` with ones on its diagonal and the upper
    /// triangular `u` with `self = p l u`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (p, l, u) = jit(|a: Arr<f64>| a.lu()).call([[1.0, 4.0], [2.0, 6.0]])?;
    /// assert_eq!(p, Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    /// assert_eq!(l, Tensor::from([[1.0, 0.0], [0.5, 1.0]]));
    /// assert_eq!(u, Tensor::from([[2.0, 6.0], [0.0, 1.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn lu(self) -> (Arr<T>, Arr<T>, Arr<T>) {
        self.parts("lu", &functions::lu).into()
    }

    /// `q` and `r` with `self = q r`: the columns of `q` are orthonormal, `r` is upper triangular and
    /// its diagonal not negative. Where columns are linearly dependent, there is no derivative.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (q, r) = jit(|a: Arr<f64>| a.qr()).call([[2.0, 1.0], [0.0, 3.0]])?;
    /// assert_eq!(q, Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    /// assert_eq!(r, Tensor::from([[2.0, 1.0], [0.0, 3.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn qr(self) -> (Arr<T>, Arr<T>) {
        self.parts("qr", &functions::qr).into()
    }

    /// The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns. Only
    /// the lower triangle is read. Of each vector, the first element that is at least 9/10 of the
    /// largest is positive. Where values are equal, vectors have no derivative, and what depends on
    /// the values alone has the right one.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (values, vectors) = jit(|a: Arr<f64>| a.eigh()).call([[2.0, 0.0], [0.0, 1.0]])?;
    /// assert_eq!(values.to_vec(), [1.0, 2.0]);
    /// assert_eq!(vectors, Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn eigh(self) -> (Arr<T>, Arr<T>) {
        self.parts("eigh", &functions::eigh).into()
    }

    /// The eigenvalues of a symmetric matrix in ascending order.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let sum = grad(|a: Arr<f64>| a.eigvalsh().sum());
    /// assert_eq!(sum.call([[3.0, 0.0], [0.0, 3.0]])?, Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn eigvalsh(self) -> Arr<T> {
        library!("eigvalsh", eigvalsh(a = self))
    }

    /// `u`, the singular values `s` in descending order, and `vt` with `self = (u * s) vt`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (u, s, vt) = jit(|a: Arr<f64>| a.svd()).call([[3.0, 0.0], [0.0, 4.0]])?;
    /// assert_eq!(s.to_vec(), [4.0, 3.0]);
    /// assert_eq!((&u, &vt), (&Tensor::from([[0.0, 1.0], [1.0, 0.0]]), &u));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn svd(self) -> (Arr<T>, Arr<T>, Arr<T>) {
        self.parts("svd", &functions::svd).into()
    }

    /// The singular values in descending order.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.svdvals());
    /// assert_eq!(f.call([[3.0, 0.0], [0.0, 4.0]])?.to_vec(), [4.0, 3.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn svdvals(self) -> Arr<T> {
        library!("svdvals", svdvals(a = self))
    }

    /// The pseudoinverse; its derivative is that for matrices of the same rank.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.pinv());
    /// assert_eq!(f.call([[2.0], [0.0]])?, Tensor::from([[0.5, 0.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn pinv(self) -> Arr<T> {
        library!("pinv", pinv(a = self))
    }

    /// The `x` for which `self x` is nearest to `b`, a vector or the columns of a matrix; the smallest
    /// of the solutions if there are more columns than rows. Columns, or rows if these are fewer,
    /// must be linearly independent.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.lstsq(b));
    /// assert_eq!(f.call(([[2.0], [0.0]], [6.0, 1.0]))?.to_vec(), [3.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn lstsq(self, b: impl Operand<T>) -> Arr<T> {
        library!("lstsq", lstsq(a = self, b = b.operand()))
    }

    /// The norm of matrices: `fro`, `nuc`, `2`, `-2`, `1`, `-1`, `inf` or `-inf`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.matrix_norm("nuc"));
    /// assert_eq!(f.call([[3.0, 0.0], [0.0, 4.0]])?, 7.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn matrix_norm(self, p: &str) -> Arr<T> {
        library!("matrix_norm", matrix_norm(a = self, p = p))
    }

    /// The condition of matrices, for a norm of `matrix_norm`; for `2` the largest singular value
    /// divided by the smallest.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.cond_number("2"));
    /// assert_eq!(f.call([[3.0, 0.0], [0.0, 6.0]])?, 2.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn cond_number(self, p: &str) -> Arr<T> {
        library!("cond_number", cond_number(a = self, p = p))
    }

    /// The rank: how many singular values are not next to 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.matrix_rank());
    /// assert_eq!(f.call([[1.0, 2.0], [2.0, 4.0]])?, 1);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn matrix_rank(self) -> Arr<i64> {
        library!("matrix_rank", matrix_rank(a = self))
    }

    /// The exponential of a square matrix.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.expm());
    /// assert_eq!(f.call([[0.0, 1.0], [0.0, 0.0]])?, Tensor::from([[1.0, 1.0], [0.0, 1.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn expm(self) -> Arr<T> {
        library!("expm", expm(a = self))
    }
}
