//! Running sums and their relatives along an axis, and differences.

use super::axes::along_axis;
use super::control::run_loop;
use super::reduce::{finite, log_total};
use crate::arr::{Arr, full};
use crate::build::build;
use crate::element::{Float, Number};

/// The states of a loop along an axis.
#[track_caller]
fn cumulated<T: Number>(
    name: &'static str,
    x: Arr<T>,
    axis: i32,
    reverse: bool,
    neutral: T,
    step: impl FnOnce(Arr<T>, Arr<T>) -> Arr<T>,
) -> Arr<T> {
    along_axis(name, x, axis, |x| {
        let inner: Vec<usize> = x.shape().into_iter().skip(1).collect();
        let (_, states) = run_loop(name, reverse, full(inner, neutral), x, |state, x| {
            let next = step(state, x);
            (next, next)
        });
        states
    })
}

/// `log(exp(a) + exp(b))`.
pub(super) fn log_add_exp<T: Float>(a: Arr<T>, b: Arr<T>) -> Arr<T> {
    let shift = finite(a.maximum(b));
    shift + log_total((a - shift).exp() + (b - shift).exp())
}

macro_rules! cumulative {
    ($($(#[$doc:meta])* $bound:ident $name:ident $reverse:ident
        $neutral:expr, $step:expr, $given:literal => $expected:literal;)*) => { $(
        impl<T: $bound> Arr<T> {
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, axis: i32) -> Arr<T> {
                cumulated(stringify!($name), self, axis, false, $neutral, $step)
            }

            #[doc = concat!("[`", stringify!($name), "`](Arr::", stringify!($name), ") from the last \
                element back: of each element and those after it.\n\n\
                ```\nuse cotan::prelude::*;\n\n\
                let f = jit(|x: Arr<f64>| x.", stringify!($reverse), "(0));\n\
                assert_eq!(f.call(", $given, ")?.to_vec(), ", $expected, ");\n\
                # Ok::<(), cotan::Error>(())\n```")]
            #[track_caller]
            pub fn $reverse(self, axis: i32) -> Arr<T> {
                cumulated(stringify!($reverse), self, axis, true, $neutral, $step)
            }
        }
    )* };
}

cumulative! {
    /// The sum of each element along an axis and those before it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.cumsum(0));
    /// assert_eq!(f.call([1.0, 2.0, 3.0])?.to_vec(), [1.0, 3.0, 6.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number cumsum cumsum_reverse T::default(), |sum, x| sum + x,
        "[1.0, 2.0, 3.0]" => "[6.0, 5.0, 3.0]";
    /// The product of each element along an axis and those before it. Its derivative is right also
    /// where elements are 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.cumprod(0));
    /// assert_eq!(f.call([2.0, 3.0, 4.0])?.to_vec(), [2.0, 6.0, 24.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number cumprod cumprod_reverse T::ONE, |product, x| product * x,
        "[2.0, 3.0, 4.0]" => "[24.0, 12.0, 4.0]";
    /// The largest of each element along an axis and those before it; NaN from the first NaN on. The
    /// derivative goes to the one met first of equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.cummax(0));
    /// assert_eq!(f.call([2.0, 1.0, 4.0])?.to_vec(), [2.0, 2.0, 4.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number cummax cummax_reverse T::LEAST, |largest, x| largest.maximum(x),
        "[2.0, 5.0, 4.0]" => "[5.0, 5.0, 4.0]";
    /// The smallest of each element along an axis and those before it; NaN from the first NaN on.
    /// The derivative goes to the one met first of equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.cummin(0));
    /// assert_eq!(f.call([2.0, 3.0, 1.0])?.to_vec(), [2.0, 2.0, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number cummin cummin_reverse T::MOST, |smallest, x| smallest.minimum(x),
        "[2.0, 1.0, 4.0]" => "[1.0, 1.0, 4.0]";
    /// The [`logsumexp`](Arr::logsumexp) of each element along an axis and those before it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.cumlogsumexp(0));
    /// let y = f.call([0.0, 0.0, f64::NEG_INFINITY])?.to_vec();
    /// assert_eq!(y, [0.0, 2f64.ln(), 2f64.ln()]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float cumlogsumexp cumlogsumexp_reverse T::LEAST, log_add_exp,
        "[f64::NEG_INFINITY, 0.0, 0.0]" => "[2f64.ln(), 2f64.ln(), 0.0]";
}

impl<T: Number> Arr<T> {
    /// What each element along an axis is more than the one before it: one element fewer, and none of
    /// none.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.diff(0));
    /// assert_eq!(f.call([1.0, 4.0, 9.0])?.to_vec(), [3.0, 5.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn diff(self, axis: i32) -> Arr<T> {
        along_axis("diff", self, axis, |x| {
            build(x.len().saturating_sub(1), |i| x.at(i + 1) - x.at(i))
        })
    }
}
