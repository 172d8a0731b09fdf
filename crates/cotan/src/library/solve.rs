//! Linear systems: factors, solutions, inverses, determinants.
//!
//! All are loops over the columns that update whole matrices, `O(n^3)` for matrices of size `n`, and
//! are differentiated as such: reverse mode keeps the matrix of each step. Leading axes hold several
//! matrices.

use cotan_ir::broadcast_dims;

use super::axes::{permuted, reshaped, settled, type_text};
use super::contract::not_square;
use super::control::run_loop;
use crate::arr::{Arr, Operand, iota};
use crate::build::build;
use crate::element::Float;
use crate::error::{Error, Result};
use crate::ops::select;
use crate::stage::{self, emit};

/// Applies a function of a matrix to each of the matrices that the leading axes hold.
fn each<T: Float>(
    name: &'static str,
    x: Arr<T>,
    f: impl FnOnce(Arr<T>, usize) -> Arr<T>,
) -> Result<Arr<T>> {
    let sizes = x.shape();
    match *sizes {
        [ref batch @ .., n, m] if n == m => {
            Ok(build(batch.to_vec(), |is: Vec<Arr<i64>>| f(x.at(is), n)))
        }
        _ => Err(not_square(name, x)),
    }
}

/// Applies a function of a square matrix and of a matrix of right sides to each pair of matrices that
/// the leading axes hold, broadcast. A right side of one axis is a column.
fn each_system<T: Float>(
    name: &'static str,
    a: Arr<T>,
    b: Arr<T>,
    f: impl FnOnce(Arr<T>, Arr<T>, usize) -> Arr<T>,
) -> Result<Arr<T>> {
    let (a_sizes, b_sizes) = (a.shape(), b.shape());
    let [ref a_batch @ .., n, m] = *a_sizes else { return Err(not_square(name, a)) };
    if n != m {
        return Err(not_square(name, a));
    }
    let fits = |b_batch: &[usize], rows: usize| {
        broadcast_dims(a_batch, b_batch).filter(|_| rows == n).ok_or_else(|| {
            let message =
                format!("a system {} with the right sides {}", type_text(a), type_text(b));
            let hint = "right sides are a vector, or the columns of matrices with as many rows; \
                        leading axes are broadcast";
            Error::type_error(name, message).with_hint(hint)
        })
    };
    let (batch, b, columns) = match *b_sizes {
        [rows] => (fits(&[], rows)?, reshaped(b, &[rows, 1]), None),
        [ref b_batch @ .., rows, columns] => (fits(b_batch, rows)?, b, Some(columns)),
        [] => (fits(&[], n.wrapping_add(1))?, b, None),
    };
    let spread = |x: Arr<T>, last: [usize; 2]| -> Arr<T> {
        let sizes: Vec<usize> = batch.iter().copied().chain(last).collect();
        Arr::from_raw(emit("broadcast", &[x.raw], |b, ts| b.broadcast_to(ts[0], &sizes)))
    };
    let (a, b) = (spread(a, [n, n]), spread(b, [n, columns.unwrap_or(1)]));
    let solved = build(batch.clone(), |is: Vec<Arr<i64>>| f(a.at(is.clone()), b.at(is), n));
    let sizes: Vec<usize> = batch.iter().copied().chain([n]).chain(columns).collect();
    Ok(reshaped(solved, &sizes))
}

/// Less than every absolute value.
fn minus_one<T: Float>() -> Arr<T> {
    -T::ONE.operand()
}

