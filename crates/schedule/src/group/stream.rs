//! Loops that are run for some rows at a time: all steps for these, then all for the next.
//!
//! Where row $i$ of the next states depends on row $i$ of the states alone, rows need not wait for
//! each other between steps,
//! $$s_{k+1}[i] = f_k(s_k[i]) \quad\text{for all } k \text{, then for the next } i,$$
//! and the states of a block stay in the first cache from the first step to the last.

use cotan_nest::{Affine, BufferId, Instr, Loop, Nest, Step};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::rows::{Rows, aligned};
use super::{Member, Ordered, Scheduler};

impl Scheduler<'_> {
    /// How many rows a loop is run for at a time, if it pays to run it so.
    pub(super) fn stream(&self, l: &Loop<Ordered>) -> Option<usize> {
        let [Step::Compute(group)] = &l.steps[..] else { return None };
        let fits = !group.serial && group.locals.is_empty() && l.length > 1 && group.extent > 1;
        if !fits || l.states.is_empty() || !l.exchanged.iter().all(|&exchanged| exchanged) {
            return None;
        }
        self.rows_alone(l, group)?;
        let extent = group.extent;
        let per_row = |b: &BufferId| {
            let buffer = &self.buffers[b.index()];
            if buffer.shape.numel() >= extent { buffer.bytes() / extent } else { 0 }
        };
        let row = group.buffers.iter().map(per_row).sum::<usize>().max(1);
        let least = self.target.thresholds.min_stream_operations.div_ceil(group.cost.max(1));
        let lanes = self.target.thresholds.block_lanes.min(64);
        let block = (self.target.thresholds.stream_bytes / row).max(least).next_multiple_of(lanes);
        // All rows are near enough, or one is too large.
        let pays = row <= self.target.thresholds.stream_bytes
            && row.saturating_mul(extent) > 2 * self.target.thresholds.stream_bytes;
        (pays && block < extent).then_some(block)
    }

    /// The rows of a buffer, along its outermost axis.
    fn rows_of(&self, b: BufferId, extent: usize) -> Option<Rows> {
        let elements = self.buffers[b.index()].shape.numel();
        let whole = elements > 0 && elements.is_multiple_of(extent);
        let (stride, count) = (i64::try_from(elements / extent).ok()?, i64::try_from(extent).ok()?);
        whole.then_some(Rows { stride, count })
    }

    /// Whether what passes from step to step, and out of the loop, is made row by row.
    fn rows_alone(&self, l: &Loop<Ordered>, group: &Ordered) -> Option<()> {
        let states: FxHashSet<BufferId> = l.states.iter().map(|s| s.1).collect();
        let made = l.states.iter().map(|s| s.2).chain(l.collected.iter().map(|c| c.1));
        let mut unmade: FxHashSet<BufferId> = made.collect();
        let passed: FxHashSet<BufferId> = states.union(&unmade).copied().collect();
        for &state in &states {
            self.rows_of(state, group.extent)?;
        }
        // Copies can be made of some rows of states.
        if l.outputs.iter().any(|(part, _)| !states.contains(part)) {
            return None;
        }
        // What is summed over all rows is known after the last of them only.
        for partial in &group.partials {
            let carried = l.states.iter().any(|s| s.2 == partial.target);
            let whole =
                self.buffers[partial.target.index()].shape.numel() == partial.spread.numel();
            let fills = whole && partial.spread.contiguous().is_some();
            if carried || !fills || !unmade.remove(&partial.target) {
                return None;
            }
        }
        for member in &group.members {
            let Member::Nest(order) = member else { return None };
            let (nest, dim) = (&order.nest, order.blocked()?);
            let summed = dim >= nest.extents.len() - nest.reduced;
            let row_by_row = |b: BufferId, at: &Affine| {
                let rows = self.rows_of(b, group.extent);
                rows.is_some_and(|rows| aligned(at, dim, &nest.extents, rows))
            };
            reads_rows(nest, &passed, row_by_row)?;
            let mut stores: SmallVec<[(BufferId, &Affine); 4]> =
                nest.also.iter().map(|also| (also.target, &also.at)).collect();
            match nest.write.place() {
                Some(at) if !summed => stores.push((nest.target, at)),
                // A part of a sum over all rows.
                Some(_) if group.partials.iter().any(|p| p.parts == nest.target) => {}
                _ => return None,
            }
            for (target, at) in stores {
                if passed.contains(&target) && !row_by_row(target, at) {
                    return None;
                }
                unmade.remove(&target);
            }
        }
        unmade.is_empty().then_some(())
    }
}

/// Whether a nest reads of some buffers the row at hand only.
fn reads_rows(
    nest: &Nest,
    passed: &FxHashSet<BufferId>,
    row_by_row: impl Fn(BufferId, &Affine) -> bool,
) -> Option<()> {
    let all = nest.instrs.iter().all(|instr| match instr {
        Instr::Load { buffer, at, checks } if passed.contains(buffer) => {
            checks.is_empty() && row_by_row(*buffer, at)
        }
        Instr::LoadAt { buffer, .. } => !passed.contains(buffer),
        Instr::Load { .. } | Instr::Const(_) | Instr::Affine(_) => true,
        Instr::Op(..) | Instr::MulAdd { .. } => true,
    });
    all.then_some(())
}
