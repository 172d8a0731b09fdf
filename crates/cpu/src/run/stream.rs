//! Running a loop for some rows at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use cotan_nest::{Loop, Step};

use super::loops::point;
use super::{Frames, Run, Stop};
use crate::compiled::CompiledGroup;
use crate::threads;
use crate::vm::Frame;
use crate::workspace::Workspace;

impl Run<'_> {
    /// Runs all steps of a loop for a block of rows, then for the next. Blocks are shared among
    /// threads, unless something is summed over all rows: that is done in their order.
    pub(super) fn stream(
        &self,
        l: &Loop<CompiledGroup>,
        block: usize,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        let [Step::Compute(group)] = &l.steps[..] else { return Ok(()) };
        let blocks = group.extent.div_ceil(block);
        let rows = |n: usize| n * block..group.extent.min((n + 1) * block);
        let cost = group.cost.saturating_mul(group.extent).saturating_mul(l.length);
        let alone = !group.partials.is_empty() || self.threads == 1 || cost < self.plan.shared;
        if alone {
            let frame = &mut space.frames[0];
            return (0..blocks).try_for_each(|n| self.stream_block(l, group, rows(n), frame));
        }
        let threads = space.grow(self.threads.min(blocks), self.plan);
        let (first, others) = space.frames.split_at_mut(1);
        for frame in others {
            frame.pointers.copy_from_slice(&first[0].pointers);
        }
        let frames = Frames(space.frames.as_mut_ptr());
        let stopped = AtomicBool::new(false);
        let done = threads::share(threads, blocks, &|thread, n| {
            // SAFETY: threads have different numbers below that of the frames.
            let frame = unsafe { frames.get(thread) };
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            if self.stream_block(l, group, rows(n), frame).is_err() {
                stopped.store(true, Ordering::Relaxed);
            }
        });
        if stopped.into_inner() {
            return Err(Stop::Limit);
        }
        // A kernel does not panic; if one did, its results must not pass for right.
        assert!(done, "a kernel has panicked");
        Ok(())
    }

    /// All steps of a loop for some rows. What they sum is added to that of the rows before.
    fn stream_block(
        &self,
        l: &Loop<CompiledGroup>,
        group: &CompiledGroup,
        rows: Range<usize>,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        self.poll()?;
        let places = self.begin(l, frame, part_of(&rows, group))?;
        let done = (0..l.length).try_for_each(|n| {
            let at = if l.reverse { l.length - 1 - n } else { n };
            point(l, at, frame);
            self.members(group, None, rows.clone(), frame)?;
            for partial in &group.partials {
                let target = &self.plan.buffers[partial.target.index()];
                let from = frame.pointers[partial.parts.index()];
                let to = frame.pointers[partial.target.index()];
                // SAFETY: both have the elements of the target, which such a sum fills, and do not
                // overlap.
                unsafe {
                    match rows.start {
                        0 => self.copy_bytes(frame, from, to, target.bytes())?,
                        _ => self.add(frame, partial, to, from)?,
                    }
                }
            }
            for &(part, whole) in &l.outputs {
                self.copy_rows(frame, part, whole, at, part_of(&rows, group))?;
            }
            self.exchange(l, &places, frame)
        });
        self.end(l, &places, frame, part_of(&rows, group), done)
    }
}

/// Rows of how many.
fn part_of(rows: &Range<usize>, group: &CompiledGroup) -> RowRange {
    RowRange { first: rows.start, end: rows.end, of: group.extent }
}

/// A part of the rows of an array.
#[derive(Clone, Copy)]
pub(super) struct RowRange {
    first: usize,
    end: usize,
    of: usize,
}

impl RowRange {
    /// All rows.
    pub(super) const ALL: RowRange = RowRange { first: 0, end: 1, of: 1 };

    /// Its first byte, and how many it has, of an array of so many bytes.
    pub(super) fn bytes(self, size: usize) -> (usize, usize) {
        let row = size / self.of;
        (self.first * row, (self.end - self.first) * row)
    }
}
