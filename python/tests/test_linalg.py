"""Decompositions of matrices: against numpy and scipy, and their gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

RNG = np.random.default_rng(11)
SHAPES = {
    "square": (4, 4),
    "tall": (5, 3),
    "wide": (3, 5),
    "one": (1, 1),
    "batch": (2, 4, 3),
    "batches": (2, 1, 3, 3),
    "large": (40, 33),
}
MATRICES = {name: RNG.standard_normal(shape) for name, shape in SHAPES.items()}
S = RNG.standard_normal((4, 4))
S = S + S.T + np.diag([0.0, 2.0, 5.0, 9.0])
V = RNG.uniform(0.2, 0.9, 6)


def close(got: Any, wanted: Any, atol: float = 1e-10) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=atol)


def turned(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


@pytest.mark.parametrize("name", MATRICES)
def test_factors_give_the_matrix(name: str) -> None:
    a = MATRICES[name]
    q, r = ct.linalg.qr(a)
    close(q @ r, a)
    close(turned(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)))
    close(r, np.triu(r))
    assert q.shape == np.linalg.qr(a).Q.shape
    whole, rest = ct.linalg.qr(a, mode="complete")
    close(whole @ rest, a)
    close(whole @ turned(whole), np.broadcast_to(np.eye(a.shape[-2]), whole.shape))
    close(ct.linalg.qr(a, mode="r"), r)

    u, s, vh = ct.linalg.svd(a, full_matrices=False)
    close((u * s[..., None, :]) @ vh, a)
    close(s, np.linalg.svd(a)[1])
    close(ct.linalg.svdvals(a), s)
    full = ct.linalg.svd(a)
    wanted = np.linalg.svd(a)
    for got, other in zip(full, wanted, strict=True):
        assert got.shape == other.shape
    for x in (full.U, full.Vh):
        close(x @ turned(x), np.broadcast_to(np.eye(x.shape[-1]), x.shape))

    if a.shape[-1] == a.shape[-2]:
        p, lower, upper = ct.linalg.lu(a)
        close(p @ lower @ upper, a)
    close(ct.linalg.pinv(a), np.linalg.pinv(a))
    close(ct.linalg.matrix_rank(a), np.linalg.matrix_rank(a))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        wanted_norm = np.linalg.norm(a, order, axis=(-2, -1), keepdims=True)
        close(ct.linalg.matrix_norm(a, ord=order, keepdims=True), wanted_norm)
        close(ct.linalg.norm(a, order, axis=(-2, -1)), wanted_norm[..., 0, 0])


def test_symmetric_matrices() -> None:
    batch = np.stack([S, 2 * S, np.eye(4)])
    values, vectors = ct.linalg.eigh(batch)
    close(values, np.linalg.eigvalsh(batch))
    close(vectors @ (values[..., None] * turned(vectors)), batch)
    close(ct.linalg.eigvalsh(batch), values)
    odd = np.triu(S)
    close(ct.linalg.eigvalsh(odd, UPLO="U"), np.linalg.eigvalsh(S))
    close(ct.linalg.eigh(np.tril(S)).eigenvalues, np.linalg.eigvalsh(S))


def test_least_squares_and_polynomials() -> None:
    a, b = MATRICES["tall"], RNG.standard_normal((5, 2))
    for sides in (b, b[:, 0]):
        got, wanted = ct.linalg.lstsq(a, sides), np.linalg.lstsq(a, sides, rcond=None)
        for x, y in zip(got, wanted, strict=True):
            close(x, y)
    wide = MATRICES["wide"]
    close(ct.linalg.lstsq(wide, b[:3]).x, np.linalg.lstsq(wide, b[:3], rcond=None)[0])
    x, y = np.linspace(-1.0, 3.0, 20), RNG.standard_normal(20)
    close(cnp.polyfit(x, y, 3), np.polyfit(x, y, 3))
    close(cnp.polyfit(x, y, 2, w=x**2 + 1), np.polyfit(x, y, 2, w=x**2 + 1))
    close(cnp.polyfit(x, np.stack([y, y**2], 1), 2), np.polyfit(x, np.stack([y, y**2], 1), 2))


def test_ranks_conditions_and_exponentials() -> None:
    linalg = pytest.importorskip("scipy.linalg", reason="scipy is not installed")
    a = MATRICES["square"]
    close(ct.linalg.expm(a), linalg.expm(a))
    close(ct.linalg.expm(np.stack([a, 0 * a])), np.stack([linalg.expm(a), np.eye(4)]))
    for order in (None, 2, -2, 1, "fro", np.inf):
        close(ct.linalg.cond(a, order), np.linalg.cond(a, order))
    low = np.outer(V[:4], V[2:])
    assert ct.linalg.matrix_rank(low) == 1
    assert ct.linalg.matrix_rank(np.diag([1.0, 1e-3, 1e-6]), rtol=1e-4) == 2
    close(ct.linalg.pinv(np.diag([1.0, 1e-3, 1e-6]), rtol=1e-4), np.diag([1.0, 1e3, 0.0]))
    close(ct.linalg.norm(V, 3), np.linalg.norm(V, 3))
    close(ct.linalg.norm(V, np.inf), np.linalg.norm(V, np.inf))
    close(ct.linalg.norm(a, 1), np.linalg.norm(a, 1))
    close(ct.linalg.norm(a), np.linalg.norm(a))
    close(ct.linalg.norm(a, 1, axis=0), np.linalg.norm(a, 1, axis=0))
    close(ct.linalg.vector_norm(a, ord=1), abs(a).sum())


GRADIENTS: dict[str, Any] = {
    "eigenvalues": lambda a: cnp.sin(ct.linalg.eigvalsh(a + a.T)),
    "eigenvectors": lambda a: ct.linalg.eigh(a + a.T).eigenvectors ** 2,
    "upper": lambda a: ct.linalg.eigh(a, UPLO="U").eigenvalues ** 2,
    "singular values": lambda a: ct.linalg.svdvals(a[:, :3]) ** 2,
    "singular vectors": lambda a: ct.linalg.svd(a[:, :2], full_matrices=False).U ** 2,
    "values of full": lambda a: ct.linalg.svd(a[:, :2])[1],
    "qr": lambda a: cnp.sin(ct.linalg.qr(a).R),
    "q": lambda a: ct.linalg.qr(a[:, :2]).Q,
    "lu": lambda a: ct.linalg.lu(a).U,
    "pinv": lambda a: ct.linalg.pinv(a[:3]),
    "pinv by values": lambda a: ct.linalg.pinv(a[:3], rtol=1e-9),
    "lstsq": lambda a: ct.linalg.lstsq(a[:, :2], a[:, 2]).x,
    "residuals": lambda a: ct.linalg.lstsq(a[:, :2], a[:, 2]).residuals,
    "polyfit": lambda a: cnp.polyfit(a[0], a[1], 2),
    "expm": lambda a: ct.linalg.expm(a / 3.0),
    "nuclear": lambda a: ct.linalg.matrix_norm(a, ord="nuc"),
    "spectral": lambda a: ct.linalg.norm(a, 2),
    "cond": lambda a: ct.linalg.cond(a),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    ct.check_grads(GRADIENTS[name], (MATRICES["square"],), order=2, rtol=5e-4, atol=5e-4)


def test_what_is_not_unique_has_no_derivative() -> None:
    a = MATRICES["tall"]
    part = lambda columns: lambda a: (ct.linalg.svd(a).U[:, columns] ** 3).sum()
    assert np.isnan(ct.grad(part(slice(3, 5)))(a)).all()
    assert np.isfinite(ct.grad(part(slice(0, 3)))(a)).all()
    assert np.isfinite(ct.grad(lambda a: ct.linalg.qr(a, mode="complete").R.sum())(a)).all()


def test_functions_of_numpy_on_traced_matrices() -> None:
    a = MATRICES["tall"]
    for f in (
        lambda a: np.linalg.svd(a)[1],
        lambda a: np.linalg.qr(a).R ** 2,
        lambda a: np.linalg.pinv(a),
        lambda a: np.linalg.eigvalsh(a.T @ a),
        lambda a: np.linalg.norm(a, 2),
        lambda a: np.linalg.matrix_rank(a),
        lambda a: np.linalg.lstsq(a, a[:, 0], rcond=None)[0],
        lambda a: np.linalg.cond(a),
        lambda a: np.polyfit(a[:, 0], a[:, 1], 1),
    ):
        close(ct.jit(f)(a), f(a))
    close(ct.vmap(ct.linalg.svdvals)(MATRICES["batch"]), np.linalg.svd(MATRICES["batch"])[1])
    assert ct.linalg.svdvals(a.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "run",
    [
        lambda: ct.linalg.eigh(MATRICES["tall"]),
        lambda: ct.linalg.eigh(S, UPLO="X"),
        lambda: ct.linalg.svd(V),
        lambda: ct.linalg.qr(S, mode="odd"),
        lambda: ct.linalg.matrix_norm(S, ord=3),
        lambda: ct.linalg.cond(S, "odd"),
        lambda: ct.linalg.norm(MATRICES["batch"], 2),
        lambda: ct.linalg.norm(V, "fro2"),
        lambda: ct.linalg.lstsq(MATRICES["tall"], V),
        lambda: ct.linalg.expm(MATRICES["wide"]),
        lambda: cnp.polyfit(V, V[:3], 1),
    ],
)
def test_bad_input(run: Any) -> None:
    with pytest.raises(ct.errors.ArrayTypeError) as caught:
        run()
    assert "test_linalg.py:" in str(caught.value.location)
