"""Emit a program as LLVM source: one function for one state, or one for a batch with a state in each lane.

The source is written line by line, since building it from llvmlite objects takes ten times as long as the compilation. Products
that are added once become explicit fused operations if the processor has them, instead of leaving this to the compiler: one
state, every lane and every thread then round identically.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from math import isqrt
from typing import NamedTuple

from dalembert.codegen.llvm._batch_loop import BatchLoop
from dalembert.codegen.llvm._library import ALIGN_MEMORY, PACKED, Library, MachineTarget
from dalembert.codegen.llvm._linear_solves import Pattern, SparseSource, variants
from dalembert.codegen.program import Program, compact_order
from dalembert.symbolic.graph import SOLUTIONS, lower_triangle_index
from dalembert.symbolic.operations import BLOCKS, OPERATIONS
from dalembert.symbolic.rolled_solve import order_of_symmetric

_LONG = 300  # maximum rows of a basic block
_SMALL = 2**17  # maximum bytes allocated on the stack
_MANY_LINES = 1500  # lines of a program above which it is reordered
_SHORT = 12
# the rows with angles, in place and in a tile
_SINES = (
    "ptr %rows, ptr @angles, ptr %sines, i64 %k",
    "ptr %inside, ptr @angles, ptr %sines, i64 %lane",
)
POINTERS = "ptr noalias readonly %x, ptr noalias readonly %p, ptr noalias readonly %tables, ptr noalias %out"


def module_source(program: Program, target: MachineTarget) -> str:
    """The module that defines `one(x, p, tables, out)`, or `many(x, p, tables, out, begin, end, stride)` for several lanes.

    `many` processes the states from `begin` to `end`. Its x and out are lists of arrays: the address of each, the bytes between
    its rows, and the number of rows; `stride` is not read.
    """
    writer = _One if target.lanes == 1 else _Many
    return writer(program, target, Library(target)).source()


class _BlockMemory(NamedTuple):
    """Memory of a factor or a solution: its order, its address, the index of each value, and the address of x."""

    order: int
    at: str
    operands: list[tuple[int, int]]
    out: str = ""
    calls: tuple[str, ...] = ()  # functions for the sparsity pattern of the matrix


class LlvmWriter:
    """Writes the lines of a program as rows of LLVM source."""

    def __init__(self, program: Program, target: MachineTarget, library: Library) -> None:
        self._program, self._target, self._library = program, target, library
        first = len(program.inputs) + len(program.parameters)
        self._names = {first + i: target.constant(x) for i, x in enumerate(program.numbers)} | _table_offsets(program)
        self._rows: list[str] = []
        self._memory_names: list[str] = []
        self._count = self._allocated = self._blocks = self._begun = 0

    def _write(self, lines: Iterable[int]) -> None:
        """Emit lines; for one state, the arguments of sines and cosines come first, so that several share a call."""
        ordered = lines if self._target.lanes > 1 else sorted(lines, key=lambda i: i not in self._before_angles)
        for i in ordered:
            if self._program.first_line + i not in self._fused:
                self._line(i)
                self._part()

    def _part(self) -> None:
        """Begin another basic block when one is long: LLVM's cost grows with the square of its length."""
        if len(self._rows) - self._begun > _LONG:
            self._blocks += 1
            self._rows += [f"br label %part{self._blocks}", f"part{self._blocks}:"]
            self._begun = len(self._rows)

    def _row(self, instruction: str) -> str:
        """Append an instruction and return the name of its value."""
        self._count += 1
        self._rows.append(f"%v{self._count} = {instruction}")
        return f"%v{self._count}"

    def _in_all_lanes(self, value: str) -> str:
        vector, lanes = self._target.vector, self._target.lanes
        first = self._row(f"insertelement {vector} poison, {self._target.real} {value}, i32 0")
        return self._row(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")

    # lines

    def _line(self, i: int) -> None:
        operation, operands = self._program.lines[i]
        y = self._program.first_line + i
        if operation in ("add", "subtract") and (found := self._sum_of_product(operation, operands)) is not None:
            self._names[y] = found
        elif operation in ("sin", "cos") and operands[0] in self._pairs:
            known = [a for a in self._pairs if a in self._names and a != operands[0]]
            angles = [operands[0], *known][: PACKED if self._target.lanes == 1 else 1]
            for a, both in zip(angles, self._library.pairs(self._row, [self._names[a] for a in angles]), strict=True):
                for name, value in zip(("sin", "cos"), both, strict=True):
                    self._names |= dict.fromkeys(self._pairs[a][name], value)
                del self._pairs[a]
        elif y not in self._names:
            self._names[y] = self._block_value(y) if operation in BLOCKS else self._value(operation, operands)
        for at, k in self._store_targets.get(y, ()):
            self._store_number(self._names[y], at, k)

    def _value(self, operation: str, operands: tuple[int, ...]) -> str:
        vector, known = self._target.vector, OPERATIONS[operation].llvm
        if operation == "interpolate":
            return self._library.table(self._row, self._names[operands[0]], self._names[operands[1]])
        names = [self._names[a] for a in operands]
        if not known:
            return self._library.call(self._row, operation, names)
        if operation == "select":
            return self._row(f"select {self._bits} {names[0]}, {vector} {names[1]}, {vector} {names[2]}")
        kind = self._bits if operation in ("and", "or") else vector
        return self._row(f"{known} {kind} {', '.join(names)}")

    # linear systems: numbers are stored to memory, and a function works on them there

    def _block_value(self, y: int) -> str:
        """The address of a factor or a solution, or one entry of a solution."""
        operation, operands = self._program.lines[y - self._program.first_line]
        if operation == "entry":
            i = int(self._program.numbers[operands[1] - len(self._program.inputs) - len(self._program.parameters)])
            return self._row(f"load {self._target.vector}, ptr {self._inside(self._names[operands[0]], i)}")
        block = self._block_memory[y]
        for a, i in block.operands:
            if not self._stored_when_computed(a, y):
                self._store_number(self._names[a], block.at, i)
        if block.calls:
            for name in block.calls:
                pointers = [block.at] if operation.endswith("factor") else [self._names[operands[0]], block.at]
                self._rows.append(f'call void @"{name}"({", ".join(f"ptr {each}" for each in pointers)})')
            return block.at
        self._library.blocks()
        if operation.endswith("factor"):
            self._rows.append(f'call void @"block.{operation}"(ptr {block.at}, i64 {block.order})')
            return block.at
        arguments = [self._names[operands[0]], block.at, *([block.out] if block.out else [])]
        factor, *rest = (f"ptr {each}" for each in arguments)
        self._rows.append(f'call void @"block.{operation}"({factor}, i64 {block.order}, {", ".join(rest)})')
        return block.out or block.at

    @cached_property
    def _block_memory(self) -> dict[int, _BlockMemory]:
        """The memory of every factor and solution, and which values are stored where."""
        allocations: dict[int, _BlockMemory] = {}
        for y, (operation, operands) in enumerate(self._program.lines, self._program.first_line):
            if y in self._sparse:
                allocations[y] = self._sparse_factor(y, operands)
            elif operation == "symmetric_solve" and operands[0] in self._sparse:
                allocations[y] = self._sparse_solution(operands)
            elif operation == "symmetric_factor":
                n = order_of_symmetric(len(operands))
                indices = [i * n + j for i, j in map(lower_triangle_index, range(len(operands)))]
                allocations[y] = _BlockMemory(n, self._memory(n * n), list(zip(operands, indices, strict=True)))
            elif operation == "general_factor":
                n = isqrt(len(operands))
                indices = [k % n * n + k // n for k in range(n * n)]  # by columns, followed by R
                allocations[y] = _BlockMemory(n, self._memory(2 * n * n), list(zip(operands, indices, strict=True)))
            elif operation in SOLUTIONS:
                n = len(operands) - 1
                out = self._memory(n) if operation == "general_solve" else ""
                allocations[y] = _BlockMemory(n, self._memory(n), list(zip(operands[1:], range(n), strict=True)), out)
        return allocations

    @cached_property
    def _sparse(self) -> dict[int, Pattern]:
        """The symmetric matrices whose sparsity is exploited."""
        found: dict[int, Pattern] = {}
        for y, (operation, operands) in enumerate(self._program.lines, self._program.first_line):
            if operation == "symmetric_factor":
                n = order_of_symmetric(len(operands))
                pattern = Pattern.of(
                    n, (lower_triangle_index(k) for k, a in enumerate(operands) if not self._is_zero(a))
                )
                if pattern.worthwhile:
                    found[y] = pattern
        return found

    @cached_property
    def _variants(self) -> dict[int, dict[tuple[int, ...], tuple[int, ...]]]:
        """For every sparse factor the variants of the elimination of right-hand sides."""
        requested: dict[int, list[tuple[int, ...]]] = {}
        for operation, operands in self._program.lines:
            if operation == "symmetric_solve" and operands[0] in self._sparse:
                requested.setdefault(operands[0], []).append(self._reached(operands))
        return {y: variants(self._sparse[y], each) for y, each in requested.items()}

    def _is_zero(self, index: int) -> bool:
        k = index - len(self._program.inputs) - len(self._program.parameters)
        return 0 <= k < len(self._program.numbers) and self._program.numbers[k] == 0

    def _reached(self, operands: tuple[int, ...]) -> tuple[int, ...]:
        factor, *b = operands
        return self._sparse[factor].reached(i for i, a in enumerate(b) if not self._is_zero(a))

    def _sparse_source(self, factor: int) -> SparseSource:
        return SparseSource(self._sparse[factor], self._target, self._library.multiply_add)

    def _sparse_factor(self, y: int, operands: tuple[int, ...]) -> _BlockMemory:
        slots, zero = self._sparse[y].slots, next((a for a in operands if self._is_zero(a)), -1)
        entries = {lower_triangle_index(k): a for k, a in enumerate(operands)}
        stored = [(entries.get(index, zero), slot) for index, slot in slots.items()]
        name = self._library.function(f"sparse.{y}.factor", self._sparse_source(y).factor)
        return _BlockMemory(len(self._sparse[y].columns), self._memory(len(slots)), stored, "", (name,))

    def _sparse_solution(self, operands: tuple[int, ...]) -> _BlockMemory:
        factor, *b = operands
        reached = self._variants[factor][self._reached(operands)]
        sparse, number = self._sparse_source(factor), list(self._variants[factor].values()).index(reached)
        name = f"sparse.{factor}.inwards.{number}"
        calls = (
            self._library.function(name, lambda name: sparse.inwards(name, reached)),
            self._library.function(f"sparse.{factor}.outwards", sparse.outwards),
        )
        return _BlockMemory(len(b), self._memory(len(b)), [(b[i], i) for i in reached], "", calls)

    @cached_property
    def _store_targets(self) -> dict[int, list[tuple[str, int]]]:
        """Where values are stored as soon as they are computed, so that they need no other memory."""
        targets: dict[int, list[tuple[str, int]]] = {}
        for y, block in self._block_memory.items():
            for a, i in block.operands:
                if self._stored_when_computed(a, y):
                    targets.setdefault(a, []).append((block.at, i))
        return targets

    def _stored_when_computed(self, a: int, y: int) -> bool:
        """False for inputs, numbers and values computed once for many rounds, which are stored when their block is reached."""
        return (
            a >= self._program.first_line and self._program.depends_on_inputs[a] == self._program.depends_on_inputs[y]
        )

    def _memory(self, count: int) -> str:
        """Memory for `count` numbers of every lane, allocated once per function call."""
        at = f"%m{len(self._memory_names)}"
        self._memory_names.append(f"{at} = getelementptr {self._target.vector}, ptr %memory, i64 {self._allocated}")
        self._allocated += count
        return at

    def _inside(self, at: str, i: int) -> str:
        return self._row(f"getelementptr {self._target.vector}, ptr {at}, i64 {i}")

    def _store_number(self, value: str, at: str, i: int) -> None:
        self._rows.append(f"store {self._target.vector} {value}, ptr {self._inside(at, i)}")

    def _memory_rows(self) -> tuple[list[str], list[str]]:
        """The rows that allocate and free the memory: on the stack if it is small, since the stack of a thread is small."""
        if not self._allocated:
            return [], []
        size = self._allocated * self._target.lanes * (4 if self._target.single else 8)
        if size <= _SMALL:
            return [f"%memory = alloca {self._target.vector}, i64 {self._allocated}, align 64", *self._memory_names], []
        self._library.memory()
        rows = [f"%whole = call ptr @malloc(i64 {size + 64})", *ALIGN_MEMORY, *self._memory_names]
        return rows, ["call void @free(ptr %whole)"]

    @property
    def _bits(self) -> str:
        """The type of a condition."""
        return "i1" if self._target.lanes == 1 else f"<{self._target.lanes} x i1>"

    @cached_property
    def _pairs(self) -> dict[int, dict[str, list[int]]]:
        """The angles of which both sine and cosine are needed, and where."""
        found: dict[int, dict[str, list[int]]] = {}
        for i, (operation, operands) in enumerate(self._program.lines):
            if operation in ("sin", "cos"):
                uses_of = found.setdefault(operands[0], {"sin": [], "cos": []})
                uses_of[operation].append(self._program.first_line + i)
        return {a: uses_of for a, uses_of in found.items() if uses_of["sin"] and uses_of["cos"]}

    @cached_property
    def _before_angles(self) -> frozenset[int]:
        """The lines that compute the angles of `_pairs`, if these need no functions themselves."""
        program, first = self._program, self._program.first_line
        is_arithmetic = [True] * first
        for operation, operands in program.lines:
            is_arithmetic.append(bool(OPERATIONS[operation].llvm) and all(is_arithmetic[a] for a in operands))
        found = {a for a in self._pairs if is_arithmetic[a]}
        for i in reversed(range(len(program.lines))):
            if first + i in found:
                found.update(program.lines[i][1])
        return frozenset(a - first for a in found if a >= first)

    @cached_property
    def _fused(self) -> frozenset[int]:
        """The products that are added or subtracted once and have no other use."""
        if not self._target.fused:
            return frozenset()
        program, first = self._program, self._program.first_line
        uses = Counter(a for _, operands in program.lines for a in operands)
        uses.update(program.outputs)
        single = {
            first + i
            for i, (operation, _) in enumerate(program.lines)
            if operation == "multiply" and uses[first + i] == 1
        }
        fused: set[int] = set()
        for operation, operands in program.lines:
            if operation in ("add", "subtract"):
                fit = [a for a in operands if a in single]
                fused.update(fit[-1:])
        return frozenset(fused)

    def _sum_of_product(self, operation: str, operands: tuple[int, ...]) -> str | None:
        """a b + c, a b − c or c − a b in one operation; None if there is no such product."""
        product = next((a for a in reversed(operands) if a in self._fused), None)
        if product is None:
            return None
        vector = self._target.vector
        a, b = (self._names[k] for k in self._program.lines[product - self._program.first_line][1])
        second = operands[1] == product
        c = self._names[operands[0] if second else operands[1]]
        if operation == "subtract" and second:
            a = self._row(f"fneg {vector} {a}")
        elif operation == "subtract":
            c = self._row(f"fneg {vector} {c}")
        return self._library.multiply_add(self._row, a, b, c)


def _table_offsets(program: Program) -> dict[int, str]:
    """The offsets of tables in the numbers at `tables`."""
    index, start, found = program.first_line - len(program.tables), 0, dict[int, str]()
    for i, table in enumerate(program.tables):
        found[index + i] = f"i64 {start}, i64 {len(table)}, i64 {table.order}"
        start += 2 * len(table)
    return found


class _One(LlvmWriter):
    """Writes the module for one state."""

    def source(self) -> str:
        """The source of the module."""
        for i in range(len(self._program.inputs) + len(self._program.parameters)):
            self._names[i] = self._loaded(i)
        self._write(range(len(self._program.lines)))
        for i, index in enumerate(self._program.outputs):
            at = self._row(f"getelementptr {self._target.real}, ptr %out, i64 {i}")
            self._rows.append(f"store {self._target.real} {self._names[index]}, ptr {at}")
        allocations, left = self._memory_rows()
        function = _ONE_STATE.format(pointers=POINTERS, body="\n".join(allocations + self._rows), left="\n".join(left))
        return f"{self._library.source}\n{function}"

    def _loaded(self, i: int) -> str:
        """An input or a parameter."""
        n = len(self._program.inputs)
        array, k = ("%x", i) if i < n else ("%p", i - n)
        at = self._row(f"getelementptr {self._target.real}, ptr {array}, i64 {k}")
        return self._row(f"load {self._target.real}, ptr {at}")


class _Rows(dict[int, str]):
    """Names of values; those in memory are loaded where they are used, repeatedly after a while, to save registers.

    Only inputs in place are loaded once: all rows may compete for the same cache set, and the line may be gone.
    """

    def __init__(self, known: dict[int, str], writer: _Many) -> None:
        super().__init__(known)
        self._writer = writer
        self._last: dict[int, tuple[int, str]] = {}

    def __contains__(self, index: object) -> bool:
        return self._writer.is_in_memory(index) or super().__contains__(index)

    def __getitem__(self, index: int) -> str:
        if not self._writer.is_in_memory(index):
            return super().__getitem__(index)
        position, name = self._last.get(index, (-_SHORT, ""))
        if not name or (self._writer.length - position >= _SHORT and self._writer.is_near(index)):
            name = self._writer.load(index)
            self._last[index] = self._writer.length, name
        return name


class _Many(LlvmWriter):
    """Writes the module for many states."""

    @cached_property
    def _loop(self) -> BatchLoop:
        return BatchLoop(self._program, self._target)

    def source(self) -> str:
        """The source of the module."""
        program, loop = self._program, self._loop
        moving = [i for i in range(len(program.lines)) if program.depends_on_inputs[program.first_line + i]]
        head = self._head(sorted(set(range(len(program.lines))).difference(moving)))
        memory = [
            f"%{name} = getelementptr i8, ptr {self._memory(count)}, i64 0" for name, count in loop.memory.items()
        ]
        self._rows = []
        for index, slot in loop.result_slots.items() if loop.tiled else ():
            for r in range(0 if program.depends_on_inputs[index] else loop.rounds):  # written once
                self._store_number(self._names[index], "%tile", r * loop.size + slot)
        head, self._rows, self._begun = [*head, *self._rows], [], 0
        self._names = _Rows(self._names, self)
        for index, places in loop.targets.items():
            self._store_targets.setdefault(index, []).extend(places)
        computed = {program.first_line + i for i in moving}.difference(loop.sine_slots)
        for index in sorted({*loop.sine_slots, *loop.targets}.difference(computed)):  # no line computes them
            if not loop.tiled or program.depends_on_inputs[index]:
                for at, k in self._store_targets.get(index, ()):
                    self._store_number(self._names[index], at, k)
        self._write(self._ordered([i for i in moving if program.first_line + i not in loop.sine_slots]))
        check = self._names[program.outputs[-1]]
        sines = (
            f'call void @"{self._library.circles()}"({_SINES[loop.tiled]}, i64 {len(loop.angles)})'
            if loop.angles
            else ""
        )
        allocations, left = self._memory_rows()
        head = [*allocations, *memory, *head]
        function = loop.source(POINTERS, "\n".join(head), sines, "\n".join(self._rows), check, "\n".join(left))
        return "\n".join([self._library.source, loop.functions(), function])

    def _ordered(self, lines: list[int]) -> list[int]:
        """The lines in program order, or reordered for few live values if there are more than a processor's reorder window."""
        first, program = self._program.first_line, self._program
        if len(lines) < _MANY_LINES or any(program.lines[i][0] in BLOCKS for i in lines):
            return lines  # blocks work in memory, in program order
        needed: dict[int, tuple[int, ...]] = {}
        for i in lines:
            if first + i not in self._fused:
                operands = program.lines[i][1]
                inner = [program.lines[a - first][1] if a in self._fused else (a,) for a in operands]
                needed[first + i] = tuple(a for part in inner for a in part)
        return [y - first for y in compact_order(needed)]

    @property
    def length(self) -> int:
        """The number of named values."""
        return self._count

    def is_in_memory(self, index: object) -> bool:
        """True for inputs and their sines."""
        return index in self._loop.sine_slots or (isinstance(index, int) and index < self.inputs)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return len(self._program.inputs)

    def is_near(self, index: int) -> bool:
        """True for values in memory that stays in the cache: sines, and inputs in a tile."""
        return self._loop.tiled or index >= self.inputs

    def load(self, index: int) -> str:
        """An input or a sine of every lane."""
        vector, slot = self._target.vector, self._loop.sine_slots.get(index)
        if slot is not None:
            return self._row(f"load {vector}, ptr {self._inside('%sines', slot)}")
        if self._loop.tiled:
            return self._row(f"load {vector}, ptr {self._inside('%state', index)}")
        return self._row(f"load {vector}, ptr {self._row_at(index)}, align {self._width}")

    def _store_number(self, value: str, at: str, i: int) -> None:
        """Store a number to memory, or to a row of results, which has no address."""
        if at:
            super()._store_number(value, at, i)
        else:
            self._rows.append(f"store {self._target.vector} {value}, ptr {self._row_at(i)}, align {self._width}")

    def _row_at(self, row: int) -> str:
        """The address of the states of this round in a row."""
        pointer = self._row(f"load ptr, ptr {self._row(f'getelementptr ptr, ptr %rows, i64 {row}')}")
        return self._row(f"getelementptr {self._target.real}, ptr {pointer}, i64 %k")

    @property
    def _width(self) -> int:
        return 4 if self._target.single else 8

    def _head(self, constant_lines: list[int]) -> list[str]:
        """The rows for parameters and for values that depend only on parameters."""
        real = self._target.real
        for i in range(len(self._program.parameters)):
            at = self._row(f"getelementptr {real}, ptr %p, i64 {i}")
            self._names[len(self._program.inputs) + i] = self._in_all_lanes(self._row(f"load {real}, ptr {at}"))
        self._write(constant_lines)
        return self._rows


_ONE_STATE = """
define void @one({pointers}) {{
entry:
{body}
{left}
ret void
}}
"""
