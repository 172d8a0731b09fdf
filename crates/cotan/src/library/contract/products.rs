//! Products of vectors and matrices.

use cotan_ir::broadcast_dims;

use super::{Label, Labelled, Labels, contract};
use crate::arr::{Arr, Operand};
use crate::build::build;
use crate::element::Number;
use crate::error::{Error, Result};
use crate::library::axes::{failed, fronted, reshaped, restored, settled, type_text};
use crate::ops::select;
use crate::sizes::{Axes, axes_of};
use crate::stage::{self, emit};

/// An error about two operands.
fn mismatch<T: Number>(name: &'static str, a: Arr<T>, b: Arr<T>, hint: &str) -> Error {
    let message = format!("{} and {}", type_text(a), type_text(b));
    Error::type_error(name, message).with_hint(hint)
}

/// The product of two operands over common labels of their last axes, the leading ones broadcast.
/// `own` are the labels of the last axes, and `out` those of the result after the leading axes.
fn batched<T: Number>(
    name: &'static str,
    (a, a_own): (Arr<T>, &[Label]),
    (b, b_own): (Arr<T>, &[Label]),
    out: &[Label],
    mut all: Labels,
) -> Result<Arr<T>> {
    let (a_sizes, b_sizes) = (a.shape(), b.shape());
    let (a_batch, b_batch) =
        (a_sizes.len().saturating_sub(a_own.len()), b_sizes.len().saturating_sub(b_own.len()));
    let leading = |sizes: &[usize], count: usize| sizes.iter().copied().take(count).collect();
    let (a_leading, b_leading): (Vec<usize>, Vec<usize>) =
        (leading(&a_sizes, a_batch), leading(&b_sizes, b_batch));
    let Some(common) = broadcast_dims(&a_leading, &b_leading) else {
        let hint = "leading axes fit when, from the last back, sizes are equal, 1 or missing";
        return Err(mismatch(name, a, b, hint));
    };
    let common = all.fresh_all(&common);
    let labelled = |x: Arr<T>, batch: usize, own: &[Label], all: &Labels| {
        let labels = (0..batch).map(|_| None).chain(own.iter().copied().map(Some)).collect();
        Labelled::broadcast(x, labels, 0..batch, &common, all)
    };
    let operands = vec![labelled(a, a_batch, a_own, &all), labelled(b, b_batch, b_own, &all)];
    let out: Vec<Label> = common.iter().chain(out).copied().collect();
    Ok(contract(operands, &out, &all))
}

/// The sum over pairs of axes; the result has the other axes of `a`, then those of `b`.
fn over_axes<T: Number>(
    name: &'static str,
    (a, a_axes): (Arr<T>, &[usize]),
    (b, b_axes): (Arr<T>, &[usize]),
) -> Result<Arr<T>> {
    let mut all = Labels::default();
    let (a_sizes, b_sizes) = (a.shape(), b.shape());
    let a_labels = all.fresh_all(&a_sizes);
    let mut b_labels = all.fresh_all(&b_sizes);
    let others = |axes: &[usize], labels: &[Label]| -> Vec<Label> {
        let kept = labels.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        kept.map(|(_, &label)| label).collect()
    };
    let mut out = others(a_axes, &a_labels);
    out.extend(others(b_axes, &b_labels));
    if a_axes.len() != b_axes.len() {
        let message =
            format!("{} axes of the first and {} of the second", a_axes.len(), b_axes.len());
        return Err(Error::type_error(name, message).with_hint("axes are summed in pairs"));
    }
    for (&i, &j) in a_axes.iter().zip(b_axes) {
        if a_sizes.get(i) != b_sizes.get(j) {
            let hint =
                format!("axis {i} of the first and axis {j} of the second must be of one size");
            return Err(mismatch(name, a, b, &hint));
        }
        if let (Some(&label), Some(place)) = (a_labels.get(i), b_labels.get_mut(j)) {
            *place = label;
        }
    }
    let operands = vec![Labelled { x: a, labels: a_labels }, Labelled { x: b, labels: b_labels }];
    Ok(contract(operands, &out, &all))
}

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
    let name = "tensordot";
    stage::operation(name, || {
        let a_axes = match axes_of(name, a_axes, a.rank()) {
            Ok(axes) => axes,
            Err(error) => return failed(error),
        };
        let b_axes = match axes_of(name, b_axes, b.rank()) {
            Ok(axes) => axes,
            Err(error) => return failed(error),
        };
        settled(over_axes(name, (a, &a_axes), (b, &b_axes)))
    })
}

/// Runs the body of a product, unless an error came before.
#[track_caller]
fn product<T: Number>(name: &'static str, body: impl FnOnce() -> Result<Arr<T>>) -> Arr<T> {
    stage::operation(name, || if stage::failed() { Arr::nothing() } else { settled(body()) })
}

