//! Writing at many positions at once.

use cotan_ir::Extreme;

use super::access::{attempt, extreme_at, fitted, in_common, product, reshaped, scattered};
use crate::arr::{Arr, Operand, iota};
use crate::element::{Element, Number};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::library::call::library;
use crate::ops::select;
use crate::sizes::Sizes;
use crate::stage::{Raw, emit};

/// Index arrays into an array of a given shape, with what is written there.
struct Writes<T: Element> {
    /// The components, in their common shape.
    index: Vec<Arr<i64>>,
    common: Vec<usize>,
    /// The leading sizes, which the index is for, and the others.
    outer: Vec<usize>,
    inner: Vec<usize>,
    /// Of shape `common ++ inner`.
    updates: Arr<T>,
}

impl<T: Element> Writes<T> {
    fn new(
        op: &'static str,
        sizes: &[usize],
        index: impl Index,
        updates: impl Operand<T>,
    ) -> Result<Writes<T>> {
        let (index, updates) = (index.components(), updates.operand());
        let Some((outer, inner)) = sizes.split_at_checked(index.len()) else {
            let message = format!("an index of {} components into {sizes:?}", index.len());
            return Err(Error::type_error(op, message));
        };
        let (index, common) = in_common(op, &index)?;
        let wanted = [common.as_slice(), inner].concat();
        let updates = fitted(op, "what is written", updates, &wanted)?;
        Ok(Writes { index, common, outer: outer.to_vec(), inner: inner.to_vec(), updates })
    }

    /// The number of each position in row-major order, -1 for those outside; one axis.
    fn positions(&self) -> Arr<i64> {
        let valid = |i: Arr<i64>, k: usize| i.ge(0) & i.lt(k);
        let components = self.index.iter().zip(&self.outer);
        let numbered = components
            .map(|(&i, &k)| (i, valid(i, k), k))
            .reduce(|(number, all, _), (i, valid, k)| (number * k + i, all & valid, k));
        match numbered {
            Some((number, all, _)) => select(all, number, -1).flatten(),
            None => Arr::nothing(),
        }
    }

    /// Whether each position is that of the only update.
    fn only_place(&self) -> Arr<bool> {
        let along = |(axis, (&i, &k)): (usize, (&Arr<i64>, &usize))| {
            let after = vec![1; self.outer.len() - axis - 1];
            reshaped("index_set", iota(k).eq(i), &[&[k], after.as_slice()].concat())
        };
        let places = self.index.iter().zip(&self.outer).enumerate().map(along);
        places.reduce(|before, place| before & place).unwrap_or_else(Arr::nothing)
    }

    /// Whether each position is updated, and the last update of each.
    fn last_updates(&self) -> (Arr<bool>, Arr<T>) {
        let updates = product(&self.common);
        let places = product(&self.outer);
        // The last is the one with the largest number.
        let last = extreme_at("index_set", Extreme::Max, iota(updates), self.positions(), places);
        let last = reshaped("index_set", last, &self.outer);
        let dims: Vec<usize> = [updates].into_iter().chain(self.inner.iter().copied()).collect();
        let written = reshaped("index_set", self.updates, &dims).take(last, 0);
        (last.lt(updates), written)
    }
}

/// Zeros of the given shape, with updates added at many indices: the components are index arrays
/// for the leading axes, whose shapes stretch to a common one; the updates are, or stretch to, that
/// shape and the remaining axes.
///
/// Updates of one position add up, in order; those outside are dropped, and negative positions are
/// outside. The derivative by the updates is a [`gather`](Arr::gather) at the same indices.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |i: Arr<i64>, x: Arr<f64>| scatter_add(3, i, x);
/// let y = jit(f).call(([0, 2, 0, 7], [1.0, 2.0, 3.0, 4.0]))?;
/// assert_eq!(y, Tensor::from([4.0, 0.0, 2.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn scatter_add<T: Number>(
    sizes: impl Sizes,
    index: impl Index,
    updates: impl Operand<T>,
) -> Arr<T> {
    attempt("scatter_add", || {
        let writes = Writes::new("scatter_add", &sizes.sizes(), index, updates)?;
        let Writes { index, common, outer, updates, .. } = &writes;
        if outer.is_empty() {
            return Ok(*updates);
        }
        if common.is_empty() {
            let operands: Vec<Raw> =
                std::iter::once(updates.raw).chain(index.iter().map(|i| i.raw)).collect();
            return Ok(Arr::from_raw(emit("scatter_add", &operands, |b, ts| match ts {
                [v, ix @ ..] => b.one_hot(outer, *v, ix),
                [] => Err(cotan_ir::Error::internal("nothing to write")),
            })));
        }
        Ok(scattered(outer, *updates, common, |is| index.iter().map(|i| i.at(is)).collect()))
    })
}

impl<T: Number> Arr<T> {
    /// The array with updates added at many indices: see [`scatter_add`].
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, i: Arr<i64>| x.index_add(i, 1.0);
    /// let y = jit(f).call(([10.0, 20.0, 30.0], [1, 1, 2, -1]))?;
    /// assert_eq!(y, Tensor::from([10.0, 22.0, 31.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn index_add(self, index: impl Index, updates: impl Operand<T>) -> Arr<T> {
        attempt("index_add", || Ok(self + scatter_add(self.shape(), index, updates)))
    }
}

impl<T: Element> Arr<T> {
    /// The array with other values at many indices, given as for [`scatter_add`].
    ///
    /// Of several updates of one position the last counts, in the row-major order of the index
    /// arrays; it alone gets the derivative. Updates outside are dropped, and negative positions
    /// are outside.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, i: Arr<i64>, y: Arr<f64>| x.index_set(i, y);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2], [7.0, 8.0, 9.0]))?;
    /// assert_eq!(y, Tensor::from([8.0, 2.0, 9.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn index_set(self, index: impl Index, updates: impl Operand<T>) -> Arr<T> {
        attempt("index_set", || {
            let writes = Writes::new("index_set", &self.shape(), index, updates)?;
            if writes.outer.is_empty() {
                return Ok(writes.updates);
            }
            let (there, written) = match writes.common.is_empty() {
                true => (writes.only_place(), writes.updates),
                false => writes.last_updates(),
            };
            let ones = vec![1; writes.inner.len()];
            let mask_dims = [writes.outer.as_slice(), &ones].concat();
            let mask = reshaped("index_set", there, &mask_dims);
            Ok(select(mask, written, self))
        })
    }
}

impl Arr<i64> {
    /// For each position, 1 at that place of a new last axis of size `n` and 0 elsewhere; nothing
    /// but 0 for positions outside of it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|i: Arr<i64>| i.one_hot::<f64>(3)).call([2, 0, 3])?;
    /// assert_eq!(y, Tensor::from([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn one_hot<T: Element>(self, n: usize) -> Arr<T> {
        library!("one_hot", one_hot_of(positions = self, n = n, dtype = T::DTYPE))
    }

    /// How often each of `0, 1, .., n - 1` occurs; others are not counted.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|i: Arr<i64>| i.bincount(3)).call([0, 2, 2, 5, -1])?;
    /// assert_eq!(y, Tensor::from([1, 0, 2]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn bincount(self, n: usize) -> Arr<i64> {
        library!("bincount", bincount(ids = self, n = n))
    }
}
