//! Literal arrays as they stand in nodes: contiguous, compared bit by bit, one NaN.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use cotan_array::{Array, ArrayError, Dtype, Element, Shape};

/// A literal array. Two are equal when type and bits are; NaNs are made one on construction.
///
/// Behind a pointer, as it would be the largest part of a node by far.
#[derive(Clone, Debug)]
pub struct Literal(Arc<Array>);

impl Literal {
    /// A literal of an array's elements.
    pub(crate) fn new(array: &Array) -> Result<Literal, ArrayError> {
        let shape = array.shape().clone();
        Ok(Literal(Arc::new(match array.dtype() {
            Dtype::F64 => {
                let one_nan = |x: f64| if x.is_nan() { f64::NAN } else { x };
                Array::from_vec(shape, array.to_vec()?.into_iter().map(one_nan).collect())?
            }
            Dtype::F32 => {
                let one_nan = |x: f32| if x.is_nan() { f32::NAN } else { x };
                Array::from_vec(shape, array.to_vec()?.into_iter().map(one_nan).collect())?
            }
            Dtype::I64 | Dtype::Bool => array.contiguous()?,
        })))
    }

    /// Whether each element has the bits of that of another literal of the same type.
    fn same_bits(&self, other: &Literal) -> bool {
        fn all<T: Element, B: Eq>(a: &Array, b: &Array, bits: impl Fn(T) -> B) -> bool {
            let (a, b) = (a.as_slice::<T>().unwrap_or(&[]), b.as_slice::<T>().unwrap_or(&[]));
            a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| bits(x) == bits(y))
        }
        match self.0.dtype() {
            Dtype::F64 => all(&self.0, &other.0, f64::to_bits),
            Dtype::F32 => all(&self.0, &other.0, f32::to_bits),
            Dtype::I64 => all(&self.0, &other.0, |x: i64| x),
            Dtype::Bool => all(&self.0, &other.0, |x: bool| x),
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
        Arc::ptr_eq(&self.0, &other.0) || self.key() == other.key() && self.same_bits(other)
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        fn all<T: Element, H: Hasher>(array: &Array, state: &mut H, bits: impl Fn(T) -> u64) {
            array.as_slice::<T>().unwrap_or(&[]).iter().for_each(|&x| state.write_u64(bits(x)));
        }
        self.key().hash(state);
        match self.0.dtype() {
            Dtype::F64 => all(&self.0, state, f64::to_bits),
            Dtype::F32 => all(&self.0, state, |x: f32| u64::from(x.to_bits())),
            Dtype::I64 => all(&self.0, state, |x: i64| x as u64),
            Dtype::Bool => all(&self.0, state, |x: bool| u64::from(x)),
        }
    }
}
