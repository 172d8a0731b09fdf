"""Functions of this package inside others: ``ct.interop.torch.wrap``, ``ct.interop.jax.wrap``."""

from . import jax as jax
from . import torch as torch
