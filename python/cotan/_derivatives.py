"""Derivatives of functions: functions again, which nest in any order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._core import TreeDef, is_tracing, tree_flatten
from ._errors import make
from ._function import Function, expect_function, statics_of
from ._operation import a_kind

Argnums = int | Sequence[int]
Argnames = str | Sequence[str] | None


class _Point:
    """The arguments by which a derivative is taken, and the function of these alone."""

    def __init__(
        self,
        kind: str,
        f: Callable[..., Any],
        which: tuple[Argnums, Argnames],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.f, self.args, self.kwargs = f, list(args), dict(kwargs)
        self.places, self.single = places_of(kind, f, which, args, kwargs)
        chosen = [self._at(place) for place in self.places]
        self.leaves, self.tree = tree_flatten(chosen[0] if self.single else tuple(chosen))
        self.names: list[str] = self.tree.paths("" if self.single else "argument")
        # The structure of the results of the function, once it was run.
        self.out: TreeDef | None = None
        self.aux: TreeDef | None = None

    def _at(self, place: int | str) -> Any:
        return self.kwargs[place] if isinstance(place, str) else self.args[place]

    def call(self, leaves: list[Any]) -> Any:
        """The function with these leaves in place of the chosen ones."""
        point = self.tree.unflatten(leaves)
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places, [point] if self.single else point, strict=True):
            if isinstance(place, str):
                kwargs[place] = value
            else:
                args[place] = value
        return self.f(*args, **kwargs)

    def results(self, leaves: list[Any]) -> list[Any]:
        results, self.out = tree_flatten(self.call(leaves))
        return results

    def scalar(self, leaves: list[Any]) -> list[Any]:
        """The one result of a function to differentiate by ``grad``."""
        return _one(self.call(leaves))

    def scalar_and_aux(self, leaves: list[Any]) -> list[Any]:
        value, aux = _pair(self.call(leaves))
        rest, self.aux = tree_flatten(aux)
        return [*_one(value), *rest]

    def derive(
        self, kind: str, f: Callable[[list[Any]], list[Any]], directions: list[Any]
    ) -> tuple[int, list[Any]]:
        chosen = list(range(len(self.leaves)))
        return _core.derivative(kind, self.names, self.leaves, chosen, directions, f)

    def series(self, order: int | None, directions: list[Any]) -> tuple[int, list[Any]]:
        chosen = list(range(len(self.leaves)))
        return _core.series(order, self.names, self.leaves, chosen, directions, self.results)


def places_of(
    kind: str,
    f: Callable[..., Any],
    which: tuple[Argnums, Argnames],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[int | str], bool]:
    argnums, argnames = which
    if argnames is not None:
        single = isinstance(argnames, str)
        names = [argnames] if isinstance(argnames, str) else list(argnames)
        named = [_named(kind, f, name, args, kwargs) for name in names]
        _expect_once(kind, named)
        return named, single
    single = isinstance(argnums, int)
    if not single and not (
        isinstance(argnums, (tuple, list)) and all(isinstance(n, int) for n in argnums)
    ):
        message = f"`argnums` is {argnums!r}, not an integer or several"
        hint = f"what {kind} gives is called with the arguments: ct.{kind}(f)(x)"
        raise make("ArrayTypeError", kind, message, hint)
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            message = f"there is no argument {n}: the function was called with {len(args)}"
            hint = "`argnums` counts positional arguments from 0; name others by `argnames`"
            raise make("ArrayTypeError", kind, message, hint)
    places: list[int | str] = [n % len(args) for n in numbers]
    _expect_once(kind, places)
    return places, single


def _expect_once(kind: str, places: list[int | str]) -> None:
    """Checks that no argument is named twice: the derivative would be split among both."""
    twice = [place for n, place in enumerate(places) if place in places[:n]]
    if twice:
        which = "`argnames`" if isinstance(twice[0], str) else "`argnums`"
        message = f"{which} names the argument {twice[0]!r} twice"
        raise make("ArrayTypeError", kind, message, "name each argument once")


def _named(
    kind: str, f: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | str:
    if name in kwargs:
        return name
    names = list(inspect.signature(f).parameters)
    if name in names and names.index(name) < len(args):
        return names.index(name)
    known = ", ".join(f"`{x}`" for x in dict.fromkeys([*names[: len(args)], *kwargs]))
    hint = f"the call has {known}" if known else "the call has no arguments"
    raise make("ArrayTypeError", kind, f"there is no argument `{name}` in the call", hint)


def _one(value: Any) -> list[Any]:
    leaves, _ = tree_flatten(value)
    if len(leaves) != 1:
        hint = "return one scalar, and the rest with `has_aux=True`: return loss, rest"
        message = f"the function gives {len(leaves)} arrays, and only a scalar has a gradient"
        raise make("ArrayTypeError", "grad", message, hint)
    return leaves


def _pair(value: Any) -> tuple[Any, Any]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    message = f"with `has_aux=True` the function returns a pair, not {a_kind(value)}"
    raise make("ArrayTypeError", "grad", message, "return loss, rest")


def _derived(
    made_by: Callable[..., Function],
    f: Callable[..., Any],
    options: dict[str, Any],
    statics: tuple[Any, Any],
    staged: Callable[[_Point], Any],
) -> Function:
    """The function that applies ``staged`` to the point of its arguments; ``made_by``, with these
    options, is the function that was called for it."""
    kind = made_by.__name__
    expect_function(kind, f)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        which = (options["argnums"], options["argnames"])
        return staged(_Point(kind, f, which, args, kwargs))

    name = f"{kind}({getattr(f, '__name__', 'f')})"
    nums, names = statics
    own = statics_of(f, nums, names)
    made = Function(derivative, like=f, name=name, accepts="anything", **own)
    made._origin = made_by, (f,), {**options, "static_argnums": nums, "static_argnames": names}
    return made


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The gradient of a function to a float scalar, in the structure of the argument.

    >>> import cotan as ct, numpy as np
    >>> ct.grad(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> ct.grad(lambda p, x: p["a"] * x + p["b"])({"a": 2.0, "b": 1.0}, 3.0)
    {'a': array(3.), 'b': array(1.)}

    Truth values, strings, functions and other objects that are not arrays are handed on as they are;
    integers are arrays unless they are named static:

    >>> power = lambda x, n: x if n == 1 else x * power(x, n - 1)
    >>> ct.grad(power, static_argnums=1)(2.0, 3)
    array(12.)
    >>> ct.grad(lambda x, y: x * y, argnums=(0, 1))(3.0, 4.0)
    (array(4.), array(3.))
    >>> ct.grad(lambda x: (x * x, {"twice": 2 * x}), has_aux=True)(3.0)
    (array(6.), {'twice': array(6.)})
    """

    def staged(p: _Point) -> Any:
        if not has_aux:
            return p.tree.unflatten(p.derive("grad", p.scalar, [])[1])
        value, aux, gradient = _value_aux_grad(p)
        return gradient, aux

    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _derived(grad, f, options, (static_argnums, static_argnames), staged)


