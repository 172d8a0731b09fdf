"""Prints tables of sparse derivatives: this package beside CasADi, JAX with colours written by hand,
and dense Jacobians.

Run it as ``python python/bench/sparse.py [--processor-time]``; CasADi and JAX are left out where they
are not installed. Each number is the least of several rounds, in which the libraries take turns, and
all of them have the same entries before any is timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from peers import jax, jnp  # first: it sets the numbers of threads

import numpy as np

import cotan as ct
import cotan.numpy as cnp

try:
    import casadi
except ImportError:
    casadi = None

RNG = np.random.default_rng(0)
CLOCK = time.process_time if "--processor-time" in sys.argv[1:] else time.perf_counter
ROUNDS = 7

Entries = Callable[[], Any]


# ---- the equation of Bratu on a grid, u at the border 0 ---------------------------------------------


def bratu(n: Any, u: Any) -> Any:
    """The residual of ``-laplace(u) = exp(u)`` on m x m points."""
    m = u.shape[0]
    wide = n.pad(u, ((1, 1), (1, 1)))
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return 4.0 * u - around - n.exp(u) / (m + 1) ** 2


def bratu_jax(m: int, u: Any) -> Entries:
    """Five products: the points of a colour have no neighbour in common."""
    i, j = np.meshgrid(np.arange(m), np.arange(m), indexing="ij")
    color = (i + 2 * j) % 5
    seeds = jnp.asarray(np.arange(5)[:, None, None] == color, float)
    # The rows of the matrix, by the points of the stencil that are on the grid.
    near = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
    rows = np.concatenate([_inside(m, i + a, j + b, i * m + j) for a, b in near])
    columns = np.concatenate([_inside(m, i + a, j + b, (i + a) * m + j + b) for a, b in near])
    which = jnp.asarray(color.ravel()[columns])

    def entries(u: Any) -> Any:
        products = jax.vmap(lambda s: jax.jvp(lambda u: bratu(jnp, u), (u,), (s,))[1])(seeds)
        return products.reshape(5, -1)[which, rows]

    return _jitted(entries, jnp.asarray(u))


def _inside(m: int, i: Any, j: Any, value: Any) -> Any:
    return value[(i >= 0) & (i < m) & (j >= 0) & (j < m)]


def bratu_casadi(m: int, u: Any) -> Entries:
    x = casadi.SX.sym("u", m, m)
    zero = casadi.SX(1, m)
    down, up = casadi.vertcat(zero, x[:-1, :]), casadi.vertcat(x[1:, :], zero)
    left, right = casadi.horzcat(zero.T, x[:, :-1]), casadi.horzcat(x[:, 1:], zero.T)
    residual = 4.0 * x - down - up - left - right - casadi.exp(x) / (m + 1) ** 2
    return _casadi_jacobian(casadi.vec(x), casadi.vec(residual), u.T.ravel())


# ---- bundle adjustment ------------------------------------------------------------------------------


def rotated(n: Any, r: Any, x: Any) -> Any:
    """Points rotated about axes of the length of the angle; the last axis is that of space."""
    square = n.sum(r * r, axis=-1, keepdims=True) + 1e-12
    angle = n.sqrt(square)
    axis = r / angle
    along = n.sum(axis * x, axis=-1, keepdims=True)
    across = n.stack(
        [
            axis[..., 1] * x[..., 2] - axis[..., 2] * x[..., 1],
            axis[..., 2] * x[..., 0] - axis[..., 0] * x[..., 2],
            axis[..., 0] * x[..., 1] - axis[..., 1] * x[..., 0],
        ],
        axis=-1,
    )
    cos, sin = n.cos(angle), n.sin(angle)
    return x * cos + across * sin + axis * along * (1.0 - cos)


def reprojected(n: Any, cameras: Any, points: Any, seen: Any) -> Any:
    """Where points are in pictures, less where they were seen; cameras have a rotation, a center, a
    focal length, a principal point and a radial distortion of two numbers."""
    at = rotated(n, cameras[..., 0:3], points - cameras[..., 3:6])
    flat = at[..., 0:2] / at[..., 2:3]
    r2 = n.sum(flat * flat, axis=-1, keepdims=True)
    bent = flat * (1.0 + cameras[..., 9:10] * r2 + cameras[..., 10:11] * r2 * r2)
    return bent * cameras[..., 6:7] + cameras[..., 7:9] - seen


def adjustment(n: Any, cameras: Any, points: Any, i: Any, j: Any, seen: Any) -> Any:
    return reprojected(n, cameras[i], points[j], seen)


def adjustment_jax(cameras: Any, points: Any, i: Any, j: Any, seen: Any) -> Entries:
    """Fourteen products: each row sees one camera and one point."""
    i, j, seen = jnp.asarray(i), jnp.asarray(j), jnp.asarray(seen)

    def entries(cameras: Any, points: Any) -> Any:
        def along(c: Any, p: Any) -> Any:
            directions = jnp.broadcast_to(c, cameras.shape), jnp.broadcast_to(p, points.shape)
            f = lambda c, p: adjustment(jnp, c, p, i, j, seen)  # noqa: E731
            return jax.jvp(f, (cameras, points), directions)[1]

        seeds = jnp.eye(14)
        return jax.vmap(lambda s: along(s[:11], s[11:]))(seeds)

    return _jitted(entries, jnp.asarray(cameras), jnp.asarray(points))


def adjustment_casadi(cameras: Any, points: Any, i: Any, j: Any, seen: Any) -> Entries:
    """One residual as scalars, mapped over the columns that are gathered."""
    c, p, s = casadi.SX.sym("c", 11), casadi.SX.sym("p", 3), casadi.SX.sym("s", 2)
    r, x = c[0:3], p - c[3:6]
    angle = casadi.sqrt(casadi.sumsqr(r) + 1e-12)
    axis = r / angle
    cos = casadi.cos(angle)
    at = x * cos + casadi.cross(axis, x) * casadi.sin(angle)
    at = at + axis * casadi.dot(axis, x) * (1.0 - cos)
    flat = at[0:2] / at[2]
    r2 = casadi.sumsqr(flat)
    one = flat * (1.0 + c[9] * r2 + c[10] * r2 * r2) * c[6] + c[7:9] - s
    each = casadi.Function("one", [c, p, s], [one]).map(len(i))
    x = casadi.MX.sym("x", cameras.size + points.size)
    all_c = casadi.reshape(x[: cameras.size], 11, len(cameras))
    all_p = casadi.reshape(x[cameras.size :], 3, len(points))
    residual = each(all_c[:, i.tolist()], all_p[:, j.tolist()], seen.T)
    start = np.concatenate([cameras.ravel(), points.ravel()])
    return _casadi_jacobian(x, casadi.vec(residual), start)


# ---- optimal control: a pole on a cart, by trapezoids ------------------------------------------------


def cart(n: Any, z: Any) -> Any:
    """The slopes of position, angle and their velocities; column 4 is the force."""
    s, c = n.sin(z[:, 1]), n.cos(z[:, 1])
    w, u = z[:, 3], z[:, 4]
    a = (u + s * (0.5 * w * w + 9.81 * c) * 0.3) / (1.0 + 0.3 * s * s)
    b = -(u * c + 0.15 * w * w * c * s + 1.3 * 9.81 * s) / (0.5 * (1.0 + 0.3 * s * s))
    return n.stack([z[:, 2], w, a, b], axis=1)


STEP = 1e-3


def defects(n: Any, z: Any) -> Any:
    slope = cart(n, z)
    return z[1:, :4] - z[:-1, :4] - 0.5 * STEP * (slope[1:] + slope[:-1])


def lagrangian(n: Any, z: Any, multipliers: Any) -> Any:
    return STEP * n.sum(z[:, 4] ** 2) + n.sum(multipliers * defects(n, z))


def control_jax(z: Any) -> Entries:
    """Ten products: steps two apart have no defect in common."""
    even = (np.arange(len(z)) % 2 == 0)[:, None]
    unit = np.eye(5)[:, None, :]
    seeds = jnp.asarray(np.concatenate([unit * even, unit * ~even]))

    def entries(z: Any) -> Any:
        return jax.vmap(lambda s: jax.jvp(lambda z: defects(jnp, z), (z,), (s,))[1])(seeds)

    return _jitted(entries, jnp.asarray(z))


def control_hessian_jax(z: Any, multipliers: Any) -> Entries:
    """Five products: the Hessian couples the variables of one step only."""
    multipliers = jnp.asarray(multipliers)
    seeds = jnp.asarray(np.broadcast_to(np.eye(5)[:, None, :], (5, *z.shape)))
    gradient = jax.grad(lambda z: lagrangian(jnp, z, multipliers))

    def entries(z: Any) -> Any:
        return jax.vmap(lambda s: jax.jvp(gradient, (z,), (s,))[1])(seeds)

    return _jitted(entries, jnp.asarray(z))


def _cart_casadi(count: int) -> tuple[Any, Any]:
    z = casadi.SX.sym("z", 5)
    s, c, w, u = casadi.sin(z[1]), casadi.cos(z[1]), z[3], z[4]
    a = (u + s * (0.5 * w * w + 9.81 * c) * 0.3) / (1.0 + 0.3 * s * s)
    b = -(u * c + 0.15 * w * w * c * s + 1.3 * 9.81 * s) / (0.5 * (1.0 + 0.3 * s * s))
    slope = casadi.Function("slope", [z], [casadi.vertcat(z[2], w, a, b)])
    x = casadi.MX.sym("x", 5, count)
    all_of = slope.map(count)(x)
    step = 0.5 * STEP * (all_of[:, 1:] + all_of[:, :-1])
    return x, x[:4, 1:] - x[:4, :-1] - step


def control_casadi(z: Any) -> Entries:
    x, residual = _cart_casadi(len(z))
    whole = casadi.MX.sym("w", 5 * len(z))
    residual = casadi.Function("f", [x], [casadi.vec(residual)])(casadi.reshape(whole, 5, len(z)))
    return _casadi_jacobian(whole, residual, z.ravel())


def control_hessian_casadi(z: Any, multipliers: Any) -> Entries:
    x, residual = _cart_casadi(len(z))
    whole = casadi.MX.sym("w", 5 * len(z))
    value = STEP * casadi.sumsqr(x[4, :]) + casadi.dot(casadi.DM(multipliers.T), residual)
    value = casadi.Function("f", [x], [value])(casadi.reshape(whole, 5, len(z)))
    matrix, _ = casadi.hessian(value, whole)
    return _casadi_call(casadi.Function("h", [whole], [matrix]), z.ravel())


# ---- what runs and is timed --------------------------------------------------------------------------


def _jitted(f: Callable[..., Any], *args: Any) -> Entries:
    run = jax.jit(f)
    return lambda: jax.block_until_ready(run(*args))


def _casadi_jacobian(x: Any, residual: Any, start: Any) -> Entries:
    return _casadi_call(casadi.Function("j", [x], [casadi.jacobian(residual, x)]), start)


def _casadi_call(f: Any, start: Any) -> Entries:
    """Through buffers, without a conversion of arguments and results."""
    at, entries = np.ascontiguousarray(start, float), np.zeros(f.nnz_out(0))
    buffer, trigger = f.buffer()
    buffer.set_arg(0, memoryview(at))
    buffer.set_res(0, memoryview(entries))

    def run() -> Any:
        trigger()
        return entries

    # The buffer has their addresses only.
    run.kept = at, buffer  # type: ignore[attr-defined]
    return run


def ours(kind: Any, f: Callable[..., Any], *args: Any, argnums: Any = 0) -> Entries:
    matrix = kind(f, argnums)
    run = lambda: matrix.csr(*args).data  # noqa: E731
    run.explain = lambda: matrix.explain(*args)  # type: ignore[attr-defined]
    return run


def of(x: Any) -> float:
    """What two ways to order the entries, with zeros or without, have in common."""
    return float(np.sqrt(np.sum(np.square(np.asarray(x)))))


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    begin = CLOCK()
    made = f()
    return CLOCK() - begin, made


def row(name: str, makers: dict[str, Callable[[], Entries] | None]) -> None:
    """One line: seconds to the first matrix, and the least milliseconds of another."""
    first: dict[str, float] = {}
    runs: dict[str, Entries] = {}
    sizes: dict[str, float] = {}
    for library, make in makers.items():
        if make is None:
            continue

        def start(make: Callable[[], Entries] = make) -> tuple[Entries, Any]:
            run = make()
            return run, run()

        first[library], (runs[library], entries) = timed(start)
        sizes[library] = of(entries)
    expected = sizes["cotan"]
    for library, size in sizes.items():
        if not abs(size - expected) <= 1e-9 * expected:
            sys.exit(f"{name}: {library} has {size} where cotan has {expected}")
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for library, run in runs.items():
            least[library] = min(least[library], timed(run)[0])
    cells = [
        f"{first[k]:.2f} s, {1e3 * least[k]:.2f} ms" if k in runs else "" for k in makers
    ]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for run in runs.values():
        if hasattr(run, "explain"):
            NOTES.append(f"- {name}: {run.explain()}")


NOTES: list[str] = []


def main() -> None:
    have = lambda library, make: make if library else None  # noqa: E731
    print("| to the first matrix, and each further one | cotan | casadi | jax | dense, cotan |")
    print("|---|--:|--:|--:|--:|")
    for m in (32, 320):
        u = RNG.uniform(0.0, 1.0, (m, m))
        f = lambda u: bratu(cnp, u)  # noqa: E731
        row(
            f"Bratu, {m} x {m}",
            {
                "cotan": lambda u=u, f=f: ours(ct.sparse_jacobian, f, u),
                "casadi": have(casadi, lambda m=m, u=u: bratu_casadi(m, u)),
                "jax": have(jax, lambda m=m, u=u: bratu_jax(m, u)),
                "dense": (lambda u=u, f=f: _dense(f, u)) if m == 32 else None,
            },
        )
    for cams, count, observations in ((21, 200, 1000), (49, 7776, 31843)):
        # As many, and seen as often, as in the problem ladybug-49.
        cameras = RNG.uniform(-0.1, 0.1, (cams, 11)) + np.eye(11)[6] * 500.0
        points = RNG.uniform(-1.0, 1.0, (count, 3)) + [0.0, 0.0, 4.0]
        i, j = RNG.integers(0, cams, observations), RNG.integers(0, count, observations)
        pair = np.unique(i * count + j)
        i, j = pair // count, pair % count
        seen = RNG.uniform(-100.0, 100.0, (len(pair), 2))
        g = lambda c, p, i, j, seen: adjustment(cnp, c, p, i, j, seen)  # noqa: E731
        args = cameras, points, i, j, seen
        row(
            f"bundle adjustment, {cams} cameras, {count} points, {len(pair)} observations",
            {
                "cotan": lambda g=g, args=args: ours(ct.sparse_jacobian, g, *args, argnums=(0, 1)),
                "casadi": have(casadi, lambda args=args: adjustment_casadi(*args)),
                "jax": have(jax, lambda args=args: adjustment_jax(*args)),
                "dense": (lambda g=g, args=args: _dense(g, *args, argnums=(0, 1)))
                if cams == 21
                else None,
            },
        )
    for steps in (200, 20_000):
        z = RNG.uniform(-1.0, 1.0, (steps, 5))
        multipliers = RNG.uniform(-1.0, 1.0, (steps - 1, 4))
        h = lambda z: defects(cnp, z)  # noqa: E731
        row(
            f"control, {5 * steps} variables, Jacobian",
            {
                "cotan": lambda z=z, h=h: ours(ct.sparse_jacobian, h, z),
                "casadi": have(casadi, lambda z=z: control_casadi(z)),
                "jax": have(jax, lambda z=z: control_jax(z)),
                "dense": (lambda z=z, h=h: _dense(h, z)) if steps == 200 else None,
            },
        )
        k = lambda z, w: lagrangian(cnp, z, w)  # noqa: E731
        row(
            f"control, {5 * steps} variables, Hessian of the Lagrangian",
            {
                "cotan": lambda z=z, w=multipliers, k=k: ours(ct.sparse_hessian, k, z, w),
                "casadi": have(casadi, lambda z=z, w=multipliers: control_hessian_casadi(z, w)),
                "jax": have(jax, lambda z=z, w=multipliers: control_hessian_jax(z, w)),
                "dense": (lambda z=z, w=multipliers, k=k: lambda: ct.hessian(k)(z, w))
                if steps == 200
                else None,
            },
        )
    print("\n" + "\n".join(NOTES))


def _dense(f: Callable[..., Any], *args: Any, argnums: Any = 0) -> Entries:
    matrix = ct.jacobian(f, argnums)

    def run() -> Any:
        made = matrix(*args)
        return np.concatenate([x.ravel() for x in made]) if isinstance(made, tuple) else made

    return run


if __name__ == "__main__":
    main()
