//! How large blocks are.

use cotan_array::Shape;
use cotan_nest::{Buffer, BufferId, Draft, Instr, Nest};

use super::Ordered;
use super::join::GroupItem;
use crate::order::choose_lane;
use crate::target::{Gains, Target};

/// An array of one dimension.
pub(super) fn vector(n: usize) -> Shape {
    Shape::new("a part of a plan", &[n]).unwrap_or_else(|_| Shape::scalar())
}

/// Chooses how many positions a block of these items has, of which a dimension is shared if there are
/// several blocks: a function of shapes alone.
pub(super) fn choose<'a>(
    group: &mut Ordered,
    items: impl Iterator<Item = (&'a GroupItem, Option<usize>)>,
    buffers: &[Buffer],
    in_order: bool,
    target: &Target,
) {
    let extent = group.extent.max(1);
    let mut cost = 0usize;
    // The cost of nests with positions on the lanes, or next to each other in some array.
    let (mut lanes, mut adjacent) = (0usize, 0usize);
    // What the parts of sums are read and written again for must be worth it.
    let mut least = 1;
    for (item, dim) in items {
        let each = (item.positions() / extent).max(1);
        match item {
            GroupItem::Nest(nest) => {
                let counts = |instr: &&Instr| !matches!(instr, Instr::Const(_));
                let instrs = nest.instrs.iter().filter(counts).count();
                let own = each.saturating_mul(instrs.max(1));
                cost = cost.saturating_add(own);
                if dim.is_some() && choose_lane(nest, in_order, &target.costs) == dim {
                    lanes = lanes.saturating_add(own);
                }
                if dim.is_some_and(|dim| neighbours(nest, dim)) {
                    adjacent = adjacent.saturating_add(own);
                }
            }
            GroupItem::Draft(draft) => {
                cost = cost.saturating_add(each);
                least = least.max(if is_batch(draft, dim) {
                    1
                } else {
                    target.thresholds.min_block_products
                });
            }
        }
        if dim.is_some_and(|dim| dim >= item.parallel()) {
            let partial = group.partials.iter().find(|partial| partial.parts == item.target());
            let numel = partial.map_or(0, |p| p.spread.numel());
            least = least.max(numel.saturating_mul(target.gains.min_part_uses).div_ceil(each));
        }
    }
    group.cost = cost;
    if group.serial {
        group.block = (target.operations_per_look / cost.max(1)).clamp(1, extent);
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
    let mut block = (target.thresholds.block_bytes / bytes)
        .max(target.thresholds.min_block_operations / cost.max(1))
        .max(least);
    let counts = |part: usize| part >= cost.div_ceil(target.gains.min_counted_share);
    if counts(adjacent) {
        // Whole lines of the cache: some, where rows are so long that the block would leave it.
        let line = target.caches.line_bytes / 4;
        let long = bytes.saturating_mul(4 * line) > 2 * target.thresholds.block_bytes;
        let lines = if long { line } else { 4 * line };
        block = block.next_multiple_of(target.thresholds.block_lanes.min(lines));
    }
    if counts(lanes) {
        // Full tiles.
        block = block.next_multiple_of(target.thresholds.block_lanes);
    }
    group.block = block.min(extent);
    if !group.partials.is_empty() {
        group.per_chunk = group.blocks().div_ceil(target.thresholds.max_parts);
    }
}

/// Lets blocks that may leave out a part of their rows have few of these.
pub(super) fn spare(group: &mut Ordered, wedged: bool, gains: &Gains) {
    if wedged {
        let enough = gains.min_wedge_operations / group.cost.max(1);
        let most = group.extent.div_ceil(gains.min_wedge_blocks).max(enough).max(1);
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
