"""Formulas that switch branches, held in the branch they are in: what a run integrates between two switchings.

`abs`, `sign`, `min`, `max`, `piecewise` and tables are smooth on either side of a switching surface g(q, q̇, t) = 0. Held, each
condition is the value of a parameter: 1 where it holds, 0 where it does not, and in between where the motion slides along
the surface. A table is the straight line through the two points it is between. So the equations stay smooth along a step, and
beyond its end, and every integrator keeps its order up to the surface: see `integrators/crossings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import symengine as se

from dalembert.algebra.tables import Table, split_interpolation, tables_in
from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import written_out
from dalembert.model.description import Description
from dalembert.model.elements import Parameter
from dalembert.model.frozen import Frozen

T = TypeVar("T")
_LISTS = ("holonomic_list", "nonholonomic_list", "canonical_list", "contacts", "loops", "rotors", "speed_list")
_WALKED = ("bodies", "loads", *_LISTS, "energies", "non_ideal_forces")


@dataclass(frozen=True)
class Switch:
    """A condition g > 0, or ≥ 0, of an element, and the parameter that holds it."""

    parameter: str
    formula: Formula  # g
    owner: str  # what the formula belongs to

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"the switch at {written_out(self.formula)} = 0 of {self.owner}"


@dataclass(frozen=True)
class TableSwitch:
    """A table that is held as one of its straight lines: low + slope (x − start)."""

    parameters: tuple[str, str, str]  # start, low, slope
    table: Table
    formula: Formula  # x
    owner: str

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"a point of the table of {self.owner}"

    def line(self, k: int) -> tuple[float, float, float]:
        """Start, value and slope of line k: 0 before the first point, `len(table)` behind the last."""
        x, y = self.table.times, self.table.values
        if k <= 0:
            return float(x[0]), float(y[0]), 0.0
        if k >= len(x):
            return float(x[-1]), float(y[-1]), 0.0
        return float(x[k - 1]), float(y[k - 1]), float((y[k] - y[k - 1]) / (x[k] - x[k - 1]))

    def ends(self, k: int) -> tuple[float, float]:
        """Where line k begins and ends."""
        x = self.table.times
        return float(x[k - 1]) if k > 0 else -np.inf, float(x[k]) if k < len(x) else np.inf


@dataclass(frozen=True)
class Held:
    """A description whose formulas do not switch by themselves, and what holds them."""

    description: Description
    switches: tuple[Switch, ...]
    tables: tuple[TableSwitch, ...]

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The surfaces g of the switches, and the arguments of the tables."""
        return tuple(each.formula for each in (*self.switches, *self.tables))


def held(model: Description) -> Held:
    """The description with every condition of coordinates, velocities or time held by a parameter.

    >>> from dalembert.model import Model
    >>> model = Model("bead").coordinates("x")
    >>> _ = model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> found = held(model.force("bead", ("-200*max(x - 5, 0)", 0, 0), name="bumper").description)
    >>> [each.title for each in found.switches], found.description.parameter_values
    (["the switch at -5 + x = 0 of force 'bumper'"], {'switch 1': 0.0})
    """
    holder = _Holder(model)
    changed = {name: holder.within(getattr(model, name), name) for name in _WALKED}
    known = tuple(Parameter(name, 0.0, "", "") for name in holder.parameters)
    return Held(
        model.replaced(**changed, parameter_list=(*model.parameter_list, *known)),
        tuple(holder.switches.values()),
        tuple(holder.tables.values()),
    )


