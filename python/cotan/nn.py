"""Functions of neural networks: activations, normalisation, convolutions, losses.

Arrays of images have the axes batch, channel, height, width; kernels output channel, input channel,
height, width.

>>> import cotan as ct, numpy as np
>>> logits, labels = np.zeros((2, 3)), np.array([0, 2])
>>> ct.grad(lambda z: ct.nn.cross_entropy(z, labels).mean())(logits).round(3)
array([[-0.333,  0.167,  0.167],
       [ 0.167,  0.167, -0.333]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core
from ._control import where
from ._core import lib
from ._errors import make
from ._examples import with_example
from ._function import Function
from ._operation import axes_of, operation, row, sizes_of
from .numpy import clip, expm1, logsumexp, one_hot, sqrt, tanh

__all__ = [
    "absolute_error",
    "attention",
    "avg_pool",
    "batch_norm",
    "batch_norm_with",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "causal_mask",
    "celu",
    "conv",
    "conv_transpose",
    "cosine_similarity",
    "cross_entropy",
    "cross_entropy_with_probabilities",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "global_avg_pool",
    "global_max_pool",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "hinge",
    "huber",
    "identity",
    "kl_divergence",
    "layer_norm",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "mae",
    "max_pool",
    "mish",
    "mse",
    "nll",
    "one_hot",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1",
    "soft_sign",
    "softmax",
    "softplus",
    "softsign",
    "squared_error",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]


def _activation(name: str, made: Callable[..., Any], doc: str) -> Function:
    def f(x: Any) -> Any:
        return made(x)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x")(f)


def _loss(name: str, made: Callable[..., Any], doc: str) -> Function:
    def f(x: Any, target: Any) -> Any:
        return made(x, target)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x", "target")(f)


relu = _activation("relu", lib.relu, "``max(x, 0)``; its derivative at 0 is 0.")
selu = _activation("selu", lib.selu, "The scaled exponential linear unit.")
silu = swish = _activation("silu", lib.silu, "``x * sigmoid(x)``.")
softplus = _activation("softplus", lib.softplus, "``log(1 + exp(x))`` without overflow.")
soft_sign = softsign = _activation("softsign", lib.softsign, "``x / (1 + abs(x))``.")
hard_tanh = _activation("hard_tanh", lib.hard_tanh, "``x`` between -1 and 1.")
sigmoid = _activation("sigmoid", lib.sigmoid, "``1 / (1 + exp(-x))``.")
log_sigmoid = _activation("log_sigmoid", lib.log_sigmoid, "``log(sigmoid(x))`` without overflow.")
mish = _activation("mish", lib.mish, "``x * tanh(softplus(x))``.")
squared_error = _loss("squared_error", lib.squared_error, "``(x - target) ** 2``.")
mse = _loss("mse", lib.mse, "The mean of squared errors.")
absolute_error = _loss("absolute_error", lib.absolute_error, "``abs(x - target)``.")
mae = _loss("mae", lib.mae, "The mean of absolute errors.")
hinge = _loss("hinge", lib.hinge, "``max(0, 1 - x * target)``.")
kl_divergence = _loss("kl_divergence", lib.kl_divergence, "The divergence of distributions.")
binary_cross_entropy = _loss(
    "binary_cross_entropy", lib.binary_cross_entropy, "Of probabilities, element by element."
)
binary_cross_entropy_with_logits = _loss(
    "binary_cross_entropy_with_logits", lib.binary_cross_entropy_with_logits, "Of logits."
)


@operation("x")
def gelu(x: Any, approximate: bool = True) -> Any:
    """``x`` times the normal distribution function; by ``tanh`` if approximate, as in JAX.

    >>> gelu(np.array([0.0, 1.0]))
    array([0.        , 0.84119199])
    """
    return lib.gelu_tanh(x) if approximate else lib.gelu(x)


@operation("x", "negative_slope")
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """``x`` where it is positive, else ``negative_slope * x``.

    >>> leaky_relu(np.array([-1.0, 2.0]))
    array([-0.01,  2.  ])
    """
    return lib.leaky_relu(x, negative_slope)


@operation("x", "alpha")
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    >>> elu(np.array([-1.0, 2.0]))
    array([-0.63212056,  2.        ])
    """
    return lib.elu(x, alpha)


