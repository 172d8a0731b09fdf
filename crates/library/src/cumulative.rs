//! Running sums and their relatives along an axis, differences, and sums of exponentials of two.

use cotan_ir::Extreme;

use crate::axes::axis_of;
use crate::function::functions;
use crate::reduce::{finite, log_total, root};
use crate::term::Term;

/// Runs `f`, which works along the outermost axis and keeps the number of axes, along another one.
pub(crate) fn along_axis<'c>(
    x: Term<'c>,
    axis: i64,
    f: impl FnOnce(Term<'c>) -> Term<'c>,
) -> Term<'c> {
    let axis = axis_of(x.context(), axis, x.rank());
    f(x.fronted(axis)).restored(axis)
}

/// The states of a loop along an axis.
fn cumulated<'c>(
    x: Term<'c>,
    axis: i64,
    reverse: bool,
    neutral: Term<'c>,
    step: impl FnOnce(Term<'c>, Term<'c>) -> Term<'c>,
) -> Term<'c> {
    along_axis(x, axis, |x| {
        let inner: Vec<usize> = x.dims().into_iter().skip(1).collect();
        let made = Term::run_loop(reverse, &[neutral.replicate_all(&inner)], &[x], |s, x| {
            let next = step(s[0], x[0]);
            vec![next, next]
        });
        made[1]
    })
}

/// `log(exp(a) + exp(b))`.
fn log_add_exp<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let shift = finite(a.maximum(b));
    shift + log_total((a - shift).exp() + (b - shift).exp())
}

/// The value does not depend on the scale, which is a constant for the derivative.
fn hypotenuse<'c>(x: Term<'c>, y: Term<'c>) -> Term<'c> {
    let largest = x.abs().maximum(y.abs());
    let usable = largest.gt(0.0) & largest.lt(f64::INFINITY);
    let scale = usable.choose(largest, 1.0).stop_gradient();
    scale * root((x / scale).square() + (y / scale).square())
}

functions! { Reducing TABLE:
    /// Running sums along an axis: each element plus all before it, or with `reverse` all after it.
    cumsum(x: Number, axis: Axis = "0", reverse: Flag = "false") "cumsum([1.0, 2.0, 3.0])"
        = |c| cumulated(x, axis, reverse, x.number(0.0), |s, x| s + x);
    /// Running products along an axis, as `cumsum` has sums. The derivative is right where elements are
    /// 0, too.
    cumprod(x: Number, axis: Axis = "0", reverse: Flag = "false") "cumprod([1.0, 2.0, 3.0])"
        = |c| cumulated(x, axis, reverse, x.number(1.0), |s, x| s * x);
    /// Running maxima along an axis, as `cumsum` has sums; NaN from the first NaN on. The derivative
    /// goes to the first of equal elements.
    cummax(x: Number, axis: Axis = "0", reverse: Flag = "false") "cummax([2.0, 1.0, 4.0])"
        = |c| cumulated(x, axis, reverse, x.bound(Extreme::Max), |s, x| s.maximum(x));
    /// Running minima along an axis, as `cumsum` has sums; NaN from the first NaN on. The derivative
    /// goes to the first of equal elements.
    cummin(x: Number, axis: Axis = "0", reverse: Flag = "false") "cummin([2.0, 3.0, 1.0])"
        = |c| cumulated(x, axis, reverse, x.bound(Extreme::Min), |s, x| s.minimum(x));
    /// Running `logsumexp` along an axis, as `cumsum` has sums.
    cumlogsumexp["logcumsumexp"](x: Float, axis: Axis = "0", reverse: Flag = "false")
        "cumlogsumexp([0.0, 0.0])"
        = |c| cumulated(x, axis, reverse, x.bound(Extreme::Max), log_add_exp);
    /// The differences of neighbouring elements along an axis: `x[1] - x[0]` and so on, one fewer than
    /// elements.
    diff(x: Number, axis: Axis = "0") "diff([1.0, 4.0, 9.0])"
        = |c| along_axis(x, axis, |x| {
            let count = x.len().saturating_sub(1);
            x.along(0, count, |i| i + 1i64) - x.along(0, count, |i| i)
        });
    /// `log(exp(x) + exp(y))` without overflow; -inf with derivative 0 where both are -inf.
    logaddexp(x: Float, y: Float) "logaddexp(1000.0, 1000.0)" = |c| log_add_exp(x, y);
    /// `sqrt(x * x + y * y)` without overflow or underflow of the squares; NaN if either is NaN. The
    /// derivative at the origin is 0.
    hypot(x: Float, y: Float) "hypot(3.0, 4.0)" = |c| hypotenuse(x, y);
}
