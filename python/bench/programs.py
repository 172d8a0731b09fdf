"""Prints one table of times: the programs of the benchmark suite, run from Python and from Rust.

Run it as ``python python/bench/programs.py COTAN_BENCH [--processor-time] [CASE ..]`` in a clone;
``COTAN_BENCH`` is the program that ``scripts/bench`` builds. Both take turns, on the same inputs and on
one thread, and each number is the least of all rounds. On a machine with other work, measure the time
that the processor gives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("COTAN_THREADS", "1")

import numpy as np

import cotan as ct

PROGRAMS = Path(__file__).parents[2] / "crates" / "bench" / "programs"
ROUNDS = 5

# Sizes that no input tells.
SIZES: dict[str, dict[str, int]] = {
    "stencil/n1000_t10": {"steps": 10},
    "histogram/n1e6_b1000": {"bins": 1000},
    "binmax/n1e6_b1000": {"bins": 1000},
    "binmax/n1e6_b1e6": {"bins": 1_000_000},
    "cnn/b64": {"s": 4, "t": 4},
    "lstm/l2_c1024": {"l": 2},
    "lstm/l4_c1024": {"l": 4},
    "lstm/l2_c4096": {"l": 2},
    "lstm/l4_c4096": {"l": 4},
    "llsq/n16392_m128": {"n": 16_392},
}
# Where the file is not called like the benchmark.
FILES = {"hvp_gmm": "gmm", "hessian_logreg": "logreg", "ba_grad": "ba"}
# What is measured, where it is not value and gradient of `objective`.
FUNCTIONS = {"ba": "jacobian_blocks", "hand": "jacobian_dense"}


def program_file(benchmark: str, case: str) -> Path:
    """The text of a benchmark."""
    name = f"hand_{case.split('_')[0]}" if benchmark.startswith("hand") else benchmark
    return PROGRAMS / f"{FILES.get(name, name)}.ct"


def from_python(case: str, inputs: Path) -> Callable[[], Any]:
    """One run of a case."""
    benchmark, size = case.split("/")
    arrays = np.load(inputs / f"{benchmark}.{size}.npz")
    by = [name[2:] for name in arrays.files if name.startswith("p_")]
    given = {name[2:]: arrays[name] for name in arrays.files if not name.startswith("d_v_")}
    functions = ct.load(program_file(benchmark, size))
    fixed = SIZES.get(case, {})
    if benchmark in FUNCTIONS:
        f = getattr(functions, FUNCTIONS[benchmark])
        return lambda: f(**given)
    objective = lambda **arrays: functions.objective(**arrays, **fixed)
    if benchmark == "hvp_gmm":
        rest = {name: value for name, value in given.items() if name not in by}
        product = ct.hvp(lambda p: objective(**p, **rest))
        point = {name: given[name] for name in by}
        tangent = {name: arrays[f"d_v_{name}"] for name in by}
        return lambda: product(point, tangent)
    if benchmark == "hessian_logreg":
        hessian = ct.hessian(objective, argnames=by)
        return lambda: hessian(**given)
    gradient = ct.value_and_grad(objective, argnames=by)
    return lambda: gradient(**given)


def least(run: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> float:
    """The time of one run: the least among blocks of runs that fit into so many seconds."""
    run()
    begin = clock()
    run()
    count = max(1, int(0.002 / max(clock() - begin, 1e-7)))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = clock()
        for _ in range(count):
            run()
        best = min(best, (clock() - begin) / count)
    return best


def from_rust(binary: str, options: list[str], case: str, folder: Path) -> float:
    """What the benchmarks in Rust report for a case."""
    path = folder / "figures.json"
    command = [binary, "--quick", *options, "--json", path, case]
    subprocess.run(command, check=True, capture_output=True)
    figures = [json.loads(line) for line in path.read_text().splitlines()]
    found = next(line for line in figures if line["benchmark"] == case)
    return float(found["cotan"]["gradient"]["min_s"])


def main() -> None:
    binary, *wanted = sys.argv[1:]
    options = [word for word in wanted if word.startswith("--")]
    wanted = [word for word in wanted if word not in options]
    clock = time.process_time if options else time.perf_counter
    listed = subprocess.run([binary, "--list"], check=True, capture_output=True, text=True).stdout
    cases = [line.split()[1] for line in listed.splitlines()]
    print("| milliseconds | Python | Rust | Python / Rust |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([binary, "--dump-inputs", folder], check=True, capture_output=True)
        for case in cases:
            if wanted and case not in wanted:
                continue
            run = from_python(case, folder)
            run()
            ours = rust = float("inf")
            for _ in range(ROUNDS):
                rust = min(rust, from_rust(binary, options, case, folder))
                ours = min(ours, least(run, 0.3, clock))
            print(f"| {case} | {ours * 1e3:.3f} | {rust * 1e3:.3f} | {ours / rust:.2f} |", flush=True)


if __name__ == "__main__":
    main()
