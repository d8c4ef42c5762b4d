"""Compiled functions of arrays: coordinates on the first axis, batch on the last."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from threading import local
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import symengine as se

from dalembert.codegen._python_backend import InterpretedProgram
from dalembert.codegen.link_sweeps import Sweeps
from dalembert.codegen.program import Program, program_of
from dalembert.errors import EngineError, InputError, suggest_name
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, node, symbol
from dalembert.symbolic.symbols import Lowering

if TYPE_CHECKING:
    from dalembert.codegen.llvm._machine_code import MachineCode

ENGINES: tuple[str, ...] = ("native", "python")
MAX_COMPILED_LINES = 1500  # longer programs compile slower than NumPy evaluates them at the samples of many runs
MAX_SCALAR_COLUMNS = 16  # columns: above this count NumPy is faster than a loop over floats


def choose_engine(name: str | None) -> str:
    """`native` (machine code) or `python`; None selects native if llvmlite is installed."""
    installed = importlib.util.find_spec("llvmlite") is not None
    if name is None:
        return "native" if installed else "python"
    if name not in ENGINES:
        raise InputError(f"there is no engine '{name}'. {suggest_name(name, ENGINES)} Expected 'native' or 'python'.")
    if name == "native" and not installed:
        raise EngineError(
            "the engine 'native' needs llvmlite, which is not installed. Use engine='python', or install llvmlite."
        )
    return name


_AT_SAMPLES: ContextVar[bool] = ContextVar("at_samples", default=False)


@contextmanager
def interpreting_long_programs() -> Iterator[None]:
    """Run programs of more than `MAX_COMPILED_LINES` lines in NumPy instead of compiling them when called for many states.

    The rule depends only on the program, so that equal runs give identical bits.
    """
    token = _AT_SAMPLES.set(True)
    try:
        yield
    finally:
        _AT_SAMPLES.reset(token)


class Native(NamedTuple):
    """Machine code for one state, `one(x, p, tables, out)` with four addresses of doubles, and the data of its tables."""

    address: int
    tables: np.ndarray


class CompiledFunction(ABC):
    """A compiled function of inputs (n,) or (n, batch) and parameters (m,) or (m, batch)."""

    n_outputs: int
    sizes: tuple[int, int]  # of inputs and parameters

    @abstractmethod
    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs, (k,) for one state or (k, batch) for many."""

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Evaluate a batch without parameters, from the rows of arrays (rows, batch) into the rows of others.

        Machine code reads and writes doubles in place. Outputs must not overlap inputs.
        """
        found = self(np.concatenate(inputs), np.zeros(0), threads)
        ends = np.cumsum([len(rows) for rows in outputs])
        for rows, end in zip(outputs, ends, strict=True):
            rows[...] = found[end - len(rows) : end]

    def spread_checked(self, inputs: Sequence[np.ndarray], result: np.ndarray, threads: int = 1) -> bool:
        """`spread` all outputs except the last, a validity check: whether it is at most 1 in size at every state."""
        flags = np.empty((1, result.shape[1]))
        self.spread(inputs, [result, flags], threads)
        highest, lowest = np.maximum.reduce(flags[0], initial=0.0), np.minimum.reduce(flags[0], initial=0.0)
        return bool(highest <= 1 and lowest >= -1)

    @property
    def native(self) -> Native | None:
        """The machine code; None for other engines."""
        return None

    @property
    def native_batch(self) -> Native | None:
        """The machine code for many states that reports a failed check; None if there is none, or the last input matters."""
        return None


def _columns(inputs: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Broadcast inputs and parameters to every state of a batch."""
    batch = inputs.shape[1]
    constants = parameters[:, None] if parameters.ndim == 1 else parameters
    return inputs, np.broadcast_to(constants, (len(parameters), batch))


