//! The bulk-operation transform: every `build1` becomes bulk operations.
//!
//! # Overview
//!
//! [`bulk`] takes a program and returns one with the same meaning, without `build1`, and with every
//! `index` in normal form ([`normal_form`]). The rules are those of the report's Figs.
//! bot-rules-build, bot-rules-index and bot-rules-desperate, one arm each in `build.rs`, `index.rs`
//! and `build_index.rs`, in the figures' order, and a few of ours for what the report leaves out.
//! [`RULES`] ties each name to the report's line; every firing is counted, can be traced, and is
//! checked to preserve the type.
//!
//! # How it goes
//!
//! One forward walk over the source, scope by scope (`transform.rs`). An `index` is pushed down as
//! soon as it is met. A `build1` is met after its body has been transformed, so the body holds bulk
//! operations only; its nodes are then vectorised once each, in dependency order. Nested builds thus
//! disappear from the inside out.
//!
//! # Cost
//!
//! An index is pushed into a computation only if nothing else uses it and it is computed as often
//! as the index is; otherwise that computation counts as a variable and is read from memory.
//! Structural operations (replicate, transpose, reshape, gather, iota, index) cost nothing to push
//! through. What does not depend on the index of a build is computed once.

mod affine;
mod build;
mod build_index;
mod custom;
mod fire;
mod guard;
mod index;
mod index_function;
mod map_accum;
mod normal_form;
mod options;
mod order;
mod rules;
mod transform;

pub use fire::{Firing, Report};
pub use normal_form::{Violation, normal_form};
pub use options::{Fault, Options};
pub use rules::{Figure, RULES, Rule, Status};
pub use transform::bulk;
