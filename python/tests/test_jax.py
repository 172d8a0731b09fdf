"""Functions of this package inside JAX: embedded as StableHLO, with our gradient and our batching."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
jnp = jax.numpy

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def wide() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def loss(params: dict[str, Any], x: Any, labels: Any) -> Any:
    """A small network, with a read at positions that are given."""
    hidden = cnp.tanh(x @ params["w"] + params["b"])
    chosen = ct.build(x.shape[0], lambda i: hidden[i, labels[i]])
    return (chosen * chosen).sum() + cnp.exp(hidden).mean()


def inputs() -> tuple[dict[str, Any], Any, Any]:
    params = {"w": RNG.standard_normal((3, 4)), "b": RNG.standard_normal(4)}
    return params, RNG.standard_normal((8, 3)), RNG.integers(0, 4, 8)


def close(a: Any, b: Any, tol: float = 1e-10) -> None:
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=tol, atol=tol), a, b)


def test_values_and_gradients_are_ours() -> None:
    f, given = ct.to_jax(loss), inputs()
    close(f(*given), ct.jit(loss)(*given))
    close(jax.jit(f)(*given), ct.jit(loss)(*given))
    close(jax.grad(f)(*given), ct.grad(loss)(*given))
    close(jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(*given), ct.value_and_grad(loss, (0, 1))(*given))


def test_rules_of_ones_own_are_kept() -> None:
    @ct.custom_vjp
    def clipped(x: Any) -> Any:
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, c: (cnp.clip(2 * x * c, -1.0, 1.0),))
    f = ct.to_jax(lambda x: clipped(x).sum())
    close(jax.grad(f)(np.array([0.1, 3.0, -5.0])), np.array([0.2, 1.0, -1.0]))


def test_gradients_of_gradients() -> None:
    f = ct.to_jax(lambda x: (x**3).sum())
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    product = lambda x: (jax.grad(f)(x) * v).sum()
    close(jax.jit(jax.grad(product))(x), 6 * x * v)


def test_batches_are_ours() -> None:
    def g(x: Any, w: Any) -> Any:
        return cnp.sin(x @ w).sum()

    f = ct.to_jax(g)
    x, w = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 2))
    own = lambda x, w: jnp.sin(x @ w).sum()
    for axes in [(0, None), (None, 1), (0, None)]:
        args = (x, w) if axes != (None, 1) else (x, RNG.standard_normal((3, 4, 2)))
        close(jax.vmap(f, axes)(*args), jax.vmap(own, axes)(*args))
        close(jax.vmap(jax.grad(f), axes)(*args), jax.vmap(jax.grad(own), axes)(*args))
    both = jax.vmap(jax.vmap(f, (0, None)), (None, 0))
    many = RNG.standard_normal((2, 3, 2))
    close(both(x, many), jax.vmap(jax.vmap(own, (0, None)), (None, 0))(x, many))
    total = lambda f: lambda w: jax.vmap(f, (0, None))(x, w).sum()
    close(jax.grad(total(f))(w), jax.grad(total(own))(w))


def test_inside_other_functions_of_jax() -> None:
    f = ct.to_jax(lambda x: cnp.exp(-x * x))
    g = lambda x: (2.0 * f(jnp.sin(x)) + x).sum()
    own = lambda x: (2.0 * jnp.exp(-(jnp.sin(x) ** 2)) + x).sum()
    x = RNG.standard_normal(6)
    close(jax.jit(jax.value_and_grad(g))(x), jax.value_and_grad(own)(x))
    steps = lambda f: jax.lax.scan(lambda s, _: (f(s), s), jnp.float64(0.3), None, length=4)
    close(steps(f), steps(lambda x: jnp.exp(-x * x)))


def test_element_types_of_jax() -> None:
    def g(x: Any, n: Any) -> Any:
        return x * 2.0, n + 1, x > 0.0

    narrow = (jnp.ones(3, jnp.bfloat16), jnp.arange(3, dtype=jnp.int32))
    y, m, p = ct.to_jax(g)(*narrow)
    assert (y.dtype, m.dtype, p.dtype) == (np.float32, np.int64, np.bool_)
    gradient = jax.grad(lambda x: ct.to_jax(g)(x, narrow[1])[0].sum())(narrow[0])
    assert gradient.dtype == jnp.bfloat16 and (gradient == 2).all()
    jax.config.update("jax_enable_x64", False)
    y, m, _ = ct.to_jax(g)(jnp.ones(3), jnp.arange(3))
    assert (y.dtype, m.dtype) == (np.float32, np.int32) and (m == jnp.arange(3) + 1).all()


def test_zeros_annihilate_infinities_unless_told_otherwise() -> None:
    def g(c: Any, a: Any, b: Any) -> Any:
        return (c * (a @ b)).sum()

    # Small products are taken element by element, which costs nothing.
    for n in (2, 16):
        c, a, b = np.zeros((n, n)), np.ones((n, n)), np.ones((n, n))
        b[0, 0] = np.inf
        close(jax.grad(ct.to_jax(g), argnums=1)(c, a, b), np.zeros((n, n)))
    loose = jax.grad(ct.to_jax(g, assume_finite=True), argnums=1)(c, a, b)
    assert np.isnan(loose).any()


def test_exported_functions_are_stored_and_read() -> None:
    pytest.importorskip("flatbuffers", reason="flatbuffers is not installed: pip install flatbuffers")
    given = inputs()
    exported = jax.export.export(jax.jit(jax.grad(ct.to_jax(loss))))(*given)
    read = jax.export.deserialize(exported.serialize())
    close(read.call(*given), ct.grad(loss)(*given))


def test_messages() -> None:
    with pytest.raises(ct.CotanError, match="is not a function"):
        ct.to_jax(3)  # type: ignore[arg-type]
    with pytest.raises(ct.CotanError, match="no element type"):
        ct.to_jax(lambda x: x)(jnp.ones(2, jnp.complex64))
    with pytest.raises(ct.CotanError, match="without a mesh"):
        ct.stablehlo(lambda x: x, np.ones(2), shard={"x": ("batch",)})
    with pytest.raises(ct.CotanError, match="one for each axis"):
        ct.stablehlo(lambda x: x, np.ones(2), mesh={"batch": 2}, shard={"x": "batch"})
    with pytest.raises(ct.CotanError, match="cannot be cut into 3 parts"):
        ct.stablehlo(lambda x: x, np.ones(2), mesh={"batch": 3}, shard={"x": ("batch",)})


MANY_DEVICES = """
import numpy as np
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import cotan as ct, cotan.numpy as cnp

