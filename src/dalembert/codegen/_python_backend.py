"""Programs in plain Python: the oracle of machine code, and what runs where LLVM is missing.

The source holds operations, numbers and registers r0, r1, ... only; no name or text of a model gets into it. The same
program is written in two dialects: on floats, and on NumPy arrays with many states on their last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.program import Line, Program, Slots
from dalembert.symbolic.operations import BLOCKS, FUNCTIONS, OPERATIONS


class Dialect(NamedTuple):
    """How each operation is written, and what the names in it stand for."""

    words: Mapping[str, str]
    names: Mapping[str, object]


_NUMBERS = {"inf": math.inf, "nan": math.nan}
_WORDS = {name: each.python for name, each in OPERATIONS.items()}
_BLOCKS = {name: OPERATIONS[name].array for name in BLOCKS}
ON_FLOATS = Dialect(_WORDS, _NUMBERS | _BLOCKS | {name: OPERATIONS[name].single for name in FUNCTIONS})
ON_ARRAYS = Dialect(
    _WORDS | {"and": "both({}, {})", "or": "either({}, {})", "select": "where({}, {}, {})"},
    _NUMBERS
    | _BLOCKS
    | {name: OPERATIONS[name].array for name in FUNCTIONS}
    | {"both": np.logical_and, "either": np.logical_or, "where": np.where},
)
LINES = 4000  # operations in one function: longer ones take Python's compiler too long
MEMORY = 2**20  # numbers that a program on arrays may hold at a time
FEWEST, MOST = 64, 2048  # states that it treats at a time

Values = Sequence[float] | np.ndarray
Part = Callable[[Values, Values, list[object]], None]


class Interpreted:
    """A program on floats and on arrays."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _on_floats(self) -> tuple[list[Part], int]:
        """The parts, and the length of the state."""
        text = source(self._program, ON_FLOATS.words)
        return compiled(text.parts, {**ON_FLOATS.names, **text.tables}), text.slots

    @cached_property
    def _on_arrays(self) -> tuple[list[Part], int, int]:
        """The parts, the length of the state, and the number of columns to treat at a time."""
        text = source(self._program, ON_ARRAYS.words)
        size = MEMORY // max(1, text.registers + text.slots)
        return compiled(text.parts, {**ON_ARRAYS.names, **text.tables}), text.slots, min(MOST, max(FEWEST, size))

    def one(self, values: Sequence[float]) -> list[float]:
        """The outputs at one state, its inputs and parameters end to end.

        Where Python refuses (division by zero, roots of −1), NumPy gives inf or nan.
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
        """The outputs (k, batch) for inputs (n, batch), block by block so that memory stays small."""
        out = np.empty((len(self._program.outputs), columns.shape[1]))
        parts, slots, size = self._on_arrays
        with np.errstate(all="ignore"):
            for start in range(0, columns.shape[1], size):
                block = slice(start, start + size)
                state: list[object] = [0.0] * slots
                for part in parts:
                    part(columns[:, block], out[:, block], state)
        return out


def compiled(texts: Sequence[str], names: Mapping[str, object]) -> list[Part]:
    """The functions that the texts define, over the names they may use."""
    parts = []
    for text in texts:
        space = {"__builtins__": {}, **names}
        exec(compile(text, "<program>", "exec"), space)
        parts.append(space["part"])
    return parts


class Source(NamedTuple):
    """Texts of functions `part(x, out, state)`, to be called one after the other.

    They take inputs from `x` and put outputs into `out`. Values that one part computes and a later one needs go through
    the slots of the list `state`; all others stay in registers.
    """

    parts: list[str]
    registers: int
    slots: int
    tables: Mapping[str, Callable[..., np.ndarray]]  # what the names of tables stand for


def source(program: Program, words: Mapping[str, str]) -> Source:
    """The text of a program in one dialect."""
    writer = _Writer(program, words)
    parts = [writer.part(k) for k in range(len(writer.chunks))]
    return Source(parts, writer.registers, writer.slots.count, writer.tables)


class _Writer:
    """Writes the parts of a program in their order."""

    def __init__(self, program: Program, words: Mapping[str, str]) -> None:
        self.registers, self.slots = 0, Slots()
        self._words = words
        count = len(program.inputs) + len(program.parameters)
        # where a part finds what it did not compute itself: never in a register, so it is used as it stands
        names = [f"x[{i}]" for i in range(count)] + [f"({x!r})" for x in program.numbers]
        names += [f"table{i}" for i in range(len(program.tables))]
        self._places = dict(enumerate(names))
        self.tables = {f"table{i}": held.at for i, held in enumerate(program.tables)}
        self._first = program.first_line
        self.chunks = [program.lines[k : k + LINES] for k in range(0, len(program.lines), LINES)] or [()]
        self._slot: dict[int, int] = {}
        self._final = {a: i // LINES for i, (_, places) in enumerate(program.lines) for a in places}
        self._wanted: dict[int, list[int]] = {}
        for i, place in enumerate(program.outputs):
            self._wanted.setdefault(place, []).append(i)

    def part(self, k: int) -> str:
        """The text of part `k`."""
        chunk, start = self.chunks[k], self._first + k * LINES
        lines = [] if k else [f"out[{i}] = {self._places[y]}" for y in self._places for i in self._wanted.get(y, ())]
        pool, held = Slots(), dict[int, int]()
        last = {a: step for step, (_, places) in enumerate(chunk) for a in places}
        for step, (operation, places) in enumerate(chunk):
            y = start + step
            names = [self._value(a, pool, held, lines) for a in places]
            word = self._words[operation]
            value = f"{word}({', '.join(names)})" if operation in BLOCKS else word.format(*names)
            for a in dict.fromkeys(places):
                if last[a] == step and a in held:
                    pool.give(held.pop(a))
            held[y] = pool.take()
            lines.append(f"r{held[y]} = {value}")
            if self._final.get(y, k) > k:
                self._slot[y] = self.slots.take()
                self._places[y] = f"state[{self._slot[y]}]"
                lines.append(f"{self._places[y]} = r{held[y]}")
            lines += [f"out[{i}] = r{held[y]}" for i in self._wanted.get(y, ())]
            if y not in last:
                pool.give(held.pop(y))
        self._forget(k, chunk)
        self.registers = max(self.registers, pool.count)
        return "\n ".join(["def part(x, out, state):", *lines, "return"]) + "\n"

    def _value(self, a: int, pool: Slots, held: dict[int, int], lines: list[str]) -> str:
        """A register or a number; inputs and slots are loaded into a register first."""
        place = self._places.get(a, "")
        if a not in held and place and not place.startswith(("x[", "state[")):
            return place
        if a not in held:
            held[a] = pool.take()
            lines.append(f"r{held[a]} = {place}")
        return f"r{held[a]}"

    def _forget(self, k: int, chunk: Sequence[Line]) -> None:
        """Give back the slots of values that no later part needs."""
        for a in dict.fromkeys(a for _, places in chunk for a in places):
            if a in self._slot and self._final[a] == k:
                self.slots.give(self._slot.pop(a))
