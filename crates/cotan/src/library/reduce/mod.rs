//! Reductions, each in three forms: over all elements, along axes, and along axes that stay with
//! size 1.
//!
//! A reduction is written once, for an array with the axes to reduce in front. What it gives has
//! the remaining axes, which come last, so that it fits the array again by broadcasting.

mod extremes;
mod norms;
mod statistics;
mod sums;

use super::axes::{failed, permuted, reshaped};
use crate::arr::Arr;
use crate::element::{Element, Number};
use crate::error::Result;
use crate::sizes::axes_of;
use crate::stage::{self, emit};

use extremes::{Extreme, extreme};
pub(super) use norms::{finite, log_total, root};

/// Which axes go.
enum Over {
    All,
    Axes(Vec<i64>),
    /// They stay with size 1.
    Keep(Vec<i64>),
}

impl Over {
    /// The axes in order.
    fn axes(&self, name: &'static str, rank: usize) -> Result<Vec<usize>> {
        let mut axes = match self {
            Over::All => (0..rank).collect(),
            Over::Axes(axes) | Over::Keep(axes) => axes_of(name, axes.as_slice(), rank)?,
        };
        axes.sort_unstable();
        Ok(axes)
    }
}

/// An array with the axes to reduce in front.
pub(super) struct Front<T> {
    x: Arr<T>,
    /// How many axes are reduced.
    axes: usize,
}

impl<T> Clone for Front<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Front<T> {}

impl<T: Element> Front<T> {
    /// An array of the same shape in its place.
    fn with<U: Element>(self, x: Arr<U>) -> Front<U> {
        Front { x, axes: self.axes }
    }

    /// The number of elements that become one.
    fn count(self) -> usize {
        self.x.shape().iter().take(self.axes).product()
    }

    /// The sizes of the axes that remain.
    fn rest(self) -> Vec<usize> {
        self.x.shape().into_iter().skip(self.axes).collect()
    }

    /// The array with the axes to reduce as one.
    fn merged(self) -> Arr<T> {
        let sizes: Vec<usize> = std::iter::once(self.count()).chain(self.rest()).collect();
        reshaped(self.x, &sizes)
    }
}

impl<T: Number> Front<T> {
    fn sum(self) -> Arr<T> {
        Arr::from_raw(emit("sum", &[self.x.raw], |b, ts| {
            (0..self.axes).try_fold(ts[0], |t, _| b.sum_outer(t))
        }))
    }
}

/// Applies a reduction.
#[track_caller]
fn reduce<T: Element, U: Element>(
    name: &'static str,
    x: Arr<T>,
    over: Over,
    f: impl FnOnce(Front<T>) -> Arr<U>,
) -> Arr<U> {
    stage::operation(name, || {
        let mut sizes = x.shape();
        let axes = match over.axes(name, sizes.len()) {
            Ok(axes) => axes,
            Err(error) => return failed(error),
        };
        let rest = (0..sizes.len()).filter(|axis| !axes.contains(axis));
        let order: Vec<usize> = axes.iter().copied().chain(rest).collect();
        let reduced = f(Front { x: permuted(x, &order), axes: axes.len() });
        if !matches!(over, Over::Keep(_)) {
            return reduced;
        }
        for &axis in &axes {
            if let Some(size) = sizes.get_mut(axis) {
                *size = 1;
            }
        }
        reshaped(reduced, &sizes)
    })
}

/// The three forms of reductions. The examples of the last two: for a function of the elements,
/// with the arguments, at an array, and the result.
macro_rules! reductions {
    ($(
        $(#[$doc:meta])*
        $bound:ident $name:ident $axis:ident $keep:ident ($($arg:ident: $ty:ty),*) -> $out:ty
            = $f:expr, $element:literal $call:literal $given:literal => $expected:literal;
    )*) => { $(
        impl<T: $bound> Arr<T> {
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, $($arg: $ty),*) -> Arr<$out> {
                reduce(stringify!($name), self, Over::All, |front| $f(front, $($arg),*))
            }

            #[doc = concat!("[`", stringify!($name), "`](Arr::", stringify!($name), ") along one \
                axis or several, which go. Negative ones count from the end.\n\n\
                ```\nuse cotan::prelude::*;\n\n\
                let f = jit(|x: Arr<", $element, ">| x.", stringify!($axis), $call, ");\n\
                assert_eq!(f.call(", $given, ")?.to_vec(), ", $expected, ");\n\
                # Ok::<(), cotan::Error>(())\n```")]
            #[track_caller]
            pub fn $axis(self, axes: impl Axes, $($arg: $ty),*) -> Arr<$out> {
                let over = Over::Axes(axes.axes());
                reduce(stringify!($axis), self, over, |front| $f(front, $($arg),*))
            }

            #[doc = concat!("[`", stringify!($name), "`](Arr::", stringify!($name), ") along one \
                axis or several, which stay with size 1: so it fits the array again.\n\n\
                ```\nuse cotan::prelude::*;\n\n\
                let f = jit(|x: Arr<", $element, ">| x.", stringify!($keep), $call, ");\n\
                let y = f.call(", $given, ")?;\n\
                assert_eq!((y.shape(), y.to_vec()), (&[1, 2][..], ", $expected, ".to_vec()));\n\
                # Ok::<(), cotan::Error>(())\n```")]
            #[track_caller]
            pub fn $keep(self, axes: impl Axes, $($arg: $ty),*) -> Arr<$out> {
                let over = Over::Keep(axes.axes());
                reduce(stringify!($keep), self, over, |front| $f(front, $($arg),*))
            }
        }
    )* };
}

use reductions;
