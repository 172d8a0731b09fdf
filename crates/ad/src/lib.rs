//! Differentiation: dual arrays and their transposition.
//!
//! # Overview
//!
//! * [`Algebra`] is the core language as a trait, with the instances [`Eager`] (arrays are values),
//!   [`Staged`] (arrays are terms), [`Dual`] (an array and a Delta) and [`Tangent`] (an array and its
//!   derivative along a direction); [`interpret`] takes a program into any of them.
//! * [`Delta`] is the second component of a dual array. [`reverse_pass`] transposes it,
//!   [`forward_pass`] runs it forwards, both over any algebra.
//! * [`vjp`], [`value_and_grad`], [`jvp`] and their relatives take a program to a program.
//! * [`fn@dual`] shows the stage between: the primal part of a program and its Delta terms.
//! * [`section2`] is the report's introduction, the algorithm on scalars.
//!
//! There is one implementation of differentiation: `Dual<Eager>` runs it, `Dual<Staged>` compiles it.

mod activity;
mod algebra;
mod custom;
mod delta;
mod derive;
mod dual;
mod eager;
pub mod fault;
mod forward;
mod map_accum;
mod partials;
mod restage;
pub mod section2;
mod staged;
mod step;
mod tangent;
mod transpose;

pub use algebra::{Algebra, Lambda, Loop, interpret};
pub use custom::{CustomFunction, DeltaCustom};
pub use delta::{Delta, DeltaId, DeltaLoop, Deltas};
pub use derive::{
    Linearized, grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, value_and_grad, vjp,
};
pub use dual::{Dual, DualArray};
pub use eager::{Eager, Table};
pub use forward::forward_pass;
pub use restage::{DeltaLine, DualProgram, dual};
pub use staged::Staged;
pub use step::Step;
pub use tangent::{Tangent, TangentArray};
pub use transpose::reverse_pass;
