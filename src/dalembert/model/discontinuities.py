"""Discontinuous formulas frozen in their current branch: the smooth equations between two discontinuities.

`abs`, `sign`, `min`, `max`, `piecewise` and tables are smooth on either side of a switching surface g(q, q̇, t) = 0. Each
condition is replaced by a parameter (its mode): 1 if it is true, 0 if it is false, and between them in a Filippov sliding mode
along the surface. A table is replaced by its current line segment. So the equations are smooth during a step and beyond its
end, and every integrator keeps its order up to the surface: see `simulation/_crossings`.

Time kinks of prescribed motions are instants at which the velocity prescribed by a joint or a constraint jumps.
`dl.simulate` applies their impulses; fixed-step rollouts search for them in advance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import symengine as se

from dalembert.errors import NotApplicableError
from dalembert.model.description import Description
from dalembert.model.elements import Body, Parameter
from dalembert.model.evaluation import at_start
from dalembert.model.immutable import map_formulas
from dalembert.model.loads.base import Load, LoadKinematics
from dalembert.model.loads.force_laws import plain
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.lookup_tables import LookupTable, split_interpolation, tables_in
from dalembert.symbolic.symbols import TIME, Formula, Lowering, SymbolKind, compare

_FORMULA_FIELDS = (
    "bodies",
    "holonomic_constraints",
    "nonholonomic_constraints",
    "canonical_constraints",
    "contacts",
    "loops",
    "rotors",
    "generalized_speeds",
    "energies",
    "non_ideal_forces",
)
_MODE = f"{SymbolKind.FROZEN.value}("
MAX_FROZEN_POINTS = (
    2000  # points of a table: a longer one is not frozen by segments, since every point would end a step
)
_GRID = 4097  # times at which conditions are evaluated
_BISECTIONS = 60
_OFFSET = 1e-9  # of the span: distance from an instant at which rates are compared
_OFFSET_RATIO = 64  # second comparison at a smaller distance: a steep rate changes less there, a jump does not
_JUMP_TOLERANCE = 1e-9  # of the largest rate


@dataclass(frozen=True)
class SwitchingFormula:
    """A formula of the motion whose sign selects the branch of an element."""

    formula: Formula
    owner: str  # title of its element
    load: str | None  # the load whose measures it contains, if any
    # belongs to a joint, a constraint or an energy, so that velocities may jump
    kinematic: bool = field(default=False, kw_only=True)
    timed: bool = field(default=False, kw_only=True)  # a function of time alone

    def at(self, motion: LoadKinematics) -> Scalar:
        """Its value."""
        if self.load is None:
            return motion.lower(self.formula)
        load = next(load for load in motion.model.loads if load.name == self.load)
        return load.lowering(motion)(self.formula)


@dataclass(frozen=True)
class Switch(SwitchingFormula):
    """A condition g > 0, or ≥ 0, with the formula g, and the parameter of its mode."""

    parameter: str
    n_primary: Formula  # the formula before conditions in it were frozen
    # range of mixtures that hold on the surface, if it is wider than that of the two branches
    grip: tuple[Formula, Formula] | None = None

    @cached_property
    def title(self) -> str:
        """Its name in messages."""
        return f"the switch at {formula_string(plain(self.n_primary))} = 0 of {self.owner}"


@dataclass(frozen=True)
class TableSwitch(SwitchingFormula):
    """A table replaced by one of its line segments, low + slope (x − start), with the formula x."""

    parameters: tuple[str, str, str]  # start, low, slope
    table: LookupTable

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"a point of the table of {self.owner}"

    def line(self, k: int) -> tuple[float, float, float]:
        """Start, value and slope of segment k: 0 before the first point, `len(table)` after the last."""
        x, y = self.table.times, self.table.values
        if k <= 0:
            return float(x[0]), float(y[0]), 0.0
        if k >= len(x):
            return float(x[-1]), float(y[-1]), 0.0
        return float(x[k - 1]), float(y[k - 1]), float((y[k] - y[k - 1]) / (x[k] - x[k - 1]))

    def ends(self, k: int) -> tuple[float, float]:
        """The start and the end of segment k."""
        x = self.table.times
        return float(x[k - 1]) if k > 0 else -np.inf, float(x[k]) if k < len(x) else np.inf


@dataclass(frozen=True)
class FrozenModel:
    """A description with frozen conditions and tables, and their switches."""

    description: Description
    switches: tuple[Switch, ...]
    tables: tuple[TableSwitch, ...]

    @property
    def surfaces(self) -> tuple[SwitchingFormula, ...]:
        """The switches and the tables."""
        return (*self.switches, *self.tables)

    def effective_switches(self, modes: Mapping[str, float]) -> tuple[bool, ...]:
        """Whether each switch has an effect if the others have the `modes`, by their parameters: the force of a stop
        without contact is zero for any values of its other arguments.

        >>> from dalembert.model.model import Model
        >>> model = Model("bead").coordinates("x")
        >>> _ = model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        >>> found = freeze_conditions(model.force("bead", ("-sign(dot(x))*max(x - 5, 0)", 0, 0)).description)
        >>> meets, rubs = (each.parameter for each in found.switches)
        >>> found.effective_switches({rubs: 1.0, meets: 0.0}), found.effective_switches({rubs: 1.0, meets: 1.0})
        ((True, False), (True, True))
        """
        found: set[str] = set()
        for formula, names in self._switching:
            found |= _effective(formula, tuple((name, modes.get(name)) for name in names))
        return tuple(switch.parameter in found for switch in self.switches)

    @cached_property
    def _switching(self) -> list[tuple[Formula, list[str]]]:
        """The formulas with frozen conditions, each once, with their parameters."""
        modes = {f: [s.name for s in f.free_symbols if s.name.startswith(_MODE)] for f in self.description.formulas}
        return [(formula, sorted(names)) for formula, names in modes.items() if names]


def freeze_conditions(model: Description) -> FrozenModel:
    """Replace every condition of coordinates, velocities or time in a description by a parameter.

    >>> from dalembert.model.model import Model
    >>> model = Model("bead").coordinates("x")
    >>> _ = model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> found = freeze_conditions(model.force("bead", ("-200*max(x - 5, 0)", 0, 0), name="bumper").description)
    >>> [each.title for each in found.switches], found.description.parameter_values
    (["the switch at -5 + x = 0 of force 'bumper'"], {'held(switch 1)': 0.0})
    """
    freezer = _Freezer(model)
    changed = {name: map_formulas(getattr(model, name), freezer.formula, freezer.enter) for name in _FORMULA_FIELDS}
    changed["loads"] = tuple(freezer.load(load) for load in model.loads)
    known = tuple(Parameter(name, 0.0, "", "") for name in freezer.parameters)
    return FrozenModel(
        model.replaced(**changed, declared_parameters=(*model.declared_parameters, *known)),
        tuple(freezer.switches.values()),
        tuple(freezer.tables.values()),
    )


def kinematic_names(model: Description) -> frozenset[str]:
    """The names in the formulas of bodies, constraints and energies, without loads.

    >>> from dalembert.model.model import Model
    >>> model = Model("cart").parameters(w=1.0, F=2.0).coordinates("x")
    >>> _ = model.body("cart", joint=model.prismatic((1, 0, 0), "x + w*t"), mass=1).force("cart", ("F", 0, 0))
    >>> sorted(kinematic_names(model.description))
    ['t', 'w', 'x']
    """
    found: set[str] = set()

    def collect(formula: Formula) -> Formula:
        found.update(symbol.name for symbol in formula.free_symbols)
        return formula

    for name in _FORMULA_FIELDS:
        map_formulas(getattr(model, name), collect)
    return frozenset(found)


class _Freezer:
    """Traverses the elements and replaces conditions and tables."""

    def __init__(self, model: Description) -> None:
        self._constant = {parameter.name for parameter in model.declared_parameters}
        self.switches: dict[tuple[Formula, str | None], Switch] = {}
        self.tables: dict[tuple[LookupTable, Formula, str | None], TableSwitch] = {}
        self._owner = "the model"
        self._load: str | None = None
        self._grip: tuple[Formula, Formula] | None = None
        self._in_load = False

    @property
    def parameters(self) -> Iterator[str]:
        """The names of all mode parameters, in order."""
        yield from (switch.parameter for switch in self.switches.values())
        for one in self.tables.values():
            yield from one.parameters

    def load(self, load: Load) -> Load:
        self._owner, self._load, self._grip, self._in_load = load.title, load.name, load.sliding_range, True
        out = load.freeze(self.formula)
        self._load, self._grip, self._in_load = None, None, False
        return out

    def enter(self, element: object) -> None:
        title = getattr(element, "title", None)
        if isinstance(title, str):
            self._owner = title
        elif isinstance(element, Body):
            self._owner = f"body '{element.name}'"

    def formula(self, formula: Formula) -> Formula:
        if not formula.atoms(se.Piecewise) and not tables_in(formula):
            return formula
        return self._freeze(formula, {})

    def _freeze(self, formula: Formula, known: Mapping[Formula, bool]) -> Formula:
        if (found := split_interpolation(formula)) is not None:
            return self._line(*found, known) if len(found[0]) <= MAX_FROZEN_POINTS else formula
        if isinstance(formula, se.Piecewise):
            return self._select(list(formula.args), known)
        if not formula.args:
            return formula
        return formula.func(*(self._freeze(part, known) for part in formula.args))

    def _line(self, table: LookupTable, x: Formula, known: Mapping[Formula, bool]) -> Formula:
        """The line segment that replaces a table, or its slope."""
        x, value = self._freeze(x, known), replace(table, order=0)
        key = value, x, self._scope(x)
        if key not in self.tables:
            k = len(self.tables) + 1
            start, low, slope = (SymbolKind.FROZEN.of(f"table {k}, {what}") for what in ("start", "value", "slope"))
            names = (start, low, slope)
            self.tables[key] = TableSwitch(x, self._owner, self._scope(x), names, value, **self._nature(x))
        start, low, slope = map(se.Symbol, self.tables[key].parameters)
        return low + slope * (x - start) if table.order == 0 else slope if table.order == 1 else se.Integer(0)

    def _select(self, parts: list[Formula], known: Mapping[Formula, bool]) -> Formula:
        """The first of (value, condition, value, condition, ...) whose condition is true."""
        value, condition, *others = parts
        if not others:
            return self._freeze(value, known)
        if not isinstance(condition, se.StrictLessThan | se.LessThan):
            chosen = self._freeze(value, known), self._conditions(condition, known)
            return se.Piecewise(chosen, (self._select(others, known), True))
        difference = condition.args[1] - condition.args[0]
        g = self._freeze(difference, known)
        if not self._moves(g):
            return se.Piecewise((self._freeze(value, known), condition), (self._select(others, known), True))
        if g in known or -g in known:  # an outer condition decides it, except on the surface itself
            holds = known[g] if g in known else not known[-g]
            return self._freeze(value, known) if holds else self._select(others, known)
        yes, no = self._freeze(value, {**known, g: True}), self._select(others, {**known, g: False})
        s, straight = self._switch(g, difference)
        yes, no = (yes, no) if straight else (no, yes)
        return _blend(s, yes, no) if self._grip is None else no + s * (yes - no)

    def _conditions(self, condition: Formula, known: Mapping[Formula, bool]) -> Formula:
        """A compound condition."""
        if not isinstance(condition, se.StrictLessThan | se.LessThan):
            join = se.And if isinstance(condition, se.And) else se.Or
            return join(*(self._conditions(part, known) for part in condition.args))
        difference = condition.args[1] - condition.args[0]
        g = self._freeze(difference, known)
        if not self._moves(g):
            return condition
        s, straight = self._switch(g, difference)
        return se.Lt(0, s) if straight else se.Le(s, 0)

    def _moves(self, g: Formula) -> bool:
        """True if a formula varies during a motion: it contains more than parameters."""
        return bool({symbol.name for symbol in g.free_symbols} - self._constant)

    def _nature(self, formula: Formula) -> dict[str, bool]:
        """Whether a surface belongs to the kinematics, and whether it depends on time alone."""
        names = {symbol.name for symbol in formula.free_symbols} - self._constant - {TIME.name}
        return {"kinematic": not self._in_load, "timed": all(name.startswith(_MODE) for name in names)}

    def _scope(self, formula: Formula) -> str | None:
        """The load whose measures a formula contains."""
        measures = any(symbol.name.startswith(f"{SymbolKind.MEASURE.value}(") for symbol in formula.free_symbols)
        return self._load if measures else None

    def _switch(self, g: Formula, difference: Formula) -> tuple[Formula, bool]:
        """The symbol of the mode of g > 0, and False if it is that of −g > 0."""
        scope = self._scope(g)
        if (-g, scope) in self.switches:
            return se.Symbol(self.switches[-g, scope].parameter), False
        if (g, scope) not in self.switches:
            name = SymbolKind.FROZEN.of(f"switch {len(self.switches) + 1}")
            self.switches[g, scope] = Switch(g, self._owner, scope, name, difference, self._grip, **self._nature(g))
        return se.Symbol(self.switches[g, scope].parameter), True


def _blend(s: Formula, yes: Formula, no: Formula) -> Formula:
    """`yes` at s = 1 and `no` at s = 0, even if the other is undefined there; a mixture between them."""
    return se.Piecewise((yes, se.Le(1, s)), (no, se.Le(s, 0)), (no + s * (yes - no), True))


@lru_cache(maxsize=4096)
def _effective(formula: Formula, modes: tuple[tuple[str, float | None], ...]) -> frozenset[str]:
    """The parameters that a formula depends on if the others have these modes; None is undecided."""
    values = {name: se.Integer(int(mode)) for name, mode in modes if mode is not None}

    def matters(name: str) -> bool:
        others = {key: x for key, x in values.items() if key != name}
        return se.Symbol(name) in _reduced(formula, others).free_symbols

    return frozenset(name for name, _ in modes if matters(name))


def _reduced(formula: Formula, known: Mapping[str, Formula]) -> Formula:
    """Substitute values of some symbols in a formula and remove the branches that they exclude."""
    if formula.is_Symbol:
        return known.get(formula.name, formula)
    if not formula.args:
        return formula
    if isinstance(formula, se.StrictLessThan | se.LessThan):
        left, right = (_reduced(side, known) for side in formula.args)
        return compare(se.Lt if isinstance(formula, se.StrictLessThan) else se.Le, left, right)
    if isinstance(formula, se.And | se.Or):
        parts = [_reduced(part, known) for part in formula.args]
        return (se.And if isinstance(formula, se.And) else se.Or)(*parts)
    if not isinstance(formula, se.Piecewise):
        return formula.func(*(_reduced(part, known) for part in formula.args))
    open_parts: list[tuple[Formula, Formula]] = []
    for value, condition in zip(formula.args[::2], formula.args[1::2], strict=True):
        decided = _reduced(condition, known)
        if decided == se.false:
            continue
        open_parts.append((_reduced(value, known), decided))
        if decided == se.true:
            break
    return open_parts[0][0] if open_parts[0][1] == se.true else se.Piecewise(*open_parts)


@dataclass(frozen=True)
class TimeKink:
    """An instant at which a prescribed velocity jumps."""

    t: float
    title: str  # of the element that prescribes it
    jump: float


def time_kinks(
    model: Description,
    start: float,
    end: float,
    values: Mapping[str, float] | None = None,
    *,
    long_tables: bool = False,
) -> list[TimeKink]:
    """The kinks of prescribed motions between two times, at the initial positions; optionally of long tables only.

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
    instants = instants[(instants > start + 2 * _OFFSET * (end - start)) & (instants < end)]
    out = [kink for title, rate in rates for kink in _jumps(title, rate, instants, table, end - start)]
    return sorted(out, key=lambda kink: kink.t)


