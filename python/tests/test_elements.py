"""Element-level code, loops, branches, mapping, rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

RNG = np.random.default_rng(1)


def close(a: Any, b: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


def test_build_of_elements_arrays_and_structures() -> None:
    a, b = RNG.standard_normal(4), RNG.standard_normal(3)
    f = ct.jit(lambda a, b: ct.build((4, 3), lambda i, j: a[i] * b[j] + i))
    close(f(a, b), np.outer(a, b) + np.arange(4)[:, None])
    rows = ct.jit(lambda a, b: ct.build(4, lambda i: {"row": a[i] * b, "i": i}))(a, b)
    close(rows["row"], np.outer(a, b))
    assert rows["i"].tolist() == [0, 1, 2, 3]
    product = lambda a, b: ct.build(
        (4, 4), lambda i, j: ct.build(3, lambda k: a[i, k] * b[k, j]).sum()
    )
    x, y = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 4))
    close(ct.jit(product)(x, y), x @ y)
    w = RNG.standard_normal((4, 4))
    gx, gy = ct.grad(lambda x, y: (product(x, y) * w).sum(), argnums=(0, 1))(x, y)
    close(gx, w @ y.T)
    close(gy, x.T @ w)


def test_loops_and_their_gradients() -> None:
    xs = RNG.standard_normal(5)

    def poly(s: Any, x: Any) -> Any:
        return s * 0.5 + cnp.sin(x)

    expected = 0.0
    for x in xs:
        expected = expected * 0.5 + np.sin(x)
    close(ct.fold(poly, 0.0, xs), expected)
    close(ct.grad(lambda xs: ct.fold(poly, 0.0, xs))(xs), np.cos(xs) * 0.5 ** np.arange(5)[::-1])
    close(ct.fold(poly, 0.0, xs, reverse=True), ct.fold(poly, 0.0, xs[::-1].copy()))
    last, outs = ct.scan(lambda s, x: (poly(s, x), {"s": s, "x": x}), 0.0, xs)
    close(last, expected)
    close(outs["x"], xs)
    pair, _ = ct.scan(lambda s, x: ((s[1], s[0] + x), None), (0.0, 1.0), xs)
    assert len(pair) == 2
    close(ct.fori_loop(0, 6, lambda i, s: s + i * i, 0), 55)
    close(ct.jit(lambda n: ct.fori_loop(0, n, lambda i, s: s + i, 0))(5), 10)
    close(ct.fori_loop(3, 1, lambda i, s: s + 1.0, 7.0), 7.0)
    # Numbers of Python take the type that the step gives.
    assert ct.fold(lambda s, x: s + x, 0, np.float32([1, 2])).dtype == np.float32
    assert ct.fold(lambda s, x: s + x, 0, np.ones(0)).shape == ()


def test_while_loops_have_gradients_in_both_modes() -> None:
    def root(a: Any, **options: Any) -> Any:
        state = ct.while_loop(
            lambda s: abs(s[0] * s[0] - a) > 1e-12,
            lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1),
            (a, 0),
            **options,
        )
        return state[0]

    for options in ({}, {"max_steps": 50}, {"max_steps": 50, "checkpoint_every": 5}):
        close(ct.jit(lambda a: root(a, **options))(2.0), np.sqrt(2.0))
        close(ct.grad(lambda a: root(a, **options))(2.0), 0.5 / np.sqrt(2.0))
        close(ct.jvp(lambda a: root(a, **options), (2.0,), (1.0,))[1], 0.5 / np.sqrt(2.0))
    close(ct.vmap(root)(np.array([2.0, 9.0])), np.sqrt([2.0, 9.0]))


def test_branches() -> None:
    f = lambda x: ct.cond(x.sum() > 0, lambda x: cnp.log(x), lambda x: -x, x).sum()
    close(ct.grad(f)(np.array([1.0, 2.0])), [1.0, 0.5])
    close(ct.grad(f)(np.array([-1.0, -2.0])), [-1.0, -1.0])
    g = ct.jit(lambda i, x: ct.switch(i, [lambda x: x, lambda x: x * x, lambda x: -x], x))
    assert [float(g(i, 3.0)) for i in (-5, 0, 1, 2, 9)] == [3.0, 3.0, 9.0, -3.0, -3.0]
    close(
        ct.grad(lambda x: cnp.where(x > 0, cnp.sqrt(x), 0.0).sum())(np.array([0.0, 4.0])), [0, 0.25]
    )
    out = ct.cond(False, lambda: {"a": 1.0}, lambda: {"a": 2.0})
    assert float(out["a"]) == 2.0


def test_updates_gathers_and_scatters() -> None:
    x, k, v = RNG.standard_normal(5), np.array([1, 3, 1]), RNG.standard_normal(3)
    expected = x.copy()
    np.add.at(expected, k, v)
    for index in (k, None):
        f = ct.jit(lambda x, k, v: x.at[k if index is None else index].add(v))
        close(f(x, k, v), expected)
    gx, gv = ct.grad(lambda x, v: (x.at[k].set(v) ** 2).sum(), argnums=(0, 1))(x, v)
    close(gx, 2 * x * np.array([1, 0, 1, 0, 1]))
    close(gv, 2 * v * np.array([0, 1, 1]))
    close(ct.jit(lambda x: x.at[1:4:2].set(0.0))(x), np.where([0, 1, 0, 1, 0], 0.0, x))
    close(ct.jit(lambda x: x.at[-1].subtract(1.0))(x)[-1], x[-1] - 1.0)
    close(ct.jit(lambda x: x.at[:2].max(0.0))(x)[:2], np.maximum(x[:2], 0.0))
    close(ct.gather(x, np.array([4, 9])), [x[4], 0.0])
    m = np.arange(6.0).reshape(2, 3)
    close(ct.gather(m, (np.array([1, 0]), np.array([2, 1]))), [5.0, 1.0])
    close(ct.scatter((2, 2), (np.array([0, 1, 5]), np.array([1, 0, 0])), v), [[0, v[0]], [v[1], 0]])
    close(ct.dynamic_slice(m, (1, 1), (1, 2)), [[4.0, 5.0]])
    with pytest.raises(ct.CotanError, match="several times"):
        ct.jit(lambda x: x.at[k].apply(cnp.sin))(x)


def test_updates_where_a_mask_holds() -> None:
    x = np.array([[-1.0, 2.0], [3.0, -4.0]])
    close(ct.jit(lambda x: x.at[x < 0].set(0.0))(x), np.maximum(x, 0.0))
    close(ct.jit(lambda x: x.at[x < 0].multiply(-1.0))(x), np.abs(x))
    close(ct.jit(lambda x: x.at[x[:, 0] < 0].add(np.array([1.0, 2.0])))(x), [[0.0, 4.0], [3.0, -4.0]])
    close(ct.grad(lambda x: (x.at[x < 0].apply(cnp.square)).sum())(x), np.where(x < 0, 2 * x, 1.0))
    for wrong in (lambda x: x.at[x[0] > 9].set(np.ones(3)), lambda x: x.at[x < 0].set(np.ones(3))):
        with pytest.raises(ct.CotanError):
            ct.jit(wrong)(x)


def test_arrays_made_inside_are_known_and_can_be_updated() -> None:
    def f(x: Any) -> Any:
        made = cnp.zeros(3)
        assert made[0] == 0.0 and [int(k) for k in cnp.arange(2)] == [0, 1]
        return made.at[1].set(x).at[cnp.asarray([0, 2])].add(2 * x)

    close(ct.jit(f)(1.5), [3.0, 1.5, 3.0])
    close(ct.jacfwd(f)(1.5), [2.0, 1.0, 2.0])
    assert type(cnp.zeros(3)) is np.ndarray


def test_numbers_of_python_in_states_lose_nothing() -> None:
    assert float(ct.fori_loop(0, 3, lambda i, s: s + 0.5, 0)) == 1.5
    assert float(ct.while_loop(lambda s: s < 2, lambda s: s + 0.5, 0)) == 2.0
    assert ct.scan(lambda s, x: (s + x, s), 0, np.ones(3, np.float32))[0].dtype == np.float32
    with pytest.raises(ct.CotanError):
        ct.fold(lambda s, x: 0.5, np.array(1), np.ones(2))


UPDATES = {
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_at_places_that_are_named_several_times(name: str) -> None:
    m, v = np.abs(RNG.standard_normal((3, 4))) + 0.5, np.abs(RNG.standard_normal((5, 2))) + 0.5
    rows, columns = np.array([0, 2, 0, 1, 0])[:, None], np.array([1, 3])
    expected = m.copy()
    UPDATES[name].at(expected, (rows, columns), v)
    update = lambda m, rows, v: getattr(m.at[rows, columns], name)(v)
    close(ct.jit(update)(m, rows, v), expected)
    close(ct.jit(lambda m, v: update(m, rows, v))(m, v), expected)
    weights = RNG.standard_normal(m.shape)
    ct.check_grads(lambda m, v: (weights * update(m, rows, v)).sum(), (m, v), order=1)
    # Outside there is nothing to change.
    far = rows + np.array([0, 0, 9, 0, -9])[:, None]
    inside = np.array([0, 1, 3])
    expected = m.copy()
    UPDATES[name].at(expected, (rows[inside], columns), v[inside])
    close(ct.jit(update)(m, far, v), expected)
    # Zeros among factors, and integers.
    if name == "multiply":
        close(ct.grad(lambda v: cnp.ones(2).at[np.array([0, 0])].multiply(v).sum())(np.array([0.0, 3.0])), [3.0, 0.0])
        close(ct.jit(lambda n: n.at[np.array([1, 1])].multiply(3))(np.array([2, 2])), [2, 18])


def test_vmap_over_axes_and_structures() -> None:
    a, b = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 3))
    close(ct.vmap(lambda x, y: x @ y, in_axes=(0, 1))(a, b), (a * b.T).sum(1))
    close(ct.vmap(lambda x: (x, x.sum()), in_axes=1, out_axes=(1, 0))(a)[0], a)
    close(ct.vmap(lambda p, x: p["w"] * x, in_axes=({"w": 0}, None))({"w": a}, 2.0), 2 * a)
    close(ct.vmap(ct.vmap(lambda x: x * x))(a), a * a)
    close(ct.vmap(ct.jacfwd(lambda x: x * x))(a)[1], np.diag(2 * a[1]))
    close(ct.jacrev(ct.vmap(lambda x: (x * x).sum()))(a)[1, 1], 2 * a[1])
    close(ct.map(lambda row: row.max(), a), a.max(1))
    close(ct.associative_scan(lambda a, b: a + b, a), np.cumsum(a, 0))
    close(ct.vmap(lambda x, *, k: x * k)(np.ones(3), k=np.arange(3.0)), np.arange(3.0))


def test_rules_of_ones_own() -> None:
    @ct.custom_vjp
    def clipped(x: Any, bound: Any) -> Any:
        return x

    clipped.defvjp(lambda x, bound: (x, bound), lambda bound, g: (cnp.clip(g, -bound, bound), None))
    x = np.array([1.0, 5.0])
    close(ct.grad(lambda x: (clipped(x, 1.0) ** 2).sum())(x), [1.0, 1.0])
    close(clipped(x, 1.0), x)
    close(ct.vmap(ct.grad(lambda x: clipped(x, 1.0) ** 2))(x), [1.0, 1.0])

    @ct.custom_jvp
    def softplus(x: Any) -> Any:
        return cnp.log1p(cnp.exp(x))

    softplus.defjvp(lambda p, t: (softplus(p[0]), t[0] / (1 + cnp.exp(-p[0]))))
    close(ct.grad(softplus)(1000.0), 1.0)
    ct.check_grads(softplus, (np.array(0.3),), order=2)

    def power(n: int, x: Any) -> Any:
        return x**n

    ruled = ct.custom_vjp(power, nondiff_argnums=(0,))
    ruled.defvjp(lambda n, x: (x**n, x), lambda n, x, g: (100.0 * n * g,))
    close(ct.grad(ruled, argnums=1)(3, 2.0), 300.0)
    with pytest.raises(ct.CotanError, match="no rule"):
        ct.custom_vjp(lambda x: x)(1.0)


def test_checkpoints_trade_work_for_memory() -> None:
    w = RNG.standard_normal((8, 8, 16, 16)) * 0.3

    def block(x: Any, w: Any) -> Any:
        for k in range(8):
            x = cnp.tanh(x @ w[k])
        return x

    def loss(wrap: Any) -> Any:
        def f(w: Any, x: Any) -> Any:
            for k in range(8):
                x = wrap(block)(x, w[k])
            return (x**2).sum()

        return f

    plain, again = ct.grad(loss(lambda f: f)), ct.grad(loss(ct.checkpoint))
    x = RNG.standard_normal((500, 16))
    close(plain(w, x), again(w, x))
    assert again.cost().peak_bytes < 0.6 * plain.cost().peak_bytes
    assert plain.cost().operations < again.cost().operations < 1.6 * plain.cost().operations
    ct.check_grads(lambda x: ct.checkpoint(cnp.sin)(x) * x, (np.array([0.5]),), order=2)


def test_linearize_and_checks() -> None:
    f = lambda p: {"y": cnp.sin(p["x"]) * p["k"]}
    point = {"x": np.array([0.5, 1.0]), "k": 3.0}
    value, push = ct.linearize(f, point)
    close(value["y"], np.sin(point["x"]) * 3)
    tangent = {"x": np.array([1.0, 0.0]), "k": 0.0}
    close(push(tangent)["y"], [3 * np.cos(0.5), 0.0])
    ct.check_grads(f, (point,), order=3)
    wrong = ct.custom_vjp(lambda x: x * x)
    wrong.defvjp(lambda x: (x * x, x), lambda x, g: (3.0 * x * g,))
    with pytest.raises(AssertionError, match="rev mode differs"):
        ct.check_grads(wrong, (2.0,), modes=("rev",))


def test_text_programs(tmp_path: Any) -> None:
    text = """
