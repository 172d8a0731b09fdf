"""Functions that are traced once for each signature: ``jit``, and what all transformations return."""

from __future__ import annotations

import contextlib
import functools
import html
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, overload

from . import _core
from ._core import Program, is_tracing, run_once, tree_flatten
from ._errors import make

CACHE_SIZE = 64


class CacheInfo(NamedTuple):
    """What a function has kept."""

    hits: int
    misses: int
    size: int
    capacity: int


class Cost(NamedTuple):
    """What one call costs, counted from the program."""

    operations: int
    """Scalar operations, if every branch is taken."""
    bytes: int
    """Bytes of all the arrays made."""
    peak_bytes: int
    """Bytes of arrays alive at once, at most: arguments, results and what is in between."""


def _names(f: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in positional]


def _expect_parameters(f: Callable[..., Any], nums: list[int], names: list[str]) -> None:
    """Checks that static arguments are parameters."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return
    kinds = {p.kind for p in parameters}
    count = len(_names(f))
    for n in nums:
        if inspect.Parameter.VAR_POSITIONAL not in kinds and not -count <= n < count:
            message = f"`static_argnums` has {n}, and the function {count} positional parameters"
            raise make("ArrayTypeError", "jit", message, None)
    for name in names:
        if inspect.Parameter.VAR_KEYWORD not in kinds and name not in {p.name for p in parameters}:
            message = f"`static_argnames` has `{name}`, which is not a parameter of the function"
            raise make("ArrayTypeError", "jit", message, None)


def statics_of(
    f: Callable[..., Any], nums: int | Iterable[int] = (), names: str | Iterable[str] = ()
) -> dict[str, Any]:
    """The static arguments of a transformed function: those given, and those of the function."""
    own_nums, own_names = getattr(f, "_statics", ([], []))
    return {
        "static_argnums": [*_listed(nums), *own_nums],
        "static_argnames": [*_listed(names), *own_names],
    }


def _made_again(make: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return make(*args, **kwargs)


def _listed(given: int | str | Iterable[Any]) -> list[Any]:
    return [given] if isinstance(given, (int, str)) else list(given)


def expect_function(name: str, f: Any) -> None:
    """Checks what is to be transformed."""
    if not callable(f):
        hint = f"the first argument is a function: {name}(f)(x)"
        raise make("DataError", name, f"a {type(f).__name__} is not a function", hint)


class Function(_core.Jit):
    """A function that is compiled when it is called, once for each signature.

    Inside another function that is being traced it is part of that. The last programs are kept, the
    ones used longest ago are forgotten.
    """

    __name__: str
    __qualname__: str
    _statics: tuple[list[int], list[str]]
    _origin: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None

    def __new__(
        cls,
        f: Callable[..., Any],
        *,
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
        cache_size: int = CACHE_SIZE,
        like: Callable[..., Any] | None = None,
        name: str | None = None,
        accepts: str = "arrays",
    ) -> Self:
        expect_function("jit", f)
        nums, names = _listed(static_argnums), _listed(static_argnames)
        shown = f if like is None else like
        if nums or names:
            _expect_parameters(shown, nums, names)
        made = super().__new__(cls, f, _names(shown), nums, names, accepts, cache_size)
        made._statics, made._origin = (nums, names), None
        if like is not None:
            with contextlib.suppress(TypeError, ValueError):
                made.__signature__ = inspect.signature(like)  # type: ignore[attr-defined]
        like = shown
        made.__name__ = str(name or getattr(like, "__name__", type(like).__name__))
        made.__qualname__ = str(name or getattr(like, "__qualname__", made.__name__))
        made.__doc__ = getattr(like, "__doc__", None)
        made.__module__ = getattr(like, "__module__", __name__)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """As functions are: by their names in a module; or made again of what they are made of."""
        found: object = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return str(self.__qualname__)
        if self._origin is not None:
            return _made_again, self._origin
        hint = "pickle the function that it is made of, and transform it again"
        raise make("DataError", "pickle", f"{self!r} has no name in its module", hint)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def lower(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these, to look inside.

        >>> import cotan as ct, numpy as np
        >>> print(ct.jit(lambda x: (x * x).sum()).lower(np.ones(3)).source)
        def main(x: [3]f64) = sum_outer(x * x)
        <BLANKLINE>
        """
        return self.program(*args, **kwargs)

    def _inspected(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        if args or kwargs:
            return self.program(*args, **kwargs)
        last = self.last_program()
        if last is None:
            hint = "call it first, or give arguments: f.explain(x)"
            raise make("ScopeError", self.__name__, "there is no program yet", hint)
        return last

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Every stage of the program for these arguments (or the one used last), as text."""
        return self._inspected(args, kwargs).explain()

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        """What a call with these arguments (or like the last one) costs.

        >>> import cotan as ct, numpy as np
        >>> ct.jit(lambda x: (x * x).sum()).cost(np.ones(3)).operations
        6
        """
        return self._inspected(args, kwargs).cost()

    @property
    def source(self) -> str:
        """The program that was used last, as text of the language."""
        return self._inspected((), {}).source

    def cache_info(self) -> CacheInfo:
        """How often a program was found, how often not, how many are kept, and at most.

        >>> import cotan as ct
        >>> f = ct.jit(lambda x: x + 1)
        >>> _ = f(1.0), f(2.0), f(3)
        >>> f.cache_info()
        CacheInfo(hits=1, misses=2, size=2, capacity=64)
        """
        return CacheInfo(*self.cache_numbers())

    def __repr__(self) -> str:
        return f"<cotan function {self.__qualname__}>"

    def _repr_html_(self) -> str:
        last = self.last_program()
        return html.escape(repr(self)) if last is None else last._repr_html_()


@overload
def jit(
    f: Callable[..., Any],
    *,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    cache_size: int = ...,
) -> Function: ...
@overload
def jit(
    f: None = None,
    *,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    cache_size: int = ...,
) -> Callable[[Callable[..., Any]], Function]: ...


def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    cache_size: int = CACHE_SIZE,
) -> Function | Callable[[Callable[..., Any]], Function]:
    """Compiles a function when it is called, once for each signature.

    The signature are the shapes and element types of the arrays in the arguments, their structure,
    and the values of the arguments that are named static. Numbers of Python are arrays, too, which
    take the element type of what they meet.

    >>> import cotan as ct, numpy as np
    >>> @ct.jit
    ... def distance(a, b):
    ...     return ((a - b) ** 2).sum() ** 0.5
    >>> distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    array(5.)

    Arguments that decide what is done are static:

    >>> @ct.jit(static_argnames="n")
    ... def power(x, n):
    ...     for _ in range(n):
    ...         x = x * x
    ...     return x
    >>> power(2.0, n=3)
    array(256.)
    """

    options: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "cache_size": cache_size,
    }

    def decorate(f: Callable[..., Any]) -> Function:
        made = Function(f, **options)
        made._origin = jit, (f,), options
        return made

    return decorate if f is None else decorate(f)


def anywhere(body: Callable[..., Any], *trees: Any) -> Any:
    """``body(*trees)``: part of what is being traced, or else traced and run on its own."""
    if is_tracing():
        return body(*trees)
    leaves, shape = tree_flatten(trees)
    found: list[Any] = []

    def flat(arrays: list[Any]) -> list[Any]:
        results, out = tree_flatten(body(*shape.unflatten(arrays)))
        found.append(out)
        return results

    results = run_once(leaves, flat)
    return found[-1].unflatten(results)
