//! Concrete arrays: what functions are called with and what they give.

mod arrange;
mod convert;
mod join;
mod ops;
mod positions;
mod reduce;

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use cotan_array::{Array, ArrayError, Shape, npy};

use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::sizes::Sizes;

pub use ops::Beside;
pub use positions::Positions;

/// A dense array of `T` with elements. Cloning copies nothing, and neither do views: rows, slices,
/// transposes, and reshapes of what lies in order.
///
/// ```
/// use cotan::Tensor;
///
/// let a = Tensor::new([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(a, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
/// assert_eq!((a.shape(), a.get(&[1, 0])), (&[2, 2][..], Some(3.0)));
/// assert_eq!(Tensor::from(2.5).item(), Some(2.5));
/// assert!(Tensor::new([3], vec![1.0]).is_err());
/// # Ok::<(), cotan::Error>(())
/// ```
///
/// # Arithmetic on the host
///
/// Functions of arrays are staged and compiled. For what is done beside them, such as the preparation
/// of data, tensors have arithmetic of their own, which runs at once and has no derivatives:
///
/// ```
/// use cotan::prelude::*;
/// use cotan::random::Key;
///
/// let x = Tensor::from([[1.0, 200.0], [3.0, 400.0], [5.0, 600.0]]);
/// let scaled = (&x - x.mean_axis(0)?) / x.std_axis(0, 0)?; // columns with mean 0, deviation 1
/// assert!(scaled.mean_axis(0)?.all_close(&Tensor::zeros(2)?, 0.0, 1e-12));
///
/// let order = Key::new(0).permutation(3)?; // shuffled minibatches of two rows
/// for batch in order.chunks(2) {
///     assert_eq!(scaled.take(&batch, 0)?.shape()[1], 2);
/// }
/// assert_eq!(x.slice(s![.., 0])?, Tensor::from([1.0, 3.0, 5.0]));
/// assert_eq!(x.argmax_axis(0)?, Tensor::from([2, 2]));
/// assert_eq!(x[[2, 1]], 600.0);
/// # Ok::<(), cotan::Error>(())
/// ```
///
/// Operators take tensors, references to them and numbers of the element type, on either side;
/// shapes fit as those of [`Arr`](crate::Arr) do. Methods that may fail give a `Result` that says
/// both shapes. Operators cannot: as those of other array libraries, they panic if the shapes do not
/// fit, and so does `x[[i, j]]` outside the shape. [`try_add`](Tensor::try_add) and its like, and
/// [`get`](Tensor::get), do not panic.
#[derive(Clone)]
pub struct Tensor<T> {
    array: Array,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Tensor<T> {
    /// A tensor of the given shape from its elements in row-major order. Copies nothing.
    pub fn new(sizes: impl Sizes, elements: Vec<T>) -> Result<Tensor<T>> {
        let shape = Shape::new("tensor", &sizes.sizes())?;
        Array::from_vec(shape, elements).map(Tensor::wrap).map_err(refused)
    }

    /// The tensor whose element at index `ix` is `f(ix)`.
    pub fn from_fn(sizes: impl Sizes, f: impl FnMut(&[usize]) -> T) -> Result<Tensor<T>> {
        let shape = Shape::new("tensor", &sizes.sizes())?;
        Array::from_fn(shape, f).map(Tensor::wrap).map_err(refused)
    }

    /// `x` at every position.
    pub fn full(sizes: impl Sizes, x: T) -> Result<Tensor<T>> {
        let shape = Shape::new("tensor", &sizes.sizes())?;
        Array::full(shape, x).map(Tensor::wrap).map_err(refused)
    }

    /// Zeros; `false` for bool.
    pub fn zeros(sizes: impl Sizes) -> Result<Tensor<T>> {
        Tensor::full(sizes, T::default())
    }

    /// The tensor of an array of any element type, if that is `T`.
    pub fn from_array(array: Array) -> Result<Tensor<T>> {
        if array.dtype() == T::DTYPE {
            return Ok(Tensor::wrap(array));
        }
        let message = format!("elements of type {}, not {}", array.dtype(), T::DTYPE);
        Err(Error::new(ErrorKind::Data, "tensor", message)
            .with_hint("read it as that type, or convert the array by `cast`"))
    }

    fn wrap(array: Array) -> Tensor<T> {
        Tensor { array, element: PhantomData }
    }

    /// The array without its static element type.
    pub fn as_array(&self) -> &Array {
        &self.array
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        self.array.shape().dims()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.array.rank()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.array.numel()
    }

    /// The element at an index within the shape.
    pub fn get(&self, ix: &[usize]) -> Option<T> {
        self.array.get(ix)
    }

    /// The only element of a tensor of one, whatever its rank.
    pub fn item(&self) -> Option<T> {
        self.array.item()
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.array.iter().into_iter().flatten()
    }

    /// The elements in row-major order.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }

    /// The elements in row-major order, if they lie so in memory.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.array.as_slice()
    }

