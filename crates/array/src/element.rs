//! The four Rust types that are element types, and the conversions between them.

use std::fmt;
use std::sync::Arc;

use crate::array::{Array, Data};
use crate::buffer::{Buffer, Lender};
use crate::{Dtype, Shape};

/// The Rust types that are element types: `f64`, `f32`, `i64` and `bool`.
///
/// The four `to_*` methods are the language's conversions. Float to integer truncates towards
/// zero and saturates, NaN becomes 0; integer to float and `f64` to `f32` round to nearest, ties
/// to even; a number is `true` when it is not 0 (so NaN is `true`); a bool is 0 or 1.
pub trait Element:
    Copy + PartialEq + PartialOrd + Default + fmt::Debug + Send + Sync + 'static + sealed::Sealed
{
    /// The element type's name in the language.
    const DTYPE: Dtype;

    /// Converts to `f64`.
    fn to_f64(self) -> f64;
    /// Converts to `f32`.
    fn to_f32(self) -> f32;
    /// Converts to `i64`.
    fn to_i64(self) -> i64;
    /// Converts to `bool`.
    fn to_bool(self) -> bool;
    /// Converts from another element type.
    fn from_element<T: Element>(x: T) -> Self;
    /// The bits of the value: equal exactly when two values are indistinguishable.
    fn bits(self) -> u64;

    #[doc(hidden)]
    fn wrap(shape: Shape, data: Vec<Self>) -> Array;
    #[doc(hidden)]
    fn lend(shape: Shape, data: Lender<Self>) -> Array;
    /// The vector behind an array, if nothing else holds it.
    #[doc(hidden)]
    fn unwrap(array: Array) -> Result<Vec<Self>, Array>;
    #[doc(hidden)]
    fn buffer(array: &Array) -> Option<&[Self]>;
    #[doc(hidden)]
    fn buffer_mut(array: &mut Array) -> Option<&mut [Self]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for i64 {}
    impl Sealed for bool {}
}

/// One row per element type: how `self` (named `x`) becomes each of the others.
macro_rules! element {
    ($t:ty, $variant:ident, $to:ident, |$x:ident| f64: $f64:expr, f32: $f32:expr, i64: $i64:expr,
     bool: $bool:expr, bits: $bits:expr) => {
        impl Element for $t {
            const DTYPE: Dtype = Dtype::$variant;
            fn to_f64(self) -> f64 {
                let $x = self;
                $f64
            }
            fn to_f32(self) -> f32 {
                let $x = self;
                $f32
            }
            fn to_i64(self) -> i64 {
                let $x = self;
                $i64
            }
            fn to_bool(self) -> bool {
                let $x = self;
                $bool
            }
            fn from_element<T: Element>(x: T) -> $t {
                x.$to()
            }
            fn bits(self) -> u64 {
                let $x = self;
                $bits
            }
            fn wrap(shape: Shape, data: Vec<Self>) -> Array {
                Array::owning(shape, Data::$variant(Arc::new(Buffer::Own(data))))
            }
            fn lend(shape: Shape, data: Lender<Self>) -> Array {
                Array::owning(shape, Data::$variant(Arc::new(Buffer::Lent(data))))
            }
            fn unwrap(array: Array) -> Result<Vec<Self>, Array> {
                let (layout, data) = array.into_parts();
                let data = match data {
                    Data::$variant(buffer) => match Arc::try_unwrap(buffer) {
                        Ok(Buffer::Own(elements)) => return Ok(elements),
                        Ok(lent) => Data::$variant(Arc::new(lent)),
                        Err(shared) => Data::$variant(shared),
                    },
                    other => other,
                };
                Err(Array::from_parts(layout, data))
            }
            fn buffer(array: &Array) -> Option<&[Self]> {
                match array.data() {
                    Data::$variant(buffer) => Some(buffer),
                    _ => None,
                }
            }
            fn buffer_mut(array: &mut Array) -> Option<&mut [Self]> {
                match array.data_mut() {
                    Data::$variant(buffer) => Arc::get_mut(buffer)?.as_mut_slice(),
                    _ => None,
                }
            }
        }
    };
}

element!(f64, F64, to_f64, |x| f64: x, f32: x as f32, i64: x as i64, bool: x != 0.0, bits: x.to_bits());
element!(f32, F32, to_f32, |x| f64: f64::from(x), f32: x, i64: x as i64, bool: x != 0.0,
    bits: u64::from(x.to_bits()));
element!(i64, I64, to_i64, |x| f64: x as f64, f32: x as f32, i64: x, bool: x != 0, bits: x as u64);
element!(bool, Bool, to_bool, |x| f64: f64::from(u8::from(x)), f32: f32::from(u8::from(x)),
    i64: i64::from(x), bool: x, bits: u64::from(x));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_to_integer_truncates_and_saturates() {
        assert_eq!((-2.9f64).to_i64(), -2);
        assert_eq!(2.9f32.to_i64(), 2);
        assert_eq!(1e30f64.to_i64(), i64::MAX);
        assert_eq!(f64::NEG_INFINITY.to_i64(), i64::MIN);
        assert_eq!(f64::NAN.to_i64(), 0);
        assert_eq!(f32::NAN.to_i64(), 0);
    }

    #[test]
    fn integer_to_f32_rounds_once() {
        // Just above the tie between two neighbouring f32 values; by way of f64 the excess is
        // lost, the tie goes to even, and the answer is 2^60.
        let x = (1i64 << 60) + (1 << 36) + 1;
        assert_eq!(x.to_f32(), 2f32.powi(60) + 2f32.powi(37));
        assert_eq!(x.to_f64() as f32, 2f32.powi(60));
    }

    #[test]
    fn to_bool_is_a_comparison_with_zero() {
        assert!(!0.0f64.to_bool() && !(-0.0f64).to_bool());
        assert!(f64::NAN.to_bool() && f64::MIN_POSITIVE.to_bool() && (-1i64).to_bool());
        assert_eq!((true.to_f64(), true.to_f32(), true.to_i64()), (1.0, 1.0, 1));
        assert_eq!((false.to_f64(), false.to_f32(), false.to_i64()), (0.0, 0.0, 0));
    }

    #[test]
    fn bits_tell_zeros_apart() {
        assert_ne!(0.0f64.bits(), (-0.0f64).bits());
        assert_ne!(0.0f32.bits(), (-0.0f32).bits());
        assert_eq!(f64::NAN.bits(), f64::NAN.bits());
        assert_eq!((-1i64).bits(), u64::MAX);
    }
}
