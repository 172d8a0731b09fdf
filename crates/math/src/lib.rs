//! Elementary functions, written once for scalars, vector loops and code generators.
//!
//! Each function is a formula without branches over the operations of a [`Machine`]. Evaluated with
//! [`Double`] or [`Single`] it gives one element; in a loop compiled for a vector instruction set
//! the same code becomes vector instructions; a machine that records its operations turns it into a
//! program. All give the same bits.

#![deny(missing_docs)]

mod arith;
pub mod double;
mod formulas;
mod function;
mod machine;
pub mod single;

pub use function::{Binary, Reduced, Unary};
pub use machine::{Double, Machine, Precision, Rounded, Single};
