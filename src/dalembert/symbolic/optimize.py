"""Optimize a finished graph: the same functions with fewer operations.

Equal functions are computed once (`graph.merged`), then sums and products are factored (`_term_factoring`). The result is
never longer than the input, depends only on the content of the graph, and differs from it only by rounding: nothing is
expanded.

A quotient has a pole; a root, a logarithm or a power has a domain boundary beyond which it is NaN. An output may lose one (the
speed chosen for an angular velocity has no pole where the Euler angles have one) but never gains one, and a pole that some
output had remains in at least one output: x / x is preserved if nothing else is divided by x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.symbolic._term_factoring import factor_terms
from dalembert.symbolic.graph import Residues, magnitude, merged
from dalembert.symbolic.nodes import Constant, Node, constant, ordered, rebuild_node, symbol
from dalembert.symbolic.operations import value

MAX_OPERATIONS = 6000  # of a graph that is optimized, about one second; larger graphs would not recover the time
_ROUNDS = 3  # each preserves the quotients whose poles the previous one removed
_EDGES = frozenset(("sqrt", "log", "pow", "tan", "asin", "acos", "atan2"))


def operations(outputs: Sequence[Node]) -> int:
    """The operation count of the outputs, with shared parts counted once."""
    return sum(1 for y in ordered(outputs) if y.arguments)


def substitute_numbers(outputs: Sequence[Node], values: Mapping[str, float]) -> list[Node]:
    """Substitute numbers for the symbols named in `values` in the outputs, and fold operations on numbers.

    Fractions and multiples of π remain exact; a function of a number becomes a float.

    >>> from dalembert.symbolic.nodes import symbol
    >>> m, l, x = symbol("m"), symbol("l"), symbol("x")
    >>> substitute_numbers([m * l * l / 3 * x], {"m": 2.0, "l": 0.5})
    [(x * 1/6)]
    """
    table: dict[Node, Node] = {symbol(name): constant(number) for name, number in values.items()}
    for y in ordered(outputs):
        if y.arguments:
            new = rebuild_node(y.operation, [table.get(a, a) for a in y.arguments])
            numbers = [a.value for a in new.arguments if isinstance(a, Constant)]
            if numbers and len(numbers) == len(new.arguments):
                with np.errstate(all="ignore"):
                    new = constant(value(new.operation, *map(float, numbers)))
            table[y] = new
    return [table.get(y, y) for y in outputs]


def optimize(outputs: Sequence[Node]) -> list[Node]:
    """The same functions with fewer operations, or the outputs unchanged if there are more than `MAX_OPERATIONS` operations.

    >>> from dalembert.symbolic.nodes import symbol
    >>> x, y, z = symbol("x"), symbol("y"), symbol("z")
    >>> optimize([x * y + z * x, 2 * x * z + y * (x + x)])
    [(x * (z + y)), (2 * (x * (z + y)))]
    """
    best, length, preserved = list(outputs), operations(outputs), set[int]()
    if length > MAX_OPERATIONS:
        return best
    for _ in range(_ROUNDS):
        residues = Residues(preserved=preserved)
        shorter = merged(outputs, residues)
        lost: set[int] = set()
        for new in sorted((merged(factor_terms(shorter, residues), residues), shorter), key=operations):
            if operations(new) >= length:
                break
            lost = _changed_poles(outputs, new, residues)
            if not lost:
                return new
        if not lost:
            break
        preserved |= lost
    return best


def _changed_poles(before: Sequence[Node], after: Sequence[Node], residues: Residues) -> set[int]:
    """Denominators that an output gained or that all outputs lost, by magnitude."""
    order = ordered([*before, *after])
    residues.extend(order)
    factors = _Factors(order, residues)
    bits: dict[int, int] = {}
    below: dict[Node, int] = {}
    quotients: set[int] = set()
    for y in order:
        mask = 0
        for a in y.arguments:
            mask |= below[a]
        if y.operation == "divide" or y.operation in _EDGES:
            denominator = magnitude(residues[y.arguments[1] if y.operation == "divide" else y])
            quotients.add(denominator)
            for at in factors[denominator]:
                mask |= bits.setdefault(at, 1 << len(bits))
        below[y] = mask
    gained = all_before = all_after = 0
    for old, new in zip(before, after, strict=True):
        gained |= below[new] & ~below[old]
        all_before |= below[old]
        all_after |= below[new]
    changed = gained | (all_before & ~all_after)
    at_fault = {at for at, bit in bits.items() if bit & changed}
    return {denominator for denominator in quotients if at_fault & factors[denominator]}


class _Factors(dict[int, frozenset[int]]):
    """The factors of a function, by magnitude; numbers are omitted, and a power is replaced by its base."""

    def __init__(self, order: Sequence[Node], residues: Residues) -> None:
        super().__init__()
        self._products: dict[int, tuple[int, ...]] = {1: ()}
        for y in order:
            if y.operation == "multiply":
                parts = tuple(sorted(magnitude(residues[a]) for a in y.arguments))
                name = magnitude(residues[y])
                if name not in parts:
                    self._products[name] = min(parts, self._products.get(name, parts))
            elif isinstance(y, Constant):
                self._products[magnitude(residues[y])] = ()

    def __missing__(self, name: int) -> frozenset[int]:
        visited, waiting, found = {name}, [name], set[int]()
        while waiting:
            parts = self._products.get(one := waiting.pop())
            if parts is None:
                found.add(one)
            for part in parts or ():
                if part not in visited:
                    visited.add(part)
                    waiting.append(part)
        self[name] = frozenset(found)
        return self[name]
