"""Motions in pieces as one formula of time: few pieces by cases, many by tables.

Between knots t_k < t_k+1 a motion is a straight line and a bow on it. With u, which runs from 0 to 1 and back over one piece
after the other, the product u (1 − u) is the same for both ways of running, so that

    s(t) = line(t) − u (1 − u) / 6 · (h_k² M(t) + h_k² (M_k + M_k+1))

is the cubic with the second derivatives M_k at the knots, M(t) the line through them. `line`, u and M are tables, and what is
constant in a piece is the slope of one. Tables are level outside: the motion rests there. Derivatives follow from the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import symengine as se

from dalembert.symbolic.expression_reading import number
from dalembert.symbolic.lookup_tables import interpolation, table, tables_in
from dalembert.symbolic.symbols import TIME, Formula


def share(start: float, end: float) -> Formula:
    """(t − start) / (end − start), 0 before and 1 after; as a formula that model files can hold.

    >>> from dalembert.symbolic.formula_writer import written
    >>> written(share(1.0, 3.0))
    'piecewise(0, t < 1, (t - 1)/2, t < 3, 1)'
    """
    t0, t1 = number(start, "start"), number(end, "end")
    return se.Piecewise((0, t0 > TIME), ((TIME - t0) / (t1 - t0), t1 > TIME), (1, True))


def in_turn(parts: Sequence[tuple[Formula, float]], last: float) -> Formula:
    """Formulas one after the other, each until its time, and then a number.

    >>> in_turn([(TIME**2, 1.0), (2 * TIME - 1, 2.0)], 3.0)
    Piecewise((t**2, t < 1), (-1 + 2*t, t < 2), (3, True))
    """
    return se.Piecewise(*((part, number(end, "time") > TIME) for part, end in parts), (number(last, "end"), True))


def through_points(times: np.ndarray, values: np.ndarray, bends: np.ndarray) -> Formula:
    """The motion through points in cubics, with these second derivatives at the points.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> from dalembert.symbolic.lower import Lowering
    >>> t = np.array([0.0, 1.0, 3.0])
    >>> f = through_points(t, t**3, 6 * t)
    >>> float(Lowering(FLOATS, {"t": 2.0})(f)), float(Lowering(FLOATS, {"t": 2.0})(se.diff(f, TIME, TIME)))
    (8.0, 12.0)
    """
    line = interpolation(table(times, values), TIME)
    if not bends.any():
        return line
    u = interpolation(table(times, np.arange(len(times)) % 2), TIME)
    square = np.diff(times) ** 2
    bow = _constant(times, square) * interpolation(table(times, bends), TIME)
    return line - u * (1 - u) * (bow + _constant(times, square * (bends[:-1] + bends[1:]))) / 6


def points_of(formula: Formula) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The times, values and second derivatives of a motion through points; None for every other formula.

    >>> t = np.array([0.0, 1.0, 3.0])
    >>> [part.tolist() for part in points_of(through_points(t, t**3, 6 * t))]
    [[0.0, 1.0, 3.0], [0.0, 1.0, 27.0], [0.0, 6.0, 18.0]]
    """
    known = tables_in(formula)
    if not known or any(not np.array_equal(each.times, known[0].times) for each in known):
        return None
    times, rows = known[0].times, [each.values for each in known]
    for values, bends in product(rows, [np.zeros(len(times)), *rows]):
        if se.expand(through_points(times, values, bends) - formula) == 0:
            return times, values, bends
    return None


def _constant(times: np.ndarray, values: np.ndarray) -> Formula:
    """A value in each piece, 0 outside: the slope of a table, whose corners add up."""
    corners = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    return se.diff(interpolation(table(times, corners), TIME), TIME)
