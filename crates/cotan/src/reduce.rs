//! Reductions: sums and what is made of them.

use crate::arr::Arr;
use crate::element::Number;
use crate::error::Result;
use crate::sizes::{Axes, axes_of};
use crate::stage::{self, emit};

impl<T: Number> Arr<T> {
    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Arr<T> {
        let rank = self.rank();
        Arr::from_raw(emit("sum", &[self.raw], |b, ts| {
            (0..rank).try_fold(ts[0], |t, _| b.sum_outer(t))
        }))
    }

    /// The sum along axes; negative ones count from the end.
    #[track_caller]
    pub fn sum_axis(self, axes: impl Axes) -> Arr<T> {
        let rank = self.rank();
        let chosen: Result<Vec<usize>> = axes_of("sum_axis", axes, rank);
        let mut chosen = match chosen {
            Ok(chosen) => chosen,
            Err(error) => {
                stage::fail(error);
                return Arr::nothing();
            }
        };
        chosen.sort_unstable();
        Arr::from_raw(emit("sum_axis", &[self.raw], |b, ts| {
            let rest = (0..rank).filter(|axis| !chosen.contains(axis));
            let order: Vec<usize> = chosen.iter().copied().chain(rest).collect();
            let front = b.permute(ts[0], &order)?;
            chosen.iter().try_fold(front, |t, _| b.sum_outer(t))
        }))
    }
}
