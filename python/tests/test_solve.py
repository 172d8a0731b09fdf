"""Solvers, Taylor series and Laplacians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import cotan as ct
import cotan.numpy as cnp


def close(a: Any, b: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), tolerance, tolerance)


def circle(p: Any) -> Any:
    """Where a line of slope ``a`` meets a circle of radius ``r``."""

    def residual(s: Any) -> Any:
        return {"x": s["x"] ** 2 + s["y"] ** 2 - p["r"] ** 2, "y": s["y"] - p["a"] * s["x"]}

    return ct.root(residual, {"x": 1.0, "y": 1.0})


def test_roots_of_structures_have_the_derivatives_of_the_solution() -> None:
    p = {"r": 2.0, "a": 0.5}
    x = 2.0 / np.sqrt(1.25)
    close(circle(p)["x"], x)
    slope = ct.jacobian(lambda p: circle(p)["x"])(p)
    close(slope["r"], x / 2.0)
    close(slope["a"], -2.0 * 0.5 * 1.25**-1.5)
    close(ct.hessian(lambda r: circle({"r": r, "a": 0.5})["y"] ** 2)(2.0), 2.0 * 0.25 / 1.25)


def test_solvers_run_inside_of_programs() -> None:
    batched = ct.vmap(lambda a: ct.root(lambda x: x * x - a, 1.0))
    close(batched(np.array([1.0, 4.0, 9.0])), [1.0, 2.0, 3.0])
    compiled = ct.jit(lambda a, x0: ct.fixed_point(lambda x: (x + a / x) / 2, x0))
    close(compiled(2.0, 1.0), np.sqrt(2.0))
    assert compiled.cache_info().misses == 1
    in_a_loop = ct.jit(lambda xs: ct.scan(lambda s, x: (s + ct.root(lambda y: y**3 - x, x), s), 0.0, xs))
    close(in_a_loop(np.array([1.0, 8.0]))[0], 3.0)


def test_integers_and_numbers_of_python_are_floats() -> None:
    assert ct.root(lambda x: x - 3, 1) == 3.0
    assert ct.fixed_point(lambda x: 2, 1) == 2.0
    close(ct.quadrature(lambda x: 1, 0, 2), 2.0)
    single = ct.root(lambda x: x * x - 2, np.float32(1.0))
    assert single.dtype == np.float32
    close(single, np.sqrt(2.0), 1e-4)
    assert ct.odeint(lambda y, t: -y, np.float32(1.0), np.array([0.0, 1.0], np.float32)).dtype == "float32"


def test_what_does_not_converge_is_nan() -> None:
    assert np.isnan(ct.root(lambda x: x * x + 1.0, 0.5))
    assert np.isnan(ct.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, max_steps=20))
    assert np.isnan(ct.quadrature(lambda x: 1.0 / x, 0.0, 1.0))


def test_minimize_is_that_of_scipy() -> None:
    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    start = np.array([-1.2, 1.0, 0.5])
    found = scipy.optimize.minimize(ct.jit(rosenbrock), start, jac=ct.grad(rosenbrock), tol=1e-12)
    close(ct.minimize(rosenbrock, start), found.x, 1e-5)
    with pytest.raises(ct.errors.ArrayTypeError, match="not a scalar"):
        ct.minimize(lambda x: x * x, start)


@pytest.mark.parametrize("solve", [ct.linalg.cg, ct.linalg.bicgstab, ct.linalg.gmres])
def test_linear_systems_by_products(solve: Any) -> None:
    random = np.random.default_rng(1)
    half = random.standard_normal((6, 6))
    matrix, b = half @ half.T + np.eye(6), random.standard_normal(6)
    close(solve(matrix, b), np.linalg.solve(matrix, b))
    close(solve(lambda x: matrix @ x, b), np.linalg.solve(matrix, b))
    # As the solution by elimination, and its derivatives.
    ours = ct.grad(lambda a, b: (solve(a, b) ** 2).sum(), argnums=(0, 1))(matrix, b)
    theirs = ct.grad(lambda a, b: (ct.linalg.solve(a, b) ** 2).sum(), argnums=(0, 1))(matrix, b)
    close(ours[0], theirs[0], 1e-6)
    close(ours[1], theirs[1], 1e-6)
    with pytest.raises(ct.errors.ArrayTypeError, match="square matrix"):
        solve(np.ones((2, 3)), np.ones(2))


def test_linear_systems_of_structures() -> None:
    found = ct.linalg.cg(lambda s: {"u": 2.0 * s["u"], "v": 4.0 * s["v"]}, {"u": np.ones(2), "v": 8.0})
    close(found["u"], [0.5, 0.5])
    close(found["v"], 2.0)


def lotka_volterra(y: Any, t: Any, rates: Any) -> Any:
    prey, predators = y
    a, b, c, d = rates
    return a * prey - b * prey * predators, d * prey * predators - c * predators


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock", "rk4"])
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_differential_equations(method: str, adjoint: str) -> None:
    times, rates = np.linspace(0.0, 2.0, 5), np.array([1.0, 0.5, 1.2, 0.3])

    def states(rates: Any) -> Any:
        options = {"method": method, "adjoint": adjoint, "steps": 100, "max_steps": 5000}
        tolerance = 1e-6 if method == "rosenbrock" else 1e-9
        return ct.odeint(lotka_volterra, (2.0, 1.0), times, rates, tolerance=tolerance, **options)

    def reference(rates: Any) -> Any:
        slope = lambda t, y: lotka_volterra(y, t, rates)
        made = scipy.integrate.solve_ivp(
            slope, (0.0, 2.0), [2.0, 1.0], t_eval=times, rtol=1e-11, atol=1e-11
        )
        return made.y

    close(states(rates)[0], reference(rates)[0], 1e-4 if method == "rosenbrock" else 1e-6)
    gradient = ct.grad(lambda rates: states(rates)[1][-1])(rates)
    step = 1e-5
    for k in range(4):
        up, down = (reference(rates + sign * step * np.eye(4)[k])[1, -1] for sign in (1.0, -1.0))
        close(gradient[k], (up - down) / (2.0 * step), 2e-3 if method == "rosenbrock" else 1e-4)


def test_integrals_have_the_derivatives_of_the_fundamental_theorem() -> None:
    value, (by_a, by_b, by_w) = ct.value_and_grad(
        lambda a, b, w: ct.quadrature(lambda x: cnp.sin(w * x), a, b), argnums=(0, 1, 2)
    )(0.0, 2.0, 3.0)
    close(value, (1.0 - np.cos(6.0)) / 3.0)
    close(by_a, 0.0)
    close(by_b, np.sin(6.0))
    close(by_w, 2.0 * np.sin(6.0) / 3.0 - (1.0 - np.cos(6.0)) / 9.0)
    both = ct.quadrature(lambda x: {"a": x, "b": cnp.stack([x, x * x])}, 0.0, 1.0)
    close(both["a"], 0.5)
    close(both["b"], [0.5, 1.0 / 3.0])
    close(ct.gauss_legendre(lambda x: x**5, 0.0, 1.0, 3), 1.0 / 6.0, 1e-14)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ct.root(lambda x: (x, x), 1.0), "the function gives"),
        (lambda: ct.root(lambda x: cnp.zeros(3), np.ones(2)), "3"),
        (lambda: ct.root(1.0, lambda x: x), "not a function"),
        (lambda: ct.root(lambda x: x, 1.0, tolerance=-1.0), "tolerance"),
        (lambda: ct.root(lambda x: x, 1.0, max_steps=0), "max_steps"),
        (lambda: ct.root(lambda x: 1.0 if x > 0 else x, 1.0), "ct.where"),
        (lambda: ct.odeint(lambda y, t: y, 1.0, 2.0), "give a vector"),
        (lambda: ct.odeint(lambda y, t: (y, y), 1.0, np.ones(2)), "the function gives"),
        (lambda: ct.odeint(lambda y, t: y, 1.0, np.ones(2), method="RK45"), "dopri5"),
        (lambda: ct.quadrature(lambda x: x, 0.0, np.ones(2)), "ct.vmap"),
        (lambda: ct.gauss_legendre(lambda x: x, 0.0, 1.0, 0), "1 point"),
        (lambda: ct.jet(lambda x: x, (1.0,)), "ct.jet"),
        (lambda: ct.jet(lambda x: x, 2)(1.0), "tangent"),
        (lambda: ct.jet(lambda x: x, 2)(np.ones(2), np.ones(3)), "tangent"),
        (lambda: ct.laplacian(lambda x: x)(1), "argnums"),
    ],
)
def test_mistakes_are_explained(call: Any, message: str) -> None:
    with pytest.raises(ct.CotanError) as raised:
        call()
    assert message in str(raised.value)
    assert raised.value.location is not None
    assert raised.value.location.startswith(__file__)


def test_exceptions_pass_through_solvers() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    for call in (
        lambda: ct.root(f, 1.0),
        lambda: ct.odeint(lambda y, t: f(y), 1.0, np.ones(2)),
        lambda: ct.quadrature(f, 0.0, 1.0),
    ):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_series_are_nested_derivatives() -> None:
    def f(x: Any) -> Any:
        return {"a": cnp.sin(x[0] * x[1]).sum(), "b": cnp.exp(x[1])}

    x, v = (np.array([0.3, 0.5]), np.array([1.0, 2.0])), (np.array([1.0, -1.0]), np.array([0.5, 0.0]))
    value, series = ct.jet(f, 3)(x, v)
    assert series["b"].shape == (3, 2)
    along = lambda t: f((x[0] + t * v[0], x[1] + t * v[1]))
    derivative, factorial = along, 1.0
    for k in range(3):
        derivative, factorial = ct.jacfwd(derivative), factorial * (k + 1)
        close(series["a"][k], derivative(0.0)["a"] / factorial)
        close(series["b"][k], derivative(0.0)["b"] / factorial)
    close(value["b"], f(x)["b"])


def test_jets_take_argnums_and_nest() -> None:
    f = lambda a, x: a * x**4
    close(ct.jet(f, 4, argnums=1)(2.0, 1.0, 1.0)[1], [8.0, 12.0, 8.0, 2.0])
    close(ct.grad(lambda a: ct.jet(f, 2, argnums=1)(a, 3.0, 1.0)[1][1])(2.0), 54.0)
    close(ct.vmap(lambda x: ct.jet(cnp.exp, 2)(x, 1.0)[1])(np.zeros(3)), [[1.0, 0.5]] * 3)


def test_laplacians_are_traces_of_hessians() -> None:
    f = lambda x: cnp.sin(x).prod() + (x[0] * x[1]) ** 2
    x = np.array([0.3, 0.7, 1.1])
    close(ct.laplacian(f)(x), np.trace(ct.hessian(f)(x)))
    assert ct.laplacian(lambda x: {"y": x * x})(x)["y"].tolist() == [2.0, 2.0, 2.0]
    close(ct.grad(lambda x: ct.laplacian(f)(x))(x), ct.grad(lambda x: ct.hessian(f)(x).trace())(x))


def test_jax_agrees_on_series() -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    import jax
    from jax.experimental import jet

    jax.config.update("jax_enable_x64", True)
    try:
        _, theirs = jet.jet(
            lambda x: jax.numpy.sin(x) * jax.numpy.exp(x), (0.5,), ((1.0, 0.0, 0.0, 0.0),)
        )
    finally:
        jax.config.update("jax_enable_x64", False)
    _, ours = ct.jet(lambda x: cnp.sin(x) * cnp.exp(x), 4)(0.5, 1.0)
    close(ours * np.array([1.0, 2.0, 6.0, 24.0]), np.array(theirs), 1e-6)
