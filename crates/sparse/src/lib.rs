//! Sparse Jacobians and Hessians.
//!
//! # Overview
//!
//! A Jacobian with few entries in each row need not be computed column by column. Columns that have no
//! row in common can be computed together, as one product with the sum of their unit vectors, and the
//! entries are read off the product. So a sparse derivative takes four steps:
//!
//! 1. the [`Pattern`], from the index functions of the program ([`cotan_ad::pattern`]);
//! 2. a [`Coloring`] that gives columns of one product one colour: [`color_rows`] of the pattern or of
//!    its transpose for Jacobians, [`color_star`] for Hessians, which are symmetric;
//! 3. one program that computes the products for all colours and reads the entries off them;
//! 4. the entries in compressed rows ([`Pattern`] with [`Plan::assemble`]).
//!
//! [`SparseDerivative::plan`] takes the first three. Its program is an ordinary one, compiled and run
//! like any other.

mod color;
mod compress;
mod looks;
mod pattern;
mod plan;

pub use color::{Coloring, color_rows, color_star};
pub use pattern::{Pattern, Shape2};
pub use plan::{Kind, Mode, Plan, SparseDerivative};