def _value_aux_grad(p: _Point) -> tuple[Any, Any, Any]:
    count, parts = p.derive("value_and_grad", p.scalar_and_aux, [])
    assert p.aux is not None
    return parts[0], p.aux.unflatten(parts[1:count]), p.tree.unflatten(parts[count:])


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The value of a function to a float scalar, and its gradient.

    >>> import cotan as ct
    >>> ct.value_and_grad(lambda x: x * x)(3.0)
    (array(9.), array(6.))
    """

    def staged(p: _Point) -> Any:
        if not has_aux:
            count, parts = p.derive("value_and_grad", p.scalar, [])
            return parts[0], p.tree.unflatten(parts[count:])
        value, aux, gradient = _value_aux_grad(p)
        return (value, aux), gradient

    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _derived(value_and_grad, f, options, (static_argnums, static_argnames), staged)


def _jacobian(
    made_by: Callable[..., Function],
    f: Callable[..., Any],
    options: dict[str, Any],
    statics: tuple[Any, Any],
) -> Function:
    kind, has_aux = made_by.__name__, options["has_aux"]

    def staged(p: _Point) -> Any:
        def first(leaves: list[Any]) -> list[Any]:
            results, p.out = tree_flatten(_pair(p.call(leaves))[0])
            return results

        count, parts = p.derive(kind, first if has_aux else p.results, [])
        width = len(p.leaves)
        rows = [p.tree.unflatten(parts[n * width : (n + 1) * width]) for n in range(count)]
        assert p.out is not None
        jacobian = p.out.unflatten(rows)
        return (jacobian, _pair(p.call(p.leaves))[1]) if has_aux else jacobian

    return _derived(made_by, f, options, statics, staged)


def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Jacobian, in forward mode: cheap if there are few inputs.

    It has the structure of the result, with the structure of the argument at each leaf.

    >>> import cotan as ct, numpy as np
    >>> ct.jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _jacobian(jacfwd, f, options, (static_argnums, static_argnames))


def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Jacobian, in reverse mode: cheap if there are few results.

    >>> import cotan as ct, numpy as np
    >>> ct.jacrev(lambda x: {"sum": x.sum()})(np.array([1.0, 2.0]))
    {'sum': array([1., 1.])}
    """
    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _jacobian(jacrev, f, options, (static_argnums, static_argnames))


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Jacobian, in whichever mode is cheaper.

    >>> ct.jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _jacobian(jacobian, f, options, (static_argnums, static_argnames))


def hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Hessian of a function to a float scalar: the structure of the argument, twice.

    >>> import cotan as ct, numpy as np
    >>> ct.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])
    """

    def staged(p: _Point) -> Any:
        def first(leaves: list[Any]) -> list[Any]:
            return _one(_pair(p.call(leaves))[0])

        _, parts = p.derive("hessian", first if has_aux else p.scalar, [])
        width = len(p.leaves)
        rows = [p.tree.unflatten(parts[n * width : (n + 1) * width]) for n in range(width)]
        found = p.tree.unflatten(rows)
        return (found, _pair(p.call(p.leaves))[1]) if has_aux else found

    options = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    return _derived(hessian, f, options, (static_argnums, static_argnames), staged)


def _directions(kind: str, what: str, like: TreeDef, given: Any) -> list[Any]:
    """The leaves of cotangents or tangents."""
    leaves, found = tree_flatten(given)
    if found != like:
        message = f"the {what} has the structure {found}, not {like}"
        of = "result" if what == "cotangent" else "argument"
        hint = f"give a {what} for each {of}, in the same tuples, lists and dicts"
        raise make("ArrayTypeError", kind, message, hint)
    return leaves


def _expect_shapes(kind: str, what: str, of: str, given: list[Any], likes: list[Any]) -> None:
    """Checks that directions have the shapes of what they belong to."""
    for direction, like in zip(given, likes, strict=True):
        found, wanted = (getattr(x, "shape", None) or np.shape(x) for x in (direction, like))
        if tuple(found) != tuple(wanted):
            message = f"a {what} of shape {tuple(found)} for a {of} of shape {tuple(wanted)}"
            raise make("ArrayTypeError", kind, message.replace("a argument", "an argument"), None)


def _as_float_like(leaves: list[Any], directions: list[Any]) -> list[Any]:
    """Directions in the element types of what they belong to."""
    pairs = zip(leaves, directions, strict=True)
    return [_core.asarray(d).cast_to(_core.asarray(x).dtype_name) for x, d in pairs]


def hvp(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The product of the Hessian with a tangent, which is the last argument.

    >>> import cotan as ct, numpy as np
    >>> ct.hvp(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """

    def product(p: _Point, tangents: list[Any]) -> Any:
        _, parts = p.derive("hvp", p.scalar, tangents)
        return p.tree.unflatten(parts)

    options = {"argnums": argnums, "argnames": argnames}
    return _along(hvp, (f,), options, (static_argnums, static_argnames), product)