# Mixture.
def norm(x: [n]f64): f64 = sqrt(sum(x * x))
def histogram[bins](xs: [n]f64): [bins]i64 =
  scatter(ones([n], i64), [bins], i => [i64(floor(xs[i] * f64(bins)))])
def both(p: {w: [n]f64, b: f64}) = (p.w * p.b, {s = sum(p.w)})
"""
    path = tmp_path / "gmm.ct"
    path.write_text(text)
    program = ct.load(path)
    assert float(program.norm(np.array([3.0, 4.0]))) == 5.0
    close(ct.grad(program.norm)(np.array([3.0, 4.0])), [0.6, 0.8])
    assert program.histogram(np.array([0.1, 0.6, 0.7]), bins=2).tolist() == [1, 2]
    scaled, rest = program.both({"b": 2, "w": np.float32([1, 2])})
    assert scaled.tolist() == [2.0, 4.0] and float(rest["s"]) == 3.0
    assert "def norm" in program.norm.__doc__ and "Mixture" in program.norm.__doc__
    close(ct.vmap(program.norm)(np.array([[3.0, 4.0], [6.0, 8.0]])), [5.0, 10.0])
    with pytest.raises(ct.CotanError, match="is missing"):
        program.norm()
    with pytest.raises(FileNotFoundError):
        ct.load(tmp_path / "none.ct")
