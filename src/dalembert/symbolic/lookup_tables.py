"""Lookup tables: piecewise linear interpolation with constant extrapolation, as a function of one variable.

A table is immutable and identified by its content; formulas and graphs store a reference to it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import symengine as se
from numpy.typing import ArrayLike, NDArray
from symengine.lib.symengine_wrapper import FunctionSymbol

_INTERPOLATION = se.Function("interp")
_TIME = se.Symbol("t")  # TIME of `symbols`, which imports this module


@dataclass(frozen=True)
class LookupTable:
    """Points (time, value) with increasing times; `order` 1 is the slope, higher orders are zero. Created by `table`."""

    digest: str  # hash of the points: tables with the same points are equal
    order: int
    times: np.ndarray = field(compare=False, repr=False)
    values: np.ndarray = field(compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.times)

    def __str__(self) -> str:
        return f"table of {len(self)} points"

    @property
    def slope(self) -> LookupTable:
        """The derivative: a step function, right-continuous at each time."""
        return replace(self, order=self.order + 1)

    def at(self, x: ArrayLike) -> NDArray[np.inexact]:
        """The values at numbers or arrays; a complex step gives the slope.

        >>> table([0, 1, 3], [0, 2, 2]).at(0.25), table([0, 1, 3], [0, 2, 2]).slope.at(0.25)
        (np.float64(0.5), np.float64(2.0))
        """
        if np.iscomplexobj(x):
            return self.at(np.real(x)) + 1j * np.imag(x) * self.slope.at(np.real(x))
        # np.interp would copy read-only arrays
        after = np.searchsorted(self.times, x, side="right")
        k = np.clip(after, 1, len(self) - 1)
        start, low = self.times[k - 1], self.values[k - 1]
        slope = (self.values[k] - low) / (self.times[k] - start)
        inside = (after > 0) & (after < len(self))
        if self.order:
            return np.where(inside & (self.order == 1), slope, 0.0)[()]
        return np.where(
            inside, low + slope * np.subtract(x, start), np.where(after > 0, self.values[-1], self.values[0])
        )[()]


def table(times: ArrayLike, values: ArrayLike) -> LookupTable:
    """Create a table of at least two points with increasing times.

    >>> len(table([0, 1, 3], [0, 2, 2])), table([0, 1], [0, 2]) == table([0.0, 1.0], [0.0, 2.0])
    (3, True)
    """
    points = np.array([times, values], dtype=float) + 0.0  # -0.0 becomes 0.0
    points.setflags(write=False)
    return LookupTable(hashlib.sha256(points.tobytes()).hexdigest()[:16], 0, *points)


class _TableSymbol(se.Symbol):
    """Symbol of a table in a formula; SymEngine compares symbols by name, so the name is the content hash."""

    def __init__(self, lookup: LookupTable) -> None:
        super().__init__(f"table_{lookup.digest}")
        self.table = lookup

    def __reduce__(self) -> tuple[type, tuple[LookupTable]]:
        return _TableSymbol, (self.table,)


def interpolation(lookup: LookupTable, x: se.Basic) -> se.Basic:
    """The formula of a table at `x`; SymEngine represents its slope as a derivative.

    >>> t = se.Symbol("t")
    >>> se.diff(interpolation(table([0, 1], [0, 2]), t), t)
    Derivative(interp(table_dd14e7c41610ca15, t), t)
    """
    f = _INTERPOLATION(_TableSymbol(lookup), x)
    for _ in range(lookup.order):
        f = f.diff(x)
    return f


def split_interpolation(formula: se.Basic) -> tuple[LookupTable, se.Basic] | None:
    """The table and its argument if a formula is the value or a slope of a table, else None."""
    if isinstance(formula, se.Derivative):
        inner = split_interpolation(formula.args[0])
        return inner and (replace(inner[0], order=len(formula.args) - 1), inner[1])
    if not isinstance(formula, FunctionSymbol) or not isinstance(formula.args[0], _TableSymbol):
        return None
    return formula.args[0].table, formula.args[1]


def interpolations_in(formula: se.Basic) -> list[tuple[LookupTable, se.Basic]]:
    """All tables in a formula, each with its argument."""
    found = (split_interpolation(part) for part in formula.atoms(FunctionSymbol))
    return [each for each in found if each is not None]


def tables_in(formula: se.Basic) -> list[LookupTable]:
    """All tables in a formula."""
    return [found.table for found in formula.free_symbols if isinstance(found, _TableSymbol)]


def piecewise_cubic(times: np.ndarray, values: np.ndarray, second_derivatives: np.ndarray) -> se.Basic:
    """Piecewise cubic interpolation with these second derivatives at the points.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> from dalembert.symbolic.symbols import Lowering
    >>> t = np.array([0.0, 1.0, 3.0])
    >>> f = piecewise_cubic(t, t**3, 6 * t)
    >>> float(Lowering(FLOATS, {"t": 2.0})(f)), float(Lowering(FLOATS, {"t": 2.0})(se.diff(f, _TIME, _TIME)))
    (8.0, 12.0)
    """
    line = interpolation(table(times, values), _TIME)
    if not second_derivatives.any():
        return line
    u = interpolation(table(times, np.arange(len(times)) % 2), _TIME)
    square = np.diff(times) ** 2
    bow = _constant(times, square) * interpolation(table(times, second_derivatives), _TIME)
    return (
        line - u * (1 - u) * (bow + _constant(times, square * (second_derivatives[:-1] + second_derivatives[1:]))) / 6
    )


def cubic_points(formula: se.Basic) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The times, values and second derivatives of a piecewise cubic; None for other formulas.

    >>> t = np.array([0.0, 1.0, 3.0])
    >>> [part.tolist() for part in cubic_points(piecewise_cubic(t, t**3, 6 * t))]
    [[0.0, 1.0, 3.0], [0.0, 1.0, 27.0], [0.0, 6.0, 18.0]]
    """
    known = tables_in(formula)
    if not known or any(not np.array_equal(each.times, known[0].times) for each in known):
        return None
    times, rows = known[0].times, [each.values for each in known]
    for values, second_derivatives in product(rows, [np.zeros(len(times)), *rows]):
        if se.expand(piecewise_cubic(times, values, second_derivatives) - formula) == 0:
            return times, values, second_derivatives
    return None


def _constant(times: np.ndarray, values: np.ndarray) -> se.Basic:
    """A piecewise constant function, 0 outside: the derivative of a table."""
    corners = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    return se.diff(interpolation(table(times, corners), _TIME), _TIME)
