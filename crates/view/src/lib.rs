//! Programs to look at.
//!
//! A [`Story`] is a program at every stage of compilation, a line for each node, where every line
//! knows the places in the source that it comes from and the rules that made it. The answers of
//! `cotan explain --line` ([`line_report`]) and `--why` ([`why`]) are read off it.

mod cost;
mod kernels;
mod listing;
mod report;
mod story;

pub use report::{line_report, why};
pub use story::{Line, Options, Stage, Story};
