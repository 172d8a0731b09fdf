//! Arrays put together, and taken apart.

use super::access::{along, attempt, one_axis, shown};
use crate::arr::Arr;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::library::call::library;
use crate::sizes::Axes;
use crate::stage::{self, emit};

/// Arrays one after the other along an axis; all other sizes are equal.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|a: Arr<f64>, b: Arr<f64>| concat(&[a, b, a], 0), ([2], [1]))?;
/// assert_eq!(f.call(([1.0, 2.0], [3.0]))?, Tensor::from([1.0, 2.0, 3.0, 1.0, 2.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[doc(alias = "concatenate")]
#[track_caller]
pub fn concat<T: Element>(arrays: &[Arr<T>], axis: impl Axes) -> Arr<T> {
    library!("concat", concat(x = arrays, axis = axis.axes()))
}

/// Arrays of one shape along a new axis.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|a: Arr<f64>, b: Arr<f64>| stack(&[a, b], -1), ([2], [2]))?;
/// assert_eq!(f.call(([1.0, 2.0], [3.0, 4.0]))?, Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn stack<T: Element>(arrays: &[Arr<T>], axis: impl Axes) -> Arr<T> {
    attempt("stack", || {
        let first = first_of("stack", arrays)?;
        let axis = one_axis("stack", axis, first.rank() + 1)?;
        for &x in arrays {
            if x.shape() != first.shape() && !stage::failed() {
                let message = format!("arrays of two shapes: {} and {}", shown(first), shown(x));
                let hint = "all shapes must be equal; `concat` joins arrays of different lengths";
                return Err(Error::type_error("stack", message).with_hint(hint));
            }
        }
        Ok(stacked(arrays, axis))
    })
}

fn stacked<T: Element>(arrays: &[Arr<T>], axis: usize) -> Arr<T> {
    let raws: Vec<stage::Raw> = arrays.iter().map(|x| x.raw).collect();
    let outer: Arr<T> = Arr::from_raw(emit("stack", &raws, |b, ts| b.stack(ts)));
    outer.move_axis(0, axis)
}

fn first_of<T: Element>(op: &str, arrays: &[Arr<T>]) -> Result<Arr<T>> {
    arrays.first().copied().ok_or_else(|| {
        let hint = "the shape of the result is that of the arrays; `zeros` makes an empty one";
        Error::type_error(op, "no arrays to put together").with_hint(hint)
    })
}

/// Into what [`Arr::split`] divides an axis: a number of equal parts, or an array, slice or vector
/// of sizes.
pub trait Sections {
    /// The sizes of the parts of an axis of size `k`, or what is wrong.
    fn sections(&self, k: usize) -> std::result::Result<Vec<usize>, String>;
    /// The number of parts.
    fn count(&self) -> usize;
}

impl Sections for usize {
    fn sections(&self, k: usize) -> std::result::Result<Vec<usize>, String> {
        match k.checked_rem(*self) {
            Some(0) => Ok(vec![k / self; *self]),
            _ => Err(format!("a size of {k} is not {self} equal parts")),
        }
    }

    fn count(&self) -> usize {
        *self
    }
}

impl Sections for &[usize] {
    fn sections(&self, k: usize) -> std::result::Result<Vec<usize>, String> {
        let total = self.iter().fold(0, |sum: usize, &part| sum.saturating_add(part));
        match total == k {
            true => Ok(self.to_vec()),
            false => Err(format!("parts of sizes {self:?} are {total} together, not {k}")),
        }
    }

    fn count(&self) -> usize {
        self.len()
    }
}

impl<const N: usize> Sections for [usize; N] {
    fn sections(&self, k: usize) -> std::result::Result<Vec<usize>, String> {
        self.as_slice().sections(k)
    }

    fn count(&self) -> usize {
        N
    }
}

impl Sections for Vec<usize> {
    fn sections(&self, k: usize) -> std::result::Result<Vec<usize>, String> {
        self.as_slice().sections(k)
    }

    fn count(&self) -> usize {
        self.len()
    }
}

impl<T: Element> Arr<T> {
    /// The parts along an axis: that many equal ones, or ones of the given sizes. The inverse of
    /// [`concat()`].
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.split(2, 0), x.split([1, 3], 0)), [4])?;
    /// let (halves, parts) = f.call([1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(halves, [Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])]);
    /// assert_eq!(parts, [Tensor::from([1.0]), Tensor::from([2.0, 3.0, 4.0])]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn split(self, sections: impl Sections, axis: impl Axes) -> Vec<Arr<T>> {
        let parts = attempt("split", || {
            let axis = one_axis("split", axis, self.rank())?;
            let k = self.shape().get(axis).copied().unwrap_or(0);
            let sizes = sections.sections(k).map_err(|message| {
                let message = format!("along axis {axis} of {}: {message}", shown(self));
                Error::type_error("split", message)
            })?;
            let mut begin = 0;
            let mut part = |size: usize| {
                let start = begin;
                begin += size;
                along(self, axis, size, |i| i + start)
            };
            Ok(sizes.into_iter().map(&mut part).collect::<Vec<Arr<T>>>())
        });
        // After an error, as many as the caller takes apart.
        if stage::failed() { vec![Arr::nothing(); sections.count()] } else { parts }
    }

    /// The parts at each position of an axis, which they do not have any more. The inverse of
    /// [`stack`].
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.unstack(1), [2, 2])?;
    /// let columns = f.call([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(columns, [Tensor::from([1.0, 3.0]), Tensor::from([2.0, 4.0])]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn unstack(self, axis: impl Axes) -> Vec<Arr<T>> {
        attempt("unstack", || {
            let axis = one_axis("unstack", axis, self.rank())?;
            let front = self.move_axis(axis, 0);
            Ok((0..front.len()).map(|i| front.at(i)).collect())
        })
    }
}
