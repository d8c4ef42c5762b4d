"""The panels of a run; quantities with different units never share an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.math.symbol_names import escape_for_plot, for_plot
from dalembert.display.units import speed_units, units_of
from dalembert.errors import InputError, suggest_name
from dalembert.symbolic.symbols import SymbolKind

if TYPE_CHECKING:
    from dalembert.simulation.trajectory_data import TrajectoryData

MAX_LINES = 8  # in one panel: the number of colors
_MAX_LINES_PER_UNIT = 60
_MAX_PORTRAITS = 9
_WIDE = 52  # characters of a description in a legend
_OFF_TARGET = 1e-3  # initial error of a servo constraint, relative to its maximum, above which it starts off its target
_ROUNDING = 1e-10  # relative to the largest momentum or force
FLOOR = 1e-17  # below this an error is rounding


@dataclass(frozen=True)
class PlotLine:
    """A labeled curve, over time or over `x`."""

    label: str
    y: np.ndarray
    x: np.ndarray | None = None
    zero: bool = False  # zero up to rounding: listed in the legend, not drawn


@dataclass(frozen=True)
class Panel:
    """One pair of axes: quantity and unit of the vertical axis, and the lines; `across` is the horizontal axis if not time.

    The lines of a `drift` are magnitudes of errors, mostly running maxima, on a logarithmic axis.
    """

    what: str
    unit: str
    lines: tuple[PlotLine, ...]
    drift: bool = False
    across: tuple[str, str] | None = None  # quantity, and its unit

    def is_zero(self, line: PlotLine) -> bool:
        """True if a line is zero up to rounding, so that it is not drawn."""
        return line.zero or (self.drift and bool(np.nanmax(line.y) <= FLOOR))

    @property
    def zero(self) -> bool:
        """True if all lines are zero."""
        return all(map(self.is_zero, self.lines))


@dataclass(frozen=True)
class PanelType:
    """A type of panel: its description, its function, and what a run without it lacks."""

    text: str
    make: Callable[[TrajectoryData], list[Panel]]
    lack: str = ""


def panels_of(run: TrajectoryData, names: Sequence[str] = ()) -> list[Panel]:
    """Return the panels of these names, or the overview; raises for an unknown name, or a panel that the run does not have.

    >>> import dalembert as dl
    >>> run = dl.simulate("double-pendulum", 1.0, samples=11)
    >>> [panel.what for panel in panels_of(run, ["phase", "momenta"])]
    ['$\\\\dot{\\\\theta}_{1}$', '$\\\\dot{\\\\theta}_{2}$', 'momenta']
    >>> panels_of(run, ["multipliers"])
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: plot: 'double-pendulum' has no constraints, so there is no panel 'multipliers'. Remove it.
    """
    require_known(names, PANELS, "panel")
    found = {name: PANELS[name].make(run) for name in names or OVERVIEW}
    for name in names:
        if not found[name]:
            raise InputError(f"plot: {_missing_panel_note(run, name)} Remove it.")
    return [panel for panels in found.values() for panel in panels]


def available_panels(run: TrajectoryData, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the panels that the run has, and a note for each of the others.

    >>> import dalembert as dl
    >>> available_panels(dl.simulate("double-pendulum", 1.0, samples=11), ["energy", "multipliers"])
    (['energy'], ["'double-pendulum' has no constraints, so there is no panel 'multipliers'."])
    """
    require_known(names, PANELS, "panel")
    has = {name: bool(PANELS[name].make(run)) for name in names}
    return [name for name in names if has[name]], [_missing_panel_note(run, name) for name in names if not has[name]]


def _missing_panel_note(run: TrajectoryData, name: str) -> str:
    return f"'{run.model.name}' has no {PANELS[name].lack}, so there is no panel '{name}'."


