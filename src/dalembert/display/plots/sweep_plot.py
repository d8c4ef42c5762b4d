"""The figure of a sweep: a number over what is varied, the share of runs below a value, or quantiles over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.arguments import checked
from dalembert.display.plots import axes
from dalembert.display.plots.panels import MOST_LINES, Line, Panel
from dalembert.display.plots.plot import FORMATS, save
from dalembert.errors import InputError
from dalembert.io import files

if TYPE_CHECKING:
    import xarray

    from dalembert.display.plots.figure import Plot

_QUANTILES = ((0.05, "5 % of the runs are below"), (0.5, "half of the runs"), (0.95, "95 %"))
_ACROSS = 2


@checked
def plot_sweep(found: xarray.Dataset, path: str | Path | None = None) -> Plot:
    """Draw what a sweep found, a panel for each thing observed; saved as .png, .pdf or .svg where a path is given.

    Over a grid of one name numbers are a line, with a line for each value of a second. Of runs at random or Sobol's points the
    share below each value is drawn, and over time the quantiles.

    >>> import dalembert as dl
    >>> found = dl.sweep("simple-pendulum", {"l": [0.5, 1.0, 2.0]}, observe="final(theta)", duration=1.0, workers=1)
    >>> [axis.get_xlabel() for axis in dl.plot_sweep(found).axes]
    ['l [m]']
    """
    from dalembert.display.plots.figure import Plot

    if path is not None:
        files.require_suffix(Path(path), FORMATS, "a figure")
    panels = sweep_panels(found)
    columns = min(_ACROSS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Plot(figsize=(4.8 * columns, 2.6 * rows + 0.4), layout="constrained")
    figure.suptitle(f"{found.attrs.get('model', '')}: {found.attrs.get('runs', '')} runs", fontsize=10)
    cells = figure.add_gridspec(rows, columns)
    for index, panel in enumerate(panels):
        axis, (first, *_) = figure.add_subplot(cells[divmod(index, columns)]), panel.lines
        axes.draw(axis, first.y if first.x is None else first.x, panel, lambda unit: unit)
    if path is not None:
        save(figure, Path(path))
    return figure


def sweep_panels(found: xarray.Dataset) -> list[Panel]:
    """What there is to draw of a sweep, a panel for each thing observed."""
    if "reason" not in found:
        raise InputError("plot_sweep: the Dataset has no `reason`. Expected the result of a sweep.")
    good = found["reason"] == ""
    if not bool(good.any()):
        raise InputError("plot_sweep: no run has numbers. Look at `reason`.")
    return [_panel(found, str(name), good) for name in found.data_vars if name != "reason"]


def _panel(found: xarray.Dataset, name: str, good: xarray.DataArray) -> Panel:
    values, over = found[name], [str(place) for place in good.dims]
    if "time" in values.dims:
        rows = values.values.reshape(-1, found.sizes["time"])[good.values.ravel()]
        lines = [Line(text, np.quantile(rows, share, axis=0), found["time"].values) for share, text in _QUANTILES]
        return Panel(name, "", tuple(lines), across=("time", "s"))
    if over == ["run"] or len(over) > 2:
        ordered = np.sort(values.values.ravel()[good.values.ravel()])
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        return Panel("share of the runs below", "", (Line("", share, ordered),), across=(name, ""))
    first, second = over[0], over[1:]
    x, unit = found[first].values, str(found[first].attrs.get("units", ""))
    if not second:
        return Panel(name, "", (_line("", x, values.values),), across=(str(first), unit))
    chosen = np.unique(np.linspace(0, found.sizes[second[0]] - 1, min(MOST_LINES, found.sizes[second[0]])).astype(int))
    of = [(float(found[second[0]].values[k]), values.isel({second[0]: int(k)}).values) for k in chosen]
    lines = [_line(f"{second[0]} = {value:.4g}", x, y) for value, y in of]
    return Panel(name, "", tuple(lines), across=(str(first), unit))


def _line(text: str, x: np.ndarray, y: np.ndarray) -> Line:
    """Numbers in the order of x; runs without any are left out, so that their neighbours are seen."""
    places = [i for i in np.argsort(x, kind="stable") if np.isfinite(y[i])]
    return Line(text, y[places], x[places])
