"""The rules by which structures come apart; the work is done in Rust."""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

Flatten = Callable[[Any], tuple[tuple[Any, ...], Any]]
Unflatten = Callable[[type, Any, tuple[Any, ...]], Any]

registered: dict[type, tuple[Flatten, Unflatten] | None] = {
    float: None,
    int: None,
    bool: None,
    str: None,
}
"""Class to its rules, or to None if its objects are leaves."""


class Names:
    """What dataclasses and namedtuples have besides their arrays: names, and values of other parts."""

    __slots__ = ("names", "rest")

    def __init__(self, names: tuple[str, ...], rest: tuple[tuple[str, Any], ...] = ()) -> None:
        self.names, self.rest = names, rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and (self.names, self.rest) == (other.names, other.rest)

    def __hash__(self) -> int:
        return hash((self.names, self.rest))


def _dataclass_rules(cls: type) -> tuple[Flatten, Unflatten]:
    fields = dataclasses.fields(cls)
    static = tuple(f.name for f in fields if f.metadata.get("static", False))
    names = tuple(f.name for f in fields if f.name not in static)

    def flatten(value: Any) -> tuple[tuple[Any, ...], Any]:
        rest = tuple((name, getattr(value, name)) for name in static)
        return tuple(getattr(value, name) for name in names), Names(names, rest)

    def unflatten(cls: type, aux: Any, parts: tuple[Any, ...]) -> Any:
        # Without `__init__`, which may look at values that are traced.
        made: Any = object.__new__(cls)
        for name, part in (*zip(aux.names, parts, strict=True), *aux.rest):
            object.__setattr__(made, name, part)
        return made

    return flatten, unflatten


def _namedtuple_rules(cls: type) -> tuple[Flatten, Unflatten]:
    aux = Names(tuple(cls._fields))  # type: ignore[attr-defined]

    def flatten(value: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple(value), aux

    def unflatten(cls: type, aux: Any, parts: tuple[Any, ...]) -> Any:
        return cls(*parts)

    return flatten, unflatten


def describe(cls: type) -> tuple[Flatten, Unflatten] | None:
    """Finds the rules of a class that is met for the first time, and remembers them."""
    rules: tuple[Flatten, Unflatten] | None = None
    for base in cls.__mro__[1:]:
        # Objects of a class that inherits are made as objects of that class.
        if registered.get(base) is not None:
            rules = registered[base]
            break
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        rules = _namedtuple_rules(cls)
    elif dataclasses.is_dataclass(cls):
        rules = _dataclass_rules(cls)
    elif rules is None and issubclass(cls, dict):
        rules = _subclass_of_dict(cls)
    elif rules is None and issubclass(cls, deque):
        rules = _deque_rules()
    registered[cls] = rules
    return rules


def _deque_rules() -> tuple[Flatten, Unflatten]:
    def flatten(value: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple(value), value.maxlen

    def unflatten(cls: type, aux: Any, parts: tuple[Any, ...]) -> Any:
        return cls(parts, aux)

    return flatten, unflatten


def _subclass_of_dict(cls: type) -> tuple[Flatten, Unflatten]:
    if issubclass(cls, defaultdict):

        def flatten_default(value: Any) -> tuple[tuple[Any, ...], Any]:
            names = tuple(value)
            rest = (("default_factory", value.default_factory),)
            return tuple(value[name] for name in names), Names(names, rest)

        def unflatten_default(cls: type, aux: Any, parts: tuple[Any, ...]) -> Any:
            return cls(aux.rest[0][1], zip(aux.names, parts, strict=True))

        return flatten_default, unflatten_default

    def flatten(value: Any) -> tuple[tuple[Any, ...], Any]:
        names = tuple(value)
        return tuple(value[name] for name in names), Names(names)

    def unflatten(cls: type, aux: Any, parts: tuple[Any, ...]) -> Any:
        return cls(zip(aux.names, parts, strict=True))

    return flatten, unflatten
