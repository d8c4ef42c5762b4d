"""One pass over a finished graph that leaves the same functions with fewer operations.

Equal functions are computed once (`identities`), then sums and products are put together anew (`gathering`). What comes out is
never longer than what went in, depends on the content of the graph only, and differs from it by rounding alone: nothing is
multiplied out.

A quotient has a pole, and a root, a logarithm or a power an edge, beyond which it is not a number. An output may lose one (the
speed chosen for an angular velocity has no pole where Euler's angles have one) but never gains one, and what warned at some
output still warns at one: x / x stays where nothing else is divided by x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.symbolic._function_identity import Residues, magnitude, merged
from dalembert.symbolic._term_factoring import gathered
from dalembert.symbolic.nodes import Constant, Node, again, constant, ordered, symbol
from dalembert.symbolic.operations import value

MOST = 6000  # nodes of a graph that is shortened: a second of work, which a longer one would not give back
_ROUNDS = 3  # each keeps the quotients whose poles the one before lost
_EDGES = frozenset(("sqrt", "log", "pow", "tan", "asin", "acos", "atan2"))


def operations(outputs: Sequence[Node]) -> int:
    """How many operations the outputs take, shared parts counted once."""
    return sum(1 for y in ordered(outputs) if y.arguments)


def folded_with(outputs: Sequence[Node], values: Mapping[str, float]) -> list[Node]:
    """The outputs with numbers in the place of the symbols named in `values`, and operations on numbers carried out.

    Fractions stay exact, and so do multiples of π; a function of a number becomes a float.

    >>> from dalembert.symbolic.nodes import symbol
    >>> m, l, x = symbol("m"), symbol("l"), symbol("x")
    >>> folded_with([m * l * l / 3 * x], {"m": 2.0, "l": 0.5})
    [(x * 1/6)]
    """
    table: dict[Node, Node] = {symbol(name): constant(number) for name, number in values.items()}
    for y in ordered(outputs):
        if y.arguments:
            new = again(y.operation, [table.get(a, a) for a in y.arguments])
            numbers = [a.value for a in new.arguments if isinstance(a, Constant)]
            if numbers and len(numbers) == len(new.arguments):
                with np.errstate(all="ignore"):
                    new = constant(value(new.operation, *map(float, numbers)))
            table[y] = new
    return [table.get(y, y) for y in outputs]


def shortened(outputs: Sequence[Node]) -> list[Node]:
    """The same functions with fewer operations, or the outputs themselves, as they are where there are more than `MOST` nodes.

    >>> from dalembert.symbolic.nodes import symbol
    >>> x, y, z = symbol("x"), symbol("y"), symbol("z")
    >>> shortened([x * y + z * x, 2 * x * z + y * (x + x)])
    [(x * (z + y)), (2 * (x * (z + y)))]
    """
    best, length, kept = list(outputs), operations(outputs), set[int]()
    if length > MOST:
        return best
    for _ in range(_ROUNDS):
        residues = Residues(kept=kept)
        short = merged(outputs, residues)
        lost: set[int] = set()
        for new in sorted((merged(gathered(short, residues), residues), short), key=operations):
            if operations(new) >= length:
                break
            lost = _changed_poles(outputs, new, residues)
            if not lost:
                return new
        if not lost:
            break
        kept |= lost
    return best


def _changed_poles(before: Sequence[Node], after: Sequence[Node], residues: Residues) -> set[int]:
    """What some output is divided by anew, or no output any longer, by the magnitudes of denominators."""
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
            whole = magnitude(residues[y.arguments[1] if y.operation == "divide" else y])
            quotients.add(whole)
            for at in factors[whole]:
                mask |= bits.setdefault(at, 1 << len(bits))
        below[y] = mask
    gained = all_before = all_after = 0
    for old, new in zip(before, after, strict=True):
        gained |= below[new] & ~below[old]
        all_before |= below[old]
        all_after |= below[new]
    changed = gained | (all_before & ~all_after)
    at_fault = {at for at, bit in bits.items() if bit & changed}
    return {whole for whole in quotients if at_fault & factors[whole]}


class _Factors(dict[int, frozenset[int]]):
    """What a function is a product of, by magnitudes; numbers are left out, and a power is its base."""

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
        seen, waiting, found = {name}, [name], set[int]()
        while waiting:
            parts = self._products.get(one := waiting.pop())
            if parts is None:
                found.add(one)
            for part in parts or ():
                if part not in seen:
                    seen.add(part)
                    waiting.append(part)
        self[name] = frozenset(found)
        return self[name]
