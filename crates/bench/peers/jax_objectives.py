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


def binmax(bins):
    def run(p, data):
        h = jax.ops.segment_max(p["v"], data["idx"], bins)
        return 0.5 * jnp.sum(jnp.where(h > -jnp.inf, h, 0) ** 2)

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


# ----------------------------------------------------------------------------- other kinds


def convolution(x, kernel, strides, padding, **others):
    spatial = "HW"[: x.ndim - 2]
    order = (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}")
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=order, **others)


def wavenet(p, data):
    h = data["x"]
    for k, back in enumerate((1, 4, 16)):
        def look_back(w):
            return convolution(h, w[:, :, ::-1], (1,), [(back, 0)], rhs_dilation=(back,))
        h = h + jnp.tanh(look_back(p["w"][k])) * jax.nn.sigmoid(look_back(p["v"][k]))
    return 0.5 * jnp.mean(h * h)


def mobile(p, data):
    def halved(x, k):
        channels = x.shape[1]
        return convolution(x, k[:, None], (2, 2), [(1, 0), (1, 0)], feature_group_count=channels)

    def mixed(x, k):
        return convolution(x, k[:, :, None, None], (1, 1), "VALID")

    first = jax.nn.relu(mixed(jax.nn.relu(halved(data["x"], p["k1"])), p["m1"]))
    second = jax.nn.relu(mixed(jax.nn.relu(halved(first, p["k2"])), p["m2"]))
    return cross_entropy(jnp.mean(second, axis=(2, 3)), data["y"])


def autoencoder(p, data):
    x = data["x"]
    small = jnp.tanh(convolution(x, p["k1"], (2, 2), [(1, 0), (1, 0)]))
    large = jnp.repeat(jnp.repeat(small, 2, axis=2), 2, axis=3)
    return jnp.mean((convolution(large, p["k2"], (1, 1), "SAME") - x) ** 2)


def graph_attention(p, data):
    h, src, dst = data["h"], data["src"], data["dst"]
    m = h @ p["w"]
    score = jnp.exp(jax.nn.leaky_relu((m @ p["a"])[src] + (m @ p["b"])[dst], 0.2))
    total = jnp.zeros(len(h), h.dtype).at[dst].add(score)
    weight = score / total[dst]
    z = jax.nn.elu(jnp.zeros_like(m).at[dst].add(weight[:, None] * m[src]))
    return 0.5 * jnp.mean(z * z)


def skipgram(p, data):
    u = p["U"][data["word"]]
    right = jax.nn.log_sigmoid(jnp.sum(u * p["V"][data["near"]], 1))
    wrong = jax.nn.log_sigmoid(-jnp.sum(u[:, None] * p["V"][data["other"]], 2))
    return -(jnp.sum(right) + jnp.sum(wrong)) / len(u)


def alignment(p, data):
    table, gap, t = p["table"], p["gap"], data["t"]

    def row(above, letter):
        begin = above[0] - gap

        def cell(left, e):
            match, corner, up = e
            v = logsumexp(jnp.stack([corner + match, up - gap, left - gap]))
            return v, v
        _, rest = lax.scan(cell, begin, (table[letter][t], above[:-1], above[1:]))
        return jnp.concatenate([begin[None], rest]), None

    last, _ = lax.scan(row, -gap * jnp.arange(len(t) + 1), data["s"])
    return last[-1]


def filters(p, data):
    y = data["x"]
    for b, a in zip(p["b"], p["a"]):
        def step(state, x, b=b, a=a):
            y = b[0] * x + state[0]
            return (b[1] * x - a[0] * y + state[1], b[2] * x - a[1] * y), y
        _, y = lax.scan(step, (jnp.zeros(y.shape[1]), jnp.zeros(y.shape[1])), y)
    return 0.5 * jnp.mean(y * y)