fn identity<T: Number>(n: usize) -> Arr<T> {
    build([n, n], |[i, j]| select(i.eq(j), T::ONE, T::default()))
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
        let other = other.operand();
        product("matmul", || {
            let hint = "the last size of the first must be the last but one of the second, the only \
                        one of a vector";
            let wrong = || mismatch("matmul", self, other, hint);
            let mut all = Labels::default();
            let (a, b) = (self.shape(), other.shape());
            let (mut left, mut right, mut out) = (Vec::new(), Vec::new(), Vec::new());
            let (k, rows) = match *a {
                [k] => (k, None),
                [.., m, k] => (k, Some(m)),
                [] => return Err(wrong()),
            };
            let (other_k, columns) = match *b {
                [k] => (k, None),
                [.., k, n] => (k, Some(n)),
                [] => return Err(wrong()),
            };
            if k != other_k {
                return Err(wrong());
            }
            let summed = all.fresh(k);
            if let Some(m) = rows {
                let label = all.fresh(m);
                left.push(label);
                out.push(label);
            }
            left.push(summed);
            right.push(summed);
            if let Some(n) = columns {
                let label = all.fresh(n);
                right.push(label);
                out.push(label);
            }
            batched("matmul", (self, &left), (other, &right), &out, all)
        })
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
        let other = other.operand();
        product("dot", || {
            let (Some(last), rank @ 1..) = (self.rank().checked_sub(1), other.rank()) else {
                return Ok(self * other);
            };
            over_axes("dot", (self, &[last]), (other, &[rank.saturating_sub(2)]))
        })
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
        let other = other.operand();
        product("vecdot", || {
            let (a, b) = (self.shape(), other.shape());
            let mut all = Labels::default();
            match (a.last(), b.last()) {
                (Some(&k), Some(&other_k)) if k == other_k => {
                    let own = [all.fresh(k)];
                    batched("vecdot", (self, &own), (other, &own), &[], all)
                }
                _ => Err(mismatch("vecdot", self, other, "the last sizes must be equal")),
            }
        })
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
        let other = other.operand();
        product("inner", || {
            let last = (self.rank().checked_sub(1), other.rank().checked_sub(1));
            match last {
                (Some(i), Some(j)) => over_axes("inner", (self, &[i]), (other, &[j])),
                _ => Ok(self * other),
            }
        })
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
        product(
            "outer",
            || Ok(reshaped(self, &[self.size(), 1]) * reshaped(other, &[other.size()])),
        )
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
        let other = other.operand();
        product("kron", || {
            let rank = self.rank().max(other.rank());
            let padded = |x: Arr<T>| -> Vec<usize> {
                std::iter::repeat_n(1, rank - x.rank()).chain(x.shape()).collect()
            };
            let (a, b) = (padded(self), padded(other));
            // Axes of `a` and `b` in turn: size `a` and 1, 1 and size `b`.
            let (rows, blocks): (Vec<usize>, Vec<usize>) = (
                a.iter().flat_map(|&k| [k, 1]).collect(),
                b.iter().flat_map(|&k| [1, k]).collect(),
            );
            let sizes: Vec<usize> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
            Ok(reshaped(reshaped(self, &rows) * reshaped(other, &blocks), &sizes))
        })
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
        let other = other.operand();
        product("cross", || {
            let (a, b) = (self.shape(), other.shape());
            if a.last() != Some(&3) || b.last() != Some(&3) {
                return Err(mismatch("cross", self, other, "the last axes must have size 3"));
            }
            let (a, b) = (fronted(self, a.len() - 1), fronted(other, b.len() - 1));
            let component = |i: usize, j: usize| a.at(i) * b.at(j) - a.at(j) * b.at(i);
            let components = [component(1, 2), component(2, 0), component(0, 1)];
            let stacked: Arr<T> =
                Arr::from_raw(emit("stack", &components.map(|c| c.raw), |b, ts| b.stack(ts)));
            Ok(restored(stacked, stacked.rank().saturating_sub(1)))
        })
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
        product("matrix_power", || {
            let sizes = self.shape();
            let [.., rows, columns] = *sizes else {
                return Err(not_square("matrix_power", self));
            };
            if rows != columns {
                return Err(not_square("matrix_power", self));
            }
            let (mut result, mut square, mut rest) = (None, self, n);
            while rest > 0 {
                if rest % 2 == 1 {
                    result = Some(result.map_or(square, |result: Arr<T>| result.matmul(square)));
                }
                rest /= 2;
                if rest > 0 {
                    square = square.matmul(square);
                }
            }
            let identity = || {
                let one = identity::<T>(rows);
                Arr::from_raw(emit("identity", &[one.raw], |b, ts| b.broadcast_to(ts[0], &sizes)))
            };
            Ok(result.unwrap_or_else(identity))
        })
    }
}

/// The error of what needs square matrices.
pub(in crate::library) fn not_square<T: Number>(name: &'static str, x: Arr<T>) -> Error {
    Error::type_error(name, format!("a square matrix is needed, not {}", type_text(x)))
}
