//! The language of loop nests: what a planned program does, whoever runs it.
//!
//! # Overview
//!
//! * a [`Nest`] is an iteration space, a straight-line [`Body`] and writes;
//! * a [`Step`] is a nest, a loop, a choice, a sort and the like, and a [`Plan`] is buffers and the
//!   steps that fill them;
//! * [`place_temporaries`] gives buffers that are never needed together one place in memory.
//!
//! Nothing here knows of a machine: of tiles, vectors, caches or threads. What a machine makes of
//! nests has steps of its own, through [`Compute`].

mod body;
mod check;
mod draft;
mod interp;
mod memory;
mod nest;
mod packed;
mod plan;
mod routine;
mod segment;
mod text;

pub use body::{Body, components};
pub use check::{PlanFault, check_memory};
pub use draft::Draft;
pub use interp::InterpretError;
pub use memory::{Alignment, place_temporaries};
pub use nest::{Affine, Also, BufferId, Component, Instr, Nest, Reduction, Touches, Val, Write};
pub use packed::{MAX_PACKED, Packed, PackedStore, Short};
pub use plan::{Branches, Buffer, Compute, Loop, Plan, Role, Step, WhileStep};
pub use routine::{Cells, RoutineStep, family, fewest, is_read};
pub use segment::{SegmentStep, Strided};
pub use text::{ParseError, Printer, Show};