jax.config.update("jax_enable_x64", True)
mesh = Mesh(np.array(jax.devices()), ("batch",))
loss = lambda w, x: cnp.sin(x @ w).sum()
f = ct.to_jax(loss)
rng = np.random.default_rng(0)
w, x = rng.standard_normal((3, 2)), rng.standard_normal((16, 3))
cut = NamedSharding(mesh, P("batch"))
placed = jax.device_put(x, cut)
wanted = ct.grad(loss, (0, 1))(w, x)

found = jax.jit(jax.grad(f, (0, 1)), out_shardings=(NamedSharding(mesh, P()), cut))(w, placed)
for a, b in zip(found, wanted):
    np.testing.assert_allclose(a, b, rtol=1e-12)
assert len(found[1].addressable_shards) == 4 and found[1].addressable_shards[0].data.shape == (4, 3)

def part(w, x):
    return jax.lax.psum(jax.grad(f)(w, x), "batch")

specs = {"mesh": mesh, "in_specs": (P(), P("batch")), "out_specs": P()}
mapped = jax.shard_map(part, check_vma=False, **specs)
np.testing.assert_allclose(jax.jit(mapped)(w, placed), wanted[0], rtol=1e-12)

# Where JAX keeps account of what differs, it sums gradients of what does not.
mapped = jax.shard_map(jax.grad(f), **specs)
np.testing.assert_allclose(jax.jit(mapped)(w, placed), wanted[0], rtol=1e-12)
mapped = jax.shard_map(lambda w, x: jax.lax.psum(f(w, x), "batch"), **specs)
np.testing.assert_allclose(jax.jit(mapped)(w, placed), ct.jit(loss)(w, x), rtol=1e-12)
np.testing.assert_allclose(jax.jit(jax.grad(mapped))(w, placed), wanted[0], rtol=1e-12)
print("agree")
"""


def test_many_devices() -> None:
    flags = "--xla_force_host_platform_device_count=4"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", MANY_DEVICES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "agree", done.stderr[-4000:]