def require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise for an unknown name of a panel or figure."""
    for name in names:
        if name not in known:
            hint = suggest_name(name, known)
            listed = "" if hint.startswith("Known") else f" Expected one of {', '.join(known)}."
            raise InputError(f"plot: there is no {what} '{name}'. {hint}{listed}")


def running_maximum(values: np.ndarray) -> np.ndarray:
    """Return the running maximum of the magnitude, along the samples.

    >>> running_maximum(np.array([0.0, -3.0, 2.0, 4.0]))
    array([0., 3., 3., 4.])
    """
    return np.maximum.accumulate(np.abs(values), axis=-1)


def balance_error(run: TrajectoryData) -> np.ndarray:
    """|E − E₀| of the energy balance, relative to E₀, or to the largest energies if E₀ is negligible."""
    size = float(np.max(np.abs(run.kinetic) + np.abs(run.potential)))
    start = abs(float(run.balance[0]))
    return np.abs(run.balance - run.balance[0]) / (start if start > 1e-6 * size else size or 1.0)


def momentum_error(run: TrajectoryData) -> np.ndarray | None:
    """|p − p₀| of the first ignorable momentum, relative to p₀ unless it is 0; None if there is none."""
    ignorable = run.ignorable
    if not ignorable:
        return None
    p = run.momenta[ignorable[0]]
    return np.abs(p - p[0]) / (abs(float(p[0])) or 1.0)


def spread(count: int, limit: int) -> list[int]:
    """Return at most `limit` evenly spaced indices, including the first and the last."""
    return list(range(count)) if count <= limit else np.linspace(0, count - 1, limit).round().astype(int).tolist()


def merge_equal(lines: Sequence[PlotLine]) -> list[PlotLine]:
    """Merge equal lines into one line with all their names.

    >>> a, b = np.ones(3), np.arange(3.0)
    >>> [line.label for line in merge_equal([PlotLine("x", a), PlotLine("y", b), PlotLine("z", a)])]
    ['x = z', 'y']
    """
    groups: list[list[PlotLine]] = []
    for line in lines:
        same = (group for group in groups if not line.zero and np.allclose(group[0].y, line.y, rtol=1e-9, atol=1e-300))
        group = next(same, None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    names = [[line.label for line in group] for group in groups]
    names = [each if len(each) <= 3 else [*each[:2], f"{len(each) - 2} more"] for each in names]
    return [replace(group[0], label=" = ".join(each)) for group, each in zip(groups, names, strict=True)]


def by_unit(rows: Sequence[tuple[str, PlotLine]], what: str) -> list[Panel]:
    """Return one panel per unit, or several if there are too many lines, from (unit, line)."""
    panels = []
    for unit in dict.fromkeys(unit for unit, _ in rows):
        alike, title = [line for its, line in rows if its == unit and not line.zero], what
        zero = [line for its, line in rows if its == unit and line.zero]
        if len(alike) > _MAX_LINES_PER_UNIT:
            chosen = spread(len(alike), MAX_LINES)
            title, alike = f"{len(chosen)} of {len(alike)} {what}", [alike[i] for i in chosen]
        count = max(1, -(-len(alike) // MAX_LINES))
        chunks = [[alike[i] for i in part] for part in np.array_split(range(len(alike)), count)]
        chunks[-1] += zero
        panels += [Panel(title, unit, tuple(chunk)) for chunk in chunks]
    return panels


def _described(
    names: Sequence[str], units: Sequence[str], descriptions: Sequence[str], values: np.ndarray
) -> list[tuple[str, PlotLine]]:
    """Return the rows as lines with their units; descriptions only for few rows per unit."""
    short = {unit for unit in units if units.count(unit) <= 3}
    rows = zip(names, units, descriptions, values, strict=True)
    return [(unit, PlotLine(_label(name, text if unit in short else ""), row)) for name, unit, text, row in rows]


def mark_zero(rows: Sequence[tuple[str, PlotLine]], size: float = 0.0) -> list[tuple[str, PlotLine]]:
    """Mark rows as zero that are rounding relative to the largest row, or to `size`.

    >>> [line.zero for _, line in mark_zero([("N", PlotLine("a", np.ones(2))), ("N·m", PlotLine("b", np.full(2, 1e-16)))])]
    [False, True]
    """
    largest = max([size, *(float(np.abs(line.y).max()) for _, line in rows)])
    return [(unit, replace(line, zero=bool(np.abs(line.y).max() <= _ROUNDING * largest))) for unit, line in rows]


def _label(name: str, description: str) -> str:
    if not description:
        return for_plot(name)
    short = (
        description if len(description) <= _WIDE else description[: _WIDE - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + " …"
    )
    return f"{for_plot(name)}  {escape_for_plot(short)}"


# the panels


def _coordinates(run: TrajectoryData) -> list[Panel]:
    units, descriptions = units_of(run), [c.description for c in run.model.generalized_coordinates]
    names = run.model.coordinate_names
    return by_unit(_described(names, [units.coordinate(x) for x in names], descriptions, run.q), "coordinates")


def _velocities(run: TrajectoryData) -> list[Panel]:
    units, model = units_of(run), run.model
    if run.velocities_are_rates:
        names = model.coordinate_names
        rates = [SymbolKind.RATE.of(x) for x in names]
        return by_unit(_described(rates, [units.rate(x) for x in names], [""] * len(names), run.qd), "velocities")
    known = {speed.name: speed.description for speed in model.generalized_speeds}
    descriptions = [known.get(name, "") for name in run.speed_names]
    return by_unit(_described(run.speed_names, speed_units(run), descriptions, run.speeds), "speeds")


def _energy(run: TrajectoryData) -> list[Panel]:
    named = (("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy))
    return [Panel("energy", "J", tuple(PlotLine(name, values) for name, values in named))]


def _work(run: TrajectoryData) -> list[Panel]:
    lines = [("J", PlotLine(escape_for_plot(name), values)) for name, values in run.work.items()]
    return _merged_by_unit(mark_zero(lines, float(run.kinetic.max())), "work from the start")


def _balance(run: TrajectoryData) -> list[Panel]:
    line = PlotLine("", running_maximum(balance_error(run)))
    return [Panel("energy balance,\nrelative error so far", "1", (line,), drift=True)]


def _violation(run: TrajectoryData) -> list[Panel]:
    """Return the violation of every constraint by unit: the running maximum, or the error of a servo constraint over time."""
    units, away = units_of(run), _off_target_servos(run)
    rows = [
        (name, row, name.rsplit(", ", 1)[0] in away)
        for name, row in zip(run.violation_names, run.violation, strict=True)
    ]
    panels = []
    for unit, servo in dict.fromkeys((units.violation(name), servo) for name, _, servo in rows):
        alike = [(name, row) for name, row, its in rows if (units.violation(name), its) == (unit, servo)]
        lines = merge_equal(
            [PlotLine(escape_for_plot(name), np.abs(row) if servo else running_maximum(row)) for name, row in alike]
        )
        if sum(bool(line.y.max() > FLOOR) for line in lines) > MAX_LINES:
            lines = [PlotLine(f"largest of {len(lines)}", np.max([line.y for line in lines], axis=0))]
        what = "error of servo\nconstraints" if servo else "constraint violation\nso far"
        panels.append(Panel(what, unit, tuple(lines), drift=True))
    return panels


def _off_target_servos(run: TrajectoryData) -> set[str]:
    """Return the constraints with feedback that start off their target: their error decays and is no drift."""
    if not run.constraint_names:
        return set()
    rows = zip(run.violation_names, run.violation, strict=True)
    off = {name.rsplit(", ", 1)[0] for name, row in rows if abs(row[0]) > _OFF_TARGET * np.abs(row).max()}
    return set(run.servo) & off


def _multipliers(run: TrajectoryData) -> list[Panel]:
    units = units_of(run)
    rows = zip(run.constraint_names, run.multipliers, strict=True) if run.constraint_names else ()
    lines = [(units.multiplier(name), PlotLine(escape_for_plot(name), row)) for name, row in rows]
    return _merged_by_unit(mark_zero(lines), "multipliers λ")


def _merged_by_unit(rows: Sequence[tuple[str, PlotLine]], what: str) -> list[Panel]:
    """Return one panel per unit, with equal lines merged."""
    units = dict.fromkeys(unit for unit, _ in rows)
    once = [(unit, line) for unit in units for line in merge_equal([line for its, line in rows if its == unit])]
    return by_unit(once, what)


def _momenta(run: TrajectoryData) -> list[Panel]:
    units, names = units_of(run), run.model.coordinate_names
    rows = zip(names, run.momenta, strict=True)
    lines = [(units.momentum(x), PlotLine(for_plot(SymbolKind.MOMENTUM.of(x)), row)) for x, row in rows]
    return by_unit(mark_zero(lines), "momenta")


def _reactions(run: TrajectoryData) -> list[Panel]:
    if not run.constraint_names:
        return []
    units, rows = units_of(run), zip(run.model.coordinate_names, run.reactions, strict=True)
    return by_unit(mark_zero([(units.force(x), PlotLine(f"along {for_plot(x)}", row)) for x, row in rows]), "reactions")


def _joints(run: TrajectoryData) -> list[Panel]:
    if not run.knows_joints or not (found := run.joint_reactions()):
        return []
    forces = [
        ("N", PlotLine(escape_for_plot(name), np.linalg.norm(each.force, axis=0))) for name, each in found.items()
    ]
    moments = [
        ("N·m", PlotLine(escape_for_plot(name), np.linalg.norm(each.moment, axis=0))) for name, each in found.items()
    ]
    rows, k = mark_zero([*forces, *moments], run.force_scale), len(forces)
    return [*_merged_by_unit(rows[:k], "forces in joints"), *_merged_by_unit(rows[k:], "moments in joints")]


def _drives(run: TrajectoryData) -> list[Panel]:
    units, found = units_of(run), run.efforts or {}
    return by_unit([(units.drive(x), PlotLine(escape_for_plot(x), row)) for x, row in found.items()], "drives")


def _phase(run: TrajectoryData) -> list[Panel]:
    units, names = units_of(run), run.model.coordinate_names
    return [
        Panel(
            for_plot(SymbolKind.RATE.of(names[i])),
            units.rate(names[i]),
            (PlotLine("", run.qd[i], run.q[i]),),
            across=(for_plot(names[i]), units.coordinate(names[i])),
        )
        for i in spread(len(names), _MAX_PORTRAITS)
    ]


PANELS: dict[str, PanelType] = {
    "coordinates": PanelType("the coordinates q", _coordinates),
    "velocities": PanelType("the velocity variables of the formalism: rates, or speeds", _velocities),
    "energy": PanelType("kinetic, potential and total energy", _energy),
    "work": PanelType("the work of each load, drive and constraint", _work, "loads or constraints that do work"),
    "balance": PanelType("the error of the energy balance, the largest so far", _balance),
    "violation": PanelType("violations of the constraints, the largest so far", _violation, "constraints"),
    "momenta": PanelType("the generalized momenta ∂L/∂q̇", _momenta),
    "multipliers": PanelType("the multipliers λ of the constraints", _multipliers, "constraints"),
    "reactions": PanelType("the generalized reactions Aᵀλ + C", _reactions, "constraints"),
    "joints": PanelType(
        "the magnitude of force and moment in every joint", _joints, "joints whose forces are determined"
    ),
    "drives": PanelType("torques and forces of the drives", _drives, "drives"),
    "phase": PanelType("phase portraits, the rate of every coordinate over the coordinate", _phase),
}
OVERVIEW = ("coordinates", "velocities", "energy", "work", "balance", "violation")
