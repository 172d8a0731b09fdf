//! Concrete arrays: what functions are called with and what they give.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use cotan_array::{Array, ArrayError, Shape, npy};

use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::sizes::Sizes;

/// A dense array of `T` with elements. Cloning copies nothing.
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

    /// Each element by a function.
    pub fn map<U: Element>(&self, f: impl FnMut(T) -> U) -> Result<Tensor<U>> {
        Tensor::new(self.shape(), self.iter().map(f).collect())
    }

    /// The same elements in another shape.
    pub fn reshape(&self, sizes: impl Sizes) -> Result<Tensor<T>> {
        Tensor::new(sizes, self.to_vec())
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
