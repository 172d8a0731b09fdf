//! Normalisation, attention and other parts of neural networks.

use crate::axes::{axis_of, sorted_axes};
use crate::context::Fact;
use crate::function::functions;
use crate::reduce::{keeping, log_softmax_of, mean_of, over, total};
use crate::term::Term;

fn halves<'c>(x: Term<'c>, axis: i64) -> Term<'c> {
    let c = x.context();
    let axis = axis_of(c, axis, x.rank());
    let front = x.fronted(axis);
    let mut dims = front.dims();
    let Some(&size) = dims.first() else { return x.nothing() };
    if size % 2 == 1 {
        let message = format!("axis {axis} of {} cannot be halved", x.shown());
        return c.wrong(message, "its size must be even: the values and their gates");
    }
    dims.splice(..1, [2, size / 2]);
    let halves = front.reshape(&dims);
    (halves.nth(0) * halves.nth(1).logistic()).restored(axis)
}

/// Deviations from the mean along axes, which stay, and the mean of their squares.
struct Moments<'c> {
    centred: Term<'c>,
    mean: Term<'c>,
    variance: Term<'c>,
}

fn moments<'c>(x: Term<'c>, axes: &[usize]) -> Moments<'c> {
    let mean = keeping(x, axes, mean_of);
    let centred = x - mean;
    Moments { centred, mean, variance: keeping(centred * centred, axes, mean_of) }
}

impl<'c> Moments<'c> {
    fn standardized(&self, epsilon: f64) -> Term<'c> {
        self.centred / (self.variance + epsilon).sqrt()
    }
}

/// The last axes of `x`, which the parameters have.
fn trailing_axes(x: Term<'_>, parameters: &[(&str, Term<'_>)]) -> Vec<usize> {
    let (c, dims) = (x.context(), x.dims());
    let rank = parameters.first().map_or(0, |(_, first)| first.rank());
    let begin = dims.len().saturating_sub(rank);
    let last = dims.get(begin..).unwrap_or_default();
    for (name, parameter) in parameters {
        if last != parameter.dims() {
            if last.len() == parameter.rank() {
                let pairs = last.iter().copied().zip(parameter.dims()).collect();
                c.note(Fact::UnlessEqual(pairs));
            }
            let message =
                format!("a {name} {} for the last axes of {}", parameter.shown(), x.shown());
            c.wrong(message, "the parameters have the shape of the axes that are normalised");
        }
    }
    (begin..dims.len()).collect()
}

/// The shape of one number for each channel, so that it fits `x`.
fn along_channels(x: Term<'_>, parameters: &[(&str, Term<'_>)]) -> Vec<usize> {
    let (c, dims) = (x.context(), x.dims());
    let Some(&channels) = dims.get(1) else {
        c.wrong(format!("axes of batch and channel are needed, of {}", x.shown()), "");
        return Vec::new();
    };
    for (name, parameter) in parameters {
        let own = parameter.dims();
        if own != [channels] {
            if let [k] = own[..] {
                c.note(Fact::UnlessEqual(vec![(k, channels)]));
            }
            let message =
                format!("a {name} {} for the channels of {}", parameter.shown(), x.shown());
            c.wrong(message, "one number for each channel, which is axis 1");
        }
    }
    let mut along = vec![1; dims.len() - 1];
    along[0] = channels;
    along
}

fn normalized_batch<'c>(
    x: Term<'c>,
    scale: Term<'c>,
    bias: Term<'c>,
    epsilon: f64,
) -> Vec<Term<'c>> {
    let along = along_channels(x, &[("scale", scale), ("bias", bias)]);
    let axes: Vec<usize> = (0..x.rank()).filter(|&axis| axis != 1).collect();
    if x.context().failed() {
        return vec![x.nothing(); 3];
    }
    let of_batch = moments(x, &axes);
    let channels = [x.dims()[1]];
    let y = of_batch.standardized(epsilon) * scale.reshape(&along) + bias.reshape(&along);
    vec![y, of_batch.mean.reshape(&channels), of_batch.variance.reshape(&channels)]
}

