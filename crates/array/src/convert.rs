//! Conversion between element types, and equality.

use crate::array::with_element;
use crate::memory::{DEFAULT_LIMIT, allocate};
use crate::{Array, ArrayError, Dtype, Element};

impl Array {
    /// The elements converted to another type as the language does (see [`Element`]).
    /// No copy when they are of that type already.
    pub fn cast(&self, dtype: Dtype) -> Result<Array, ArrayError> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        with_element!(self.dtype(), T => match dtype {
            Dtype::F64 => self.map("cast", T::to_f64),
            Dtype::F32 => self.map("cast", T::to_f32),
            Dtype::I64 => self.map("cast", T::to_i64),
            Dtype::Bool => self.map("cast", T::to_bool),
        })
    }

    /// Whether two arrays have the same element type, the same shape and the same bits: unlike
    /// `==` this tells 0 from -0, and a NaN equals itself.
    pub fn bits_eq(&self, other: &Array) -> bool {
        with_element!(self.dtype(), T => self.agrees(other, |x: T, y| x.bits() == y.bits()))
    }

    fn map<T: Element, U: Element>(
        &self,
        op: &'static str,
        f: impl Fn(T) -> U,
    ) -> Result<Array, ArrayError> {
        let elements = self.elements(op)?;
        let mut images = allocate(op, self.shape(), DEFAULT_LIMIT)?;
        images.extend(elements.map(f));
        Ok(U::wrap(self.shape().clone(), images))
    }

    /// Whether both are arrays of `T` of one shape whose elements are pairwise the `same`.
    fn agrees<T: Element>(&self, other: &Array, same: impl Fn(T, T) -> bool) -> bool {
        match (self.iter(), other.iter()) {
            (Some(xs), Some(ys)) => {
                self.shape() == other.shape() && xs.zip(ys).all(|(x, y)| same(x, y))
            }
            _ => false,
        }
    }
}

/// Equality by value: same element type, same shape, equal elements. As for floats, 0 = -0, and
/// an array that contains a NaN is not equal to itself.
impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        with_element!(self.dtype(), T => self.agrees(other, |x: T, y| x == y))
    }
}
