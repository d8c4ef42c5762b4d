"""Figures for papers, by matplotlib's objects only: no global state, no window, safe in threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.exporters import files
from dalembert.expressions import Kind
from dalembert.show import names
from dalembert.show.dataset import speed_units
from dalembert.show.names import rate_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import LineStyleType

    from dalembert.handles.trajectory import Trajectory

FORMATS = (".png", ".pdf", ".svg")
# Okabe and Ito's colours, told apart by colour-blind readers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
# for lines that coincide with others: each lets those below be seen
STYLES: tuple[LineStyleType, ...] = ("-", (0, (5, 5)), (3, (3, 7)), (6, (2, 9)), (0, (1.5, 12)), (6, (1, 14)))
_MOST_LINES = 60  # of one unit
_FLOOR = 1e-17  # below this an error is rounding
_LONG = 52  # characters of a description in a legend


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its lines with their labels, what the vertical axis is, and whether it is logarithmic."""

    axis: str
    lines: tuple[tuple[str, np.ndarray], ...]
    log: bool = False


def trajectory(run: Trajectory, path: Path | None = None) -> Figure:
    """The figure of a run: coordinates, speeds, energies, the error of their balance, and violations of constraints.

    Given a path it is saved there too, as .png, .pdf or .svg.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> len(trajectory(run).axes)
    4
    """
    from matplotlib.figure import Figure

    if path is not None:
        files.require_suffix(path, FORMATS, "a figure")
    panels = [*_coordinates(run), *_velocities(run), *_evidence(run)]
    rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(9.6, max(3.2, 1.75 * rows + 0.5)), layout="constrained")
    figure.suptitle(f"{run.equations.model.name}: {run.formalism}, {run.integrator}", fontsize=10)
    halves = figure.add_gridspec(1, 2)
    for half, column in enumerate((panels[:rows], panels[rows:])):
        axes = halves[0, half].subgridspec(len(column), 1).subplots(sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, column, strict=True):
            _draw(axis, run.t, panel)
        _finish(list(axes), run.t)
    if path is not None:
        save(figure, path)
    return figure


