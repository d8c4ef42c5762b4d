"""Laws: how strongly a load pulls as a formula of what it measures, such as its length and their rate, and curves through points.

In a law the names of what is measured stand beside parameters and the time t; the model's coordinates do not. Inside a record
they are symbols of their own kind, so that a coordinate may be called `length`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import symengine as se

from dalembert.arguments import shown
from dalembert.errors import InputError
from dalembert.model.file_form import Value
from dalembert.model.keys import MAX_FILE_ROWS, Check, Kind, array, constant, many, readable
from dalembert.model.loads.base import Load
from dalembert.model.loads.measured_curves import MAX_ROWS, short
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Traced, Watch
from dalembert.model.values import several
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.formula_writer import written, written_out
from dalembert.symbolic.lookup_tables import Table, interpolation, table
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula, Written
from dalembert.symbolic.symbols import Kind as Symbols
from dalembert.symbolic.symengine_algebra import antiderivative

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

RATE = "rate"


def measure(name: str) -> Formula:
    """The symbol of what a load measures.

    >>> measure("length")
    measure(length)
    """
    return se.Symbol(Symbols.MEASURE.of(name))


def plain(formula: Formula) -> Formula:
    """A law in the names that users write."""
    start = f"{Symbols.MEASURE.value}("
    names = [s.name for s in formula.free_symbols if s.name.startswith(start)]
    return formula.subs({se.Symbol(name): se.Symbol(name.removeprefix(start)[:-1]) for name in names})


def law(*names: str) -> Kind:
    """A formula of what is measured, parameters and time."""

    def read(model: Elements, given: Written, where: str) -> Formula:
        reader = model.reader
        known = replace(reader, coordinates=(), points={}, parameters=(*reader.parameters, *names))
        formula = known.read(given, where, rates=False)
        used = {symbol.name for symbol in formula.free_symbols}
        for name in sorted(used & {*names} & {*reader.parameters}):
            fact = f"'{name}' is a parameter of the model, and in a law it is what the load measures"
            raise InputError(f"{where}: {fact}. Give the parameter another name.")
        return formula.subs({se.Symbol(name): measure(name) for name in names})

    check = readable(f"a number or a formula of {', '.join(names)}, parameters and t in quotation marks", read)
    return Kind(check, read, lambda formula, where: written(plain(formula), where), alone=True)


def _points(model: Elements, given: object, where: str) -> Table | None:
    """The table through rows of two, with increasing first entries."""
    if given is None:
        return None
    given_rows = list(given) if several(given) else []
    rows = [row for row in given_rows if several(row, 2)]
    if not 2 <= len(rows) <= MAX_ROWS or len(rows) < len(given_rows):
        got = f"{len(given_rows)} rows" if given_rows else shown(given)
        expected = f"Expected 2 to {MAX_ROWS} rows of two numbers, such as [[0, 0], [0.1, 25]]."
        raise InputError(f"{where}: got {got}. {expected}")
    x, y = np.array([[model.number(v, f"{where}[{i}]") for v in row] for i, row in enumerate(rows)], dtype=float).T
    if late := np.flatnonzero(np.diff(x) <= 0).tolist():
        i = late[0]
        fact = f"row {i + 1} begins with {x[i + 1]:g} and row {i} with {x[i]:g}"
        raise InputError(f"{where}: {fact}. Expected increasing numbers; sort the rows and keep one for each.")
    return table(x, y)


def _rows(held: Table, where: str) -> Value:
    return [short(row) for row in zip(held.times.tolist(), held.values.tolist(), strict=True)]


_PAIRS: Check = many(array(2, constant, "numbers"), "rows of two", MAX_FILE_ROWS)
curve_points = Kind(_PAIRS, _points, _rows, argument="Given")


@dataclass(frozen=True)
class Law:
    """A pull by a formula, by a curve over what is measured, and by a curve over its rate; they add up.

    `names` are what is measured, under all its names, without the rate.
    """

    names: tuple[str, ...]
    pull: Formula
    curve: Table | None
    rate_curve: Table | None

    @property
    def formula(self) -> Formula:
        """All of it as one formula of the first name and the rate."""
        first, speed = measure(self.names[0]), measure(RATE)
        total = self.pull.subs({measure(name): first for name in self.names[1:]})
        curves = [(self.curve, first), (self.rate_curve, speed)]
        return total + sum((interpolation(held, x) for held, x in curves if held is not None), start=se.Integer(0))

    @property
    def parts(self) -> tuple[Formula, Formula]:
        """(V, rest): the potential of the terms that have one, and the pull of the others."""
        formula = self.formula
        held = [symbol for symbol in formula.free_symbols if symbol.name.startswith(f"{Symbols.HELD.value}(")]
        return antiderivative(formula, measure(self.names[0]), (measure(RATE), TIME, *held))

    def words(self) -> str:
        """What a reader is told."""
        parts = [written_out(plain(self.pull))] if self.pull != 0 else []
        over = [(self.curve, self.names[0]), (self.rate_curve, RATE)]
        parts += [f"a curve over {name} of {len(held)} points" for held, name in over if held is not None]
        return " + ".join(parts) or "0"

    def mirrored(self) -> Law:
        """The same of the opposite: −pull(−x, −rate)."""
        turned = {measure(name): -measure(name) for name in (*self.names, RATE)}
        return Law(self.names, -self.pull.subs(turned), _mirrored(self.curve), _mirrored(self.rate_curve))


def _mirrored(held: Table | None) -> Table | None:
    return None if held is None else table(-held.times[::-1], -held.values[::-1])


def numbers_but(pull: Formula, given: Iterator[tuple[str, Formula]]) -> Iterator[tuple[str, Formula]]:
    """The formulas of a load without its law, which has no value before something is measured."""
    return ((path, formula) for path, formula in given if formula is not pull)


@record
class ByLaw(Load):
    """It pulls by a formula of what it measures and by curves over it and over its rate; they add up."""

    measured: ClassVar[tuple[str, ...]]  # all names of what it measures

    pull: Formula
    curve: Table | None = argument(curve_points, None, about="rows `[length, pull]`, the lengths increasing")
    rate_curve: Table | None = argument(curve_points, None, about="rows `[rate, pull]`, the rates increasing")

    @classmethod
    def build(cls, model: Model, **given: Any) -> Model:
        """Something has to pull."""
        if all(given[key] is None for key in ("pull", "curve", "rate_curve")):
            where = f"{cls.kind} '{given['name'] or cls.kind}'"
            raise InputError(f"{where}: neither pull nor curve nor rate_curve is given. Give at least one of them.")
        return super().build(model, **{**given, "pull": 0 if given["pull"] is None else given["pull"]})

    @property
    def _law(self) -> Law:
        return Law(self.measured, self.pull, self.curve, self.rate_curve)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The law with its curves."""
        return (self._law.formula,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """All but the law."""
        return numbers_but(self.pull, super().numbers())

    def law(self) -> tuple[str, str]:
        """What it pulls with."""
        return self.kind, self._law.words()

    def held(self, hold: Callable[[Formula], Formula]) -> Self:
        """With its curves in the law."""
        return replace(self, pull=hold(self._law.formula), curve=None, rate_curve=None)

    def _pulls(self, lower: Lowering) -> Iterator[tuple[Scalar, Scalar | None]]:
        """The pull that has a potential with it, then the rest; what is zero is left out."""
        energy, rest = self._law.parts
        if (pull := energy.diff(measure(self.measured[0]))) != 0:
            yield lower(pull), lower(energy)
        if rest != 0:
            yield lower(rest), None

    def _pulled(self, watch: Watch, seen: Traced) -> np.ndarray:
        """For the evidence: the pull by the formula as it is given, and by the curves."""
        known = dict.fromkeys((measure(name).name for name in self.measured), seen.value)
        curves = ((self.curve, seen.value), (self.rate_curve, seen.rate))
        along = [np.interp(x, held.times, held.values) for held, x in curves if held is not None]
        return watch.number(self.pull, known | {measure(RATE).name: seen.rate}) + sum(along, start=np.zeros(watch.K))
