//! Adding up what chunks of blocks have summed.

use cotan_nest::Role;

use super::pieces::ranges;
use super::{Run, Stop};
use crate::vm::{Frame, add_to, add_up};
use cotan_schedule::Partial;

impl Run<'_> {
    /// The bytes of an element of a sum.
    fn element_bytes(&self, partial: &Partial) -> usize {
        self.plan.buffers[partial.parts.index()].dtype.size()
    }

    /// Where a chunk puts its part of a sum.
    pub(super) fn part(&self, partial: &Partial, chunk: usize, arena: *mut u8) -> Option<*mut u8> {
        let Role::Temporary(offset) = self.plan.buffers[partial.parts.index()].role else {
            return None;
        };
        let bytes = partial.spread.numel() * self.element_bytes(partial);
        Some(arena.wrapping_add(offset + chunk * bytes))
    }

    /// Adds the parts of all chunks up, in their order, and puts the sums to their places.
    pub(super) fn add_parts(
        &self,
        partial: &Partial,
        chunks: usize,
        arena: *mut u8,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let Some(parts) = self.part(partial, 0, arena) else { return Ok(()) };
        let (numel, size) = (partial.spread.numel(), self.element_bytes(partial));
        let dtype = self.plan.buffers[partial.parts.index()].dtype;
        let target = frame.pointers[partial.target.index()];
        // Sums that do not lie together in the target are first added up to the first part.
        let to = match partial.spread.contiguous() {
            // SAFETY: a place of the target.
            Some(start) => unsafe { target.add(start * size) },
            None => parts,
        };
        for range in ranges(numel, chunks) {
            self.go_on(frame, range.len().saturating_mul(chunks))?;
            // SAFETY: as many elements as a part has, one after the other: in the target, or the
            // first part itself.
            unsafe { add_up(partial.reduction, dtype, to, (parts, numel * size), range, chunks) };
        }
        if partial.spread.contiguous().is_some() {
            return Ok(());
        }
        let mut done = 0;
        partial.spread.try_for_each_run(|place, count| {
            self.go_on(frame, count)?;
            // SAFETY: the runs are as many elements of the target as the part has.
            unsafe {
                let (from, to) = (parts.add(done * size), target.add(place * size));
                std::ptr::copy_nonoverlapping(from, to, count * size);
            }
            done += count;
            Ok(())
        })
    }

    /// Adds the elements of a part to those of another.
    ///
    /// # Safety
    /// Both have the elements of a part, and do not overlap.
    pub(super) unsafe fn add(
        &self,
        frame: &mut Frame,
        partial: &Partial,
        to: *mut u8,
        from: *const u8,
    ) -> Result<(), Stop> {
        let dtype = self.plan.buffers[partial.parts.index()].dtype;
        ranges(partial.spread.numel(), 1).try_for_each(|range| {
            self.go_on(frame, range.len())?;
            let start = range.start * dtype.size();
            // SAFETY: by the contract.
            unsafe {
                let (to, from) = (to.add(start), from.add(start));
                add_to(partial.reduction, dtype, to, from, range.len());
            }
            Ok(())
        })
    }
}
