"""Programs in pure Python: reference for machine code, and fallback without LLVM.

The source contains only operations, numbers and registers r0, r1, ...; no string of a model enters it. The same program is
written in two dialects: on floats, and on NumPy arrays with many states on their last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.program import Line, Program, Slots
from dalembert.symbolic.operations import BLOCKS, FUNCTIONS, OPERATIONS


class OperationNotation(NamedTuple):
    """The notation of each operation, and the values of the names in it."""

    operators: Mapping[str, str]
    names: Mapping[str, object]


_NUMBERS = {"inf": math.inf, "nan": math.nan}
_NOTATION = {name: each.python for name, each in OPERATIONS.items()}
_BLOCKS = {name: OPERATIONS[name].array for name in BLOCKS}
ON_FLOATS = OperationNotation(_NOTATION, _NUMBERS | _BLOCKS | {name: OPERATIONS[name].single for name in FUNCTIONS})
ON_ARRAYS = OperationNotation(
    _NOTATION | {"and": "both({}, {})", "or": "either({}, {})", "select": "where({}, {}, {})"},
    _NUMBERS
    | _BLOCKS
    | {name: OPERATIONS[name].array for name in FUNCTIONS}
    | {"both": np.logical_and, "either": np.logical_or, "where": np.where},
)
LINES = 4000  # maximum operations per function: Python's compiler is slow for longer ones
MEMORY = 2**20  # maximum count of numbers in memory for a program on arrays
MIN_BLOCK_STATES, MAX_BLOCK_STATES = 64, 2048  # limits for the number of states per block

Values = Sequence[float] | np.ndarray
Part = Callable[[Values, Values, list[object]], None]


class InterpretedProgram:
    """A program on floats and on arrays."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _on_floats(self) -> tuple[list[Part], int]:
        """The parts, and the length of the state."""
        generated = source(self._program, ON_FLOATS.operators)
        return compiled(generated.parts, {**ON_FLOATS.names, **generated.tables}), generated.slots

    @cached_property
    def _on_arrays(self) -> tuple[list[Part], int, int]:
        """The parts, the length of the state, and the number of columns per block."""
        generated = source(self._program, ON_ARRAYS.operators)
        size = MEMORY // max(1, generated.registers + generated.slots)
        return (
            compiled(generated.parts, {**ON_ARRAYS.names, **generated.tables}),
            generated.slots,
            min(MAX_BLOCK_STATES, max(MIN_BLOCK_STATES, size)),
        )

    def one(self, values: Sequence[float]) -> list[float]:
        """The outputs at one state, from its inputs and parameters end to end.

        Where Python raises (division by zero, roots of −1), NumPy returns inf or nan.
        """
        out: list[float] = [0.0] * len(self._program.outputs)
        parts, slots = self._on_floats
        state: list[object] = [0.0] * slots
        try:
            for part in parts:
                part(values, out, state)
        except (ZeroDivisionError, ValueError, OverflowError):
            return self.many(np.array(values, dtype=float)[:, None])[:, 0].tolist()
        return out

    def many(self, columns: np.ndarray) -> np.ndarray:
        """The outputs (k, batch) for inputs (n, batch), block by block to limit the memory."""
        out = np.empty((len(self._program.outputs), columns.shape[1]))
        parts, slots, size = self._on_arrays
        with np.errstate(all="ignore"):
            for start in range(0, columns.shape[1], size):
                block = slice(start, start + size)
                state: list[object] = [0.0] * slots
                for part in parts:
                    part(columns[:, block], out[:, block], state)
        return out


def compiled(sources: Sequence[str], names: Mapping[str, object]) -> list[Part]:
    """The functions that the sources define, with the names they may use."""
    parts = []
    for generated in sources:
        space = {"__builtins__": {}, **names}
        exec(compile(generated, "<program>", "exec"), space)
        parts.append(space["part"])
    return parts


