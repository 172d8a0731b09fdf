//! Looking at arrays whose size decides what is run.

use cotan_array::Dtype;
use cotan_schedule::{Relaxed, largest};

use super::pieces::ranges;
use super::{Run, Stop};
use crate::compiled::CompiledGroup;
use crate::vm::{Frame, Kernel};

impl Run<'_> {
    /// What to run instead of the members of a group, if its arrays are of moderate size.
    pub(super) fn relaxed<'g>(
        &self,
        group: &'g CompiledGroup,
        frame: &mut Frame,
    ) -> Result<Option<&'g Relaxed<Kernel>>, Stop> {
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

/// Whether all elements are of moderate size.
fn all_moderate<E: Copy + Into<f64>>(elements: &[E], largest: f64) -> bool {
    // Several at a time, so that vectors can be used.
    const AT_A_TIME: usize = 32;
    elements
        .chunks(AT_A_TIME)
        .all(|chunk| chunk.iter().fold(true, |all, &x| all & (x.into().abs() <= largest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_looked_at() {
        let largest = largest(Dtype::F64);
        for n in [0, 1, 31, 32, 33, 64, 100] {
            let mut elements = vec![-largest; n];
            assert!(all_moderate(&elements, largest));
            for at in 0..n {
                for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -largest.next_up()] {
                    let before = std::mem::replace(&mut elements[at], number);
                    assert!(!all_moderate(&elements, largest), "{number} at {at} of {n}");
                    elements[at] = before;
                }
            }
        }
        let singles = [super::largest(Dtype::F32) as f32, f32::MAX];
        assert!(all_moderate(&singles[..1], super::largest(Dtype::F32)));
        assert!(!all_moderate(&singles, super::largest(Dtype::F32)));
    }
}
