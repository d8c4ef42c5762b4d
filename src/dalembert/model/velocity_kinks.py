"""Kinks in time of prescribed motions: instants at which the velocity that a joint or a constraint prescribes jumps.

`dl.simulate` applies the impulses of such instants. What steps over them, as rollouts do, would lose them without a word, and
looks for them here beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.errors import NotApplicableError
from dalembert.model.description import Description
from dalembert.model.discontinuities import LONG, Surface, TableSwitch, held
from dalembert.model.evaluation import at_start
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.lookup_tables import tables_in
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula

_GRID = 4097  # times at which conditions are looked at
_HALVED = 60  # how often an interval around a root is halved
_BESIDE = 1e-9  # of the span: how far beside an instant rates are compared
_CLOSER = 64  # and how much closer they are compared again: a steep rate changes less there, a jump does not
_JUMP = 1e-9  # of the largest rate: less is rounding


@dataclass(frozen=True)
class TimeKink:
    """An instant at which a prescribed velocity jumps."""

    t: float
    title: str  # what prescribes it
    jump: float


def time_kinks(
    model: Description,
    start: float,
    end: float,
    values: Mapping[str, float] | None = None,
    *,
    long_tables: bool = False,
) -> list[TimeKink]:
    """The kinks of prescribed motions between two times, at the initial positions; of long tables only, where that is asked.

    >>> from dalembert.model.model import Model
    >>> model = Model("cart").coordinates("x")
    >>> _ = model.body("cart", joint=model.prismatic((1, 0, 0), "x + max(t - 1, 0)"), mass=1)
    >>> time_kinks(model.description, 0, 2)
    [TimeKink(t=1.0, title="joint of 'cart'", jump=1.0)]
    """
    rates = list(_prescribed(model, long_tables))
    if not rates or end <= start:
        return []
    table = {**at_start(model), **(values or {})}
    instants = np.unique(np.array(list(_instants(model, start, end, table, long_tables)), dtype=float))
    instants = instants[(instants > start + 2 * _BESIDE * (end - start)) & (instants < end)]
    out = [kink for title, rate in rates for kink in _jumps(title, rate, instants, table, end - start)]
    return sorted(out, key=lambda kink: kink.t)


def refuse_time_kinks(model: Description, who: str, start: float, end: float) -> None:
    """Raise where prescribed velocities jump on the way, and `who` does not know their impulses."""
    for kink in time_kinks(model, start, end):
        raise NotApplicableError(
            f"{who}: at t = {kink.t:.9g} the velocity that the {kink.title} prescribes jumps by {kink.jump:.6g}, and the impulse "
            "of it is known to dl.simulate only. Expected a motion without kinks: use dl.simulate, or a smooth profile."
        )


def _prescribed(model: Description, long_tables: bool) -> Iterator[tuple[str, Formula]]:
    """The rates that joints and constraints prescribe by formulas of time, each with its title."""
    motions = [(title, f) for title, f in model.titled_formulas if title.startswith("joint of ")]
    motions += [(f"constraint '{c.name}'", c.formula) for c in model.holonomic_constraints]
    direct = [(f"constraint '{c.name}'", c.formula) for c in model.nonholonomic_constraints]
    for found, derive in ((motions, True), (direct, False)):
        for title, formula in found:
            longest = max((len(each) for each in tables_in(formula)), default=0)
            if longest > LONG if long_tables else bool(longest) or bool(formula.atoms(se.Piecewise)):
                yield title, se.diff(formula, TIME) if derive else formula


def _instants(
    model: Description, start: float, end: float, table: Mapping[str, float], long_tables: bool
) -> Iterator[float]:
    """The times at which formulas change their branch."""
    for title, formula in model.titled_formulas:
        if title.startswith(("joint of ", "constraint ")):
            for each in tables_in(formula):
                if len(each) > LONG:
                    yield from each.times.tolist()
    if long_tables:
        return
    known, grid = held(model), np.linspace(start, end, _GRID)
    for surface in known.surfaces:
        if surface.kinematic and surface.timed:
            levels = surface.table.times if isinstance(surface, TableSwitch) else np.zeros(1)
            if isinstance(surface, TableSwitch) and surface.formula == TIME:
                yield from levels.tolist()
            else:
                yield from _roots(surface, levels, grid, table, known.description.parameter_values)


def _roots(
    surface: Surface, levels: np.ndarray, grid: np.ndarray, table: Mapping[str, float], parameters: Mapping[str, float]
) -> Iterator[float]:
    """Where a function of time passes one of the levels, by halving intervals in which its sign changes."""
    values = {**parameters, **table}
    g = _along(surface.formula, grid, values)
    for level in levels.tolist():
        k = np.flatnonzero((g[:-1] > level) != (g[1:] > level))
        low, high = grid[k], grid[k + 1]
        for _ in range(_HALVED if len(k) else 0):
            middle = (low + high) / 2
            left = (_along(surface.formula, middle, values) > level) == (g[k] > level)
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        yield from high.tolist()


def _jumps(
    title: str, rate: Formula, instants: np.ndarray, table: Mapping[str, float], span: float
) -> Iterator[TimeKink]:
    """The instants at which a rate jumps."""
    if not len(instants):
        return
    far, near = (_difference(rate, instants, table, x * span) for x in (_BESIDE, _BESIDE / _CLOSER))
    size = float(np.abs(_along(rate, np.linspace(instants[0] - span, instants[-1] + span, _GRID), table)).max())
    jumps = (np.abs(near) > _JUMP * max(size, 1e-300)) & (np.abs(near) > 0.5 * np.abs(far))
    for k in np.flatnonzero(jumps).tolist():
        yield TimeKink(round(float(instants[k]), 12), title, round(float(near[k]), 9))


def _difference(rate: Formula, t: np.ndarray, table: Mapping[str, float], beside: float) -> np.ndarray:
    """What a rate changes by across each of many times."""
    return _along(rate, t + beside, table) - _along(rate, t - beside, table)


def _along(formula: Formula, t: np.ndarray, table: Mapping[str, float]) -> np.ndarray:
    """A formula at many times."""
    found = Lowering(FLOATS, {**table, TIME.name: t})(formula)
    return np.broadcast_to(np.asarray(found, dtype=float), t.shape)