class _Holder:
    """Goes through the elements and replaces what switches."""

    def __init__(self, model: Description) -> None:
        self._constant = {parameter.name for parameter in model.parameter_list}
        self.switches: dict[Formula, Switch] = {}
        self.tables: dict[tuple[Table, Formula], TableSwitch] = {}
        self._owner = ""

    @property
    def parameters(self) -> Iterator[str]:
        """The names of all parameters that hold something, in order."""
        yield from (switch.parameter for switch in self.switches.values())
        for one in self.tables.values():
            yield from one.parameters

    def within(self, value: T, owner: str) -> T:
        """The same element, sequence or formula with what switches held."""
        self._owner = owner
        return mapped(value, self._turned, self._enter)

    def _enter(self, element: object) -> None:
        title = getattr(element, "title", None)
        if isinstance(title, str):
            self._owner = title

    def _turned(self, formula: Formula) -> Formula:
        if not formula.atoms(se.Piecewise) and not tables_in(formula):
            return formula
        return self._hold(formula, {})

    def _hold(self, formula: Formula, known: Mapping[Formula, bool]) -> Formula:
        if (found := split_interpolation(formula)) is not None:
            return self._line(*found, known)
        if isinstance(formula, se.Piecewise):
            return self._chosen(list(formula.args), known)
        if not formula.args:
            return formula
        return formula.func(*(self._hold(part, known) for part in formula.args))

    def _line(self, table: Table, x: Formula, known: Mapping[Formula, bool]) -> Formula:
        """The straight line in place of a table, or its slope."""
        x, value = self._hold(x, known), replace(table, order=0)
        if (value, x) not in self.tables:
            k = len(self.tables) + 1
            names = f"table {k}, start", f"table {k}, value", f"table {k}, slope"
            self.tables[value, x] = TableSwitch(names, value, x, self._owner)
        start, low, slope = map(se.Symbol, self.tables[value, x].parameters)
        return low + slope * (x - start) if table.order == 0 else slope if table.order == 1 else se.Integer(0)

    def _chosen(self, parts: list[Formula], known: Mapping[Formula, bool]) -> Formula:
        """The first of (value, condition, value, condition, ...) whose condition holds."""
        value, condition, *others = parts
        if not others:
            return self._hold(value, known)
        if not isinstance(condition, se.StrictLessThan | se.LessThan):
            return se.Piecewise(
                (self._hold(value, known), self._conditions(condition, known)), (self._chosen(others, known), True)
            )
        g = self._hold(condition.args[1] - condition.args[0], known)
        if not self._moves(g):
            return se.Piecewise((self._hold(value, known), condition), (self._chosen(others, known), True))
        if g in known or -g in known:  # on the surface itself nothing stays
            holds = known[g] if g in known else not known[-g]
            return self._hold(value, known) if holds else self._chosen(others, known)
        yes, no = self._hold(value, {**known, g: True}), self._chosen(others, {**known, g: False})
        s, straight = self._switch(g)
        return _blend(s, yes, no) if straight else _blend(s, no, yes)

    def _conditions(self, condition: Formula, known: Mapping[Formula, bool]) -> Formula:
        """A condition that is made of others."""
        if not isinstance(condition, se.StrictLessThan | se.LessThan):
            join = se.And if isinstance(condition, se.And) else se.Or
            return join(*(self._conditions(part, known) for part in condition.args))
        g = self._hold(condition.args[1] - condition.args[0], known)
        if not self._moves(g):
            return condition
        s, straight = self._switch(g)
        return se.Lt(0, s) if straight else se.Le(s, 0)

    def _moves(self, g: Formula) -> bool:
        """True when a formula changes along a motion: it holds more than parameters."""
        return bool({symbol.name for symbol in g.free_symbols} - self._constant)

    def _switch(self, g: Formula) -> tuple[Formula, bool]:
        """The symbol that holds g > 0, and False where it holds −g > 0."""
        if -g in self.switches:
            return se.Symbol(self.switches[-g].parameter), False
        if g not in self.switches:
            self.switches[g] = Switch(f"switch {len(self.switches) + 1}", g, self._owner)
        return se.Symbol(self.switches[g].parameter), True


def _blend(s: Formula, yes: Formula, no: Formula) -> Formula:
    """`yes` at s = 1 and `no` at s = 0, whatever the other may be there; in between a mixture."""
    return se.Piecewise((yes, se.Le(1, s)), (no, se.Le(s, 0)), (no + s * (yes - no), True))


def mapped(value: T, turn: Callable[[Formula], Formula], enter: Callable[[object], None]) -> T:
    """A record, sequence or mapping with every formula in it turned; `enter` is told of every record on the way."""

    def walk(x: object) -> object:
        if isinstance(x, se.Basic):
            return turn(x)
        if isinstance(x, tuple):
            parts = tuple(map(walk, x))
            return x if all(a is b for a, b in zip(parts, x, strict=True)) else parts
        if isinstance(x, Frozen):
            return Frozen({key: walk(part) for key, part in x.items()})
        if is_dataclass(x) and not isinstance(x, type):
            enter(x)
            new = {each.name: walk(getattr(x, each.name)) for each in fields(x) if each.init}
            changed = {name: part for name, part in new.items() if part is not getattr(x, name)}
            return replace(x, **changed) if changed else x
        return x

    return walk(value)  # type: ignore[return-value]
