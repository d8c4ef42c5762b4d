"""Force laws: formulas of the measures of a load, such as its length and rate, and curves through points.

A law contains names of measures, parameters and the time t, but no coordinates of the model. In a record measures are symbols
of their own kind, so that a coordinate may be named `length`. Time tables become formulas and are written as rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import symengine as se

from dalembert.errors import InputError, short_repr
from dalembert.model.keys import MAX_FILE_ROWS, Check, Element, Key, ValueType, array, constant, many, readable, vector
from dalembert.model.loads.base import Load
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe
from dalembert.model.values import ArrayInput, Vector3, is_sequence, row_of
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.formula_writer import Knots, formula_string, knots, write_formula
from dalembert.symbolic.lookup_tables import LookupTable, interpolation, table
from dalembert.symbolic.symbols import TIME, Formula, Lowering, Written, decimal
from dalembert.symbolic.symbols import SymbolKind as Symbols
from dalembert.symbolic.symengine_algebra import antiderivative

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model


RATE = "rate"
MAX_ROWS = 1_000_000
Read = Callable[[Written, str], float]  # reads a number or a formula of parameters; the str is its path in messages


def measure(name: str) -> Formula:
    """The symbol of a measure of a load.

    >>> measure("length")
    measure(length)
    """
    return se.Symbol(Symbols.MEASURE.of(name))


def plain(formula: Formula) -> Formula:
    """A law with the names that users write."""
    start = f"{Symbols.MEASURE.value}("
    names = [s.name for s in formula.free_symbols if s.name.startswith(start)]
    return formula.subs({se.Symbol(name): se.Symbol(name.removeprefix(start)[:-1]) for name in names})


def law(*names: str) -> ValueType:
    """A formula of measures, parameters and time."""

    def read(model: Elements, formula: Written, where: str) -> Formula:
        reader = model.reader
        known = replace(reader, coordinates=(), points={}, parameters=(*reader.parameters, *names))
        parsed = known.read(formula, where, rates=False)
        used = {symbol.name for symbol in parsed.free_symbols}
        for name in sorted(used & {*names} & {*reader.parameters}):
            fact = f"the parameter '{name}' conflicts with the measure '{name}' of the load"
            raise InputError(f"{where}: {fact}. Rename the parameter.")
        return parsed.subs({se.Symbol(name): measure(name) for name in names})

    check = readable(f"a number or a formula of {', '.join(names)}, parameters and t in quotation marks", read)
    return ValueType(check, read, lambda formula, where: write_formula(plain(formula), where), unnamed=True)


def _points(model: Elements, entries: object, where: str) -> LookupTable | None:
    """Read a table of rows of two numbers with increasing first entries."""
    if entries is None:
        return None
    all_rows = list(entries) if is_sequence(entries) else []
    rows = [row for row in all_rows if is_sequence(row, 2)]
    if not 2 <= len(rows) <= MAX_ROWS or len(rows) < len(all_rows):
        got = f"{len(all_rows)} rows" if all_rows else short_repr(entries)
        expected = f"Expected 2 to {MAX_ROWS} rows of two numbers, such as [[0, 0], [0.1, 25]]."
        raise InputError(f"{where}: got {got}. {expected}")
    x, y = np.array([[model.number(v, f"{where}[{i}]") for v in row] for i, row in enumerate(rows)], dtype=float).T
    if late := np.flatnonzero(np.diff(x) <= 0).tolist():
        i = late[0]
        fact = f"row {i + 1} begins with {x[i + 1]:g} and row {i} with {x[i]:g}"
        raise InputError(f"{where}: {fact}. Expected increasing numbers; sort the rows and remove duplicates.")
    return table(x, y)


_PAIRS: Check = many(array(2, constant, "numbers"), "rows of two", MAX_FILE_ROWS)
curve_points = ValueType(
    _PAIRS,
    _points,
    lambda points, where: [short(row) for row in zip(points.times.tolist(), points.values.tolist(), strict=True)],
    argument="ArrayInput",
)


@dataclass(frozen=True)
class ForceLaw:
    """The sum of a formula, a curve over a measure, and a curve over its rate.

    `names` are all names of the measure, without the rate.
    """

    names: tuple[str, ...]
    pull: Formula
    curve: LookupTable | None
    rate_curve: LookupTable | None

    @property
    def formula(self) -> Formula:
        """The sum as one formula of the first name and the rate."""
        first, speed = measure(self.names[0]), measure(RATE)
        total = self.pull.subs({measure(name): first for name in self.names[1:]})
        curves = [(self.curve, first), (self.rate_curve, speed)]
        return total + sum((interpolation(each, x) for each, x in curves if each is not None), start=se.Integer(0))

    @property
    def parts(self) -> tuple[Formula, Formula]:
        """(V, rest): the potential of the conservative terms, and the sum of the others."""
        formula = self.formula
        modes = [symbol for symbol in formula.free_symbols if symbol.name.startswith(f"{Symbols.FROZEN.value}(")]
        return antiderivative(formula, measure(self.names[0]), (measure(RATE), TIME, *modes))

    def words(self) -> str:
        """A description of the law."""
        parts = [formula_string(plain(self.pull))] if self.pull != 0 else []
        over = [(self.curve, self.names[0]), (self.rate_curve, RATE)]
        parts += [f"a curve over {name} of {len(each)} points" for each, name in over if each is not None]
        return " + ".join(parts) or "0"

    def mirrored(self) -> ForceLaw:
        """The law −pull(−x, −rate)."""
        negated = {measure(name): -measure(name) for name in (*self.names, RATE)}
        return ForceLaw(self.names, -self.pull.subs(negated), _mirrored(self.curve), _mirrored(self.rate_curve))


def _mirrored(points: LookupTable | None) -> LookupTable | None:
    return None if points is None else table(-points.times[::-1], -points.values[::-1])


def numbers_but(pull: Formula, formulas: Iterator[tuple[str, Formula]]) -> Iterator[tuple[str, Formula]]:
    """The formulas of a load without its law, which depends on measures."""
    return ((path, formula) for path, formula in formulas if formula is not pull)


@record
class ByLaw(Load):
    """Base class of loads with a force law: the sum of a formula and of curves over a measure and its rate."""

    measured: ClassVar[tuple[str, ...]]  # all names of its measure

    pull: Formula
    curve: LookupTable | None = argument(curve_points, None, about="rows `[length, pull]` with increasing lengths")
    rate_curve: LookupTable | None = argument(curve_points, None, about="rows `[rate, pull]` with increasing rates")

    @classmethod
    def build(cls, model: Model, **arguments: object) -> Model:
        if all(arguments[key] is None for key in ("pull", "curve", "rate_curve")):
            where = f"{cls.kind} '{arguments['name'] or cls.kind}'"
            raise InputError(f"{where}: got neither pull, curve nor rate_curve. Give at least one of them.")
        return super().build(model, **{**arguments, "pull": 0 if arguments["pull"] is None else arguments["pull"]})

    @property
    def _law(self) -> ForceLaw:
        return ForceLaw(self.measured, self.pull, self.curve, self.rate_curve)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self._law.formula,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        return numbers_but(self.pull, super().numbers())

    def law(self) -> tuple[str, str]:
        return self.kind, self._law.words()

    def freeze(self, hold: Callable[[Formula], Formula]) -> Self:
        return replace(self, pull=hold(self._law.formula), curve=None, rate_curve=None)

    def _force_terms(self, lower: Lowering) -> Iterator[tuple[Scalar, Scalar | None]]:
        """The conservative part with its potential, then the rest; zero parts are omitted."""
        energy, rest = self._law.parts
        if (pull := energy.diff(measure(self.measured[0]))) != 0:
            yield lower(pull), lower(energy)
        if rest != 0:
            yield lower(rest), None

    def _law_value(self, probe: MotionProbe, x: Derivatives) -> np.ndarray:
        """For verification: the sum of the formula as written and the curves."""
        known = dict.fromkeys((measure(name).name for name in self.measured), x.value)
        curves = ((self.curve, x.value), (self.rate_curve, x.rate))
        terms = [np.interp(at, points.times, points.values) for points, at in curves if points is not None]
        return probe.number(self.pull, known | {measure(RATE).name: x.rate}) + sum(terms, start=np.zeros(probe.K))


def rows(each: Check, what: str, about: str, *, required: bool = False) -> Key:
    """The key of a table column in a file."""
    return Key(many(each, what, MAX_FILE_ROWS), required, description=about)


TIMES = rows(constant, "times", "increasing constants", required=True)


def increasing_times(times: ArrayInput, read: Read, where: str) -> np.ndarray:
    """The times of a table.

    >>> increasing_times([0, 1, 5], lambda x, where: float(x), "table")
    array([0., 1., 5.])
    """
    if is_sequence(times) and not 1 <= len(times) <= MAX_ROWS:
        raise InputError(f"{where}, times: got {len(times)} times. Expected 1 to {MAX_ROWS} increasing times.")
    clock = _numbers(row_of(times, f"{where}, times", "increasing times"), read, f"{where}, times")
    if late := np.flatnonzero(np.diff(clock) <= 0).tolist():
        i = late[0]
        fact = f"times[{i + 1}] is {clock[i + 1]:g} and times[{i}] is {clock[i]:g}"
        advice = "Expected increasing times; sort the rows and remove duplicates."
        raise InputError(f"{where}, times: {fact}. {advice}")
    return clock


def curve(clock: np.ndarray, values: ArrayInput, read: Read, where: str) -> Formula:
    """The formula through one value for each time."""
    row = row_of(values, f"{where}, values", "one for each time")
    if len(row) != len(clock):
        raise InputError(f"{where}: got {len(row)} values for {len(clock)} times. Expected one for each time.")
    return polyline(clock, _numbers(row, read, f"{where}, values"))


def three_curves(clock: np.ndarray, values: ArrayInput, read: Read, where: str) -> Vector3:
    """The formulas through one row of three for each time."""
    rows = [row for row in values if is_sequence(row, 3)] if is_sequence(values, len(clock)) else []
    if len(rows) != len(clock):
        raise InputError(f"{where}: got {short_repr(values)}. Expected {len(clock)} rows of 3, one for each time.")
    x, y, z = _numbers([x for row in rows for x in row], read, where, 3).reshape(-1, 3).T
    return polyline(clock, x), polyline(clock, y), polyline(clock, z)


def _numbers(values: list[Written], read: Read, where: str, width: int = 1) -> np.ndarray:
    """Read finite numbers, `width` in each row; one by one if some are not plain numbers."""
    if all(map(_plain, values)):
        return np.array(values, dtype=float)
    return np.array([read(x, f"{where}[{i // width}]") for i, x in enumerate(values)])


def _plain(x: object) -> bool:
    if isinstance(x, int | np.integer):
        return not isinstance(x, bool) and abs(int(x)) < 2**53
    return isinstance(x, float) and isfinite(x)


def polyline(times: np.ndarray, values: np.ndarray) -> Formula:
    """Linear interpolation of the points with constant extrapolation.

    >>> polyline(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    1/2
    """
    return interpolation(table(times, values), TIME) if np.any(values != values[0]) else decimal(float(values[0]))


def opposite(formula: Formula) -> Formula:
    """−formula; the negative of a table is a table.

    >>> knots(opposite(polyline(np.array([0.0, 1.0]), np.array([2.0, 3.0]))))
    [(0.0, -2.0), (1.0, -3.0)]
    """
    times, values = np.array(knots(formula) or ()).reshape(-1, 2).T
    return polyline(times, -values) if len(times) else -formula


def timed(kind: str, entries: Sequence[Formula], where: str, *, table: bool = True) -> tuple[str, Element]:
    """The file entry of a vector: a table if it is piecewise linear in time and `table` is set, otherwise formulas."""
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
    """Numbers of a table, with integers written as int."""
    return [int(x) if x.is_integer() and abs(x) < 1e15 else x for x in numbers]


def describe_formulas(formulas: Sequence[Formula]) -> str:
    """The components, or the time span of a table."""
    curves = [knots(formula) for formula in formulas]
    times = {time for curve in curves for time, _ in curve or ()}
    if times and all(curve is not None for curve in curves):
        return f"a table from t = {min(times):g} to {max(times):g}"
    return f"({', '.join(map(formula_string, formulas))})"
