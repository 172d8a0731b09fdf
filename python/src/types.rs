//! From element types that are known at run time to those of the library.

use cotan::Arr;
use cotan::untyped::AnyArr;

/// Runs the body with `$t` standing for an element type: `any`, or the one that `number` or `float`
/// makes of it.
macro_rules! with_types {
    (any $dtype:expr, $t:ident => $body:expr) => {
        with_types!(@ $dtype, $t => $body, [F64] f64, [F32] f32, [I64] i64, [Bool] bool)
    };
    (number $dtype:expr, $t:ident => $body:expr) => {
        with_types!(@ $dtype, $t => $body, [F64] f64, [F32] f32, [I64 Bool] i64)
    };
    (float $dtype:expr, $t:ident => $body:expr) => {
        with_types!(@ $dtype, $t => $body, [F64 I64 Bool] f64, [F32] f32)
    };
    (@ $dtype:expr, $t:ident => $body:expr, $([$($dtypes:ident)+] $type:ty),+) => {
        match $dtype {
            $($(cotan_array::Dtype::$dtypes)|+ => {
                type $t = $type;
                $body
            })+
        }
    };
}

pub(crate) use with_types;

/// The array of an element type, which is the one it has.
pub(crate) fn typed<T: cotan::Element>(x: AnyArr) -> Arr<T> {
    x.typed().unwrap_or_else(|| unreachable!("an array of {}", x.dtype()))
}
