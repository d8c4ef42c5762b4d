"""Loops over the links of a tree as a value: one straight-line program per link type, run outward or inward.

A program accesses its link only through storage locations: numbers in the link's row of a table, rows of the inputs and outputs
that the row names, values stored for the link from one sweep to the next, and values passed between a link and its parent. The
table is data, so the same machine code serves every tree of these link types, whatever its size.

Passed values use slots that are reused as soon as they are free: a chain needs one slot, whatever its length. Only the stored
values need memory proportional to the number of links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.program import Program, Slots, program_of
from dalembert.symbolic.nodes import Node, Symbol, ordered, symbol


class Storage(Enum):
    """Storage class of a value.

    The strings name symbols, whose order determines the order of commutative operands and thus rounding.
    """

    NUMBER = "number"  # in the link's row of the table: the same for all states
    ROW = "row"  # in the row of the inputs, or of the outputs, that the table names
    LINK = "kept"  # with the link, from one sweep to the next
    PASSED = "passed"  # outward: from the parent, to the children; inward: the sum from the children, to the parent


class Location(NamedTuple):
    """One value of a link: storage class and index."""

    storage: Storage
    at: int

    @property
    def symbol(self) -> Symbol:
        """The symbol of this value while a step is traced."""
        return symbol(f"{self.storage.value} {self.at}")


@dataclass(frozen=True)
class SweepStep:
    """The operations of a sweep on a link of one type: a program and the locations of its inputs and outputs."""

    program: Program
    inputs: tuple[Location, ...]
    outputs: tuple[Location, ...]


def step_of(outputs: Mapping[Location, Node]) -> SweepStep:
    """The step that computes these values from the symbols of locations."""
    used = {y.value for y in ordered(list(outputs.values())) if isinstance(y, Symbol)}
    found = sorted(map(_read, used), key=lambda location: (location.storage.value, location.at))
    program = program_of(list(outputs.values()), [location.symbol.value for location in found])
    return SweepStep(program, tuple(found), tuple(outputs))


def _read(name: str) -> Location:
    storage, index = name.split()
    return Location(Storage(storage), int(index))


@dataclass(frozen=True)
class Sweep:
    """One pass over all links, parents first (outward) or children first: number of passed values, and a step per link type."""

    outwards: bool
    passed: int
    steps: tuple[SweepStep, ...]


@dataclass(frozen=True)
class Sweeps:
    """Successive passes over a tree; `stored`, `rows` and `numbers` are the counts for a link of each type."""

    stored: tuple[int, ...]
    rows: tuple[int, ...]
    numbers: tuple[int, ...]
    sweeps: tuple[Sweep, ...] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Content hash; equal sweeps have equal digests."""
        parts = [str((self.stored, self.rows, self.numbers))]
        for sweep in self.sweeps:
            parts.append(f"{sweep.outwards} {sweep.passed}")
            for step in sweep.steps:
                locations = [f"{location.storage.value} {location.at}" for location in (*step.inputs, *step.outputs)]
                parts.append(f"{step.program.digest} {len(step.inputs)} {locations}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def operations(self) -> tuple[int, ...]:
        """Operation count for a link of each type."""
        return tuple(sum(sweep.steps[k].program.operations for sweep in self.sweeps) for k in range(len(self.stored)))


class Members(NamedTuple):
    """The links of one type in a table: their indices, their rows of inputs and outputs, and their numbers."""

    links: np.ndarray  # (k,)
    rows: np.ndarray  # (k, rows)
    numbers: np.ndarray  # (k, numbers)


HEAD = 4  # header words: number of links, stored values per state, slots of outward and inward sweeps
ROW = 7  # header words of a row: type, offset of the stored values, then `_slots_outwards` and `_slots_inwards`


def table_of(
    sweeps: Sweeps, parents: Sequence[int], members: Sequence[Members], world: Sequence[Sequence[float]]
) -> np.ndarray:
    """The table of a tree as 64-bit words, integers and doubles.

    Parents (−1 is the world) precede their children. `members` are the links of each type, and `world` the values passed from
    the world, for each outward sweep.
    """
    (outwards, n_outwards), (inwards, n_inwards) = _slots_outwards(parents), _slots_inwards(parents)
    sizes, stored = np.zeros(len(parents), np.int64), np.zeros(len(parents), np.int64)
    for link_type, (links, rows, numbers) in enumerate(members):
        sizes[links], stored[links] = ROW + rows.shape[1] + numbers.shape[1], sweeps.stored[link_type]
    world_values = np.array([x for values in world for x in values], dtype=float)
    first = HEAD + len(world_values) + len(parents)
    starts = first + np.cumsum(sizes) - sizes
    out = np.zeros(first + int(sizes.sum()))
    words = out.view(np.int64)
    words[:HEAD] = len(parents), stored.sum(), n_outwards, n_inwards
    out[HEAD : HEAD + len(world_values)] = world_values
    words[first - len(parents) : first] = starts
    heads = np.column_stack([np.cumsum(stored) - stored, outwards, inwards])
    for link_type, (links, rows, numbers) in enumerate(members):
        at = starts[links][:, None]
        words_of_links = np.column_stack([np.full(len(links), link_type), heads[links], rows])
        words[at + np.arange(words_of_links.shape[1])] = words_of_links
        out[at + words_of_links.shape[1] + np.arange(numbers.shape[1])] = numbers
    return out


def _slots_outwards(parents: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """For each link the slot it reads and the slot it writes; slot 0 belongs to the world.

    A slot is free after the last child has read it, and that child may write it immediately.
    """
    last = {parent: i for i, parent in enumerate(parents)}
    slots, slot_of, out = Slots(1), list[int](), list[tuple[int, int]]()
    for i, parent in enumerate(parents):
        read = slot_of[parent] if parent >= 0 else 0
        if parent >= 0 and last[parent] == i:
            slots.release(read)
        slot_of.append(slots.allocate())
        if i not in last:
            slots.release(slot_of[i])
        out.append((read, slot_of[i]))
    return out, slots.count


def _slots_inwards(parents: Sequence[int]) -> tuple[list[tuple[int, int, int]], int]:
    """For each link the slot it reads, the slot it writes, and the slot to which the result is added, 0 for none.

    Slot 0 contains zeros, for links without children; slot 1 receives values passed to the world and temporary sums. The first
    child allocates a slot for its parent, possibly the one it has just read, and writes there.
    """
    slots, slot_of, out = Slots(2), dict[int, int](), list[tuple[int, int, int]]()
    for i in reversed(range(len(parents))):
        parent, read = parents[i], slot_of.get(i, 0)
        if read:
            slots.release(read)
        if parent < 0:
            out.append((read, 1, 0))
        elif parent in slot_of:
            out.append((read, 1, slot_of[parent]))
        else:
            slot_of[parent] = slots.allocate()
            out.append((read, slot_of[parent], 0))
    return out[::-1], slots.count
