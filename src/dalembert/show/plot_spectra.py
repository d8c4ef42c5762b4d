"""Root loci and Campbell's diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from dalembert.show.names import for_plot
from dalembert.show.plot_axes import GREY, SMALL
from dalembert.show.plot_figure import Plot
from dalembert.show.plot_styles import COLOURS
from dalembert.show.plots import save


def locus(eigenvalues: np.ndarray, values: np.ndarray, name: str, title: str, path: str | Path | None) -> Plot:
    """Eigenvalues (states, values) in the plane, darker with the value; rings where they begin."""
    figure, axis = _page(title)
    x = np.broadcast_to(values, eigenvalues.shape)
    axis.axvline(0.0, color=GREY, linewidth=0.8)
    for row in eigenvalues:
        axis.plot(np.real(row), np.imag(row), color=GREY, linewidth=0.6)
    dots = axis.scatter(np.real(eigenvalues).ravel(), np.imag(eigenvalues).ravel(), c=x.ravel(), s=9, cmap="viridis_r")
    axis.scatter(
        np.real(eigenvalues[:, 0]),
        np.imag(eigenvalues[:, 0]),
        s=30,
        facecolors="none",
        edgecolors="black",
        linewidths=0.8,
    )
    figure.colorbar(dots, ax=axis, label=for_plot(name))
    axis.set_xlabel("Re, 1/s")
    axis.set_ylabel("Im, rad/s")
    return _saved(figure, path)


def campbell(
    eigenvalues: np.ndarray, values: np.ndarray, name: str, title: str, orders: Sequence[float], path: str | Path | None
) -> Plot:
    """Frequencies over the value; those that grow are drawn in red. Dashed: multiples of the value."""
    figure, axis = _page(title)
    size = np.abs(eigenvalues).max(initial=0.0)
    for row in eigenvalues:
        if np.abs(np.imag(row)).max() > 1e-9 * size and np.imag(row)[np.argmax(np.abs(np.imag(row)))] >= 0:
            axis.plot(values, np.abs(np.imag(row)), color=COLOURS[0], linewidth=1.2)
            grows = np.real(row) > 1e-9 * size
            axis.plot(values[grows], np.abs(np.imag(row)[grows]), ".", color=COLOURS[1], markersize=4)
    low, high = axis.get_ylim()
    for order in orders:
        axis.plot(values, order * np.abs(values), color=GREY, linewidth=0.8, linestyle=(0, (5, 3)))
        axis.annotate(f"{order:g}×", (values[-1], min(order * abs(values[-1]), high)), fontsize=SMALL, color=GREY)
    axis.set_ylim(max(low, 0.0), high)
    axis.set_xlabel(for_plot(name))
    axis.set_ylabel("Im, rad/s")
    return _saved(figure, path)


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
