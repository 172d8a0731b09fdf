//! Programs to look at.
//!
//! A [`Story`] is a program at every stage of compilation, a line for each node, where every line
//! knows the places in the source that it comes from and the rules that made it. The answers of
//! `cotan explain --line` ([`line_report`]) and `--why` ([`why`]) are read off it. A [`Part`] is a program
//! with its profile: as text, as JSON, as a flame graph. A [`page`] shows all of it. [`draw`],
//! [`curves_svg`] and their like plot functions of one and two numbers.

mod cost;
mod html;
mod kernels;
mod listing;
mod plot;
mod profile;
mod report;
mod story;

pub use html::page;
pub use plot::{Curve, Field, curves_svg, draw, field_svg, field_text};
pub use profile::{MachineLimits, Part, flame_graph, profile_json, profile_text};
pub use report::{line_report, why};
pub use story::{Line, Measure, Options, Stage, Story};
