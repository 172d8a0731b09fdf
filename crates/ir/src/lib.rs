//! The core language: one intermediate representation with a text form.
//!
//! # Overview
//!
//! Everything between the front ends and the backends is a function from [`Program`] to
//! [`Program`]. A program is an [`Arena`] of [`Node`]s in dependency order: operands come before
//! the nodes that use them, equal nodes are one node, and the bodies of lambdas are [`Region`]s that
//! may use any outer node. Nodes are made only by the typed constructors of [`Builder`];
//! [`check`](Program::check) verifies a whole program again from nothing.
//!
//! * [`scalar`]: the table of scalar operations, one row each;
//! * [`Node`]: the term formers of the report's core grammar, and a few more;
//! * [`Scopes`]: which nodes a lambda holds, in which order;
//! * [`rewrite`]: what passes made of named rules share;
//! * [`Interval`]: what is known about the range of an index;
//! * [`Limits`], [`CancelToken`]: how large and how long.
//!
//! # Promises
//!
//! No function here panics on a program made by a [`Builder`], none recurses over the depth of a
//! program, and all run in time linear in it (times the nesting depth of lambdas).

mod affine;
mod arrange;
mod bounds;
mod build;
mod check;
mod copy;
mod correct;
mod custom;
mod error;
mod extract;
mod limits;
mod linalg;
mod literal;
pub mod magnitude;
mod operands;
mod out_of_range;
mod print;
pub mod provenance;
pub mod rewrite;
mod routine;
pub mod scalar;
mod show;
pub mod span;
mod term;
mod term_map;
mod walk;
mod while_loop;
mod widen;

pub use affine::{Affine, Linear};
pub use arrange::broadcast_dims;
pub use bounds::Interval;
pub use build::Builder;
pub use check::{CheckError, Place};
pub use copy::Copier;
pub use custom::{Checkpoint, Keep};
pub use error::{Error, ErrorKind, Result};
pub use extract::Extracted;
pub use limits::{CancelToken, Limits, Watch, look, within};
pub use literal::Literal;
pub use operands::Operands;
pub use out_of_range::OutOfRange;
pub use routine::{Cell, CellValue, NEARLY, Routine, RoutineRow, negligible, root_of_unity};
pub use show::Show;
pub use span::{FileId, SourceMap, Span, Spans};
pub use term::{
    Arena, Args, Custom, CustomKind, Extreme, Input, Levels, MAX_NESTING, MapAccum, Node, Output,
    Param, Program, Region, RegionId, TermId, Terms, Type, While,
};
pub use term_map::{TermCounts, TermMap, TermSet};
pub use walk::{Scope, Scopes, live_nodes, use_counts};
