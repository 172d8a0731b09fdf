//! Reading at many positions at once.

use cotan_ir::OutOfRange;

use super::access::{attempt, gathered, in_common, one_axis, shown};
use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::error::Error;
use crate::index::{Index, out_of_range};
use crate::library::call::library;
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
        let (axes, positions) = (axis.axes(), positions.operand());
        attempt("take", || {
            // A constant that reads nothing but 0 is a mistake, and what to write instead is known.
            let dims = self.shape();
            let axis = one_axis("take", axes.as_slice(), dims.len())?;
            let checked = emit("take", &[self.raw, positions.raw], |b, ts| {
                let k = dims.get(axis).copied().unwrap_or(0);
                let fault = b.constant_index(ts[1]).and_then(|i| OutOfRange::of(i, k));
                match fault.filter(|_| k > 0) {
                    Some(fault) => Err(out_of_range("take", axis, fault, b.ty(ts[0]))),
                    None => Ok(ts[1]),
                }
            });
            let positions = Arr::<i64>::from_raw(checked);
            Ok(library!("take", take(x = self, ix = positions, axis = axes)))
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
        library!("take_along", take_along(x = self, ix = positions.operand(), axis = axis.axes()))
    }
}
