//! Tensors from and to the arrays of the `ndarray` crate.

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, IxDyn};

use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// A tensor of the elements of an `ndarray` array or view. See also `TryFrom`, which takes an
    /// array over.
    ///
    /// ```
    /// use cotan::Tensor;
    /// use ndarray::{Array2, array};
    ///
    /// let a = array![[1.0, 2.0], [3.0, 4.0]];
    /// let columns = Tensor::from_ndarray(&a.t())?;
    /// assert_eq!(columns, Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// let back: Array2<f64> = columns.to_ndarray()?;
    /// assert_eq!(back, a.t());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn from_ndarray<S: Data<Elem = T>, D: Dimension>(
        array: &ArrayBase<S, D>,
    ) -> Result<Tensor<T>> {
        Tensor::new(array.shape(), array.iter().copied().collect())
    }

    /// An `ndarray` array of the elements, with as many axes as `D` says. An error if that is not
    /// how many there are; `IxDyn` takes any number.
    pub fn to_ndarray<D: Dimension>(&self) -> Result<Array<T, D>> {
        let refused = |message: String| Error::new(ErrorKind::Data, "to_ndarray", message);
        let dynamic = ArrayD::from_shape_vec(IxDyn(self.shape()), self.to_vec())
            .map_err(|error| refused(format!("shape {:?}: {error}", self.shape())))?;
        dynamic.into_dimensionality().map_err(|_| {
            let (found, wanted) = (self.rank(), D::NDIM.unwrap_or_default());
            refused(format!("shape {:?} has {found} axes, not {wanted}", self.shape()))
                .with_hint("ask for the number of axes it has, or for `IxDyn`, which takes any")
        })
    }
}

/// Takes the elements over, without a copy if they lie in row-major order. At most 64 axes.
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Tensor<T> {
    type Error = Error;

    fn try_from(array: Array<T, D>) -> Result<Tensor<T>> {
        if !array.is_standard_layout() {
            return Tensor::from_ndarray(&array);
        }
        let (sizes, count) = (array.shape().to_vec(), array.len());
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        // What was sliced away is still in the vector.
        elements.drain(..offset.unwrap_or(0).min(elements.len()));
        elements.truncate(count);
        Tensor::new(sizes, elements)
    }
}

/// As [`Tensor::to_ndarray`].
impl<T: Element, D: Dimension> TryFrom<Tensor<T>> for Array<T, D> {
    type Error = Error;

    fn try_from(tensor: Tensor<T>) -> Result<Array<T, D>> {
        tensor.to_ndarray()
    }
}

/// As [`Tensor::to_ndarray`].
impl<T: Element, D: Dimension> TryFrom<&Tensor<T>> for Array<T, D> {
    type Error = Error;

    fn try_from(tensor: &Tensor<T>) -> Result<Array<T, D>> {
        tensor.to_ndarray()
    }
}