    /// The elements in row-major order, to be changed. They are copied first if they do not lie so,
    /// or if another tensor shares them.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let mut a = Tensor::from([1.0, 2.0]);
    /// let before = a.clone();
    /// a.as_mut_slice()[0] = 7.0;
    /// assert_eq!((a.to_vec(), before.to_vec()), (vec![7.0, 2.0], vec![1.0, 2.0]));
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if self.array.as_mut_slice::<T>().is_none() {
            self.array = T::wrap(self.array.shape().clone(), self.to_vec());
        }
        self.array.as_mut_slice().unwrap_or_default()
    }

    /// Each element by a function.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([1.0, 4.0]).map(f64::sqrt), Tensor::from([1.0, 2.0]));
    /// ```
    pub fn map<U: Element>(&self, f: impl FnMut(T) -> U) -> Tensor<U> {
        let shape = self.array.shape().clone();
        let elements = match self.as_slice() {
            Some(elements) => elements.iter().copied().map(f).collect(),
            None => self.iter().map(f).collect(),
        };
        Tensor::wrap(U::wrap(shape, elements))
    }

    /// The elements converted to another type: floats to integers towards 0, saturating, NaN to 0;
    /// numbers to bool as `x != 0`.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([1.9, -1.9]).cast::<i64>(), Tensor::from([1, -1]));
    /// ```
    #[doc(alias = "astype")]
    pub fn cast<U: Element>(&self) -> Tensor<U> {
        self.map(U::from_element)
    }

    /// Reads a `.npy` file.
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Tensor<T>> {
        let array = npy::read_file(path).map_err(|error| file_error("read_npy", error))?;
        Tensor::from_array(array).map_err(|error| error.renamed("read_npy"))
    }

    /// Writes a `.npy` file, whole or not at all.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        npy::write_file(path, &self.array).map_err(|error| file_error("write_npy", error))
    }
}

/// An error that names its file.
pub(crate) fn file_error(op: &str, error: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Data, op, error.to_string())
}

/// An error of arrays as one of tensors.
fn refused(error: ArrayError) -> Error {
    Error::from(error).renamed("tensor")
}

impl<T: Element> PartialEq for Tensor<T> {
    fn eq(&self, other: &Tensor<T>) -> bool {
        self.shape() == other.shape() && self.iter().eq(other.iter())
    }
}

impl<T: Element> PartialEq<T> for Tensor<T> {
    /// Whether it is a scalar of this value.
    fn eq(&self, other: &T) -> bool {
        self.rank() == 0 && self.item() == Some(*other)
    }
}

impl<T: Element> fmt::Display for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.array.fmt(f)
    }
}

/// The most elements that `Debug` shows one by one.
const SHOWN: usize = 32;

impl<T: Element> fmt::Debug for Tensor<T> {
    /// On one line: the elements of a small tensor, a summary of another.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.size() == 0 || self.size() > SHOWN {
            return write!(f, "{}", self.array.summary());
        }
        write!(f, "{}{}: ", T::DTYPE, self.array.shape())?;
        let strides: Vec<usize> =
            (0..self.rank()).map(|axis| self.shape().iter().skip(axis).product()).collect();
        for (n, x) in self.iter().enumerate() {
            // Rows that end before this element, then those that begin with it.
            let begin = strides.iter().filter(|&&k| n % k == 0).count();
            if n > 0 {
                write!(f, "{}, ", "]".repeat(begin))?;
            }
            write!(f, "{}{x:?}", "[".repeat(begin))?;
        }
        write!(f, "{}", "]".repeat(self.rank()))
    }
}

impl<T: Element> From<T> for Tensor<T> {
    fn from(x: T) -> Tensor<T> {
        Tensor::wrap(Array::scalar(x))
    }
}

impl<T: Element> From<Vec<T>> for Tensor<T> {
    fn from(elements: Vec<T>) -> Tensor<T> {
        // The shape of a vector in memory always fits.
        let shape = Shape::new("tensor", &[elements.len()]).unwrap_or_else(|_| Shape::scalar());
        Tensor::wrap(T::wrap(shape, elements))
    }
}

impl<T: Element> From<&[T]> for Tensor<T> {
    fn from(elements: &[T]) -> Tensor<T> {
        elements.to_vec().into()
    }
}

impl<T: Element> From<&Tensor<T>> for Tensor<T> {
    fn from(tensor: &Tensor<T>) -> Tensor<T> {
        tensor.clone()
    }
}

macro_rules! from_nested {
    ($([$($n:ident),*] $t:ty, |$x:ident| $flat:expr;)*) => { $(
        impl<T: Element, $(const $n: usize),*> From<$t> for Tensor<T> {
            fn from($x: $t) -> Tensor<T> {
                let shape = Shape::new("tensor", &[$($n),*]).unwrap_or_else(|_| Shape::scalar());
                Tensor::wrap(T::wrap(shape, $flat))
            }
        }

        impl<T: Element, $(const $n: usize),*> From<&$t> for Tensor<T> {
            fn from(x: &$t) -> Tensor<T> {
                (*x).into()
            }
        }
    )* };
}

from_nested! {
    [N] [T; N], |x| x.to_vec();
    [N, M] [[T; M]; N], |x| x.as_flattened().to_vec();
    [N, M, K] [[[T; K]; M]; N], |x| x.as_flattened().as_flattened().to_vec();
}
