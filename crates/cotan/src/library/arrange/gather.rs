//! Reading at many positions at once.

use cotan_ir::OutOfRange;

use super::access::{attempt, fitted, gathered, in_common, one_axis, shown};
use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::error::Error;
use crate::index::{Index, out_of_range};
use crate::sizes::Axes;
use crate::stage::{self, emit};

impl<T: Element> Arr<T> {
    /// The parts at many indices: the components are index arrays, for the leading axes, whose
    /// shapes stretch to a common one. The result has that shape, then the remaining axes.
    ///
    /// Positions outside read 0; negative ones are outside. The derivative adds up at positions
    /// that are read more than once. A single constant index outside is an error, as it is with
    /// [`at`](Arr::at).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, i: Arr<i64>, j: Arr<i64>| x.gather((i, j));
    /// let (x, i, j) = ([[1.0, 2.0], [3.0, 4.0]], [0, 1, 5], [1, 1, 0]);
    /// assert_eq!(jit(f).call((x, i, j))?, Tensor::from([2.0, 4.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn gather(self, index: impl Index) -> Arr<T> {
        attempt("gather", || {
            let components = index.components();
            if components.len() > self.rank() && !stage::failed() {
                let message =
                    format!("an index of {} components into {}", components.len(), shown(self));
                return Err(Error::type_error("gather", message));
            }
            let (components, common) = in_common("gather", &components)?;
            if common.is_empty() {
                return Ok(self.at(components));
            }
            Ok(gathered(self, &common, |is| components.iter().map(|i| i.at(is)).collect()))
        })
    }

    /// The parts at the given positions of an axis, which is replaced by the axes of `positions`.
    /// Positions outside read 0; negative ones are outside. A single constant position outside is an
    /// error, as it is with [`at`](Arr::at).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, i: Arr<i64>| x.take(i, 1);
    /// let y = jit(f).call(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 0]))?;
    /// assert_eq!(y, Tensor::from([[3.0, 1.0], [6.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn take(self, positions: impl Operand<i64>, axis: impl Axes) -> Arr<T> {
        attempt("take", || {
            let (dims, positions) = (self.shape(), positions.operand());
            let axis = one_axis("take", axis, dims.len())?;
            let positions =
                Arr::<i64>::from_raw(emit("take", &[self.raw, positions.raw], |b, ts| {
                    let k = dims.get(axis).copied().unwrap_or(0);
                    let fault = b.constant_index(ts[1]).and_then(|i| OutOfRange::of(i, k));
                    match fault.filter(|_| k > 0) {
                        Some(fault) => Err(out_of_range("take", axis, fault, b.ty(ts[0]))),
                        None => Ok(ts[1]),
                    }
                }));
            let sizes: Vec<usize> =
                dims.iter().copied().take(axis).chain(positions.shape()).collect();
            if sizes.is_empty() {
                return Ok(self.at(positions));
            }
            Ok(gathered(self, &sizes, |is| {
                let (before, at) = is.split_at(axis.min(is.len()));
                let position = if at.is_empty() { positions } else { positions.at(at) };
                before.iter().copied().chain([position]).collect()
            }))
        })
    }

    /// Along an axis, the elements at positions of their own for each line: element `[i, j]` of a
    /// matrix taken along axis 1 is that at `[i, positions[i, j]]`. Sizes of 1 in the other axes
    /// stretch, on either side. Positions outside read 0; negative ones are outside.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, i: Arr<i64>| x.take_along(i, 1);
    /// let y = jit(f).call(([[1.0, 2.0], [3.0, 4.0]], [[1], [0]]))?;
    /// assert_eq!(y, Tensor::from([[2.0], [3.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "take_along_axis")]
    #[track_caller]
    pub fn take_along(self, positions: impl Operand<i64>, axis: impl Axes) -> Arr<T> {
        attempt("take_along", || {
            let positions = positions.operand();
            let (dims, given) = (self.shape(), positions.shape());
            let axis = one_axis("take_along", axis, dims.len())?;
            let unfit = || {
                let message =
                    format!("positions {} along axis {axis} of {}", shown(positions), shown(self));
                let hint =
                    "both have as many axes; except along the axis, their sizes are equal or 1";
                Error::type_error("take_along", message).with_hint(hint)
            };
            if dims.len() != given.len() {
                return Err(unfit());
            }
            // The shape of the result, and that of the array stretched to it off the axis.
            let (mut result, mut whole) = (given.clone(), dims.clone());
            for (a, (&k, &j)) in dims.iter().zip(&given).enumerate() {
                if a == axis || k == j {
                    continue;
                }
                let size = match (k, j) {
                    (1, size) | (size, 1) => size,
                    _ => return Err(unfit()),
                };
                if let (Some(r), Some(w)) = (result.get_mut(a), whole.get_mut(a)) {
                    (*r, *w) = (size, size);
                }
            }
            let positions = fitted("take_along", "an index array", positions, &result)?;
            let x = fitted("take_along", "the array", self, &whole)?;
            Ok(gathered(x, &result, |is| {
                let mut ix = is.to_vec();
                if let Some(i) = ix.get_mut(axis) {
                    *i = positions.at(is);
                }
                ix
            }))
        })
    }
}
