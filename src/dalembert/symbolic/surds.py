"""Exact numbers with square roots: the components of unit vectors."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import total_ordering
from math import copysign, hypot, isqrt, sqrt
from typing import SupportsFloat

import numpy as np
import symengine as se

from dalembert.symbolic.algebra_base import Operand

# A direction whose length has a larger radicand is a rounded one: its exact form is that of its unit vector in floats, so a unit
# vector that is written to a file and read again is the same.
_MAX_RADICAND = 2**53
_UNIT_ROUNDING = Fraction(1, 2**51)  # of the squared length of a unit vector whose components are rounded to floats


@total_ordering
class Surd:
    """Σ c √r with rational c and integer r: exact, with conversion to float.

    Sums and products with integers, fractions, other surds and formulas are exact; with floats they are floats.

    >>> a, b, c = unit([1, 1, 0])
    >>> round(float(a), 12), a * a + b * b == 1, a * se.Symbol("x")
    (0.707106781187, True, (1/2)*sqrt(2)*x)
    """

    __slots__ = ("terms", "value")
    __array_ufunc__ = None  # arrays defer the operation to this class

    terms: dict[int, Fraction]
    value: float

    def __init__(self, terms: dict[int, Fraction], value: float | None = None) -> None:
        self.terms = {r: c for r, c in terms.items() if c}
        near = sum(copysign(sqrt(c * c * r), c) for r, c in self.terms.items()) if value is None else value
        self.value = float(near)

    def _symengine_(self) -> se.Basic:
        parts = (se.Rational(c.numerator, c.denominator) * se.sqrt(r) for r, c in self.terms.items())
        return sum(parts, start=se.Integer(0))

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        terms = _terms(other)
        return self.value == other if terms is None else self.terms == {r: c for r, c in terms.items() if c}

    def __lt__(self, other: SupportsFloat) -> bool:
        return self.value < float(other)

    def __abs__(self) -> Surd:
        return -self if self.value < 0 else self

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __neg__(self) -> Surd:
        return Surd({r: -c for r, c in self.terms.items()}, -self.value)

    def __add__(self, other: Operand) -> Operand:
        if (terms := _terms(other)) is None:
            return _with_numbers(operator.add, self, other)
        return Surd({r: self.terms.get(r, Fraction(0)) + terms.get(r, 0) for r in {*self.terms, *terms}})

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Operand:
        return _with_numbers(operator.sub, self, other) if _terms(other) is None else self + -other

    def __rsub__(self, other: Operand) -> Operand:
        return -self + other

    def __mul__(self, other: Operand) -> Operand:
        if (terms := _terms(other)) is None:
            return _with_numbers(operator.mul, self, other)
        out: dict[int, Fraction] = {}
        for r, c in self.terms.items():
            for s, d in terms.items():
                factor, radicand = _squares_out(r * s)
                out[radicand] = out.get(radicand, Fraction(0)) + c * d * factor
        return Surd(out)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Operand:
        if isinstance(other, int | Fraction):
            return self * Fraction(1, other)
        if isinstance(other, Surd):
            return self.value / other.value
        return _with_numbers(operator.truediv, self, other)

    def __rtruediv__(self, other: Operand) -> Operand:
        return _with_numbers(lambda a, b: b / a, self, float(other) if isinstance(other, int | Fraction) else other)


numbers.Real.register(Surd)


def _terms(x: object) -> dict[int, Fraction] | None:
    if isinstance(x, Surd):
        return x.terms
    return {1: Fraction(x)} if isinstance(x, int | Fraction) else None


def _with_numbers(operation: Callable[[Operand, Operand], Operand], x: Surd, other: Operand) -> Operand:
    """The operation with a float, a complex number or an array, evaluated in floats; other types get NotImplemented."""
    if isinstance(other, np.ndarray) and other.dtype == object:
        out = np.empty_like(other)
        for index in np.ndindex(*other.shape):
            out[index] = operation(x, other[index])
        return out
    return operation(x.value, other) if isinstance(other, float | complex | np.ndarray) else NotImplemented


def _squares_out(n: int) -> tuple[int, int]:
    """f and r with n = f² r, where r has no small square factor.

    >>> _squares_out(72), _squares_out(49)
    ((6, 2), (7, 1))
    """
    if (root := isqrt(n)) ** 2 == n:
        return root, 1
    factor, prime = 1, 2
    while prime * prime <= n and prime < 1000:
        while n % (prime * prime) == 0:
            n //= prime * prime
            factor *= prime
        prime += 1
    return factor, n


def root(x: Fraction) -> Surd:
    """√x, exact."""
    factor, radicand = _squares_out(x.numerator * x.denominator)
    return Surd({radicand: Fraction(factor, x.denominator)})


Component = float | Surd  # of a unit vector; integers are int


def unit(direction: Sequence[Fraction | int]) -> tuple[Component, Component, Component]:
    """The unit vector along a direction of fractions; integer components are int.

    >>> unit([0, 0, 2]), unit([0, 3, 4])
    ((0, 0, 1), (0, 0.6, 0.8))
    """
    components = [Fraction(x) for x in direction]
    is_unit = abs(sum(x * x for x in components) - 1) <= _UNIT_ROUNDING  # then the components are not changed
    largest = max(map(abs, components))  # normalization prevents overflow of squares
    length = hypot(*(float(x / largest) for x in components))
    values = [float(x) if is_unit else float(x / largest) / length for x in components]
    exact = _normalized(components)
    if any(radicand > _MAX_RADICAND for terms in exact for radicand in terms):
        exact = _normalized([Fraction(repr(value)) for value in values])
    x, y, z = (_component(terms, value) for terms, value in zip(exact, values, strict=True))
    return x, y, z


def _normalized(components: Sequence[Fraction]) -> list[dict[int, Fraction]]:
    """The terms of the components divided by the length of the vector."""
    largest = max(map(abs, components))
    direction = [x / largest for x in components]
    inverse = root(1 / sum((x * x for x in direction), start=Fraction(0)))
    return [(inverse * x).terms for x in direction]


def _component(terms: dict[int, Fraction], value: float) -> Component:
    integer = not terms or (list(terms) == [1] and terms[1].denominator == 1)
    return round(value) if integer else Surd(terms, value)
