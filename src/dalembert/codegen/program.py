"""Straight-line code as a value: inputs, parameters, lines, outputs.

A program is built from the nodes of a graph and does not refer to them. The order of its lines is determined by their content,
so the same equations give the same program in every process, and machine code is cached by its digest.
"""

from __future__ import annotations

import hashlib
import marshal
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from dalembert.errors import EngineError
from dalembert.symbolic.lookup_tables import LookupTable
from dalembert.symbolic.nodes import (
    Node,
    Symbol,
    TableLeaf,
    constant,
    numbers_in,
    ordered,
    rebuild_node,
    symbol,
    table_leaf,
)
from dalembert.symbolic.operations import BLOCKS, OPERATIONS

Line: TypeAlias = tuple[str, tuple[int, ...]]  # an operation and the indices of its arguments


@dataclass(frozen=True)
class Program:
    """Outputs as functions of inputs and parameters.

    Values are numbered consecutively: inputs first, then parameters, numbers, tables and lines.

    >>> from dalembert.symbolic.graph import GRAPH
    >>> x, y, k = GRAPH.symbols(["x", "y", "k"])
    >>> program = program_of([k * (x / y)], inputs=["x", "y"], parameters=["k"])
    >>> program.lines, program.outputs, program.operations
    ((('divide', (0, 1)), ('multiply', (3, 2))), (4,), 2)
    """

    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    numbers: tuple[float, ...]
    tables: tuple[LookupTable, ...]
    lines: tuple[Line, ...] = field(repr=False)
    outputs: tuple[int, ...] = field(repr=False)

    @property
    def operations(self) -> int:
        """The operation count of one evaluation."""
        return sum(OPERATIONS[name].cost(len(operands)) for name, operands in self.lines)

    @property
    def first_line(self) -> int:
        """The index of the first line."""
        return len(self.inputs) + len(self.parameters) + len(self.numbers) + len(self.tables)

    @cached_property
    def digest(self) -> str:
        """Content hash; equal programs have equal digests, whatever the names of their symbols."""
        tables = tuple((each.digest, each.order) for each in self.tables)
        content = (len(self.inputs), len(self.parameters), self.numbers, tables, self.lines, self.outputs)
        return hashlib.sha256(marshal.dumps(content, 2)).hexdigest()  # 2: the same bytes for equal values

    @cached_property
    def depends_on_inputs(self) -> tuple[bool, ...]:
        """For every value whether it depends on an input: the others are computed once per batch."""
        depends = [True] * len(self.inputs) + [False] * (self.first_line - len(self.inputs))
        for _, operands in self.lines:
            depends.append(any(depends[a] for a in operands))
        return tuple(depends)

    def with_parameters_as_inputs(self) -> Program:
        """The same program with its parameters as inputs, for batches in which they vary between states."""
        return Program(self.inputs + self.parameters, (), self.numbers, self.tables, self.lines, self.outputs)

    def source(self, language: str) -> str:
        """The source of the lines in `python`, `c` or `latex`; z1, z2, ... are the values of the lines.

        >>> from dalembert.symbolic.graph import GRAPH
        >>> (x,) = GRAPH.symbols(["x"])
        >>> print(program_of([x * GRAPH.sin(x)], ["x"]).source("c"))
        z1 = sin(x);
        z2 = z1 * x;
        """
        names = [*self.inputs, *self.parameters, *(repr(x) for x in self.numbers)]
        names += [f"table{i + 1}" for i in range(len(self.tables))]
        rows, end = [], ";" if language == "c" else ""
        for i, (name, operands) in enumerate(self.lines):
            names.append(f"z_{{{i + 1}}}" if language == "latex" else f"z{i + 1}")
            template, arguments = getattr(OPERATIONS[name], language), [names[a] for a in operands]
            value = f"{template}({', '.join(arguments)})" if name in BLOCKS else template.format(*arguments)
            rows.append(f"{names[-1]} = {value}{end}")
        return "\n".join(rows)


