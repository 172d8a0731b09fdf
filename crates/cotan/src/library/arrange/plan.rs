//! What a slice takes of an array of known shape.

use super::access::{affine, column, scalar};
use super::slice::Slice;
use crate::arr::{Arr, Operand, full, iota};
use crate::error::{Error, Result};

/// A size or position as i64; sizes are far below its end.
pub(super) fn signed(k: impl TryInto<i64>) -> i64 {
    k.try_into().unwrap_or(i64::MAX)
}

/// What is taken of one axis, with its size known.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Positions `start + step * i` for `i` below `size`.
    Run { start: i64, step: i64, size: usize },
    /// One position, which lies on the axis.
    At(i64),
    /// One position, known when the function runs.
    Index(Arr<i64>),
}

/// A slice of an array of known shape.
pub(crate) struct Plan {
    /// For each axis; whole axes at the end are left out.
    pub(crate) parts: Vec<Part>,
    /// The shape of the result, without new axes.
    pub(super) plain: Vec<usize>,
    /// The shape of the result.
    pub(crate) dims: Vec<usize>,
}

impl Plan {
    pub(crate) fn new(op: &str, dims: &[usize], ty: &str, slices: &[Slice]) -> Result<Plan> {
        let taking = |slice: &&Slice| !matches!(slice, Slice::Rest | Slice::NewAxis);
        let named = slices.iter().filter(taking).count();
        let rests = slices.iter().filter(|slice| matches!(slice, Slice::Rest)).count();
        if named > dims.len() || rests > 1 {
            let message = match rests {
                0 | 1 => format!("parts of {named} axes, of {ty}"),
                _ => "`...` is given more than once".to_owned(),
            };
            return Err(Error::type_error(op, message));
        }
        let mut plan = Plan { parts: Vec::new(), plain: Vec::new(), dims: Vec::new() };
        let mut sizes = dims.iter().copied();
        for &slice in slices {
            match slice {
                Slice::NewAxis => plan.dims.push(1),
                Slice::Rest => {
                    sizes.by_ref().take(dims.len() - named).for_each(|k| plan.whole(k));
                }
                Slice::Range { .. } | Slice::At(_) | Slice::Index(_) => {
                    let k = sizes.next().unwrap_or(0);
                    plan.take(op, slice, k).map_err(|message| {
                        let axis = plan.parts.len();
                        Error::type_error(op, format!("axis {axis} of {ty}: {message}"))
                    })?;
                }
            }
        }
        sizes.for_each(|k| plan.whole(k));
        let touched = plan.parts.iter().zip(dims).rposition(|(part, &k)| !part.is_whole(k));
        plan.parts.truncate(touched.map_or(0, |last| last + 1));
        Ok(plan)
    }

    fn whole(&mut self, k: usize) {
        self.run(0, 1, k);
    }

    fn run(&mut self, start: i64, step: i64, size: usize) {
        self.parts.push(Part::Run { start, step, size });
        self.plain.push(size);
        self.dims.push(size);
    }

    fn take(&mut self, op: &str, slice: Slice, k: usize) -> std::result::Result<(), String> {
        let size = signed(k);
        match slice {
            Slice::Range { start, stop, inclusive, step } => {
                let (start, count) = run_of(size, start, stop, inclusive, step)
                    .ok_or_else(|| "a step of 0".to_owned())?;
                self.run(start, step, count);
            }
            Slice::At(i) => {
                let from_start = if i < 0 { i.saturating_add(size) } else { i };
                if from_start < 0 || from_start >= size {
                    return Err(format!("there is no position {i}"));
                }
                self.parts.push(Part::At(from_start));
            }
            Slice::Index(i) => {
                scalar(op, "a position", i).map_err(|error| error.message().to_owned())?;
                self.parts.push(Part::Index(i));
            }
            Slice::Rest | Slice::NewAxis => {}
        }
        Ok(())
    }

    /// The sizes of the axes of the result that are read one position at a time.
    pub(super) fn run_sizes(&self) -> Vec<usize> {
        let runs = self.parts.iter().filter_map(|part| match part {
            Part::Run { size, .. } => Some(*size),
            Part::At(_) | Part::Index(_) => None,
        });
        runs.collect()
    }

    /// The position in the array of a position in the result.
    pub(super) fn source(&self, is: &[Arr<i64>]) -> Vec<Arr<i64>> {
        let mut is = is.iter();
        let positions = self.parts.iter().filter_map(|part| match *part {
            Part::Run { start, step, .. } => is.next().map(|&i| affine(i, step, start)),
            Part::At(i) => Some(i.operand()),
            Part::Index(i) => Some(i),
        });
        positions.collect()
    }

    /// The position in the result of a position in the array that was taken.
    pub(super) fn target(&self, is: &[Arr<i64>]) -> Vec<Arr<i64>> {
        let positions = self.parts.iter().zip(is).filter_map(|(part, &i)| match *part {
            Part::Run { start, step: 1, .. } => Some(affine(i, 1, -start)),
            Part::Run { start, step, .. } => Some(affine(i, 1, -start) / step),
            Part::At(_) | Part::Index(_) => None,
        });
        positions.collect()
    }

    /// Which positions of an array are taken, of a shape that fits its own; `None` if all are.
    pub(super) fn taken(&self, dims: &[usize]) -> Option<Arr<bool>> {
        let masks = self.parts.iter().zip(dims).enumerate().filter_map(|(axis, (part, &k))| {
            let mask = part.taken(k)?;
            Some(column(mask, dims.len().saturating_sub(axis + 1)))
        });
        masks.reduce(|all, mask| all & mask)
    }
}

impl Part {
    fn is_whole(self, k: usize) -> bool {
        matches!(self, Part::Run { start: 0, step: 1, size } if size == k)
    }

    /// Which positions of an axis of size `k` are taken; `None` if all are.
    fn taken(self, k: usize) -> Option<Arr<bool>> {
        match self {
            _ if self.is_whole(k) => None,
            Part::At(i) => Some(iota(k).eq(i)),
            Part::Index(i) => Some(iota(k).eq(i)),
            Part::Run { size: 0, .. } => Some(full(k, false)),
            Part::Run { start, step, size } => {
                let (i, last) = (iota(k), start + step * (signed(size) - 1));
                let between = i.ge(start.min(last)) & i.le(start.max(last));
                let on_step = || (affine(i, 1, -start) % step).eq(0);
                Some(if step.abs() == 1 { between } else { between & on_step() })
            }
        }
    }
}

/// The first position and the number of positions of a range, as numpy has them. `None` if the step
/// is 0.
fn run_of(
    size: i64,
    start: Option<i64>,
    stop: Option<i64>,
    inclusive: bool,
    step: i64,
) -> Option<(i64, usize)> {
    // Forwards positions lie in 0..=size, where `size` is after the last; backwards in -1..size.
    let (lowest, highest) = match step {
        0 => return None,
        1.. => (0, size),
        _ => (-1, size - 1),
    };
    let from_start = |i: i64| if i < 0 { i.saturating_add(size) } else { i };
    let (first, end) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let start = start.map_or(first, |i| from_start(i).clamp(lowest, highest));
    let beyond = if inclusive { step.signum() } else { 0 };
    let stop = stop.map_or(end, |i| from_start(i).saturating_add(beyond).clamp(lowest, highest));
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    Some((start, usize::try_from(count).unwrap_or(usize::MAX)))
}
