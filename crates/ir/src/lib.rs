//! The core language.

pub mod scalar;
