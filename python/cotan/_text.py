"""Programs of the text language as functions of Python."""

from __future__ import annotations

import operator
import os
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any

from . import _core
from ._core import TextModule, tree_flatten
from ._errors import make
from ._function import Function


def _function(module: TextModule, described: tuple[Any, ...]) -> Function:
    name, signature, doc, params, size_names, known_names = described
    names = [param for param, _ in params]

    def call(*args: Any, **kwargs: Any) -> Any:
        sizes = [(key, int(kwargs.pop(key))) for key in list(kwargs) if key in size_names]
        given = dict(zip(names, args, strict=False))
        unknown = [key for key in kwargs if key not in names or key in given]
        given.update(kwargs)
        missing = [key for key in names if key not in given]
        if unknown or missing or len(args) > len(names):
            if unknown:
                message = f"`{unknown[0]}` is not expected"
            elif missing:
                message = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            else:
                message = f"{len(args)} arguments for {len(names)} parameters"
            raise make("ArrayTypeError", name, message, f"it is {signature}")
        arrays = [
            [] if param in known_names else _ordered(name, paths, param, given[param])
            for param, paths in params
        ]
        known = [(param, _known(given[param])) for param in known_names]
        results, shape = module.call(name, arrays, sizes, known)
        return shape.unflatten(results)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{signature}``" + (f"\n\n{doc}" if doc else "")
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(param, Parameter.POSITIONAL_OR_KEYWORD) for param in names]
        + [Parameter(size, Parameter.KEYWORD_ONLY) for size in size_names if size not in names]
    )
    return Function(call, static_argnames=[*size_names, *known_names])


def _known(value: Any) -> bool | int:
    """The value of a parameter that is a size or the length of a loop."""
    return value if isinstance(value, bool) else operator.index(value)


def _ordered(function: str, paths: list[str], param: str, value: Any) -> list[Any]:
    """The arrays of an argument in the order in which the program declares them."""
    leaves, shape = tree_flatten(value)
    found = dict(zip(shape.paths(param), leaves, strict=True))
    if set(found) != set(paths):
        message = f"the argument `{param}` has the parts {sorted(found)}, not {sorted(paths)}"
        raise make("ArrayTypeError", function, message, None)
    return [_core.asarray(found[path]) for path in paths]


class Functions(SimpleNamespace):
    """The functions of a program of the text language, by their names."""

    def __getattr__(self, name: str) -> Any:
        there = ", ".join(f"`{key}`" for key in vars(self) if key != "__name__") or "none"
        message = f"`{self.__name__}` has no function `{name}`; it has {there}"
        raise AttributeError(message, name=name, obj=self)


def _namespace(module: TextModule, name: str) -> Functions:
    functions = {f[0]: _function(module, f) for f in module.functions()}
    return Functions(__name__=name, **functions)


def load(path: str | os.PathLike[str]) -> Functions:
    """The functions of a file of the text language, by their names.

    They are compiled for the shapes of their arguments, can be differentiated, and called inside
    traced functions. Records are dicts; sizes that do not follow from arguments are keywords. Where
    an integer parameter is a size or the length of a loop, integers are part of the signature.

    >>> import cotan as ct, numpy as np, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "norm.ct"
    >>> _ = file.write_text("def norm(x: [n]f64): f64 = sqrt(sum(x * x))")
    >>> ct.grad(ct.load(file).norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    # What is missing, or may not be read, is an exception as with `open`.
    with open(path, encoding="utf-8"):
        return _namespace(_core.load_file(os.fspath(path)), os.path.basename(os.fspath(path)))


def loads(text: str, name: str = "text.ct") -> Functions:
    """The functions of a text of the language.

    >>> import cotan as ct, numpy as np
    >>> line = ct.loads("def loss(p: {a: f64, b: f64}, x: [n]f64): f64 = sum(square(p.a * x + p.b))")
    >>> ct.grad(line.loss)({"a": 2.0, "b": 1.0}, np.array([0.0, 1.0]))
    {'a': array(6.), 'b': array(8.)}
    """
    return _namespace(_core.load_text(name, text), name)


def load_ipython_extension(ipython: Any) -> None:
    """Adds the cell magic ``%%cotan``: the functions of the cell become variables.

    In a notebook, ``%load_ext cotan`` comes first.
    """

    def cotan(line: str, cell: str) -> None:
        """Defines the functions of a program of the text language."""
        functions = vars(loads(cell, line.strip() or "cell.ct"))
        ipython.push({k: v for k, v in functions.items() if isinstance(v, Function)})

    ipython.register_magic_function(cotan, "cell")
