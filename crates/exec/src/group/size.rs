//! How large blocks are.

use cotan_array::Shape;

use super::Group;
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
    /// Sums over a shared dimension are cut into at most so many parts.
    pub parts: usize,
    /// A sum of so many elements is cut into parts.
    pub long_sum: usize,
    /// The bytes that the nests of a group touch for a block: they should stay in the second cache.
    bytes: usize,
    /// The element operations of a block, at least: what it costs to begin one must not count.
    cost: usize,
    /// A block of lanes has a multiple of so many.
    lanes: usize,
    /// Groups of fewer element operations are run by one thread.
    pub shared: usize,
    /// Branches of fewer element operations are computed whether they are taken or not.
    pub branch: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            small: 64,
            cut: 1 << 14,
            parts: 64,
            long_sum: 1 << 15,
            bytes: 128 << 10,
            cost: 1 << 14,
            lanes: TILE,
            shared: 1 << 16,
            branch: 1 << 16,
        }
    }
}

impl Tuning {
    /// Makes blocks of anything, to test them on small programs.
    pub(crate) fn tiny() -> Tuning {
        Tuning {
            small: 1,
            cut: 2,
            parts: 3,
            long_sum: 2,
            bytes: 16,
            cost: 1,
            lanes: 1,
            shared: 0,
            branch: 0,
        }
    }
}

/// The element operations after which a serial group looks whether it should stop.
const SERIAL_COST: usize = 1 << 22;

/// An array of one dimension.
pub(super) fn vector(n: usize) -> Shape {
    Shape::new("a part of a plan", &[n]).unwrap_or_else(|_| Shape::scalar())
}

/// Chooses how many positions a block has: a function of shapes alone.
pub(super) fn choose(
    group: &mut Group,
    nests: &[(Nest, Option<usize>)],
    buffers: &[Buffer],
    in_order: bool,
    tuning: &Tuning,
) {
    let extent = group.extent.max(1);
    let mut cost = 0usize;
    let mut lanes = false;
    for (nest, dim) in nests {
        let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let instrs = nest.instrs.iter().filter(|instr| !matches!(instr, Instr::Const(_))).count();
        cost = cost.saturating_add((positions / extent).max(1).saturating_mul(instrs.max(1)));
        lanes |= dim.is_some() && choose_lane(nest, in_order) == *dim;
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
    let mut block = (tuning.bytes / bytes).max(tuning.cost / cost.max(1)).max(1);
    if !group.partials.is_empty() {
        block = block.max(extent.div_ceil(tuning.parts));
    }
    let adjacent = nests.iter().any(|(nest, dim)| dim.is_some_and(|dim| neighbours(nest, dim)));
    if adjacent {
        // Whole lines of the cache.
        block = block.next_multiple_of(tuning.lanes.min(64));
    }
    if lanes {
        // Full tiles.
        block = block.next_multiple_of(tuning.lanes);
    }
    group.block = block.min(extent);
}

/// Whether positions of a dimension lie next to each other in some array.
fn neighbours(nest: &Nest, dim: usize) -> bool {
    nest.instrs.iter().any(|instr| match instr {
        Instr::Load { at, .. } => at.coeffs[dim].abs() == 1,
        Instr::LoadAt { .. } | Instr::Const(_) | Instr::Affine(_) => false,
        Instr::Op(..) | Instr::MulAdd { .. } => false,
    })
}
