"""Automatic differentiation for array programs: numpy in, numpy out.

A function is written with operators, with the functions of :mod:`cotan.numpy`, or one element at a
time with :func:`build`; it is traced once for each signature, and runs as fused loops.

>>> import cotan as ct, numpy as np
>>> def energy(x):
...     '''The potential energy of particles on a line that repel each other.'''
...     n = len(x)
...     pair = lambda i, j: ct.where(i < j, 1.0 / (x[j] - x[i]), 0.0)
...     return ct.build((n, n), pair).sum()
>>> ct.value_and_grad(energy)(np.array([0.0, 1.0, 2.0]))
(array(2.5), array([ 1.25,  0.  , -1.25]))
"""

from __future__ import annotations

from . import _array as _array
from . import _program as _program
from . import errors, interop, linalg, nn, numpy, random, tree
from . import optim as optim
from ._complex import Complex
from ._control import (
    Residual,
    build,
    checkpoint,
    cond,
    dynamic_slice,
    fold,
    fori_loop,
    gather,
    map,
    map_accum,
    range,
    residuals,
    scan,
    scatter,
    stop_gradient,
    switch,
    vmap,
    where,
    while_loop,
)
from ._core import Array, Program
from ._custom import check_grads, custom_jvp, custom_vjp
from ._derivatives import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jet,
    jvp,
    laplacian,
    linearize,
    value_and_grad,
    vjp,
)
from ._function import CacheInfo, Cost, Function, jit
from ._jax import to_jax
from ._parallel import associative_scan, expand, partition, reduce, reduce_by_index
from ._solve import fixed_point, gauss_legendre, minimize, odeint, quadrature, root
from ._sparse import CSR, SparseFunction, sparse_hessian, sparse_jacobian
from ._stablehlo import stablehlo
from ._text import load, load_ipython_extension, loads
from .errors import CotanError

__version__ = "0.1.0"

__all__ = [
    "Array",
    "CSR",
    "CacheInfo",
    "Complex",
    "Cost",
    "CotanError",
    "Function",
    "Program",
    "Residual",
    "SparseFunction",
    "associative_scan",
    "build",
    "check_grads",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "dynamic_slice",
    "errors",
    "expand",
    "fixed_point",
    "fold",
    "fori_loop",
    "gather",
    "gauss_legendre",
    "grad",
    "hessian",
    "hvp",
    "interop",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "laplacian",
    "linalg",
    "linearize",
    "load",
    "load_ipython_extension",
    "loads",
    "map",
    "map_accum",
    "minimize",
    "nn",
    "numpy",
    "odeint",
    "optim",
    "partition",
    "quadrature",
    "random",
    "range",
    "reduce",
    "reduce_by_index",
    "residuals",
    "root",
    "scan",
    "scatter",
    "sparse_hessian",
    "sparse_jacobian",
    "stablehlo",
    "stop_gradient",
    "switch",
    "to_jax",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "where",
    "while_loop",
]

_ELSEWHERE = {
    "debug": "values are not known while tracing: return what you want to see, with `has_aux=True`",
    "device_get": "results are arrays of numpy already",
    "device_put": "arrays of numpy are passed as they are: there are no devices",
    "lax": "its functions are here: `ct.scan`, `ct.cond`, `ct.while_loop`, `ct.fori_loop`, ..",
    "make_jaxpr": "write `ct.jit(f).lower(x).source`",
    "ops": "`segment_sum` and its relatives are in `cotan.numpy`",
    "pmap": "`ct.vmap` maps; a program runs on several threads by itself",
    "scipy": "`logsumexp`, `gammaln`, `erf`, .. are in `cotan.numpy`, `cg` and `gmres` in `cotan.linalg`",
    "tree_map": "write `ct.tree.map`",
    "tree_util": "write `ct.tree`: `map`, `leaves`, `flatten`, `register`, ..",
}


def __getattr__(name: str) -> object:
    hint = _ELSEWHERE.get(name)
    raise AttributeError(f"cotan has no `{name}`" + (f": {hint}" if hint else ""), name=name)
