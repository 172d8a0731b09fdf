"""Element-level code and control flow: ``build``, loops, branches, ``vmap``."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._core import Array, TreeDef, tree_flatten
from ._data import is_array
from ._errors import make
from ._function import Function, anywhere, expect_function, statics_of
from ._operation import a_kind, shape_of
from .errors import CotanError

Shape = int | Sequence[int]


# What numbers of Python are, in the order in which they convert to each other.
_KINDS = {"bool": 0, "int64": 1, "float32": 2, "float64": 2}


class _Again(Exception):
    """The numbers of Python that a loop begins with are of another type than its step gives."""

    def __init__(self, dtypes: list[str]) -> None:
        super().__init__()
        self.dtypes = dtypes


def _flat(tree: Any) -> tuple[list[Array], TreeDef]:
    leaves, shape = tree_flatten(tree)
    return [_core.asarray(leaf) for leaf in leaves], shape


class _State:
    """What a loop carries from step to step: a structure whose types stay the same."""

    def __init__(self, name: str, init: Any) -> None:
        self.name = name
        self.leaves, self.tree = _flat(init)

    def after(self, state: Any) -> list[Array]:
        """The leaves after a step, in the types of those before."""
        leaves, tree = _flat(state)
        if tree != self.tree:
            message = f"the state is {self.tree} at first, and {tree} after a step"
            hint = "a state keeps its structure from step to step"
            raise make("ArrayTypeError", self.name, message, hint)
        dtypes = [x.dtype_name for x in self.leaves]
        for n, (before, x) in enumerate(zip(self.leaves, leaves, strict=True)):
            if before.dtype_name == x.dtype_name:
                continue
            # A number of Python loses nothing: 0.5 does not become an integer.
            if x.weak_type and _KINDS[x.dtype_name] <= _KINDS[before.dtype_name]:
                leaves[n] = x.cast_to(before.dtype_name)
            elif before.weak_type:
                dtypes[n] = x.dtype_name
        if dtypes != [x.dtype_name for x in self.leaves]:
            raise _Again(dtypes)
        return leaves

    def run(self, loop: Callable[[], Any]) -> Any:
        """The loop, begun again in other element types where numbers of Python allow."""
        for _ in builtins.range(3):
            try:
                return loop()
            except _Again as again:
                pairs = zip(self.leaves, again.dtypes, strict=True)
                self.leaves = [x.cast_to(dtype) for x, dtype in pairs]
        return loop()


def build(shape: Shape, f: Callable[..., Any]) -> Any:
    """The array whose element at ``(i, j, ..)`` is ``f(i, j, ..)``; of a structure, a structure.

    The function is traced once, for indices as such. An element may be an array, whose axes come last.

    >>> import cotan as ct, numpy as np
    >>> a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    >>> ct.jit(lambda a, b: ct.build((2, 3), lambda i, j: a[i] * b[j]))(a, b)
    array([[ 3.,  4.,  5.],
           [ 6.,  8., 10.]])
    """
    sizes = shape_of(shape)

    def staged() -> Any:
        found: list[TreeDef] = []

        def element(indices: list[Array]) -> list[Any]:
            leaves, tree = tree_flatten(f(*indices))
            if not leaves and sizes:
                message = "the function gives no element"
                raise make("ArrayTypeError", "build", message, "return what the element is")
            found.append(tree)
            return leaves

        built = _core.build(sizes, element)
        return found[-1].unflatten(built)

    return anywhere(staged)


def map_accum(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, reverse: bool = False
) -> tuple[Any, Any]:
    """Runs along the outermost axes of ``xs`` with a state: ``state, y = f(state, x)``. Gives the last
    state, and all ``y``.

    >>> import cotan as ct, numpy as np
    >>> ct.map_accum(lambda s, x: (s + x, s * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (array(6.), array([0., 2., 9.]))
    """
    return _accumulated("map_accum", f, init, xs, reverse)


def _accumulated(
    name: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, reverse: bool
) -> tuple[Any, Any]:
    """:func:`map_accum`, under the name that the user wrote."""

    def staged(init: Any, xs: Any) -> Any:
        state = _State(name, init)
        elements, tree = _flat(xs)
        found: list[TreeDef] = []

        def step(before: list[Array], x: list[Array]) -> list[Any]:
            given = f(state.tree.unflatten(before), tree.unflatten(x))
            if not (isinstance(given, tuple) and len(given) == 2):
                message = f"the step gives {a_kind(given)}, not a state and an output"
                raise make("ArrayTypeError", name, message, "return state, y")
            outputs, shape = tree_flatten(given[1])
            found.append(shape)
            return [*state.after(given[0]), *outputs]

        try:
            last, outputs = state.run(
                lambda: _core.map_accum(state.leaves, elements, reverse, step)
            )
        except CotanError as error:
            if error.op != "map_accum":
                raise
            raise type(error)(name, error.message, error.hint, error.location) from None
        return state.tree.unflatten(last), found[-1].unflatten(outputs)

    return anywhere(staged, init, xs)  # type: ignore[no-any-return]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """As ``lax.scan``: :func:`map_accum`, or so many steps without elements.

    >>> import cotan as ct
    >>> ct.scan(lambda s, _: (2 * s, s), 1.0, length=4)
    (array(16.), array([1., 2., 4., 8.]))
    """
    if xs is not None:
        return _accumulated("scan", f, init, xs, reverse)
    if length is None:
        hint = "write ct.scan(f, init, xs), or ct.scan(f, init, length=n)"
        raise make("ArrayTypeError", "scan", "neither `xs` nor `length` is given", hint)
    return _accumulated("scan", lambda s, _: f(s, None), init, np.arange(length), reverse)


def fold(f: Callable[[Any, Any], Any], init: Any, xs: Any, *, reverse: bool = False) -> Any:
    """The last state of a loop along the outermost axes of ``xs``: ``state = f(state, x)``.

    >>> import cotan as ct, numpy as np
    >>> ct.fold(lambda s, x: s * 2 + x, 0.0, np.array([1.0, 0.0, 1.0]))
    array(5.)
    """
    return _accumulated("fold", lambda s, x: (f(s, x), None), init, xs, reverse)[0]


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """``for i in range(lower, upper): state = body(i, state)``. The bounds may be traced.

    >>> import cotan as ct
    >>> ct.fori_loop(0, 5, lambda i, s: s + i, 0)
    array(10)
    """
    if isinstance(lower, (int, np.integer)) and isinstance(upper, (int, np.integer)):
        steps = np.arange(lower, max(lower, upper))
        return _accumulated("fori_loop", lambda s, i: (body(i, s), None), init, steps, False)[0]

    def holds(state: tuple[Any, Any, Any]) -> Any:
        return state[0] < state[1]

    def step(state: tuple[Any, Any, Any]) -> Any:
        i, end, inner = state
        return i + 1, end, body(i, inner)

    def staged(lower: Any, upper: Any, init: Any) -> Any:
        bounds = [_core.asarray(x) for x in (lower, upper)]
        for bound in bounds:
            if bound.ndim > 0 or bound.dtype_name != "int64":
                message = f"a bound of type {bound.dtype_name} and shape {bound.shape}"
                hint = "bounds are integers: round them by `.astype(int)`"
                raise make("ArrayTypeError", "fori_loop", message, hint)
        first, end = bounds
        return while_loop(holds, step, (first, end, init))[2]

    return anywhere(staged, lower, upper, init)


def range(*bounds: int) -> builtins.range:
    """Python's own range: a loop over it is written out while tracing. Its bounds are known numbers.

    >>> import cotan as ct
    >>> ct.jit(lambda x: sum(x**k for k in ct.range(4)))(2.0)
    array(15.)
    """
    return builtins.range(*bounds)


def while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    *,
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> Any:
    """``while cond(state): state = body(state)``, differentiable in both modes.

    With ``max_steps`` the loop ends there at the latest, and its gradient is cheaper; with
    ``checkpoint_every`` that takes less memory.

    >>> import cotan as ct
    >>> ct.while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, 3.0)
    array(192.)
    >>> ct.grad(lambda x: ct.while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, x))(3.0)
    array(64.)
    """
    if checkpoint_every is not None and max_steps is None:
        message = "checkpoints of a loop without a bound are the default"
        raise make("ArrayTypeError", "while_loop", message, "give `max_steps`, or neither")

    def staged(init: Any) -> Any:
        state = _State("while_loop", init)

        def holds(before: list[Array]) -> list[Any]:
            return [cond(state.tree.unflatten(before))]

        def step(before: list[Array]) -> list[Array]:
            return state.after(body(state.tree.unflatten(before)))

        last = state.run(
            lambda: _core.while_loop(state.leaves, holds, step, max_steps, checkpoint_every)
        )
        return state.tree.unflatten(last)

    return anywhere(staged, init)


def checkpoint(
    f: Callable[..., Any],
    policy: str = "nothing",
    *,
    bytes: int | None = None,
    states: int | None = None,
) -> Function:
    """The function, of which reverse mode keeps the arguments only, and computes the rest again: for
    functions that make much more than they take and give. Values and derivatives, of any order, are
    the same; memory and time change.

    ``policy`` says what else is kept: ``"nothing"``, ``"contractions"`` (the results of products of
    matrices and the like, and of factorisations), or ``"everything"``. With ``bytes`` it is what saves
    the most work among so many bytes. With ``states`` each loop of known length (``scan``,
    ``fori_loop`` with known bounds) is run again from at most so many of its states at a time, chosen
    so that few steps are.

    >>> import cotan as ct, numpy as np
    >>> def layers(x, w):
    ...     for _ in range(8):
    ...         x = ct.numpy.tanh(x @ w)
    ...     return x
    >>> def loss(w, x, layers):
    ...     for _ in range(8):
    ...         x = layers(x, w)
    ...     return x.sum()
    >>> kept = ct.grad(lambda w, x: loss(w, x, layers))
    >>> again = ct.grad(lambda w, x: loss(w, x, ct.checkpoint(layers)))
    >>> w, x = np.full((8, 8), 0.2), np.ones((1000, 8))
    >>> np.allclose(kept(w, x), again(w, x)), again.cost().peak_bytes < kept.cost().peak_bytes
    (True, True)
    """

    def apart(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        found: list[TreeDef] = []

        def call(arrays: list[Any]) -> list[Array]:
            rest = iter(arrays)
            own = [x if _is_known(x) else next(rest) for x in leaves]
            args, kwargs = tree.unflatten(own)
            results, out = _flat(f(*args, **kwargs))
            found.append(out)
            return results

        arrays = [x for x in leaves if not _is_known(x)]
        results = _core.checkpoint(arrays, call, kind, amount)
        return found[-1].unflatten(results)

    expect_function("checkpoint", f)
    kind, amount = _policy(policy, bytes, states)
    return Function(apart, like=f, accepts="anything", **statics_of(f))


def _policy(policy: str, size: int | None, states: int | None) -> tuple[str, int]:
    """What a checkpoint keeps, as the compiled part has it."""
    hint = "write one of `policy`, `bytes` and `states`"
    if policy not in ("nothing", "contractions", "everything"):
        message = f"there is no policy {policy!r}"
        hint = '"nothing", "contractions" or "everything"; or say `bytes` or `states`'
        raise make("ArrayTypeError", "checkpoint", message, hint)
    said = (policy != "nothing") + (size is not None) + (states is not None)
    if said > 1:
        raise make("ArrayTypeError", "checkpoint", "a checkpoint has one policy", hint)
    if size is not None:
        if size < 0:
            raise make("ArrayTypeError", "checkpoint", f"{size} bytes cannot be kept", None)
        return "bytes", size
    if states is not None:
        if states < 1:
            message = f"a loop is run again from at least one state, not {states}"
            raise make("ArrayTypeError", "checkpoint", message, None)
        return "states", states
    return policy, 0


class Residual(NamedTuple):
    """An array that reverse mode keeps between the forward and the reverse pass."""

    bytes: int
    """Its size."""
    type: str
    """Its type, such as ``[3]f64``."""
    source: str
    """The operation that makes it, or the argument that it is."""
    is_argument: bool
    """Whether it is an argument, and there anyway."""


def residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """What reverse mode keeps of a function at arguments like these between the forward and the
    reverse pass, for derivatives by all its floats: the largest first. Arrays that are cheap to
    compute from others may be computed again.

    >>> import cotan as ct, numpy as np
    >>> f = lambda x: ct.numpy.sin(ct.numpy.exp(x)).sum()
    >>> sum(r.bytes for r in ct.residuals(f, np.ones(1000)) if not r.is_argument) >= 8000
    True
    >>> [r.source for r in ct.residuals(ct.checkpoint(f), np.ones(1000)) if not r.is_argument]
    []
    """
    expect_function("residuals", f)
    program = Function(f, name=getattr(f, "__name__", "f")).lower(*args, **kwargs)
    return [Residual(*row) for row in program.residual_rows()]


# The element types that branches with this code had in common when they were last traced. Without it,
# branches in branches would be traced twice as often for each level that begins with a number.
_LAST_DTYPES: dict[tuple[Any, ...], list[str | None]] = {}
_MAX_LAST_DTYPES = 1024


def _branched(
    name: str,
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    choose: Callable[[list[Callable[[], list[Array]]]], list[Array]],
) -> Any:
    """What ``choose`` makes of the branches as functions to lists: the results of one of them. A
    number of Python in one branch takes the element type that another branch has there.
    """
    code = tuple(getattr(branch, "__code__", None) for branch in branches)
    wanted = _LAST_DTYPES.get(code, [])
    trees: list[TreeDef] = []
    # What the branches gave, and what was made of it since the last beginning.
    given: dict[int, list[Array]] = {}
    made: dict[int, list[Array]] = {}

    def flat(n: int) -> Callable[[], list[Array]]:
        def run() -> list[Array]:
            nonlocal wanted
            leaves, tree = _flat(branches[n](*operands))
            if trees and trees[0] != tree:
                message = f"one branch gives {trees[0]}, another {tree}"
                raise make("ArrayTypeError", name, message, "all branches give the same structure")
            trees.append(tree)
            given[n] = leaves
            # The first branch alone says nothing about the others: there only numbers of Python are
            # converted, by what is remembered.
            known = len(given) > 1
            if known or len(wanted) != len(leaves):
                wanted = [_common_dtype(column) for column in zip(*given.values(), strict=True)]
            made[n] = [
                x.cast_to(dtype) if dtype is not None and (known or x.weak_type) else x
                for x, dtype in zip(leaves, wanted, strict=True)
            ]
            before = (row for m, row in made.items() if m != n)
            if any(
                _casts(x, dtype) for row in before for x, dtype in zip(row, wanted, strict=True)
            ):
                made.clear()
                raise _Again([])
            return made[n]

        return run

    functions = [flat(n) for n in builtins.range(len(branches))]
    while True:
        try:
            chosen = choose(functions)
        except _Again:
            continue
        if len(_LAST_DTYPES) >= _MAX_LAST_DTYPES:
            _LAST_DTYPES.clear()
        if None not in code:
            _LAST_DTYPES[code] = wanted
        return trees[0].unflatten(chosen)


def _casts(x: Array, dtype: str | None) -> bool:
    return dtype is not None and x.dtype_name != dtype


def _common_dtype(arrays: Sequence[Array]) -> str | None:
    """The element type in common of an array and numbers of Python; None where arrays differ."""
    strong = {x.dtype_name for x in arrays if not x.weak_type}
    if len(strong) > 1:
        return None
    kind = max(arrays, key=lambda x: (_KINDS[x.dtype_name], not x.weak_type))
    return kind.dtype_name


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fun(*operands)`` if the scalar condition holds, ``false_fun(*operands)`` otherwise. Only
    one is evaluated; under ``build`` or ``vmap`` it is a choice between both.

    >>> import cotan as ct
    >>> f = ct.jit(lambda x: ct.cond(x > 0, lambda x: x, lambda x: -x, x))
    >>> f(2.0), f(-3.0)
    (array(2.), array(3.))
    """
    if not callable(true_fun) or not callable(false_fun):
        hint = "ct.cond(condition, f, g, *args); for values ct.where(condition, a, b)"
        raise make("ArrayTypeError", "cond", "the branches of `cond` are functions", hint)

    def staged(pred: Any, *operands: Any) -> Any:
        both = [true_fun, false_fun]
        return _branched("cond", both, operands, lambda branches: _core.cond(pred, *branches))

    return anywhere(staged, pred, *operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``; an index outside is moved to the nearest branch.

    >>> import cotan as ct
    >>> ct.switch(1, [lambda x: x, lambda x: x * x], 3.0)
    array(9.)
    """

    def staged(index: Any, *operands: Any) -> Any:
        return _branched(
            "switch", branches, operands, lambda branches: _core.switch(index, branches)
        )

    return anywhere(staged, index, *operands)


def stop_gradient(x: Any) -> Any:
    """The same values, as constants: no derivative passes.

    >>> import cotan as ct
    >>> ct.grad(lambda x: x * ct.stop_gradient(x))(3.0)
    array(3.)
    """

    def staged(x: Any) -> Any:
        leaves, tree = _flat(x)
        return tree.unflatten(_core.stop_gradient(leaves))

    return anywhere(staged, x)


def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    """``a`` where the condition holds, ``b`` elsewhere. What is not chosen contributes exactly
    nothing to a derivative, even where its own is infinite.

    >>> import cotan as ct, numpy as np
    >>> f = lambda x: ct.where(x > 0, ct.numpy.log(x), 0.0).sum()
    >>> ct.grad(f)(np.array([0.0, 2.0]))
    array([0. , 0.5])
    """
    if a is None or b is None:
        message = "`where` without two values to choose from"
        hint = (
            "how many positions there are depends on values: write `ct.where(condition, a, b)`, or "
            "`np.nonzero(condition)` outside of traced functions"
        )
        raise make("ArrayTypeError", "where", message, hint)
    return _where(condition, a, b)


_where = Function(lambda condition, a, b: _core.select(condition, a, b), name="where")


def dynamic_slice(x: Any, starts: Any, sizes: Shape) -> Any:
    """The part of known sizes that begins at traced positions, on the leading axes. What lies outside
    is 0.

    >>> import cotan as ct, numpy as np
    >>> ct.dynamic_slice(np.arange(5.0), [3], [3])
    array([3., 4., 0.])
    """
    dims = shape_of(sizes)
    # One position for the first axis, or several.
    several = tuple(starts) if isinstance(starts, (tuple, list)) or np.ndim(starts) else (starts,)

    def staged(x: Any, starts: Any) -> Any:
        return _core.dynamic_slice(_core.asarray(x), list(starts), dims)

    return anywhere(staged, x, several)


def scatter(sizes: Shape, positions: Any, values: Any) -> Any:
    """Zeros of the given shape, with values added at positions (an array of integers, or a tuple with
    one for each leading axis). What falls outside is dropped.

    >>> import cotan as ct, numpy as np
    >>> ct.scatter(4, np.array([1, 3, 1]), np.array([1.0, 2.0, 3.0]))
    array([0., 4., 0., 2.])
    """
    dims = shape_of(sizes)

    def staged(positions: Any, values: Any) -> Any:
        components = positions if isinstance(positions, tuple) else (positions,)
        return _core.scatter_add(dims, list(components), values)

    return anywhere(staged, positions, values)


def gather(x: Any, positions: Any) -> Any:
    """The parts of ``x`` at positions (an array of integers, or a tuple with one for each leading
    axis); 0 outside, also for negative ones.

    >>> import cotan as ct, numpy as np
    >>> ct.gather(np.array([1.0, 2.0, 3.0]), np.array([2, 5, 0]))
    array([3., 0., 1.])
    """

    def staged(x: Any, positions: Any) -> Any:
        # Traced, so that no position is refused.
        parts = positions if isinstance(positions, tuple) else (positions,)
        return _core.asarray(x)[tuple(_core.asarray(part) for part in parts)]

    return anywhere(staged, x, positions)


def _is_known(x: Any) -> bool:
    """Whether a leaf is no array, but a truth value, a function, or another static argument."""
    return isinstance(x, bool) or not is_array(x)


def _static_leaves(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[bool]:
    """For each leaf of arguments, whether it belongs to a static one."""
    found: list[bool] = []
    for n, arg in enumerate(args):
        found += [f.is_static_position(n, len(args))] * len(tree_flatten(arg)[0])
    for name in sorted(kwargs):
        found += [f.is_static_name(name)] * len(tree_flatten(kwargs[name])[0])
    return found


def _spread(axes: Any, tree: Any, name: str) -> list[int | None]:
    """An axis for each leaf of a structure, by a prefix of it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(tree_flatten(tree)[0])
    parts = axes.values() if isinstance(axes, dict) else axes
    inside = [tree[key] for key in axes] if isinstance(axes, dict) else tree
    if isinstance(axes, dict):
        order = sorted(axes)
        parts, inside = [axes[key] for key in order], [tree[key] for key in order]
    if len(parts) != len(inside):
        message = f"{len(parts)} axes for {len(inside)} parts"
        raise make("ArrayTypeError", "vmap", message, f"`{name}` has an axis or None for each")
    return [axis for part, x in zip(parts, inside, strict=True) for axis in _spread(part, x, name)]


def vmap(
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """The function at each element along an axis of its arguments.

    ``in_axes`` says for each argument (or each part of it) which axis, or None; ``out_axes`` where
    the new axis is in the results. Static arguments have no axis, whatever ``in_axes`` says.

    >>> import cotan as ct, numpy as np
    >>> dot = lambda a, b: (a * b).sum()
    >>> ct.vmap(dot, in_axes=(None, 1))(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([31., 42.])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        axes = _spread(in_axes, args, "in_axes")
        # Keywords are mapped over their first axes.
        axes = [*axes, *[0] * (len(leaves) - len(axes))]
        static = _static_leaves(made, args, kwargs)
        for n, x in enumerate(leaves):
            axes[n] = None if static[n] or _is_known(x) else axes[n]
        moved = [
            x if axis is None else _moved(_core.asarray(x), axis, 0)
            for x, axis in zip(leaves, axes, strict=True)
        ]
        sizes = {x.shape[0] for x, axis in zip(moved, axes, strict=True) if axis is not None}
        if len(sizes) != 1:
            message = (
                f"axes of different sizes, {sorted(sizes)}" if sizes else "no axis to map over"
            )
            raise make("ArrayTypeError", "vmap", message, "say which axes by `in_axes`")

        def element(i: Array) -> Any:
            pairs = zip(moved, axes, strict=True)
            own = [x if axis is None else x[i] for x, axis in pairs]
            args, kwargs = tree.unflatten(own)
            return f(*args, **kwargs)

        results, out = tree_flatten(build(sizes.pop(), element))
        places = _spread(out_axes, out.unflatten(results), "out_axes")
        back = [_placed(x, axis) for x, axis in zip(results, places, strict=True)]
        return out.unflatten(back)

    expect_function("vmap", f)
    if not isinstance(in_axes, (int, tuple, list)):
        message = f"`in_axes` is {in_axes!r}"
        raise make(
            "ArrayTypeError", "vmap", message, "give an axis, or a tuple with one or None each"
        )
    own = statics_of(f, static_argnums, static_argnames)
    name = f"vmap({getattr(f, '__name__', 'f')})"
    made = Function(mapped, like=f, name=name, accepts="anything", **own)
    return made


def _moved(x: Array, source: int, target: int) -> Array:
    if not -x.ndim <= source < x.ndim:
        message = f"there is no axis {source} in an array of shape {x.shape}"
        hint = "write None in `in_axes` for arguments that are the same each time"
        raise make("ArrayTypeError", "vmap", message, hint)
    order = [k for k in builtins.range(x.ndim) if k != source % x.ndim]
    order.insert(target % x.ndim, source % x.ndim)
    return x if source % x.ndim == target % x.ndim else _core.lib.transpose(x, order)


def _placed(x: Array, axis: int | None) -> Array:
    if axis is not None and not -x.ndim <= axis < x.ndim:
        message = f"there is no axis {axis} in a result of shape {x.shape}, the new axis included"
        hint = "`out_axes` says where the new axis is; None for results that are the same each time"
        raise make("ArrayTypeError", "vmap", message, hint)
    return x[0] if axis is None else _moved(x, 0, axis)


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """``f`` of each element along the outermost axes.

    >>> import cotan as ct, numpy as np
    >>> ct.map(lambda row: row.sum(), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    return vmap(f)(xs)
