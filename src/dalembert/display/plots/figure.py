"""A figure that notebooks display once, without pyplot, and its panels: lines, legend and scales, without overlaps.

Every formulation has its own pair of color and line style; formulations of one lineage share a color.

Labels at the right edge are next to the ends of their lines and do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from dalembert.display.plots.panels import FLOOR, Panel, PlotLine
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import Lineage, group_by_lineage

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType


class Plot(Figure):
    """A matplotlib figure that is not registered in pyplot, so that it need not be closed.

    >>> Plot()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        """Return the image for a notebook."""
        data = BytesIO()
        self.savefig(data, format="png", dpi=120)
        return data.getvalue()


# Okabe and Ito's colors, distinguishable by color-blind readers; brown replaces the yellow, which is faint on white
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
# dashes, so that the lines below stay visible
DASHES: tuple[LineStyleType, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (3, 1.5, 1, 1.5, 1, 1.5)),
)
# for lines of one panel that coincide with lines below
COVERING: tuple[LineStyleType, ...] = ("-", (0, (5, 5)), (3, (3, 7)), (6, (2, 9)), (0, (1.5, 12)), (6, (1, 14)))

LINEAGES: dict[Lineage, tuple[str, ...]] = group_by_lineage({x.ABOUT.key: x.ABOUT.lineage for x in catalog.FORMALISMS})


@dataclass(frozen=True)
class Style:
    """Color and dashes of a line."""

    color: str
    dashes: LineStyleType


def style_of(formalism: str) -> Style:
    """Return the color of the lineage and the line style of the formulation: unique, and the same in every figure.

    >>> style_of("lagrange").color == style_of("routh").color, style_of("lagrange") == style_of("routh")
    (True, False)
    """
    index, keys = next((i, keys) for i, keys in enumerate(LINEAGES.values()) if formalism in keys)
    return Style(COLORS[index], DASHES[keys.index(formalism)])


def styles_of(runs: Mapping[str, str]) -> dict[str, Style]:
    """Return the styles of runs from their formulations; repeated formulations get the next free pair.

    >>> found = styles_of({"coarse": "kane", "fine": "kane"})
    >>> found["coarse"] == style_of("kane"), found["fine"] == found["coarse"]
    (True, False)
    """
    own = {name: style_of(formalism) for name, formalism in runs.items()}
    first = {style: name for name, style in reversed(own.items())}  # first run with each style
    free = [Style(color, dashes) for dashes in DASHES for color in COLORS]
    free = [style for style in free if style not in first]
    out: dict[str, Style] = {}
    for name, style in own.items():
        if first[style] == name or not free:
            out[name] = style
        else:
            out[name] = next((other for other in free if other.color == style.color), free[0])
            free.remove(out[name])
    return out


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

    UnitLabel = Callable[[str], str]  # unit to its label on an axis


SMALL = 7.5  # points
GRAY = "#555555"
_COVER_TOLERANCE = 0.005  # of the range: closer lines cover each other
_CONSTANT_TOLERANCE = 1e-6  # relative variation of a constant line


def draw(axis: Axes, t: np.ndarray, panel: Panel, unit_label: UnitLabel) -> None:
    """Draw a panel with its own legend above it."""
    if panel.zero:
        _write_zero(axis, panel, unit_label)
        return
    visible = [line for line in panel.lines if not panel.is_zero(line)]
    span = float(np.ptp([line.y for line in visible])) if visible else 0.0
    for index, line in enumerate(visible):
        below = sum(covers(line.y, other.y, panel.drift, span) for other in visible[:index])
        style = Style(COLORS[index % len(COLORS)], COVERING[min(below, len(COVERING) - 1)])
        plot(axis, t, line, style, panel.drift)
    if panel.across is not None:
        for line in visible:
            axis.plot(*start_of(line, t), "o", color=COLORS[0], markersize=3.5)
    scale(axis, t, panel, unit_label)
    _legend(axis, [line.label for line in panel.lines if panel.is_zero(line)], any(x.label for x in visible))


