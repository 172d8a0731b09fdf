//! What planning knows about a machine, and every number that decides by it.

use cotan_array::Dtype;
use cotan_nest::Alignment;

mod gains;
mod search;

pub use gains::Gains;
pub use search::Search;

/// A machine, as far as planning is concerned.
///
/// Results depend on a target only in the order of additions, and not at all if that is fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// How many elements of eight bytes the tile machine, or a block of loops, takes at a time.
    pub tile_lanes: usize,
    /// The caches of a core.
    pub caches: Caches,
    /// Where temporaries begin in memory.
    pub alignment: Alignment,
    /// The tile of a matrix product that stays in registers, for elements of eight bytes and of four.
    pub tiles: [TileShape; 2],
    /// Most rows of a block of a matrix product: packed and as deep as a block, they stay in the
    /// second cache.
    pub block_rows: usize,
    /// Most columns of a block of a matrix product: packed, they stay in the third cache.
    pub block_columns: usize,
    /// A right operand of a matrix product of at most so many bytes is read where it lies.
    pub near_operand_bytes: usize,
    /// A right operand that is multiplied by at least so many rows may be copied to another order.
    pub turned_rows: usize,
    /// Least multiplications for which a matrix product is faster than its nest, if operands are read
    /// where they lie.
    pub min_direct_products: usize,
    /// The same if operands are packed.
    pub min_packed_products: usize,
    /// The same if the columns of the result are no neighbours.
    pub min_scattered_products: usize,
    /// What accesses and loops cost.
    pub costs: Costs,
    /// What is computed again for each user rather than stored.
    pub inlining: Inlining,
    /// How far loops are unrolled.
    pub unrolling: Unrolling,
    /// When which plan is worth it.
    pub thresholds: Thresholds,
    /// The same as shares and counts.
    pub gains: Gains,
    /// How far planning looks.
    pub search: Search,
    /// The element operations between two looks whether a run should stop: a few milliseconds. What
    /// cannot be cut is no longer.
    pub operations_per_look: usize,
}

/// The caches of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The bytes of a line: what threads have for themselves begins at one, and runs of neighbours
    /// that are longer stay together.
    pub line_bytes: usize,
    /// The bytes of the first cache. A half of it is for what a loop goes through in blocks of rows.
    pub first_bytes: usize,
    /// The bytes of the second cache. An eighth of it is for what the nests of a group touch for a
    /// block: the rest is for what they all read, and for other programs.
    pub second_bytes: usize,
}

impl Caches {
    /// The smallest that usual machines have.
    pub const USUAL: Caches =
        Caches { line_bytes: 64, first_bytes: 32 << 10, second_bytes: 1 << 20 };
}

/// A tile of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// How many elements a vector has.
    pub lanes: usize,
    /// The rows of a full tile.
    pub rows: usize,
    /// The columns of a full tile.
    pub columns: usize,
    /// How many products are added up at once: the columns of a tile and its rows, so deep, stay in
    /// the first cache.
    pub depth: usize,
}

/// About how many cycles a vector takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The elements of a vector that these are for.
    pub lanes: usize,
    /// Elements that are neighbours.
    pub near: f64,
    /// Neighbours from the last to the first.
    pub reversed: f64,
    /// Elements that are apart, but for some in one line of the cache.
    pub apart: f64,
    /// Elements in different lines of the cache.
    pub far: f64,
    /// The reduction of a vector to one number.
    pub fold: f64,
    /// The beginning of a loop.
    pub begin: f64,
}

impl Costs {
    /// Vectors of eight elements, caches that are shared with nobody.
    pub const VECTORS_OF_EIGHT: Costs =
        Costs { lanes: 8, near: 1.0, reversed: 3.0, apart: 8.0, far: 16.0, fold: 16.0, begin: 8.0 };
}

/// How many results are computed side by side. A machine that sees its registers run out takes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrolling {
    /// Most vectors of lanes side by side, halved until registers suffice.
    pub max_copies: usize,
    /// .. if they have at most so many instructions together: longer code is better not unrolled.
    pub max_instrs: usize,
    /// Most positions of a small dimension that are jammed into the loop inside of it.
    pub max_jam: usize,
    /// Of so many instructions that stand side by side one may have its value in memory: that takes
    /// less than waiting for results.
    pub instrs_per_spill: usize,
}

impl Unrolling {
    /// A dozen or more vector registers that hold results for four cycles.
    pub const VECTOR_REGISTERS: Unrolling =
        Unrolling { max_copies: 4, max_instrs: 400, max_jam: 4, instrs_per_spill: 16 };
}

/// What is expanded into its users, and so never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlining {
    /// Most instructions of a nest, about: more would spill, and take long to compile.
    pub max_body_instrs: u32,
    /// Sums of at most so many elements are written out.
    pub max_unrolled_sum: usize,
    /// Stacks of at most so many parts are read part by part.
    pub max_stack_parts: usize,
    /// What costs more additions an element is computed once, not for each user.
    pub max_repeated_cost: u32,
    /// What a read at a computed place costs, in additions.
    pub computed_read_cost: u32,
    /// An array with at least so many times the elements of all that it is made of is computed again
    /// rather than kept: memory is slower.
    pub min_expansion: usize,
    /// .. if that costs at most so many additions an element.
    pub max_recomputed_cost: u32,
}

impl Inlining {
    /// Two or three dozen vector registers, arithmetic much faster than memory.
    pub const REGISTERS_AND_CACHES: Inlining = Inlining {
        max_body_instrs: 192,
        max_unrolled_sum: 4,
        max_stack_parts: 8,
        max_repeated_cost: 4,
        computed_read_cost: 6,
        min_expansion: 16,
        max_recomputed_cost: 96,
    };
}

