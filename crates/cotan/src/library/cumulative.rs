//! Running sums and their relatives along an axis, and differences.

use super::call::library;
use crate::arr::Arr;
use crate::element::{Float, Number};

macro_rules! cumulative {
    ($($(#[$doc:meta])* $bound:ident $name:ident $reverse:ident
        $given:literal => $expected:literal;)*) => { $(
        impl<T: $bound> Arr<T> {
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, axis: i32) -> Arr<T> {
                library!(stringify!($name), $name(x = self, axis = axis))
            }

            #[doc = concat!("[`", stringify!($name), "`](Arr::", stringify!($name), ") from the last \
                element back: of each element and those after it.\n\n\
                ```\nuse cotan::prelude::*;\n\n\
                let f = jit(|x: Arr<f64>| x.", stringify!($reverse), "(0));\n\
                assert_eq!(f.call(", $given, ")?.to_vec(), ", $expected, ");\n\
                # Ok::<(), cotan::Error>(())\n```")]
            #[track_caller]
            pub fn $reverse(self, axis: i32) -> Arr<T> {
                library!(stringify!($reverse), $name(x = self, axis = axis, reverse = true))
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
    Number cumsum cumsum_reverse
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
    Number cumprod cumprod_reverse
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
    Number cummax cummax_reverse
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
    Number cummin cummin_reverse
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
    Float cumlogsumexp cumlogsumexp_reverse
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
        library!("diff", diff(x = self, axis = axis))
    }
}
