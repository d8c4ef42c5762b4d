"""Tables of time: their rows as numbers, the formula that runs through them, and the rows back from the formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

import numpy as np

from dalembert.errors import InputError
from dalembert.model.file_form import Element, vector
from dalembert.model.keys import MAX_FILE_ROWS, Check, Key, constant, many
from dalembert.model.values import Given, Vector3, row_of, several
from dalembert.symbolic.formula_writer import Knots, knots, written_out
from dalembert.symbolic.lookup_tables import interpolation, table
from dalembert.symbolic.symbols import TIME, Formula, Written, decimal

MAX_ROWS = 1_000_000

Read = Callable[[Written, str], float]  # a number, or a formula of parameters, at a place that messages name


def rows(each: Check, what: str, about: str, *, required: bool = False) -> Key:
    """The key of a column of a table in a file."""
    return Key(many(each, what, MAX_FILE_ROWS), required, about=about)


TIMES = rows(constant, "times", "constants, increasing", required=True)


def increasing_times(times: Given, read: Read, where: str) -> np.ndarray:
    """The times of a table.

    >>> increasing_times([0, 1, 5], lambda x, where: float(x), "table")
    array([0., 1., 5.])
    """
    if several(times) and not 1 <= len(times) <= MAX_ROWS:
        raise InputError(f"{where}, times: expected 1 to {MAX_ROWS} increasing times, got {len(times)}.")
    clock = _numbers(row_of(times, f"{where}, times", "increasing times"), read, f"{where}, times")
    if late := np.flatnonzero(np.diff(clock) <= 0).tolist():
        i = late[0]
        fact = f"times[{i + 1}] is {clock[i + 1]:g} and times[{i}] is {clock[i]:g}"
        raise InputError(
            f"{where}, times: {fact}. Expected increasing times; sort the rows and keep one for each time."
        )
    return clock


def curve(clock: np.ndarray, values: Given, read: Read, where: str) -> Formula:
    """The formula through one value for each time."""
    given = row_of(values, f"{where}, values", "one for each time")
    if len(given) != len(clock):
        raise InputError(f"{where}: {len(given)} values for {len(clock)} times. Give one for each.")
    return polyline(clock, _numbers(given, read, f"{where}, values"))


def three_curves(clock: np.ndarray, given: Given, read: Read, where: str) -> Vector3:
    """The formulas through one row of three for each time."""
    rows = [row for row in given if several(row, 3)] if several(given, len(clock)) else []
    if len(rows) != len(clock):
        raise InputError(f"{where}: expected {len(clock)} rows of 3, one for each time.")
    x, y, z = _numbers([x for row in rows for x in row], read, where, 3).reshape(-1, 3).T
    return polyline(clock, x), polyline(clock, y), polyline(clock, z)


def _numbers(given: list[Written], read: Read, where: str, width: int = 1) -> np.ndarray:
    """Finite numbers, `width` of them in a row; where not all are plain ones they are read one by one."""
    if all(map(_plain, given)):
        return np.array(given, dtype=float)
    return np.array([read(x, f"{where}[{i // width}]") for i, x in enumerate(given)])


def _plain(x: object) -> bool:
    if isinstance(x, int | np.integer):
        return not isinstance(x, bool) and abs(int(x)) < 2**53
    return isinstance(x, float) and isfinite(x)


def polyline(times: np.ndarray, values: np.ndarray) -> Formula:
    """The formula of straight lines through the points, level outside.

    >>> polyline(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    1/2
    """
    return interpolation(table(times, values), TIME) if np.any(values != values[0]) else decimal(float(values[0]))


def opposite(formula: Formula) -> Formula:
    """−formula; the opposite of a table is a table.

    >>> knots(opposite(polyline(np.array([0.0, 1.0]), np.array([2.0, 3.0]))))
    [(0.0, -2.0), (1.0, -3.0)]
    """
    times, values = np.array(knots(formula) or ()).reshape(-1, 2).T
    return polyline(times, -values) if len(times) else -formula


def timed(kind: str, entries: Sequence[Formula], where: str, *, table: bool = True) -> tuple[str, Element]:
    """A vector that changes with time along straight lines is a table, every other one its formulas; so without `table`."""
    curves = [knots(formula) for formula in entries]
    times = sorted({time for curve in curves for time, _ in curve or ()})
    if not table or not times or any(curve is None for curve in curves):
        return kind, {kind: vector(entries, where)}
    columns = [_values(curve or [], times, formula) for curve, formula in zip(curves, entries, strict=True)]
    return "wrench_table", {"times": short(times), kind: [short(row) for row in zip(*columns, strict=True)]}


def _values(curve: Knots, times: list[float], formula: Formula) -> list[float]:
    if not curve:
        return [float(formula)] * len(times)
    known = dict(curve)
    between = np.interp(times, list(known), list(known.values()))
    return [known.get(time, float(value)) for time, value in zip(times, between, strict=True)]


def short(numbers: Iterable[float]) -> list[float]:
    """Numbers of a table, which are read as decimals in any case."""
    return [int(x) if x.is_integer() and abs(x) < 1e15 else x for x in numbers]


def in_words(formulas: Sequence[Formula]) -> str:
    """The components, or how long a table of time is."""
    curves = [knots(formula) for formula in formulas]
    times = {time for curve in curves for time, _ in curve or ()}
    if times and all(curve is not None for curve in curves):
        return f"a table from t = {min(times):g} to {max(times):g}"
    return f"({', '.join(map(written_out, formulas))})"
