//! Contractions: matrix products, tile by tile.
//!
//! Elements are packed in the order in which they are needed, and tiles of the result are made in
//! registers. Small products whose operands already lie in a good order are not packed.
//!
//! The order of additions depends on the shapes and on the instruction set, on nothing else.

mod pack;
mod run;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use pack::Source;
pub(crate) use run::{RunContraction, scattered};
pub(crate) use tile::{HasTiles, TileFunctions, TileJob, tile_shapes};
