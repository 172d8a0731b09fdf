//! Reductions, over all axes or some of them, which go or stay with size 1.
//!
//! A reduction is written once, for an array with the axes to reduce in front. What it gives has the
//! remaining axes, which come last, so that it fits the array again by broadcasting.

use cotan_array::Dtype;
use cotan_ir::Extreme;

use crate::axes::sorted_axes;
use crate::function::functions;
use crate::term::Term;

/// An array with the axes to reduce in front.
#[derive(Clone, Copy)]
pub(crate) struct Front<'c> {
    pub(crate) x: Term<'c>,
    /// How many of them there are.
    axes: usize,
}

impl<'c> Front<'c> {
    fn with(self, x: Term<'c>) -> Front<'c> {
        Front { x, ..self }
    }

    /// The number of elements that become one.
    fn count(self) -> usize {
        self.x.dims().iter().take(self.axes).product()
    }

    fn rest(self) -> Vec<usize> {
        self.x.dims().into_iter().skip(self.axes).collect()
    }

    /// With one axis in the place of those to reduce.
    fn merged(self) -> Term<'c> {
        let dims: Vec<usize> = std::iter::once(self.count()).chain(self.rest()).collect();
        self.x.reshape(&dims)
    }

    fn sum(self) -> Term<'c> {
        self.x.sum_outer(self.axes)
    }

    fn full(self, x: f64) -> Term<'c> {
        self.x.number(x).replicate_all(&self.rest())
    }
}

/// Reduces the chosen axes of an array by a function of it with these in front.
pub(crate) fn reduce<'c>(
    x: Term<'c>,
    axes: Option<&[i64]>,
    keep: bool,
    f: impl FnOnce(Front<'c>) -> Term<'c>,
) -> Term<'c> {
    let mut dims = x.dims();
    let axes = sorted_axes(x.context(), axes, dims.len());
    let rest = (0..dims.len()).filter(|axis| !axes.contains(axis));
    let order: Vec<usize> = axes.iter().copied().chain(rest).collect();
    let reduced = f(Front { x: x.permute(&order), axes: axes.len() });
    if !keep {
        return reduced;
    }
    for &axis in &axes {
        dims[axis] = 1;
    }
    reduced.reshape(&dims)
}

/// The same for axes that are known to be there, and stay.
pub(crate) fn keeping<'c>(
    x: Term<'c>,
    axes: &[usize],
    f: impl FnOnce(Front<'c>) -> Term<'c>,
) -> Term<'c> {
    reduce(x, Some(&signed(axes)), true, f)
}

/// The same for axes that are known to be there, and go.
pub(crate) fn over<'c>(
    x: Term<'c>,
    axes: &[usize],
    f: impl FnOnce(Front<'c>) -> Term<'c>,
) -> Term<'c> {
    reduce(x, Some(&signed(axes)), false, f)
}

fn signed(axes: &[usize]) -> Vec<i64> {
    axes.iter().map(|&axis| axis as i64).collect()
}

