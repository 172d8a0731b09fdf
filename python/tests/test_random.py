"""Random numbers: those of their key, inside traced functions and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

KEY = ct.random.key(7)

DRAWS: dict[str, Any] = {
    "uniform": lambda k: ct.random.uniform(k, (2, 3)),
    "float32": lambda k: ct.random.uniform(k, 5, np.float32, -1.0, 2.0),
    "normal": lambda k: ct.random.normal(k, 5),
    "truncated": lambda k: ct.random.truncated_normal(k, 5, 1.0),
    "exponential": lambda k: ct.random.exponential(k, 5),
    "gamma": lambda k: ct.random.gamma(k, 0.4, 5),
    "randint": lambda k: ct.random.randint(k, 5, -3, 1 << 61),
    "bernoulli": lambda k: ct.random.bernoulli(k, 0.4, 5),
    "categorical": lambda k: ct.random.categorical(k, np.zeros((4, 3)), axis=0),
    "permutation": lambda k: ct.random.permutation(k, np.arange(5.0)),
    "choice": lambda k: ct.random.choice(k, 9, (2, 2), replace=False),
    "split": lambda k: ct.random.split(k, 3),
    "fold_in": lambda k: ct.random.fold_in(k, 1 << 40),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_inside_and_outside_and_for_many_keys(name: str) -> None:
    draw = DRAWS[name]
    outside = draw(KEY)
    np.testing.assert_array_equal(ct.jit(draw)(KEY), outside)
    keys = ct.random.split(KEY, 3)
    mapped = ct.vmap(draw)(keys)
    for key, row in zip(keys, mapped, strict=True):
        np.testing.assert_allclose(row, draw(key), rtol=1e-14)
    assert not np.array_equal(mapped[0], mapped[1]) or name == "bernoulli"


def test_bits_are_those_of_the_publication() -> None:
    """The known answers that the authors of Philox publish, for a key and a counter of zeros and of
    ones."""
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    wanted = [(words[k] << 32 | words[k + 1]) >> 11 for k in (0, 2)]
    drawn = ct.random.uniform(ct.random.key(0), 2)
    assert (drawn * 2.0**53).astype(int).tolist() == wanted

    def block(key: Any) -> Any:
        ones = 0xFFFFFFFF
        # Purpose, attempt and the high bits of the index stand in one word of the counter.
        return ct._philox.block(key, 0xFF, 0xFF, cnp.asarray(ones | 0xFFFF << 32))

    key = np.array([-1, -1])
    assert [int(w) for w in ct.jit(block)(key)] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_numbers_are_those_of_the_library_in_rust() -> None:
    """The bits that `crates/cotan/tests/library/random.rs` promises."""
    key = ct.random.key(2024)
    bits = [4603612774548412434, 4607043696576343249, 4599909721617196464]
    assert ct.random.uniform(key, 3).view(np.int64).tolist() == bits
    bits = [4607182268534813310, 13815031127576201690, 4607933641983369228]
    normal = np.array(bits, np.uint64).view(np.float64)
    np.testing.assert_allclose(ct.random.normal(key, 3), normal, rtol=1e-14)
    assert ct.random.randint(key, 6, 0, 100).tolist() == [60, 34, 57, 66, 1, 52]
    assert ct.random.permutation(key, 6).tolist() == [5, 4, 1, 2, 0, 3]
    child = ct.random.fold_in(ct.random.split(key, 3)[2], 1 << 40)
    assert ct.random.randint(child, 3, 0, 1000).tolist() == [83, 322, 474]


def test_distributions() -> None:
    key = KEY
    many = ct.random.normal(key, (200, 100))
    assert abs(many.mean()) < 0.03 and abs(many.std() - 1) < 0.03
    assert ct.random.normal(key, 3, dtype=np.float32).dtype == np.float32
    assert set(ct.random.randint(key, 100, 2, 5).tolist()) == {2, 3, 4}
    assert 300 < ct.random.bernoulli(key, 0.4, 1000).sum() < 500
    assert abs(ct.random.gamma(key, 3.0, 5000).mean() - 3.0) < 0.2
    assert abs(ct.random.exponential(key, 5000).mean() - 1.0) < 0.1
    assert abs(ct.random.truncated_normal(key, 1000)).max() <= 2.0
    assert ct.random.uniform(key, 100, minval=2.0, maxval=3.0).min() >= 2.0
    logits = np.log(np.array([0.5, 0.2, 0.3]))
    shares = np.bincount(ct.random.categorical(key, logits, shape=5000)) / 5000
    np.testing.assert_allclose(shares, [0.5, 0.2, 0.3], atol=0.03)
    chosen = ct.random.choice(key, np.array([3.0, 4.0]), 1000, p=np.array([0.25, 0.75]))
    assert abs(chosen.mean() - 3.75) < 0.05
    orders = ct.vmap(lambda k: ct.random.permutation(k, 3))(ct.random.split(key, 6000))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6 and abs(counts - 1000).max() < 120


def test_further_distributions() -> None:
    """Shares below some bounds, by the distribution functions."""
    r, n = ct.random, 20_000
    below: dict[str, tuple[Any, Any]] = {
        "gumbel": (r.gumbel(KEY, n), lambda x: np.exp(-np.exp(-x))),
        "logistic": (r.logistic(KEY, n), lambda x: 1 / (1 + np.exp(-x))),
        "laplace": (r.laplace(KEY, n), lambda x: np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-x) / 2)),
        "cauchy": (r.cauchy(KEY, n), lambda x: 0.5 + np.arctan(x) / np.pi),
        "beta": (r.beta(KEY, 2.0, 1.0, n), lambda x: np.clip(x, 0, 1) ** 2),
    }
    for name, (drawn, cdf) in below.items():
        assert drawn.shape == (n,) and np.isfinite(drawn).all()
        for x in (-1.0, 0.0, 0.3, 0.8, 2.0):
            assert abs((drawn < x).mean() - cdf(x)) < 0.015, (name, x)
    signs = r.rademacher(KEY, n)
    assert set(signs.tolist()) == {-1, 1} and abs(signs.mean()) < 0.03
    assert abs(np.log(r.lognormal(KEY, 0.5, n)).std() - 0.5) < 0.02
    parts = r.dirichlet(KEY, [1.0, 2.0, 3.0], n)
    np.testing.assert_allclose(parts.sum(axis=1), 1.0)
    np.testing.assert_allclose(parts.mean(axis=0), [1 / 6, 2 / 6, 3 / 6], atol=0.01)
    mean, cov = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = r.multivariate_normal(KEY, mean, cov, n)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.04)
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.07)
    by_mean = ct.grad(lambda m: r.multivariate_normal(KEY, m, cov, 5).sum())(mean)
    assert by_mean.tolist() == [5.0, 5.0]


def test_derivatives_pass_through_parameters() -> None:
    gradient = ct.grad(lambda high: ct.random.uniform(KEY, 4, maxval=high).sum())(2.0)
    np.testing.assert_allclose(gradient, ct.random.uniform(KEY, 4).sum())
    scale = ct.grad(lambda s: (s * ct.random.normal(KEY, 4)).sum())(2.0)
    np.testing.assert_allclose(scale, ct.random.normal(KEY, 4).sum())


BAD: dict[str, Any] = {
    "not a key": lambda: ct.random.normal(0, 3),
    "many keys": lambda: ct.random.normal(ct.random.split(KEY, 3), 3),
    "interval": lambda: ct.random.uniform(KEY, 3, minval=1.0, maxval=1.0),
    "no integers": lambda: ct.random.randint(KEY, 3, 2, 2),
    "floats": lambda: ct.random.randint(KEY, 3, 0.0, 2.0),
    "bound": lambda: ct.random.truncated_normal(KEY, 3, 0.5),
    "shape": lambda: ct.random.gamma(KEY, -1.0, 3),
    "dtype": lambda: ct.random.normal(KEY, 3, dtype=int),
    "too many": lambda: ct.random.choice(KEY, 3, 4, replace=False),
    "traced shape": lambda: ct.jit(lambda a: ct.random.gamma(KEY, a, 3))(1.0),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name: str) -> None:
    with pytest.raises(ct.CotanError) as caught:
        BAD[name]()
    assert caught.value.hint