def program_of(outputs: Sequence[Node] | np.ndarray, inputs: Sequence[str], parameters: Sequence[str] = ()) -> Program:
    """The program of nodes that depend only on the named symbols."""
    order = ordered(outputs)
    known = {*inputs, *parameters}
    if unknown := [y.value for y in order if isinstance(y, Symbol) and y.value not in known]:
        raise EngineError(
            f"the outputs depend on {', '.join(unknown)}. Expected functions of {', '.join([*inputs, *parameters])} only."
        )
    values = numbers_in(order)
    needed = _without_numbers(outputs, values)
    count = len(inputs) + len(parameters)
    index: dict[Node | str, int] = {name: i for i, name in enumerate([*inputs, *parameters])}
    numbers = list(dict.fromkeys(values[y].hex() for y in needed if y in values))
    tables = [y for y in needed if isinstance(y, TableLeaf)]
    number_index = {x: count + i for i, x in enumerate(numbers)}
    index |= {y: count + len(numbers) + i for i, y in enumerate(tables)}
    lines: list[Line] = []
    first = count + len(numbers) + len(tables)
    for y in needed:
        if y in values:
            index[y] = number_index[values[y].hex()]
        elif isinstance(y, Symbol):
            index[y] = index[y.value]
        elif y.arguments:
            lines.append((y.operation, tuple(index[a] for a in y.arguments)))
            index[y] = first + len(lines) - 1
    floats, contents = tuple(map(float.fromhex, numbers)), tuple(y.value for y in tables)
    return Program(tuple(inputs), tuple(parameters), floats, contents, tuple(lines), tuple(index[y] for y in outputs))


def compact_order(needed: Mapping[int, Sequence[int]]) -> list[int]:
    """Topological order of values with few live values: first those that free others, the most recent of them first.

    `needed` maps each value to the values that it needs; values without an entry are always available.

    >>> compact_order({1: (0,), 2: (0,), 3: (1,), 4: (2,), 5: (3, 4)})
    [1, 3, 2, 4, 5]
    """
    arguments = {y: [a for a in dict.fromkeys(operands) if a in needed] for y, operands in needed.items()}
    waiting = {y: len(operands) for y, operands in arguments.items()}
    users: dict[int, list[int]] = defaultdict(list)
    for y, operands in arguments.items():
        for a in operands:
            users[a].append(y)
    left = {a: len(each) for a, each in users.items()}
    piles: dict[int, list[int]] = defaultdict(list)  # candidates, by the number of registers that they free
    order: list[int] = []

    def freed(y: int) -> int:
        return sum(left[a] == 1 for a in arguments[y]) - (y in left)

    def is_outdated(y: int, count: int) -> bool:
        return waiting[y] < 0 or freed(y) != count

    for y in reversed(arguments):
        if not waiting[y]:
            piles[freed(y)].append(y)
    while len(order) < len(arguments):
        for count in sorted(piles, reverse=True):
            while piles[count] and is_outdated(piles[count][-1], count):
                piles[count].pop()
        y = piles[max(count for count, pile in piles.items() if pile)].pop()
        order.append(y)
        waiting[y] = -1
        ready: list[int] = []
        for a in arguments[y]:
            left[a] -= 1
            if left[a] == 1:
                ready += [user for user in users[a] if waiting[user] == 0]
        for user in users[y] if y in left else ():
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
        for each in ready:
            piles[freed(each)].append(each)
    return order


class Slots:
    """Allocator of small integers; the first ones are reserved."""

    def __init__(self, reserved: int = 0) -> None:
        self.count, self._free = reserved, list[int]()

    def allocate(self) -> int:
        """The most recently released number, else a new one."""
        if self._free:
            return self._free.pop()
        self.count += 1
        return self.count - 1

    def release(self, slot: int) -> None:
        """Release a number."""
        self._free.append(slot)


def nodes_of(program: Program) -> list[Node]:
    """The outputs of a program as nodes of the graph, with symbols named after its inputs and parameters.

    >>> from dalembert.symbolic.graph import GRAPH
    >>> x, k = GRAPH.symbols(["x", "k"])
    >>> nodes_of(program_of([k * GRAPH.sin(x)], ["x"], ["k"]))
    [(sin(x) * k)]
    """
    values: list[Node] = [symbol(name) for name in (*program.inputs, *program.parameters)]
    values += [constant(x) for x in program.numbers]
    values += [table_leaf(table) for table in program.tables]
    for operation, operands in program.lines:
        values.append(rebuild_node(operation, [values[a] for a in operands]))
    return [values[index] for index in program.outputs]


def _without_numbers(outputs: Sequence[Node] | np.ndarray, values: Mapping[Node, float]) -> list[Node]:
    """The nodes that a program needs, arguments first, without the arguments of numbers."""
    needed, waiting = set(outputs), list(outputs)
    while waiting:
        y = waiting.pop()
        new = [] if y in values else [a for a in y.arguments if a not in needed]
        needed.update(new)
        waiting += new
    return [y for y in ordered(outputs) if y in needed]
