//! The passes put together: pipelines, and derivatives of whole programs.
//!
//! # Overview
//!
//! * [`compile()`] takes a program through all passes ([`CompilePass::ALL`]) to something that runs.
//! * [`Pipeline`] is a list of named passes from program to program; the driver checks the program
//!   after each (in debug builds, or when asked) and can show every stage.
//! * [`residuals()`] says what reverse mode keeps.
//! * [`Cost`] counts the work of a program from its text, [`peak_bytes`] the memory.
//! * [`Derivative`] names the derivatives; [`derive()`] takes a program of the core language, `build`s
//!   and all, to the program of its derivative.
//!
//! ```
//! use cotan_pipeline::{Derivative, derive};
//! use cotan_array::{Dtype, Shape};
//! use cotan_ir::{Builder, Type, scalar::Op};
//!
//! // sum (build 3 (i => a[i] * a[i]))
//! let mut b = Builder::new();
//! let a = b.input("a", Type::new(Dtype::F64, Shape::new("a", &[3])?))?;
//! let squares = b.build(3, |b, i| {
//!     let x = b.index(a, &[i])?;
//!     b.op(Op::Mul, &[x, x])
//! })?;
//! let sum = b.sum_outer(squares)?;
//! let program = b.finish_one(sum)?;
//!
//! let gradient = derive(&program, Derivative::Grad, None)?;
//! assert_eq!(gradient.outputs()[0].name, "grad.a");
//! # Ok::<(), cotan_ir::Error>(())
//! ```

mod compile;
mod cost;
mod derivative;
mod peak;
mod pipeline;
mod residual;

pub use compile::{Backend, CompileOptions, CompilePass, Compiled, Form, compile, compile_to};
pub use cost::Cost;
pub use cotan_ad::Residual;
pub use derivative::{Derivative, Taylor, derive, derive_owned, derive_taylor};
pub use peak::peak_bytes;
pub use pipeline::{Pass, Pipeline, Stage};
pub use residual::residuals;
