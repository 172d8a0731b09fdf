//! Differentiation: dual arrays and their transposition.

pub mod section2;
