"""Walks through a graph: its nodes in order, and the values of those that no symbol moves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dalembert.algebra.folding import value
from dalembert.algebra.nodes import PI, Constant, Node


def ordered(roots: Iterable[Node]) -> list[Node]:
    """The nodes below `roots` and themselves, arguments first.

    >>> from dalembert.algebra.nodes import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> ordered([x * y + x])
    [x, y, (x * y), (x + (x * y))]
    """
    found = set(roots)
    waiting = list(found)
    while waiting:
        for a in waiting.pop().arguments:
            if a not in found:
                found.add(a)
                waiting.append(a)
    return sorted(found, key=lambda each: each.number)


def numbers_in(order: Iterable[Node]) -> dict[Node, float]:
    """The values of all nodes that no symbol moves, of a list with arguments first.

    >>> from dalembert.algebra.nodes import call, constant, symbol
    >>> x = symbol("x")
    >>> {str(y): round(value, 3) for y, value in numbers_in(ordered([x * call("sin", constant(0.5))])).items()}
    {'pi': 3.142, '1/2': 0.5, 'sin(1/2)': 0.479}
    """
    known: dict[Node, float] = {PI: math.pi}
    with np.errstate(all="ignore"):
        for y in order:
            if isinstance(y, Constant):
                known[y] = float(y.value)
            elif y.arguments and all(a in known for a in y.arguments):
                known[y] = value(y.operation, *(known[a] for a in y.arguments))
    return known
