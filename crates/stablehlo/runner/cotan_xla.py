"""Runs StableHLO modules that cotan has written, with XLA through jaxlib.

    python cotan_xla.py serve        requests from standard input, one JSON object a line
    python cotan_xla.py job FOLDER   one request from standard input, as a part of another process

A request names files and says how to run:

    module   the module, StableHLO as text
    inputs   a .npz file with the inputs as "0", "1", ...
    outputs  the .npz file to write, with the outputs as "0", "1", ...
    engine   "xla" (default), "reference" (the interpreter of StableHLO, slow) or "iree"
    mesh     [[axis, size], ...] where the module is annotated for many devices
    in, out  for a mesh: of each input and output the axes of the mesh along each of its axes
    repeat   how often to run, for timing
    limit    how many bytes arguments, results and what is in between may take on all devices

Several processes run one module together when each is started with

    process, processes, coordinator   its number, how many there are, and host:port of number 0

Process 0 writes the outputs. Each request is answered by one JSON object on a line: {"ok": true, ..},
or {"error": message, "line": line of the module or null}. Where memory is short there are "memory", what is
needed and what for, and "over": whether it is more than the limit.

A job answers in a file, which it names, and writes what it has to say into another,

    answer, log   these two, in FOLDER

and then waits. When its standard input ends, because whoever asked has ended, in whichever way, it removes
FOLDER and ends, at whatever it is.
"""

import contextlib
import json
import os
import re
import shutil
import sys
import threading
import time


