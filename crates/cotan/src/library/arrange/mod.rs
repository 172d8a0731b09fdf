//! Arranging and indexing.
//!
//! Reading is `gather` with an index function affine in the positions wherever the task allows it;
//! what only moves or repeats axes is a transposition, a reshape or a replication.

mod access;
mod axes;
mod diagonal;
mod gather;
mod grid;
mod join;
mod order;
mod pad;
mod plan;
mod scatter;
mod search;
mod segment;
mod shape;
mod slice;

pub use diagonal::{eye, tri};
pub(crate) use grid::steps;
pub use grid::{arange, linspace, meshgrid};
pub use join::{Sections, concat, stack};
pub use pad::{PadMode, Widths};
pub(crate) use plan::{Part, Plan};
pub use scatter::scatter_add;
pub use slice::Slice;
