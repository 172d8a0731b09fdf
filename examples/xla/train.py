"""Trains the network of model.ct on several processes, each with a part of the data.

    python train.py --cotan PATH/TO/cotan [--processes 4] [--steps 40] [--kill-at 15] [--compare]

The gradient is cotan's, as StableHLO with the batch cut along the processes; XLA adds the parts up over
the loopback address. Process 0 writes a checkpoint every few steps. When a worker dies, the others are
ended, and all start again from the last checkpoint; `--kill-at` makes one die to show it. `--compare`
trains once more on one device and compares the losses.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"n": 512, "d": 8, "h": 16}
RATE, EVERY = 0.2, 5
PARAMS = ["p.w1", "p.b1", "p.w2", "p.b2"]


def shapes():
    n, d, h = SIZES["n"], SIZES["d"], SIZES["h"]
    return {"p.w1": (d, h), "p.b1": (h,), "p.w2": (h,), "p.b2": (), "x": (n, d), "y": (n,)}


def start():
    """The data and the first parameters, the same in every process."""
    import numpy as np

    random = np.random.default_rng(1)
    found = {name: random.normal(size=shape) * 0.3 for name, shape in shapes().items()}
    found["y"] = np.sin(found["x"].sum(axis=1))
    return found


def worker(args):
    sys.path.insert(0, str(args.runner.parent))
    import numpy as np
    import cotan_xla

    request = {
        "process": args.worker,
        "processes": args.processes,
        "coordinator": args.coordinator,
        "local_devices": 1,
    }
    cotan_xla.prepare(request)
    xla = cotan_xla.Xla(request)
    axes = [["batch", args.processes]]
    executable = xla.compile((args.folder / "loss.mlir").read_text(), axes)
    mesh = cotan_xla.OnMesh(axes)
    cuts = {name: [[] for _ in shape] for name, shape in shapes().items()}
    cuts["x"][0] = cuts["y"][0] = ["batch"]
    arrays, losses, first = start(), [], 0
    checkpoint = args.folder / "checkpoint.npz"
    if checkpoint.exists():
        with np.load(checkpoint) as saved:
            arrays.update({name: saved[name] for name in PARAMS})
            losses, first = list(saved["losses"]), int(saved["step"])
        if args.worker == 0:
            print(f"goes on from step {first}", flush=True)
    data = {name: mesh.place(arrays[name], cuts[name]) for name in ("x", "y")}
    outputs = [[(), []]] + [[shapes()[name], cuts[name]] for name in PARAMS]
    for step in range(first, args.steps):
        if args.worker == 1 and step == args.kill_at and not (args.folder / "killed").exists():
            (args.folder / "killed").touch()
            os._exit(9)
        given = [mesh.place(np.asarray(arrays[name]), cuts[name]) for name in PARAMS]
        loss, *gradient = mesh.run(executable, given + [data["x"], data["y"]], outputs)
        losses.append(float(loss))
        for name, change in zip(PARAMS, gradient):
            arrays[name] = arrays[name] - RATE * change
        if args.worker == 0 and (step + 1) % EVERY == 0:
            save(checkpoint, step + 1, arrays, losses)
    if args.worker == 0:
        (args.folder / "losses.json").write_text(json.dumps(losses))


def save(path, step, arrays, losses):
    """Writes a checkpoint whole or not at all."""
    import numpy as np

    temporary = path.with_suffix(".new.npz")
    np.savez(temporary, step=step, losses=losses, **{name: arrays[name] for name in PARAMS})
    os.replace(temporary, path)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def attempt(args, folder, processes):
    """Runs all workers; whether all came to their end."""
    coordinator = f"127.0.0.1:{free_port()}"
    command = [sys.executable, __file__, "--runner", args.runner, "--folder", folder]
    command += ["--coordinator", coordinator, "--processes", processes, "--steps", args.steps]
    command += ["--kill-at", args.kill_at if processes > 1 else -1]
    log = open(folder / "log", "a")
    workers = [
        subprocess.Popen([str(c) for c in command] + ["--worker", str(k)], stderr=log)
        for k in range(processes)
    ]
    try:
        while True:
            codes = [w.poll() for w in workers]
            died = [k for k, code in enumerate(codes) if code]
            if died:
                print(f"worker {died[0]} died ({codes[died[0]]}); the others are ended", flush=True)
                return False
            if all(code == 0 for code in codes):
                return True
            time.sleep(0.05)
    finally:
        for w in workers:
            w.kill()
            w.wait()


def train(args, processes):
    """The losses of all steps."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [args.cotan, "export", HERE / "model.ct", "--fn", "loss", "--grad"]
        command += ["--wrt", "p", "-o", folder / "loss.mlir", "--mesh", f"batch={processes}"]
        for size, value in SIZES.items():
            command += ["--size", f"{size}={value}"]
        cut = {"x": "batch:0", "y": "batch:0"}
        arrays = PARAMS + ["x", "y", "value"] + [f"grad.{name}" for name in PARAMS]
        for array in arrays:
            command += ["--shard", f"{array}={cut.get(array, '')}"]
        subprocess.run([str(c) for c in command], check=True)
        for _ in range(3):
            if attempt(args, folder, processes):
                return json.loads((folder / "losses.json").read_text())
        raise SystemExit("workers die again and again:\n" + (folder / "log").read_text()[-2000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cotan", default="cotan")
    runner = HERE / "../../crates/stablehlo/runner/cotan_xla.py"
    parser.add_argument("--runner", type=pathlib.Path, default=runner)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kill-at", type=int, default=-1)
    parser.add_argument("--compare", action="store_true")
    for hidden in ("--worker", "--folder", "--coordinator"):
        kind = {"--worker": int, "--folder": pathlib.Path}.get(hidden, str)
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        return worker(args)
    losses = train(args, args.processes)
    print(f"loss {losses[0]:.6f} at first, {losses[-1]:.6f} after {len(losses)} steps")
    if args.compare:
        alone = train(args, 1)
        apart = max(abs(a - b) for a, b in zip(losses, alone))
        print(f"{len(alone)} losses on one device differ by at most {apart:.2e}")
        return 0 if len(losses) == len(alone) and apart < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
