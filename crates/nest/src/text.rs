//! Plans as text that can be read back.
//!
//! ```text
//! x0: input 0 f64[3, 4]
//! y1: output f64[3]
//! nest
//!   for i0 < 3
//!   sum over i1 < 4
//!   %0 = x0[4 i0 + i1]
//!   %1 = mul(%0, %0)
//!   y1[i0] = sum %1
//! return y1
//! ```
//!
//! First come the buffers with their roles, types and shapes, then the steps, each block two spaces
//! deeper than its head, then the buffers of the results. A place `b[4 i0 + i1]` counts elements
//! from the first of the buffer, and `if 0 <= i0 - 1 < 4` behind a read says where it is not 0. A
//! place `b[[%3, i1]]` is an index by axes, in range or else read as 0, and not written. Constants
//! and affine integers stand where they are used unless that would change their positions among the
//! instructions; equal ones are one instruction. The type of an instruction is the one that follows
//! from its operands; another one is written behind its number.
//!
//! The terms that nests come from ([`Nest::source`](crate::Nest::source)) are no part of the text.

mod body;
mod line;
mod literal;
mod nest;
mod parse;
mod print;

pub use parse::ParseError;
pub use print::{Printer, Show};
