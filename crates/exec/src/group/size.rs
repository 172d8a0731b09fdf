//! How large blocks are.

use cotan_array::Shape;

use super::Group;
use super::join::Item;
use crate::contract::Draft;
use crate::nest::{BufferId, Instr, Nest};
use crate::plan::Buffer;
use crate::vm::{TILE, choose_lane};

/// What blocks are made by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Nests with fewer positions are run alone.
    pub small: usize,
    /// Nests with fewer positions are not cut where conditions on their indices change.
    pub cut: usize,
    /// Sums of fewer products are not taken apart.
    pub apart: usize,
    /// Sums over a shared dimension are cut into at most so many parts.
    pub parts: usize,
    /// Contractions are run in blocks for what takes so many bytes as a whole.
    pub worth: usize,
    /// The elements that a contraction may read again for each block where they lie, and packed.
    pub read_again: usize,
    pub packed_again: usize,
    /// A contraction is run for at least so many positions at a time.
    pub products: usize,
    /// A nest of fewer operations is run alone where nothing holds it up.
    pub little: usize,
    /// A sum of so many elements is cut into parts.
    pub long_sum: usize,
    /// Nests of so many positions leave out those that do not count.
    pub wedge: usize,
    /// Nests of so many positions have a look at arrays if that spares something.
    pub relax: usize,
    /// The bytes that the nests of a group touch for a block: they should stay in the second cache.
    pub bytes: usize,
    /// The bytes that a loop touches for a block of rows that goes through all steps: they should
    /// stay in the first cache.
    pub stream: usize,
    /// The element operations of a step for such a block, at least.
    pub calls: usize,
    /// The element operations of a block, at least: what it costs to begin one must not count.
    cost: usize,
    /// A block of lanes has a multiple of so many.
    pub lanes: usize,
    /// Groups of fewer element operations are run by one thread.
    pub shared: usize,
    /// Branches of fewer element operations are computed whether they are taken or not.
    pub branch: u64,
    /// Shorter runs of nests of one position each stay as they are.
    pub scalars: usize,
    /// Nests with fewer instructions together are not packed: they may have machine code.
    pub packed: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            small: 64,
            cut: 1 << 14,
            apart: 1 << 14,
            parts: 64,
            worth: 256 << 10,
            read_again: 1 << 20,
            packed_again: 1 << 12,
            products: 48,
            little: 1 << 16,
            long_sum: 1 << 15,
            wedge: 1 << 17,
            relax: 1 << 16,
            bytes: 128 << 10,
            stream: 16 << 10,
            calls: 1 << 11,
            cost: 1 << 14,
            lanes: TILE,
            shared: 1 << 16,
            branch: 1 << 16,
            scalars: 32,
            packed: 1 << 16,
        }
    }
}

impl Tuning {
    /// Makes blocks of anything, to test them on small programs.
    pub(crate) fn tiny() -> Tuning {
        Tuning {
            small: 1,
            cut: 2,
            apart: 2,
            parts: 3,
            worth: 0,
            read_again: 1 << 18,
            packed_again: 1 << 18,
            products: 1,
            little: 8,
            long_sum: 2,
            wedge: 0,
            relax: 0,
            bytes: 16,
            stream: 64,
            calls: 1,
            cost: 1,
            lanes: 1,
            shared: 0,
            branch: 0,
            scalars: 2,
            packed: 32,
        }
    }

    /// Each threshold somewhere between that of [`tiny`](Tuning::tiny) and the default, small ones as
    /// likely as large ones, and now and then one of the two: random programs then meet blocks,
    /// parts and chunks of all sizes, in all combinations.
    pub(crate) fn drawn(seed: u64) -> Tuning {
        let (least, most) = (Tuning::tiny(), Tuning::default());
        let mut state = seed;
        let mut between = |a: usize, b: usize| {
            // A step of splitmix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
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
        };
        Tuning {
            small: between(least.small, most.small),
            cut: between(least.cut, most.cut),
            apart: between(least.apart, most.apart),
            parts: between(least.parts, most.parts),
            worth: between(least.worth, most.worth),
            read_again: between(least.read_again, most.read_again),
            packed_again: between(least.packed_again, most.packed_again),
            products: between(least.products, most.products),
            little: between(least.little, most.little),
            long_sum: between(least.long_sum, most.long_sum),
            wedge: between(least.wedge, most.wedge),
            relax: between(least.relax, most.relax),
            bytes: between(least.bytes, most.bytes),
            stream: between(least.stream, most.stream),
            calls: between(least.calls, most.calls),
            cost: between(least.cost, most.cost),
            lanes: between(least.lanes, most.lanes),
            shared: between(least.shared, most.shared),
            branch: between(least.branch as usize, most.branch as usize) as u64,
            scalars: between(least.scalars, most.scalars),
            packed: between(least.packed, most.packed),
        }
    }
}

