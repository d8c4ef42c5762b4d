"""Motions in pieces as one formula of time, built of tables.

Between knots t_k < t_k+1 a motion is a straight line and a bow on it. With u, which runs from 0 to 1 and back over one piece
after the other, the product u (1 − u) is the same for both ways of running, so that

    s(t) = line(t) − u (1 − u) / 6 · (h_k² M(t) + h_k² (M_k + M_k+1))

is the cubic with the second derivatives M_k at the knots, M(t) the line through them. `line`, u and M are tables, and what is
constant in a piece is the slope of one. Tables are level outside: the motion rests there. Derivatives follow from the formula.
"""

from __future__ import annotations

import numpy as np
import symengine as se

from dalembert.algebra.tables import interpolation, table
from dalembert.expressions import TIME
from dalembert.expressions.formula import Formula


def share(start: float, end: float) -> Formula:
    """(t − start) / (end − start), 0 before and 1 after.

    >>> se.diff(share(0.0, 2.0), TIME) == 0
    False
    """
    return interpolation(table([start, end], [0.0, 1.0]), TIME)


def in_cubics(times: np.ndarray, values: np.ndarray, first: np.ndarray, last: np.ndarray) -> Formula:
    """The motion through points, whose second derivatives run from `first` to `last` in each piece.

    >>> from dalembert.algebra.floats import FLOATS
    >>> from dalembert.expressions.lower import Lowering
    >>> t = np.array([0.0, 1.0, 3.0])
    >>> f = in_cubics(t, t**3, 6 * t[:-1], 6 * t[1:])
    >>> float(Lowering(FLOATS, {"t": 2.0})(f)), float(Lowering(FLOATS, {"t": 2.0})(se.diff(f, TIME, TIME)))
    (8.0, 12.0)
    """
    line = interpolation(table(times, values), TIME)
    if not first.any() and not last.any():
        return line
    u = interpolation(table(times, np.arange(len(times)) % 2), TIME)
    square = np.diff(times) ** 2
    bow = _constant(times, square * (first + last))
    if (first[1:] == last[:-1]).all():
        bow = bow + _constant(times, square) * interpolation(table(times, np.append(first, last[-1])), TIME)
    elif (first == last).all():
        bow = bow + _constant(times, square * first)
    else:
        raise ValueError("second derivatives that leap and run")
    return line - u * (1 - u) * bow / 6


def _constant(times: np.ndarray, values: np.ndarray) -> Formula:
    """A value in each piece, 0 outside: the slope of a table, whose corners add up."""
    corners = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    return se.diff(interpolation(table(times, corners), TIME), TIME)
