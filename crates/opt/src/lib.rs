//! The optimiser: programs of bulk operations to programs of the same meaning that do less.
//!
//! # Overview
//!
//! [`optimise`] takes a program that is about to be run, most often a derivative, and simplifies it
//! by the rules of [`RULES`], in groups with a switch each ([`Options`]):
//!
//! * `algebra.rs`: identities, known choices, constants;
//! * `view.rs`, `read.rs`: views in normal form, reads of views;
//! * `scatter.rs`: scatters that are views, masked reads or sums of reads;
//! * `places.rs`: scatters to places that are known;
//! * `apart.rs`: places that are looked up again and again;
//! * `extreme.rs`: reads at the position of an extreme;
//! * `factor.rs`: factors that are joined, or taken out of products and sums;
//! * `sum.rs`: factors out of sums, sums in the order that allows it;
//! * `loops.rs`: what a loop need not compute;
//! * `merge.rs`: loops that go the same way;
//! * `accumulate.rs`: sums that are better taken after a loop;
//! * `stored.rs`: what one loop stores for another instead of it being computed again.
//!
//! What the executor does anyway is left to it: it expands views, affine reads and elementwise
//! operations where they are used. What matters here is to be rid of scatters, which are arrays in
//! memory, and of work that nothing needs.
//!
//! # Values
//!
//! NaN and infinities are kept. Rounding may change where [`Exactness`] of a rule says so, and so may
//! the sign of a zero. Over the integers, and whenever nothing is rounded, results are equal.
//!
//! # Cost
//!
//! A walk over the program, repeated until no rule fires, at most 8 times. Every rule looks at a
//! bounded neighbourhood. Nothing recurses over the depth of a program, only over the nesting of
//! lambdas. No rule makes more work than there was, up to a factor of 3 for windows.

mod accumulate;
mod affine;
mod algebra;
mod apart;
mod extreme;
mod factor;
mod loops;
mod merge;
mod options;
mod pass;
mod places;
mod push;
mod read;
mod rules;
mod scatter;
mod stored;
mod sum;
mod view;

pub use cotan_ir::rewrite::{Firing, Report};
pub use options::Options;
pub use pass::{optimise, optimise_owned};
pub use rules::{Exactness, RULES, Rule, RuleGroup};
