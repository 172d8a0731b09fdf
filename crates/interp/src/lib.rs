//! The reference interpreter: what a program means.
//!
//! # Overview
//!
//! Written to be obviously right, not fast: every array is made, element by element, by the
//! equation that defines its former, with scalars evaluated by the rows of the scalar table. It
//! shares no code with the kernels it is compared against. `docs/semantics.md` states the corner
//! cases in words.
//!
//! * [`Interp`] runs a program on [`Value`]s and gives a [`Run`];
//! * [`Mode`] says which numbers stand for the floats: those of the types, `f32`, or a finite field
//!   in which arithmetic is exact;
//! * [`Counts`] measures the work, so that transformations can be held to "at most c times";
//! * [`OutOfRange`] and [`Poisoned`] say which indices left their arrays, and which outputs depend
//!   on what was read there.
//!
//! # Promises
//!
//! No run of a checked program fails because of the elements of its inputs: every failure is a
//! wrong input type or a limit. The native stack grows with the nesting of lambdas only.
//!
//! ```
//! use cotan_array::{Dtype, Shape};
//! use cotan_interp::{Interp, Value};
//! use cotan_ir::{Builder, Type, scalar::Op};
//!
//! // sum (build 3 (\i -> a[i] * a[i + 1])) for an array of 3: the last read is out of range.
//! let mut b = Builder::new();
//! let a = b.input("a", Type::new(Dtype::F64, Shape::new("example", &[3])?))?;
//! let one = b.scalar(1i64)?;
//! let products = b.build(3, |b, i| {
//!     let next = b.op(Op::Add, &[i, one])?;
//!     let (x, y) = (b.index(a, &[i])?, b.index(a, &[next])?);
//!     b.op(Op::Mul, &[x, y])
//! })?;
//! let sum = b.sum_outer(products)?;
//! let program = b.finish_one(sum)?;
//!
//! let run = Interp::new(&program).run(&[Value::of(&[3], vec![1.0, 2.0, 3.0])?])?;
//! assert!(run.outputs[0].same(&Value::scalar(8.0)));
//! assert_eq!(run.out_of_range[0].to_string(),
//!     "index: index [3] is outside shape [3] (read as zero; 1 in all)");
//! assert_eq!(run.poisoned[0].elements, 1);
//! // Three additions of indices, three products, three additions of the sum.
//! assert_eq!(run.counts.scalar_ops, 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod formers;
mod interp;
mod machine;
mod options;
#[cfg(test)]
mod polls;
mod position;
mod report;
mod routine;
mod tensor;
mod value;

pub use error::{Failure, InterpError, Result};
pub use interp::Interp;
pub use options::{Mode, Options};
pub use report::{Access, Counts, OutOfRange, Poisoned, Run};
pub use value::Value;
