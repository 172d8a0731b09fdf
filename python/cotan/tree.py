"""Structures of arrays: dicts, lists, tuples, namedtuples, dataclasses, ``None``, your classes.

>>> import cotan as ct
>>> ct.tree.map(lambda x: 2 * x, {"w": [1.0, 2.0], "b": (3.0, None)})
{'b': (6.0, None), 'w': [2.0, 4.0]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ._core import TreeDef, tree_flatten
from ._errors import make
from ._trees import registered

__all__ = ["TreeDef", "all", "flatten", "leaves", "map", "register", "structure", "unflatten"]

_T = TypeVar("_T")


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a structure, and what it consists of.

    >>> leaves, structure = flatten({"b": 1.0, "a": (2.0, None)})
    >>> leaves, structure.unflatten([20.0, 10.0])
    ([2.0, 1.0], {'a': (20.0, None), 'b': 10.0})
    """
    return tree_flatten(tree)


def unflatten(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """The structure with these leaves.

    >>> unflatten(structure({"a": 1.0, "b": 2.0}), [3.0, 4.0])
    {'a': 3.0, 'b': 4.0}
    """
    return structure.unflatten(list(leaves))


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure, in order.

    >>> leaves([1.0, (2.0, 3.0)])
    [1.0, 2.0, 3.0]
    """
    return tree_flatten(tree)[0]


def structure(tree: Any) -> TreeDef:
    """What a structure consists of, without its leaves.

    >>> structure((1.0, 2.0)) == structure((3.0, 4.0))
    True
    """
    return tree_flatten(tree)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The structure with ``f`` of each leaf, and of the leaves of others of the same structure.

    >>> map(lambda p, g: p - 0.1 * g, {"w": 1.0}, {"w": 5.0})
    {'w': 0.5}
    """
    first, shape = tree_flatten(tree)
    columns = [first]
    for other in rest:
        leaves, found = tree_flatten(other)
        if found != shape:
            raise make(
                "ArrayTypeError",
                "tree.map",
                f"different structures, {shape} and {found}",
                "both have the same keys and lengths",
            )
        columns.append(leaves)
    return shape.unflatten([f(*row) for row in zip(*columns, strict=True)])


def all(tree: Any) -> bool:
    """Whether all leaves are true.

    >>> all({"a": True, "b": [True, False]})
    False
    """
    return not any(not leaf for leaf in leaves(tree))


def register(
    cls: type[_T],
    flatten: Callable[[_T], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], _T],
) -> type[_T]:
    """Says how objects of a class come apart: ``flatten(x)`` gives the parts and what else there is
    to know (which is compared), ``unflatten(rest, parts)`` puts them together.

    >>> class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    >>> _ = register(Line, lambda l: ((l.slope, l.offset), None), lambda _, parts: Line(*parts))
    >>> import cotan as ct
    >>> ct.grad(lambda line, x: line.slope * x + line.offset)(Line(2.0, 1.0), 3.0).slope
    array(3.)
    """

    def taken_apart(value: Any) -> tuple[tuple[Any, ...], Any]:
        parts, rest = flatten(value)
        return tuple(parts), rest

    def put_together(_: type, rest: Any, parts: tuple[Any, ...]) -> Any:
        return unflatten(rest, parts)

    registered[cls] = (taken_apart, put_together)
    return cls
