"""Functions of this package as functions of JAX, run by XLA together with what is around them.

A function is written as StableHLO for the types of its arguments and embedded in the program that JAX
compiles. Its gradient is ours, and so is its batching: each is a function of the same kind.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._control import vmap
from ._errors import make
from ._function import expect_function

# The type of an array: the name of its element type here, and its sizes.
Described = tuple[str, tuple[int, ...]]


def to_jax(f: Callable[..., Any], *, assume_finite: bool = False) -> Callable[..., Any]:
    """The function as a function of JAX, to be used under ``jax.jit``, ``jax.grad``, ``jax.vmap``,
    ``jax.shard_map``, with sharded arrays and in ``jax.export``.

    It takes and gives arrays of JAX and structures of these. Its derivative in reverse mode is the one
    of this package, with its rules, and can be differentiated again. Needs JAX: ``pip install jax``.

    ``assume_finite`` takes for granted that what derivatives multiply with zeros is finite.
    """
    expect_function("to_jax", f)
    try:
        import jax
    except ImportError:
        raise make("DataError", "to_jax", "JAX is not installed", "pip install jax") from None

    parts: dict[Any, _Part] = {}

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        arrays = [jax.numpy.asarray(x) for x in leaves]
        types = tuple(_described(x) for x in arrays)
        part = parts.get((tree, types))
        if part is None:
            part = parts[tree, types] = _Part(_Tree(f, tree), types, _name(f), assume_finite)
        results = part.differentiable(*_alike(arrays, arrays))
        return jax.tree.unflatten(part.f.out, results)

    return called


def _name(f: Callable[..., Any]) -> str:
    return str(getattr(f, "__name__", "f"))


class _Tree:
    """A function of structures as one of a list of arrays."""

    def __init__(self, f: Callable[..., Any], tree: Any) -> None:
        self.f, self.tree = f, tree
        # The structure of the results, known when it was called.
        self.out: Any = None

    def __call__(self, arrays: list[Any]) -> list[Any]:
        import jax

        args, kwargs = jax.tree.unflatten(self.tree, arrays)
        results, self.out = jax.tree.flatten(self.f(*args, **kwargs))
        return list(results)


class _Part:
    """A function of a list of arrays of fixed types as a function of JAX."""

    def __init__(
        self,
        f: Callable[[list[Any]], list[Any]],
        types: tuple[Described, ...],
        name: str,
        finite: bool,
    ) -> None:
        self.f: Any = f
        self.types, self.name, self.finite = types, name, finite
        listed = [(dtype, list(dims)) for dtype, dims in types]
        self.text, results = _core.stablehlo_of(name, listed, finite, f)
        self.results: list[Described] = [(dtype, tuple(dims)) for dtype, dims in results]
        self.embedded: dict[Any, Any] = {}
        self.batches: dict[tuple[tuple[bool, ...], int], _Part] = {}

    @functools.cached_property
    def differentiable(self) -> Any:
        """With our gradient, which is a part again, so that it can be differentiated, too."""
        import jax

        made: Any = jax.custom_vjp(lambda *arrays: self.batched(*arrays))
        wanted = [n for n, (dtype, _) in enumerate(self.types) if _is_float(dtype)]
        given = [n for n, (dtype, _) in enumerate(self.results) if _is_float(dtype)]

        def forward(*arrays: Any) -> Any:
            return made(*arrays), arrays

        def backward(arrays: Any, cotangents: Any) -> Any:
            found: list[Any] = [None] * len(arrays)
            if wanted and given:
                directions = [cotangents[n] for n in given]
                results = self.pullback.differentiable(*arrays, *directions)
                for n, result in zip(wanted, results, strict=True):
                    found[n] = result.astype(arrays[n].dtype)
            return tuple(found)

        made.defvjp(forward, backward)
        return made

    @functools.cached_property
    def pullback(self) -> _Part:
        """From arguments and cotangents of the floats among the results to those of the floats among
        the arguments."""
        count = len(self.types)
        chosen = [n for n, (dtype, _) in enumerate(self.types) if _is_float(dtype)]
        kept = [n for n, (dtype, _) in enumerate(self.results) if _is_float(dtype)]
        names = [f"x{n}" for n in range(count)]

        def floats(arrays: list[Any]) -> list[Any]:
            results = self.f(arrays)
            return [results[n] for n in kept]

        def pulled(arrays: list[Any]) -> list[Any]:
            point, directions = arrays[:count], arrays[count:]
            own, parts = _core.derivative("vjp", names, point, chosen, directions, floats)
            return parts[own:]

        types = (*self.types, *(self.results[n] for n in kept))
        return _Part(pulled, types, f"{self.name}_vjp", self.finite)

    @functools.cached_property
    def batched(self) -> Any:
        """With a rule for ``jax.vmap``: the function mapped by this package."""
        from jax.custom_batching import custom_vmap

        made: Any = custom_vmap(lambda *arrays: self.call(arrays))

        def rule(size: int, mapped: Any, *arrays: Any) -> Any:
            results = self.batch(tuple(mapped), size).batched(*arrays)
            return results, tuple(True for _ in results)

        made.def_vmap(rule)
        return made

    def batch(self, mapped: tuple[bool, ...], size: int) -> _Part:
        """The function at each element along the first axes of some arguments."""
        found = self.batches.get((mapped, size))
        if found is None:
            over = vmap(
                lambda *arrays: self.f(list(arrays)), tuple(0 if m else None for m in mapped)
            )
            types = tuple(
                (dtype, (size, *dims) if m else dims)
                for (dtype, dims), m in zip(self.types, mapped, strict=True)
            )
            listed = lambda arrays: list(over(*arrays))
            found = _Part(listed, types, f"{self.name}_vmap", self.finite)
            self.batches[mapped, size] = found
        return found

    def call(self, arrays: Any) -> Any:
        """The module, embedded for the element types that JAX has for the arrays."""
        import jax

        given = tuple(np.dtype(x.dtype) for x in arrays)
        # Not as an attribute: the stubs of JAX do not have all of them.
        key = (given, bool(jax.config.read("jax_enable_x64")))
        if key not in self.embedded:
            self.embedded[key] = _embedded(self, given)
        return tuple(_alike(self.embedded[key](*arrays), arrays))


def _alike(values: Any, others: Any) -> list[Any]:
    """Values as differing along all axes of a ``jax.shard_map`` along which others do: JAX keeps
    account of that, and cannot see it in a module. What was the same everywhere before gets a gradient
    that is summed along these axes."""
    import jax

    axes = frozenset(axis for x in others for axis in _differs(x))
    missing = [(x, tuple(sorted(axes - _differs(x), key=str))) for x in values]
    return [jax.lax.pcast(x, along, to="varying") if along else x for x, along in missing]


def _differs(x: Any) -> frozenset[Any]:
    """The axes of a ``jax.shard_map`` along which an array differs."""
    import jax

    ty: Any = jax.typeof(x)
    # Older versions say it of the type itself.
    account = getattr(ty, "manual_axis_type", None)
    found: frozenset[Any] = getattr(ty, "vma", frozenset()) if account is None else account.varying
    return found or frozenset()


def _is_float(dtype: str) -> bool:
    return dtype in ("float64", "float32")


def _described(x: Any) -> Described:
    """The type that an array of JAX has here."""
    import jax

    kinds = jax.numpy
    if x.dtype == np.bool_:
        name = "bool"
    elif kinds.issubdtype(x.dtype, kinds.integer):
        name = "int64"
    elif x.dtype == np.float64:
        name = "float64"
    elif kinds.issubdtype(x.dtype, kinds.floating):
        name = "float32"
    else:
        message = f"an array of {x.dtype}, for which there is no element type here"
        raise make("ArrayTypeError", "to_jax", message, "give floats, integers or booleans")
    return name, tuple(x.shape)


def _embedded(part: _Part, given: tuple[np.dtype[Any], ...]) -> Any:
    """The module as a function of JAX: an exported function whose module is replaced by ours."""
    import jax
    from jax import export

    shapes = [dims for _, dims in part.types]
    arguments = [jax.ShapeDtypeStruct(*x) for x in zip(shapes, given, strict=True)]
    results = [
        jax.ShapeDtypeStruct(dims, jax.dtypes.canonicalize_dtype(np.dtype(dtype)))
        for dtype, dims in part.results
    ]

    def same_types(*_: Any) -> Any:
        return tuple(jax.numpy.zeros(x.shape, x.dtype) for x in results)

    # It is the same text for every platform.
    checks = [export.DisabledSafetyCheck.platform()]
    stand_in = jax.jit(same_types, keep_unused=True)
    exported = export.export(stand_in, disabled_checks=checks)(*arguments)
    text = _converting(part, arguments, results)
    module = dataclasses.replace(exported, mlir_module_serialized=_portable(text))
    return jax.jit(module.call)


def _converting(part: _Part, arguments: list[Any], results: list[Any]) -> str:
    """The module for the element types of JAX, which has more of them, and without
    ``jax_enable_x64`` none of 64 bits."""
    ours = [np.dtype(dtype) for dtype, _ in (*part.types, *part.results)]
    if [np.dtype(x.dtype) for x in (*arguments, *results)] == ours:
        return part.text
    outer = [_tensor(_element(x.dtype), x.shape) for x in arguments]
    inner = [_tensor(_element(dtype), dims) for dtype, dims in part.types]
    found = [_tensor(_element(dtype), dims) for dtype, dims in part.results]
    given = [_tensor(_element(x.dtype), x.shape) for x in results]
    lines = [
        f"    %c{n} = stablehlo.convert %a{n} : ({a}) -> {b}"
        for n, (a, b) in enumerate(zip(outer, inner, strict=True))
    ]
    count = len(found)
    names = [f"%r#{n}" for n in range(count)] if count > 1 else ["%r"][:count]
    own = ", ".join(f"%c{n}" for n in range(len(inner)))
    define = f"%r:{count} = " if count > 1 else "%r = " if count else ""
    lines.append(
        f"    {define}func.call @body({own}) : ({', '.join(inner)}) -> ({', '.join(found)})"
    )
    lines += [
        f"    %d{n} = stablehlo.convert {name} : ({a}) -> {b}"
        for n, (name, a, b) in enumerate(zip(names, found, given, strict=True))
    ]
    returned = ", ".join(f"%d{n}" for n in range(count))
    lines.append(f"    return {returned} : {', '.join(given)}" if count else "    return")
    parameters = ", ".join(f"%a{n}: {ty}" for n, ty in enumerate(outer))
    head = f"  func.func public @main({parameters}) -> ({', '.join(given)}) {{"
    first, rest = part.text.split("\n", 1)
    rest = rest.replace("func.func public @main(", "func.func private @body(", 1)
    return "\n".join([first, head, *lines, "  }", rest])


def _element(dtype: Any) -> str:
    """The name that StableHLO has for an element type."""
    name = str(np.dtype(dtype).name)
    if name == "bool":
        return "i1"
    for theirs, ours in (("bfloat", "bf"), ("float", "f"), ("uint", "ui"), ("int", "i")):
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    raise make("ArrayTypeError", "to_jax", f"an array of {name}", None)


def _tensor(element: str, dims: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{k}x' for k in dims)}{element}>"


def _portable(text: str) -> bytes:
    """The module in the form that JAX stores, in which there are no operations of higher level."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        pipeline = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        passmanager.PassManager.parse(pipeline).run(module.operation)
        plain = str(module)
    # Readable by versions of JAX of the last months.
    age = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = stablehlo.get_version_from_compatibility_requirement(age)
    made: bytes = stablehlo.serialize_portable_artifact_str(plain, version)
    return made
