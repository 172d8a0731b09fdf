//! The test kit: random programs and inputs, exact comparison, shrinking, checking of rules.
//!
//! * [`Rng`], [`for_each_case`]: seeded random numbers and properties over many seeds;
//! * [`generate`], [`Config`]: random well-typed programs;
//! * [`exact`]: which programs compute on floats without rounding.

mod cases;
pub mod exact;
mod generate;
mod rng;

pub use cases::{fail, for_each_case, scaled};
pub use generate::{Config, Data, Former, TypedOp, generate};
pub use rng::Rng;
