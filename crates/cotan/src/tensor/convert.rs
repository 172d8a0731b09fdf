//! Tensors from and to the collections of Rust.

use cotan_array::Shape;

use super::Tensor;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};

/// Of rows of known length.
///
/// ```
/// use cotan::Tensor;
///
/// let points = vec![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
/// assert_eq!(Tensor::from(points).shape(), [3, 2]);
/// ```
impl<T: Element, const N: usize> From<Vec<[T; N]>> for Tensor<T> {
    fn from(rows: Vec<[T; N]>) -> Tensor<T> {
        rows.as_slice().into()
    }
}

/// Of rows of known length.
impl<T: Element, const N: usize> From<&[[T; N]]> for Tensor<T> {
    fn from(rows: &[[T; N]]) -> Tensor<T> {
        // The shape of what is in memory always fits.
        let shape = Shape::new("tensor", &[rows.len(), N]).unwrap_or_else(|_| Shape::scalar());
        Tensor::wrap(T::wrap(shape, rows.as_flattened().to_vec()))
    }
}

impl<T: Element> From<&Vec<T>> for Tensor<T> {
    fn from(elements: &Vec<T>) -> Tensor<T> {
        elements.as_slice().into()
    }
}

/// A tensor of one axis.
///
/// ```
/// use cotan::Tensor;
///
/// let squares: Tensor<i64> = (0..4).map(|i| i * i).collect();
/// assert_eq!(squares, Tensor::from([0, 1, 4, 9]));
/// ```
impl<T: Element> FromIterator<T> for Tensor<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Tensor<T> {
        elements.into_iter().collect::<Vec<T>>().into()
    }
}

/// The elements in row-major order.
impl<'a, T: Element> IntoIterator for &'a Tensor<T> {
    type Item = T;
    type IntoIter = Box<dyn Iterator<Item = T> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

/// The elements in row-major order.
impl<T: Element> From<Tensor<T>> for Vec<T> {
    fn from(tensor: Tensor<T>) -> Vec<T> {
        tensor.to_vec()
    }
}

/// The elements in row-major order.
impl<T: Element> From<&Tensor<T>> for Vec<T> {
    fn from(tensor: &Tensor<T>) -> Vec<T> {
        tensor.to_vec()
    }
}

/// What is asked for has another number of axes.
fn wrong_rank<T: Element>(tensor: &Tensor<T>, wanted: usize) -> Error {
    let axes = if tensor.rank() == 1 { "axis" } else { "axes" };
    let (own, rank) = (tensor.described(), tensor.rank());
    let message = format!("{own} has {rank} {axes}, not {wanted}");
    Error::new(ErrorKind::Data, "tensor", message)
        .with_hint("`reshape` gives it another shape, `to_vec` all elements in order")
}

/// The rows of a tensor of two axes.
///
/// ```
/// use cotan::Tensor;
///
/// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(Vec::<Vec<f64>>::try_from(&a)?, [[1.0, 2.0], [3.0, 4.0]]);
/// assert!(Vec::<Vec<f64>>::try_from(&a.flatten()).is_err());
/// # Ok::<(), cotan::Error>(())
/// ```
impl<T: Element> TryFrom<&Tensor<T>> for Vec<Vec<T>> {
    type Error = Error;

    fn try_from(tensor: &Tensor<T>) -> Result<Vec<Vec<T>>> {
        if tensor.rank() != 2 {
            return Err(wrong_rank(tensor, 2));
        }
        Ok(tensor.rows().map(|row| row.to_vec()).collect())
    }
}

/// The rows of the parts of a tensor of three axes.
impl<T: Element> TryFrom<&Tensor<T>> for Vec<Vec<Vec<T>>> {
    type Error = Error;

    fn try_from(tensor: &Tensor<T>) -> Result<Vec<Vec<Vec<T>>>> {
        if tensor.rank() != 3 {
            return Err(wrong_rank(tensor, 3));
        }
        tensor.rows().map(|part| Vec::<Vec<T>>::try_from(&part)).collect()
    }
}
