"""Figures of papers drawn with matplotlib objects: curves in panels, and snapshots of a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.plots.figure import COLORS
from dalembert.papers.printed_values import Figure, FigurePanel, MechanismSnapshot, Stroke

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import FigureBase

_FLOOR = 1e-17  # smaller errors are rounding
_DASHES = (0, (4, 4))  # a covered line remains visible
_MAX_COLUMNS = 3  # frames per row


def of_figure(figure: Figure) -> Drawing:
    """Draw a figure with matplotlib.

    >>> from dalembert.papers.printed_values import PrintedLine
    >>> line = PrintedLine("x", np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    >>> len(of_figure(Figure("1", "A line", panels=(FigurePanel("x [m]", (line,)),))).axes)
    1
    """
    from matplotlib.figure import Figure as Drawing

    sizes = [_frames_size(figure.frames)] if figure.frames else []
    sizes += [_panels_size(figure.panels)] if figure.panels else []
    widths, heights = zip(*sizes, strict=True)
    drawing = Drawing(figsize=(max(widths), sum(heights)), layout="constrained")
    grid = drawing.add_gridspec(len(sizes), 1, height_ratios=heights)
    parts = [drawing.add_subfigure(grid[row]) for row in range(len(sizes))]
    if figure.frames:
        _frames(parts[0], figure.frames)
    if figure.panels:
        _panels(parts[-1], figure.panels)
    return drawing


# curves


def _panels_grid(panels: Sequence[FigurePanel]) -> tuple[int, int]:
    """Return the number of rows and columns."""
    columns = 1 if len(panels) <= 3 else 2
    return math.ceil(len(panels) / columns), columns


def _panels_size(panels: Sequence[FigurePanel]) -> tuple[float, float]:
    """Return width and height in inches."""
    rows, columns = _panels_grid(panels)
    return 7.2 if columns == 1 else 9.6, 3.4 if rows == 1 else 1.75 * rows + 0.5


def _panels(drawing: FigureBase, panels: Sequence[FigurePanel]) -> None:
    rows, columns = _panels_grid(panels)
    axes = drawing.subplots(rows, columns, squeeze=False)
    for index, axis in enumerate(axes.T.ravel()):
        if index >= len(panels):
            axis.set_visible(False)
            continue
        alike = panels[index + 1 : index + 2] and panels[index + 1].along == panels[index].along
        new = index == 0 or [x.label for x in panels[index].lines] != [x.label for x in panels[index - 1].lines]
        _panel(axis, panels[index], last=not alike or (index + 1) % rows == 0, legend=new)


def _panel(axis: Axes, panel: FigurePanel, *, last: bool, legend: bool) -> None:
    """Draw one pair of axes; of similar ones only the last has an x label and only the first a legend."""
    for index, line in enumerate(panel.lines):
        y = np.where(line.y > _FLOOR, line.y, np.nan) if panel.log else line.y
        if line.points:
            axis.plot(line.x, y, "o", color="#333333", markersize=3.2, fillstyle="none", label=line.label, zorder=3)
        else:
            # errors of two methods often coincide
            style = _DASHES if panel.log and index % 2 else "-"
            axis.plot(line.x, y, color=COLORS[index % len(COLORS)], linestyle=style, linewidth=1.2, label=line.label)
    if panel.log:
        axis.set_yscale("log")
    if last:
        axis.set_xlabel(panel.along, fontsize=8)
    axis.set_ylabel(panel.title, fontsize=8)
    axis.tick_params(labelsize=7.5, width=0.6, length=3)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    if legend and any(line.label for line in panel.lines):
        position = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.1}
        axis.legend(**position, ncols=min(6, len(panel.lines)), frameon=False, fontsize=7.5)


# frames


def _frames_grid(frames: Sequence[MechanismSnapshot]) -> tuple[int, int]:
    """Return the number of rows and columns."""
    across = min(_MAX_COLUMNS, len(frames))
    return math.ceil(len(frames) / across), across


def _half(frames: Sequence[MechanismSnapshot]) -> np.ndarray:
    """Return half of the side lengths of every frame."""
    half = np.max([np.ptp(_all(frame), axis=0) for frame in frames], axis=0) / 2
    return np.maximum(1.15 * half, 0.3 * half.max())


def _frames_size(frames: Sequence[MechanismSnapshot]) -> tuple[float, float]:
    (rows, across), half = _frames_grid(frames), _half(frames)
    side = 3.2 if len(frames) > 1 else 4.6
    tall = side if len(half) == 3 else max(1.2, side * half[1] / half[0] + 0.4)
    return side * across, tall * rows


def _frames(drawing: FigureBase, frames: Sequence[MechanismSnapshot]) -> None:
    (rows, across), half = _frames_grid(frames), _half(frames)
    for index, frame in enumerate(frames):
        axis = drawing.add_subplot(rows, across, index + 1, projection="3d" if len(half) == 3 else None)
        _frame(axis, frame, half)


def _all(frame: MechanismSnapshot) -> np.ndarray:
    return np.concatenate([stroke.points for stroke in frame.strokes])


def _frame(axis: Axes, frame: MechanismSnapshot, half: np.ndarray) -> None:
    """Draw one snapshot; all frames have the same scale, each its own center."""
    from matplotlib.ticker import MaxNLocator

    points = _all(frame)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    for stroke in frame.strokes:
        _stroke(axis, stroke)
    deep = len(middle) == 3
    for name, value, size in zip("xyz", middle, np.full(3, half.max()) if deep else half, strict=False):
        getattr(axis, f"set_{name}lim")(value - size, value + size)
        getattr(axis, f"{name}axis").set_major_locator(MaxNLocator(4))
    axis.set_title(frame.title, fontsize=9)
    axis.tick_params(labelsize=7, width=0.6, length=3, pad=0 if deep else 3)
    if deep:
        axis.set_box_aspect((1, 1, 1))  # pyright: ignore[reportArgumentType]
        return
    axis.set_aspect("equal")
    axis.grid(color="#eeeeee", linewidth=0.5)
    axis.set_axisbelow(True)
    for spine in axis.spines.values():
        spine.set_linewidth(0.5)


def _stroke(axis: Axes, stroke: Stroke) -> None:
    color = "#777777" if stroke.thin else COLORS[stroke.color % len(COLORS)]
    points = np.concatenate([stroke.points, stroke.points[:1]]) if stroke.closed else stroke.points
    if stroke.closed:
        _filled(axis, stroke.points, color)
    axis.plot(*points.T, color=color, linewidth=0.8 if stroke.thin else 2.0, solid_capstyle="round")
    if stroke.joint:
        axis.plot(*stroke.points.T, "o", color="white", markeredgecolor=color, markersize=4.5)
    if stroke.label:
        at = stroke.points[-1]
        words = {"x": at[0], "y": at[1], "s": f" {stroke.label}"} | ({"z": at[2]} if len(at) == 3 else {})
        axis.text(**words, fontsize=8)


def _filled(axis: Axes, points: np.ndarray, color: str) -> None:
    if points.shape[1] == 2:
        axis.fill(*points.T, color=color, alpha=0.25, linewidth=0)
        return
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axis.add_collection(Poly3DCollection([points], facecolors=color, alpha=0.25, linewidths=0))
