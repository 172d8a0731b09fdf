"""The functions of numpy that the library has, on traced arrays and on arrays of numpy.

Inside a traced function they are part of it; outside they are compiled and run at once.

>>> import cotan as ct, numpy as np
>>> import cotan.numpy as cnp
>>> ct.grad(lambda x: cnp.sum(cnp.sin(x) * cnp.arange(3.0)))(np.zeros(3))
array([0., 1., 2.])
>>> cnp.sin(np.array([0.0]))
array([0.])
"""

from typing import Any

from .._control import where as where
from . import fft as fft
from ._arrange import *
from ._composed import *
from ._create import *
from ._elementwise import *
from ._inspect import *
from ._inspect import __array_api_version__ as __array_api_version__
from ._inspect import __array_namespace_info__ as __array_namespace_info__
from ._known import *
from ._known import REPLACED as _REPLACED
from ._ordered import *
from ._products import *
from ._rearranged import *
from ._reduce import *
from ._sampled import *


def __getattr__(name: str) -> Any:
    if name == "linalg":
        from .. import linalg

        return linalg
    hint = _REPLACED.get(name)
    raise AttributeError(f"cotan.numpy has no `{name}`" + (f": {hint}" if hint else ""), name=name)
