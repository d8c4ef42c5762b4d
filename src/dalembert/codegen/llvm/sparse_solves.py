"""Symmetric systems whose zeros are known, in machine code: functions without loops, each called for many right sides.

L D Lᵀ fills in next to nothing where a matrix comes from a tree and its branches are eliminated before what carries them. Only
entries that are not zero have a place in memory: those of L column by column, each behind 1/D of its column. A right side that
begins as zeros in most places is eliminated only where it reaches; the way back is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.codegen.llvm.emit import Target

_MOST = 6000  # products of a factor that is written out
Row = Callable[[str], str]


@dataclass(frozen=True)
class Pattern:
    """The rows below the diagonal in each column of L, with those that fill in."""

    columns: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, n: int, used: Iterable[tuple[int, int]]) -> Pattern:
        """Of a matrix with these entries, row and column.

        >>> Pattern.of(3, [(1, 0), (2, 0)]).columns
        ((1, 2), (2,), ())
        """
        rows = [set[int]() for _ in range(n)]
        for i, j in used:
            rows[min(i, j)].add(max(i, j))
        for j, below in enumerate(rows):
            below.discard(j)
            for i in below:
                rows[i] |= {k for k in below if k > i}
        return cls(tuple(tuple(sorted(below)) for below in rows))

    @cached_property
    def slots(self) -> dict[tuple[int, int], int]:
        """Where entries lie, by row and column."""
        places = [(i, j) for j, below in enumerate(self.columns) for i in (j, *below)]
        return {place: k for k, place in enumerate(places)}

    @property
    def worthwhile(self) -> bool:
        """True where the functions are short."""
        return sum(len(below) * (len(below) + 3) // 2 for below in self.columns) <= _MOST

    def reached(self, used: Iterable[int]) -> tuple[int, ...]:
        """The places of a right side that are not zero in the end, from those that are not at first."""
        found = set(used)
        for j, below in enumerate(self.columns):
            if j in found:
                found.update(below)
        return tuple(sorted(found))

    def length(self, reached: Iterable[int]) -> int:
        """Products of the elimination of a right side."""
        return sum(1 + len(self.columns[j]) for j in reached)


def variants(pattern: Pattern, wanted: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """For each set of places one that holds it and is hardly longer: few functions serve many right sides."""
    chosen, kept = dict[tuple[int, ...], tuple[int, ...]](), list[tuple[int, ...]]()
    for reached in sorted(set(wanted), key=lambda each: (-pattern.length(each), each)):
        most = 1.4 * pattern.length(reached) + 8
        fit = next(
            (other for other in reversed(kept) if {*reached} <= {*other} and pattern.length(other) <= most), None
        )
        chosen[reached] = reached if fit is None else fit
        if fit is None:
            kept.append(reached)
    return chosen


class SparseText:
    """Writes the functions of one pattern; `multiply_add` writes a b + c."""

    def __init__(self, pattern: Pattern, target: Target, multiply_add: Callable[[Row, str, str, str], str]) -> None:
        self._pattern, self._target, self._multiply_add = pattern, target, multiply_add
        self._rows: list[str] = []

    def factor(self, name: str) -> str:
        """L and 1/D in the place of a matrix."""
        kind, columns, slots = self._target.vector, self._pattern.columns, self._pattern.slots
        self._rows = []
        A = {place: self._load("%A", k) for place, k in slots.items()}
        for j, below in enumerate(columns):
            shrink = self._row(f"fdiv {kind} {self._target.constant(1.0)}, {A[j, j]}")
            self._store(shrink, "%A", slots[j, j])
            for a, k in enumerate(below):
                u = self._row(f"fmul {kind} {A[k, j]}, {shrink}")
                self._store(u, "%A", slots[k, j])
                for i in below[a:]:
                    A[i, k] = self._less(A[i, k], u, A[i, j])
        return self._function(name, "ptr noalias %A")

    def inwards(self, name: str, reached: Sequence[int]) -> str:
        """D⁻¹ L⁻¹ x in the place of x, which is zero but at the places `reached`; there it is given."""
        kind, slots = self._target.vector, self._pattern.slots
        self._rows = []
        x = {i: self._load("%x", i) for i in reached}
        for j in reached:
            for i in self._pattern.columns[j]:
                x[i] = self._less(x[i], self._load("%A", slots[i, j]), x[j])
            scaled = self._row(f"fmul {kind} {x[j]}, {self._load('%A', slots[j, j])}")
            self._store(scaled, "%x", j)
        for j in set(range(len(self._pattern.columns))).difference(reached):
            self._store(self._target.constant(0.0), "%x", j)
        return self._function(name, "ptr noalias readonly %A, ptr noalias %x")

    def outwards(self, name: str) -> str:
        """L⁻ᵀ x in the place of x."""
        columns, slots = self._pattern.columns, self._pattern.slots
        self._rows = []
        x = [self._load("%x", i) for i in range(len(columns))]
        for i in reversed(range(len(columns))):
            self._store(x[i], "%x", i)
            for j in range(i):
                if i in columns[j]:
                    x[j] = self._less(x[j], self._load("%A", slots[i, j]), x[i])
        return self._function(name, "ptr noalias readonly %A, ptr noalias %x")

    def _function(self, name: str, arguments: str) -> str:
        rows = "\n".join(self._rows)
        return f'define internal void @"{name}"({arguments}) noinline {{\n{rows}\nret void\n}}'

    def _row(self, instruction: str) -> str:
        self._rows.append(f"%r{len(self._rows)} = {instruction}")
        return f"%r{len(self._rows) - 1}"

    def _at(self, pointer: str, k: int) -> str:
        return self._row(f"getelementptr {self._target.vector}, ptr {pointer}, i64 {k}")

    def _load(self, pointer: str, k: int) -> str:
        return self._row(f"load {self._target.vector}, ptr {self._at(pointer, k)}")

    def _store(self, value: str, pointer: str, k: int) -> None:
        self._rows.append(f"store {self._target.vector} {value}, ptr {self._at(pointer, k)}")

    def _less(self, c: str, a: str, b: str) -> str:
        """c − a b."""
        kind = self._target.vector
        if not self._target.fused:
            return self._row(f"fsub {kind} {c}, {self._row(f'fmul {kind} {a}, {b}')}")
        return self._multiply_add(self._row, self._row(f"fneg {kind} {a}"), b, c)