class PythonSource(NamedTuple):
    """Sources of functions `part(x, out, state)`, to be called in order.

    They read inputs from `x` and write outputs to `out`. Values that one part computes and a later one needs are stored in the
    slots of the list `state`; all others are registers.
    """

    parts: list[str]
    registers: int
    slots: int
    tables: Mapping[str, Callable[..., np.ndarray]]  # functions by table name


def source(program: Program, operators: Mapping[str, str]) -> PythonSource:
    """The source of a program in one dialect."""
    writer = _Writer(program, operators)
    parts = [writer.part(k) for k in range(len(writer.chunks))]
    return PythonSource(parts, writer.registers, writer.slots.count, writer.tables)


class _Writer:
    """Writes the parts of a program in order."""

    def __init__(self, program: Program, operators: Mapping[str, str]) -> None:
        self.registers, self.slots = 0, Slots()
        self._operators = operators
        count = len(program.inputs) + len(program.parameters)
        # values that a part did not compute itself: not in a register, so the expression is used directly
        names = [f"x[{i}]" for i in range(count)] + [f"({x!r})" for x in program.numbers]
        names += [f"table{i}" for i in range(len(program.tables))]
        self._sources = dict(enumerate(names))
        self.tables = {f"table{i}": table.at for i, table in enumerate(program.tables)}
        self._first = program.first_line
        self.chunks = [program.lines[k : k + LINES] for k in range(0, len(program.lines), LINES)] or [()]
        self._slot: dict[int, int] = {}
        self._final = {a: i // LINES for i, (_, operands) in enumerate(program.lines) for a in operands}
        self._outputs: dict[int, list[int]] = {}
        for i, y in enumerate(program.outputs):
            self._outputs.setdefault(y, []).append(i)

    def part(self, k: int) -> str:
        """The source of part `k`."""
        chunk, start = self.chunks[k], self._first + k * LINES
        lines = [] if k else [f"out[{i}] = {self._sources[y]}" for y in self._sources for i in self._outputs.get(y, ())]
        pool, register_of = Slots(), dict[int, int]()
        last = {a: step for step, (_, operands) in enumerate(chunk) for a in operands}
        for step, (operation, operands) in enumerate(chunk):
            y = start + step
            names = [self._value(a, pool, register_of, lines) for a in operands]
            notation = self._operators[operation]
            value = f"{notation}({', '.join(names)})" if operation in BLOCKS else notation.format(*names)
            for a in dict.fromkeys(operands):
                if last[a] == step and a in register_of:
                    pool.release(register_of.pop(a))
            register_of[y] = pool.allocate()
            lines.append(f"r{register_of[y]} = {value}")
            if self._final.get(y, k) > k:
                self._slot[y] = self.slots.allocate()
                self._sources[y] = f"state[{self._slot[y]}]"
                lines.append(f"{self._sources[y]} = r{register_of[y]}")
            lines += [f"out[{i}] = r{register_of[y]}" for i in self._outputs.get(y, ())]
            if y not in last:
                pool.release(register_of.pop(y))
        self._forget(k, chunk)
        self.registers = max(self.registers, pool.count)
        return "\n ".join(["def part(x, out, state):", *lines, "return"]) + "\n"

    def _value(self, a: int, pool: Slots, register_of: dict[int, int], lines: list[str]) -> str:
        """A register or a number; inputs and slots are loaded into a register first."""
        expression = self._sources.get(a, "")
        if a not in register_of and expression and not expression.startswith(("x[", "state[")):
            return expression
        if a not in register_of:
            register_of[a] = pool.allocate()
            lines.append(f"r{register_of[a]} = {expression}")
        return f"r{register_of[a]}"

    def _forget(self, k: int, chunk: Sequence[Line]) -> None:
        """Release the slots of values that no later part needs."""
        for a in dict.fromkeys(a for _, operands in chunk for a in operands):
            if a in self._slot and self._final[a] == k:
                self.slots.release(self._slot.pop(a))
