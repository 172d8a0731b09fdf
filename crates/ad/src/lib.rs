//! Differentiation: dual arrays and their transposition.
//!
//! # Overview
//!
//! * [`Algebra`] is the core language as a trait, with the instances [`Eager`] (arrays are values),
//!   [`Staged`] (arrays are terms), [`Dual`] (an array and a Delta), [`Tangent`] (an array and its
//!   derivative along a direction) and [`Series`] (an array and its Taylor coefficients); [`interpret`] takes a program into any of them.
//! * [`Delta`] is the second component of a dual array. [`reverse_pass`] transposes it,
//!   [`forward_pass`] runs it forwards, both over any algebra.
//! * [`vjp`], [`value_and_grad`], [`jvp`] and their relatives take a program to a program.
//! * [`residuals()`] says what a reverse pass keeps of the forward pass.
//! * [`fn@dual`] shows the stage between: the primal part of a program and its Delta terms.
//! * [`section2`] is the report's introduction, the algorithm on scalars.
//!
//! There is one implementation of differentiation: `Dual<Eager>` runs it, `Dual<Staged>` compiles it.
//!
//! # Guarantees
//!
//! Each is a test of this crate (`tests/derivatives`), and `record/` holds what was measured.
//!
//! * **Derivatives are exact.** Reverse mode, forward mode, the Delta run forwards, the eager
//!   algebras and the scalars of [`section2`] on the program as it was written give the same
//!   elements of a finite field, on random programs of all formers and operations.
//! * **Derivatives are programs.** They print and parse back, run, stand under `build`, and are
//!   differentiated again in any order of modes; Hessians are symmetric.
//! * **Zero annihilates.** A cotangent or tangent of exactly 0 gives exactly 0 however infinite or
//!   undefined the partial derivative is, to any order. A branch that was not taken adds nothing.
//! * **Derivatives stay small.** [`vjp`] makes at most 8 nodes for each node of the program, and at most
//!   80 for a factorisation of a matrix: what is
//!   shared is differentiated once, nested loops add up (to the square of their depth at most), and
//!   many reads of one array become one scatter. Time and memory are linear, and the stack is that
//!   of the nesting of loops.
//! * **Derivatives are cheap to run.** Value and gradient take at most five times the operations of
//!   the program, on all examples. A loop inside a loop is run again for its states, once for each
//!   level. A `while` without a bound is run once more for its states up to [`CHECKPOINTS`] steps,
//!   and twice up to their square, with memory for twice as many states.
//! * **Checkpoints change memory and time only.** Values and derivatives of a part of a program under
//!   any policy are those of the part, exactly.
//! * **What has no derivative has none.** Integers and truth values are data: a gradient has no entry
//!   for an integer input, and what is computed through one passes nothing on. A gradient that is
//!   zero everywhere is zeros of the type of its input.

mod activity;
mod algebra;
mod binomial;
mod checkpoint;
mod custom;
mod cut;
mod delta;
mod derive;
mod dual;
mod eager;
mod forward;
mod guard;
mod implicit;
mod laplace;
mod linear;
mod map_accum;
mod partials;
pub mod pattern;
mod restage;
mod routine;
pub mod section2;
mod series;
mod slots;
mod staged;
mod step;
mod tangent;
mod trace;
mod transpose;
mod unroll;
mod while_loop;
mod while_transpose;

pub use algebra::{Algebra, Lambda, Loop, interpret};
pub use binomial::Rerun;
pub use checkpoint::CheckpointPart;
pub use custom::{CustomFunction, DeltaCustom};
pub use delta::{Delta, DeltaId, DeltaLoop, Deltas};
pub use derive::{
    Linearized, MOST_ORDER, Residual, grad, hessian, hvp, jacfwd, jacobian, jacrev, jet, jvp,
    laplacian, linearize, residuals, split_vjp, value_and_grad, vjp,
};
pub use dual::{Dual, DualArray};
pub use eager::{Eager, Table};
pub use forward::forward_pass;
pub use linear::Linear;
pub use restage::{DeltaLine, DualProgram, dual};
pub use series::{Series, SeriesId};
#[cfg(feature = "slots")]
pub use slots::with_slots;
pub use staged::Staged;
pub use step::Step;
pub use tangent::{Tangent, TangentArray};
pub use trace::{NonFinite, Origin, trace_nan};
pub use transpose::reverse_pass;
pub use while_loop::{DeltaWhile, WhileLoop};
pub use while_transpose::CHECKPOINTS;