class PythonFunction(CompiledFunction):
    """A program in Python: on floats for few states, on NumPy arrays for many."""

    def __init__(self, program: Program) -> None:
        self.n_outputs = len(program.outputs)
        self.sizes = len(program.inputs), len(program.parameters)
        self._program = InterpretedProgram(program)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs; a single state is passed directly to the program on floats."""
        if inputs.ndim == 1 and parameters.ndim == 1:
            return np.array(self._program.one([*inputs.tolist(), *parameters.tolist()]), dtype=float)
        single = inputs.ndim == 1
        columns = np.concatenate(_columns(inputs[:, None] if single else inputs, parameters), axis=0)
        if columns.shape[1] > MAX_SCALAR_COLUMNS:
            return self._program.many(np.ascontiguousarray(columns, dtype=float))
        out = np.empty((self.n_outputs, columns.shape[1]))
        for k, column in enumerate(columns.T.tolist()):
            out[:, k] = self._program.one(column)
        return out[:, 0] if single else out


class Code(Protocol):
    """Machine code in memory, for one state or for many."""

    lanes: int  # number of states per vector
    address: int
    one: Callable[..., None]  # takes four addresses
    many: Callable[..., None]  # takes four addresses, begin, end and stride


class MachineFunction(CompiledFunction):
    """Machine code for one state and for many, in 64-bit floats, or in 32-bit floats if `single`."""

    min_arguments = 64  # minimum number of lane groups per thread

    def __init__(self, n_inputs: int, n_parameters: int, n_outputs: int, single: bool = False) -> None:
        self._single, self._dtype = single, np.dtype(np.float32 if single else np.float64)
        self.n_outputs = n_outputs
        self.sizes = n_inputs, n_parameters
        self._thread_local = local()

    @cached_property
    @abstractmethod
    def _tables(self) -> np.ndarray:
        """The data of the tables."""

    @cached_property
    @abstractmethod
    def _one(self) -> Code:
        """The code for one state."""

    @cached_property
    @abstractmethod
    def _many(self) -> Code:
        """The code for many states."""

    @cached_property
    @abstractmethod
    def with_varying_parameters(self) -> MachineFunction:
        """The same function with parameters as inputs, for batches in which they vary."""

    @property
    def native(self) -> Native | None:
        """The machine code for one state; None if it does not use doubles."""
        return None if self._single else Native(self._one.address, self._tables)

    @property
    def lanes(self) -> int:
        """The number of states per vector in the code for many states."""
        return self._many.lanes

    @property
    def many(self) -> Native:
        """The machine code for many states, whose arrays are described by their layout."""
        return Native(self._many.address, self._tables)

    @cached_property
    def _tables_at(self) -> int:
        return self._tables.ctypes.data

    def _is_ready(self, rows: np.ndarray) -> bool:
        """True if machine code can use the array without a copy."""
        return rows.dtype is self._dtype and rows.strides[1] == self._dtype.itemsize

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs; a batch is divided among `threads`."""
        if inputs.ndim == 1 and parameters.ndim == 1:
            if (call := getattr(self._thread_local, "call", None)) is None:  # buffers are thread-local
                call = self._thread_local.call = _CallOfOneState(self._one, self.sizes, self.n_outputs, self._tables)
            return call(inputs, parameters)
        single = inputs.ndim == 1
        if single or parameters.ndim == 2:
            columns = np.concatenate(_columns(inputs[:, None] if single else inputs, parameters), axis=0)
            out = self.with_varying_parameters(columns, np.zeros(0), threads)
            return out[:, 0] if single else out
        return self._batch(
            np.ascontiguousarray(inputs, self._dtype), np.ascontiguousarray(parameters, self._dtype), threads
        )

    def _batch(self, x: np.ndarray, p: np.ndarray, threads: int) -> np.ndarray:
        count = x.shape[1]
        lanes = self._many.lanes
        if count < lanes:  # unused lanes repeat the last state
            if not count:
                return np.empty((self.n_outputs, 0), self._dtype)
            return self._batch(np.ascontiguousarray(x[:, np.minimum(np.arange(lanes), count - 1)]), p, 1)[:, :count]
        out = np.empty((self.n_outputs, count), self._dtype)
        _shared(self._many, [a.ctypes.data for a in (x, p, self._tables, out)], count, threads, self.min_arguments)
        return out


class _CallOfOneState:
    """Call for one state with preallocated arrays of known address, which minimizes the overhead."""

    def __init__(self, code: Code, sizes: tuple[int, int], n_outputs: int, tables: np.ndarray) -> None:
        self._x, self._p, self._out = (np.zeros(size, tables.dtype) for size in (*sizes, n_outputs))
        self._run = code.one
        self._addresses = tuple(a.ctypes.data for a in (self._x, self._p, tables, self._out))
        self._references = code, tables

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        self._x[:] = inputs
        self._p[:] = parameters
        self._run(*self._addresses)
        return self._out.copy()


