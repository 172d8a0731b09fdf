"""Fourier transforms and complex numbers, beside numpy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp
from cotan.numpy import fft

RANDOM = np.random.default_rng(5)
REAL = RANDOM.standard_normal((3, 4, 6))
COMPLEX = REAL + 1j * RANDOM.standard_normal((3, 4, 6))


def close(a: Any, b: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), tolerance, tolerance)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [None, 3, 5, 9])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_along_an_axis(name: str, n: int | None, axis: int, norm: Any) -> None:
    x = REAL if name in ("rfft", "ihfft") else COMPLEX
    close(getattr(fft, name)(x, n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "irfftn", "irfft2"])
@pytest.mark.parametrize(
    "options", [{}, {"axes": (0, 1)}, {"s": (5, 2), "axes": (1, 2)}, {"norm": "ortho"}]
)
def test_transforms_along_axes(name: str, options: dict[str, Any]) -> None:
    x = REAL if name.startswith("r") else COMPLEX
    close(getattr(fft, name)(x, **options), getattr(np.fft, name)(x, **options))


def test_frequencies_and_shifts() -> None:
    close(fft.fftfreq(5, 0.1), np.fft.fftfreq(5, 0.1))
    close(fft.rfftfreq(5, 0.1), np.fft.rfftfreq(5, 0.1))
    for axes in (None, 1, (0, 2)):
        close(fft.fftshift(COMPLEX, axes), np.fft.fftshift(COMPLEX, axes))
        close(ct.jit(lambda x, axes=axes: fft.ifftshift(x, axes))(REAL), np.fft.ifftshift(REAL, axes))


def test_functions_of_numpy_lead_here() -> None:
    spectrum = ct.jit(lambda x: abs(np.fft.fft(np.fft.fftshift(x))) ** 2)
    close(spectrum(REAL), abs(np.fft.fft(np.fft.fftshift(REAL))) ** 2)
    close(ct.jit(lambda z: np.fft.ifft(np.fft.fft(z)))(ct.Complex(COMPLEX)), COMPLEX)
    assert fft.fft([1, 2, 3, 4]).real.tolist() == [10.0, -2.0, -2.0, -2.0]
    assert fft.fft(np.ones(3, np.float32)).real.dtype == np.float32


def test_derivatives() -> None:
    x = RANDOM.standard_normal(7)

    def power(x: Any) -> Any:
        z = fft.rfft(cnp.tanh(x))
        return (abs(z) ** 2 * cnp.arange(4.0)).sum() + fft.irfft(z * 1j, 7)[2]

    ct.check_grads(power, (x,), order=2)
    z = ct.Complex(x + 2j * x[::-1])
    ct.check_grads(lambda z: (fft.fft(z * z) / (z + 3.0)).exp().sum().real, (z,), order=1)
    # A step against the derivative goes down.
    f = ct.value_and_grad(lambda z: (abs(z - (1.0 + 2.0j)) ** 2).sum())
    value, slope = f(z)
    assert f(z - 0.5 * slope)[0] < 1e-20 < value


def test_arithmetic() -> None:
    a, b = COMPLEX[0], COMPLEX[1]
    x, r = ct.Complex(a), REAL[2]
    for made, wanted in [
        (x + b, a + b), (b + x, b + a), (x - b, a - b), (b - x, b - a), (x * b, a * b),
        (b * x, b * a), (x / b, a / b), (b / x, b / a), (x + r, a + r), (r - x, r - a),
        (r * x, r * a), (x / r, a / r), (r / x, r / a), (x + 1, a + 1), (2j - x, 2j - a),
        (1 / x, 1 / a), (x**3, a**3), (x**0, a**0), (-x, -a), (+x, a), (abs(x), abs(a)),
        (x.conj(), a.conj()), (x.angle(), np.angle(a)), (x.exp(), np.exp(a)),
        (x @ b.T, a @ b.T), (b.T @ x, b.T @ a), (r.T @ x, r.T @ a), (x @ r.T, a @ r.T),
        (x.sum(0), a.sum(0)), (x.mean(), a.mean()), (x[1:, 2], a[1:, 2]), (np.exp(x), np.exp(a)),
        (x.reshape(2, 12), a.reshape(2, 12)), (np.abs(x), abs(a)), (np.real(x), a.real),
        (x * np.ones(6), a), (x[0] + np.zeros((2, 6)), a[0] + np.zeros((2, 6))),
    ]:  # fmt: skip
        close(made, wanted)
    assert (x.shape, x.ndim, x.size, len(x)) == ((4, 6), 2, 24, 4)
    assert repr(ct.Complex(1.0)) == "Complex(real=array(1.), imag=array(0.))"
    close(ct.jit(lambda x: (x * 2j + 1.0) / x)(x), (a * 2j + 1.0) / a)


def test_arithmetic_beside_traced_arrays() -> None:
    a, b = COMPLEX[0], REAL[1]
    for f in [
        lambda x, z: x + z, lambda x, z: x - z, lambda x, z: x * z, lambda x, z: x / z,
        lambda x, z: x @ z.T, lambda x, z: z - x, lambda x, z: x * 1j, lambda x, z: (2j - x) / z,
        lambda x, z: a * x, lambda x, z: x - a, lambda x, z: np.multiply(x, z),
    ]:  # fmt: skip
        close(ct.jit(f)(b, ct.Complex(a)), f(b, a))
    equal = ct.jit(lambda x, z: (x + 0j == z, z != x))
    assert equal(np.array([1.0, 2.0]), ct.Complex(np.array([1.0, 2j])))[0].tolist() == [True, False]


def test_they_are_structures() -> None:
    z = ct.Complex(COMPLEX[0, 0])
    close(ct.vmap(lambda z: z * z)(z), COMPLEX[0, 0] ** 2)
    close(ct.tree.map(lambda x: x[::-1], z), COMPLEX[0, 0, ::-1])
    found = ct.scan(lambda s, z: (s * z, s), ct.Complex(1.0), z)
    close(found[0], COMPLEX[0, 0].prod())
    for same in (copy.deepcopy(z), pickle.loads(pickle.dumps(z))):
        close(same, z)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ct.jit(lambda x: x + 1.0)(np.ones(2) * 1j), "ct.Complex"),
        (lambda: ct.Complex(np.ones(2), np.ones(3)), "one shape"),
        (lambda: fft.fft(np.ones(4), norm="wrong"), "ortho"),
        (lambda: fft.fft(np.ones(4), axis=2), "axis"),
        (lambda: fft.fft(np.ones(4), n=0), "1 at least"),
        (lambda: fft.rfft(np.ones(4) * 1j), "fft"),
        (lambda: fft.fftn(np.ones((2, 2)), s=(2,), axes=(0, 1)), "sizes"),
        (lambda: np.sin(ct.Complex(1.0)), "exp"),
        (lambda: ct.jit(lambda z: np.asarray(z))(ct.Complex(1.0)), "tracing"),
        (lambda: ct.Complex(2.0) ** 0.5, "integers"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(call: Any, message: str) -> None:
    with pytest.raises(ct.CotanError) as raised:
        call()
    assert message in str(raised.value)


def test_in_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    power = ct.to_jax(lambda x: (abs(fft.fft(x)) ** 2 * cnp.arange(8.0)).sum())
    x = np.linspace(0.0, 1.0, 8)
    close(jax.grad(power)(x), ct.grad(lambda x: (abs(fft.fft(x)) ** 2 * cnp.arange(8.0)).sum())(x), 1e-3)
