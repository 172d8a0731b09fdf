//! Section 2 of the report: reverse mode on scalars, an introduction to this crate.
//!
//! # The problem
//!
//! Given a program that computes a number from numbers, compute the derivative of the result by
//! each input: the gradient. Running a derivative *forwards* takes one run for each input;
//! *reverse mode* takes one run in all, at a small multiple of the cost of the program. The
//! algorithm here is the one that the rest of the crate lifts from scalars to arrays, on a language
//! small enough to see it whole: a lambda calculus with pairs, functions and recursion
//! ([`syntax`], [`types`]).
//!
//! # Dual numbers
//!
//! The code transformation [`transform`] pairs every number with a description of its derivative,
//! a term of type [`Delta`](delta::Delta):
//!
//! ```text
//! D[sin t]  =  let (x, d) = D[t] in (sin x, Scale (cos x) d)
//! D[s * t]  =  let (x1, d1) = D[s]; (x2, d2) = D[t] in (x1 * x2, Add (Scale x2 d1) (Scale x1 d2))
//! ```
//!
//! The transformed program computes what the program computed, in the same order, and leaves a
//! Delta term behind: a record of the linear map that the derivative is. If
//! `D[f] ((v1, Input 1), .., (vn, Input n)) = (r, d)`, then `r` is the value, and to evaluate `d`
//! in a direction is to differentiate in it: `eval_0 d e = grad f . e`.
//!
//! # From forward to reverse
//!
//! The evaluators of [`eval`] go from the obvious one to reverse mode in three steps, each an
//! optimisation of the one before: all directions at once (`eval_1`), in one vector (`eval_2`), with
//! the factors carried along (`eval_3`). The last one multiplies from the result towards the inputs.
//! What it carries is the *cotangent*: how the result changes with the number at hand.
//!
//! # Sharing
//!
//! `let x1 = x + x; x2 = x1 + x1; ..` makes a Delta term that is small in memory and exponentially
//! large as a tree ([`examples::doublings`]). So each operation gives its Delta term an id,
//! `Share i d`, and [`reverse_pass`] takes up the parts from the highest id to the lowest, adding up
//! the cotangents that arrive at each: *sharing in the primal becomes addition in the dual*.
//!
//! # The whole
//!
//! [`wrapper`] puts these together:
//!
//! ```
//! use cotan_ad::section2::{examples, wrapper::wrapper};
//!
//! // 2^60 x, whose Delta term has 2^60 paths.
//! let (value, gradient) = wrapper("x", &examples::doublings(60), &1.0.into(), 1.0)?;
//! assert_eq!(value, 2f64.powi(60));
//! assert_eq!(gradient.to_string(), format!("{:?}", 2f64.powi(60)));
//! # Ok::<(), cotan_ad::section2::error::Error>(())
//! ```
//!
//! The limits of the algorithm are the reason for the rest of the crate. It records every single
//! scalar operation, so it is slow on arrays; and what it computes is a gradient, not a program that
//! computes gradients, so nothing can be optimised before the numbers are known. It is also an
//! [`oracle`]: being so simple, and sharing nothing with the array algorithm but the table of scalar
//! operations, it says what that one must compute.
//!
//! # Corrections
//!
//! Three rules of the section are not as printed; each is explained where it stands: the `Scale`
//! case of [`eval::eval_2`], the `else` branch of [`transform::transform`], and the lookup in
//! [`wrapper::reconstruct`].

pub mod delta;
pub mod error;
pub mod eval;
pub mod examples;
pub mod extent;
pub mod oracle;
pub mod reverse_pass;
pub mod run;
pub mod syntax;
#[cfg(test)]
mod tests;
pub mod transform;
pub mod types;
pub mod value;
pub mod wrapper;
