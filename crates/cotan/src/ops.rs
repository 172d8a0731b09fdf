//! Operators: array and array, array and number, number and array.

use std::iter::{Product, Sum};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use cotan_ir::broadcast_dims;
use cotan_ir::scalar::Op;

use crate::arr::{Arr, Operand};
use crate::element::{Element, Number};
use crate::stage::{self, Raw, emit};

/// An elementwise operation on arrays whose shapes fit.
#[track_caller]
pub(crate) fn elementwise(op: Op, operands: &[Raw]) -> Raw {
    elementwise_as(op.name(), op, operands)
}

/// An elementwise operation that has another name here.
#[track_caller]
fn elementwise_as(name: &'static str, op: Op, operands: &[Raw]) -> Raw {
    emit(name, operands, |b, ts| {
        let mut common: Vec<usize> = Vec::new();
        for (n, &t) in ts.iter().enumerate() {
            let Some(dims) = broadcast_dims(&common, b.shape(t).dims()) else {
                let clash = ts
                    .iter()
                    .take(n)
                    .rev()
                    .find(|&&u| broadcast_dims(b.shape(u).dims(), b.shape(t).dims()).is_none());
                let other = clash.map_or(format!("{common:?}"), |&u| b.ty(u).to_string());
                let message = format!("shapes that do not fit: {other} and {}", b.ty(t));
                let hint =
                    "shapes fit when, from the last axis back, sizes are equal, 1 or missing";
                return Err(cotan_ir::Error::type_error(name, message).with_hint(hint));
            };
            common = dims;
        }
        let mut spread = Vec::with_capacity(ts.len());
        for &t in ts {
            spread.push(b.broadcast_to(t, &common)?);
        }
        b.op(op, &spread)
    })
}

/// One implementation for everything that can stand on the right, so that Rust knows the type of
/// `i + 1` before it knows that of `1`.
macro_rules! binary {
    ($($trait:ident $method:ident $op:expr, $bound:ident: $($t:ty),*;)*) => { $(
        impl<T: $bound, O: Operand<T>> $trait<O> for Arr<T> {
            type Output = Arr<T>;
            #[track_caller]
            fn $method(self, other: O) -> Arr<T> {
                Arr::from_raw(elementwise($op, &[self.raw, other.operand().raw]))
            }
        }

        binary!(@left $trait $method: $($t => $t),*);
    )* };
    (@left $trait:ident $method:ident: $($t:ty => $element:ty),*) => { $(
        impl $trait<Arr<$element>> for $t {
            type Output = Arr<$element>;
            #[track_caller]
            fn $method(self, other: Arr<$element>) -> Arr<$element> {
                $trait::$method(Operand::<$element>::operand(self), other)
            }
        }
    )* };
}

binary! {
    Add add Op::Add, Number: f64, f32, i64;
    Sub sub Op::Sub, Number: f64, f32, i64;
    Mul mul Op::Mul, Number: f64, f32, i64;
    // The quotient; of integers rounded down, and 0 by 0.
    Div div if T::DTYPE.is_float() { Op::Div } else { Op::FloorDiv }, Number: f64, f32, i64;
    Rem rem Op::Rem, Number: f64, f32, i64;
    BitAnd bitand Op::And, Truth: bool;
    BitOr bitor Op::Or, Truth: bool;
    BitXor bitxor Op::Xor, Truth: bool;
}

binary!(@left Add add: usize => i64, i32 => i64);
binary!(@left Sub sub: usize => i64, i32 => i64);
binary!(@left Mul mul: usize => i64, i32 => i64);
binary!(@left Div div: usize => i64, i32 => i64);
binary!(@left Rem rem: usize => i64, i32 => i64);

/// The element type of truth values: `bool`.
pub trait Truth: Element {}
impl Truth for bool {}

impl<T: Number> Neg for Arr<T> {
    type Output = Arr<T>;
    #[track_caller]
    fn neg(self) -> Arr<T> {
        Arr::from_raw(elementwise(Op::Neg, &[self.raw]))
    }
}

impl Not for Arr<bool> {
    type Output = Arr<bool>;
    #[track_caller]
    fn not(self) -> Arr<bool> {
        Arr::from_raw(elementwise(Op::Not, &[self.raw]))
    }
}

impl<T: Number> Sum for Arr<T> {
    /// The sum of arrays, element by element; of none, 0.
    fn sum<I: Iterator<Item = Arr<T>>>(mut arrays: I) -> Arr<T> {
        match arrays.next() {
            // Iterators do not tell who called them.
            Some(first) => arrays.fold(first, |sum, a| stage::unplaced("sum", || sum + a)),
            None => T::default().operand(),
        }
    }
}

impl<T: Number> Product for Arr<T> {
    /// The product of arrays, element by element; of none, 1.
    fn product<I: Iterator<Item = Arr<T>>>(mut arrays: I) -> Arr<T> {
        match arrays.next() {
            Some(first) => arrays.fold(first, |all, a| stage::unplaced("product", || all * a)),
            None => T::ONE.operand(),
        }
    }
}

macro_rules! comparisons {
    ($($method:ident $op:ident $doc:literal;)*) => {
        impl<T: Element> Arr<T> { $(
            #[doc = $doc]
            #[track_caller]
            pub fn $method(self, other: impl Operand<T>) -> Arr<bool> {
                Arr::from_raw(elementwise(Op::$op, &[self.raw, other.operand().raw]))
            }
        )* }
    };
}

comparisons! {
    lt Lt "Where `self < other`.";
    le Le "Where `self <= other`.";
    gt Gt "Where `self > other`.";
    ge Ge "Where `self >= other`.";
    eq Eq "Where `self == other`; NaN is equal to nothing.";
    ne Ne "Where `self != other`.";
}

/// `a` where `mask` holds, `b` elsewhere, element by element. The derivative passes exactly nothing
/// to what is not chosen.
///
/// ```
/// use cotan::prelude::*;
///
/// // The logarithm of 0 is never reached, and neither is its derivative.
/// let f = |x: Arr<f64>| select(x.gt(0.0), x.log(), 0.0).sum();
/// let (y, dx) = value_and_grad(f).call([0.0, 1.0, 2.0])?;
/// assert_eq!(y, 2f64.ln());
/// assert_eq!(dx.to_vec(), [0.0, 1.0, 0.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[doc(alias = "where")]
#[track_caller]
pub fn select<T: Element>(
    mask: impl Operand<bool>,
    a: impl Operand<T>,
    b: impl Operand<T>,
) -> Arr<T> {
    let operands = [mask.operand().raw, a.operand().raw, b.operand().raw];
    Arr::from_raw(elementwise_as("select", Op::Select, &operands))
}
