"""Names at the right edge: each beside the end of its line, none on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.show.plot_axes import GREY, SMALL
from dalembert.show.plot_styles import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

ROOM = 1.32 * SMALL / 72  # inches that a name takes
_LEFT, _BEGIN, _END, _TEXT = (
    1.004,
    1.03,
    1.085,
    1.095,
)  # in widths of the axes: the leader, the sample of the line, the name


@dataclass(frozen=True)
class Ending:
    """A line that ends at the height `y` in data, or at the bottom where it is None, with the names and styles it stands for."""

    names: Mapping[str, Style]
    y: float | None


def apart(wanted: Sequence[float], gap: float, top: float = 1.0) -> np.ndarray:
    """Heights nearest to the wanted ones that keep the gap and stay between gap/2 and top − gap/2, in the same order.

    >>> apart([0.5, 0.5, 0.9], 0.2).round(9).tolist()
    [0.4, 0.6, 0.9]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(order))
    moved = isotonic_regression(np.asarray(wanted, dtype=float)[order] - steps).x
    out = np.empty(len(order))
    out[order] = np.clip(moved, gap / 2, max(gap / 2, top - gap / 2 - steps[-1])) + steps
    return out


def name_ends(axes: Mapping[Axes, Sequence[Ending]]) -> None:
    """Write the names beside the axes of one figure; the layout is made first, since it decides how high the axes are."""
    texts = {axis: [_text(axis, name) for ending in each for name in _rows(ending)] for axis, each in axes.items()}
    figure = next(iter(axes)).get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    for axis, each in axes.items():
        room = ROOM * figure.dpi / axis.get_window_extent().height
        rows = [(ending, name) for ending in each for name in _rows(ending)]
        ends = [_height(axis, ending.y) for ending, _ in rows]
        for text, (ending, name), end, y in zip(texts[axis], rows, ends, apart(ends, room), strict=True):
            text.set_y(y)
            _sample(axis, ending.names[name], y)
            if name == next(iter(ending.names)):
                _leader(axis, end, y)


def _rows(ending: Ending) -> list[str]:
    """The names from below."""
    return list(ending.names)[::-1]


def _height(axis: Axes, y: float | None) -> float:
    """A height in data as a part of the axes."""
    if y is None:
        return 0.0
    at = axis.transAxes.inverted().transform(axis.transData.transform((0.0, y)))[1]
    return float(np.clip(at, 0, 1))


def _text(axis: Axes, name: str) -> Text:
    return axis.text(_TEXT, 0.5, name, transform=axis.transAxes, fontsize=SMALL, va="center", ha="left")


def _sample(axis: Axes, style: Style, y: float) -> None:
    """A sample of the line before its name."""
    from matplotlib.lines import Line2D

    look = {"color": style.colour, "linestyle": style.dashes, "linewidth": 1.3}
    axis.add_artist(Line2D([_BEGIN, _END], [y, y], transform=axis.transAxes, clip_on=False, **look))


def _leader(axis: Axes, end: float, y: float) -> None:
    """A thin line from the end of a line to its name."""
    from matplotlib.lines import Line2D

    look = {"color": GREY, "linewidth": 0.3, "transform": axis.transAxes, "clip_on": False}
    axis.add_artist(Line2D([_LEFT, _BEGIN], [end, y], **look))
