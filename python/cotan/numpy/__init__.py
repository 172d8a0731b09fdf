"""The functions of numpy that the library has, on traced arrays and on arrays of numpy.

Inside a traced function they are part of it; outside they are compiled and run at once.

>>> import cotan as ct, numpy as np
>>> import cotan.numpy as cnp
>>> ct.grad(lambda x: cnp.sum(cnp.sin(x) * cnp.arange(3.0)))(np.zeros(3))
array([0., 1., 2.])
>>> cnp.sin(np.array([0.0]))
array([0.])
"""

from .._control import where as where
from ._arrange import *
from ._create import *
from ._elementwise import *
from ._products import *
from ._reduce import *
