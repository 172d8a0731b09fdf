//! Small formulas, element by element.

use crate::function::functions;
use crate::term::Term;

const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
/// The square root of 2 / pi.
const GELU_SCALE: f64 = 0.797_884_560_802_865_4;

/// `max(0, x)`: of equals the first is the maximum, at 0 the constant, which has no derivative.
pub(crate) fn relu_of(x: Term<'_>) -> Term<'_> {
    x.number(0.0).maximum(x)
}

fn elu_of<'c>(x: Term<'c>, alpha: Term<'c>) -> Term<'c> {
    x.gt(0.0).choose(x, x.expm1() * alpha)
}

/// By |x| it would be shorter, but have a kink at 0.
pub(crate) fn softplus_of(x: Term<'_>) -> Term<'_> {
    x.gt(0.0).choose(x + (-x).exp().log1p(), x.exp().log1p())
}

functions! { Elementwise TABLE:
    /// Whether each element is NaN.
    is_nan["isnan"](x: Float) "is_nan([1.0, 0.0 / 0.0])" = |c| x.ne(x);
    /// Whether each element is inf or -inf.
    is_inf["isinf"](x: Float) "is_inf([1.0, 1.0 / 0.0])" = |c| x.abs().eq(f64::INFINITY);
    /// Whether each element is neither infinite nor NaN.
    is_finite["isfinite"](x: Float) "is_finite([1.0, 1.0 / 0.0])" = |c| x.abs().lt(f64::INFINITY);
    /// `x * x`.
    square(x: Number) "square([1.0, 3.0])" = |c| x.square();
    /// `x` limited to the range from `lo` to `hi`.
    clamp["clip"](x: Number, lo: Number, hi: Number) "clamp([-2.0, 0.5, 3.0], 0.0, 1.0)"
        = |c| x.maximum(lo).minimum(hi);
    /// The larger of two, elementwise; of equal values, the derivative goes to the first.
    maximum(x: Any, y: Any) "maximum([1.0, 5.0], 2.0)" = |c| x.maximum(y);
    /// The smaller of two, elementwise; of equal values, the derivative goes to the first.
    minimum(x: Any, y: Any) "minimum([1.0, 5.0], 2.0)" = |c| x.minimum(y);
    /// `x` where it is positive, else 0; its derivative at 0 is 0.
    relu(x: Number) "relu([-1.0, 2.0])" = |c| relu_of(x);
    /// `x` where it is positive, else `slope * x`.
    leaky_relu(x: Float, slope: Float) "leaky_relu([-1.0, 2.0], 0.1)"
        = |c| x.gt(0.0).choose(x, x * slope);
    /// `x` where it is positive, else `alpha * (exp(x) - 1)`.
    elu(x: Float, alpha: Float) "elu([0.0, 2.0], 1.0)" = |c| elu_of(x, alpha);
    /// `elu` scaled with the two constants that keep activations at mean 0 and variance 1.
    selu(x: Float) "selu([0.0, 1.0])" = |c| elu_of(x, x.number(SELU_ALPHA)) * SELU_SCALE;
    /// `x` times the normal distribution function at `x`.
    gelu(x: Float) "gelu([0.0, 10.0])"
        = |c| x * 0.5 * (x * -std::f64::consts::FRAC_1_SQRT_2).erfc();
    /// The approximation of `gelu` by `tanh`.
    gelu_tanh(x: Float) "gelu_tanh([0.0, 10.0])" = |c| {
        let inner = (x + x * x * x * 0.044_715) * GELU_SCALE;
        x * 0.5 * (inner.tanh() + 1.0)
    };
    /// `x * sigmoid(x)`.
    silu["swish"](x: Float) "silu([0.0, 100.0])" = |c| x * x.logistic();
    /// `log(1 + exp(x))` without overflow.
    softplus(x: Float) "softplus([0.0, 1000.0])" = |c| softplus_of(x);
    /// `x / (1 + |x|)`.
    softsign(x: Float) "softsign([-1.0, 3.0])" = |c| x / (x.abs() + 1.0);
    /// `x` limited to the range from -1 to 1.
    hard_tanh["hardtanh"](x: Float) "hard_tanh([-2.0, 0.5])" = |c| x.maximum(-1.0).minimum(1.0);
    /// The logistic function, `1 / (1 + exp(-x))`.
    sigmoid(x: Float) "sigmoid(0.0)" = |c| x.logistic();
    /// The logarithm of `sigmoid`, without overflow.
    log_sigmoid(x: Float) "log_sigmoid([-1000.0, 1000.0])" = |c| -softplus_of(-x);
    /// `x * tanh(softplus(x))`.
    mish(x: Float) "mish([0.0, 100.0])" = |c| x * softplus_of(x).tanh();
}