pub(crate) fn total(front: Front<'_>) -> Term<'_> {
    front.sum()
}

pub(crate) fn product(front: Front<'_>) -> Term<'_> {
    match front.count() {
        0 => front.full(1.0),
        n => crate::operator::product(front.x.context(), front.merged(), n),
    }
}

fn count(front: Front<'_>) -> Term<'_> {
    front.with(front.x.cast(Dtype::Bool).cast(Dtype::I64)).sum()
}

fn position(front: Front<'_>, extreme: Extreme) -> Term<'_> {
    front.merged().arg_extreme(extreme)
}

pub(crate) fn extreme(front: Front<'_>, extreme: Extreme) -> Term<'_> {
    if front.count() == 0 {
        return front.x.bound(extreme).replicate_all(&front.rest());
    }
    front.merged().pick(position(front, extreme))
}

pub(crate) fn largest(front: Front<'_>) -> Term<'_> {
    extreme(front, Extreme::Max)
}

pub(crate) fn mean_of(front: Front<'_>) -> Term<'_> {
    front.sum() / front.count() as f64
}

/// The mean of the squares of the distances from the mean.
fn variance(front: Front<'_>, ddof: usize) -> Term<'_> {
    let distance = front.x - mean_of(front);
    let total = front.with(distance.square()).sum();
    match front.count().checked_sub(ddof) {
        Some(freedom @ 1..) => total / freedom as f64,
        Some(0) | None => front.full(f64::NAN),
    }
}

/// The place `q` along the sorted elements, between two of them in proportion.
fn quantile_of(front: Front<'_>, q: f64) -> Term<'_> {
    if !(0.0..=1.0).contains(&q) {
        let message = format!("a share of {q} of the elements");
        return front.x.context().wrong(message, "shares are from 0.0 to 1.0");
    }
    let Some(last) = front.count().checked_sub(1) else { return front.full(f64::NAN) };
    let merged = front.merged();
    let sorted = merged.pick(merged.arg_sort());
    let place = q * last as f64;
    let below = (place.floor() as usize).min(last);
    let share = place - place.floor();
    let value = match share > 0.0 {
        true => sorted.nth(below) * (1.0 - share) + sorted.nth(below + 1) * share,
        false => sorted.nth(below),
    };
    // NaNs come last.
    let greatest = sorted.nth(last);
    greatest.ne(greatest).choose(greatest, value)
}

/// The square root, with the derivative 0 at 0: that of a norm at the origin.
pub(crate) fn root(x: Term<'_>) -> Term<'_> {
    x.gt(0.0).choose(x.sqrt(), x.stop_gradient())
}

fn norm_of<'c>(front: Front<'c>, p: f64) -> Term<'c> {
    let size = front.with(front.x.abs());
    if p == 2.0 {
        return root(front.with(front.x.square()).sum());
    }
    if p == 1.0 {
        return size.sum();
    }
    if p == 0.0 {
        return front.with(front.x.ne(0.0).cast(front.x.dtype())).sum();
    }
    if p == f64::INFINITY {
        return if front.count() == 0 { front.full(0.0) } else { largest(size) };
    }
    if p == f64::NEG_INFINITY {
        return extreme(size, Extreme::Min);
    }
    // Powers of 0 are constants here: their derivatives are infinite for small `p`.
    let power = |x: Term<'c>, p: f64| x.eq(0.0).choose(x.number(0f64.powf(p)), x.pow(p));
    power(size.with(power(size.x, p)).sum(), 1.0 / p)
}

/// `x` where it is finite, else 0; a constant for derivatives.
pub(crate) fn finite(x: Term<'_>) -> Term<'_> {
    x.abs().lt(f64::INFINITY).choose(x, 0.0).stop_gradient()
}

/// The logarithm of a sum of exponentials: with the derivative 0 where all of them are 0.
pub(crate) fn log_total(total: Term<'_>) -> Term<'_> {
    let log = total.log();
    total.eq(0.0).choose(log.stop_gradient(), log)
}

/// `m + log(sum(exp(x - m)))`, where `m` is the largest element if that is finite and 0 otherwise:
/// so infinities give what they should, and not `inf - inf`. The value does not depend on `m`, which
/// counts as a constant for derivatives.
pub(crate) fn logsumexp_of(front: Front<'_>) -> Term<'_> {
    let shift = finite(largest(front));
    shift + log_total(front.with((front.x - shift).exp()).sum())
}

/// Everything below the largest element along the axes, so that exponentials do not overflow.
fn below_max<'c>(x: Term<'c>, axes: &[usize]) -> Term<'c> {
    x - keeping(x, axes, largest).stop_gradient()
}

fn softmax_of<'c>(x: Term<'c>, axes: Option<&[i64]>) -> Term<'c> {
    let axes = sorted_axes(x.context(), axes, x.rank());
    let exp = below_max(x, &axes).exp();
    exp / keeping(exp, &axes, total)
}

pub(crate) fn log_softmax_of<'c>(x: Term<'c>, axes: Option<&[i64]>) -> Term<'c> {
    let axes = sorted_axes(x.context(), axes, x.rank());
    let below = below_max(x, &axes);
    below - keeping(below.exp(), &axes, total).log()
}

functions! { Reducing TABLE:
    /// The sum; 0 for no elements.
    sum(x: Number, axis: Axes = "all", keep: Flag = "false") "sum([[1.0, 2.0], [3.0, 4.0]], axis = 0)"
        = |c| reduce(x, axis.as_deref(), keep, total);
    /// The product; 1 for no elements.
    ///
    /// The derivative is right where elements are 0, too.
    prod(x: Number, axis: Axes = "all", keep: Flag = "false") "prod([2.0, 3.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, product);
    /// The mean; NaN for no elements.
    mean(x: Float, axis: Axes = "all", keep: Flag = "false") "mean([1.0, 2.0, 6.0])"
        = |c| reduce(x, axis.as_deref(), keep, mean_of);
    /// The variance: the sum of squared distances from the mean, divided by `count - ddof`; NaN if that
    /// is not positive.
    var(x: Float, axis: Axes = "all", keep: Flag = "false", ddof: Size = "0")
        "var([1.0, 2.0, 3.0], ddof = 1)"
        = |c| reduce(x, axis.as_deref(), keep, |front| variance(front, ddof));
    /// The standard deviation, the square root of `var`; the derivative is 0 where it is 0.
    std(x: Float, axis: Axes = "all", keep: Flag = "false", ddof: Size = "0")
        "std([1.0, 3.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| root(variance(front, ddof)));
    /// The median; for an even number of elements, the mean of the two in the middle. NaN for no
    /// elements, or if any is NaN.
    median(x: Float, axis: Axes = "all", keep: Flag = "false") "median([3.0, 1.0, 2.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| quantile_of(front, 0.5));
    /// The `q`-quantile, interpolated linearly between neighbouring elements. NaN for no elements, or
    /// if any is NaN.
    quantile(x: Float, q: Real, axis: Axes = "all", keep: Flag = "false")
        "quantile([1.0, 2.0, 4.0], 0.75)"
        = |c| reduce(x, axis.as_deref(), keep, |front| quantile_of(front, q));
    /// The largest element; NaN if any is NaN. For no elements, the smallest number of the type (-inf
    /// for floats). The derivative goes to the first of equal elements. In the text language, `max(a,
    /// b)` is the larger of two.
    max(x: Any, axis: Axes = "all", keep: Flag = "false") "max([3.0, 5.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, largest);
    /// The smallest element; NaN if any is NaN. For no elements, the largest number of the type (inf
    /// for floats). The derivative goes to the first of equal elements. In the text language, `min(a,
    /// b)` is the smaller of two.
    min(x: Any, axis: Axes = "all", keep: Flag = "false") "min([3.0, 5.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| extreme(front, Extreme::Min));
    /// The position of the largest element: of the first, if several are equal; of the first NaN, if
    /// there is one; 0 for no elements.
    ///
    /// Along several axes it is the position in row-major order.
    argmax(x: Any, axis: Axes = "all", keep: Flag = "false") "argmax([3.0, 5.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| position(front, Extreme::Max));
    /// The position of the smallest element: of the first, if several are equal; of the first NaN, if
    /// there is one; 0 for no elements.
    ///
    /// Along several axes it is the position in row-major order.
    argmin(x: Any, axis: Axes = "all", keep: Flag = "false") "argmin([3.0, 5.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| position(front, Extreme::Min));
    /// Whether any element is true; false for no elements.
    any(x: Bool, axis: Axes = "all", keep: Flag = "false") "any([false, true])"
        = |c| reduce(x, axis.as_deref(), keep, |front| count(front).ne(0i64));
    /// Whether all elements are true; true for no elements.
    all(x: Bool, axis: Axes = "all", keep: Flag = "false") "all([false, true])"
        = |c| reduce(x, axis.as_deref(), keep, |front| count(front.with(!front.x)).eq(0i64));
    /// The number of elements that are not 0 (or are true).
    count_nonzero(x: Any, axis: Axes = "all", keep: Flag = "false") "count_nonzero([3, 0, 4])"
        = |c| reduce(x, axis.as_deref(), keep, count);
    /// `log(sum(exp(x)))` without overflow; -inf with derivative 0 for no elements, or if all are -inf.
    logsumexp(x: Float, axis: Axes = "all", keep: Flag = "false") "logsumexp([1000.0, 1000.0])"
        = |c| reduce(x, axis.as_deref(), keep, logsumexp_of);
    /// The `p`-norm, `sum(abs(x) ** p) ** (1 / p)`; the derivative is 0 where all elements are 0.
    ///
    /// `p` may be 0 (the number of elements that are not 0), `inf` and `-inf` (the largest and
    /// smallest absolute value).
    norm(x: Float, axis: Axes = "all", keep: Flag = "false", p: Real = "2") "norm([3.0, 4.0])"
        = |c| reduce(x, axis.as_deref(), keep, |front| norm_of(front, p));
    /// `exp(x) / sum(exp(x))` along the axis or axes, without overflow.
    softmax(x: Float, axis: Axes = "-1") "softmax([0.0, 0.0])"
        = |c| softmax_of(x, axis.as_deref());
    /// The logarithm of `softmax`, without overflow.
    log_softmax(x: Float, axis: Axes = "-1") "log_softmax([0.0, 0.0])"
        = |c| log_softmax_of(x, axis.as_deref());
}