def _write_zero(axis: Axes, panel: Panel, unit_label: UnitLabel) -> None:
    """Write a text instead of lines."""
    _dress(axis)
    axis.set_yticks([])
    axis.set_ylabel(axis_label(panel.what, unit_label(panel.unit)), fontsize=8)
    names = [line.label for line in panel.lines if line.label]
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    text = "zero to rounding" + (f":\n{'; '.join(names[:2] if more else names)}{more}" if names else "")
    alignment = {"transform": axis.transAxes, "ha": "center", "va": "center"}
    axis.text(0.5, 0.5, text, fontsize=SMALL, color=GRAY, **alignment)


def plot(axis: Axes, t: np.ndarray, line: PlotLine, style: Style, drift: bool) -> None:
    """One line."""
    y = np.where(line.y > 0, np.maximum(line.y, FLOOR), np.nan) if drift else line.y
    x = t if line.x is None else line.x
    width = 0.8 if line.x is not None else 1.1
    axis.plot(x, y, color=style.color, linestyle=style.dashes, linewidth=width, label=line.label or "_")


def start_of(line: PlotLine, t: np.ndarray) -> tuple[float, float]:
    """Return the first sample of a line."""
    return float((t if line.x is None else line.x)[0]), float(line.y[0])


def covers(a: np.ndarray, b: np.ndarray, log: bool, span: float = 0.0) -> bool:
    """True if one line covers the other, on an axis over `span`, or over the range of the other."""
    if log:
        a, b = (np.log10(np.maximum(values, FLOOR)) for values in (a, b))
        return bool(np.median(np.abs(a - b)) < 0.05)
    return bool(np.max(np.abs(a - b)) <= _COVER_TOLERANCE * max(float(np.ptp(b)), span, 1e-300))


def scale(axis: Axes, t: np.ndarray, panel: Panel, unit_label: UnitLabel) -> None:
    """Set limits, ticks and labels of both axes; powers of ten are next to the unit."""
    _dress(axis)
    if panel.drift:
        power = 0
        _logarithmic(axis, [line for line in panel.lines if not panel.is_zero(line)])
    else:
        power = _linear(axis.yaxis, axis.set_ylim, [line.y for line in panel.lines if not line.zero])
    axis.set_ylabel(axis_label(panel.what, unit_label(panel.unit), power), fontsize=8)
    if panel.across is not None:
        what, unit = panel.across
        power = _linear(axis.xaxis, axis.set_xlim, [line.x for line in panel.lines if line.x is not None])
        axis.set_xlabel(axis_label(what, unit_label(unit), power), fontsize=8)


def time_axis(axes: Sequence[Axes], t: np.ndarray) -> None:
    """Set the common time axis, and align the labels."""
    power = _linear(axes[-1].xaxis, axes[-1].set_xlim, [t])
    axes[-1].set_xlim(float(t[0]), float(t[-1]) if t[-1] != t[0] else float(t[0]) + 1)
    axes[-1].set_xlabel(axis_label("time", "s", power), fontsize=8)
    axes[0].figure.align_ylabels(axes)


def axis_label(what: str, unit: str, power: int = 0) -> str:
    """Return the label of an axis with power of ten and unit.

    >>> axis_label("coordinates", "m", -6), axis_label("energy", "J"), axis_label("share", "")
    ('coordinates [$10^{-6}$ m]', 'energy [J]', 'share')
    """
    scale = " ".join(part for part in (f"$10^{{{power}}}$" if power else "", unit) if part)
    return f"{what} [{scale}]" if scale else what