/// A share of the cost of a group that does not matter is below one of so many parts.
const LITTLE_SHARE: usize = 8;

/// For each element of a sum's part a block adds up at least so many.
const PART_REUSE: usize = 16;

/// The element operations after which a serial group looks whether it should stop.
const SERIAL_COST: usize = 1 << 22;

/// An array of one dimension.
pub(super) fn vector(n: usize) -> Shape {
    Shape::new("a part of a plan", &[n]).unwrap_or_else(|_| Shape::scalar())
}

/// Chooses how many positions a block has: a function of shapes alone.
pub(super) fn choose(
    group: &mut Group,
    items: &[Item],
    dims: &[Option<usize>],
    buffers: &[Buffer],
    in_order: bool,
    tuning: &Tuning,
) {
    let extent = group.extent.max(1);
    let mut cost = 0usize;
    // The cost of nests with positions on the lanes, or next to each other in some array.
    let (mut lanes, mut adjacent) = (0usize, 0usize);
    // What the parts of sums are read and written again for must be worth it.
    let mut least = 1;
    for (item, &dim) in items.iter().zip(dims) {
        let each = (item.positions() / extent).max(1);
        match item {
            Item::Nest(nest) => {
                let counts = |instr: &&Instr| !matches!(instr, Instr::Const(_));
                let instrs = nest.instrs.iter().filter(counts).count();
                let own = each.saturating_mul(instrs.max(1));
                cost = cost.saturating_add(own);
                if dim.is_some() && choose_lane(nest, in_order) == dim {
                    lanes = lanes.saturating_add(own);
                }
                if dim.is_some_and(|dim| neighbours(nest, dim)) {
                    adjacent = adjacent.saturating_add(own);
                }
            }
            Item::Draft(draft) => {
                cost = cost.saturating_add(each);
                least = least.max(if is_batch(draft, dim) { 1 } else { tuning.products });
            }
        }
        if dim.is_some_and(|dim| dim >= item.parallel()) {
            let partial = group.partials.iter().find(|partial| partial.parts == item.target());
            let numel = partial.map_or(0, |p| p.spread.numel());
            least = least.max(numel.saturating_mul(PART_REUSE).div_ceil(each));
        }
    }
    group.cost = cost;
    if group.serial {
        group.block = (SERIAL_COST / cost.max(1)).clamp(1, extent);
        return;
    }
    let touched = |b: &BufferId| {
        let buffer = &buffers[b.index()];
        // What has fewer elements than there are positions is not cut.
        if buffer.shape.numel() >= extent { buffer.bytes() / extent } else { 0 }
    };
    let streamed: usize = group.buffers.iter().map(touched).sum();
    let held: usize = group.locals.iter().map(|local| local.row).sum();
    let bytes = streamed.saturating_add(held).max(1);
    let mut block = (tuning.bytes / bytes).max(tuning.cost / cost.max(1)).max(least);
    let counts = |part: usize| part >= cost.div_ceil(LITTLE_SHARE);
    if counts(adjacent) {
        // Whole lines of the cache: some, where rows are so long that the block would leave it.
        let lines = if bytes.saturating_mul(64) > 2 * tuning.bytes { 16 } else { 64 };
        block = block.next_multiple_of(tuning.lanes.min(lines));
    }
    if counts(lanes) {
        // Full tiles.
        block = block.next_multiple_of(tuning.lanes);
    }
    group.block = block.min(extent);
    if !group.partials.is_empty() {
        group.per_chunk = group.blocks().div_ceil(tuning.parts);
    }
}

/// Lets blocks that may leave out a part of their rows have few of these.
pub(super) fn spare(group: &mut Group, wedged: bool) {
    /// At least so many blocks, each with so many operations.
    const BLOCKS: usize = 16;
    const COST: usize = 1 << 12;
    if wedged {
        let most = group.extent.div_ceil(BLOCKS).max(COST / group.cost.max(1)).max(1);
        group.block = group.block.min(most);
    }
}

/// Whether both operands of a contraction depend on a dimension that is not reduced.
fn is_batch(draft: &Draft, dim: Option<usize>) -> bool {
    let core = &draft.core;
    let depends = |instr: &Instr| match (instr, dim) {
        (Instr::Load { at, .. }, Some(dim)) => at.coeffs[dim] != 0,
        _ => true,
    };
    dim.is_some_and(|dim| dim < core.extents.len() - core.reduced)
        && core.instrs.iter().all(depends)
}

/// Whether positions of a dimension lie next to each other in some array.
fn neighbours(nest: &Nest, dim: usize) -> bool {
    nest.instrs.iter().any(|instr| match instr {
        Instr::Load { at, .. } => at.coeffs[dim].abs() == 1,
        Instr::LoadAt { .. } | Instr::Const(_) | Instr::Affine(_) => false,
        Instr::Op(..) | Instr::MulAdd { .. } => false,
    })
}
