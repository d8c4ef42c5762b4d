"""The function for many states: tiles of states are gathered, computed and scattered.

Rows of a batch are far apart in memory, often by a power of two, where they compete for the same cache sets. So some dozens of
states of all rows are copied into a tile, in which the numbers of `lanes` states are adjacent. The sines and cosines of all
inputs that are angles are computed there, row by row, before the program runs. The program accesses only the tile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dalembert.codegen.program import Program

if TYPE_CHECKING:
    from dalembert.codegen.llvm._emit import MachineTarget


MAX_TILE_STATES = 64  # of a tile: eight cache lines of each row, which processors prefetch
MAX_TILE_BYTES = 2**18  # of a tile


@dataclass(frozen=True)
class Tile:
    """Slots of numbers in a round of lanes: inputs, sines and cosines of angles, then outputs."""

    program: Program
    target: MachineTarget

    @cached_property
    def angles(self) -> tuple[int, ...]:
        """The inputs of which a sine or a cosine is needed."""
        function_arguments = {operands[0] for operation, operands in self.program.lines if operation in ("sin", "cos")}
        return tuple(sorted(a for a in function_arguments if a < len(self.program.inputs)))

    @cached_property
    def input_slots(self) -> dict[int, int]:
        """The slots of the values that exist before the program runs, by value index."""
        n, first = len(self.program.inputs), self.program.first_line
        slots = {i: i for i in range(n)}
        slot_of_angle = {a: n + 2 * k for k, a in enumerate(self.angles)}
        for y, (operation, operands) in enumerate(self.program.lines, first):
            if operation in ("sin", "cos") and operands[0] in slot_of_angle:
                slots[y] = slot_of_angle[operands[0]] + (operation == "cos")
        return slots

    @cached_property
    def output_slots(self) -> dict[int, int]:
        """The slots of outputs that the program computes, by value index; equal outputs share a slot."""
        computed_outputs = dict.fromkeys(index for index in self.program.outputs if index not in self.input_slots)
        first = len(self.program.inputs) + 2 * len(self.angles)
        return {index: first + k for k, index in enumerate(computed_outputs)}

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self.program.inputs) + 2 * len(self.angles) + len(self.output_slots)

    @cached_property
    def rounds(self) -> int:
        """The number of rounds of lanes in a tile: a power of two, at least one cache line."""
        lanes, width = self.target.lanes, 4 if self.target.single else 8
        states = max(MAX_TILE_STATES * 8 // width, lanes)
        while states * width > 64 and states > lanes and states * width * self.size > MAX_TILE_BYTES:
            states //= 2
        return states // lanes

    def functions(self, circles: str) -> str:
        """The functions that gather a tile, compute sines and cosines by the function `circles`, and scatter the tile."""
        names = self._names
        slots = [(self.input_slots | self.output_slots)[index] for index in self.program.outputs]
        parts = [
            _constants("slots", slots),
            _constants("angles", self.angles),
            self._copier("scatter", _SCATTER, "%near", "%far"),
            _ROWS.format(**names, name="scatter.all", called="scatter", rows=len(slots), slot=_SLOT),
        ]
        if self.program.inputs:
            parts += [
                self._copier("gather", _GATHER, "%far", "%near"),
                _ROWS.format(**names, name="gather.all", called="gather", rows=len(self.program.inputs), slot=_SAME),
            ]
        if self.angles:
            first = len(self.program.inputs)
            parts.append(_SINE_COSINE.format(**names, circles=circles, count=len(self.angles), first=first))
        return "\n".join(parts)

    @property
    def _names(self) -> dict[str, object]:
        target = self.target
        return {
            "real": target.real,
            "vector": target.vector,
            "width": 4 if target.single else 8,
            "lanes": target.lanes,
            "size": self.size,
            "states": self.rounds * target.lanes,
        }

    def _copier(self, name: str, each: str, source: str, target: str) -> str:
        """The function that copies one row of a tile."""
        some, each = _PARTIAL_ROW.format(**self._names, source=source, target=target), each.format(**self._names)
        copies = "\n".join(self._copies(source, target))
        return _COPIER.format(**self._names, name=name, copies=copies, some=some, each=each)

    def _copies(self, source: str, target: str) -> list[str]:
        """Instructions that copy a full row of a tile: near numbers are one round apart, far ones are adjacent."""
        rows, vector = [], self.target.vector
        steps, aligned = (
            {"%near": self.size, "%far": 1},
            {"%near": "", "%far": f", align {4 if self.target.single else 8}"},
        )
        for i in range(self.rounds):
            for index, name in ((source, "a"), (target, "b")):
                rows.append(f"%{name}{i} = getelementptr {vector}, ptr {index}, i64 {i * steps[index]}")
            rows.append(f"%v{i} = load {vector}, ptr %a{i}{aligned[source]}")
        rows += [f"store {vector} %v{i}, ptr %b{i}{aligned[target]}" for i in range(self.rounds)]
        return rows

    def steps(self) -> tuple[str, str]:
        """The calls before and after the program."""
        before = []
        if self.program.inputs:
            before.append("call void @gather.all(ptr %x, ptr %tile, i64 %first, i64 %count)")
        if self.angles:
            before.append("call void @sine.cosine.all(ptr %tile, i64 %slots)")
        return "\n".join(before), "call void @scatter.all(ptr %out, ptr %tile, i64 %first, i64 %count)"


def _constants(name: str, numbers: tuple[int, ...] | list[int]) -> str:
    listed = ", ".join(f"i64 {i}" for i in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i64] [{listed}]" if numbers else ""


_SAME = "%slot = add i64 %i, 0"
_SLOT = "%slot.at = getelementptr i64, ptr @slots, i64 %i\n%slot = load i64, ptr %slot.at"
# an incomplete row: round by round, then the last states one by one
_PARTIAL_ROW = """
some:
%rounds = udiv i64 %count, {lanes}
%most = mul i64 %rounds, {lanes}
%none = icmp eq i64 %rounds, 0
br i1 %none, label %rest, label %round
round:
%r = phi i64 [ 0, %some ], [ %r.next, %round ]
%r.far = mul i64 %r, {lanes}
%r.near = mul i64 %r, {size}
%far.r = getelementptr {real}, ptr %far, i64 %r.far
%near.r = getelementptr {vector}, ptr %near, i64 %r.near
%several = load {vector}, ptr {source}.r, align {width}
store {vector} %several, ptr {target}.r, align {width}
%r.next = add i64 %r, 1
%again = icmp slt i64 %r.next, %rounds
br i1 %again, label %round, label %rest
rest:
%last.slot = mul i64 %rounds, {size}
%line = getelementptr {vector}, ptr %near, i64 %last.slot
%open = icmp slt i64 %most, %count
br i1 %open, label %each, label %done
"""
_COPIER = """
define internal void @{name}(ptr noalias %far, ptr noalias %near, i64 %count) noinline {{
entry:
%whole = icmp eq i64 %count, {states}
br i1 %whole, label %all, label %some
all:
{copies}
ret void
{some}
each:
%lane = phi i64 [ 0, %rest ], [ %next, %each ]
{each}
done:
ret void
}}
"""
_GATHER = """\
%i = add i64 %most, %lane
%final = sub i64 %count, 1
%late = icmp sgt i64 %i, %final
%k = select i1 %late, i64 %final, i64 %i
%from = getelementptr {real}, ptr %far, i64 %k
%v = load {real}, ptr %from
%into = getelementptr {real}, ptr %line, i64 %lane
store {real} %v, ptr %into
%next = add i64 %lane, 1
%more = icmp slt i64 %next, {lanes}
br i1 %more, label %each, label %done"""
_SCATTER = """\
%i = add i64 %most, %lane
%from = getelementptr {real}, ptr %line, i64 %lane
%v = load {real}, ptr %from
%into = getelementptr {real}, ptr %far, i64 %i
store {real} %v, ptr %into
%next = add i64 %lane, 1
%i.next = add i64 %i, 1
%more = icmp slt i64 %i.next, %count
br i1 %more, label %each, label %done"""
# arrays are described by the address of their data, the bytes between rows, and the number of rows
_ROWS = """
define internal void @{name}(ptr noalias readonly %arrays, ptr noalias %tile, i64 %first, i64 %count) noinline {{
entry:
%shift = mul i64 %first, {width}
br label %array
array:
%array.at = phi ptr [ %arrays, %entry ], [ %array.next, %array.done ]
%begin = phi i64 [ 0, %entry ], [ %end, %array.done ]
%base = load i64, ptr %array.at
%step.at = getelementptr i64, ptr %array.at, i64 1
%step = load i64, ptr %step.at
%rows.at = getelementptr i64, ptr %array.at, i64 2
%rows = load i64, ptr %rows.at
%array.next = getelementptr i64, ptr %array.at, i64 3
%start = add i64 %base, %shift
%end = add i64 %begin, %rows
br label %row
row:
%i = phi i64 [ %begin, %array ], [ %next, %copy ]
%place = phi i64 [ %start, %array ], [ %place.next, %copy ]
%left = icmp slt i64 %i, %end
br i1 %left, label %copy, label %array.done
copy:
%far = inttoptr i64 %place to ptr
{slot}
%near = getelementptr {vector}, ptr %tile, i64 %slot
call void @{called}(ptr %far, ptr %near, i64 %count)
%next = add i64 %i, 1
%place.next = add i64 %place, %step
br label %row
array.done:
%more = icmp slt i64 %end, {rows}
br i1 %more, label %array, label %done
done:
ret void
}}
"""
_SINE_COSINE = """
define internal void @sine.cosine.all(ptr noalias %tile, i64 %slots) noinline {{
entry:
br label %each
each:
%i = phi i64 [ 0, %entry ], [ %next, %each ]
%angle.at = getelementptr i64, ptr @angles, i64 %i
%angle = load i64, ptr %angle.at
%from = getelementptr {vector}, ptr %tile, i64 %angle
%twice = mul i64 %i, 2
%slot = add i64 %twice, {first}
%into = getelementptr {vector}, ptr %tile, i64 %slot
call void @"{circles}"(ptr %from, ptr %into, i64 {size}, i64 %slots)
%next = add i64 %i, 1
%more = icmp slt i64 %next, {count}
br i1 %more, label %each, label %done
done:
ret void
}}
"""
LOOP = """
define void @many({pointers}, i64 %begin, i64 %end, i64 %stride) {{
entry:
{head}
br label %start
start:
br label %next.tile
next.tile:
%first = phi i64 [ %begin, %start ], [ %after, %tail ]
%rest = sub i64 %end, %first
%short = icmp slt i64 %rest, {states}
%count = select i1 %short, i64 %rest, i64 {states}
%up = add i64 %count, {lanes_1}
%rounds = udiv i64 %up, {lanes}
%slots = mul i64 %rounds, {size}
{before}
br label %round
round:
%slot = phi i64 [ 0, %next.tile ], [ %slot.next, %round.done ]
%state = getelementptr {vector}, ptr %tile, i64 %slot
{body}
br label %round.done
round.done:
%slot.next = add i64 %slot, {size}
%again = icmp slt i64 %slot.next, %slots
br i1 %again, label %round, label %tail
tail:
{behind}
%after = add i64 %first, {states}
%more = icmp slt i64 %after, %end
br i1 %more, label %next.tile, label %done
done:
{left}
ret void
}}
"""


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