fn normalized_by<'c>(
    x: Term<'c>,
    [mean, variance, scale, bias]: [Term<'c>; 4],
    epsilon: f64,
) -> Term<'c> {
    let parameters = [("mean", mean), ("variance", variance), ("scale", scale), ("bias", bias)];
    let along = along_channels(x, &parameters);
    if x.context().failed() {
        return x.nothing();
    }
    // One factor for each channel, before it meets the array.
    let factor = scale / (variance + epsilon).sqrt();
    (x - mean.reshape(&along)) * factor.reshape(&along) + bias.reshape(&along)
}

fn dropped<'c>(x: Term<'c>, kept: Term<'c>, rate: f64) -> Term<'c> {
    if !(0.0..=1.0).contains(&rate) {
        let hint = "it is the part that is dropped: between 0 and 1";
        return x.context().wrong(format!("a rate of {rate}"), hint);
    }
    let factor = if rate < 1.0 { 1.0 / (1.0 - rate) } else { 0.0 };
    kept.choose(x * factor, 0.0)
}

fn new_axis(x: Term<'_>, after: usize) -> Term<'_> {
    let mut dims = x.dims();
    dims.insert(dims.len().saturating_sub(after), 1);
    x.reshape(&dims)
}

fn sum_last(x: Term<'_>, from_end: usize) -> Term<'_> {
    over(x, &[x.rank().saturating_sub(from_end)], total)
}

fn attended<'c>(q: Term<'c>, k: Term<'c>, v: Term<'c>, mask: Option<Term<'c>>) -> Term<'c> {
    let c = q.context();
    let (qs, ks, vs) = (q.dims(), k.dims(), v.dims());
    let width = match (&qs[..], &ks[..], &vs[..]) {
        ([.., _, d], [.., n, width], [.., values, _]) if d == width && n == values => Some(*d),
        ([.., _, d], [.., n, width], [.., values, _]) => {
            c.note(Fact::UnlessEqual(vec![(*d, *width), (*n, *values)]));
            None
        }
        _ => None,
    };
    let Some(width) = width else {
        let message = format!(
            "queries {}, keys {} and values {} do not fit",
            q.shown(),
            k.shown(),
            v.shown()
        );
        return c.wrong(message, "they are [.., m, d], [.., n, d] and [.., n, e]");
    };
    let scores = sum_last(new_axis(q, 1) * new_axis(k, 2), 1) / (width as f64).sqrt();
    let softmax = |x: Term<'c>| {
        let last = [x.rank().saturating_sub(1)];
        let exp = (x - keeping(x, &last, crate::reduce::largest).stop_gradient()).exp();
        exp / keeping(exp, &last, total)
    };
    let weights = match mask {
        None => softmax(scores),
        // Selected a second time, so that a row of -inf alone gives zeros and not NaN.
        Some(mask) => mask.choose(softmax(mask.choose(scores, f64::NEG_INFINITY)), 0.0),
    };
    sum_last(new_axis(weights, 0) * new_axis(v, 2), 2)
}

functions! { Neural TABLE:
    /// The first half along an axis times `sigmoid` of the second half.
    glu(x: Float, axis: Axis = "-1") "glu([1.0, 2.0, 0.0, 0.0])" = |c| halves(x, axis);
    /// `(x - mean) / sqrt(var + epsilon)`, with mean and variance along the axis or axes.
    standardize(x: Float, axis: Axes = "-1", epsilon: Real = "1e-5")
        "standardize([1.0, 3.0], epsilon = 0.0)"
        = |c| moments(x, &sorted_axes(c, axis.as_deref(), x.rank())).standardized(epsilon);
    /// `standardize` along the last axes, those of `scale` and `bias`, then scaled and shifted.
    layer_norm(x: Float, scale: Float, bias: Float, epsilon: Real = "1e-5")
        "layer_norm([1.0, 3.0], [2.0, 2.0], [0.0, 1.0], epsilon = 0.0)"
        = |c| {
            let axes = trailing_axes(x, &[("scale", scale), ("bias", bias)]);
            moments(x, &axes).standardized(epsilon) * scale + bias
        };
    /// `x / sqrt(mean(x ** 2) + epsilon)` along the last axes, those of `scale`, then scaled.
    rms_norm(x: Float, scale: Float, epsilon: Real = "1e-5")
        "rms_norm([3.0, 3.0], [1.0, 2.0], epsilon = 0.0)"
        = |c| {
            let axes = trailing_axes(x, &[("scale", scale)]);
            x / (keeping(x * x, &axes, mean_of) + epsilon).sqrt() * scale
        };
    /// `x` standardised along all axes except axis 1, the channels, then scaled and shifted for each
    /// channel; also gives the mean and variance of each channel.
    batch_norm(x: Float, scale: Float, bias: Float, epsilon: Real = "1e-5")
        "batch_norm([[1.0], [3.0]], [1.0], [0.0], epsilon = 0.0)"
        = |c| normalized_batch(x, scale, bias, epsilon);
    /// `batch_norm` with given means and variances, as used after training.
    batch_norm_with(x: Float, mean: Float, variance: Float, scale: Float, bias: Float,
        epsilon: Real = "1e-5")
        "batch_norm_with([[1.0], [3.0]], [2.0], [1.0], [1.0], [0.0], epsilon = 0.0)"
        = |c| normalized_by(x, [mean, variance, scale, bias], epsilon);
    /// `x / (1 - rate)` where `kept` is true, 0 elsewhere, so that the expected value stays the same.
    dropout(x: Float, kept: Bool, rate: Real) "dropout([1.0, 2.0], [true, false], 0.5)"
        = |c| dropped(x, kept, rate);
    /// Scaled dot-product attention, with queries `q` of shape `[.., m, d]`, keys `k` of `[.., n, d]`
    /// and values `v` of `[.., n, e]`. A mask of shape `[.., m, n]` says which keys each query sees; a
    /// query that sees none gives zeros.
    attention(q: Float, k: Float, v: Float, mask: Bool = "all")
        "attention([[1.0]], [[0.0], [0.0]], [[1.0], [3.0]])"
        = |c| attended(q, k, v, mask);
    /// The mask of shape `[m, n]` with which each query sees the keys up to its own position; the last
    /// query sees all keys.
    causal_mask(m: Size, n: Size) "causal_mask(2, 2)"
        = |c| c.build(&[m, n], |is| (is[1] + m).le(is[0] + n));
    /// The rows of a table at the given ids; zeros for ids out of range.
    embedding(table: Any, ids: Int) "embedding([[1.0, 2.0], [3.0, 4.0]], [1, 0])"
        = |c| table.gather(&ids.dims(), |is| vec![ids.at(is)]);
    /// For each position, a vector of `n` elements along a new last axis: 1 at the position, 0
    /// elsewhere.
    one_hot_of["onehot"](positions: Int, n: Size, dtype: Dtype = "f64") "one_hot_of([0, 2], 3)"
        = |c| positions.column(1).eq(c.iota(n)).cast(dtype);
}

/// The class whose logarithm of probability counts for each example.
pub(crate) fn of_labels<'c>(x: Term<'c>, labels: Term<'c>, logits: bool) -> Term<'c> {
    let (c, dims) = (x.context(), x.dims());
    let Some((_, examples)) = dims.split_last() else { return no_classes(x) };
    let own = labels.dims();
    if own != examples {
        if own.len() == examples.len() {
            c.note(Fact::UnlessEqual(own.iter().copied().zip(examples.iter().copied()).collect()));
        }
        c.note(Fact::Blame(vec![0, 1]));
        let message = format!("labels {} for {}", labels.shown(), x.shown());
        let hint = "one label for each example: the shape without the last axis, that of classes";
        return c.wrong(message, hint);
    }
    let x = if logits { log_softmax_of(x, Some(&[-1])) } else { x };
    -x.gather(examples, |is| is.iter().copied().chain([labels.at(is)]).collect())
}

/// The error of a scalar where classes lie along the last axis.
pub(crate) fn no_classes(x: Term<'_>) -> Term<'_> {
    let message = format!("{} has no axis of classes", x.shown());
    x.context().wrong(message, "classes lie along the last axis")
}