def _linear(axis: Axis, limit: Callable[[float, float], object], values: Sequence[np.ndarray]) -> int:
    """Set a linear axis without offset text; returns the power of ten by which its numbers are multiplied."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = (float(pick([pick(x) for x in values])) for pick in (np.nanmin, np.nanmax))
    size = max(abs(low), abs(high))
    if not math.isfinite(size) or size == 0:
        return 0
    if high - low < _CONSTANT_TOLERANCE * size:  # do not magnify the rounding of a constant line
        limit(low - 0.1 * size, high + 0.1 * size)
    power = 3 * math.floor(math.log10(size) / 3) if not 1e-2 <= size < 1e5 else 0
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(partial(_tick, power)))
    return power


def _tick(power: int, value: float, position: int | None) -> str:
    return f"{value / 10.0**power:.9g}".replace("-", "\N{MINUS SIGN}")


def _logarithmic(axis: Axes, lines: Sequence[PlotLine]) -> None:
    """Set a logarithmic axis over the nonzero lines."""
    from matplotlib.ticker import LogLocator, NullLocator

    if not lines:
        axis.set_yticks([])
        return
    positive = [np.maximum(line.y[line.y > 0], FLOOR) for line in lines]
    axis.set_yscale("log")
    # the first samples, where a drift rises from zero, must not stretch the axis
    low = min(float(np.quantile(values, 0.03)) for values in positive)
    high = max(float(values.max()) for values in positive)
    axis.set_ylim(min(low / 3, high / 30), high * 3)
    axis.yaxis.set_major_locator(LogLocator(numticks=6))
    axis.yaxis.set_minor_locator(NullLocator())


def _dress(axis: Axes) -> None:
    """Set thin axes on two sides, a light grid and small fonts."""
    axis.tick_params(labelsize=SMALL, width=0.6, length=3)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_linewidth(0.6)


def _legend(axis: Axes, zero: Sequence[str], labelled: bool) -> None:
    """Add the legend above the axes, of the same width; it lists the lines that are zero."""
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


LABEL_HEIGHT = 1.32 * SMALL / 72  # height of a label in inches
_LEFT, _BEGIN, _END, _TEXT = 1.004, 1.03, 1.085, 1.095  # in widths of the axes: leader, line sample, label


@dataclass(frozen=True)
class Ending:
    """A line that ends at `y` in data, or at the bottom if None, with the names and styles of the lines it represents."""

    names: Mapping[str, Style]
    y: float | None


def spread_labels(wanted: Sequence[float], gap: float, top: float = 1.0) -> np.ndarray:
    """Return the heights nearest to `wanted` with this gap, between gap/2 and top − gap/2, in the same order.

    >>> spread_labels([0.5, 0.5, 0.9], 0.2).round(9).tolist()
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
    """Write the labels next to the axes of one figure; the layout runs first, since it sets the height of the axes."""
    from matplotlib.lines import Line2D

    # labels from below
    rows = {
        axis: [(each, name) for each in endings for name in reversed(list(each.names))]
        for axis, endings in axes.items()
    }
    look = {"fontsize": SMALL, "va": "center", "ha": "left"}
    labels = {
        axis: [axis.text(_TEXT, 0.5, name, transform=axis.transAxes, **look) for _, name in each]
        for axis, each in rows.items()
    }
    figure = next(iter(axes)).get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    for axis, each in rows.items():
        height = LABEL_HEIGHT * figure.dpi / axis.get_window_extent().height
        ends = [_height(axis, ending.y) for ending, _ in each]
        on_axes = {"transform": axis.transAxes, "clip_on": False}
        for label_artist, (ending, name), end, y in zip(
            labels[axis], each, ends, spread_labels(ends, height), strict=True
        ):
            label_artist.set_y(y)
            # line sample before its label
            style = ending.names[name]
            look = {"color": style.color, "linestyle": style.dashes, "linewidth": 1.3}
            axis.add_artist(Line2D([_BEGIN, _END], [y, y], **on_axes, **look))
            if name == next(iter(ending.names)):  # leader from the end of the line to its label
                axis.add_artist(Line2D([_LEFT, _BEGIN], [end, y], color=GRAY, linewidth=0.3, **on_axes))


def _height(axis: Axes, y: float | None) -> float:
    """Convert a height in data to axes coordinates."""
    if y is None:
        return 0.0
    at = axis.transAxes.inverted().transform(axis.transData.transform((0.0, y)))[1]
    return float(np.clip(at, 0, 1))
