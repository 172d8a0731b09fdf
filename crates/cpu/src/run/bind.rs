//! The memory that a run is given, and what it makes for itself: copies of inputs that do not lie in
//! order, and results.

use cotan_array::release::{release, settled};
use cotan_array::{Array, Dtype};
use smallvec::SmallVec;

use super::{RunLimits, Stop};
use crate::compiled::CompiledPlan;
use crate::vm::Frame;
use crate::workspace::{ResultMemory, bytes_of, bytes_to_overwrite};

/// Waits until memory that stopped runs have left is free again, if so many bytes are asked for that
/// it matters.
pub(super) fn wait_for_memory(bytes: usize, limits: &RunLimits) -> Result<(), Stop> {
    if settled(bytes, || !limits.over()) { Ok(()) } else { Err(Stop::Limit) }
}

/// Fills the memory of results with a byte.
pub(super) fn fill_results(plan: &CompiledPlan, byte: u8, frame: &Frame) {
    for b in &plan.outputs {
        let buffer = &plan.buffers[b.index()];
        let byte = if buffer.dtype == Dtype::Bool { byte & 1 } else { byte };
        // SAFETY: the results have memory for all of their elements.
        unsafe { std::ptr::write_bytes(frame.pointers[b.index()], byte, buffer.bytes()) };
    }
}

/// The arrays that a run makes.
#[derive(Default)]
pub(super) struct RunArrays {
    /// Inputs whose elements did not lie in order.
    copies: SmallVec<[Array; 2]>,
    /// New results, each with its position.
    rooms: SmallVec<[(usize, ResultMemory); 4]>,
    /// The bytes of both.
    bytes: usize,
}

impl RunArrays {
    /// Points the buffers of inputs to them, or to copies.
    pub(super) fn read(
        &mut self,
        plan: &CompiledPlan,
        inputs: &[Array],
        frame: &mut Frame,
        limits: &RunLimits,
    ) -> Result<(), Stop> {
        for &(b, k) in &plan.inputs {
            let buffer = &plan.buffers[b.index()];
            let array = inputs.get(k).ok_or(Stop::Input(k))?;
            if array.dtype() != buffer.dtype || *array.shape() != buffer.shape {
                return Err(Stop::Input(k));
            }
            let bytes = match bytes_of(array) {
                Some(bytes) => bytes,
                None => {
                    wait_for_memory(buffer.bytes(), limits)?;
                    let copy = array.contiguous_while(|| !limits.reached());
                    let copy = copy.map_err(|_| Stop::Memory)?.ok_or(Stop::Limit)?;
                    self.bytes = self.bytes.saturating_add(buffer.bytes());
                    self.copies.push(copy);
                    self.copies.last().and_then(bytes_of).ok_or(Stop::Memory)?
                }
            };
            frame.pointers[b.index()] = bytes.cast_mut();
        }
        Ok(())
    }

    /// Points the buffers of results to arrays that may be written over, or to new memory.
    pub(super) fn write(
        &mut self,
        plan: &CompiledPlan,
        outputs: &mut [Array],
        frame: &mut Frame,
        limits: &RunLimits,
    ) -> Result<(), Stop> {
        for (k, b) in plan.outputs.iter().enumerate() {
            let buffer = &plan.buffers[b.index()];
            let right = |a: &&mut Array| a.dtype() == buffer.dtype && *a.shape() == buffer.shape;
            let over = outputs.get_mut(k).filter(right).and_then(bytes_to_overwrite);
            frame.pointers[b.index()] = match over {
                Some(bytes) => bytes,
                None => {
                    // All of them together: many that are not much can be.
                    self.bytes = self.bytes.saturating_add(buffer.bytes());
                    wait_for_memory(self.bytes, limits)?;
                    let mut room = ResultMemory::new(buffer.dtype, buffer.shape.numel())
                        .ok_or(Stop::Memory)?;
                    let bytes = room.pointer();
                    self.rooms.push((k, room));
                    bytes
                }
            };
        }
        Ok(())
    }

    /// Puts the new results to the others.
    ///
    /// # Safety
    /// Every element of every result was written.
    pub(super) unsafe fn finish(self, plan: &CompiledPlan, outputs: &mut Vec<Array>) {
        outputs.truncate(plan.outputs.len());
        for (k, room) in self.rooms {
            let shape = plan.buffers[plan.outputs[k].index()].shape.clone();
            // SAFETY: by the contract.
            let array = unsafe { room.finish(shape) };
            if k < outputs.len() {
                outputs[k] = array;
            } else {
                outputs.push(array);
            }
        }
    }

    /// Gives the memory of a run back that has stopped.
    pub(super) fn release(self) {
        let bytes = self.bytes;
        release(self, bytes);
    }
}
