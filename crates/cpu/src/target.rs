//! What planning is told about this machine.

use cotan_schedule::Target;

use crate::contract::tile_shapes;
use crate::isa::{self, Isa};
use crate::vm::TILE;

/// The machine that this runs on, or less of it if the environment variable `COTAN_ISA` says so.
pub fn host() -> Target {
    of(isa::best())
}

/// A machine with a set of instructions.
pub(crate) fn of(isa: Isa) -> Target {
    Target { tile_lanes: TILE, ..Target::with_tiles(tile_shapes(isa)) }
}
