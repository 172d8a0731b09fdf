//! Linear systems: factors, solutions, inverses, determinants.
//!
//! They are made of the routines of the core language, whose derivatives are closed forms. Leading
//! axes hold several matrices.

use cotan_ir::{Builder, TermId};

use super::call::library;
use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::stage::{self, emit};

#[track_caller]
fn emitted<T: Float>(
    name: &'static str,
    operands: &[Arr<T>],
    f: impl FnOnce(&mut Builder, &[TermId]) -> cotan_ir::Result<TermId>,
) -> Arr<T> {
    let raws: Vec<_> = operands.iter().map(|operand| operand.raw).collect();
    stage::operation(name, || match stage::failed() {
        true => Arr::nothing(),
        false => Arr::from_raw(emit(name, &raws, f)),
    })
}

impl<T: Float> Arr<T> {
    /// The lower triangular matrix `l` with `l l^T = self`, for a symmetric positive definite matrix.
    /// Only its lower triangle is read, and gets a derivative. If it is not positive definite, there
    /// are NaNs.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.cholesky());
    /// let l = f.call([[4.0, 2.0], [2.0, 10.0]])?;
    /// assert_eq!(l, Tensor::from([[2.0, 0.0], [1.0, 3.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn cholesky(self) -> Arr<T> {
        emitted("cholesky", &[self], |b, ts| b.cholesky(ts[0]))
    }

    /// The solution `x` of `self x = b`, for a vector or the columns of a matrix `b`, by elimination
    /// with row pivots. For a singular matrix there are infinities or NaNs.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.solve(b));
    /// assert_eq!(f.call(([[0.0, 2.0], [4.0, 0.0]], [2.0, 12.0]))?.to_vec(), [3.0, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn solve(self, b: impl Operand<T>) -> Arr<T> {
        emitted("solve", &[self, b.operand()], |b, ts| b.solve(ts[0], ts[1]))
    }

    /// The solution `x` of `self x = b` for a triangular matrix, of which only the lower (or upper)
    /// triangle is read.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.solve_triangular(b, true));
    /// assert_eq!(f.call(([[2.0, 9.0], [1.0, 4.0]], [2.0, 9.0]))?.to_vec(), [1.0, 2.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn solve_triangular(self, b: impl Operand<T>, lower: bool) -> Arr<T> {
        emitted("solve_triangular", &[self, b.operand()], |b, ts| {
            b.solve_triangular(ts[0], ts[1], lower)
        })
    }

    /// The inverse of a square matrix. To solve systems, [`solve`](Arr::solve) is better. For a
    /// singular matrix there are infinities or NaNs.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.inverse());
    /// assert_eq!(f.call([[2.0, 0.0], [0.0, 4.0]])?, Tensor::from([[0.5, 0.0], [0.0, 0.25]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn inverse(self) -> Arr<T> {
        emitted("inverse", &[self], |b, ts| b.inverse(ts[0]))
    }

    /// The determinant of a square matrix; of none, 1. Its derivative is right also where it is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, da) = value_and_grad(|a: Arr<f64>| a.det()).call([[1.0, 2.0], [2.0, 4.0]])?;
    /// assert_eq!((y.item(), da), (Some(0.0), Tensor::from([[4.0, -2.0], [-2.0, 1.0]])));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn det(self) -> Arr<T> {
        library!("det", det(a = self))
    }

    /// The solution `x` of `a x = b`, where `self` is `a.cholesky()`.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>, b: Arr<f64>| a.cholesky().cholesky_solve(b));
    /// assert_eq!(f.call(([[4.0, 2.0], [2.0, 10.0]], [8.0, 22.0]))?.to_vec(), [1.0, 2.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn cholesky_solve(self, b: impl Operand<T>) -> Arr<T> {
        emitted("cholesky_solve", &[self, b.operand()], |b, ts| b.cholesky_solve(ts[0], ts[1]))
    }

    /// The sign of the determinant and the logarithm of its absolute value, which does not overflow.
    /// For a singular matrix 0 and minus infinity.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|a: Arr<f64>| a.slogdet());
    /// let (sign, log) = f.call([[0.0, 2.0], [4.0, 0.0]])?;
    /// assert_eq!((sign.item(), log.item()), (Some(-1.0), Some(8.0f64.ln())));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn slogdet(self) -> (Arr<T>, Arr<T>) {
        let part = |first: bool| {
            emitted("slogdet", &[self], move |b, ts| {
                let (sign, log) = b.slogdet(ts[0])?;
                Ok(if first { sign } else { log })
            })
        };
        (part(true), part(false))
    }
}
