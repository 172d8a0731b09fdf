"""An element-level function, with a loop of unknown length, inside a program of JAX."""

import sys

import numpy as np

import cotan as ct

try:
    import jax
except ImportError:
    print("skipped: jax is not installed")
    sys.exit()

from cotan.interop.jax import wrap

jax.config.update("jax_enable_x64", True)


def root(a):
    """The square root by Newton's method, as many steps as it takes."""
    return ct.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)


def main() -> None:
    f = wrap(root)
    loss = lambda a: jax.numpy.sum(jax.numpy.sin(jax.vmap(f)(a)))
    a = jax.numpy.array([2.0, 9.0])
    value, gradient = jax.jit(jax.value_and_grad(loss))(a)
    assert np.allclose(value, np.sin(np.sqrt(a)).sum())
    assert np.allclose(gradient, np.cos(np.sqrt(a)) * 0.5 / np.sqrt(a))
    print(f"value {float(value):.6f}, gradient {np.asarray(gradient).round(6)}")


if __name__ == "__main__":
    main()
