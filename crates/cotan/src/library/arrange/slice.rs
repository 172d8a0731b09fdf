//! Parts of arrays by ranges: `x.slice(s![1..3, .., -1])`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::access::{attempt, fitted, gathered, reshaped, scalar, shown};
use super::plan::{Plan, signed};
use crate::arr::{Arr, Operand};
use crate::element::{Element, Number};
use crate::error::Error;
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
        $crate::s!(@parts [$($done,)* {
            #[allow(clippy::reversed_empty_ranges, reason = "a negative step runs backwards")]
            let part = $crate::Slice::from($range);
            part.by($step)
        },] $($($rest)*)?)
    };
    (@parts [$($done:expr,)*] $part:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@parts [$($done,)* $crate::Slice::from($part),] $($($rest)*)?)
    };
    ($($parts:tt)*) => { $crate::s!(@parts [] $($parts)*) };
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