@operation("x", "alpha")
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    >>> celu(np.array([-1.0, 2.0]), 2.0)
    array([-0.78693868,  2.        ])
    """
    a = _core.asarray(x)
    return where(a > 0, a, alpha * expm1(a / alpha))


@operation("x")
def relu6(x: Any) -> Any:
    """``x`` between 0 and 6.

    >>> relu6(np.array([-1.0, 2.0, 9.0]))
    array([0., 2., 6.])
    """
    return clip(x, 0.0, 6.0)


@operation("x")
def hard_sigmoid(x: Any) -> Any:
    """``relu6(x + 3) / 6``.

    >>> hard_sigmoid(np.array([-4.0, 0.0, 4.0]))
    array([0. , 0.5, 1. ])
    """
    return clip(_core.asarray(x) + 3.0, 0.0, 6.0) / 6.0


@operation("x")
def hard_silu(x: Any) -> Any:
    """``x * hard_sigmoid(x)``.

    >>> hard_silu(np.array([-4.0, 3.0]))
    array([-0.,  3.])
    """
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@operation("x", "b")
def squareplus(x: Any, b: Any = 4.0) -> Any:
    """``(x + sqrt(x * x + b)) / 2``.

    >>> squareplus(np.array([0.0]))
    array([1.])
    """
    a = _core.asarray(x)
    return (a + sqrt(a * a + b)) / 2.0


@operation("x")
def identity(x: Any) -> Any:
    """``x``.

    >>> identity(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return _core.asarray(x)


@operation("x")
def glu(x: Any, axis: int = -1) -> Any:
    """Half of the elements along an axis, times the sigmoid of the other half.

    >>> glu(np.array([3.0, 4.0, 0.0, 0.0]))
    array([1.5, 2. ])
    """
    return lib.glu(x, axis)


@operation("x")
def softmax(x: Any, axis: Any = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along axes, without overflow.

    >>> softmax(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    return lib.softmax(x, axes_of(axis) or [])


@operation("x")
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """``log(softmax(x))`` without overflow.

    >>> log_softmax(np.zeros(2))
    array([-0.69314718, -0.69314718])
    """
    return lib.log_softmax(x, axes_of(axis) or [])


@operation("x")
def standardize(x: Any, axis: Any = -1, epsilon: float = 1e-5) -> Any:
    """Less the mean, divided by the standard deviation, along axes.

    >>> standardize(np.array([1.0, 3.0]), epsilon=0.0)
    array([-1.,  1.])
    """
    return lib.standardize(x, axes_of(axis) or [], epsilon)


@operation("x", "scale", "bias")
def layer_norm(x: Any, scale: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """Standardised along the last axes, times ``scale`` plus ``bias``.

    >>> layer_norm(np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([0.0, 1.0]), epsilon=0.0)
    array([-2.,  3.])
    """
    return lib.layer_norm(x, scale, bias, epsilon)


@operation("x", "scale")
def rms_norm(x: Any, scale: Any, epsilon: float = 1e-5) -> Any:
    """Divided by the root of the mean square along the last axes, times ``scale``.

    >>> rms_norm(np.array([3.0, 3.0]), np.array([1.0, 2.0]), epsilon=0.0)
    array([1., 2.])
    """
    return lib.rms_norm(x, scale, epsilon)


@operation("x", "scale", "bias")
def batch_norm(x: Any, scale: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """Standardised along all axes but that of channels, axis 1, then scaled and shifted by channel;
    and the means and variances of the channels.

    >>> batch_norm(np.array([[1.0], [3.0]]), np.array([2.0]), np.array([0.0]), epsilon=0.0)
    (array([[-2.],
           [ 2.]]), array([2.]), array([1.]))
    """
    return row("batch_norm", x=x, scale=scale, bias=bias, epsilon=epsilon)


@operation("x", "mean", "variance", "scale", "bias")
def batch_norm_with(
    x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float = 1e-5
) -> Any:
    """:func:`batch_norm` with given means and variances of the channels, as after training.

    >>> one = np.array([1.0])
    >>> batch_norm_with(np.array([[1.0], [3.0]]), 2 * one, 4 * one, one, 0 * one, epsilon=0.0)
    array([[-0.5],
           [ 0.5]])
    """
    given = {"x": x, "mean": mean, "variance": variance, "scale": scale, "bias": bias}
    return row("batch_norm_with", **given, epsilon=epsilon)


@operation("x", "kept")
def dropout(x: Any, kept: Any, rate: float) -> Any:
    """``x / (1 - rate)`` where ``kept``, 0 elsewhere: so the mean stays.

    >>> dropout(np.array([1.0, 2.0]), np.array([True, False]), 0.5)
    array([2., 0.])
    >>> kept = ct.random.bernoulli(ct.random.key(0), 0.9, (100,))
    >>> dropout(np.ones(100), kept, 0.1).shape
    (100,)
    """
    return row("dropout", x=x, kept=kept, rate=rate)


@operation("x", "target")
def huber(x: Any, target: Any, delta: float = 1.0) -> Any:
    """Squared for small errors, linear for large ones.

    >>> huber(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """
    return lib.huber(x, target, delta)


@operation("x", "target")
def smooth_l1(x: Any, target: Any, beta: float = 1.0) -> Any:
    """:func:`huber` divided by its bound.

    >>> smooth_l1(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """
    return lib.smooth_l1(x, target, beta)


@operation("logits", "labels")
def cross_entropy(logits: Any, labels: Any) -> Any:
    """For each row of logits, the negative logarithm of the probability of its label.

    >>> cross_entropy(np.zeros((2, 4)), np.array([0, 3]))
    array([1.38629436, 1.38629436])
    """
    return lib.cross_entropy(logits, labels)


@operation("logits", "probabilities")
def cross_entropy_with_probabilities(logits: Any, probabilities: Any) -> Any:
    """The cross entropy of distributions along the last axis and the softmax of logits.

    >>> cross_entropy_with_probabilities(np.zeros(2), np.array([0.5, 0.5]))
    array(0.69314718)
    """
    return row("cross_entropy_with_probabilities", logits=logits, probabilities=probabilities)


@operation("x", "y")
def cosine_similarity(x: Any, y: Any, axis: Any = -1, epsilon: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along axes; lengths below ``epsilon`` count as that.

    >>> cosine_similarity(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    array(0.70710678)
    """
    return row("cosine_similarity", x=x, y=y, axis=axes_of(axis), epsilon=epsilon)


@operation("log_probabilities", "labels")
def nll(log_probabilities: Any, labels: Any) -> Any:
    """For each row the negative entry of its label.

    >>> nll(np.array([[-1.0, -2.0]]), np.array([1]))
    array([2.])
    """
    return lib.nll(log_probabilities, labels)


@operation("table", "ids")
def embedding(table: Any, ids: Any) -> Any:
    """The rows of a table.

    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1, 0]))
    array([[3., 4.],
           [3., 4.],
           [1., 2.]])
    """
    return lib.embedding(table, ids)


@operation("q", "k", "v", "mask")
def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Scaled dot-product attention over the last two axes; where the mask is false, none is paid.

    >>> attention(np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, 6.0]]))
    array([[2., 4.]])
    """
    return lib.attention(q, k, v, mask)


@operation()
def causal_mask(m: int, n: int | None = None) -> Any:
    """The mask under which each of ``m`` queries sees the keys up to its own place, of ``n``; the last
    query sees all.

    >>> causal_mask(2)
    array([[ True, False],
           [ True,  True]])
    """
    return row("causal_mask", m=m, n=m if n is None else n)


class _Layout(NamedTuple):
    stride: list[int]
    dilation: list[int]
    padding: list[tuple[int, int]] | None
    groups: int


def _expect_images(name: str, x: Any, kernel: Any) -> None:
    ranks = [_core.asarray(array).ndim for array in (x, kernel)]
    if ranks[0] != ranks[1] or not 3 <= ranks[0] <= 5:
        shapes = [tuple(_core.asarray(array).shape) for array in (x, kernel)]
        message = f"an array of shape {shapes[0]} and a kernel of shape {shapes[1]}"
        hint = (
            "arrays have the axes batch, channel and one to three more, kernels output channel, input "
            "channel and as many: x[None, None] and kernel[None, None] for one image"
        )
        raise make("ArrayTypeError", name, message, hint)


def _layout(axes: int, stride: Any, padding: Any, dilation: Any = 1, groups: int = 1) -> _Layout:
    strides = sizes_of(stride) * (axes if isinstance(stride, int) else 1)
    dilations = sizes_of(dilation) * (axes if isinstance(dilation, int) else 1)
    if isinstance(padding, str):
        pairs = None if padding.lower() == "same" else [(0, 0)] * axes
    elif isinstance(padding, int):
        pairs = [(padding, padding)] * axes
    else:
        pairs = [(p, p) if isinstance(p, int) else (int(p[0]), int(p[1])) for p in padding]
    return _Layout(strides, dilations, pairs, groups)


@operation("x", "kernel")
def conv(
    x: Any, kernel: Any, stride: Any = 1, padding: Any = "valid", dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution over the axes after batch and channel, of which there are one to three.

    >>> conv(np.ones((1, 1, 4, 4)), np.ones((1, 1, 3, 3)), padding="same")[0, 0, 0]
    array([4., 6., 6., 4.])
    """
    _expect_images("conv", x, kernel)
    return lib.conv(x, kernel, _layout(kernel.ndim - 2, stride, padding, dilation, groups), False)


@operation("x", "kernel")
def conv_transpose(
    x: Any, kernel: Any, stride: Any = 1, padding: Any = "valid", dilation: Any = 1, groups: int = 1
) -> Any:
    """The transpose of a convolution.

    >>> conv_transpose(np.ones((1, 1, 2)), np.ones((1, 1, 2)))[0, 0]
    array([1., 2., 1.])
    """
    _expect_images("conv_transpose", x, kernel)
    return lib.conv(x, kernel, _layout(kernel.ndim - 2, stride, padding, dilation, groups), True)


@operation("x")
def max_pool(x: Any, window: Any, stride: Any = None, padding: Any = "valid") -> Any:
    """The largest element of each window over the last axes.

    >>> max_pool(np.arange(4.0).reshape(1, 1, 4), 2)[0, 0]
    array([1., 3.])
    """
    sizes = sizes_of(window)
    layout = _layout(len(sizes), sizes if stride is None else stride, padding)
    return lib.pool(x, sizes, layout, True)


@operation("x")
def avg_pool(x: Any, window: Any, stride: Any = None, padding: Any = "valid") -> Any:
    """The mean of each window over the last axes.

    >>> avg_pool(np.arange(4.0).reshape(1, 1, 4), 2)[0, 0]
    array([0.5, 2.5])
    """
    sizes = sizes_of(window)
    layout = _layout(len(sizes), sizes if stride is None else stride, padding)
    return lib.pool(x, sizes, layout, False)


global_avg_pool = _activation("global_avg_pool", lib.global_avg_pool, "The mean of each channel.")
global_max_pool = _activation(
    "global_max_pool", lib.global_max_pool, "The largest of each channel."
)
