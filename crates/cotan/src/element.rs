//! The element types: `f64`, `f32`, `i64` and `bool`, and what they have in common.

pub use cotan_array::Element;

/// The element types that can be added: `f64`, `f32` and `i64`.
pub trait Number: Element + Arithmetic {
    /// One.
    const ONE: Self;
    /// What every number is at least.
    const LEAST: Self;
    /// What every number is at most.
    const MOST: Self;
    /// The number nearest to a float.
    fn of(x: f64) -> Self;
}

/// The element types that can be differentiated: `f64` and `f32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a float: only `f64` and `f32` have derivatives",
    label = "`f64` or `f32` is needed, not `{Self}`"
)]
pub trait Float: Number {}

/// Arithmetic on single elements, with the meaning that it has in programs: integers wrap, quotients
/// and remainders of integers are rounded down and 0 by 0, remainders of floats have the sign of the
/// divisor.
pub trait Arithmetic: Sized {
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// `self / other`.
    fn over(self, other: Self) -> Self;
    /// `self % other`.
    fn modulo(self, other: Self) -> Self;
    /// `-self`.
    fn negated(self) -> Self;
}

macro_rules! float_arithmetic {
    ($($t:ty)*) => { $(
        impl Arithmetic for $t {
            fn plus(self, other: $t) -> $t {
                self + other
            }
            fn minus(self, other: $t) -> $t {
                self - other
            }
            fn times(self, other: $t) -> $t {
                self * other
            }
            fn over(self, other: $t) -> $t {
                self / other
            }
            fn modulo(self, other: $t) -> $t {
                let rem = self % other;
                match rem != 0.0 && (rem < 0.0) != (other < 0.0) {
                    true => rem + other,
                    false => rem,
                }
            }
            fn negated(self) -> $t {
                -self
            }
        }
    )* };
}

float_arithmetic! { f64 f32 }

impl Arithmetic for i64 {
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
    fn minus(self, other: i64) -> i64 {
        self.wrapping_sub(other)
    }
    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
    fn over(self, other: i64) -> i64 {
        if other == 0 {
            return 0;
        }
        let quotient = self.wrapping_div(other);
        let inexact = self.wrapping_rem(other) != 0;
        if inexact && (self < 0) != (other < 0) { quotient - 1 } else { quotient }
    }
    fn modulo(self, other: i64) -> i64 {
        if other == 0 {
            return 0;
        }
        let rem = self.wrapping_rem(other);
        if rem != 0 && (rem < 0) != (other < 0) { rem + other } else { rem }
    }
    fn negated(self) -> i64 {
        self.wrapping_neg()
    }
}

impl Number for f64 {
    const ONE: f64 = 1.0;
    const LEAST: f64 = f64::NEG_INFINITY;
    const MOST: f64 = f64::INFINITY;
    fn of(x: f64) -> f64 {
        x
    }
}

impl Number for f32 {
    const ONE: f32 = 1.0;
    const LEAST: f32 = f32::NEG_INFINITY;
    const MOST: f32 = f32::INFINITY;
    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Number for i64 {
    const ONE: i64 = 1;
    const LEAST: i64 = i64::MIN;
    const MOST: i64 = i64::MAX;
    fn of(x: f64) -> i64 {
        x as i64
    }
}

impl Float for f64 {}
impl Float for f32 {}
