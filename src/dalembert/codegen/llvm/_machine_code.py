"""Compile LLVM source to machine code in memory; the disk cache stores it by content and processor."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import RLock
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from dalembert.codegen.disk_cache import CODE, read_entry, write_entry
from dalembert.codegen.link_sweeps import Sweeps
from dalembert.codegen.llvm._emit import module_source
from dalembert.codegen.llvm._library import MachineTarget
from dalembert.codegen.llvm._sweep_loops import sweeps_source
from dalembert.codegen.program import Program
from dalembert.errors import EngineError

FORMAT = "13"  # version of the generated code: incremented when the same program produces different source
_COMPILING = RLock()  # LLVM's global state is not thread-safe during compilation
_WIDTHS = {"avx512f": 512, "avx": 256}


@lru_cache(maxsize=1)
def _processor() -> tuple[str, str]:
    """The name and features of the processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def host_target(*, many: bool, single: bool = False) -> MachineTarget:
    """The best target for this machine: as many lanes as its registers hold, and fused products if available."""
    has = _processor()[1].split(",")
    bits = next((width for feature, width in _WIDTHS.items() if f"+{feature}" in has), 128)
    lanes = bits // (32 if single else 64) if many else 1
    return MachineTarget(lanes, "+fma" in has or "+neon" in has, single)


class MachineCode:
    """The code of one program, or of sweeps, for one target; it lives as long as this object."""

    def __init__(self, program: Program | Sweeps, target: MachineTarget) -> None:
        name, features = _processor()
        key = "\n".join([FORMAT, llvmlite.__version__, name, features, repr(target), program.digest])
        self._digest = hashlib.sha256(key.encode()).hexdigest()
        with _COMPILING:
            code = read_entry(self._digest, CODE)
            if code is None:
                is_program = isinstance(program, Program)
                code = _compiled(module_source(program, target) if is_program else sweeps_source(program, target))
                write_entry(self._digest, CODE, code)
            engine = _in_memory(code)
        self.lanes = target.lanes
        self._engine = engine  # owns the memory
        self.address: int = engine.get_function_address("many" if target.lanes > 1 else "one")
        self.one: Callable[..., None] = ONE(self.address)
        self.many: Callable[..., None] = MANY(self.address)


_SHARED: WeakValueDictionary[tuple[str, MachineTarget], MachineCode] = WeakValueDictionary()


def shared_code(sweeps: Sweeps, *, many: bool) -> MachineCode:
    """The code of sweeps for this machine, compiled once for all functions that use it."""
    target = host_target(many=many)
    with _COMPILING:
        found = _SHARED.get((sweeps.digest, target))
        if found is None:
            _SHARED[sweeps.digest, target] = found = MachineCode(sweeps, target)
    return found


def _in_memory(code: bytes) -> llvm.ExecutionEngine:
    """Load object code into memory; it lives as long as the engine."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


_LOADED: list[llvm.ExecutionEngine] = []  # modules shared by all programs


# passes that remove the variables in memory of compiled loops; compiling takes a fifth of the time of the full pipeline, and
# the integrators run equally fast
SCALAR = ("sroa", "instruction_combine", "simplify_cfg")
FULL = ("vectorize",)  # all passes of level 2, which vectorize loops over lanes


def load_functions(source: str, *names: str, passes: Sequence[str] = ()) -> list[int]:
    """The addresses of functions of an internal module, which lives as long as the process.

    Handwritten modules are not optimized; `SCALAR` and `FULL` are the passes for compiled loops.
    """
    return load_code(digest_of(source, passes), lambda: source, *names, passes=passes)


def digest_of(content: str, passes: Sequence[str]) -> str:
    """The key of machine code on this machine, by the content that determines it."""
    key = "\n".join([llvmlite.__version__, *_processor(), *passes, content])
    return hashlib.sha256(key.encode()).hexdigest()


def load_code(digest: str, source: Callable[[], str], *names: str, passes: Sequence[str]) -> list[int]:
    """The same; `source` is called if the code is not in the disk cache."""
    with _COMPILING:
        code = read_entry(digest, CODE)
        if code is None:
            write_entry(digest, CODE, code := _compiled(source(), passes))
        engine = _in_memory(code)
        _LOADED.append(engine)
    return [engine.get_function_address(name) for name in names]


def word_loads(kinds: Mapping[str, str], first: int = 0) -> str:
    """Instructions that load the words of `%table` from index `first`, each with name and type."""
    return "\n".join(
        f"%{name}.at = getelementptr i64, ptr %table, i64 {i}\n%{name} = load {kind}, ptr %{name}.at"
        for i, (name, kind) in enumerate(kinds.items(), first)
    )


ONE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
MANY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)


def _machine() -> llvm.TargetMachine:
    name, features = _processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=_OPTIMIZE, jit=True)


_OPTIMIZE = 1  # level 2 gives code of the same size, and takes up to twice as long for long programs


def _compiled(source: str, passes: Sequence[str] = ()) -> bytes:
    """Object code of a module."""
    try:
        module = llvm.parse_assembly(source)
    except RuntimeError as error:
        raise EngineError(
            f"LLVM rejects the code of a program: {error}. Use engine='python', and report this error."
        ) from error
    module.triple = llvm.get_process_triple()
    machine = _machine()
    if passes:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        manager = builder.getModulePassManager() if passes == FULL else llvm.create_new_module_pass_manager()
        for name in passes if passes != FULL else ():
            getattr(manager, f"add_{name}_pass")()
        manager.run(module, builder)
    return machine.emit_object(module)