def _shared(code: Code, addresses: Sequence[int], count: int, threads: int, min_groups: int) -> None:
    """Run the code for many on `count` states, divided among threads, with at least `min_groups` groups of lanes each."""
    shares = max(1, min(threads, count // (min_groups * code.lanes)))
    if shares == 1:
        code.many(*addresses, 0, count, count)
        return
    ends = [count * i // shares for i in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        for done in [pool.submit(code.many, *addresses, a, b, count) for a, b in pairwise(ends)]:
            done.result()


def _layout(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """For each array its address, the bytes between rows, and the number of rows."""
    return np.array([part for a in arrays for part in (a.ctypes.data, a.strides[0], len(a))], dtype=np.int64)


def _addresses(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The addresses of the rows of arrays."""
    return np.concatenate([a.ctypes.data + a.strides[0] * np.arange(len(a)) for a in arrays])


class NativeFunction(MachineFunction):
    """A program as machine code, for one state and vectorized over states; compiled on first use."""

    def __init__(self, program: Program, single: bool = False) -> None:
        super().__init__(len(program.inputs), len(program.parameters), len(program.outputs), single)
        self._program = program

    @cached_property
    def _tables(self) -> np.ndarray:
        arrays = (part for table in self._program.tables for part in (table.times, table.values))
        return np.concatenate([np.zeros(0), *arrays], dtype=self._dtype)

    @cached_property
    def _one(self) -> MachineCode:
        return self._code(many=False)

    @cached_property
    def _many(self) -> MachineCode:
        return self._code(many=True)

    def _code(self, many: bool, checked: bool = False) -> MachineCode:
        from dalembert.codegen.llvm._machine_code import MachineCode, host_target

        return MachineCode(self._program, replace(host_target(many=many, single=self._single), checked=checked))

    @cached_property
    def _interpreted(self) -> PythonFunction:
        return PythonFunction(self._program)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs; a batch is divided among `threads`."""
        if inputs.ndim == 2 and len(self._program.lines) > MAX_COMPILED_LINES and _AT_SAMPLES.get():
            return self._interpreted(inputs, parameters)
        return super().__call__(inputs, parameters, threads)

    def _batch(self, x: np.ndarray, p: np.ndarray, threads: int) -> np.ndarray:
        out = np.empty((self.n_outputs, x.shape[1]), self._dtype)
        if count := x.shape[1]:
            layout = _layout([x, out])
            self._on_rows(layout.ctypes.data, 1, p.ctypes.data, count, threads)
        return out

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Evaluate a batch from rows into rows, in place."""
        arrays, count = [*inputs, *outputs], outputs[0].shape[1]
        copies = [a if self._is_ready(a) else np.ascontiguousarray(a, self._dtype) for a in arrays]
        if count:
            layout = _layout(copies)
            self._on_rows(layout.ctypes.data, len(inputs), 0, count, threads)
        for rows, found in zip(outputs, copies[len(inputs) :], strict=True):
            if found is not rows:
                rows[...] = found

    def spread_checked(self, inputs: Sequence[np.ndarray], result: np.ndarray, threads: int = 1) -> bool:
        """Evaluate a batch from rows into rows, in place; the code reports one failed check for all states."""
        failed, count = np.zeros((1, 1)), result.shape[1]
        if self._single or not all(map(self._is_ready, (*inputs, result))):
            return super().spread_checked(inputs, result, threads)
        if count:
            layout = _layout([*inputs, result, failed])
            self._on_rows(layout.ctypes.data, len(inputs), 0, count, threads, self._checked)
        return bool(failed[0, 0] == 0)

    def _on_rows(
        self, layout: int, inputs: int, p: int, count: int, threads: int, code: MachineCode | None = None
    ) -> None:
        """Run code for many on arrays whose layout is listed at an address, with parameters at the address p."""
        addresses = (layout, p, self._tables_at, layout + 24 * inputs)
        _shared(code or self._many, addresses, count, threads, self.min_arguments)

    @cached_property
    def _checked(self) -> MachineCode:
        return self._code(many=True, checked=True)

    @property
    def native_batch(self) -> Native | None:
        """The code for many states that reports a failed check; None if the last input, the time, matters."""
        last = len(self._program.inputs) - 1
        matters = last in self._program.outputs or any(last in operands for _, operands in self._program.lines)
        return None if self._single or matters else Native(self._checked.address, self._tables)

    @cached_property
    def with_varying_parameters(self) -> NativeFunction:
        """The same function with parameters as inputs, for batches in which they vary."""
        return NativeFunction(self._program.with_parameters_as_inputs(), self._single)


class SweepFunction(MachineFunction):
    """Sweeps over the links of one table as machine code, shared by all trees with the same link types.

    Inputs and outputs are the rows named in the table; there are no parameters.
    """

    min_arguments = 4

    def __init__(self, sweeps: Sweeps, table: np.ndarray, n_inputs: int, n_outputs: int) -> None:
        super().__init__(n_inputs, 0, n_outputs)
        self._sweeps, self._table = sweeps, table

    @cached_property
    def _tables(self) -> np.ndarray:
        return self._table

    @cached_property
    def _one(self) -> MachineCode:
        from dalembert.codegen.llvm._machine_code import shared_code

        return shared_code(self._sweeps, many=False)

    @cached_property
    def _many(self) -> MachineCode:
        from dalembert.codegen.llvm._machine_code import shared_code

        return shared_code(self._sweeps, many=True)

    def _batch(self, x: np.ndarray, p: np.ndarray, threads: int) -> np.ndarray:
        out = np.empty((self.n_outputs, x.shape[1]))
        self.spread([x], [out], threads)
        return out

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Evaluate a batch from rows into rows, in place."""
        count, lanes = inputs[0].shape[1], self._many.lanes
        if count < lanes or not all(map(self._is_ready, (*inputs, *outputs))):
            columns = np.minimum(np.arange(max(count, lanes)), count - 1)  # unused lanes repeat the last state
            copies = [np.empty((len(a), len(columns))) for a in outputs]
            if count:
                self.spread([np.ascontiguousarray(a[:, columns], float) for a in inputs], copies, threads)
            for rows, copy in zip(outputs, copies, strict=True):
                rows[...] = copy[:, :count]
            return
        x, out = _addresses(inputs), _addresses(outputs)
        _shared(self._many, [x.ctypes.data, 0, self._tables_at, out.ctypes.data], count, threads, self.min_arguments)

    @property
    def with_varying_parameters(self) -> SweepFunction:  # type: ignore[override]
        """The function itself: there are no parameters that could vary."""
        return self


class EmptyFunction(CompiledFunction):
    """A function without outputs."""

    n_outputs = 0

    def __init__(self, sizes: tuple[int, int]) -> None:
        self.sizes = sizes

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """An empty array for every column."""
        return np.zeros((0, *inputs.shape[1:]))


def compile_function(
    algebra: DifferentialAlgebra, inputs: Array, outputs: Array, parameters: Array, engine: str | None = None
) -> CompiledFunction:
    """Compile `outputs` as a function of the symbols `inputs` and `parameters`."""
    program = program_of(nodes(algebra, outputs), [str(x) for x in inputs], [str(x) for x in parameters])
    return function_of(program, engine)


def function_of(program: Program, engine: str | None = None, *, single: bool = False) -> CompiledFunction:
    """Compile a program; `single` selects 32-bit floats, of which a register holds twice as many.

    >>> (x,) = GRAPH.symbols(["x"])
    >>> function_of(program_of([x / 3], ["x"]), single=True)(np.array([1.0]), np.zeros(0))
    array([0.33333334], dtype=float32)
    """
    if not program.outputs:
        return EmptyFunction((len(program.inputs), len(program.parameters)))
    if choose_engine(engine) == "native":
        return NativeFunction(program, single)
    if single:
        raise EngineError("the engine 'python' supports 64-bit floats only. Use engine='native' for 32-bit floats.")
    return PythonFunction(program)


def nodes(algebra: DifferentialAlgebra, expressions: Array) -> list[Node]:
    """Convert expressions of the algebras `graph` and `symbolic` to nodes of the graph."""
    if algebra.name == "symbolic":
        names = {x.name for e in expressions for x in se.sympify(e).free_symbols}
        lower = Lowering(GRAPH, {name: symbol(name) for name in names})
        return [node(lower(e)) for e in expressions]
    return [node(e) for e in expressions]
