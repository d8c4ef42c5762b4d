"""Walks through a graph: its nodes in order, and the values of those that no symbol moves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dalembert.symbolic.algebra_base import Operand
from dalembert.symbolic.nodes import PI, Constant, Node
from dalembert.symbolic.operations import BLOCKS, OPERATIONS, value


def ordered(roots: Iterable[Node]) -> list[Node]:
    """The nodes below `roots` and themselves, arguments first, in an order that follows from their content.

    >>> from dalembert.symbolic.nodes import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> ordered([x * y + x])
    [x, y, (x * y), ((x * y) + x)]
    """
    found: set[Node] = set()
    order: list[Node] = []
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            y, ready = waiting.pop()
            if ready:
                order.append(y)
            elif y not in found:
                found.add(y)
                waiting.append((y, True))
                waiting += [(a, False) for a in reversed(y.arguments) if a not in found]
    return order


def numbers_in(order: Iterable[Node]) -> dict[Node, float]:
    """The values of all nodes that no symbol moves, of a list with arguments first.

    >>> from dalembert.symbolic.nodes import call, constant, symbol
    >>> x = symbol("x")
    >>> {str(y): round(value, 3) for y, value in numbers_in(ordered([x * call("sin", constant(0.5))])).items()}
    {'pi': 3.142, '1/2': 0.5, 'sin(1/2)': 0.479}
    """
    known: dict[Node, float] = {PI: math.pi}
    whole: dict[Node, Operand] = {}
    with np.errstate(all="ignore"):
        for y in order:
            if isinstance(y, Constant):
                known[y] = float(y.value)
            elif y.arguments and all(a in known or a in whole for a in y.arguments):
                found = _worked_out(y, known, whole)
                if found is not None:
                    known[y] = found
    return known


def _worked_out(y: Node, known: dict[Node, float], whole: dict[Node, Operand]) -> float | None:
    """The value of a node; those of factors and solutions are kept as a whole, for their entries."""
    if y.operation not in BLOCKS:
        return value(y.operation, *(known[a] for a in y.arguments))
    found = OPERATIONS[y.operation].array(*(whole.get(a, known.get(a)) for a in y.arguments))
    if y.operation == "entry":
        return float(found)
    whole[y] = found
    return None