def refuse_time_kinks(model: Description, who: str, start: float, end: float) -> None:
    """Raise if prescribed velocities jump between two times, and `who` does not apply their impulses."""
    for kink in time_kinks(model, start, end):
        raise NotApplicableError(
            f"{who}: at t = {kink.t:.9g} the velocity that the {kink.title} prescribes jumps by {kink.jump:.6g}, and only "
            "dl.simulate applies its impulse. Expected a motion without kinks: use dl.simulate, or a smooth profile."
        )


def _prescribed(model: Description, long_tables: bool) -> Iterator[tuple[str, Formula]]:
    """The rates that joints and constraints prescribe by formulas of time, each with its title."""
    motions = [(title, f) for title, f in model.titled_formulas if title.startswith("joint of ")]
    motions += [(f"constraint '{c.name}'", c.formula) for c in model.holonomic_constraints]
    direct = [(f"constraint '{c.name}'", c.formula) for c in model.nonholonomic_constraints]
    for found, derive in ((motions, True), (direct, False)):
        for title, formula in found:
            longest = max((len(each) for each in tables_in(formula)), default=0)
            if longest > MAX_FROZEN_POINTS if long_tables else bool(longest) or bool(formula.atoms(se.Piecewise)):
                yield title, se.diff(formula, TIME) if derive else formula


