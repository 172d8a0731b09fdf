//! Literal arrays as they stand in nodes: contiguous, compared bit by bit, one NaN.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

use cotan_array::{Array, ArrayError, Dtype, Shape};

/// A literal array. Two are equal when type and bits are; NaNs are made one on construction.
#[derive(Clone, Debug)]
pub struct Literal(Array);

impl Literal {
    /// A literal of an array's elements.
    pub(crate) fn new(array: &Array) -> Result<Literal, ArrayError> {
        let shape = array.shape().clone();
        Ok(Literal(match array.dtype() {
            Dtype::F64 => {
                let one_nan = |x: f64| if x.is_nan() { f64::NAN } else { x };
                Array::from_vec(shape, array.to_vec()?.into_iter().map(one_nan).collect())?
            }
            Dtype::F32 => {
                let one_nan = |x: f32| if x.is_nan() { f32::NAN } else { x };
                Array::from_vec(shape, array.to_vec()?.into_iter().map(one_nan).collect())?
            }
            Dtype::I64 | Dtype::Bool => array.contiguous()?,
        }))
    }

    /// The elements as bits, in row-major order.
    fn bits(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.0.dtype() {
            Dtype::F64 => {
                Box::new(self.0.as_slice::<f64>().unwrap_or(&[]).iter().map(|x| x.to_bits()))
            }
            Dtype::F32 => Box::new(
                self.0.as_slice::<f32>().unwrap_or(&[]).iter().map(|x| u64::from(x.to_bits())),
            ),
            Dtype::I64 => {
                Box::new(self.0.as_slice::<i64>().unwrap_or(&[]).iter().map(|&x| x as u64))
            }
            Dtype::Bool => {
                Box::new(self.0.as_slice::<bool>().unwrap_or(&[]).iter().map(|&x| u64::from(x)))
            }
        }
    }

    fn key(&self) -> (Dtype, &Shape) {
        (self.0.dtype(), self.0.shape())
    }
}

impl Deref for Literal {
    type Target = Array;
    fn deref(&self) -> &Array {
        &self.0
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.key() == other.key() && self.bits().eq(other.bits())
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        self.bits().for_each(|x| x.hash(state));
    }
}
