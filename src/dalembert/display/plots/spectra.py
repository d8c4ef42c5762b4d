"""Root loci and Campbell diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from dalembert.display.math.symbol_names import for_plot
from dalembert.display.plots._axes import GRAY, SMALL, axis_label
from dalembert.display.plots.figure import COLORS, Plot
from dalembert.display.plots.plot import save
from dalembert.display.units import Units, format_unit
from dalembert.model.description import Elements


def locus(eigenvalues: np.ndarray, values: np.ndarray, across: str, title: str, path: str | Path | None) -> Plot:
    """Plot eigenvalues (states, values) in the complex plane, darker for later values; circles mark the first value."""
    figure, axis = _page(title)
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
    figure, axis = _page(title)
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


def _page(title: str) -> tuple[Plot, Axes]:
    figure = Plot(figsize=(5.4, 3.8), layout="constrained")
    axis = figure.add_subplot()
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _saved(figure: Plot, path: str | Path | None) -> Plot:
    if path is not None:
        save(figure, Path(path))
    return figure
