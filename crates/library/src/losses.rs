//! Losses: one value for each element, or for each example of which the classes lie along the last
//! axis. What is minimised is usually their mean or sum, and weights or masks go between; only `mse`
//! and `mae` have the mean in their names.

use cotan_ir::broadcast_dims;

use crate::axes::sorted_axes;
use crate::elementwise::{relu_of, softplus_of};
use crate::function::functions;
use crate::neural::{no_classes, of_labels};
use crate::reduce::{log_softmax_of, mean_of, over, reduce, total};
use crate::term::Term;

fn mean_all(x: Term<'_>) -> Term<'_> {
    reduce(x, None, false, mean_of)
}

fn huber_of<'c>(x: Term<'c>, target: Term<'c>, delta: f64) -> Term<'c> {
    let r = x - target;
    let linear = (r.abs() - delta / 2.0) * delta;
    r.abs().le(delta).choose(r * r * 0.5, linear)
}

fn cosine<'c>(a: Term<'c>, b: Term<'c>, axes: Option<&[i64]>, epsilon: f64) -> Term<'c> {
    let c = a.context();
    if epsilon.is_nan() || epsilon <= 0.0 {
        let hint = "it keeps a vector of zeros from a division by 0: give a small number";
        return c.wrong(format!("an epsilon of {epsilon}"), hint);
    }
    let products = a * b;
    let axes = sorted_axes(c, axes, products.rank());
    let common = broadcast_dims(&a.dims(), &b.dims()).unwrap_or_default();
    // Squares are compared, for the root of 0 has no derivative.
    let length = |x: Term<'c>| {
        let squares = over((x * x).fit("a vector", &common), &axes, total);
        squares.maximum(epsilon * epsilon).sqrt()
    };
    over(products, &axes, total) / (length(a) * length(b))
}

/// The sum along the axis of classes.
fn sum_classes(x: Term<'_>) -> Term<'_> {
    match x.rank().checked_sub(1) {
        Some(last) => over(x, &[last], total),
        None => no_classes(x),
    }
}

functions! { Losses TABLE:
    /// `(x - target) ** 2`.
    squared_error(x: Float, target: Float) "squared_error([1.0, 4.0], [1.0, 1.0])"
        = |c| (x - target).square();
    /// The mean of all squared errors.
    mse(x: Float, target: Float) "mse([1.0, 4.0], [1.0, 1.0])"
        = |c| mean_all((x - target).square());
    /// `|x - target|`.
    absolute_error(x: Float, target: Float) "absolute_error([1.0, 4.0], [1.0, 1.0])"
        = |c| (x - target).abs();
    /// The mean of all absolute errors.
    mae(x: Float, target: Float) "mae([1.0, 4.0], [1.0, 1.0])" = |c| mean_all((x - target).abs());
    /// Half the squared error for errors up to `delta`, linear beyond.
    huber(x: Float, target: Float, delta: Real = "1") "huber([1.0, 4.0], [0.5, 1.0])"
        = |c| huber_of(x, target, delta);
    /// `huber` with `delta = beta`, divided by `beta`: far from the target, the absolute error minus a
    /// constant. With `beta = 0`, the absolute error.
    smooth_l1(x: Float, target: Float, beta: Real = "1") "smooth_l1([1.0, 4.0], [0.5, 1.0])"
        = |c| match beta {
            0.0 => (x - target).abs(),
            _ => huber_of(x, target, beta) / beta,
        };
    /// `max(0, 1 - x * target)` for targets -1 and 1.
    hinge(x: Float, target: Float) "hinge([0.5, 2.0], [1.0, 1.0])"
        = |c| relu_of(x.number(1.0) - x * target);
    /// The cosine of the angle between the vectors along an axis; lengths below `epsilon` count as
    /// `epsilon`.
    cosine_similarity(x: Float, y: Float, axis: Axes = "-1", epsilon: Real = "1e-8")
        "cosine_similarity([1.0, 0.0], [1.0, 1.0])"
        = |c| cosine(x, y, axis.as_deref(), epsilon);
    /// The cross entropy for two classes, given the logit of one class and its target probability.
    binary_cross_entropy_with_logits(logits: Float, target: Float)
        "binary_cross_entropy_with_logits([0.0], [1.0])"
        = |c| {
            let other = target.number(1.0) - target;
            target.scale(softplus_of(-logits)) + other.scale(softplus_of(logits))
        };
    /// The cross entropy for two classes, given the predicted and the target probability of one class.
    /// With a target of 0 or 1, the other class contributes exactly 0.
    binary_cross_entropy(probabilities: Float, target: Float) "binary_cross_entropy([0.5], [1.0])"
        = |c| {
            let other = target.number(1.0) - target;
            -(target.scale(probabilities.log()) + other.scale((-probabilities).log1p()))
        };
    /// The cross entropy of each example: minus the log-softmax of its logits (the last axis) at its
    /// label.
    cross_entropy(logits: Float, labels: Int) "cross_entropy([[0.0, 0.0]], [1])"
        = |c| of_labels(logits, labels, true);
    /// The negative log-likelihood: minus the log-probability of each example's label.
    nll(log_probabilities: Float, labels: Int) "nll([[-1.0, -2.0]], [1])"
        = |c| of_labels(log_probabilities, labels, false);
    /// The cross entropy between target probabilities along the last axis and the softmax of the
    /// logits.
    cross_entropy_with_probabilities(logits: Float, probabilities: Float)
        "cross_entropy_with_probabilities([0.0, 0.0], [0.5, 0.5])"
        = |c| match logits.rank() {
            0 => no_classes(logits),
            _ => -sum_classes(probabilities.scale(log_softmax_of(logits, Some(&[-1])))),
        };
    /// The sum of `p * (log(p) - log(q))` along the last axis; 0 where `p` is 0.
    kl_divergence(p: Float, q: Float) "kl_divergence([0.5, 0.5], [0.25, 0.75])"
        = |c| sum_classes(p.scale(p.log() - q.log()));
}
