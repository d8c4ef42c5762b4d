"""Numeric algebras: real and complex numbers, or batches of them as NumPy arrays. An oracle independent of the graph.

A series stores the value and the first and second derivatives of a quantity f(s) at s = 0. A function of series gives the
derivatives of the result to machine precision, without a step size and without a graph. The verification differentiates
positions by series, because it must share nothing with the formulations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import SupportsFloat, TypeAlias

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar
from dalembert.symbolic.lookup_tables import LookupTable
from dalembert.symbolic.operations import OPERATIONS

Number: TypeAlias = float | complex | np.ndarray  # or a batch of numbers


def number(x: Scalar) -> Number:
    """`x` as a number or a batch of numbers."""
    return x if isinstance(x, float | int | complex | np.ndarray | np.generic) else real(x)


def real(x: Scalar) -> float:
    """One real number as a float."""
    if not isinstance(x, SupportsFloat):
        raise TypeError(f"expected a real number, got '{x}'")
    return float(x)


class _Numeric(Algebra):
    """Operations shared by the numeric algebras."""

    def is_zero(self, x: Scalar) -> bool:
        return isinstance(x, int | float) and x == 0

    def logical(self, name: str, *conditions: Scalar) -> Number:
        return reduce(np.logical_and if name == "and" else np.logical_or, map(number, conditions))


class Floats(_Numeric):
    """Numbers. Complex numbers support the complex-step derivative, so comparisons use the real part."""

    name = "floats"

    def function(self, name: str, *arguments: Scalar) -> Number:
        if name == "atan2":
            y, x = map(number, arguments)
            angle = np.arctan2(np.real(y), np.real(x))
            # first-order part for complex steps: d atan2 = (x dy − y dx)/(x² + y²)
            slope = (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / (np.real(x) ** 2 + np.real(y) ** 2)
            return angle + 1j * slope if np.iscomplexobj(x) or np.iscomplexobj(y) else angle
        apply = operator.pow if name == "pow" else OPERATIONS[name].array
        return apply(*map(number, arguments))

    def interpolate(self, table: LookupTable, x: Scalar) -> Number:
        return table.at(number(x))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Number:
        return 1.0 * np.where(
            number(condition), number(yes), number(no)
        )  # a float result, since roots and powers need one

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Number:
        left, right = np.real(number(a)), np.real(number(b))
        return left <= right if or_equal else left < right


class OneState(Floats):
    """Numbers of one state: arrays of them are arrays of doubles, so that matrix products run in NumPy."""

    def pack(self, x: Array) -> Array:
        # complex while a complex step is propagated
        packed = np.array(x.tolist()).reshape(x.shape)
        return packed if np.iscomplexobj(packed) else packed.astype(float)


FLOATS, ONE_STATE = Floats(), OneState()


def numbers(entries: Array, batch: int) -> np.ndarray:
    """An object array of numbers and batches of numbers as one numeric array, with the batch on the last axis.

    >>> numbers(np.array([1, 2.5], dtype=object), 2)
    array([[1. , 1. ],
           [2.5, 2.5]])
    """
    if entries.dtype != object:
        return np.repeat(entries[..., None], batch, axis=-1)
    flat = entries.ravel().tolist()
    steps = any(not isinstance(x, float | int) and np.iscomplexobj(x) for x in flat)
    out = np.empty((len(flat), batch), dtype=complex if steps else float)
    for row, x in zip(out, flat, strict=True):
        row[:] = x
    return out.reshape(*entries.shape, batch)


def to_numeric(entries: Array) -> np.ndarray:
    """Convert an object array of numbers, or of batches of one number, to one numeric array."""
    return numbers(entries, 1)[..., 0]


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedSeries:
    """Truncated Taylor series: f, f′ and f″ at s = 0.

    >>> s = TruncatedSeries(2.0, 1.0, 0.0)
    >>> s * s * s
    TruncatedSeries(value=8.0, rate=12.0, second=12.0)
    """

    value: Number
    rate: Number
    second: Number

    __array_ufunc__ = None  # a batch of numbers defers arithmetic with a series to this class

    def __add__(self, other: Scalar) -> TruncatedSeries:
        g = series(other)
        return TruncatedSeries(self.value + g.value, self.rate + g.rate, self.second + g.second)

    __radd__ = __add__

    def __neg__(self) -> TruncatedSeries:
        return TruncatedSeries(-self.value, -self.rate, -self.second)

    def __sub__(self, other: Scalar) -> TruncatedSeries:
        return self + -series(other)

    def __rsub__(self, other: Scalar) -> TruncatedSeries:
        return series(other) + -self

    def __mul__(self, other: Scalar) -> TruncatedSeries:
        g = series(other)
        # Leibniz: (f g)″ = f″ g + 2 f′ g′ + f g″
        return TruncatedSeries(
            self.value * g.value,
            self.rate * g.value + self.value * g.rate,
            self.second * g.value + 2 * self.rate * g.rate + self.value * g.second,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> TruncatedSeries:
        g = series(other)
        # from f = h g: f′ = h′ g + h g′ and f″ = h″ g + 2 h′ g′ + h g″
        h = self.value / g.value
        rate = (self.rate - h * g.rate) / g.value
        return TruncatedSeries(h, rate, (self.second - 2 * rate * g.rate - h * g.second) / g.value)

    def __rtruediv__(self, other: Scalar) -> TruncatedSeries:
        return series(other) / self

    def chain_rule(self, f: Number, first: Number, second: Number) -> TruncatedSeries:
        """A function of this quantity, from its value and its first two derivatives there."""
        return TruncatedSeries(f, first * self.rate, second * self.rate * self.rate + first * self.second)


Jet: TypeAlias = tuple[Number, Number, Number]  # value, first and second derivative of a function


def series(x: Scalar) -> TruncatedSeries:
    """Convert to a series; the derivatives of a number are zero."""
    return x if isinstance(x, TruncatedSeries) else TruncatedSeries(number(x), 0.0, 0.0)


def _tan(x: Number) -> Jet:
    f = np.tan(x)
    return f, 1 + f * f, 2 * f * (1 + f * f)


def _asin(x: Number) -> Jet:
    w = 1 / np.sqrt(1 - x * x)
    return np.arcsin(x), w, x * w * w * w


def _acos(x: Number) -> Jet:
    _, first, second = _asin(x)
    return np.arccos(x), -first, -second


def _atan(x: Number) -> Jet:
    w = 1 / (1 + x * x)
    return np.arctan(x), w, -2 * x * w * w


def _sqrt(x: Number) -> Jet:
    f = np.sqrt(x)
    return f, 0.5 / f, -0.25 / (x * f)


_FUNCTIONS: dict[str, Callable[[Number], Jet]] = {
    "sin": lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "sqrt": _sqrt,
    "exp": lambda x: (np.exp(x), np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), 1 / x, -1 / (x * x)),
}


class SeriesAlgebra(_Numeric):
    """Arithmetic on series. Values may be complex for an additional complex step; comparisons use real parts.

    >>> SeriesAlgebra().function("exp", TruncatedSeries(0.0, 2.0, 0.0))
    TruncatedSeries(value=np.float64(1.0), rate=np.float64(2.0), second=np.float64(4.0))
    """

    name = "series"

    def function(self, name: str, *arguments: Scalar) -> TruncatedSeries:
        if name == "atan2":
            return self._angle(*(series(x) for x in arguments))
        if name == "pow":
            return self._power(*arguments)
        x = series(arguments[0])
        return x.chain_rule(*_FUNCTIONS[name](x.value))

    def _angle(self, y: TruncatedSeries, x: TruncatedSeries) -> TruncatedSeries:
        """The angle of (x, y): its value plus the small rotation away from that direction."""
        start = np.arctan2(np.real(y.value), np.real(x.value))
        c, s = np.cos(start), np.sin(start)
        return self.function("atan", (y * c - x * s) / (x * c + y * s)) + start

    def _power(self, x: Scalar, y: Scalar) -> TruncatedSeries:
        if isinstance(y, TruncatedSeries):
            return self.function("exp", self.function("log", x) * y)
        base, n = series(x), number(y)
        v = base.value
        return base.chain_rule(v**n, n * v ** (n - 1), n * (n - 1) * v ** (n - 2))

    def interpolate(self, table: LookupTable, x: Scalar) -> TruncatedSeries:
        at = series(x)
        return at.chain_rule(table.at(at.value), table.slope.at(at.value), 0.0)

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> TruncatedSeries:
        holds, a, b = number(condition), series(yes), series(no)
        return TruncatedSeries(
            np.where(holds, a.value, b.value), np.where(holds, a.rate, b.rate), np.where(holds, a.second, b.second)
        )

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Number:
        return FLOATS.less(series(a).value, series(b).value, or_equal=or_equal)


SERIES = SeriesAlgebra()