def _along(
    made_by: Callable[..., Function],
    given: tuple[Any, ...],
    options: dict[str, Any],
    statics: tuple[Any, Any],
    staged: Callable[[_Point, list[Any]], Any],
) -> Function:
    """The function that applies ``staged`` to the point of its arguments, and to a direction that is
    the last of them; ``made_by`` was called with what is ``given`` and these options for it."""
    kind, f = made_by.__name__, given[0]
    argnums, argnames = options["argnums"], options["argnames"]
    expect_function(kind, f)
    if not isinstance(argnums, int) and any(n < 0 for n in argnums) or argnums == -1:
        raise make("ArrayTypeError", kind, "negative `argnums`: the tangent comes last", None)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        fewest = 2 if argnames is None else 1
        if len(args) < fewest:
            shown = f"{kind}(f{', order' * (len(given) - 1)})"
            message = f"{len(args)} arguments, where the last one is a tangent"
            raise make("ArrayTypeError", kind, message, f"write ct.{shown}(x, v)")
        p = _Point(kind, f, (argnums, argnames), args[:-1], kwargs)
        tangents = _directions(kind, "tangent", p.tree, args[-1])
        return staged(p, _as_float_like(p.leaves, tangents))

    nums, names = statics
    own = statics_of(f, nums, names)
    # Those that count from the end do not count the tangent.
    own["static_argnums"] = [n - 1 if n < 0 else n for n in own["static_argnums"]]
    name = f"{kind}({getattr(f, '__name__', 'f')})"
    made = Function(derivative, name=name, accepts="anything", **own)
    made._origin = made_by, given, {**options, "static_argnums": nums, "static_argnames": names}
    return made


