//! Looking at arrays whose size decides what is run.

use cotan_array::Dtype;

use super::pieces::ranges;
use super::{Run, Stop};
use crate::group::{Group, Relaxed, all_moderate, largest};
use crate::vm::Frame;

impl Run<'_> {
    /// What to run instead of the members of a group, if its arrays are of moderate size.
    pub(super) fn relaxed<'g>(
        &self,
        group: &'g Group,
        frame: &mut Frame,
    ) -> Result<Option<&'g Relaxed>, Stop> {
        let Some(relaxed) = &group.relaxed else { return Ok(None) };
        for b in &relaxed.moderate {
            let buffer = &self.plan.buffers[b.index()];
            let start = frame.pointers[b.index()];
            for range in ranges(buffer.shape.numel(), 1) {
                self.go_on(frame, range.len())?;
                let (first, count) = (range.start, range.len());
                // SAFETY: the buffer has so many elements, and nobody writes them meanwhile.
                let moderate = unsafe {
                    match buffer.dtype {
                        Dtype::F32 => {
                            let from = start.cast::<f32>().add(first);
                            all_moderate(
                                std::slice::from_raw_parts(from, count),
                                largest(Dtype::F32),
                            )
                        }
                        _ => {
                            let from = start.cast::<f64>().add(first);
                            all_moderate(
                                std::slice::from_raw_parts(from, count),
                                largest(Dtype::F64),
                            )
                        }
                    }
                };
                if !moderate {
                    return Ok(None);
                }
            }
        }
        Ok(Some(relaxed))
    }
}
