//! Parts of arrays by ranges: `x.slice(s![1..3, .., -1])`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::access::{affine, attempt, column, fitted, gathered, reshaped, scalar, shown};
use crate::arr::{Arr, Operand, full, iota};
use crate::element::{Element, Number};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::ops::select;
use crate::sizes::Sizes;
use crate::stage;

/// What a slice takes of one axis. The macro [`s!`](crate::s) makes these.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Slice {
    /// Positions from `start` in steps of `step` as far as `stop`. Negative ends count from the end
    /// of the axis, missing ones are the ends of the axis, and ends beyond the axis are cut to it.
    Range {
        /// The first position; by default the first in the direction of `step`.
        start: Option<i64>,
        /// Where to stop; by default after the last in the direction of `step`.
        stop: Option<i64>,
        /// Whether `stop` itself is taken.
        inclusive: bool,
        /// The distance of positions, not 0; negative ones run backwards.
        step: i64,
    },
    /// One position, which must lie on the axis; negative ones count from the end. The result does
    /// not have the axis.
    At(i64),
    /// One position, known when the function runs; outside of the axis 0 is read. The result does
    /// not have the axis.
    Index(Arr<i64>),
    /// As many whole axes as the others leave; at most once.
    Rest,
    /// A new axis of size 1.
    NewAxis,
}

impl Slice {
    /// A range with another step.
    #[must_use]
    pub fn by(self, by: i64) -> Slice {
        match self {
            Slice::Range { start, stop, inclusive, .. } => {
                Slice::Range { start, stop, inclusive, step: by }
            }
            Slice::At(_) | Slice::Index(_) | Slice::Rest | Slice::NewAxis => self,
        }
    }
}

/// The parts of axes for [`Arr::slice`], one for each axis from the first on; axes that are not
/// named are taken whole.
///
/// * `1..3`, `..-1`, `2..`, `..`, `0..=4`: a range, as numpy has it; `..;2` has a step and `..;-1`
///   runs backwards;
/// * `0`, `-1`: one position, the axis goes; `i`, an `Arr<i64>` without axes, likewise;
/// * `...`: as many whole axes as the others leave;
/// * `Slice::NewAxis`: a new axis of size 1.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| (x.slice(s![.., -1]), x.slice(s![1..; -1, ..2])), [2, 3])?;
/// let (last, part) = f.call([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// assert_eq!(last, Tensor::from([3.0, 6.0]));
/// assert_eq!(part, Tensor::from([[4.0, 5.0], [1.0, 2.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    (@parts [$($done:expr,)*]) => { [$($done),*] };
    (@parts [$($done:expr,)*] ... $(, $($rest:tt)*)?) => {
        $crate::s!(@parts [$($done,)* $crate::Slice::Rest,] $($($rest)*)?)
    };
    (@parts [$($done:expr,)*] $range:expr; $step:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@parts [$($done,)* $crate::Slice::from($range).by($step),] $($($rest)*)?)
    };
    (@parts [$($done:expr,)*] $part:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@parts [$($done,)* $crate::Slice::from($part),] $($($rest)*)?)
    };
    ($($parts:tt)*) => { $crate::s!(@parts [] $($parts)*) };
}

/// A size or position as i64; sizes are far below its end.
fn signed(k: impl TryInto<i64>) -> i64 {
    k.try_into().unwrap_or(i64::MAX)
}

fn range(start: Option<i64>, stop: Option<i64>, inclusive: bool) -> Slice {
    Slice::Range { start, stop, inclusive, step: 1 }
}

