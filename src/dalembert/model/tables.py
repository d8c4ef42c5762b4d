"""Tables of time in a model: their rows as numbers, and the formula that runs through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np
import symengine as se

from dalembert.algebra.tables import interpolation, table
from dalembert.errors import InputError
from dalembert.expressions import TIME
from dalembert.expressions.reading import decimal

MAX_ROWS = 1_000_000

Read = Callable[[object, str], float]  # a number, or a formula of parameters, at a place that messages name


def increasing_times(times: Sequence[float], read: Read, where: str) -> np.ndarray:
    """The times of a table.

    >>> increasing_times([0, 1, 5], lambda x, where: float(x), "table")
    array([0., 1., 5.])
    """
    if not 1 <= len(times) <= MAX_ROWS:
        raise InputError(f"{where}, times: expected 1 to {MAX_ROWS} increasing times, got {len(times)}.")
    clock = column(times, read, f"{where}, times")
    if late := np.flatnonzero(np.diff(clock) <= 0).tolist():
        i = late[0]
        fact = f"times[{i + 1}] is {clock[i + 1]:g} and times[{i}] is {clock[i]:g}"
        raise InputError(
            f"{where}, times: {fact}. Expected increasing times; sort the rows and keep one for each time."
        )
    return clock


def column(values: Sequence[float], read: Read, where: str, width: int = 1) -> np.ndarray:
    """Finite numbers, `width` of them in a row; where not all are plain ones they are read one by one."""
    given = values.tolist() if isinstance(values, np.ndarray) else values
    if all(type(x) in (float, int) and isfinite(x) for x in given):
        return np.array(given, dtype=float)
    return np.array([read(x, f"{where}[{i // width}]") for i, x in enumerate(given)])


def three_columns(rows: Sequence[Sequence[float]], count: int, read: Read, where: str) -> np.ndarray:
    """Rows of three numbers, as three columns."""
    given = rows.tolist() if isinstance(rows, np.ndarray) else rows
    if len(given) != count or any(not isinstance(row, Sequence | np.ndarray) or len(row) != 3 for row in given):
        raise InputError(f"{where}: expected {count} rows of 3, one for each time.")
    return column([x for row in given for x in row], read, where, 3).reshape(-1, 3).T


def polyline(times: np.ndarray, values: np.ndarray) -> se.Basic:
    """The formula of straight lines through the points, level outside.

    >>> polyline(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    1/2
    """
    return interpolation(table(times, values), TIME) if np.any(values != values[0]) else decimal(float(values[0]))
