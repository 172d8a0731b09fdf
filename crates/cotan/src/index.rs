//! Reading elements and parts of arrays.

use cotan_ir::Type;

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
    /// The element at an index; with fewer components than axes, the part there. Outside it is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let trace = |a: Arr<f64>| {
    ///     let [n, _] = a.dims();
    ///     build(n, |i| a.at((i, i))).sum()
    /// };
    /// assert_eq!(jit(trace).call([[1.0, 2.0], [3.0, 4.0]])?, 5.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn at(self, index: impl Index) -> Arr<T> {
        let components = index.components();
        let operands: Vec<Raw> =
            std::iter::once(self.raw).chain(components.iter().map(|i| i.raw)).collect();
        Arr::from_raw(emit("at", &operands, |b, ts| match ts {
            [t, ix @ ..] if ix.len() > b.shape(*t).rank() => Err(too_many(ix.len(), b.ty(*t))),
            [t, ix @ ..] => b.index(*t, ix),
            [] => Err(cotan_ir::Error::internal("nothing to read")),
        }))
    }
}

fn too_many(count: usize, ty: &Type) -> cotan_ir::Error {
    let rank = ty.shape.rank();
    let indices = if count == 1 { "index" } else { "indices" };
    let axes = if rank == 1 { "axis" } else { "axes" };
    let message = format!("{count} {indices} for {ty}, which has {rank} {axes}");
    cotan_ir::Error::type_error("at", message)
        .with_hint("give one index for each axis; with fewer, it is the part there")
}
