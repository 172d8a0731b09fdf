//! Reductions, each in three forms: over all elements, along axes, and along axes that stay with
//! size 1.

mod extremes;
mod norms;
mod statistics;
mod sums;

/// The three forms of reductions. The examples of the last two: for a function of the elements,
/// with the arguments, at an array, and the result.
macro_rules! reductions {
    ($(
        $(#[$doc:meta])*
        $bound:ident $name:ident $axis:ident $keep:ident ($($arg:ident: $ty:ty),*) -> $out:ty
            = $f:ident, $element:literal $call:literal $given:literal => $expected:literal;
    )*) => { $(
        impl<T: $bound> Arr<T> {
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, $($arg: $ty),*) -> Arr<$out> {
                library!(stringify!($name), $f(x = self $(, $arg = $arg)*))
            }

            #[doc = concat!("[`", stringify!($name), "`](Arr::", stringify!($name), ") along one \
                axis or several, which go. Negative ones count from the end.\n\n\
                ```\nuse cotan::prelude::*;\n\n\
                let f = jit(|x: Arr<", $element, ">| x.", stringify!($axis), $call, ");\n\
                assert_eq!(f.call(", $given, ")?.to_vec(), ", $expected, ");\n\
                # Ok::<(), cotan::Error>(())\n```")]
            #[track_caller]
            pub fn $axis(self, axes: impl Axes, $($arg: $ty),*) -> Arr<$out> {
                library!(stringify!($axis), $f(x = self, axis = axes.axes() $(, $arg = $arg)*))
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
                let axes = axes.axes();
                library!(stringify!($keep), $f(x = self, axis = axes, keep = true $(, $arg = $arg)*))
            }
        }
    )* };
}

use reductions;
