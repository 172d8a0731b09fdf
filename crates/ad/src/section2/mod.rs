//! Section 2 of the report: the scalar algorithm.

pub mod delta;
pub mod eval;
pub mod oracle;
pub mod reverse_pass;
