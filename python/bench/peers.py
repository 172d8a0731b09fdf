"""One thread for every library, and JAX where it is installed: imported before numpy by each table."""

from __future__ import annotations

import os

os.environ.setdefault("COTAN_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
os.environ.setdefault("OMP_NUM_THREADS", "1")

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
except ImportError:
    jax = jnp = None

__all__ = ["jax", "jnp"]
