//! Reading elements and parts of arrays.

use cotan_ir::{OutOfRange, Type};

use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::stage::{Raw, emit};

/// An index: an integer array without axes or a Rust integer, or a tuple, array, slice or vector of
/// such.
pub trait Index {
    /// Its components.
    fn components(self) -> Vec<Arr<i64>>;
}

macro_rules! one {
    ($($t:ty),*) => { $(
        impl Index for $t {
            #[track_caller]
            fn components(self) -> Vec<Arr<i64>> {
                vec![Operand::<i64>::operand(self)]
            }
        }
    )* };
}

one!(Arr<i64>, i64, i32, usize);

impl<I: Operand<i64>, const R: usize> Index for [I; R] {
    #[track_caller]
    fn components(self) -> Vec<Arr<i64>> {
        self.into_iter().map(|i| i.operand()).collect()
    }
}

impl<I: Operand<i64> + Copy> Index for &[I] {
    #[track_caller]
    fn components(self) -> Vec<Arr<i64>> {
        self.iter().map(|i| i.operand()).collect()
    }
}

impl<I: Operand<i64>> Index for Vec<I> {
    #[track_caller]
    fn components(self) -> Vec<Arr<i64>> {
        self.into_iter().map(|i| i.operand()).collect()
    }
}

macro_rules! tuples {
    ($(($($i:ident $n:tt),+))*) => { $(
        impl<$($i: Operand<i64>),+> Index for ($($i,)+) {
            #[track_caller]
            fn components(self) -> Vec<Arr<i64>> {
                vec![$(self.$n.operand()),+]
            }
        }
    )* };
}

tuples! { (I 0) (I 0, J 1) (I 0, J 1, K 2) (I 0, J 1, K 2, L 3) }

impl<T: Element> Arr<T> {
    /// The element at an index; with fewer components than axes, the part there.
    ///
    /// An index that varies reads 0 where it is outside, as windows and paddings need it. One that
    /// is constant and outside is an error: it would read 0 whatever the array holds. An axis
    /// without elements is excepted, since functions for all sizes read 0 there.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let trace = |a: Arr<f64>| {
    ///     let [n, _] = a.dims();
    ///     build(n, |i| a.at((i, i))).sum()
    /// };
    /// assert_eq!(jit(trace).call([[1.0, 2.0], [3.0, 4.0]])?, 5.0);
    ///
    /// let steps = |x: Arr<f64>| build(x.len(), |i| x.at(i) - x.at(i - 1));
    /// assert_eq!(jit(steps).call([1.0, 4.0, 9.0])?, Tensor::from([1.0, 3.0, 5.0]));
    ///
    /// let last = jit(|x: Arr<f64>| x.at(-1)).call([1.0, 2.0]).unwrap_err();
    /// assert_eq!(last.message(), "the index -1 is outside axis 0 of [2]f64: this would always read 0");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    ///
    /// See [`last`](Arr::last), [`slice`](Arr::slice), where negative positions count from the end,
    /// and [`at_or_zero`](Arr::at_or_zero), which is never an error.
    #[track_caller]
    pub fn at(self, index: impl Index) -> Arr<T> {
        self.read("at", index, true)
    }

    /// The element or part at an index, and 0 outside, also for constant indices: where a position
    /// is computed in Rust and may lie outside on purpose. See [`at`](Arr::at).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// // The second difference at position 0 of an array that goes on with zeros.
    /// let f = |x: Arr<f64>| x.at_or_zero(-1) - 2.0 * x.at(0) + x.at(1);
    /// assert_eq!(jit(f).call([1.0, 5.0])?, 3.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn at_or_zero(self, index: impl Index) -> Arr<T> {
        self.read("at_or_zero", index, false)
    }

    #[track_caller]
    fn read(self, name: &'static str, index: impl Index, constants_fit: bool) -> Arr<T> {
        let components = index.components();
        let operands: Vec<Raw> =
            std::iter::once(self.raw).chain(components.iter().map(|i| i.raw)).collect();
        Arr::from_raw(emit(name, &operands, |b, ts| match ts {
            [t, ix @ ..] if ix.len() > b.shape(*t).rank() => {
                Err(too_many(name, ix.len(), b.ty(*t)))
            }
            [t, ix @ ..] => match b.constant_out_of_range(*t, ix) {
                Some((axis, fault)) if constants_fit && fault.size > 0 => {
                    Err(out_of_range(name, axis, fault, b.ty(*t)))
                }
                Some(_) | None => b.index(*t, ix),
            },
            [] => Err(cotan_ir::Error::internal("nothing to read")),
        }))
    }
}

/// A constant index that reads 0 whatever the array holds.
pub(crate) fn out_of_range(
    name: &'static str,
    axis: usize,
    fault: OutOfRange,
    ty: &Type,
) -> cotan_ir::Error {
    let OutOfRange { index, size } = fault;
    let message =
        format!("the index {index} is outside axis {axis} of {ty}: this would always read 0");
    let hint = match fault.from_end() {
        Some(position) => format!(
            "indices do not count from the end: write {position}, `len() - {}` or, for the last, \
             `x.last()`; to read 0 on purpose, `at_or_zero`",
            size - position
        ),
        None => format!(
            "the indices of this axis are 0 to {}; to read 0 on purpose, write `at_or_zero`",
            size.saturating_sub(1)
        ),
    };
    cotan_ir::Error::type_error(name, message).with_hint(hint)
}

fn too_many(name: &'static str, count: usize, ty: &Type) -> cotan_ir::Error {
    let rank = ty.shape.rank();
    let indices = if count == 1 { "index" } else { "indices" };
    let axes = if rank == 1 { "axis" } else { "axes" };
    let message = format!("{count} {indices} for {ty}, which has {rank} {axes}");
    cotan_ir::Error::type_error(name, message)
        .with_hint("give one index for each axis; with fewer, it is the part there")
}
