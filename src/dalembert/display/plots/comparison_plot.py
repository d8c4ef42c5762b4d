"""What can be drawn of several runs side by side: the drift of each, and where their motions part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.math.symbol_names import for_plot
from dalembert.display.plots.axes import covers
from dalembert.display.plots.panels import (
    Line,
    Panel,
    balance_error,
    momentum_error,
    require_known,
    running_maximum,
    spread,
)
from dalembert.display.units import units_of
from dalembert.errors import InputError
from dalembert.symbolic.symbols import Kind

if TYPE_CHECKING:
    from dalembert.simulation.trajectory_data import TrajectoryData

Runs = Mapping[str, "TrajectoryData"]
_MOST_COORDINATES = 12


@dataclass(frozen=True)
class Side:
    """A figure of a comparison that can be asked for: what it shows, its panels, and what a model without it lacks."""

    text: str
    make: Callable[[Runs], list[Panel]]
    lack: str = ""


def figures_of(runs: Runs, names: Sequence[str] = ()) -> dict[str, list[Panel]]:
    """The panels of each figure by its name; all that the model has something for, or those that are asked for.

    >>> import dalembert as dl
    >>> table = dl.compare(dl.load("double-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
    >>> list(figures_of(table.runs))
    ['energy', 'coordinates']
    """
    require_known(names, FIGURES, "figure")
    if not runs:
        raise InputError("plot: no simulation of the comparison reached its end, so there is nothing to draw.")
    found = {name: FIGURES[name].make(runs) for name in names or FIGURES}
    for name in names:
        if not found[name]:
            model = next(iter(runs.values())).model.name
            raise InputError(
                f"plot: '{model}' has no {FIGURES[name].lack}, so there is no figure '{name}'. Leave it out."
            )
    return {name: panels for name, panels in found.items() if panels}


def groups(panel: Panel) -> list[list[Line]]:
    """The lines that are drawn as one: equal drifts, and motions that nobody could tell apart.

    >>> lines = tuple(Line(name, np.linspace(0, end, 9)) for name, end in (("a", 1), ("b", 1), ("c", 2)))
    >>> [[line.label for line in group] for group in groups(Panel("x", "m", lines))]
    [['a', 'b'], ['c']]
    """
    found: list[list[Line]] = []
    for line in panel.lines:
        group = next((g for g in found if _one(g[0], line, panel.drift)), None)
        if group is None:
            found.append([line])
        else:
            group.append(line)
    return found


def _one(a: Line, b: Line, drift: bool) -> bool:
    return np.allclose(a.y, b.y, rtol=1e-9, atol=1e-300) if drift else covers(a.y, b.y, log=False)


def names_of(group: Sequence[Line], panel: Panel) -> list[str]:
    """What is written beside a line, from above: all it stands for, or that it is all there are."""
    zero = " (zero)" if panel.is_zero(group[0]) else ""
    if len(group) == len(panel.lines) > 1:
        return [f"all {len(group)}{zero}"]
    first, *equal = (line.label for line in group)
    return [first + zero, *(f"= {name}" for name in equal)]


# the figures


def _energy(runs: Runs) -> list[Panel]:
    return [
        _drift("energy balance, relative error so far", "1", {key: balance_error(run) for key, run in runs.items()})
    ]


def _constraints(runs: Runs) -> list[Panel]:
    """One panel for each unit: the norm over the rows of that unit, on velocities."""
    first = next(iter(runs.values()))
    names, units = first.violation_names, units_of(first)
    held = [units.violation(name) for name in names]
    velocities = [i for i, name in enumerate(names) if not name.endswith(", position")]
    panels = []
    for unit in dict.fromkeys(held[i] for i in velocities):
        rows = [i for i in velocities if held[i] == unit]
        norms = {key: np.linalg.norm(run.violation[rows], axis=0) for key, run in runs.items()}
        panels.append(_drift("constraint violation so far", unit, norms))
    return panels


def _momentum(runs: Runs) -> list[Panel]:
    first = next(iter(runs.values()))
    drifts = {key: drift for key, run in runs.items() if (drift := momentum_error(run)) is not None}
    if not drifts:
        return []
    name = first.model.coordinate_names[first.ignorable[0]]
    return [_drift(f"{for_plot(Kind.MOMENTUM.of(name))}, relative drift so far", "1", drifts)]


def _drift(what: str, unit: str, values: Mapping[str, np.ndarray]) -> Panel:
    return Panel(what, unit, tuple(Line(key, running_maximum(x)) for key, x in values.items()), drift=True)


def _coordinates(runs: Runs) -> list[Panel]:
    first = next(iter(runs.values()))
    units, names = units_of(first), first.model.coordinate_names
    return [
        Panel(for_plot(names[i]), units.coordinate(names[i]), tuple(Line(key, run.q[i]) for key, run in runs.items()))
        for i in spread(len(names), _MOST_COORDINATES)
    ]


FIGURES: dict[str, Side] = {
    "energy": Side("the error of the energy balance, the largest so far", _energy),
    "constraints": Side("violations of the constraints on velocities, the largest so far", _constraints, "constraints"),
    "momentum": Side(
        "the drift of the first ignorable momentum, the largest so far", _momentum, "ignorable coordinate"
    ),
    "coordinates": Side("the coordinates", _coordinates),
}