def warp(p, data):
    moving, fixed, m = p["moving"], data["fixed"], p["map"]
    i, j = jnp.meshgrid(*map(jnp.arange, fixed.shape), indexing="ij")
    y, x = (m[k, 0] * i + m[k, 1] * j + m[k, 2] for k in range(2))
    top, side = jnp.floor(y), jnp.floor(x)
    u, v = y - top, x - side
    a, b = top.astype(int), side.astype(int)
    above = (1 - v) * moving[a, b] + v * moving[a, b + 1]
    below = (1 - v) * moving[a + 1, b] + v * moving[a + 1, b + 1]
    return 0.5 * jnp.mean(((1 - u) * above + u * below - fixed) ** 2)


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


def lstm(p, data):
    seq, state = data["seq"], data["state"]
    b = seq.shape[1]
    layers = p["main"].reshape(-1, 2, 4, b)
    hidden, cell = state[0::2], state[1::2]

    def step(carry, x):
        hidden, cell = carry
        for n in range(len(layers)):
            (forget, ingate, output, change), bias = layers[n]
            f = jax.nn.sigmoid(x * forget + bias[0])
            i = jax.nn.sigmoid(hidden[n] * ingate + bias[1])
            o = jax.nn.sigmoid(x * output + bias[2])
            c = cell[n] * f + i * jnp.tanh(hidden[n] * change + bias[3])
            x = o * jnp.tanh(c)
            hidden = hidden[:n] + (x,) + hidden[n + 1 :]
            cell = cell[:n] + (c,) + cell[n + 1 :]
        return (hidden, cell), x

    _, y = lax.scan(step, (tuple(hidden), tuple(cell)), seq[:-1] * p["extra"][0])
    y = y * p["extra"][1] + p["extra"][2]
    return -jnp.mean(seq[1:] * (y - jnp.log(2 + jnp.sum(jnp.exp(y), axis=1, keepdims=True))))


def reprojection_error(cam, x, w, feat):
    rotation, x = cam[:3], x - cam[3:6]
    squared = rotation @ rotation
    turned = squared > 0
    angle = jnp.sqrt(jnp.where(turned, squared, 1))
    axis = rotation / angle
    c, s = jnp.cos(angle), jnp.sin(angle)
    rotated = c * x + s * jnp.cross(axis, x) + (axis @ x) * (1 - c) * axis
    x = jnp.where(turned, rotated, x + jnp.cross(rotation, x))
    flat = x[:2] / x[2]
    r = flat @ flat
    return w * (cam[6] * (1 + cam[9] * r + cam[10] * r * r) * flat + cam[7:9] - feat)


def observed(p, data):
    """Camera, point, weight and feature of each observation."""
    return p["cams"][data["obs"][:, 0]], p["X"][data["obs"][:, 1]], p["w"], data["feats"]


def ba(p, data):
    return jax.vmap(reprojection_error)(*observed(p, data)), 1 - p["w"] ** 2


def ba_jacobian(p, data):
    def block(cam, x, w, feat):
        _, back = jax.vjp(lambda *by: reprojection_error(*by, feat), cam, x, w)
        cam, x, w = jax.vmap(back)(jnp.eye(2))
        return jnp.concatenate([cam, x, w[:, None]], axis=1)

    return {"J_reproj": jax.vmap(block)(*observed(p, data)), "J_w": -2 * p["w"]}


def ba_squares(p, data):
    points, weights = ba(p, data)
    return 0.5 * (jnp.sum(points**2) + jnp.sum(weights**2))


def euler(angles):
    (cx, cz, cy), (sx, sz, sy) = jnp.cos(angles), jnp.sin(angles)
    x = jnp.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    y = jnp.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    z = jnp.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return z @ y @ x


def axis_angle(v):
    angle = jnp.sqrt(v @ v)
    a = v / angle
    turn = jnp.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return jnp.cos(angle) * jnp.eye(3) + jnp.sin(angle) * turn + (1 - jnp.cos(angle)) * jnp.outer(a, a)


