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
//! Structural operations (replicate, transpose, reshape, gathers with light index functions, iota,
//! index) are pushed through always. What does not depend on the index of a build is computed once.
//!
//! With these rules the result does **at most 10 times the work** of the source and some 200 units
//! (`tests/cost.rs`), in the units of the interpreter: operations, reads, writes, steps and nodes
//! of a strict run, in which both branches of a conditional are computed, as inside a build they
//! always are. What comes nearest are the quotients and remainders of reads through a reshape (4.6),
//! masks of whole arrays (3.9), and both at once where the source reads rows out of range, which is
//! cheap (8.5, the worst of 60,000 random programs; of the first 3,000 all stay below 3). Most
//! programs get cheaper. Index terms
//! of up to 8 operations are computed again in each index function that uses them, of up to 3 where
//! that is more than once a lane; larger ones are read from memory. The exception is a `while` whose
//! elements end at different times: each costs as much as the longest.
//!
//! The result has **at most 3 nodes for each node** of a large source (`tests/growth.rs`), and the time
//! is linear in the source, times the nesting depth of builds around it: a nest of `d` builds is
//! vectorised `d` times. Nothing recurses over the depth of a program, only over the nesting of
//! lambdas.
//!
//! # Masks
//!
//! Reads out of range are 0, so a rule that moves an operation to the other side of a read needs
//! the read to be in range. Intervals of index terms show that most often; where they do not, the
//! rule adds `where(ix in range, .., 0)`. Reads known to be out of range become zeros. Conversely,
//! guards in the source that repeat what a read does anyway are dropped.

mod affine;
mod build;
mod build_index;
mod custom;
mod equal;
mod guard;
mod index;
mod index_function;
mod map_accum;
mod normal_form;
mod options;
mod order;
mod rules;
mod transform;
mod while_loop;

pub use cotan_ir::rewrite::{Firing, Report};
pub use normal_form::{Violation, normal_form};
pub use options::Options;
pub use rules::{Figure, RULES, Rule, Status};
pub use transform::bulk;