macro_rules! positions {
    ($($t:ty),*) => { $(
        impl From<$t> for Slice {
            fn from(i: $t) -> Slice {
                Slice::At(signed(i))
            }
        }

        impl From<Range<$t>> for Slice {
            fn from(r: Range<$t>) -> Slice {
                range(Some(signed(r.start)), Some(signed(r.end)), false)
            }
        }

        impl From<RangeFrom<$t>> for Slice {
            fn from(r: RangeFrom<$t>) -> Slice {
                range(Some(signed(r.start)), None, false)
            }
        }

        impl From<RangeTo<$t>> for Slice {
            fn from(r: RangeTo<$t>) -> Slice {
                range(None, Some(signed(r.end)), false)
            }
        }

        impl From<RangeInclusive<$t>> for Slice {
            fn from(r: RangeInclusive<$t>) -> Slice {
                range(Some(signed(*r.start())), Some(signed(*r.end())), true)
            }
        }

        impl From<RangeToInclusive<$t>> for Slice {
            fn from(r: RangeToInclusive<$t>) -> Slice {
                range(None, Some(signed(r.end)), true)
            }
        }
    )* };
}

positions!(i32, i64, usize);

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Slice {
        range(None, None, false)
    }
}

impl From<Arr<i64>> for Slice {
    fn from(i: Arr<i64>) -> Slice {
        Slice::Index(i)
    }
}

/// What is taken of one axis, with its size known.
#[derive(Clone, Copy)]
enum Part {
    /// Positions `start + step * i` for `i` below `size`.
    Run {
        start: i64,
        step: i64,
        size: usize,
    },
    At(Arr<i64>),
}

/// A slice of an array of known shape.
struct Plan {
    /// For each axis; whole axes at the end are left out.
    parts: Vec<Part>,
    /// The shape of the result, without new axes.
    plain: Vec<usize>,
    /// The shape of the result.
    dims: Vec<usize>,
}

