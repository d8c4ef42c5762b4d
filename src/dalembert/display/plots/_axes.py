"""How a panel is drawn: lines, legend, scales. Nothing stands on anything else.

Names at the right edge: each beside the end of its line, none on another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.plots.figure import COLOURS, COVERING, Style
from dalembert.display.plots.panels import FLOOR, Line, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

    Said = Callable[[str], str]  # what an axis says of a unit


SMALL = 7.5  # points
GREY = "#555555"
_ALIKE = 0.005  # of the range: a line nearer to another covers it
_LEVEL = 1e-6  # of its size: a line that moves less is level


def draw(axis: Axes, t: np.ndarray, panel: Panel, said: Said) -> None:
    """Draw a panel with its own legend above it."""
    if panel.zero:
        _say_zero(axis, panel, said)
        return
    shown = [line for line in panel.lines if not panel.is_zero(line)]
    span = float(np.ptp([line.y for line in shown])) if shown else 0.0
    for index, line in enumerate(shown):
        below = sum(covers(line.y, other.y, panel.drift, span) for other in shown[:index])
        style = Style(COLOURS[index % len(COLOURS)], COVERING[min(below, len(COVERING) - 1)])
        plot(axis, t, line, style, panel.drift)
    if panel.across is not None:
        for line in shown:
            axis.plot(*start_of(line, t), "o", color=COLOURS[0], markersize=3.5)
    scale(axis, t, panel, said)
    _legend(axis, [line.label for line in panel.lines if panel.is_zero(line)], any(x.label for x in shown))


def _say_zero(axis: Axes, panel: Panel, said: Said) -> None:
    """Words in place of lines."""
    _dress(axis)
    axis.set_yticks([])
    axis.set_ylabel(worded(panel.what, said(panel.unit)), fontsize=8)
    names = [line.label for line in panel.lines if line.label]
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    text = "zero to rounding" + (f":\n{'; '.join(names[:2] if more else names)}{more}" if names else "")
    place = {"transform": axis.transAxes, "ha": "center", "va": "center"}
    axis.text(0.5, 0.5, text, fontsize=SMALL, color=GREY, **place)


def plot(axis: Axes, t: np.ndarray, line: Line, style: Style, drift: bool) -> None:
    """One line."""
    y = np.where(line.y > 0, np.maximum(line.y, FLOOR), np.nan) if drift else line.y
    x = t if line.x is None else line.x
    width = 0.8 if line.x is not None else 1.1
    axis.plot(x, y, color=style.colour, linestyle=style.dashes, linewidth=width, label=line.label or "_")


def start_of(line: Line, t: np.ndarray) -> tuple[float, float]:
    """Where a line begins."""
    return float((t if line.x is None else line.x)[0]), float(line.y[0])


def covers(a: np.ndarray, b: np.ndarray, log: bool, span: float = 0.0) -> bool:
    """Whether one line would cover the other, on an axis over `span`, or over the range of the other."""
    if log:
        a, b = (np.log10(np.maximum(values, FLOOR)) for values in (a, b))
        return bool(np.median(np.abs(a - b)) < 0.05)
    return bool(np.max(np.abs(a - b)) <= _ALIKE * max(float(np.ptp(b)), span, 1e-300))


def scale(axis: Axes, t: np.ndarray, panel: Panel, said: Said) -> None:
    """Limits, ticks and the words of both axes; powers of ten stand beside the unit, where they cover nothing."""
    _dress(axis)
    if panel.drift:
        power = 0
        _logarithmic(axis, [line for line in panel.lines if not panel.is_zero(line)])
    else:
        power = _linear(axis.yaxis, axis.set_ylim, [line.y for line in panel.lines if not line.zero])
    axis.set_ylabel(worded(panel.what, said(panel.unit), power), fontsize=8)
    if panel.across is not None:
        what, unit = panel.across
        power = _linear(axis.xaxis, axis.set_xlim, [line.x for line in panel.lines if line.x is not None])
        axis.set_xlabel(worded(what, said(unit), power), fontsize=8)


def time_axis(axes: Sequence[Axes], t: np.ndarray) -> None:
    """The common time axis, and labels in one line."""
    power = _linear(axes[-1].xaxis, axes[-1].set_xlim, [t])
    axes[-1].set_xlim(float(t[0]), float(t[-1]) if t[-1] != t[0] else float(t[0]) + 1)
    axes[-1].set_xlabel(worded("time", "s", power), fontsize=8)
    axes[0].figure.align_ylabels(axes)


def worded(what: str, unit: str, power: int = 0) -> str:
    """What an axis is, with power of ten and unit.

    >>> worded("coordinates", "m", -6), worded("energy", "J"), worded("share", "")
    ('coordinates [$10^{-6}$ m]', 'energy [J]', 'share')
    """
    scale = " ".join(part for part in (f"$10^{{{power}}}$" if power else "", unit) if part)
    return f"{what} [{scale}]" if scale else what


def _linear(axis: Axis, limit: Callable[[float, float], object], values: Sequence[np.ndarray]) -> int:
    """A linear axis without offset text; returns the power of ten its numbers are to be multiplied with."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = (float(pick([pick(x) for x in values])) for pick in (np.nanmin, np.nanmax))
    size = max(abs(low), abs(high))
    if not math.isfinite(size) or size == 0:
        return 0
    if high - low < _LEVEL * size:  # what is level stays level, and rounding is not magnified
        limit(low - 0.1 * size, high + 0.1 * size)
    power = 3 * math.floor(math.log10(size) / 3) if not 1e-2 <= size < 1e5 else 0
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(partial(_tick, power)))
    return power


