//! What to compute where and in which order: from programs to loop nests, from loop nests to groups
//! with blocks, loop orders and memory.
//!
//! * [`lower()`] decides which arrays of a program are made, and gives the nests that make them.
//! * [`Schedule::of_plan`] puts nests into [`Group`]s that are run block by block and chooses the
//!   order of every nest's loops ([`LoopOrder`]); [`Schedule::place_buffers`] places the buffers.
//!
//! All that is known about a machine is a [`Target`]. What a machine makes of a schedule, such as
//! kernels, takes the place of the loop orders ([`Schedule::compile`]).

mod check;
mod contract;
mod explain;
mod group;
mod kernels;
mod lower;
mod order;
mod routine;
mod schedule;
mod target;
mod text;
mod transform;

pub use contract::form::{Axis, Extents, Operand, PlaceForm};
pub use contract::{Blocking, Contraction, Product, Ranged};
pub use group::{
    Group, Local, LoopSchedule, Member, Partial, Relaxed, Spread, Wedge, Wedged, largest,
};
pub use kernels::KernelInfo;
pub use lower::{
    Placement, Placements, PlanDraft, Unsupported, columns_of_room, look, lower, split,
};
pub use order::{LoopOrder, fuse_products};
pub use routine::{PANEL, REFLECTED, Room, routine_room};
pub use schedule::{Machine, Schedule, Scheduled};
pub use target::{
    Caches, Costs, Gains, Inlining, Search, Target, Thresholds, TileShape, Unrolling,
};
pub use transform::Transform;
