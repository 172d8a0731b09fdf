"""Runs StableHLO modules that cotan has written, with XLA through jaxlib.

    python cotan_xla.py serve              requests from standard input, one JSON object a line
    python cotan_xla.py run REQUEST.json   one request from a file

A request names files and says how to run:

    module   the module, StableHLO as text
    inputs   a .npz file with the inputs as "0", "1", ...
    outputs  the .npz file to write, with the outputs as "0", "1", ...
    engine   "xla" (default), "reference" (the interpreter of StableHLO, slow) or "iree"
    mesh     [[axis, size], ...] where the module is annotated for many devices
    in, out  for a mesh: of each input and output the axes of the mesh along each of its axes
    repeat   how often to run, for timing

Several processes run one module together when each is started with

    process, processes, coordinator   its number, how many there are, and host:port of number 0

Process 0 writes the outputs. A request from a file may name a process and a folder,

    parent, temporary   when the process is gone, the folder is removed and the run ends.

Each request is answered by one JSON object on a line: {"ok": true, ..},
or {"error": message, "line": line of the module or null}.
"""

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
            outputs = executable.execute(buffers)
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
    return {"error": f"{type(error).__name__}: {text[:2000]}", "line": line}


def end_with(parent, folder):
    """Leaves nothing behind when the process that asked has ended, however it did."""

    def look():
        while os.getppid() == parent:
            time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def answer(engines, request):
    try:
        kind = request.get("engine", "xla")
        if kind not in engines:
            engines[kind] = ENGINES[kind](request)
        return {"ok": True, **engines[kind].run(request)}
    except Exception as error:  # whatever an engine raises is for the caller to know
        return explained(error)


def main(arguments):
    if arguments[:1] == ["run"] and len(arguments) == 2:
        with open(arguments[1], encoding="utf-8") as file:
            request = json.load(file)
        if "temporary" in request:
            end_with(request["parent"], request["temporary"])
        prepare(request)
        result = answer({}, request)
        print(json.dumps(result), flush=True)
        return 0 if result.get("ok") else 1
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
