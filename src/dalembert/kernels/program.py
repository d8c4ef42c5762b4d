"""Straight-line programs from the graph: Python source on names of our own, compiled by Python itself.

The source holds operations, numbers and registers r0, r1, ... only; no name or text of a model gets into it. The same
program is written in two dialects: on floats, and on NumPy arrays with many states on their last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.folding import FUNCTIONS
from dalembert.algebra.nodes import HeldTable, Node
from dalembert.algebra.walks import numbers_in, ordered
from dalembert.errors import EngineError


class Dialect(NamedTuple):
    """How each operation is written, and what the names in it stand for."""

    words: Mapping[str, str]
    names: Mapping[str, Any]


_SIGNS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "negative": "-{}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "interpolate": "{}({})",
}
_OF_ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log")
_OF_TWO = ("atan2", "pow")
_SHARED = _SIGNS | {name: name + "({})" for name in _OF_ONE} | {name: name + "({}, {})" for name in _OF_TWO}
_NUMBERS = {"inf": math.inf, "nan": math.nan}

ON_FLOATS = Dialect(
    _SHARED | {"and": "{} and {}", "or": "{} or {}", "select": "{1} if {0} else {2}"},
    _NUMBERS | {name: getattr(math, name) for name in (*_OF_ONE, *_OF_TWO)},
)
ON_ARRAYS = Dialect(
    _SHARED | {"and": "both({}, {})", "or": "either({}, {})", "select": "where({}, {}, {})"},
    _NUMBERS | FUNCTIONS | {"both": np.logical_and, "either": np.logical_or, "where": np.where},
)
LINES = 4000  # operations in one function: longer ones take Python's compiler too long
MEMORY = 2**20  # numbers that a program on arrays may hold at a time
FEWEST, MOST = 64, 2048  # states that it treats at a time

Part = Callable[[Any, Any, list[Any]], None]


class Program:
    """The outputs as a program on the values of the inputs, which are symbols.

    >>> from dalembert.algebra.graph import GRAPH
    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> Program([x / y, x * x], [x, y]).one([1.0, 4.0])
    [0.25, 1.0]
    """

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[Node]) -> None:
        self._outputs, self._inputs = list(outputs), list(inputs)
        self._order = ordered(self._outputs)
        known = set(inputs)
        strange = [str(y) for y in self._order if y.operation == "symbol" and y not in known]
        if strange:
            raise EngineError(
                f"the outputs depend on {', '.join(strange)}. Expected functions of {', '.join(map(str, inputs))} only."
            )

    @cached_property
    def _on_floats(self) -> tuple[list[Part], int]:
        """The parts, and the length of the state."""
        text = source(self._order, self._outputs, self._inputs, ON_FLOATS.words)
        return compiled(text.parts, {**ON_FLOATS.names, **text.tables}), text.slots

    @cached_property
    def _on_arrays(self) -> tuple[list[Part], int, int]:
        """The parts, the length of the state, and the number of columns to treat at a time."""
        text = source(self._order, self._outputs, self._inputs, ON_ARRAYS.words)
        size = MEMORY // max(1, text.registers + text.slots)
        return compiled(text.parts, {**ON_ARRAYS.names, **text.tables}), text.slots, min(MOST, max(FEWEST, size))

    def one(self, values: Sequence[float]) -> list[float]:
        """The outputs at one state. Where Python refuses (division by zero, roots of −1), NumPy gives inf or nan."""
        out: list[float] = [0.0] * len(self._outputs)
        parts, slots = self._on_floats
        state: list[Any] = [0.0] * slots
        try:
            for part in parts:
                part(values, out, state)
        except (ZeroDivisionError, ValueError, OverflowError):
            return self.many(np.array(values, dtype=float)[:, None])[:, 0].tolist()
        return out

    def many(self, columns: np.ndarray) -> np.ndarray:
        """The outputs (k, batch) for inputs (n, batch), block by block so that memory stays small."""
        out = np.empty((len(self._outputs), columns.shape[1]))
        parts, slots, size = self._on_arrays
        with np.errstate(all="ignore"):
            for start in range(0, columns.shape[1], size):
                block = slice(start, start + size)
                state: list[Any] = [0.0] * slots
                for part in parts:
                    part(columns[:, block], out[:, block], state)
        return out


def compiled(texts: Sequence[str], names: Mapping[str, Any]) -> list[Part]:
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
    tables: Mapping[str, Callable[[Any], Any]]  # what the names of tables stand for


class _Pool:
    """Small numbers to be taken and given back."""

    def __init__(self) -> None:
        self.count = 0
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        self.count += 1
        return self.count - 1

    def give(self, number: int) -> None:
        self._free.append(number)


def source(order: Sequence[Node], outputs: Sequence[Node], inputs: Sequence[Node], words: Mapping[str, str]) -> Source:
    """The program for `outputs`, whose nodes are given with arguments first."""
    chunks = [order[k : k + LINES] for k in range(0, len(order), LINES)]
    writer = _Writer(chunks, outputs, inputs, words)
    parts = [writer.part(k, chunk) for k, chunk in enumerate(chunks)]
    return Source(parts, writer.registers, writer.slots.count, writer.tables)


class _Writer:
    """Writes the parts of a program in their order."""

    def __init__(
        self,
        chunks: Sequence[Sequence[Node]],
        outputs: Sequence[Node],
        inputs: Sequence[Node],
        words: Mapping[str, str],
    ) -> None:
        self.registers, self.slots = 0, _Pool()
        self._words = words
        self._numbers = numbers_in(y for chunk in chunks for y in chunk)
        # where a part finds what it did not compute itself
        self._places = {x: f"x[{i}]" for i, x in enumerate(inputs)}
        held = [y for chunk in chunks for y in chunk if isinstance(y, HeldTable)]
        self._places |= {y: f"table{i}" for i, y in enumerate(held)}
        self.tables = {self._places[y]: y.value.at for y in held}
        self._slot: dict[Node, int] = {}
        self._final = {a: k for k, chunk in enumerate(chunks) for y in chunk for a in y.arguments}
        self._wanted: dict[Node, list[int]] = {}
        for i, y in enumerate(outputs):
            self._wanted.setdefault(y, []).append(i)

    def part(self, k: int, chunk: Sequence[Node]) -> str:
        """The text of part `k`."""
        lines: list[str] = []
        pool, held = _Pool(), dict[Node, int]()
        last = {a: step for step, y in enumerate(chunk) for a in y.arguments}
        for step, y in enumerate(chunk):
            if y in self._numbers:
                name = repr(self._numbers[y])
            else:
                value = self._places.get(y) or self._operation(y, pool, held, lines)
                for a in dict.fromkeys(y.arguments):
                    if last[a] == step and a in held:
                        pool.give(held.pop(a))
                held[y] = pool.take()
                name = f"r{held[y]}"
                lines.append(f"{name} = {value}")
                self._keep(k, y, name, lines)
                if y not in last:
                    pool.give(held.pop(y))
            lines += [f"out[{i}] = {name}" for i in self._wanted.get(y, ())]
        self._forget(k, last)
        self.registers = max(self.registers, pool.count)
        return "\n ".join(["def part(x, out, state):", *lines, "return"]) + "\n"

    def _operation(self, y: Node, pool: _Pool, held: dict[Node, int], lines: list[str]) -> str:
        """The operation on registers, after loading the arguments that are not in registers yet."""
        names = []
        for a in y.arguments:
            if a in self._numbers:
                names.append(repr(self._numbers[a]))
                continue
            if a not in held:
                held[a] = pool.take()
                lines.append(f"r{held[a]} = {self._places[a]}")
            names.append(f"r{held[a]}")
        return self._words[y.operation].format(*names)

    def _keep(self, k: int, y: Node, name: str, lines: list[str]) -> None:
        """Put a value that a later part needs into a slot."""
        if y not in self._places and self._final.get(y, k) > k:
            self._slot[y] = self.slots.take()
            self._places[y] = f"state[{self._slot[y]}]"
            lines.append(f"{self._places[y]} = {name}")

    def _forget(self, k: int, used: Iterable[Node]) -> None:
        """Give back the slots of values that no later part needs."""
        for a in used:
            if a in self._slot and self._final[a] == k:
                self.slots.give(self._slot.pop(a))
