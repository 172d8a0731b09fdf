"""Reductions and scans by functions of one's own, and what selects and repeats parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._control import _flat
from ._core import Array, tree_flatten
from ._errors import make
from ._function import anywhere
from ._operation import row, shape_of


def associative_scan(f: Callable[[Any, Any], Any], xs: Any) -> Any:
    """All prefixes of ``xs``, combined by an associative function in logarithmic depth.

    >>> import cotan as ct, numpy as np
    >>> ct.associative_scan(lambda a, b: a * b, np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """

    def staged(xs: Any) -> Any:
        leaves, tree = _flat(xs)

        def combine(a: list[Array], b: list[Array]) -> list[Any]:
            return tree_flatten(f(tree.unflatten(a), tree.unflatten(b)))[0]

        return tree.unflatten(_core.associative_scan(leaves, combine))

    return anywhere(staged, xs)


def _combining(f: Callable[[Any, Any], Any], name: str, neutral: Any, xs: Any) -> Any:
    """Neutral elements, elements, and the function of lists that combines these."""
    units, _ = _flat(neutral)
    leaves, tree = _flat(xs)
    if len(units) != len(leaves):
        message = f"{len(units)} neutral elements for elements of {len(leaves)} arrays"
        hint = "`neutral` has the structure of an element: f(neutral, x) is x"
        raise make("ArrayTypeError", name, message, hint)

    def combine(a: list[Array], b: list[Array]) -> list[Any]:
        made, found = _flat(f(tree.unflatten(a), tree.unflatten(b)))
        if found != tree:
            message = f"the function takes {tree} twice, and gives {found}"
            raise make("ArrayTypeError", name, message, "it gives what it takes")
        pairs = zip(made, leaves, strict=True)
        return [x.cast_to(like.dtype_name) if x.weak_type else x for x, like in pairs]

    return units, leaves, tree, combine


def reduce(f: Callable[[Any, Any], Any], neutral: Any, xs: Any) -> Any:
    """The elements along the outermost axes of ``xs``, combined by an associative function with a
    neutral element, in logarithmic depth. (:func:`fold` takes any function, one step at a time.)

    >>> import cotan as ct, numpy as np
    >>> ct.grad(lambda x: ct.reduce(lambda a, b: a * b, 1.0, x))(np.array([2.0, 0.0, 3.0]))
    array([0., 6., 0.])
    >>> def larger(a, b):
    ...     return ct.numpy.where(b[0] > a[0], b[0], a[0]), ct.numpy.where(b[0] > a[0], b[1], a[1])
    >>> ct.reduce(larger, (-np.inf, 0), (np.array([1.0, 5.0, 2.0]), np.arange(3)))
    (array(5.), array(1))
    """

    def staged(neutral: Any, xs: Any) -> Any:
        units, leaves, tree, combine = _combining(f, "reduce", neutral, xs)
        return tree.unflatten(_core.reduce(units, leaves, combine))

    return anywhere(staged, neutral, xs)


def reduce_by_index(
    f: Callable[[Any, Any], Any], neutral: Any, ids: Any, xs: Any, num_segments: int
) -> Any:
    """For each id below ``num_segments``, the elements of ``xs`` that have it in the vector ``ids``,
    combined by an associative function with a neutral element. Elements with other ids are left out.

    >>> import cotan as ct, numpy as np
    >>> ids, x = np.array([1, 0, 1]), np.array([2.0, 3.0, 4.0])
    >>> ct.reduce_by_index(lambda a, b: a * b, 1.0, ids, x, 3)
    array([3., 8., 1.])
    """
    (count,) = shape_of(num_segments)

    def staged(neutral: Any, ids: Any, xs: Any) -> Any:
        units, leaves, tree, combine = _combining(f, "reduce_by_index", neutral, xs)
        return tree.unflatten(_core.reduce_by_index(units, count, ids, leaves, combine))

    return anywhere(staged, neutral, ids, xs)


def partition(x: Any, mask: Any) -> tuple[Any, Any]:
    """The parts of ``x`` along the outermost axis where the mask holds, then the others, both in their
    order; and how many hold. (A selection whose size is known only when it runs.)

    >>> import cotan as ct, numpy as np
    >>> x = np.array([3.0, -1.0, 4.0, -1.5])
    >>> ct.partition(x, x > 0)
    (array([ 3. ,  4. , -1. , -1.5]), array(2))
    """

    def staged(x: Any, mask: Any) -> Any:
        return row("partition", x=x, mask=mask)

    return anywhere(staged, x, mask)  # type: ignore[no-any-return]


def expand(counts: Any, total: int) -> tuple[Any, Any]:
    """For each of ``total`` places the source that it belongs to, and its number among the places of
    that source, where source ``i`` has ``counts[i]`` places in a row. Places after the last have the
    source ``len(counts)``.

    >>> import cotan as ct, numpy as np
    >>> ct.expand(np.array([2, 0, 1]), 4)
    (array([0, 0, 2, 3]), array([0, 1, 0, 0]))
    """
    (size,) = shape_of(total)

    def staged(counts: Any) -> Any:
        return row("expand", counts=counts, total=size)

    return anywhere(staged, counts)  # type: ignore[no-any-return]
