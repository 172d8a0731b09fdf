"""Functions of this package inside other libraries: ``cotan.interop.torch``, ``cotan.interop.jax``."""
