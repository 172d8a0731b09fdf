//! The library: functions of arrays made of the primitives.

mod access;
mod arrange;
mod axes;
mod diagonal;
mod gather;
mod grid;
mod join;
mod order;
mod pad;
mod scatter;
mod search;
mod segment;
mod slice;

pub use diagonal::{eye, tri};
pub use grid::{arange, linspace, meshgrid};
pub use join::{Sections, concat, stack};
pub use pad::{PadMode, Widths};
pub use scatter::scatter_add;
pub use slice::Slice;
