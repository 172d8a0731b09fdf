"""The benchmarks in JAX, run on request.

With no arguments, reads requests from standard input and answers on standard output, a JSON object
on a line each:

    {"load": "dot", "inputs": "dot.npz", "sizes": {..}}  ->  {"value": .., "gradients": {..}, "compile": ..}
    {"run": "gradient", "calls": 10, "clock": "wall"}    ->  {"seconds": ..}

What is loaded runs as `objective` (the value alone) and as `gradient` (what is measured). The inputs
are the arrays `p_NAME`, by which is differentiated, and `d_NAME`. `--threads N` says how many
processors to use (1 unless told otherwise).

With `--reference DIR`, computes in double precision what every `BENCHMARK.CASE.npz` of a folder
gives, and writes the expected values to standard output.
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import time


def restrict(threads):
    """Keeps this process to some processors. To be called before JAX is loaded."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)
    flags = os.environ.get("XLA_FLAGS", "")
    if threads == 1:
        flags += " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = flags.strip()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


class Loaded:
    """A benchmark on its inputs, compiled."""

    def __init__(self, name, path, sizes=None, double=False):
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax_objectives import objective, measured

        jax.config.update("jax_enable_x64", True)
        # Wakes the compiler up, which is not to be counted.
        jax.block_until_ready(jax.jit(lambda x: x + 1)(jnp.ones(3)))
        with np.load(path) as arrays:
            def named(prefix):
                found = {k[2:]: arrays[k] for k in arrays.files if k.startswith(prefix)}
                if double:
                    found = {k: v.astype("f8") if v.dtype == "f4" else v for k, v in found.items()}
                return {k: jnp.asarray(v) for k, v in found.items()}
            params, data = named("p_"), named("d_")
            structure = {k[2:]: arrays[k] for k in arrays.files if k[2:] == "parents"}
        data.pop("parents", None)
        f = objective(name, structure, sizes or {})
        arguments = (params, data)
        begin = time.perf_counter()
        gradient = jax.jit(measured(name, f)).lower(*arguments).compile()
        self.compile = time.perf_counter() - begin
        value = functools.cache(lambda: jax.jit(f).lower(*arguments).compile())
        self.calls = {
            "objective": lambda: jax.block_until_ready(value()(*arguments)),
            "gradient": lambda: jax.block_until_ready(gradient(*arguments)),
        }

    def outcome(self):
        """Value and derivatives, each summed up in a few numbers."""
        import numpy as np

        value, derivatives = self.calls["objective"](), self.calls["gradient"]()
        # The value of errors is half the sum of their squares.
        if isinstance(value, tuple) or value.ndim > 0:
            errors = value if isinstance(value, tuple) else (value,)
            value = 0.5 * sum(float((np.asarray(e) ** 2).sum()) for e in errors)
        found = {k: summary(np.asarray(a, dtype="f8")) for k, a in derivatives.items() if k != "value"}
        return {"value": float(value), "gradients": found}

    def run(self, what, calls, clock):
        """The seconds that so many calls take, or that the processor gives them."""
        call = self.calls[what]
        now = time.process_time if clock == "processor" else time.perf_counter
        begin = now()
        for _ in range(calls):
            call()
        return now() - begin


def summary(array):
    """Some numbers about an array, from which it can be recognised."""
    import math

    elements = array.reshape(-1)
    n = elements.size
    places = sorted({0, n // 4, n // 2, 3 * n // 4, max(n - 1, 0)})
    return {
        "shape": list(array.shape),
        "sum": math.fsum(elements),
        "l2": math.sqrt(float(elements @ elements)),
        "entries": {str(at): float(elements[at]) for at in places if at < n},
    }


def serve():
    """Answers requests until there are no more."""
    loaded = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if "load" in request:
                loaded = Loaded(request["load"], request["inputs"], request["sizes"])
                answer = {**loaded.outcome(), "compile": loaded.compile}
            else:
                answer = {"seconds": loaded.run(request["run"], request["calls"], request["clock"])}
        except Exception as error:  # Whatever went wrong, the other side wants to know.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def reference(folder):
    """The expected values of all inputs in a folder."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.npz")):
        name, case = path.stem.split(".", 1)
        print(f"{name}/{case}", file=sys.stderr)
        found[f"{name}/{case}"] = Loaded(name, path, double=True).outcome()
    lines = (f"{json.dumps(key)}: {json.dumps(found[key])}" for key in found)
    print("{\n" + ",\n".join(lines) + "\n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reference", metavar="DIR")
    arguments = parser.parse_args()
    restrict(arguments.threads)
    if arguments.reference:
        reference(arguments.reference)
    else:
        serve()


if __name__ == "__main__":
    main()