def comparison(runs: Mapping[str, Trajectory], path: Path) -> list[Path]:
    """The figures of papers/volterra for several formalisms: energy, constraint and momentum drift, and coordinates.

    `path` is a directory, where each figure becomes a PNG, or one picture file that takes them all. Also takes a
    `Comparison`. Returns the files that were written.

    >>> import dalembert as dl, tempfile
    >>> table = dl.compare(dl.load("double-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in comparison(table.runs, Path(folder))]
    ['energy.png', 'coordinates.png']
    """
    from matplotlib.figure import Figure

    known: Mapping[str, Trajectory] = getattr(runs, "runs", runs)
    t = next(iter(known.values())).t
    figures = _comparisons(known)
    if path.suffix:
        files.require_suffix(path, FORMATS, "a figure")
        panels = [panel for group in figures.values() for panel in group]
        return [_page(Figure(figsize=(7.2, 1.9 * len(panels) + 0.3), layout="constrained"), t, panels, path)]
    written = []
    for name, panels in figures.items():
        figure = Figure(figsize=(6.4, 3.0 if len(panels) == 1 else 1.6 * len(panels) + 0.6), layout="constrained")
        written.append(_page(figure, t, panels, path / f"{name}.png"))
    return written


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; the suffix decides the format, and the file appears only when it is complete."""
    files.require_suffix(path, FORMATS, "a figure")
    with files.complete(path) as part:
        figure.savefig(part, dpi=200)
    return path


def _page(figure: Figure, t: np.ndarray, panels: Sequence[Panel], path: Path) -> Path:
    """Panels above each other with one legend on top, saved."""
    from matplotlib.lines import Line2D

    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, t, panel, alone=False)
    _finish(list(axes), t)
    labels = [label for label, _ in panels[0].lines]
    handles = [Line2D([], [], color=COLOURS[i % len(COLOURS)], linewidth=1.2) for i in range(len(labels))]
    _legend(figure.legend, handles, labels, loc="outside upper center", ncols=min(4, len(labels)))
    return save(figure, path)


# what is drawn


def _coordinates(run: Trajectory) -> list[Panel]:
    rows = zip(run.equations.model.coordinate_list, run.q, strict=True)
    return _by_unit([(c.unit, c.name, c.description, row) for c, row in rows], "coordinates")


def _velocities(run: Trajectory) -> list[Panel]:
    """The velocity variables of the formalism: rates of coordinates, or speeds."""
    if run.equations.about.velocities.are_rates:
        rates = zip(run.equations.model.coordinate_list, run.qd, strict=True)
        return _by_unit([(rate_unit(c.unit), Kind.RATE.of(c.name), "", row) for c, row in rates], "velocities")
    said = {speed.name: speed.description for speed in run.equations.model.speed_list}
    rows = zip(speed_units(run), run.speed_names, run.speeds, strict=True)
    return _by_unit([(unit, name, said.get(name, ""), row) for unit, name, row in rows], "speeds")


def _evidence(run: Trajectory) -> list[Panel]:
    energies = (("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy))
    panels = [
        Panel("energy [J]", energies),
        Panel("energy balance,\nrelative error", (("", balance_error(run)),), log=True),
    ]
    if len(run.violation):
        rows = tuple(zip(run.violation_names, np.abs(run.violation), strict=True))
        if len(rows) > len(COLOURS):
            levels = {level: [v for name, v in rows if name.endswith(level)] for level in ("position", "velocity")}
            rows = tuple((f"largest of {len(v)}, {level}", np.max(v, axis=0)) for level, v in levels.items() if v)
        panels.append(Panel("constraint\nviolation", rows, log=True))
    return panels


def _comparisons(runs: Mapping[str, Trajectory]) -> dict[str, list[Panel]]:
    """The panels of each figure by its name."""
    first = next(iter(runs.values()))
    held = len(first.equations.workspace.facts.levels.names)
    energy = tuple((key, balance_error(run)) for key, run in runs.items())
    out = {"energy": [Panel("energy balance, relative error", energy, log=True)]}
    if held:
        rows = tuple((key, np.linalg.norm(run.violation[-held:], axis=0)) for key, run in runs.items())
        out["constraints"] = [Panel("constraint violation (velocities)", rows, log=True)]
    drifts = {key: momentum_error(run) for key, run in runs.items()}
    found = tuple((key, drift) for key, drift in drifts.items() if drift is not None)
    if found:
        name = first.equations.model.coordinate_names[first.equations.workspace.facts.ignorable[0]]
        out["momentum"] = [Panel(f"momentum of {_math(name)}, relative drift", found, log=True)]
    out["coordinates"] = [
        Panel(_axis(_math(c.name), c.unit), tuple((key, run.q[i]) for key, run in runs.items()))
        for i, c in enumerate(first.equations.model.coordinate_list)
    ]
    return out


def balance_error(run: Trajectory) -> np.ndarray:
    """|E − E₀| of the energy balance, relative to E₀, or to the largest energies where E₀ is nothing beside them."""
    size = float(np.max(np.abs(run.kinetic) + np.abs(run.potential)))
    start = abs(float(run.balance[0]))
    return np.abs(run.balance - run.balance[0]) / (start if start > 1e-6 * size else size or 1.0)


def momentum_error(run: Trajectory) -> np.ndarray | None:
    """|p − p₀| of the first ignorable momentum, relative to p₀ unless that is 0; None without one."""
    ignorable = run.equations.workspace.facts.ignorable
    if not ignorable:
        return None
    p = run.momenta[ignorable[0]]
    return np.abs(p - p[0]) / (abs(float(p[0])) or 1.0)


def _by_unit(rows: Sequence[tuple[str, str, str, np.ndarray]], what: str) -> list[Panel]:
    """One panel for each unit, from (unit, name, description, values); a few lines are described, many only named."""
    panels = []
    for unit in dict.fromkeys(unit for unit, *_ in rows):
        alike, title = [row for row in rows if row[0] == unit], what
        if len(alike) > _MOST_LINES:  # spread evenly, the first and the last among them
            places = np.linspace(0, len(alike) - 1, len(COLOURS)).round().astype(int)
            title = f"{len(places)} of {len(alike)} {what}"
            alike = [alike[i] for i in places]
        for chosen in (alike[i : i + len(COLOURS)] for i in range(0, len(alike), len(COLOURS))):
            few = len(chosen) <= 3
            lines = tuple((_label(name, about if few else ""), values) for _, name, about, values in chosen)
            panels.append(Panel(_axis(title, unit), lines))
    return panels


# how it is drawn


def _legend(draw: Callable[..., object], *entries: object, **place: object) -> None:
    """A legend in small type, without a frame."""
    draw(*entries, **place, frameon=False, fontsize=7.5, handlelength=2.2, columnspacing=1.4)


def _draw(axis: Axes, t: np.ndarray, panel: Panel, *, alone: bool = True) -> None:
    """Draw a panel, with its own legend when it stands alone."""
    for index, (label, values) in enumerate(panel.lines):
        shown = np.where(values > 0, np.maximum(values, _FLOOR), np.nan) if panel.log else values
        below = sum(_coincide(values, other, panel.log) for _, other in panel.lines[:index])
        style = STYLES[min(below, len(STYLES) - 1)]
        colour = COLOURS[index % len(COLOURS)]
        axis.plot(t, shown, color=colour, linestyle=style, linewidth=0.7 if panel.log else 1.1, label=label)
    _dress(axis, panel.axis)
    if panel.log:
        _logarithmic(axis, panel.lines)
    labels = [label for label, _ in panel.lines if label]
    if alone and labels:
        # above the axes it covers nothing
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.1}
        _legend(axis.legend, ncols=_columns(labels), labelspacing=0.25, **place)


def _coincide(a: np.ndarray, b: np.ndarray, log: bool) -> bool:
    """Whether one line would cover the other."""
    if log:
        a, b = (np.log10(np.maximum(values, _FLOOR)) for values in (a, b))
        return bool(np.median(np.abs(a - b)) < 0.05)
    return bool(np.max(np.abs(a - b)) < 0.005 * max(float(np.ptp(b)), 1e-300))


def _dress(axis: Axes, label: str) -> None:
    """Thin axes on two sides, a light grid, small type."""
    axis.set_ylabel(label, fontsize=8)
    axis.tick_params(labelsize=7.5, width=0.6, length=3)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_linewidth(0.6)


def _logarithmic(axis: Axes, lines: Sequence[tuple[str, np.ndarray]]) -> None:
    """A logarithmic axis over what is not zero, and words about what is."""
    from matplotlib.ticker import LogLocator, NullLocator

    seen = [np.maximum(values[values > 0], _FLOOR) for _, values in lines if np.mean(values > 0) > 0.1]
    zero = ", ".join(label for label, values in lines if np.mean(values > 0) <= 0.1)
    note = partial(axis.text, transform=axis.transAxes, fontsize=7.5, color="#555555")
    if not seen:
        axis.set_yticks([])
        note(0.5, 0.5, "zero to rounding", ha="center", va="center")
        return
    if zero:
        note(1.0, 1.0, f"zero to rounding: {zero}", ha="right", va="bottom")
    axis.set_yscale("log")
    # the few samples that are near zero by luck must not stretch the axis
    low, high = min(np.quantile(values, 0.01) for values in seen), max(values.max() for values in seen)
    axis.set_ylim(max(low / 3, _FLOOR / 2), high * 3)
    axis.yaxis.set_major_locator(LogLocator(numticks=6))
    axis.yaxis.set_minor_locator(NullLocator())


def _finish(axes: Sequence[Axes], t: np.ndarray) -> None:
    """The common time axis, and labels in one line."""
    axes[-1].set_xlabel("time [s]", fontsize=8)
    axes[-1].set_xlim(float(t[0]), float(t[-1]))
    axes[0].figure.align_ylabels(axes)


def _columns(labels: Sequence[str]) -> int:
    """How many labels stand side by side in a legend."""
    widest = max(len(re.sub(r"\\[a-zA-Z]+|[{}$_^\\]", "", label)) for label in labels)
    return max(1, min(len(labels), 66 // (widest + 7)))


def _math(name: str) -> str:
    return f"${names.for_latex(name)}$"


def _label(name: str, description: str) -> str:
    if not description:
        return _math(name)
    short = description if len(description) <= _LONG else description[: _LONG - 1].rsplit(" ", 1)[0] + " …"
    return f"{_math(name)}  {short}"


def _axis(what: str, unit: str) -> str:
    return f"{what} [{unit}]" if unit else what
