"""The objectives of the benchmarks, as one would write them in JAX to be fast.

Each takes the parameters and the data, both by name, and gives the value.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, logsumexp

# ----------------------------------------------------------------------------- kernels


def dot(p, _):
    return p["a"] @ p["b"]


def selfrev(p, _):
    return jnp.sum(p["a"] * jnp.flip(p["a"]))


def matmul(p, _):
    return 0.5 * jnp.sum(jnp.square(p["A"] @ p["B"]))


def stencil(steps):
    def step(u, _):
        centre = u[1:-1, 1:-1]
        flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * centre
        return u + jnp.pad(0.1 * flow, 1), None

    def run(p, _):
        last, _ = lax.scan(step, p["u"], length=steps)
        return 0.5 * jnp.sum(last**2)

    return run


def histogram(bins):
    def run(p, data):
        h = jnp.zeros(bins).at[data["idx"]].add(p["v"])
        return 0.5 * jnp.sum(h**2)

    return run


def lj(p, _):
    pos = p["pos"]
    apart = pos[:, None] - pos[None]
    same = jnp.eye(len(pos), dtype=bool)
    s6 = 1 / jnp.where(same, 1, jnp.sum(apart**2, axis=2)) ** 3
    return 2 * jnp.sum(jnp.where(same, 0, s6**2 - s6))


def kmeans(p, data):
    x, c = data["x"], p["c"]
    # |x|^2 - 2 x c + |c|^2: a matrix product in place of all differences.
    squares = jnp.sum(x * x, 1)[:, None] + jnp.sum(c * c, 1) - 2 * x @ c.T
    return jnp.sum(jnp.min(squares, axis=1))


def logsumexp_rows(p, _):
    return jnp.sum(logsumexp(p["X"], axis=1))


def conv1d(p, _):
    return 0.5 * jnp.sum(jnp.convolve(p["x"], p["w"]) ** 2)


# ----------------------------------------------------------------------------- training


def cross_entropy(logits, y):
    return jnp.mean(logsumexp(logits, axis=1) - logits[jnp.arange(len(y)), y])


def mlp(p, data):
    h = jax.nn.relu(data["x"] @ p["W0"] + p["b0"])
    h = jax.nn.relu(h @ p["W1"] + p["b1"])
    return cross_entropy(h @ p["W2"] + p["b2"], data["y"])


def cnn(p, data):
    def layer(x, kernel, bias):
        order = ("NCHW", "OIHW", "NCHW")
        y = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=order)
        y = jax.nn.relu(y + bias[:, None, None])
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    h = layer(layer(data["x"][:, None], p["k1"], p["b1"]), p["k2"], p["b2"])
    return cross_entropy(h.reshape(len(h), -1) @ p["W"] + p["b"], data["y"])


def rnn(p, data):
    inputs = data["x"] @ p["Wx"] + p["bh"]
    start = jnp.zeros((inputs.shape[1], len(p["Wh"])), inputs.dtype)
    last, _ = lax.scan(lambda s, x: (jnp.tanh(x + s @ p["Wh"]), None), start, inputs)
    return cross_entropy(last @ p["Wo"] + p["bo"], data["y"])


# ----------------------------------------------------------------------------- second order


def logreg(p, data):
    z = data["X"] @ p["w"]
    return jnp.sum(jnp.logaddexp(0, z) - data["y"] * z) + 0.5 * jnp.sum(p["w"] ** 2)


# ----------------------------------------------------------------------------- ADBench


def gmm(p, data):
    alphas, means, icf = p["alphas"], p["means"], p["icf"]
    x, gamma, m = data["x"], data["gamma"], data["m"]
    (n, d), k = x.shape, len(alphas)
    log_diagonal, below = icf[:, :d], icf[:, d:]
    columns, rows = np.triu_indices(d, 1)  # Below the diagonal, column by column.
    q = jnp.zeros((k, d, d)).at[:, rows, columns].set(below)
    q = q + jnp.exp(log_diagonal)[:, :, None] * jnp.eye(d)
    # All of Q x as one matrix product; the means are subtracted afterwards.
    y = (x @ q.reshape(k * d, d).T).reshape(n, k, d) - jnp.einsum("kij,kj->ki", q, means)
    log_det = jnp.sum(log_diagonal, axis=1)
    terms = alphas + log_det - 0.5 * jnp.sum(y**2, axis=2)
    freedom = d + m + 1.0
    lgamma = 0.25 * d * (d - 1) * np.log(np.pi) + jnp.sum(gammaln(0.5 * (freedom - jnp.arange(d))))
    constant = freedom * d * (jnp.log(gamma) - 0.5 * np.log(2)) - lgamma
    squares = jnp.sum(jnp.exp(2 * log_diagonal)) + jnp.sum(below**2)
    prior = 0.5 * gamma**2 * squares - m * jnp.sum(log_det) - k * constant
    likelihood = jnp.sum(logsumexp(terms, axis=1)) - n * logsumexp(alphas)
    return likelihood - 0.5 * n * d * np.log(2 * np.pi) + prior


# ----------------------------------------------------------------------------- what is measured

OBJECTIVES = {
    "dot": dot,
    "selfrev": selfrev,
    "matmul": matmul,
    "lj": lj,
    "kmeans": kmeans,
    "logsumexp": logsumexp_rows,
    "conv1d": conv1d,
    "mlp": mlp,
    "cnn": cnn,
    "rnn": rnn,
    "hessian_logreg": logreg,
    "gmm": gmm,
    "hvp_gmm": gmm,
}


def objective(name, structure, sizes):
    """The objective of a benchmark; without sizes, that of its large cases."""
    if name == "stencil":
        return stencil(sizes.get("steps", 10))
    if name == "histogram":
        return histogram(sizes.get("bins", 1000))
    return OBJECTIVES[name]


def measured(name, f):
    """What is measured of an objective: its gradient, unless the name says otherwise."""

    def value_and_gradient(p, data):
        value, gradient = jax.value_and_grad(f)(p, data)
        return {"value": value, **gradient}

    def hessian_vector(p, data):
        direction = {name: data[f"v_{name}"] for name in p}
        return jax.jvp(lambda p: jax.grad(f)(p, data), (p,), (direction,))[1]

    def hessian(p, data):
        return {"H": jax.hessian(lambda w: f({"w": w}, data))(p["w"])}

    return {"hvp_gmm": hessian_vector, "hessian_logreg": hessian}.get(name, value_and_gradient)
