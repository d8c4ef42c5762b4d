"""Figures for papers and notebooks, by matplotlib's objects only: no global state, no window, safe in threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.plots import axes as plot_axes
from dalembert.display.plots import axes as plot_edges
from dalembert.display.plots.axes import Ending
from dalembert.display.plots.comparison_plot import FIGURES, figures_of, groups, names_of
from dalembert.display.plots.figure import LINEAGES, Style, style_of, styles_of
from dalembert.display.plots.panels import OVERVIEW, PANELS, Line, Panel, drawable, panels_of
from dalembert.display.units import units_of
from dalembert.io import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from dalembert.display.plots.figure import Plot
    from dalembert.simulation.trajectory_data import TrajectoryData

__all__ = [
    "FIGURES",
    "FORMATS",
    "OVERVIEW",
    "PANELS",
    "comparison",
    "comparison_figure",
    "drawable",
    "is_picture",
    "save",
    "trajectory",
]

FORMATS = (".png", ".pdf", ".svg")
_LOW = 0.6  # the height of a panel where there is nothing to be seen
_ACROSS = 3  # phase portraits side by side


def trajectory(run: TrajectoryData, path: Path | None = None, panels: Sequence[str] = ()) -> Plot:
    """The figure of a run: the panels that are asked for, or an overview; see `PANELS` for their names.

    Given a path it is saved there too, as .png, .pdf or .svg.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> len(trajectory(run).axes), len(trajectory(run, panels=["phase"]).axes)
    (4, 1)
    """
    from dalembert.display.plots.figure import Plot

    if path is not None:
        files.require_suffix(path, FORMATS, "a figure")
    found = panels_of(run, panels)
    timed, phases = [x for x in found if x.across is None], [x for x in found if x.across is not None]
    rows, lower = (len(timed) + 1) // 2, -(-len(phases) // _ACROSS)
    heights = [1.75 * rows, 2.4 * lower]
    wide = 9.6 if len(found) > 1 else 5.4
    figure = Plot(figsize=(wide, max(3.2, sum(heights) + 0.5)), layout="constrained")
    figure.suptitle(f"{run.model.name}: {run.formalism}, {run.integrator}", fontsize=10)
    parts = figure.add_gridspec(2 if timed and phases else 1, 1, height_ratios=[x for x in heights if x])
    if timed:
        _time_panels(figure, parts[0, 0], run, timed)
    if phases:
        _portraits(figure, parts[-1, 0], run, phases)
    if path is not None:
        save(figure, path)
    return figure


def _time_panels(figure: Figure, place: SubplotSpec, run: TrajectoryData, panels: Sequence[Panel]) -> None:
    """Panels over time in two columns, each with one time axis."""
    said, rows = units_of(run).shown, (len(panels) + 1) // 2
    columns = [column for column in (panels[:rows], panels[rows:]) if column]
    halves = place.subgridspec(1, len(columns))
    for half, column in enumerate(columns):
        heights = [_LOW if panel.zero else 1.0 for panel in column]
        cells = halves[0, half].subgridspec(len(column), 1, height_ratios=heights)
        axes = cells.subplots(sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, column, strict=True):
            plot_axes.draw(axis, run.t, panel, said)
        plot_axes.time_axis(list(axes), run.t)


def _portraits(figure: Figure, place: SubplotSpec, run: TrajectoryData, panels: Sequence[Panel]) -> None:
    """Phase portraits in rows."""
    columns = min(_ACROSS, len(panels))
    cells = place.subgridspec(-(-len(panels) // columns), columns)
    for index, panel in enumerate(panels):
        axis = figure.add_subplot(cells[divmod(index, columns)])
        plot_axes.draw(axis, run.t, panel, units_of(run).shown)


def comparison(runs: Mapping[str, TrajectoryData], path: Path, figures: Sequence[str] = ()) -> list[Path]:
    """The figures of papers/volterra for several formalisms, saved: energy, constraint and momentum drift, and coordinates.

    `path` is a directory, where each figure becomes a PNG, or one picture file that takes them all. `figures` chooses among
    `FIGURES`. Also takes a `Comparison`. Returns the files that were written.

    >>> import dalembert as dl, tempfile
    >>> table = dl.compare(dl.load("double-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in comparison(table.runs, Path(folder))]
    ['energy.png', 'coordinates.png']
    """
    known: Mapping[str, TrajectoryData] = getattr(runs, "runs", runs)
    if path.suffix:
        files.require_suffix(path, FORMATS, "a figure")
        save(comparison_figure(known, figures), path)
        return [path]
    written = []
    for name, panels in figures_of(known, figures).items():
        save(_page(known, panels), written_to := path / f"{name}.png")
        written.append(written_to)
    return written


def comparison_figure(runs: Mapping[str, TrajectoryData], figures: Sequence[str] = ()) -> Plot:
    """The figures of several formalisms above each other, all of them or those that are asked for.

    >>> import dalembert as dl
    >>> table = dl.compare(dl.load("double-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
    >>> len(comparison_figure(table.runs, ["energy"]).axes)
    1
    """
    return _page(runs, [panel for panels in figures_of(runs, figures).values() for panel in panels])


def is_picture(name: str | Path) -> bool:
    """Whether this is where a picture goes; every `Path` is, and a text that ends as a picture does.

    >>> is_picture("phase"), is_picture("phase.png"), is_picture(Path("phase"))
    (False, True, True)
    """
    return isinstance(name, Path) or Path(name).suffix.lower() in FORMATS


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; the suffix decides the format, and the file appears only when it is complete."""
    files.require_suffix(path, FORMATS, "a figure")
    with files.complete(path) as part:
        figure.savefig(part, dpi=200)
    return path


def _page(runs: Mapping[str, TrajectoryData], panels: Sequence[Panel]) -> Plot:
    """Panels above each other, each line named at its end; the colours of lineages are explained on top."""
    from dalembert.display.plots.figure import Plot

    first = next(iter(runs.values()))
    styles = styles_of({key: run.formalism for key, run in runs.items()})
    drawn = [groups(panel) for panel in panels]
    rows = [sum(len(names_of(group, panel)) for group in each) for panel, each in zip(panels, drawn, strict=True)]
    least = [2.4 if panel.drift else 1.5 for panel in panels]
    heights = [max(low, plot_edges.ROOM * (count + 1)) for low, count in zip(least, rows, strict=True)]
    figure = Plot(figsize=(7.6, sum(heights) + 1.1), layout="constrained")
    _lineages(figure, {run.formalism for run in runs.values()})
    grid = figure.add_gridspec(len(panels), 1, height_ratios=heights)
    axes = list(grid.subplots(sharex=True, squeeze=False)[:, 0])
    endings: dict[Axes, list[Ending]] = {}
    for axis, panel, each in zip(axes, panels, drawn, strict=True):
        endings[axis] = _side_by_side(axis, first.t, panel, each, styles)
        plot_axes.scale(axis, first.t, panel, units_of(first).shown)
    plot_axes.time_axis(axes, first.t)
    plot_edges.name_ends(endings)
    return figure


def _side_by_side(
    axis: Axes, t: np.ndarray, panel: Panel, each: Sequence[Sequence[Line]], styles: Mapping[str, Style]
) -> list[Ending]:
    """Draw the lines of a panel, solid ones first, so that the others are seen on them; returns how they end."""
    endings = []
    for group in sorted(each, key=lambda group: styles[group[0].label].dashes != "-"):
        line, zero = group[0], panel.is_zero(group[0])
        if not zero:
            plot_axes.plot(axis, t, line, styles[line.label], panel.drift)
        its = dict(zip(names_of(group, panel), (styles[line.label] for line in group), strict=False))
        endings.append(Ending(its, None if zero else float(line.y[-1])))
    return endings


def _lineages(figure: Figure, keys: set[str]) -> None:
    """A legend of the colours: what the formalisms of each colour share."""
    from matplotlib.lines import Line2D

    known = {lineage: [key for key in members if key in keys] for lineage, members in LINEAGES.items()}
    known = {lineage: members for lineage, members in known.items() if members}
    if len(keys) < 3:
        return
    handles = [Line2D([], [], color=style_of(members[0]).colour, linewidth=3) for members in known.values()]
    labels = [", ".join(lineage) for lineage in known]
    figure.legend(
        handles,
        labels,
        title="derived from",
        loc="outside upper center",
        ncols=min(4, len(labels)),
        frameon=False,
        fontsize=plot_axes.SMALL,
        title_fontsize=plot_axes.SMALL,
        handlelength=1.2,
        columnspacing=1.4,
    )
