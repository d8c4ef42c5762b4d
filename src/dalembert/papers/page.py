"""A reproduced paper as text and as a self-contained HTML page: printed and computed values, deviations and notes."""

from __future__ import annotations

import base64
import io
import math
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dalembert.api import load
from dalembert.api.kinematics import kinematics
from dalembert.api.load import Source
from dalembert.display.plots.figure import COLORS
from dalembert.io import files
from dalembert.mechanics.motion import Motion, move
from dalembert.model.description import Elements
from dalembert.model.evaluation import value as evaluate
from dalembert.papers.printed_values import (
    Claim,
    ComparedTable,
    Figure,
    FigurePanel,
    MechanismSnapshot,
    Note,
    Paper,
    Stroke,
    notes_with_letters,
)
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import Pose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import FigureBase


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62em; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2.2em }
table { border-collapse: collapse; margin: .6em 0 } th, td { padding: .15em .9em .15em 0; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #999; font-weight: 600 } td.n { font-variant-numeric: tabular-nums }
tr.first td { border-top: 1px solid #ddd } td.off { color: #9a5b00 } td.open { color: #b00020; font-weight: 600 }
p.note { margin: .2em 0; color: #444 } b.misprint { color: #9a5b00 } img { max-width: 100%; height: auto }
pre { background: #f4f4f4; padding: .5em .8em; white-space: pre-wrap } p.source { color: #555 }
"""
_WIDTH = 118


def write_paper(paper: Paper, folder: Path) -> list[Path]:
    """Write figure-N.png for every figure, then the page; each file is written atomically."""
    drawn = pictures(paper)
    written = []
    for number, picture in drawn.items():
        path = folder / f"figure-{_file_name(number)}.png"
        with files.atomic_write(path) as part:
            part.write_bytes(picture)
        written.append(path)
    page = folder / f"{paper.name}.html"
    files.write_text(page, html_document(paper, drawn))
    return [*written, page]


def pictures(paper: Paper) -> dict[str, bytes]:
    """Return the figures as PNG, by number."""
    drawn: dict[str, bytes] = {}
    for figure in paper.figures:
        stream = io.BytesIO()
        figure.draw().savefig(stream, format="png", dpi=150)
        drawn[figure.number] = stream.getvalue()
    return drawn


def html_document(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """Return the page as an HTML document."""
    head = f'<meta charset="utf-8"><title>{escape(paper.title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body(paper, drawn)}\n</body></html>\n'


def body(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """Return the body of the page."""
    parts = [f"<h1>{escape(paper.title)}</h1>", f'<p class="source">{escape(paper.source)}</p>']
    if paper.tables:
        parts.append(f"<p>{escape(verdict(paper))}</p>")
    parts += [f"<p>{escape(remark)}</p>" for remark in paper.remarks]
    parts += [_claims(paper)] if paper.claims else []
    parts += [_table(table) for table in paper.tables]
    parts += [_figure(figure, drawn[figure.number]) for figure in paper.figures]
    return "\n".join(parts)


def _claims(paper: Paper) -> str:
    lines = [_row(["claim", "in the paper", "measured in this run", "verdict"], "th")]
    for claim in paper.claims:
        strings = "".join(f"<td>{escape(text)}</td>" for text in (claim.text, claim.location, claim.finding.measured))
        mark = "n" if claim.finding.reproduced else "open"
        lines.append(f'<tr>{strings}<td class="{mark}">{escape(claim.verdict)}</td></tr>')
    return "<h2>Claims of the paper</h2>\n<table>" + "\n".join(lines) + "</table>"


def _table(table: ComparedTable) -> str:
    named = any(table.columns)
    head = ["quantity", *(["of"] if named else []), "printed", "computed", "deviation", "note"]
    lines, last = [_row(head, "th")], ""
    for cell in table.cells:
        first = cell.row != last
        strings = [cell.row if first else "", *([cell.column] if named else []), cell.printed_text, cell.computed_text]
        cells = "".join(f'<td class="n">{escape(text)}</td>' for text in strings)
        mark = "n" if not cell.compared or cell.same else "off" if cell.explained else "open"
        cells += f'<td class="{mark}">{escape(cell.deviation_text)}</td><td>{escape(cell.note_letter)}</td>'
        begins = ' class="first"' if first else ""
        lines.append(f"<tr{begins}>{cells}</tr>")
        last = cell.row
    grid = "<table>" + "\n".join(lines) + "</table>"
    return f"<h2>{escape(table.label)}. {escape(table.caption)}</h2>\n{grid}{_below(table.notes, table.commands)}"


def _figure(figure: Figure, picture: bytes) -> str:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    image = f'<p><img alt="{escape(figure.label)}" src="{source}"></p>'
    deviation = f'<p class="note">{escape(figure.deviation_text)}</p>' if figure.deviation_text else ""
    return f"<h2>{escape(figure.label)}. {escape(figure.caption)}</h2>\n{image}{deviation}{_below(figure.notes, figure.commands)}"


def _row(strings: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in strings) + "</tr>"


def _below(notes: Sequence[Note], commands: Sequence[str]) -> str:
    out = ""
    for letter, note in notes_with_letters(notes):
        mark = f"<sup>{letter}</sup> " if letter else ""
        word = '<b class="misprint">Misprint.</b> ' if note.misprint else ""
        out += f'<p class="note">{mark}{word}{escape(note.text)}</p>'
    return out + (f"<pre>{escape(chr(10).join(commands))}</pre>" if commands else "")


def _file_name(number: str) -> str:
    """Return a table or figure number as part of a file name.

    >>> _file_name("5.12"), _file_name("Example 1/2")
    ('5.12', 'example-1-2')
    """
    return "".join(c if c.isalnum() or c == "." else "-" for c in number.lower())


def of_paper(paper: Paper) -> str:
    """Return all tables, descriptions of the figures, and the verdict as text."""
    parts = [f"{paper.title}\n{paper.source}", *map(of_table, paper.tables), *map(of_figure, paper.figures)]
    parts += [_wrapped(remark) for remark in paper.remarks]
    parts += [of_claims(paper.claims)] if paper.claims else []
    return "\n\n".join([*parts, verdict(paper)] if paper.tables else parts)


def of_claims(claims: Sequence[Claim]) -> str:
    """Return every claim with its verdict and measured values as text."""
    lines = []
    for claim in claims:
        lines.append(_wrapped(f"{claim.verdict}: {claim.text} ({claim.location})"))
        lines.append(_wrapped(f"   measured: {claim.finding.measured}"))
    return "\n".join(["Claims of the paper, measured in this run", "", *lines])


def of_table(table: ComparedTable) -> str:
    """Return the table as text, with a line for each entry."""
    return "\n".join(
        [f"{table.label}. {table.caption}", "", *_table_rows(table), *_notes_below(table.notes, table.commands)]
    )


def of_figure(figure: Figure) -> str:
    """Return the description of a figure as text."""
    parts = (("frame", len(figure.frames)), ("panel", len(figure.panels)))
    what = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in parts if count)
    deviation = [_wrapped(figure.deviation_text)] if figure.deviation_text else []
    return "\n".join(
        [f"{figure.label}. {figure.caption} ({what})", *deviation, *_notes_below(figure.notes, figure.commands)]
    )


def verdict(paper: Paper) -> str:
    """Return a sentence with the number of entries that agree."""
    cells = [cell for table in paper.tables for cell in table.cells if cell.compared]
    same, open_ones = sum(cell.same for cell in cells), paper.unexplained
    noted = len(cells) - same - len(open_ones)
    if same == len(cells):
        return f"All {len(cells)} printed entries agree."
    summary = f"{same} of {len(cells)} printed entries agree"
    summary += f", {noted} deviate for the reasons noted" if noted else ""
    if not open_ones:
        return f"{summary}, none without a reason."
    where = "; ".join(f"{cell.row}, {cell.column}" for cell in open_ones)
    missing = sum(cell.missing for cell in open_ones)
    words = f", of which {missing} were not computed" if missing else ""
    return f"{summary}, {len(open_ones)} without a reason{words}: {where}."


def _table_rows(table: ComparedTable) -> list[str]:
    head = ["quantity", "of", "printed", "computed", "deviation"]
    lines, last = [head], ""
    for cell in table.cells:
        deviation = f"{cell.deviation_text} {cell.note_letter}".rstrip()
        lines.append(
            [cell.row if cell.row != last else "", cell.column, cell.printed_text, cell.computed_text, deviation]
        )
        last = cell.row
    if not any(table.columns):
        lines = [[line[0], *line[2:]] for line in lines]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(c + " " * (w - _width(c)) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def _width(text: str) -> int:
    """Return the display width of a string: combining characters have no width."""
    return sum(not unicodedata.combining(c) for c in text)


def _notes_below(notes: Sequence[Note], commands: Sequence[str]) -> list[str]:
    """Return notes and commands, with an empty line before them."""
    lines = [""] if notes or commands else []
    for letter, note in notes_with_letters(notes):
        lines.append(_wrapped(f"{letter + '  ' if letter else ''}{'Misprint: ' if note.misprint else ''}{note.text}"))
    return [*lines, *(f"$ {command}" for command in commands)]


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)


_FLOOR = 1e-17  # smaller errors are rounding
_DASHES = (0, (4, 4))  # a covered line remains visible
_MAX_COLUMNS = 3  # frames per row


def draw_figure(figure: Figure) -> Drawing:
    """Draw a figure with matplotlib.

    >>> from dalembert.papers.printed_values import PrintedLine
    >>> line = PrintedLine("x", np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    >>> len(draw_figure(Figure("1", "A line", panels=(FigurePanel("x [m]", (line,)),))).axes)
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


def derivative(f: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """Return f′(0) by fourth-order central differences."""
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)


def relative_difference(found: np.ndarray, known: np.ndarray) -> float:
    """Return the largest difference relative to the largest entry."""
    return float(np.abs(found - known).max() / np.abs(known).max())


@dataclass(frozen=True)
class BodyPoses:
    """The bodies of a model in one configuration."""

    model: Elements
    poses: Mapping[str, Pose]

    def points(self, body: str, positions: npt.ArrayLike) -> np.ndarray:
        """Return the world coordinates (k, 3) of points in body axes.

        >>> pose_bodies("simple-pendulum", [0.0]).points("bob", [(0, 0, 0)]).shape
        (1, 3)
        """
        return np.array([self.poses[body].at(position) for position in np.asarray(positions, dtype=float)])

    def center(self, body: str) -> np.ndarray:
        """Return the mass center of a body in world axes."""
        (declared,) = (each for each in self.model.bodies if each.name == body)
        return self.poses[body].at([evaluate(x, self.model.parameter_values) for x in declared.center])


def pose_bodies(model: Source, q: npt.ArrayLike) -> BodyPoses:
    """Return the bodies of a model at the coordinates q."""
    known = load.description_of(model)
    return BodyPoses(known, kinematics(known).poses(np.asarray(q, dtype=float)))


def evaluate_motion(model: Elements, q: np.ndarray) -> Motion:
    """Evaluate the shared kinematics of the formulations at q, at rest."""
    return move(model, FLOATS, 0.0, q, np.zeros(len(q)), model.parameter_values)


def box(half: npt.ArrayLike) -> list[np.ndarray]:
    """Return the six faces (4, 3) of a box centered at the origin with these half edges.

    >>> len(box((1, 1, 1)))
    6
    """
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    edges = np.asarray(half, dtype=float)
    return [np.insert(corners, axis, side, axis=1) * edges for axis in range(3) for side in (-1, 1)]
