"""Whether two formulas are the same function, proved in the exact algebra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import symengine as se

from dalembert.errors import DalembertError
from dalembert.symbolic.formula_writer import with_exact_numbers
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.nodes import Node, node, symbol
from dalembert.symbolic.prime_field import Undecidable
from dalembert.symbolic.random_points import NoRoot, Point
from dalembert.symbolic.symbols import Formula
from dalembert.symbolic.traversal import ordered

Verdict = Literal["proved", "different", "undecided"]
Line = tuple[str, Formula]  # a name and what it stands for, in the order they can be computed

_POINTS = 2  # random points of the prime field; each alone errs with a probability of degree / 2¹²⁷
_TRIES = 40  # points that are looked at for each of them; half of them have the root of a given quantity
_MOST = 4000  # points that are looked at


def proved_equal(first: Sequence[Formula], second: Sequence[Formula], lines: Iterable[Line] = ()) -> Verdict:
    """Whether the formulas of two lists are the same functions one by one; `lines` define names that they use.

    Doubles are taken as the short decimals or fractions that they stand for. "different" and "proved" are never guesses:
    what the field cannot decide is "undecided".

    >>> x, y, z = se.symbols("x y z")
    >>> proved_equal([se.sin(x) * se.cos(y) - se.cos(x) * se.sin(y)], [se.sin(x - y)])
    'proved'
    >>> proved_equal([(x + y) ** 2], [z**2], [("z", x + y)]), proved_equal([x], [y])
    ('proved', 'different')
    """
    if len(first) != len(second):
        return "different"
    lines = list(lines)
    try:
        table = _symbols([*first, *second, *(value for _, value in lines)])
        lowered = Lowering(GRAPH, table)
        for name, value in lines:
            table[name] = node(lowered(with_exact_numbers(value)))
        exact = [[node(lowered(with_exact_numbers(value))) for value in values] for values in (first, second)]
        return _compared(list(zip(*exact, strict=True)))
    except (Undecidable, DalembertError):
        return "undecided"


def _symbols(formulas: Iterable[Formula]) -> dict[str, Node]:
    return {s.name: symbol(s.name) for formula in formulas for s in se.sympify(formula).free_symbols}


def _compared(pairs: Sequence[tuple[Node, Node]]) -> Verdict:
    pairs = [(a, b) for a, b in pairs if a is not b]
    if not pairs:
        return "proved"
    roots = [y for pair in pairs for y in pair]
    agreed = 0
    roots_taken = sum(y.operation in ("sqrt", "pow") for y in ordered(roots))
    for seed in range(1, min(_TRIES * 2**roots_taken, _MOST)):
        point = Point(seed, roots)
        try:
            values = point.values(roots)
        except (NoRoot, ZeroDivisionError):
            continue
        if values[::2] != values[1::2]:
            # equal angles may look different where they are no sums of symbols
            return "undecided" if point.composite else "different"
        agreed += 1
        if agreed == _POINTS:
            return "proved"
    return "undecided"