/// Gauss and Jordan: the columns of `b` become the solutions. In step `k` the row with the largest
/// element of column `k` comes to place `k`, and column `k` is cleared in all other rows.
fn gauss_jordan<T: Float>(a: Arr<T>, b: Arr<T>, n: usize) -> Arr<T> {
    let ((_, solution), ()) = run_loop("solve", false, (a, b), iota(n), |(a, b), k| {
        let pivot = build(n, |i| select(i.ge(k), a.at((i, k)).abs(), minus_one())).argmax();
        let head = a.at((pivot, k));
        let (a_row, b_row) = (a.at(pivot) / head, b.at(pivot) / head);
        let next = build(n, |i| {
            // Row `k` goes where the pivot was.
            let from = select(i.eq(pivot), k, i);
            let factor = a.at((from, k));
            (
                select(i.eq(k), a_row, a.at(from) - factor * a_row),
                select(i.eq(k), b_row, b.at(from) - factor * b_row),
            )
        });
        (next, ())
    });
    solution
}

/// The determinant: the product of the pivots of an elimination that takes the largest element left,
/// wherever it is. A pivot of 0 means that all that is left is 0, so also where the matrix is singular
/// the derivative of the product is that of the determinant.
fn determinant<T: Float>(a: Arr<T>, n: usize) -> Arr<T> {
    let (_, pivots) = run_loop("det", false, a, iota(n), |a, k| {
        let size =
            build([n, n], |[i, j]| select(i.ge(k) & j.ge(k), a.at((i, j)).abs(), minus_one()));
        let place = size.argmax();
        let (row, column) = (place / n, place % n);
        let swapped = |i: Arr<i64>, with: Arr<i64>| select(i.eq(k), with, select(i.eq(with), k, i));
        let a = build([n, n], |[i, j]| a.at((swapped(i, row), swapped(j, column))));
        let pivot = a.at((k, k));
        let divisor = select(pivot.eq(T::default()), T::ONE, pivot);
        let next = build([n, n], |[i, j]| {
            let cleared = a.at((i, j)) - a.at((i, k)) * a.at((k, j)) / divisor;
            select(i.gt(k), cleared, a.at((i, j)))
        });
        let even = row.eq(k).eq(column.eq(k));
        (next, select(even, pivot, -pivot))
    });
    pivots.prod()
}

/// Column `k` of the factor is what is left of column `k`, divided by the root of its head.
fn cholesky<T: Float>(a: Arr<T>, n: usize) -> Arr<T> {
    let (_, columns) = run_loop("cholesky", false, a, iota(n), |a, k| {
        let head = a.at((k, k)).sqrt();
        let column = build(n, |i| select(i.ge(k), a.at((i, k)) / head, T::default()));
        let next = build([n, n], |[i, j]| a.at((i, j)) - column.at(i) * column.at(j));
        (next, column)
    });
    permuted(columns, &[1, 0])
}

/// Row after row of the solution, from the first (or the last) on, of those found before.
fn substituted<T: Float>(a: Arr<T>, b: Arr<T>, n: usize, lower: bool) -> Arr<T> {
    let none = b * T::default();
    let (solution, ()) =
        run_loop("solve_triangular", !lower, none.stop_gradient(), iota(n), |x, k| {
            let known = |j: Arr<i64>| if lower { j.lt(k) } else { j.gt(k) };
            let done = build(n, |j| select(known(j), a.at((k, j)), T::default()) * x.at(j));
            let row = (b.at(k) - done.sum_axis(0)) / a.at((k, k));
            (build(n, |i| select(i.eq(k), row, x.at(i))), ())
        });
    solution
}

#[track_caller]
fn run<T: Float>(name: &'static str, body: impl FnOnce() -> Result<Arr<T>>) -> Arr<T> {
    stage::operation(name, || if stage::failed() { Arr::nothing() } else { settled(body()) })
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
        run("cholesky", || each("cholesky", self, cholesky))
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
        let b = b.operand();
        run("solve", || each_system("solve", self, b, gauss_jordan))
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
        let b = b.operand();
        let name = "solve_triangular";
        run(name, || each_system(name, self, b, |a, b, n| substituted(a, b, n, lower)))
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
        run("inverse", || {
            each("inverse", self, |a, n| {
                let identity = build([n, n], |[i, j]| i.eq(j).cast::<T>());
                gauss_jordan(a, identity, n)
            })
        })
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
        run("det", || each("det", self, determinant))
    }
}
