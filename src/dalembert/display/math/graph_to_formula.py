"""From the graph to formulas: what is derived where nothing grows, written out where that is short enough to be read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from dalembert.display.math.short_forms import HUGE, TooLong
from dalembert.symbolic.algebra_base import Array, Operand
from dalembert.symbolic.nodes import Constant, HeldTable, Node, Symbol
from dalembert.symbolic.operations import FUNCTIONS
from dalembert.symbolic.symengine_algebra import SYMBOLIC
from dalembert.symbolic.traversal import ordered

_SIGNS: dict[str, Callable[..., Operand]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "less": lambda a, b: SYMBOLIC.less(a, b, or_equal=False),
    "less_equal": lambda a, b: SYMBOLIC.less(a, b, or_equal=True),
    "and": lambda a, b: SYMBOLIC.logical("and", a, b),
    "or": lambda a, b: SYMBOLIC.logical("or", a, b),
    "select": SYMBOLIC.select,
    "interpolate": SYMBOLIC.interpolate,
}


def unfolded(value: Array) -> Array:
    """The value with formulas in place of nodes; other values are what they are. `TooLong` where they would be a wall.

    >>> from dalembert.symbolic.nodes import call, symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> unfolded(np.array([x * call("sin", y) + 1, 0], dtype=object))
    array([1 + x*sin(y), 0], dtype=object)
    """
    roots = [x for x in value.flat if isinstance(x, Node)]
    if not roots:
        return value
    order = ordered(roots)
    length: dict[Node, int] = {}
    for y in order:
        length[y] = sum(length[a] for a in y.arguments) + bool(y.arguments)
    if (total := sum(length[y] for y in roots)) > HUGE:
        raise TooLong(total)
    known: dict[Node, Operand] = {}
    for y in order:
        known[y] = _formula(y, [known[a] for a in y.arguments])
    out = np.empty(value.shape, dtype=object)
    for index in np.ndindex(*value.shape):
        entry = value[index]
        out[index] = known[entry] if isinstance(entry, Node) else entry
    return out


def _formula(y: Node, arguments: Sequence[Operand]) -> Operand:
    if isinstance(y, Constant):
        return y.value if isinstance(y.value, float) else SYMBOLIC.number(Fraction(y.value))
    if isinstance(y, Symbol):
        return SYMBOLIC.symbols([y.value])[0]
    if isinstance(y, HeldTable):
        return y.value
    if y.operation == "pi":
        return SYMBOLIC.pi
    return SYMBOLIC.function(y.operation, *arguments) if y.operation in FUNCTIONS else _SIGNS[y.operation](*arguments)
