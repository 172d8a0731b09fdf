//! Reductions of tensors, each in three forms: over all elements, along axes, and along axes that
//! stay with size 1. They mean what those of [`Arr`](crate::Arr) do; sums go from the first element
//! to the last.

use super::Tensor;
use crate::element::{Element, Float, Number};
use crate::error::Result;
use crate::sizes::{Axes, axes_of};

/// A reduction along axes, of the elements that become one.
fn reduced<T: Element, U: Element>(
    op: &str,
    x: &Tensor<T>,
    axes: impl Axes,
    keep: bool,
    f: impl Fn(&[T]) -> U,
) -> Result<Tensor<U>> {
    let mut axes = axes_of(op, axes, x.rank())?;
    axes.sort_unstable();
    let rest: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let size = |axis: &usize| x.shape().get(*axis).copied().unwrap_or(1);
    let count: usize = axes.iter().map(size).product();
    let dims: Vec<usize> = match keep {
        true => (0..x.rank()).map(|k| if axes.contains(&k) { 1 } else { size(&k) }).collect(),
        false => rest.iter().map(size).collect(),
    };
    // Each element of the result is made of a run of elements that lie in order.
    let order: Vec<usize> = rest.iter().copied().chain(axes).collect();
    let inner = x.array.transpose(&order)?.contiguous()?;
    let results: usize = dims.iter().product();
    let elements: Vec<U> = match (inner.as_slice::<T>(), count) {
        (Some(elements), 1..) => elements.chunks(count).map(f).collect(),
        _ => (0..results).map(|_| f(&[])).collect(),
    };
    Tensor::new(dims, elements)
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $bound:ident $name:ident $axis:ident $keep:ident
       ($($arg:ident: $ty:ty),*) -> $all:ty, $out:ty, |$x:ident| $f:expr;)*) => { $(
        impl<T: $bound> Tensor<T> {
            $(#[$doc])*
            pub fn $name(&self, $($arg: $ty),*) -> $all {
                let f = |$x: &[T]| $f;
                match self.as_slice() {
                    Some(elements) => f(elements) as $all,
                    None => f(&self.to_vec()) as $all,
                }
            }

            #[doc = concat!("As [`", stringify!($name), "`](Tensor::", stringify!($name), "), along \
                            the given axes, which go.")]
            pub fn $axis(&self, axes: impl Axes, $($arg: $ty),*) -> Result<Tensor<$out>> {
                reduced(stringify!($axis), self, axes, false, |$x: &[T]| $f)
            }

            #[doc = concat!("As [`", stringify!($axis), "`](Tensor::", stringify!($axis), "), but the \
                            axes stay with size 1, so that the result fits the tensor.")]
            pub fn $keep(&self, axes: impl Axes, $($arg: $ty),*) -> Result<Tensor<$out>> {
                reduced(stringify!($keep), self, axes, true, |$x: &[T]| $f)
            }
        }
    )* };
}

reductions! {
    /// The sum of all elements; of none, 0.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.sum(), 10.0);
    /// assert_eq!(a.sum_axis(0)?, Tensor::from([4.0, 6.0]));
    /// assert_eq!(a.sum_keep(-1)?, Tensor::from([[3.0], [7.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number sum sum_axis sum_keep() -> T, T, |x| sum(x);
    /// The product of all elements; of none, 1.
    Number prod prod_axis prod_keep() -> T, T, |x| x.iter().fold(T::ONE, |all, &x| all.times(x));
    /// The sum of all elements divided by their number; of none, NaN.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 6.0]]).mean_axis(1)?, Tensor::from([1.5, 4.5]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float mean mean_axis mean_keep() -> T, T, |x| mean(x);
    /// The variance: the sum of the squared distances from the mean, divided by the number of
    /// elements less `ddof`. With no more than `ddof` elements it is NaN.
    Float var var_axis var_keep(ddof: usize) -> T, T, |x| var(x, ddof);
    /// The standard deviation: the square root of the [`var`](Tensor::var)iance.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([1.0, 5.0]).std(0), 2.0);
    /// ```
    Float std std_axis std_keep(ddof: usize) -> T, T, |x| T::of(libm::sqrt(var(x, ddof).to_f64()));
    /// The largest element; NaN if there is one. Of none it is -inf, of integers the least one.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([[1, 4], [3, 2]]);
    /// assert_eq!((a.max(), a.max_axis(0)?), (4, Tensor::from([3, 4])));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number max max_axis max_keep() -> T, T,
        |x| extreme(x, |x, best| x > best).map_or(T::LEAST, |(_, x)| x);
    /// The smallest element; NaN if there is one. Of none it is inf, of integers the greatest one.
    Number min min_axis min_keep() -> T, T,
        |x| extreme(x, |x, best| x < best).map_or(T::MOST, |(_, x)| x);
    /// The position of the largest element in row-major order: the first of equals, the first NaN if
    /// there is one, 0 of none. Along several axes, the position in these.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let scores = Tensor::from([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]]);
    /// let labels = Tensor::from([1, 2]);
    /// let right = scores.argmax_axis(1)?.equal(&labels)?.count_nonzero();
    /// assert_eq!(right, 1);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number argmax argmax_axis argmax_keep() -> usize, i64, |x| position(x, |x, best| x > best);
    /// The position of the smallest element, as [`argmax`](Tensor::argmax) finds the largest.
    Number argmin argmin_axis argmin_keep() -> usize, i64, |x| position(x, |x, best| x < best);
    /// How many elements are not 0; of bool, how many are true. NaN is not 0.
    Element count_nonzero count_nonzero_axis count_nonzero_keep() -> usize, i64, |x| nonzero(x);
}

fn sum<T: Number>(x: &[T]) -> T {
    x.iter().fold(T::default(), |sum, &x| sum.plus(x))
}

fn mean<T: Float>(x: &[T]) -> T {
    sum(x).over(T::of(x.len() as f64))
}

fn var<T: Float>(x: &[T], ddof: usize) -> T {
    let middle = mean(x);
    let squares = x.iter().fold(T::default(), |sum, &x| {
        let distance = x.minus(middle);
        sum.plus(distance.times(distance))
    });
    match x.len().checked_sub(ddof) {
        Some(freedom @ 1..) => squares.over(T::of(freedom as f64)),
        Some(0) | None => T::of(f64::NAN),
    }
}

/// The first element that no other is better than, a NaN before all, with its position.
fn extreme<T: Number>(x: &[T], better: impl Fn(T, T) -> bool) -> Option<(usize, T)> {
    let is_nan = |x: T| x.to_f64().is_nan();
    x.iter().copied().enumerate().reduce(|best, next| {
        let replaces = !is_nan(best.1) && (is_nan(next.1) || better(next.1, best.1));
        if replaces { next } else { best }
    })
}

fn position<T: Number>(x: &[T], better: impl Fn(T, T) -> bool) -> i64 {
    extreme(x, better).map_or(0, |(i, _)| i as i64)
}

fn nonzero<T: Element>(x: &[T]) -> i64 {
    x.iter().filter(|&&x| x.to_bool()).count() as i64
}

impl Tensor<bool> {
    /// Whether all elements are true; of none, they are.
    pub fn all(&self) -> bool {
        self.iter().all(|x| x)
    }

    /// Whether some element is true; of none, there is not.
    pub fn any(&self) -> bool {
        self.iter().any(|x| x)
    }
}
