"""Tables of time: formulas that run in straight lines between given times and are level outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import symengine as se

from dalembert.expressions import TIME
from dalembert.expressions.numbers import written_out
from dalembert.expressions.reading import decimal
from dalembert.expressions.writing import Knots, knots
from dalembert.model.file_form import Element, vector
from dalembert.model.keys import BODY, NAMED, Key, Keys, constant, fixed_vector, many, name

WRENCH_TABLE: Keys = {
    **NAMED,
    **BODY,
    "times": Key(many(constant, "times"), True),
    "force": Key(many(fixed_vector, "rows of three")),
    "torque": Key(many(fixed_vector, "rows of three")),
    "point": Key(fixed_vector),
    "frame": Key(name),
}


def timed(kind: str, entries: Sequence[Any], where: str) -> tuple[str, Element]:
    """A vector that changes with time along straight lines is a table, every other one its formulas."""
    curves = [knots(formula) for formula in entries]
    times = sorted({time for curve in curves for time, _ in curve or ()})
    if not times or any(curve is None for curve in curves):
        return kind, {kind: vector(entries, where)}
    columns = [_values(curve or [], times, formula) for curve, formula in zip(curves, entries, strict=True)]
    rows = [[_short(value) for value in row] for row in zip(*columns, strict=True)]
    return "wrench_table", {"times": [_short(time) for time in times], kind: rows}


def _values(curve: Knots, times: list[float], formula: Any) -> list[float]:
    if not curve:
        return [float(formula)] * len(times)
    known = dict(curve)
    between = np.interp(times, list(known), list(known.values()))
    return [known.get(time, float(value)) for time, value in zip(times, between, strict=True)]


def _short(number: float) -> float:
    """A number of a table, which is read as a decimal in any case."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def polyline(times: list[float], values: list[float]) -> Any:
    """The formula of straight lines through the points, level outside: a nest of choices that halves the table each time."""
    if len(times) == 1 or not any(v != values[0] for v in values):
        return decimal(values[0])
    middle = len(times) // 2
    if len(times) == 2:
        (start, end), (low, high) = map(decimal, times), map(decimal, values)
        line = low + (high - low) / (end - start) * (TIME - start)
        return se.Piecewise((low, se.Lt(TIME, start)), (high, se.Le(end, TIME)), (line, True))
    early, late = polyline(times[: middle + 1], values[: middle + 1]), polyline(times[middle:], values[middle:])
    return se.Piecewise((early, se.Lt(TIME, decimal(times[middle]))), (late, True))


def in_words(formulas: Sequence[Any]) -> str:
    """The components, or how long a table of time is."""
    curves = [knots(formula) for formula in formulas]
    times = {time for curve in curves for time, _ in curve or ()}
    if times and all(curve is not None for curve in curves):
        return f"a table from t = {min(times):g} to {max(times):g}"
    return f"({', '.join(map(written_out, formulas))})"
