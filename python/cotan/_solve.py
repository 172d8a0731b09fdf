"""Functions that solve something for a function: equations, linear systems given by products,
differential equations, integrals.

Unknowns are structures of floats. Derivatives by whatever the function uses are those of the solution,
not of the steps to it, in both modes and of any order; a first guess has none. What does not converge in
a bounded number of steps is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._control import _flat
from ._core import Array, TreeDef
from ._errors import make
from ._function import anywhere, expect_function


def _called(name: str, f: Callable[..., Any], tree: TreeDef, *args: Any) -> list[Any]:
    """The leaves of what a function gives that gives the structure ``tree``; integers and numbers of
    Python become floats like the unknowns."""
    made, found = _flat(f(*args))
    if found != tree:
        message = f"the function gives {found}, and the unknown is {tree}"
        raise make("ArrayTypeError", name, message, "it gives the structure of the unknown")
    return made


def _as_floats(made: list[Array], likes: list[Array]) -> list[Array]:
    pairs = zip(made, likes, strict=True)
    return [
        x.cast_to(like.dtype_name) if x.weak_type or "float" not in x.dtype_name else x
        for x, like in pairs
    ]


def _endomorphic(
    name: str,
    f: Callable[[Any], Any],
    x: Any,
    tolerance: float | None,
    max_steps: int | None,
    restart: int = 1,
) -> Any:
    """What a solver finds for a function from a structure to one like it."""
    _expect_bounds(name, tolerance, max_steps)

    def staged(x: Any) -> Any:
        leaves, tree = _flat(x)

        def call(xs: list[Array]) -> list[Any]:
            return _as_floats(_called(name, f, tree, tree.unflatten(xs)), xs)

        found = _core.endomorphic(name, leaves, tolerance, max_steps, restart, call)
        return tree.unflatten(found)

    return anywhere(staged, x)


def _expect_bounds(name: str, tolerance: Any, max_steps: Any) -> None:
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and tolerance > 0):
        hint = "a tolerance is a positive number that is known"
        raise make("ArrayTypeError", name, f"the tolerance {tolerance!r}", hint)
    if max_steps is not None and not (isinstance(max_steps, int) and max_steps > 0):
        message = f"`max_steps` is {max_steps!r}"
        raise make("ArrayTypeError", name, message, "it is a positive integer that is known")


def root(
    f: Callable[[Any], Any],
    x0: Any,
    *,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """The ``x`` where ``f(x)`` is 0, by Newton's method from ``x0`` on, in at most 100 steps if not
    given; NaN where that does not converge.

    >>> import cotan as ct
    >>> cube = lambda a: ct.root(lambda x: x**3 - a, 1.0)
    >>> cube(8.0), ct.grad(cube)(8.0).round(9)
    (array(2.), np.float64(0.083333333))
    """
    expect_function("root", f)
    return _endomorphic("root", f, x0, tolerance, max_steps)


def fixed_point(
    f: Callable[[Any], Any],
    x0: Any,
    *,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """The ``x`` that equals ``f(x)``, by ``x = f(x)`` from ``x0`` on, at most 1000 times if not given;
    NaN where that does not converge.

    >>> import cotan as ct
    >>> ct.fixed_point(ct.numpy.cos, 1.0).round(9)
    np.float64(0.739085133)
    """
    expect_function("fixed_point", f)
    return _endomorphic("fixed_point", f, x0, tolerance, max_steps)


def minimize(
    f: Callable[[Any], Any],
    x0: Any,
    *,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """An ``x`` where the gradient of ``f`` is 0, by Newton's method with a line search downwards from
    ``x0``, in at most 200 steps if not given; NaN where that does not converge. For few unknowns, and
    inside of programs: ``ct.optim.lbfgs`` takes many.

    >>> import cotan as ct, numpy as np
    >>> lowest = lambda a: ct.minimize(lambda x: ((x - a) ** 4 + x**2).sum(), np.zeros(2))
    >>> ct.jacobian(lowest)(np.array([0.0, 1.0])).round(6) + 0.0
    array([[0.      , 0.      ],
           [0.      , 0.676046]])
    """
    expect_function("minimize", f)
    _expect_bounds("minimize", tolerance, max_steps)

    def staged(x0: Any) -> Any:
        leaves, tree = _flat(x0)

        def call(xs: list[Array]) -> list[Any]:
            made, _ = _flat(f(tree.unflatten(xs)))
            if len(made) != 1 or made[0].shape != ():
                shown = ", ".join(str(x.shape) for x in made)
                message = f"the function gives arrays of shapes {shown}, not a scalar"
                raise make("ArrayTypeError", "minimize", message, "sum it, or take its mean")
            return made

        return tree.unflatten(_core.minimize(leaves, tolerance, max_steps, call))

    return anywhere(staged, x0)


def _linear(
    name: str,
    a: Any,
    b: Any,
    tolerance: float | None,
    max_steps: int | None,
    restart: int = 1,
) -> Any:
    if callable(a):
        return _endomorphic(name, a, b, tolerance, max_steps, restart)
    _expect_bounds(name, tolerance, max_steps)

    def staged(a: Any, b: Any) -> Any:
        matrix = _core.asarray(a)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            message = f"a matrix of shape {matrix.shape}"
            hint = "give a square matrix, or a function that multiplies by it"
            raise make("ArrayTypeError", name, message, hint)
        return _endomorphic(name, lambda x: matrix @ x, b, tolerance, max_steps, restart)

    return anywhere(staged, a, b)


def cg(a: Any, b: Any, *, tolerance: float | None = None, max_steps: int | None = None) -> Any:
    """The ``x`` with ``a(x) = b`` by conjugate gradients, for a linear function (or a matrix) that is
    symmetric and positive definite; at most ten times as many steps as unknowns if not given, to a
    residual of ``tolerance`` relative to ``b``. NaN where that does not converge.

    >>> import cotan as ct, numpy as np
    >>> ct.linalg.cg(lambda x: np.array([2.0, 4.0]) * x, np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    return _linear("cg", a, b, tolerance, max_steps)


def bicgstab(
    a: Any, b: Any, *, tolerance: float | None = None, max_steps: int | None = None
) -> Any:
    """As :func:`cg`, where ``a`` need not be symmetric, by stabilised biconjugate gradients.

    >>> import cotan as ct, numpy as np
    >>> ct.linalg.bicgstab(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0])).round(9)
    array([1., 1.])
    """
    return _linear("bicgstab", a, b, tolerance, max_steps)


def gmres(
    a: Any,
    b: Any,
    *,
    restart: int = 20,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """As :func:`cg`, where ``a`` need not be symmetric, by the smallest residual among ``restart``
    directions, and again.

    >>> import cotan as ct, numpy as np
    >>> ct.linalg.gmres(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0])).round(9)
    array([1., 1.])
    """
    if not isinstance(restart, int) or restart < 1:
        raise make("ArrayTypeError", "gmres", f"`restart` is {restart!r}", "it is 1 at least")
    return _linear("gmres", a, b, tolerance, max_steps, restart)


_METHODS = ("dopri5", "rosenbrock", "rk4", "euler")
_ADJOINTS = ("discrete", "continuous")


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    method: str = "dopri5",
    adjoint: str = "discrete",
    steps: int = 10,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """The solution of ``dy/dt = f(y, t, *args)`` at the times ``t``, ``y0`` at the first of them: the
    structure of ``y0`` with one more outermost axis.

    ``dopri5`` and, for stiff equations, ``rosenbrock`` choose their steps for the tolerance (1e-8 of
    float64, relative to ``1 + abs(y)``), at most ``max_steps`` (1000) from one time to the next, NaN
    after that; ``rk4`` and ``euler`` make ``steps`` from one time to the next. Derivatives go through
    the steps, or with ``adjoint="continuous"`` come from the adjoint equation, which keeps the states at
    the times only. They are NaN where a solution is, and where the way back does not find these states,
    as for stiff equations between times that lie far apart. The tolerance is that of states: where these
    change fast, derivatives may need a smaller one.

    >>> import cotan as ct, numpy as np
    >>> decay = lambda rate: ct.odeint(lambda y, t: -rate * y, 1.0, np.array([0.0, 1.0, 2.0]))
    >>> decay(0.5).round(6), ct.jacobian(decay)(0.5).round(6)
    (array([1.      , 0.606531, 0.367879]), array([ 0.      , -0.606531, -0.735759]))
    """
    expect_function("odeint", f)
    _expect_bounds("odeint", tolerance, max_steps)
    _expect_one_of("odeint", "method", method, _METHODS)
    _expect_one_of("odeint", "adjoint", adjoint, _ADJOINTS)
    if not isinstance(steps, int) or steps < 1:
        raise make("ArrayTypeError", "odeint", f"`steps` is {steps!r}", "it is 1 at least")

    def staged(y0: Any, t: Any, args: tuple[Any, ...]) -> Any:
        leaves, tree = _flat(y0)
        times = _core.asarray(t)
        if times.ndim != 1:
            message = f"times of shape {times.shape}"
            hint = "give a vector: the states at all of its times are computed"
            raise make("ArrayTypeError", "odeint", message, hint)

        def slope(time: list[Array], ys: list[Array]) -> list[Any]:
            return _as_floats(_called("odeint", f, tree, tree.unflatten(ys), time[0], *args), ys)

        continuous = adjoint == "continuous"
        states = _core.odeint(
            leaves, times, method, steps, tolerance, max_steps, continuous, slope
        )
        return tree.unflatten(states)

    return anywhere(staged, y0, t, args)


def _expect_one_of(name: str, what: str, given: Any, known: tuple[str, ...]) -> None:
    if given not in known:
        hint = f"there are {', '.join(repr(one) for one in known)}"
        raise make("ArrayTypeError", name, f"the {what} {given!r}", hint)


def _integral(
    name: str,
    f: Callable[[Any], Any],
    limits: tuple[Any, Any],
    points: int | None,
    stop: tuple[float | None, int | None],
) -> Any:
    expect_function(name, f)

    def staged(a: Any, b: Any) -> Any:
        found: list[TreeDef] = []
        ends = [_core.asarray(end) for end in (a, b)]
        for end in ends:
            if end.ndim:
                message = f"a limit of shape {end.shape}"
                hint = "limits are numbers: `ct.vmap` integrates between several"
                raise make("ArrayTypeError", name, message, hint)

        def integrand(x: list[Array]) -> list[Any]:
            made, tree = _flat(f(x[0]))
            found.append(tree)
            return _as_floats(made, x * len(made))

        integrals = _core.integral(ends, points, *stop, integrand)
        return found[-1].unflatten(integrals)

    return anywhere(staged, *limits)


def quadrature(
    f: Callable[[Any], Any],
    a: Any,
    b: Any,
    *,
    tolerance: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """The integral of ``f`` from ``a`` to ``b``, by Kronrod's rule on intervals that are bisected at
    most 50 times if not given; NaN where that is not enough. Differentiable by the limits and by what
    ``f`` uses.

    >>> import cotan as ct
    >>> ct.value_and_grad(lambda b: ct.quadrature(lambda x: x * x, 0.0, b))(3.0)
    (array(9.), array(9.))
    """
    _expect_bounds("quadrature", tolerance, max_steps)
    return _integral("quadrature", f, (a, b), None, (tolerance, max_steps))


def gauss_legendre(f: Callable[[Any], Any], a: Any, b: Any, points: int) -> Any:
    """The integral of ``f`` from ``a`` to ``b`` by Gauss' rule of so many points, exact for polynomials
    of a degree below twice that.

    >>> import cotan as ct
    >>> ct.gauss_legendre(lambda x: x**3, 0.0, 2.0, 2).round(12)
    np.float64(4.0)
    """
    if not isinstance(points, int) or points < 1:
        message = f"{points!r} points"
        raise make("ArrayTypeError", "gauss_legendre", message, "a rule has 1 point at least")
    return _integral("gauss_legendre", f, (a, b), points, (None, None))