def _tick(power: int, value: float, place: int | None) -> str:
    return f"{value / 10.0**power:.9g}".replace("-", "\N{MINUS SIGN}")


def _logarithmic(axis: Axes, lines: Sequence[Line]) -> None:
    """A logarithmic axis over lines that are not zero."""
    from matplotlib.ticker import LogLocator, NullLocator

    if not lines:
        axis.set_yticks([])
        return
    seen = [np.maximum(line.y[line.y > 0], FLOOR) for line in lines]
    axis.set_yscale("log")
    # the first samples, where a drift rises from nothing, must not stretch the axis
    low = min(float(np.quantile(values, 0.03)) for values in seen)
    high = max(float(values.max()) for values in seen)
    axis.set_ylim(min(low / 3, high / 30), high * 3)
    axis.yaxis.set_major_locator(LogLocator(numticks=6))
    axis.yaxis.set_minor_locator(NullLocator())


def _dress(axis: Axes) -> None:
    """Thin axes on two sides, a light grid, small type."""
    axis.tick_params(labelsize=SMALL, width=0.6, length=3)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_linewidth(0.6)


def _legend(axis: Axes, zero: Sequence[str], labelled: bool) -> None:
    """The legend above the axes, as wide as they are; what is zero is said in it."""
    from matplotlib.lines import Line2D

    handles, labels = axis.get_legend_handles_labels() if labelled else ([], [])
    zero = [label for label in zero if label]
    if handles and zero:
        more = f" and {len(zero) - 2} more" if len(zero) > 3 else ""
        handles.append(Line2D([], [], linestyle="none"))
        labels.append(f"zero to rounding: {'; '.join(zero[:2] if more else zero)}{more}")
    if not handles:
        return
    width = axis.get_window_extent().width
    for rows in range(-(-len(labels) // 4), len(labels) + 1):
        columns = -(-len(labels) // rows)
        legend: Legend = axis.legend(
            handles,
            labels,
            ncols=columns,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.1,
            labelspacing=0.5 if any("overset" in label for label in labels) else 0.25,
            frameon=False,
            fontsize=SMALL,
            handlelength=2.2,
            columnspacing=1.4,
        )
        if legend.get_window_extent().width <= width:
            return


ROOM = 1.32 * SMALL / 72  # inches that a name takes
_LEFT, _BEGIN, _END, _TEXT = 1.004, 1.03, 1.085, 1.095  # in widths of the axes: leader, sample of the line, name


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
    from matplotlib.lines import Line2D

    # the names from below
    rows = {
        axis: [(each, name) for each in endings for name in reversed(list(each.names))]
        for axis, endings in axes.items()
    }
    look = {"fontsize": SMALL, "va": "center", "ha": "left"}
    texts = {
        axis: [axis.text(_TEXT, 0.5, name, transform=axis.transAxes, **look) for _, name in each]
        for axis, each in rows.items()
    }
    figure = next(iter(axes)).get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    for axis, each in rows.items():
        height = ROOM * figure.dpi / axis.get_window_extent().height
        ends = [_height(axis, ending.y) for ending, _ in each]
        on_axes = {"transform": axis.transAxes, "clip_on": False}
        for text, (ending, name), end, y in zip(texts[axis], each, ends, apart(ends, height), strict=True):
            text.set_y(y)
            # a sample of the line before its name
            style = ending.names[name]
            look = {"color": style.colour, "linestyle": style.dashes, "linewidth": 1.3}
            axis.add_artist(Line2D([_BEGIN, _END], [y, y], **on_axes, **look))
            if name == next(iter(ending.names)):  # a thin line from the end of the line to its name
                axis.add_artist(Line2D([_LEFT, _BEGIN], [end, y], color=GREY, linewidth=0.3, **on_axes))


def _height(axis: Axes, y: float | None) -> float:
    """A height in data as a part of the axes."""
    if y is None:
        return 0.0
    at = axis.transAxes.inverted().transform(axis.transData.transform((0.0, y)))[1]
    return float(np.clip(at, 0, 1))
