//! Tensors put together and taken apart; tensors of ranges.

use std::borrow::Borrow;

use super::Tensor;
use super::arrange::one_axis;
use crate::element::{Element, Float, Number};
use crate::error::{Error, Result};
use crate::library::{Sections, steps};
use crate::sizes::{Axes, Sizes};

impl<T: Element> Tensor<T> {
    /// Tensors one after the other along an axis. Their other sizes are equal.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let (a, b) = (Tensor::from([[1.0, 2.0]]), Tensor::from([[3.0, 4.0], [5.0, 6.0]]));
    /// let both = Tensor::concat(&[&a, &b], 0)?;
    /// assert_eq!(both, Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]));
    /// let error = Tensor::concat(&[a, b], 1).unwrap_err();
    /// assert!(error.message().contains("[1, 2]f64 and [2, 2]f64"), "{error}");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn concat<B: Borrow<Tensor<T>>>(parts: &[B], axis: impl Axes) -> Result<Tensor<T>> {
        let first = first_of("concat", parts)?;
        let axis = one_axis("concat", axis, first.rank())?;
        let without = |tensor: &Tensor<T>| {
            let mut dims = tensor.shape().to_vec();
            (dims.len() > axis).then(|| dims.remove(axis)).map(|size| (size, dims))
        };
        let mut size: usize = 0;
        let mut fronts = Vec::with_capacity(parts.len());
        for part in parts {
            let part = part.borrow();
            let fits = match (without(first), without(part)) {
                (Some((_, a)), Some((k, b))) if a == b => Some(k),
                _ => None,
            };
            let Some(k) = fits else {
                let (a, b) = (first.described(), part.described());
                let message = format!("tensors that do not fit along axis {axis}: {a} and {b}");
                let hint = "all sizes but that of the axis must be equal";
                return Err(Error::type_error("concat", message).with_hint(hint));
            };
            size = size.saturating_add(k);
            fronts.push(part.move_axis(axis, 0)?);
        }
        let rest: Vec<usize> = without(first).map(|(_, rest)| rest).unwrap_or_default();
        let dims: Vec<usize> = std::iter::once(size).chain(rest).collect();
        let elements = fronts.iter().flat_map(Tensor::iter).collect();
        Tensor::new(dims, elements)?.move_axis(0, axis)
    }

    /// Tensors of one shape along a new axis, at this place of the result.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let (a, b) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!(Tensor::stack(&[&a, &b], 0)?, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(Tensor::stack(&[&a, &b], -1)?, Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn stack<B: Borrow<Tensor<T>>>(parts: &[B], axis: impl Axes) -> Result<Tensor<T>> {
        let first = first_of("stack", parts)?;
        let axis = one_axis("stack", axis, first.rank() + 1)?;
        for part in parts {
            let part = part.borrow();
            if part.shape() != first.shape() {
                let (a, b) = (first.described(), part.described());
                let message = format!("tensors of two shapes: {a} and {b}");
                let hint = "all shapes must be equal; `concat` joins tensors of different lengths";
                return Err(Error::type_error("stack", message).with_hint(hint));
            }
        }
        let dims: Vec<usize> =
            std::iter::once(parts.len()).chain(first.shape().iter().copied()).collect();
        let elements = parts.iter().flat_map(|part| part.borrow().iter()).collect();
        Tensor::new(dims, elements)?.move_axis(0, axis)
    }

    /// The parts along an axis: that many equal ones, or ones of the given sizes. The inverse of
    /// [`concat`](Tensor::concat).
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let parts = Tensor::from([1, 2, 3, 4, 5]).split([4, 1], 0)?;
    /// assert_eq!(parts, [Tensor::from([1, 2, 3, 4]), Tensor::from([5])]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn split(&self, sections: impl Sections, axis: impl Axes) -> Result<Vec<Tensor<T>>> {
        let axis = one_axis("split", axis, self.rank())?;
        let k = self.shape().get(axis).copied().unwrap_or(0);
        let sizes = sections.sections(k).map_err(|message| {
            let message = format!("along axis {axis} of {}: {message}", self.described());
            Error::type_error("split", message)
        })?;
        let mut begin = 0;
        let parts = sizes.into_iter().map(|size| {
            let start = begin;
            begin += size;
            Ok(Tensor::wrap(self.array.slice(axis, start, size, 1)?))
        });
        parts.collect()
    }
}

fn first_of<'a, T: Element, B: Borrow<Tensor<T>>>(
    op: &str,
    parts: &'a [B],
) -> Result<&'a Tensor<T>> {
    parts.first().map(Borrow::borrow).ok_or_else(|| {
        let hint = "the shape of the result is that of the tensors; `zeros` makes an empty one";
        Error::type_error(op, "no tensors to put together").with_hint(hint)
    })
}

impl<T: Number> Tensor<T> {
    /// Ones.
    pub fn ones(sizes: impl Sizes) -> Result<Tensor<T>> {
        Tensor::full(sizes, T::ONE)
    }

    /// The matrix with ones on its diagonal.
    pub fn eye(n: usize) -> Result<Tensor<T>> {
        Tensor::from_fn([n, n], |ix| if ix.first() == ix.last() { T::ONE } else { T::default() })
    }

    /// `start`, `start + step`, .. as far as, and without, `stop`.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::arange(0, 10, 3)?, Tensor::from([0, 3, 6, 9]));
    /// assert_eq!(Tensor::arange(1.0, 0.0, -0.5)?, Tensor::from([1.0, 0.5]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn arange(start: T, stop: T, step: T) -> Result<Tensor<T>> {
        let count = steps(start, stop, step)?;
        let mut i = -1;
        Tensor::from_fn(count, |_| {
            i += 1;
            T::from_element(i).times(step).plus(start)
        })
    }
}

impl<T: Float> Tensor<T> {
    /// `n` numbers from `start` to `stop`, both included, at equal distances.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::linspace(0.0, 1.0, 5)?, Tensor::from([0.0, 0.25, 0.5, 0.75, 1.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn linspace(start: T, stop: T, n: usize) -> Result<Tensor<T>> {
        let (a, b) = (start.to_f64(), stop.to_f64());
        let last = n.saturating_sub(1).max(1) as f64;
        Tensor::from_fn(n, |ix| match ix.first().copied().unwrap_or(0) {
            i if i > 0 && i + 1 == n => stop,
            i => T::of(a + (b - a) * (i as f64 / last)),
        })
    }
}
