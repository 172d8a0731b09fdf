"""NumPy, SciPy and JAX for crates/bench/examples/linalg_speed.rs: reads lines of JSON, answers in kind.

{"load": name, "folder": where a.npy and others lie} compiles and runs once and gives what comes out,
as a few numbers; {"run": calls} gives the seconds of processor time of this thread.
"""

import json
import os
import sys
import time

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np  # noqa: E402
from scipy import linalg  # noqa: E402


def gp():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def objective(ls, lv, ln, X, y):
        s = X * jnp.exp(-ls)
        r = jnp.sum(s**2, 1)
        K = jnp.exp(lv - 0.5 * (r[:, None] + r[None] - 2 * s @ s.T))
        K = K + (jnp.exp(ln) + 1e-6) * jnp.eye(len(y))
        L = jnp.linalg.cholesky(K)
        z = jax.scipy.linalg.solve_triangular(L, y, lower=True)
        return 0.5 * jnp.sum(z * z) + jnp.sum(jnp.log(jnp.diag(L)))

    run = jax.jit(jax.value_and_grad(objective, (0, 1, 2)))

    def call(*inputs):
        value, slopes = run(*inputs)
        jax.block_until_ready(slopes)
        return [np.asarray(value), *map(np.asarray, slopes)]

    return call


FUNCTIONS = {
    "cholesky": lambda: lambda a: [linalg.cholesky(a, lower=True, check_finite=False)],
    "solve_triangular": lambda: lambda a, b: [linalg.solve_triangular(a, b, lower=True, check_finite=False)],
    "lu": lambda: lambda a: [linalg.lu_factor(a, check_finite=False)[0]],
    "solve": lambda: lambda a, b: [np.linalg.solve(a, b)],
    "inverse": lambda: lambda a: [np.linalg.inv(a)],
    "qr": lambda: lambda a: list(np.linalg.qr(a)),
    "eigh": lambda: lambda a: list(linalg.eigh(a, driver="evd", check_finite=False)),
    "eigvalsh": lambda: lambda a: [np.linalg.eigvalsh(a)],
    "svd": lambda: lambda a: list(np.linalg.svd(a, full_matrices=False)),
    "svdvals": lambda: lambda a: [np.linalg.svd(a, compute_uv=False)],
    "lstsq": lambda: lambda a, b: [linalg.lstsq(a, b, lapack_driver="gelsy", check_finite=False)[0]],
    "expm": lambda: lambda a: [linalg.expm(a)],
    "gp": gp,
}


def main():
    call = inputs = None
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            names = request["inputs"]
            inputs = [np.load(os.path.join(request["folder"], f"{name}.npy")) for name in names]
            call = FUNCTIONS[request["load"]]()
            answer = {"sizes": [float(np.sqrt(np.sum(np.square(x)))) for x in call(*inputs)]}
        else:
            begin = time.process_time()
            for _ in range(request["run"]):
                call(*inputs)
            answer = {"seconds": time.process_time() - begin}
        print(json.dumps(answer), flush=True)


main()
