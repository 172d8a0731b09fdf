//! Searching in what is sorted.

use cotan_ir::{MapAccum, Param, Type};

use super::access::{attempt, shown};
use crate::arr::{Arr, Operand, constant, zeros};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::ops::select;
use crate::stage::{self, emit};
use crate::tensor::Tensor;

impl<T: Element> Arr<T> {
    /// Where values belong in this array of one axis, which is sorted: the number of its elements
    /// that come before a value. Equal elements do not, so a value goes in front of them. NaN comes
    /// after all numbers. Takes `O(log n)` steps.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, v: Arr<f64>| (x.searchsorted(v), x.searchsorted_right(v));
    /// let (left, right) = jit(f).call(([1.0, 3.0, 3.0, 5.0], [3.0, 0.0, 9.0]))?;
    /// assert_eq!(left, Tensor::from([1, 0, 4]));
    /// assert_eq!(right, Tensor::from([3, 0, 4]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(self, values: impl Operand<T>) -> Arr<i64> {
        attempt("searchsorted", || {
            let values = values.operand();
            search("searchsorted", self, values, |x| precedes(x, values))
        })
    }

    /// As [`searchsorted`](Arr::searchsorted), but a value goes after the elements equal to it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<i64>, v: Arr<i64>| x.searchsorted_right(v);
    /// assert_eq!(jit(f).call(([2, 2, 4], 2))?, 2);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted_right(self, values: impl Operand<T>) -> Arr<i64> {
        attempt("searchsorted_right", || {
            let values = values.operand();
            search("searchsorted_right", self, values, |x| !precedes(values, x))
        })
    }
}

/// Whether `a` is sorted before `b`: NaN comes last.
fn precedes<T: Element>(a: Arr<T>, b: Arr<T>) -> Arr<bool> {
    if T::DTYPE.is_float() { a.lt(b) | (a.eq(a) & b.ne(b)) } else { a.lt(b) }
}

/// The number of elements at the front of `sorted` for which `before` holds, for each of `values`:
/// binary search, from the highest bit of the number to the lowest.
fn search<T: Element>(
    op: &'static str,
    sorted: Arr<T>,
    values: Arr<T>,
    before: impl FnOnce(Arr<T>) -> Arr<bool>,
) -> Result<Arr<i64>> {
    if sorted.rank() != 1 && !stage::failed() {
        let message = format!("what is sorted has one axis, not {}", shown(sorted));
        let hint = "search the lines of an array in a `build`";
        return Err(Error::type_error(op, message).with_hint(hint));
    }
    let n = sorted.len();
    let dims = values.shape();
    let start: Arr<i64> = zeros(&dims);
    let Some(highest) = n.checked_ilog2() else { return Ok(start) };
    let bits: Vec<i64> = (0..=highest).rev().map(|bit| 1i64 << bit).collect();
    let length = bits.len();
    let Some(state) = stage::type_of(start.raw) else { return Ok(Arr::nothing()) };
    let params = [Param::Value(state.clone()), Param::Value(Type::scalar(state.dtype))];
    let step = stage::lambda(op, &params, |vars| match *vars {
        [found, bit] => {
            let found: Arr<i64> = Arr::from_raw(found);
            let more = found + Arr::<i64>::from_raw(bit);
            let is_more = more.le(n) & before(sorted.take(more - 1, 0));
            vec![select(is_more, more, found).raw]
        }
        _ => Vec::new(),
    });
    let Some(step) = step else { return Ok(Arr::nothing()) };
    let bits = constant(Tensor::from(bits));
    Ok(Arr::from_raw(emit(op, &[start.raw, bits.raw], |b, ts| {
        let (init, inputs) = (ts[..1].into(), ts[1..].into());
        let folded = b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
        b.result(folded, 0)
    })))
}