def hand(parents):
    """The errors of a model whose bones hang together in this way."""
    bones = len(parents)
    # Four angles for each finger: two of its second bone, and one of each of the next two.
    joints = [(4 * f + 2 + j, k) for f in range(5) for j, k in ((0, 0), (0, 1), (1, 0), (2, 0))]
    where = tuple(np.array(joints).T)

    def run(p, data):
        theta = p["theta"]
        pose = jnp.zeros((bones, 3)).at[where].set(theta[6:])
        base = data["base_rel"]
        turned = base[:, :, :3] @ jax.vmap(euler)(pose)
        relative = jnp.concatenate([turned, base[:, :, 3:]], axis=2)
        absolute = []
        for bone, parent in enumerate(parents):
            own = relative[bone]
            absolute.append(own if parent < 0 else absolute[parent] @ own)
        moved = jnp.stack(absolute) @ data["inv_abs"]
        at = jnp.einsum("bij,vj,vb->vi", moved[:, :3], data["base_pos"], data["weights"])
        at = at @ axis_angle(theta[:3]).T + theta[3:6]
        if "us" not in p:
            return data["points"] - at[data["corr"]]
        a, b, c = at[data["triangles"][data["corr"]]].transpose(1, 0, 2)
        u, v = p["us"][:, :1], p["us"][:, 1:]
        return data["points"] - (u * a + v * b + (1 - u - v) * c)

    return run


def hand_jacobian(errors):
    def run(p, data):
        jacobian = jax.jacfwd(lambda theta: errors({**p, "theta": theta}, data).reshape(-1))(p["theta"])
        if "us" in p:
            # Each error depends on one pair: all first coordinates at once, all second ones at once.
            def column(k):
                direction = jnp.zeros_like(p["us"]).at[:, k].set(1)
                by = lambda us: errors({**p, "us": us}, data).reshape(-1)
                return jax.jvp(by, (p["us"],), (direction,))[1]

            jacobian = jnp.concatenate([column(0)[:, None], column(1)[:, None], jacobian], axis=1)
        return {"J": jacobian}

    return run


def half_squares(f):
    return lambda p, data: 0.5 * jnp.sum(f(p, data) ** 2)


# ----------------------------------------------------------------------------- GradBench


def lse(p, _):
    return logsumexp(p["x"])


def llsq(points):
    def run(p, _):
        t = 2 * jnp.arange(points) / (points - 1.0) - 1
        y = jnp.sum(p["x"] * t[:, None] ** jnp.arange(len(p["x"])), axis=1)
        return 0.5 * jnp.sum((jnp.sign(t) - y) ** 2)

    return run


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
    "lstm": lstm,
    "ba": ba,
    "ba_grad": ba_squares,
    "lse": lse,
    "wavenet": wavenet,
    "mobile": mobile,
    "autoencoder": autoencoder,
    "graph_attention": graph_attention,
    "skipgram": skipgram,
    "alignment": alignment,
    "filters": filters,
    "warp": warp,
}


def objective(name, structure, sizes):
    """The objective of a benchmark; without sizes, that of its large cases."""
    if name == "stencil":
        return stencil(sizes.get("steps", 10))
    if name == "histogram":
        return histogram(sizes.get("bins", 1000))
    if name == "binmax":
        # Empty bins count for nothing, so that more of them do not matter.
        return binmax(sizes.get("bins", 1_000_000))
    if name == "llsq":
        return llsq(sizes.get("n", 16392))
    if name in ("hand", "hand_grad"):
        errors = hand(structure["parents"].tolist())
        return errors if name == "hand" else half_squares(errors)
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

    others = {
        "hvp_gmm": hessian_vector,
        "hessian_logreg": hessian,
        "ba": ba_jacobian,
        "hand": hand_jacobian(f),
    }
    return others.get(name, value_and_gradient)