def jet(
    f: Callable[..., Any],
    order: int,
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Taylor coefficients of a function along a line: of the point and a direction ``v``, which is
    the last argument, the value at ``x`` and the coefficients of the powers 1 to ``order`` of ``t`` in
    ``f(x + t * v)``, on a new first axis.

    The cost grows with the square of the order at most, where nested derivatives double with each
    order. The derivative of order ``k`` is ``k!`` times its coefficient.

    >>> import cotan as ct
    >>> ct.jet(lambda x: x**3, 3)(2.0, 1.0)
    (array(8.), array([12.,  6.,  1.]))
    """
    if not isinstance(order, int) or order < 1:
        hint = "write ct.jet(f, order)(x, v): the coefficients up to an order along `v`"
        raise make("ArrayTypeError", "jet", f"the order {order!r}", hint)

    def coefficients(p: _Point, tangents: list[Any]) -> Any:
        count, parts = p.series(order, tangents)
        assert p.out is not None
        return p.out.unflatten(parts[:count]), p.out.unflatten(parts[count:])

    options = {"argnums": argnums, "argnames": argnames}
    return _along(jet, (f, order), options, (static_argnums, static_argnames), coefficients)


def laplacian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    static_argnums: Argnums = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The Laplacian of each result: the sum of its second derivatives by all elements of the argument,
    without the Hessian.

    >>> import cotan as ct, numpy as np
    >>> ct.laplacian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array(18.)
    """

    def staged(p: _Point) -> Any:
        _, parts = p.series(None, [])
        assert p.out is not None
        return p.out.unflatten(parts)

    options = {"argnums": argnums, "argnames": argnames}
    return _derived(laplacian, f, options, (static_argnums, static_argnames), staged)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """The value of a function, and its derivative in the direction of tangents.

    >>> import cotan as ct
    >>> ct.jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.5))
    (array(12.), array(5.5))
    """

    def staged(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        p = _Point("jvp", f, (tuple(range(len(primals))), None), primals, {})
        directions = _directions("jvp", "tangent", p.tree, tuple(tangents))

        def results(leaves: list[Any]) -> list[Any]:
            value = p.call(leaves)
            found, p.out = tree_flatten(_pair(value)[0] if has_aux else value)
            return found

        count, parts = p.derive("jvp", results, _as_float_like(p.leaves, directions))
        assert p.out is not None
        both = p.out.unflatten(parts[:count]), p.out.unflatten(parts[count:])
        return (*both, _pair(p.call(p.leaves))[1]) if has_aux else both

    expect_function("jvp", f)
    if not all(isinstance(given, (tuple, list)) for given in (primals, tangents)):
        message = "primals and tangents are tuples, of one each for every argument"
        raise make("ArrayTypeError", "jvp", message, "write ct.jvp(f, (x,), (dx,))")
    return Function(staged, name="jvp")(tuple(primals), tuple(tangents))


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function from cotangents of the result to those of the arguments,
    which does not compute the function again.

    >>> import cotan as ct
    >>> y, pullback = ct.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> y, pullback(2.0)
    (array(12.), (array(8.), array(6.)))
    """
    expect_function("vjp", f)
    return (_vjp_traced if is_tracing() else _vjp_concrete)(f, primals, has_aux)


def _vjp_concrete(f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> Any:
    leaves, tree = tree_flatten(primals)
    found: list[tuple[TreeDef, TreeDef]] = []

    def flat(arrays: list[Any]) -> list[Any]:
        value = f(*tree.unflatten(arrays))
        value, aux = _pair(value) if has_aux else (value, None)
        results, out = tree_flatten(value)
        rest, aux_tree = tree_flatten(aux)
        found.append((out, aux_tree))
        return [*results, *_core.stop_gradient(rest)]

    values, linear = _core.linearize_concrete(leaves, True, flat)
    out, aux_tree = found[-1]
    count = out.num_leaves
    nothing = [np.zeros_like(x) for x in values[count:]]

    def pullback(cotangent: Any) -> Any:
        """The cotangents of the arguments, a tuple."""
        directions = _directions("vjp", "cotangent", out, cotangent)
        _expect_shapes("vjp", "cotangent", "result", directions, values[:count])
        return tree.unflatten(linear.call([*directions, *nothing]))

    both = out.unflatten(values[:count]), pullback
    return (*both, aux_tree.unflatten(values[count:])) if has_aux else both


def _vjp_traced(f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> Any:
    value = f(*primals)

    def pullback(cotangent: Any) -> Any:
        """The cotangents of the arguments, a tuple."""
        p = _Point("vjp", f, (tuple(range(len(primals))), None), primals, {})

        def results(leaves: list[Any]) -> list[Any]:
            value = p.call(leaves)
            found, p.out = tree_flatten(_pair(value)[0] if has_aux else value)
            return found

        own = results(p.leaves)
        assert p.out is not None
        directions = _directions("vjp", "cotangent", p.out, cotangent)
        count, parts = p.derive("vjp", results, _as_float_like(own, directions))
        return p.tree.unflatten(parts[count:])

    return (_pair(value)[0], pullback, _pair(value)[1]) if has_aux else (value, pullback)


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative there as a linear function of tangents, which does
    not compute the function again.

    >>> import cotan as ct
    >>> y, push = ct.linearize(lambda x: x * x * x, 2.0)
    >>> y, push(1.0), push(0.5)
    (array(8.), array(12.), array(6.))
    """
    expect_function("linearize", f)
    leaves, tree = tree_flatten(primals)
    found: list[tuple[TreeDef, TreeDef]] = []

    def flat(arrays: list[Any]) -> list[Any]:
        value = f(*tree.unflatten(arrays))
        value, aux = _pair(value) if has_aux else (value, None)
        results, out = tree_flatten(value)
        rest, aux_tree = tree_flatten(aux)
        found.append((out, aux_tree))
        return [*results, *_core.stop_gradient(rest)]

    linear: _core.LinearMap | _core.StagedLinearMap
    if is_tracing():
        values, linear = _core.linearize_staged(leaves, flat)
    else:
        values, linear = _core.linearize_concrete(leaves, False, flat)
    out, aux_tree = found[-1]
    count = out.num_leaves

    def push(*tangents: Any) -> Any:
        """The derivative in the direction of these tangents."""
        directions = _directions("linearize", "tangent", tree, tangents)
        _expect_shapes("linearize", "tangent", "argument", directions, leaves)
        return out.unflatten(linear.call(directions)[:count])

    both = out.unflatten(values[:count]), push
    return (*both, aux_tree.unflatten(values[count:])) if has_aux else both
