"""Degree bounds of a graph as a rational function of the random values at a point; they bound the error of a proof.

A node is a numerator over a product of denominators; the denominators are stored separately, so that a common one counts once.
Angles count by their half-angle t with cos = (1 − t²)/(1 + t²), roots by their radicand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from dalembert.symbolic.nodes import Node, ordered
from dalembert.symbolic.operations import BLOCKS
from dalembert.symbolic.random_points import Linear, multiples_in

Denominators = dict[Node, int]  # powers of denominators
_NONE: Denominators = {}


@dataclass(frozen=True)
class DegreeBounds:
    """Degree bounds of the numerators and of their common denominator."""

    numerator: int
    denominator: int

    @property
    def total(self) -> int:
        """Sum of both bounds."""
        return self.numerator + self.denominator


def degrees_of(outputs: Sequence[Node], part: int = 1) -> DegreeBounds:
    """Return the degree bounds of all outputs together; angles are drawn for 1/part of a symbol.

    >>> from dalembert.symbolic.graph import GRAPH
    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> degrees_of([x * x / y + 1 / y, x])
    DegreeBounds(numerator=2, denominator=1)
    """
    bounds = _DegreeBounds(part)
    for y in ordered(outputs):
        bounds.visit(y)
    common: Denominators = _NONE
    for y in outputs:
        common = _join(common, bounds.denominators[y])
    degrees = max(
        (bounds.degrees[y] + bounds.size(_cofactor(common, bounds.denominators[y])) for y in outputs), default=0
    )
    return DegreeBounds(degrees, bounds.size(common))


class _DegreeBounds:
    def __init__(self, part: int) -> None:
        self._part = part
        self.degrees: dict[Node, int] = {}
        self.denominators: dict[Node, Denominators] = {}
        self._weight: dict[Node, int] = {}  # degrees of denominators
        self._sums: dict[Node, Linear[Node]] = {}

    def size(self, denominators: Mapping[Node, int]) -> int:
        return sum(k * self._weight[y] for y, k in denominators.items())

    def visit(self, y: Node) -> None:
        self.degrees[y], self.denominators[y] = self._bounds_of(y)

    def _bounds_of(self, y: Node) -> tuple[int, Denominators]:
        degrees, denominators, arguments = self.degrees, self.denominators, y.arguments
        match y.operation:
            case "constant" | "pi" | "table":
                return 0, _NONE
            case "symbol":
                return 1, _NONE
            case "add" | "subtract":
                a, b = arguments
                common = _join(denominators[a], denominators[b])
                totals = (degrees[x] + self.size(_cofactor(common, denominators[x])) for x in (a, b))
                return max(totals), common
            case "negative":
                return degrees[arguments[0]], denominators[arguments[0]]
            case "multiply":
                a, b = arguments
                return degrees[a] + degrees[b], _product(denominators[a], denominators[b])
            case "divide":
                a, b = arguments
                self._weight[b] = degrees[b]
                return degrees[a] + self.size(denominators[b]), _product(
                    denominators[a], {b: 1} if degrees[b] else _NONE
                )
            case "select":
                _, a, b = arguments
                common = _join(denominators[a], denominators[b])
                return 1 + max(degrees[x] + self.size(_cofactor(common, denominators[x])) for x in (a, b)), common
        return self._function(y)

    def _function(self, y: Node) -> tuple[int, Denominators]:
        """Return the degrees of a function: an angle or exponent counts twice its argument, part times; others count once."""
        degree = max((max(1, self.degrees[a] + self.size(self.denominators[a])) for a in y.arguments), default=1)
        if y.operation in ("sin", "cos", "tan", "exp", "pow"):
            self._weight[y] = 2 * degree * self._part * multiples_in(y.arguments[-1], self._sums)
            return self._weight[y], {y: 1}
        if y.operation in BLOCKS:
            return self._block(y)
        self._weight[y] = degree
        return degree, {y: 1}

    def _block(self, y: Node) -> tuple[int, Denominators]:
        """Return the degrees of a linear system by Cramer's rule: determinants of n rows of the largest entry's degree."""
        if y.operation == "entry":
            return self.degrees[y.arguments[0]], self.denominators[y.arguments[0]]
        common: Denominators = _NONE
        for a in y.arguments:
            common = _join(common, self.denominators[a])
        degree = max(1, max(self.degrees[a] for a in y.arguments) + self.size(common))
        factor = y.operation.endswith("_factor")
        rows = isqrt(2 * len(y.arguments)) if factor else len(y.arguments) - 1
        self._weight[y] = degree * rows
        return self._weight[y], {y: 1}


def _join(a: Denominators, b: Denominators) -> Denominators:
    if a is b or not b:
        return a
    if not a:
        return b
    return {**a, **{y: max(k, a.get(y, 0)) for y, k in b.items()}}


def _cofactor(common: Denominators, part: Denominators) -> Denominators:
    if common is part:
        return _NONE
    return {y: k - part.get(y, 0) for y, k in common.items() if k > part.get(y, 0)}


def _product(a: Denominators, b: Denominators) -> Denominators:
    if not b:
        return a
    if not a:
        return b
    return {**a, **{y: k + a.get(y, 0) for y, k in b.items()}}
