"""Figures for papers and notebooks, with matplotlib objects only: no global state, no window, thread-safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from dalembert.arguments import validate_arguments
from dalembert.display.math.symbol_names import for_plot
from dalembert.display.plots import figure as plot_axes
from dalembert.display.plots.figure import (
    COLORS,
    GRAY,
    LINEAGES,
    SMALL,
    Ending,
    Plot,
    Style,
    axis_label,
    covers,
    style_of,
    styles_of,
)
from dalembert.display.plots.panels import (
    MAX_LINES,
    OVERVIEW,
    PANELS,
    Panel,
    PlotLine,
    available_panels,
    balance_error,
    momentum_error,
    panels_of,
    require_known,
    running_maximum,
    spread,
)
from dalembert.display.units import Units, format_unit, units_of
from dalembert.errors import InputError
from dalembert.io import files
from dalembert.model.description import Elements
from dalembert.symbolic.symbols import SymbolKind

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from dalembert.simulation.trajectory_data import TrajectoryData


__all__ = [
    "FIGURES",
    "FORMATS",
    "OVERVIEW",
    "PANELS",
    "available_panels",
    "comparison",
    "comparison_figure",
    "is_image_path",
    "save",
    "trajectory",
]
FORMATS = (".png", ".pdf", ".svg")
_EMPTY_HEIGHT = 0.6  # relative height of a panel without visible lines
_PORTRAIT_COLUMNS = 3
Runs = Mapping[str, "TrajectoryData"]
_MAX_COORDINATES = 12
_QUANTILES = ((0.05, "5 % quantile"), (0.5, "median"), (0.95, "95 % quantile"))


def trajectory(run: TrajectoryData, path: Path | None = None, panels: Sequence[str] = ()) -> Plot:
    """Return the figure of a run: the requested panels, or an overview; see `PANELS` for their names.

    With a path the figure is also saved, as .png, .pdf or .svg.

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
    rows, lower = (len(timed) + 1) // 2, -(-len(phases) // _PORTRAIT_COLUMNS)
    heights = [1.75 * rows, 2.4 * lower]
    wide = 9.6 if len(found) > 1 else 5.4
    figure = Plot(figsize=(wide, max(3.2, sum(heights) + 0.5)), layout="constrained")
    figure.suptitle(f"{run.model.name}: {run.formalism}, {run.integrator}", fontsize=10)
    parts = figure.add_gridspec(2 if timed and phases else 1, 1, height_ratios=[x for x in heights if x])
    if timed:
        _time_panels(figure, parts[0, 0], run, timed)
    if phases:
        columns = min(_PORTRAIT_COLUMNS, len(phases))
        cells = parts[-1, 0].subgridspec(-(-len(phases) // columns), columns)
        for index, panel in enumerate(phases):
            axis = figure.add_subplot(cells[divmod(index, columns)])
            plot_axes.draw(axis, run.t, panel, units_of(run).label)
    if path is not None:
        save(figure, path)
    return figure


def _time_panels(figure: Figure, cell: SubplotSpec, run: TrajectoryData, panels: Sequence[Panel]) -> None:
    """Draw panels over time in two columns, each with one time axis."""
    unit_label, rows = units_of(run).label, (len(panels) + 1) // 2
    columns = [column for column in (panels[:rows], panels[rows:]) if column]
    halves = cell.subgridspec(1, len(columns))
    for half, column in enumerate(columns):
        heights = [_EMPTY_HEIGHT if panel.zero else 1.0 for panel in column]
        cells = halves[0, half].subgridspec(len(column), 1, height_ratios=heights)
        axes = cells.subplots(sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, column, strict=True):
            plot_axes.draw(axis, run.t, panel, unit_label)
        plot_axes.time_axis(list(axes), run.t)


def comparison(runs: Mapping[str, TrajectoryData], path: Path, figures: Sequence[str] = ()) -> list[Path]:
    """Save the figures of papers/volterra for several formulations: energy, constraint and momentum drift, and coordinates.

    `path` is a directory for one PNG per figure, or one image file for all figures. `figures` selects from `FIGURES`.
    `runs` may also be a `Comparison`. Returns the files that were written.

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
    """Return the figures of several formulations in one column, all of them or the requested ones.

    >>> import dalembert as dl
    >>> table = dl.compare(dl.load("double-pendulum"), ["lagrange", "kane"], duration=1.0, samples=11)
    >>> len(comparison_figure(table.runs, ["energy"]).axes)
    1
    """
    return _page(runs, [panel for panels in figures_of(runs, figures).values() for panel in panels])


def is_image_path(name: str | Path) -> bool:
    """True for the path of an image: every `Path`, and a str with the suffix of an image.

    >>> is_image_path("phase"), is_image_path("phase.png"), is_image_path(Path("phase"))
    (False, True, True)
    """
    return isinstance(name, Path) or Path(name).suffix.lower() in FORMATS


def save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the suffix; the file is written completely or not at all."""
    files.require_suffix(path, FORMATS, "a figure")
    with files.atomic_write(path) as part:
        figure.savefig(part, dpi=200)
    return path


def _page(runs: Mapping[str, TrajectoryData], panels: Sequence[Panel]) -> Plot:
    """Return panels in one column, with labels at the ends of the lines; a legend on top explains the colors."""
    from dalembert.display.plots.figure import Plot

    first = next(iter(runs.values()))
    styles = styles_of({key: run.formalism for key, run in runs.items()})
    drawn = [groups(panel) for panel in panels]
    rows = [sum(len(names_of(group, panel)) for group in each) for panel, each in zip(panels, drawn, strict=True)]
    min_heights = [2.4 if panel.drift else 1.5 for panel in panels]
    heights = [max(low, plot_axes.LABEL_HEIGHT * (count + 1)) for low, count in zip(min_heights, rows, strict=True)]
    figure = Plot(figsize=(7.6, sum(heights) + 1.1), layout="constrained")
    _lineages(figure, {run.formalism for run in runs.values()})
    grid = figure.add_gridspec(len(panels), 1, height_ratios=heights)
    axes = list(grid.subplots(sharex=True, squeeze=False)[:, 0])
    endings: dict[Axes, list[Ending]] = {}
    for axis, panel, each in zip(axes, panels, drawn, strict=True):
        endings[axis] = _side_by_side(axis, first.t, panel, each, styles)
        plot_axes.scale(axis, first.t, panel, units_of(first).label)
    plot_axes.time_axis(axes, first.t)
    plot_axes.name_ends(endings)
    return figure


def _side_by_side(
    axis: Axes, t: np.ndarray, panel: Panel, each: Sequence[Sequence[PlotLine]], styles: Mapping[str, Style]
) -> list[Ending]:
    """Draw the lines of a panel, solid ones below the dashed ones; returns the ends of the lines."""
    endings = []
    for group in sorted(each, key=lambda group: styles[group[0].label].dashes != "-"):
        line, zero = group[0], panel.is_zero(group[0])
        if not zero:
            plot_axes.plot(axis, t, line, styles[line.label], panel.drift)
        its = dict(zip(names_of(group, panel), (styles[line.label] for line in group), strict=False))
        endings.append(Ending(its, None if zero else float(line.y[-1])))
    return endings


def _lineages(figure: Figure, keys: set[str]) -> None:
    """Add a legend of the colors: the lineage of the formulations of each color."""
    from matplotlib.lines import Line2D

    known = {lineage: [key for key in members if key in keys] for lineage, members in LINEAGES.items()}
    known = {lineage: members for lineage, members in known.items() if members}
    if len(keys) < 3:
        return
    handles = [Line2D([], [], color=style_of(members[0]).color, linewidth=3) for members in known.values()]
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


@dataclass(frozen=True)
class ComparisonFigure:
    """A figure of a comparison: its description, its panels, and what a model without it lacks."""

    text: str
    make: Callable[[Runs], list[Panel]]
    lack: str = ""


def figures_of(runs: Runs, names: Sequence[str] = ()) -> dict[str, list[Panel]]:
    """Return the panels of each figure by its name; all figures of the model, or the requested ones.

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
            raise InputError(f"plot: '{model}' has no {FIGURES[name].lack}, so there is no figure '{name}'. Remove it.")
    return {name: panels for name, panels in found.items() if panels}


def groups(panel: Panel) -> list[list[PlotLine]]:
    """Group the lines that are drawn as one: equal drifts, and indistinguishable motions.

    >>> lines = tuple(PlotLine(name, np.linspace(0, end, 9)) for name, end in (("a", 1), ("b", 1), ("c", 2)))
    >>> [[line.label for line in group] for group in groups(Panel("x", "m", lines))]
    [['a', 'b'], ['c']]
    """
    found: list[list[PlotLine]] = []
    for line in panel.lines:
        for group in found:
            a, b = group[0].y, line.y
            if np.allclose(a, b, rtol=1e-9, atol=1e-300) if panel.drift else covers(a, b, log=False):
                group.append(line)
                break
        else:
            found.append([line])
    return found


def names_of(group: Sequence[PlotLine], panel: Panel) -> list[str]:
    """Return the labels of a line, from top to bottom: the lines in its group, or that it represents all lines."""
    zero = " (zero)" if panel.is_zero(group[0]) else ""
    if len(group) == len(panel.lines) > 1:
        return [f"all {len(group)}{zero}"]
    first, *equal = (line.label for line in group)
    return [first + zero, *(f"= {name}" for name in equal)]


# the figures


def _energy(runs: Runs) -> list[Panel]:
    errors = {key: balance_error(run) for key, run in runs.items()}
    return [_drift("energy balance, relative error so far", "1", errors)]


def _constraints(runs: Runs) -> list[Panel]:
    """Return one panel per unit: the norm of the rows of that unit on velocity level."""
    first = next(iter(runs.values()))
    names, units = first.violation_names, units_of(first)
    row_units = [units.violation(name) for name in names]
    velocities = [i for i, name in enumerate(names) if not name.endswith(", position")]
    panels = []
    for unit in dict.fromkeys(row_units[i] for i in velocities):
        rows = [i for i in velocities if row_units[i] == unit]
        norms = {key: np.linalg.norm(run.violation[rows], axis=0) for key, run in runs.items()}
        panels.append(_drift("constraint violation so far", unit, norms))
    return panels


def _momentum(runs: Runs) -> list[Panel]:
    first = next(iter(runs.values()))
    drifts = {key: drift for key, run in runs.items() if (drift := momentum_error(run)) is not None}
    if not drifts:
        return []
    name = first.model.coordinate_names[first.ignorable[0]]
    return [_drift(f"{for_plot(SymbolKind.MOMENTUM.of(name))}, relative drift so far", "1", drifts)]


def _drift(what: str, unit: str, values: Mapping[str, np.ndarray]) -> Panel:
    return Panel(what, unit, tuple(PlotLine(key, running_maximum(x)) for key, x in values.items()), drift=True)


def _coordinates(runs: Runs) -> list[Panel]:
    first = next(iter(runs.values()))
    units, names = units_of(first), first.model.coordinate_names
    return [
        Panel(
            for_plot(names[i]), units.coordinate(names[i]), tuple(PlotLine(key, run.q[i]) for key, run in runs.items())
        )
        for i in spread(len(names), _MAX_COORDINATES)
    ]


FIGURES: dict[str, ComparisonFigure] = {
    "energy": ComparisonFigure("the error of the energy balance, the largest so far", _energy),
    "constraints": ComparisonFigure(
        "violations of the constraints on velocities, the largest so far", _constraints, "constraints"
    ),
    "momentum": ComparisonFigure(
        "the drift of the first ignorable momentum, the largest so far", _momentum, "ignorable coordinate"
    ),
    "coordinates": ComparisonFigure("the coordinates", _coordinates),
}


@validate_arguments
def plot_sweep(found: xarray.Dataset, path: str | Path | None = None) -> Plot:
    """Plot the result of a sweep, one panel per observed quantity.

    Over a grid of one parameter scalars are a line, with one line per value of a second parameter. For random or Sobol samples
    the panel contains the cumulative distribution, and for time series the quantiles.

    Parameters
    ----------
    found : xarray.Dataset
        Result of `dalembert.sweep`.
    path : str or Path, optional
        File to save the figure to: .png, .pdf or .svg.

    Returns
    -------
    Plot
        matplotlib figure with one axes per panel.

    Raises
    ------
    InputError
        If `found` is no result of a sweep, or all its runs failed.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.sweep("simple-pendulum", {"l": [0.5, 1.0, 2.0]}, observe="final(theta)", duration=1.0, workers=1)
    >>> [axis.get_xlabel() for axis in dl.plot_sweep(found).axes]
    ['l [m]']
    """
    from dalembert.display.plots.figure import Plot

    if path is not None:
        files.require_suffix(Path(path), FORMATS, "a figure")
    panels = sweep_panels(found)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Plot(figsize=(4.8 * columns, 2.6 * rows + 0.4), layout="constrained")
    figure.suptitle(f"{found.attrs.get('model', '')}: {found.attrs.get('runs', '')} runs", fontsize=10)
    cells = figure.add_gridspec(rows, columns)
    for index, panel in enumerate(panels):
        axis, (first, *_) = figure.add_subplot(cells[divmod(index, columns)]), panel.lines
        plot_axes.draw(axis, first.y if first.x is None else first.x, panel, lambda unit: unit)
    if path is not None:
        save(figure, Path(path))
    return figure


def sweep_panels(found: xarray.Dataset) -> list[Panel]:
    """Return the panels of a sweep, one per observed quantity."""
    if "reason" not in found:
        raise InputError("plot_sweep: the Dataset has no `reason`. Expected the result of a sweep.")
    good = found["reason"] == ""
    if not bool(good.any()):
        raise InputError("plot_sweep: no run has finite results. See `reason`.")
    return [_panel(found, str(name), good) for name in found.data_vars if name not in ("reason", "notes")]


def _panel(found: xarray.Dataset, name: str, good: xarray.DataArray) -> Panel:
    values, over = found[name], [str(dimension) for dimension in good.dims]
    if "time" in values.dims:
        rows = values.values.reshape(-1, found.sizes["time"])[good.values.ravel()]
        lines = [PlotLine(text, np.quantile(rows, share, axis=0), found["time"].values) for share, text in _QUANTILES]
        return Panel(name, "", tuple(lines), across=("time", "s"))
    if over == ["run"] or len(over) > 2:
        ordered = np.sort(values.values.ravel()[good.values.ravel()])
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        return Panel("cumulative share of runs", "", (PlotLine("", share, ordered),), across=(name, ""))
    first, second = over[0], over[1:]
    x, unit = found[first].values, str(found[first].attrs.get("units", ""))
    if not second:
        return Panel(name, "", (_line("", x, values.values),), across=(str(first), unit))
    chosen = np.unique(np.linspace(0, found.sizes[second[0]] - 1, min(MAX_LINES, found.sizes[second[0]])).astype(int))
    of = [(float(found[second[0]].values[k]), values.isel({second[0]: int(k)}).values) for k in chosen]
    lines = [_line(f"{second[0]} = {value:.4g}", x, y) for value, y in of]
    return Panel(name, "", tuple(lines), across=(str(first), unit))


def _line(text: str, x: np.ndarray, y: np.ndarray) -> PlotLine:
    """Return a line in the order of x; runs without a finite value are dropped."""
    order = [i for i in np.argsort(x, kind="stable") if np.isfinite(y[i])]
    return PlotLine(text, y[order], x[order])


def locus(eigenvalues: np.ndarray, values: np.ndarray, across: str, title: str, path: str | Path | None) -> Plot:
    """Plot eigenvalues (states, values) in the complex plane, darker for later values; circles mark the first value."""
    figure, axis = _spectrum_page(title)
    x = np.broadcast_to(values, eigenvalues.shape)
    axis.axvline(0.0, color=GRAY, linewidth=0.8)
    for row in eigenvalues:
        axis.plot(np.real(row), np.imag(row), color=GRAY, linewidth=0.6)
    dots = axis.scatter(np.real(eigenvalues).ravel(), np.imag(eigenvalues).ravel(), c=x.ravel(), s=9, cmap="viridis_r")
    axis.scatter(
        np.real(eigenvalues[:, 0]),
        np.imag(eigenvalues[:, 0]),
        s=30,
        facecolors="none",
        edgecolors="black",
        linewidths=0.8,
    )
    figure.colorbar(dots, ax=axis, label=across)
    axis.set_xlabel("Re [1/s]")
    axis.set_ylabel("Im [rad/s]")
    return _saved(figure, path)


def campbell(
    eigenvalues: np.ndarray,
    values: np.ndarray,
    across: str,
    title: str,
    orders: Sequence[float],
    path: str | Path | None,
) -> Plot:
    """Plot frequencies over the value; unstable ones in red. Dashed: multiples of the value."""
    figure, axis = _spectrum_page(title)
    size = np.abs(eigenvalues).max(initial=0.0)
    for row in eigenvalues:
        if np.abs(np.imag(row)).max() > 1e-9 * size and np.imag(row)[np.argmax(np.abs(np.imag(row)))] >= 0:
            axis.plot(values, np.abs(np.imag(row)), color=COLORS[0], linewidth=1.2)
            grows = np.real(row) > 1e-9 * size
            axis.plot(values[grows], np.abs(np.imag(row)[grows]), ".", color=COLORS[1], markersize=4)
    high, fastest = axis.get_ylim()[1], np.abs(values).max()
    for order in orders:
        axis.plot(values, order * np.abs(values), color=GRAY, linewidth=0.8, linestyle=(0, (5, 3)))
        # label at the end of the line, or where it leaves the axes
        share = min(1.0, high / (order * fastest)) if order * fastest > 0 else 1.0
        far = share * values[np.argmax(np.abs(values))]
        axis.annotate(
            f"{order:g}×", (far, order * abs(far)), (4, -7), fontsize=SMALL, color=GRAY, textcoords="offset points"
        )
    axis.set_ylim(0.0, high)
    axis.set_xlabel(across)
    axis.set_ylabel("Im [rad/s]")
    return _saved(figure, path)


def worded_value(model: Elements, name: str) -> str:
    """Return the axis label of a parameter or of the rate dot(x) of a coordinate, with its unit."""
    units = Units(model)
    return axis_label(for_plot(name), units.label(format_unit(units.symbols[name])))


def _spectrum_page(title: str) -> tuple[Plot, Axes]:
    figure = Plot(figsize=(5.4, 3.8), layout="constrained")
    axis = figure.add_subplot()
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _saved(figure: Plot, path: str | Path | None) -> Plot:
    if path is not None:
        save(figure, Path(path))
    return figure