impl Plan {
    fn new(op: &str, dims: &[usize], ty: &str, slices: &[Slice]) -> Result<Plan> {
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
                self.parts.push(Part::At(from_start.operand()));
            }
            Slice::Index(i) => {
                scalar(op, "a position", i).map_err(|error| error.message().to_owned())?;
                self.parts.push(Part::At(i));
            }
            Slice::Rest | Slice::NewAxis => {}
        }
        Ok(())
    }

    /// The sizes of the axes of the result that are read one position at a time.
    fn run_sizes(&self) -> Vec<usize> {
        let runs = self.parts.iter().filter_map(|part| match part {
            Part::Run { size, .. } => Some(*size),
            Part::At(_) => None,
        });
        runs.collect()
    }

    /// The position in the array of a position in the result.
    fn source(&self, is: &[Arr<i64>]) -> Vec<Arr<i64>> {
        let mut is = is.iter();
        let positions = self.parts.iter().filter_map(|part| match *part {
            Part::Run { start, step, .. } => is.next().map(|&i| affine(i, step, start)),
            Part::At(i) => Some(i),
        });
        positions.collect()
    }

    /// The position in the result of a position in the array that was taken.
    fn target(&self, is: &[Arr<i64>]) -> Vec<Arr<i64>> {
        let positions = self.parts.iter().zip(is).filter_map(|(part, &i)| match *part {
            Part::Run { start, step: 1, .. } => Some(affine(i, 1, -start)),
            Part::Run { start, step, .. } => Some(affine(i, 1, -start) / step),
            Part::At(_) => None,
        });
        positions.collect()
    }

    /// Which positions of an array are taken, of a shape that fits its own; `None` if all are.
    fn taken(&self, dims: &[usize]) -> Option<Arr<bool>> {
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

impl<T: Element> Arr<T> {
    /// A part of the array, given for each axis by [`s!`](crate::s). Ranges are cut to the axis; a
    /// single position must lie on it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let differences = |x: Arr<f64>| x.slice(s![1..]) - x.slice(s![..-1]);
    /// assert_eq!(jit(differences).call([1.0, 4.0, 9.0])?, Tensor::from([3.0, 5.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn slice(self, slices: impl AsRef<[Slice]>) -> Arr<T> {
        attempt("slice", || {
            let plan = Plan::new("slice", &self.shape(), &shown(self), slices.as_ref())?;
            let sizes = plan.run_sizes();
            let part = match *plan.parts {
                [] => self,
                _ if sizes.is_empty() => self.at(plan.source(&[])),
                _ => gathered(self, &sizes, |is| plan.source(is)),
            };
            Ok(reshaped("slice", part, &plan.dims))
        })
    }

    /// The array with other values in the part that [`slice`](Arr::slice) takes; their shape is, or
    /// stretches to, that of the part.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.slice_set(s![..; 2], 0.0), [5])?;
    /// assert_eq!(f.call([1.0, 2.0, 3.0, 4.0, 5.0])?, Tensor::from([0.0, 2.0, 0.0, 4.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_set(self, slices: impl AsRef<[Slice]>, values: impl Operand<T>) -> Arr<T> {
        attempt("slice_set", || {
            let dims = self.shape();
            let plan = Plan::new("slice_set", &dims, &shown(self), slices.as_ref())?;
            let values = fitted("slice_set", "the new value", values.operand(), &plan.dims)?;
            let values = reshaped("slice_set", values, &plan.plain);
            let Some(taken) = plan.taken(&dims) else { return Ok(values) };
            if plan.run_sizes().is_empty() {
                return Ok(select(taken, values, self));
            }
            let sizes: Vec<usize> = dims.iter().copied().take(plan.parts.len()).collect();
            let spread = gathered(values, &sizes, |is| plan.target(is));
            Ok(select(taken, spread, self))
        })
    }

    /// The part of the given sizes that begins at an index known when the function runs. What lies
    /// outside of the array is 0; the start is not moved to fit.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>, i: Arr<i64>| x.dynamic_slice(i, 2), ([4], ()))?;
    /// assert_eq!(f.call(([1.0, 2.0, 3.0, 4.0], 1))?, Tensor::from([2.0, 3.0]));
    /// assert_eq!(f.call(([1.0, 2.0, 3.0, 4.0], 3))?, Tensor::from([4.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn dynamic_slice(self, start: impl Index, sizes: impl Sizes) -> Arr<T> {
        attempt("dynamic_slice", || {
            let (start, sizes) = (start.components(), sizes.sizes());
            for &i in &start {
                scalar("dynamic_slice", "a start", i)?;
            }
            if (start.len() != sizes.len() || sizes.len() > self.rank()) && !stage::failed() {
                let message = format!(
                    "a start of {} components and {} sizes, for {}",
                    start.len(),
                    sizes.len(),
                    shown(self)
                );
                let hint = "both belong to the leading axes, one component and one size for each";
                return Err(Error::type_error("dynamic_slice", message).with_hint(hint));
            }
            if sizes.is_empty() {
                return Ok(self);
            }
            Ok(gathered(self, &sizes, |is| is.iter().zip(&start).map(|(&i, &s)| s + i).collect()))
        })
    }

    /// The first part along the outermost axis; of none, 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.last() - x.first(), [3])?;
    /// assert_eq!(f.call([1.0, 2.0, 5.0])?, 4.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn first(self) -> Arr<T> {
        self.at(0)
    }

    /// The last part along the outermost axis; of none, 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.last(), [2, 2])?;
    /// assert_eq!(f.call([[1.0, 2.0], [3.0, 4.0]])?, Tensor::from([3.0, 4.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn last(self) -> Arr<T> {
        attempt("last", || Ok(self.at(signed(self.len()) - 1)))
    }
}

impl<T: Number> Arr<T> {
    /// The array with values added in the part that [`slice`](Arr::slice) takes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.slice_add(s![1..], 10.0), [3])?;
    /// assert_eq!(f.call([1.0, 2.0, 3.0])?, Tensor::from([1.0, 12.0, 13.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_add(self, slices: impl AsRef<[Slice]>, values: impl Operand<T>) -> Arr<T> {
        attempt("slice_add", || {
            let part = self.slice(slices.as_ref());
            let values = fitted("slice_add", "what is added", values.operand(), &part.shape())?;
            Ok(self.slice_set(slices, part + values))
        })
    }
}