/// The thresholds of planning: for each what it is, its value on the machines that we measured, and
/// the one for tests that make blocks of anything.
macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident: $usual:expr, $tiny:expr;)*) => {
        /// When which plan is worth it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Thresholds { $($(#[$doc])* pub $name: usize),* }

        impl Thresholds {
            /// As measured.
            pub const USUAL: Thresholds = Thresholds { $($name: $usual),* };

            /// Makes blocks of anything, to test them on small programs.
            pub const TINY: Thresholds = Thresholds { $($name: $tiny),* };

            /// Each threshold somewhere between those of [`TINY`](Thresholds::TINY) and
            /// [`USUAL`](Thresholds::USUAL), small ones as likely as large ones, and now and then one
            /// of the two: random programs then meet blocks, parts and chunks of all sizes, in all
            /// combinations.
            pub fn drawn(seed: u64) -> Thresholds {
                let mut draw = Draw(seed);
                Thresholds { $($name: draw.between($tiny, $usual)),* }
            }
        }
    };
}

thresholds! {
    /// Nests with fewer positions are run alone.
    min_group_positions: 64, 1;
    /// Nests with fewer positions are not split where conditions on their indices change.
    min_split_positions: 1 << 14, 2;
    /// Sums of fewer products are not taken apart.
    min_factored_products: 1 << 14, 2;
    /// Sums over a shared dimension are cut into at most so many parts.
    max_parts: 64, 3;
    /// Contractions are run in blocks for what takes so many bytes as a whole.
    min_blocked_bytes: 256 << 10, 0;
    /// Most elements that a contraction may read again for each block, where they lie.
    max_reread_direct: 1 << 20, 1 << 18;
    /// Most elements that a contraction may pack again for each block.
    max_reread_packed: 1 << 12, 1 << 18;
    /// A contraction is run for at least so many positions at a time.
    min_block_products: 48, 1;
    /// Nests of at most so many operations are run before a group if nothing holds them up.
    max_early_operations: 1 << 16, 8;
    /// A sum of so many elements is cut into parts.
    min_parted_sum: 1 << 15, 2;
    /// Nests of so many positions leave out those that do not count.
    min_wedge_positions: 1 << 17, 0;
    /// Nests of so many positions look at arrays first if that spares something.
    min_relaxed_positions: 1 << 16, 0;
    /// The bytes that the nests of a group touch for a block: they should stay in the second cache.
    block_bytes: Caches::USUAL.second_bytes / 8, 16;
    /// The bytes that a loop touches for a block of rows that goes through all steps: they should
    /// stay in the first cache.
    stream_bytes: Caches::USUAL.first_bytes / 2, 64;
    /// The element operations of a step for such a block, at least.
    min_stream_operations: 1 << 11, 1;
    /// The element operations of a block, at least: what it costs to begin one must not count.
    min_block_operations: 1 << 14, 1;
    /// A block of lanes has a multiple of so many.
    block_lanes: 256, 1;
    /// Groups of fewer element operations are run by one thread.
    min_shared_operations: 1 << 16, 0;
    /// Branches of fewer element operations are computed whether they are taken or not.
    min_branch_operations: 1 << 16, 0;
    /// Shorter runs of nests of one position each stay as they are.
    min_scalar_run: 32, 2;
    /// Nests with fewer instructions together are not packed: they may have machine code.
    min_packed_instrs: 1 << 16, 32;
}

/// Random numbers, by splitmix64.
struct Draw(u64);

impl Draw {
    /// A number between two, each doubling as likely as the next.
    fn between(&mut self, a: usize, b: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = z ^ (z >> 31);
        let (low, high) = (a.min(b), a.max(b));
        match z % 8 {
            0 => a,
            1 => b,
            _ => {
                let doublings = u64::from((high / low.max(1)).max(1).ilog2()) + 1;
                let scaled = low.max(1) << ((z >> 8) % doublings);
                let more = (z >> 32) as usize % scaled;
                (scaled + more).clamp(low, high)
            }
        }
    }
}

impl Target {
    /// A machine of which nothing is known but that it has vectors of sixteen bytes: plans for it are
    /// the same everywhere.
    pub fn portable() -> Target {
        Target::with_tiles([
            TileShape { lanes: 2, rows: 4, columns: 4, depth: 256 },
            TileShape { lanes: 4, rows: 4, columns: 8, depth: 256 },
        ])
    }

    /// A machine with two or three caches of the usual sizes, and these tiles for elements of eight
    /// bytes and of four.
    pub fn with_tiles(tiles: [TileShape; 2]) -> Target {
        Target {
            tile_lanes: 256,
            caches: Caches::USUAL,
            alignment: Alignment { bytes: Caches::USUAL.line_bytes, max_aligned_scalars: 4096 },
            tiles,
            block_rows: 72,
            block_columns: 1024,
            near_operand_bytes: 96 << 10,
            turned_rows: 16,
            min_direct_products: 16,
            min_packed_products: 256,
            min_scattered_products: 4096,
            costs: Costs::VECTORS_OF_EIGHT,
            inlining: Inlining::REGISTERS_AND_CACHES,
            unrolling: Unrolling::VECTOR_REGISTERS,
            thresholds: Thresholds::USUAL,
            gains: Gains::USUAL,
            search: Search::USUAL,
            operations_per_look: 1 << 22,
        }
    }

    /// The same machine with other thresholds.
    #[must_use]
    pub fn with_thresholds(self, thresholds: Thresholds) -> Target {
        Target { thresholds, ..self }
    }

    /// The tile of a matrix product for elements of a type.
    pub fn tile(&self, dtype: Dtype) -> &TileShape {
        &self.tiles[usize::from(dtype == Dtype::F32)]
    }
}