def prepare(request):
    """Sets what has to be set before jax is imported."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    flags = os.environ.get("XLA_FLAGS", "")
    # f32 arithmetic is f32 arithmetic: no conversions are left out.
    flags += " --xla_allow_excess_precision=false"
    local = request.get("local_devices")
    if local:
        flags += f" --xla_force_host_platform_device_count={local}"
    os.environ["XLA_FLAGS"] = flags.strip()


def load(path):
    import numpy as np

    with np.load(path) as file:
        return [file[str(n)] for n in range(len(file.files))]


def save(path, arrays):
    import numpy as np

    np.savez(path, **{str(n): np.asarray(a) for n, a in enumerate(arrays)})


class OverLimit(Exception):
    """A program needs more memory than the request allows."""


def memory(executable, devices):
    """The bytes that a program needs on all its devices, all in all and of each kind."""
    stats = executable.get_compiled_memory_stats()
    sizes = {
        "arguments": stats.argument_size_in_bytes,
        "results": stats.output_size_in_bytes,
        "what is in between": stats.temp_size_in_bytes,
    }
    # Results may lie in the memory of arguments.
    total = sum(sizes.values()) - stats.alias_size_in_bytes
    return devices * total, {kind: devices * size for kind, size in sizes.items()}


BITS = {"pred": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "s32": 32, "u32": 32, "s64": 64, "u64": 64}


def largest(executable):
    """The type of the largest array that a program keeps, and the line of the module it is from."""
    found = (0, None, None)
    entry = executable.hlo_modules()[0].to_string().split("\nENTRY", 1)[-1]
    for line in entry.splitlines():
        kept = re.match(r"\s*(?:ROOT )?\S+ = (\w+)\[([\d,]*)\]\S* (?!parameter)", line)
        if not kept or kept[1] not in BITS:
            continue
        size = BITS[kept[1]] // 8
        for dim in kept[2].split(","):
            size *= int(dim or 1)
        place = re.search(r"source_line=(\d+)", line)
        if size > found[0]:
            found = (size, f"{kept[1]}[{kept[2]}]", int(place[1]) if place else None)
    return found[1:]


@contextlib.contextmanager
def explaining_memory(executable, devices):
    """Gives the bytes that a program needs; if memory is short in between, the error says for what."""
    needed, sizes = memory(executable, devices)
    try:
        yield needed
    except Exception as error:
        if isinstance(error, (OverLimit, MemoryError)) or re.search(SHORT, str(error)):
            kept, line = largest(executable)
            error.memory = {"needed": needed, "sizes": sizes, "largest": kept, "line": line}
        raise


# What XLA says where there is not enough memory.
SHORT = "RESOURCE_EXHAUSTED|[Oo]ut of memory|bad_alloc"


class Xla:
    """XLA on the devices of this process, or of several together."""

    def __init__(self, request):
        import jax

        jax.config.update("jax_enable_x64", True)
        if request.get("processes", 1) > 1:
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            jax.distributed.initialize(
                request["coordinator"], request["processes"], request["process"]
            )
        from jax.extend.backend import get_backend
        from jaxlib import _jax

        self.jax, self.api, self.backend = jax, _jax, get_backend(os.environ["JAX_PLATFORMS"])

    def compile(self, text, mesh=None):
        if not mesh:
            device = self.jax.local_devices()[0]
            devices = self.api.DeviceList((device,))
            return self.backend.compile_and_load(text, devices, self.api.CompileOptions())
        import numpy as np
        from jax.extend.backend import get_compile_options

        devices = self.jax.devices()
        count = mesh_size(mesh)
        if len(devices) < count:
            raise ValueError(f"the mesh has {count} devices, but there are {len(devices)}")
        devices = devices[:count]
        options = get_compile_options(
            num_replicas=1,
            num_partitions=count,
            device_assignment=np.array([d.id for d in devices]).reshape(1, count),
        )
        build = options.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        return self.backend.compile_and_load(text, self.api.DeviceList(tuple(devices)), options)

    def run(self, request):
        begin = time.perf_counter()
        with open(request["module"], encoding="utf-8") as file:
            text = file.read()
        executable = self.compile(text, request.get("mesh"))
        compiled = time.perf_counter()
        with explaining_memory(executable, mesh_size(request.get("mesh") or [])) as needed:
            if needed > request.get("limit", needed):
                raise OverLimit
            inputs = load(request["inputs"])
            outputs = self.sharded(executable, inputs, request) if request.get("mesh") else self.one(
                executable, inputs, request.get("repeat", 1)
            )
        seconds = time.perf_counter() - compiled
        if request.get("process", 0) == 0:
            save(request["outputs"], outputs)
        answer = {"compile_seconds": compiled - begin, "run_seconds": seconds}
        if request.get("collectives"):
            answer["hlo"] = executable.hlo_modules()[0].to_string()
        return answer

    def one(self, executable, inputs, repeat):
        device = self.jax.local_devices()[0]
        buffers = [self.jax.device_put(x, device) for x in inputs]
        for _ in range(repeat):
            # XLA ends the process where somebody reads an array that there was no memory for.
            outputs = self.jax.block_until_ready(executable.execute(buffers))
        return [self.jax.numpy.asarray(y) for y in outputs]

    def sharded(self, executable, inputs, request):
        arrays = OnMesh(request["mesh"])
        given = [arrays.place(x, cuts) for x, cuts in zip(inputs, request["in"])]
        return arrays.run(executable, given, request["out"])


class OnMesh:
    """Arrays on a mesh of devices, which may belong to several processes.

    An array lies there by its cuts: of each of its axes the list of axes of the mesh."""

    def __init__(self, axes):
        import jax
        import numpy as np
        from jax.sharding import Mesh

        shape = [size for _, size in axes]
        devices = np.array(jax.devices()[: mesh_size(axes)]).reshape(shape)
        self.jax, self.mesh = jax, Mesh(devices, tuple(name for name, _ in axes))

    def sharding(self, cuts):
        from jax.sharding import NamedSharding, PartitionSpec

        return NamedSharding(self.mesh, PartitionSpec(*[tuple(c) or None for c in cuts]))

    def place(self, x, cuts):
        return self.jax.make_array_from_callback(x.shape, self.sharding(cuts), lambda at: x[at])

    def run(self, executable, given, outputs):
        """The outputs, given as pairs of shape and cuts, as arrays of numpy."""
        import numpy as np

        parts = executable.execute_sharded(given).disassemble_into_single_device_arrays()
        found = []
        for part, (dims, cuts) in zip(parts, outputs):
            sharding = self.sharding(cuts)
            whole = self.jax.make_array_from_single_device_arrays(tuple(dims), sharding, part)
            self.jax.block_until_ready(whole)
            if not (whole.is_fully_addressable or whole.is_fully_replicated):
                from jax.experimental import multihost_utils

                whole = multihost_utils.process_allgather(whole, tiled=True)
            found.append(np.asarray(whole))
        return found


def mesh_size(mesh):
    count = 1
    for _, size in mesh:
        count *= size
    return count


class Reference:
    """The interpreter that defines StableHLO."""

    def __init__(self, _request):
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir.dialects import stablehlo

        self.context, self.ir = mlir.make_ir_context, ir
        self.stablehlo, self.passes = stablehlo, passmanager
        stablehlo.register_stablehlo_passes()

    def run(self, request):
        import numpy as np

        with open(request["module"], encoding="utf-8") as file:
            text = file.read()
        inputs = load(request["inputs"])
        with self.context():
            module = self.ir.Module.parse(text)
            pipeline = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
            self.passes.PassManager.parse(pipeline).run(module.operation)
            arguments = [self.attribute(x) for x in inputs]
            results = self.stablehlo.eval_module(module, arguments)
            outputs = [np.array(y) for y in results]
        save(request["outputs"], outputs)
        return {}

    def attribute(self, x):
        import numpy as np

        if x.dtype == np.bool_:
            bits = np.packbits(x, axis=None, bitorder="little")
            element = self.ir.IntegerType.get_signless(1)
            return self.ir.DenseElementsAttr.get(bits, type=element, shape=x.shape)
        return self.ir.DenseElementsAttr.get(np.asarray(x, order="C"))


class Iree:
    """IREE, a second compiler of the same modules."""

    def __init__(self, _request):
        from iree import compiler, runtime

        self.compiler, self.runtime = compiler, runtime

    def run(self, request):
        import numpy as np

        with open(request["module"], encoding="utf-8") as file:
            text = file.read()
        binary = self.compiler.compile_str(
            text, target_backends=["llvm-cpu"], input_type="stablehlo",
            extra_args=[
                "--iree-llvmcpu-target-cpu=generic",
                "--iree-input-demote-f64-to-f32=false",
                "--iree-input-demote-i64-to-i32=false",
            ],
        )
        config = self.runtime.Config("local-sync")
        context = self.runtime.SystemContext(config=config)
        context.add_vm_module(self.runtime.VmModule.copy_buffer(context.instance, binary))
        found = context.modules[module_name(text)].main(*load(request["inputs"]))
        found = found if isinstance(found, (list, tuple)) else [found]
        save(request["outputs"], [np.asarray(y) for y in found])
        return {}


def module_name(text):
    return re.search(r"^module @(\w+)", text, re.MULTILINE).group(1)


ENGINES = {"xla": Xla, "reference": Reference, "iree": Iree}


def explained(error):
    """A message of a few lines, and the line of the module that it is about."""
    text = str(error) or type(error).__name__
    found = re.search(r':(\d+):\d+\)?: error|"<?[^"]*"?:(\d+):\d+', text)
    line = next((int(n) for n in found.groups() if n), None) if found else None
    found = {"error": f"{type(error).__name__}: {text[:2000]}", "line": line}
    short = getattr(error, "memory", None)
    if short:
        found.update(memory=short, line=short["line"], over=isinstance(error, OverLimit))
    return found


def end_with_input(folder):
    """Leaves nothing behind when the process that asked has ended, however it did."""
    # Not through Python's buffers, which belong to whoever reads from them.
    while os.read(0, 4096):
        pass
    remove(folder)
    os._exit(1)


def remove(folder):
    """Removes a folder, although other processes may still write into it, for a little while."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.02)


def job(folder):
    line = sys.stdin.readline()
    if not line.endswith("\n"):  # Whoever asks has ended before.
        remove(folder)
        return 1
    threading.Thread(target=end_with_input, args=(folder,), daemon=True).start()
    request = json.loads(line)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    prepare(request)
    result = answer({}, request)
    # All of the answer is there as soon as there is a file of this name.
    with open(f"{request['answer']}.part", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(f"{request['answer']}.part", request["answer"])
    while True:
        time.sleep(1000)


def answer(engines, request):
    try:
        kind = request.get("engine", "xla")
        if kind not in engines:
            engines[kind] = ENGINES[kind](request)
        return {"ok": True, **engines[kind].run(request)}
    except Exception as error:  # Whatever an engine raises is for the caller to know.
        return explained(error)


def main(arguments):
    if arguments[:1] == ["job"] and len(arguments) == 2:
        return job(arguments[1])
    if arguments == ["serve"]:
        prepare({})
        engines = {}
        for line in sys.stdin:
            print(json.dumps(answer(engines, json.loads(line))), flush=True)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
