//! The element types: `f64`, `f32`, `i64` and `bool`, and what they have in common.

pub use cotan_array::Element;

/// The element types that can be added: `f64`, `f32` and `i64`.
pub trait Number: Element {
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