def _instants(
    model: Description, start: float, end: float, table: Mapping[str, float], long_tables: bool
) -> Iterator[float]:
    """The times at which formulas change branches."""
    for title, formula in model.titled_formulas:
        if title.startswith(("joint of ", "constraint ")):
            for each in tables_in(formula):
                if len(each) > MAX_FROZEN_POINTS:
                    yield from each.times.tolist()
    if long_tables:
        return
    known, grid = freeze_conditions(model), np.linspace(start, end, _GRID)
    for surface in known.surfaces:
        if surface.kinematic and surface.timed:
            levels = surface.table.times if isinstance(surface, TableSwitch) else np.zeros(1)
            if isinstance(surface, TableSwitch) and surface.formula == TIME:
                yield from levels.tolist()
            else:
                yield from _roots(surface, levels, grid, table, known.description.parameter_values)


def _roots(
    surface: SwitchingFormula,
    levels: np.ndarray,
    grid: np.ndarray,
    table: Mapping[str, float],
    parameters: Mapping[str, float],
) -> Iterator[float]:
    """The times at which a function of time crosses one of the levels, by bisection."""
    values = {**parameters, **table}
    g = _along(surface.formula, grid, values)
    for level in levels.tolist():
        k = np.flatnonzero((g[:-1] > level) != (g[1:] > level))
        low, high = grid[k], grid[k + 1]
        for _ in range(_BISECTIONS if len(k) else 0):
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
    far, near = (
        _along(rate, instants + offset, table) - _along(rate, instants - offset, table)
        for offset in (_OFFSET * span, _OFFSET / _OFFSET_RATIO * span)
    )
    size = float(np.abs(_along(rate, np.linspace(instants[0] - span, instants[-1] + span, _GRID), table)).max())
    jumps = (np.abs(near) > _JUMP_TOLERANCE * max(size, 1e-300)) & (np.abs(near) > 0.5 * np.abs(far))
    for k in np.flatnonzero(jumps).tolist():
        yield TimeKink(round(float(instants[k]), 12), title, round(float(near[k]), 9))


def _along(formula: Formula, t: np.ndarray, table: Mapping[str, float]) -> np.ndarray:
    """Evaluate a formula at many times."""
    found = Lowering(FLOATS, {**table, TIME.name: t})(formula)
    return np.broadcast_to(np.asarray(found, dtype=float), t.shape)
