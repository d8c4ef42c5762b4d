"""A paper that was computed again: its tables, its figures and their notes, as values."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import InputError, nearest
from dalembert.papers.tables_of_cells import Cell, Entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


Computed = Mapping[str, Sequence[Entry]]  # the entries of each row, by its name


@dataclass(frozen=True)
class Panel:
    """One pair of axes; curves of different size go on a logarithmic scale."""

    title: str  # of the vertical axis
    lines: tuple[Line, ...]
    along: str = "time [s]"
    log: bool = False

    @property
    def deviation(self) -> float | None:
        """The largest distance of published points from the curve before them; None without such points."""
        pairs = [(curve, dots) for curve, dots in pairwise(self.lines) if dots.points and not curve.points]
        found = [np.abs(np.interp(dots.x, curve.x, curve.y) - dots.y).max() for curve, dots in pairs]
        return float(max(found)) if found else None


@dataclass(frozen=True)
class Frame:
    """A mechanism at one moment."""

    title: str
    strokes: tuple[Stroke, ...]


Picture = Sequence[Panel | Frame]


@dataclass(frozen=True)
class Note:
    """Why cells deviate, or what is to be known of a table or figure; `misprint` when the paper is wrong."""

    text: str
    rows: tuple[str, ...] = ()  # of the cells it explains; none: it is about the whole
    columns: tuple[str, ...] = ()  # none: every column of the rows
    misprint: bool = False

    def covers(self, row: str, column: str) -> bool:
        """Whether the note explains a cell."""
        return row in self.rows and (not self.columns or column in self.columns)


@dataclass(frozen=True)
class Table:
    """A numbered table, or a worked example with printed results: what is printed and what we find, row by row.

    >>> table = Table("2", "Norms", ("Maggi",), {"energy": ("6.05e-4",)}, {"energy": (6.0521e-4,)})
    >>> print(table)
    Table 2. Norms
    <BLANKLINE>
    quantity  of     printed  computed  deviation
    energy    Maggi  6.05e-4  6.05e-4   =
    """

    number: str
    caption: str
    columns: tuple[str, ...]
    printed: Mapping[str, tuple[str, ...]]
    computed: Mapping[str, tuple[Entry, ...]]
    notes: tuple[Note, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is called."""
        return labelled("Table", self.number)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Printed and computed entries side by side, row by row; where neither stands there is no cell."""
        return tuple(
            Cell(row, column, text, value, " ".join(k for k, note in lettered(self.notes) if note.covers(row, column)))
            for row, texts in self.printed.items()
            for column, text, value in zip(self.columns, texts, self.computed[row], strict=True)
            if text or value is not None
        )

    @property
    def unexplained(self) -> tuple[Cell, ...]:
        """The cells that deviate in a printed digit without a note that says why, or have no computed value."""
        return tuple(cell for cell in self.cells if not cell.explained)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "number": self.number,
            "caption": self.caption,
            "cells": [cell.to_dict() for cell in self.cells],
            "notes": _noted(self.notes),
            "commands": list(self.commands),
        }

    def __str__(self) -> str:
        from dalembert.papers import page

        return page.of_table(self)


@dataclass(frozen=True)
class Line:
    """A curve, or points where `points` is set: what is published stands as points on the curve before it."""

    label: str
    x: np.ndarray
    y: np.ndarray
    points: bool = False


@dataclass(frozen=True)
class Stroke:
    """Part of a mechanism: a line through points (k, 2) or (k, 3); a filled body where it is closed."""

    points: np.ndarray
    closed: bool = False
    colour: int = 0  # which of the colours
    joint: bool = False  # its ends are drawn as joints
    label: str = ""
    thin: bool = False  # an axis, the ground or a path


def word(place: np.ndarray, text: str) -> Stroke:
    """A name at a point."""
    return Stroke(np.array([place, place]), thin=True, label=text)


@dataclass(frozen=True)
class Figure:
    """A numbered figure: curves, the frames of a motion, or frames above curves."""

    number: str
    caption: str
    panels: tuple[Panel, ...] = ()
    frames: tuple[Frame, ...] = ()
    notes: tuple[Note, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is called."""
        return labelled("Figure", self.number)

    @property
    def deviation_text(self) -> str:
        """How far published points are from the curves, in words; empty without such points."""
        found = [(panel.title, panel.deviation) for panel in self.panels if panel.deviation is not None]
        if not found:
            return ""
        return f"Largest distance of the published points: {', '.join(f'{title} {gap:.1e}' for title, gap in found)}."

    def draw(self) -> Drawing:
        """The figure by matplotlib."""
        from dalembert.papers import drawing

        return drawing.of_figure(self)

    def to_dict(self) -> dict[str, Any]:
        """What the figure shows, as plain data without its points."""
        return {
            "number": self.number,
            "caption": self.caption,
            "panels": [{"axis": panel.title, "deviation": panel.deviation} for panel in self.panels],
            "frames": [frame.title for frame in self.frames],
            "notes": _noted(self.notes),
            "commands": list(self.commands),
        }


@dataclass(frozen=True)
class Paper:
    """A paper computed again: all that was asked of its tables and figures."""

    name: str
    title: str
    source: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    claims: tuple[Claim, ...] = ()

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def table(self, number: str | int) -> Table:
        """The table of that number."""
        return _numbered(self.tables, str(number), "table", self.name)

    def figure(self, number: str | int) -> Figure:
        """The figure of that number."""
        return _numbered(self.figures, str(number), "figure", self.name)

    @property
    def unexplained(self) -> tuple[Cell, ...]:
        """The cells that deviate in a printed digit without a note that says why."""
        return tuple(cell for table in self.tables for cell in table.unexplained)

    @property
    def misprints(self) -> tuple[Note, ...]:
        """The notes that say the paper is wrong."""
        noted = [*self.tables, *self.figures]
        return tuple(dict.fromkeys(note for each in noted for note in each.notes if note.misprint))

    def to_dict(self) -> dict[str, Any]:
        """The paper as plain data."""
        return {
            "paper": self.name,
            "title": self.title,
            "source": self.source,
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "unexplained": [cell.to_dict() for cell in self.unexplained],
            "remarks": list(self.remarks),
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write the figures and a page that needs no other file; each appears only when it is complete."""
        from dalembert.papers import page

        return page.write_paper(self, Path(folder))

    def __str__(self) -> str:
        from dalembert.papers import page

        return page.of_paper(self)

    def _repr_html_(self) -> str:
        from dalembert.papers import page

        return page.body(self, page.pictures(self))


Numbered = TypeVar("Numbered", Table, Figure)


def labelled(kind: str, number: str) -> str:
    """What a table or figure is called: by its kind and number, or by its own name.

    >>> labelled("Table", "2"), labelled("Table", "Example 1")
    ('Table 2', 'Example 1')
    """
    return f"{kind} {number}" if number[0].isdigit() else number


def lettered(notes: Sequence[Note]) -> list[tuple[str, Note]]:
    """The notes with the letters that cells refer to; those about the whole have none."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return [(next(letters) if note.rows else "", note) for note in notes]


def _noted(notes: Sequence[Note]) -> list[dict[str, Any]]:
    return [{"mark": letter, "text": note.text, "misprint": note.misprint} for letter, note in lettered(notes)]


def _numbered(all_of: Sequence[Numbered], number: str, kind: str, name: str) -> Numbered:
    for each in all_of:
        if each.number == number:
            return each
    known = [each.number for each in all_of]
    raise InputError(f"paper '{name}' has no {kind} '{number}' here. {nearest(number, known)}")


@dataclass(frozen=True)
class Recipe:
    """How a paper is computed again: what fills its tables and figures, by their numbers.

    The functions of one recipe share the runs they need; a recipe is made for one paper and thrown away.
    """

    tables: Mapping[str, Callable[[], Computed]]
    figures: Mapping[str, Callable[[], Picture]] = field(default_factory=dict)
    claims: Mapping[str, Callable[[], Finding]] = field(default_factory=dict)


@dataclass(frozen=True)
class PrintedTable:
    """A table as it is printed."""

    caption: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]
    notes: tuple[Note, ...]
    commands: tuple[str, ...]

    def filled(self, number: str, computed: Computed) -> Table:
        """The table with what was computed beside what is printed."""
        found = {row: tuple(computed[row]) for row in self.rows}
        return Table(number, self.caption, self.columns, self.rows, found, self.notes, self.commands)


@dataclass(frozen=True)
class PrintedFigure:
    """A figure as the paper announces it."""

    caption: str
    notes: tuple[Note, ...]
    commands: tuple[str, ...]

    def filled(self, number: str, picture: Picture) -> Figure:
        """The figure with what was computed."""
        panels = tuple(each for each in picture if isinstance(each, Panel))
        frames = tuple(each for each in picture if isinstance(each, Frame))
        return Figure(number, self.caption, panels, frames, self.notes, self.commands)


@dataclass(frozen=True)
class PrintedClaim:
    """A claim as the paper makes it, and where."""

    text: str
    place: str

    def judged(self, key: str, finding: Finding) -> Claim:
        """The claim with what was measured."""
        return Claim(key, self.text, self.place, finding)


@dataclass(frozen=True)
class Printed:
    """A paper as it is printed."""

    title: str
    source: str
    tables: Mapping[str, PrintedTable]
    figures: Mapping[str, PrintedFigure]
    remarks: tuple[str, ...]
    claims: Mapping[str, PrintedClaim]


@cache
def printed(name: str) -> Printed:
    """What is printed in a paper.

    >>> printed("volterra").tables["2"].rows["Norm of energy error"][0]
    '6.05e-4'
    """
    data = tomllib.loads(files("dalembert.papers").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    tables = {number: _table(each) for number, each in data.get("tables", {}).items()}
    figures = {
        number: PrintedFigure(each["caption"], _notes(each), tuple(each.get("commands", ())))
        for number, each in data.get("figures", {}).items()
    }
    claims = {key: PrintedClaim(each["text"], each["place"]) for key, each in data.get("claims", {}).items()}
    return Printed(data["title"], data["source"], tables, figures, tuple(data.get("remarks", ())), claims)


def filled(name: str, number: str, rows: Iterable[Sequence[Entry]]) -> Computed:
    """What was computed for a table, in the order of its printed rows."""
    return dict(zip(printed(name).tables[number].rows, rows, strict=True))


@cache
def published(name: str) -> dict[str, Any]:
    """Data the authors published beside a paper, from its JSON file."""
    return json.loads(files("dalembert.papers").joinpath(f"{name}_runs.json").read_text(encoding="utf-8"))


def _table(data: Mapping[str, Any]) -> PrintedTable:
    rows = {name: tuple(texts) for name, texts in data["rows"].items()}
    return PrintedTable(data["caption"], tuple(data["columns"]), rows, _notes(data), tuple(data.get("commands", ())))


def _notes(data: Mapping[str, Any]) -> tuple[Note, ...]:
    return tuple(
        Note(each["text"], tuple(each.get("rows", ())), tuple(each.get("columns", ())), each.get("misprint", False))
        for each in data.get("notes", ())
    )


class Finding(NamedTuple):
    """Whether a claim was reproduced, and the numbers that decide it."""

    reproduced: bool
    measured: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper with its verdict."""

    key: str
    text: str  # as the paper says it, shortened
    place: str  # in the paper
    finding: Finding

    @property
    def verdict(self) -> str:
        """`reproduced` or `not reproduced`."""
        return "reproduced" if self.finding.reproduced else "not reproduced"

    def to_dict(self) -> dict[str, Any]:
        """The claim as plain data."""
        return {
            "claim": self.text,
            "place": self.place,
            "measured": self.finding.measured,
            "reproduced": self.finding.reproduced,
        }


def smallest(
    key: str,
    measured: Mapping[str, Mapping[str, float | None]],
    *,
    ties: bool = False,
    floor: float = 0.0,
    margin: float = 0.0,
) -> Finding:
    """Whether one method has a smaller number than all others in every case; `measured` is by case and method.

    With `ties` equal numbers do; those up to `floor` count as equal, since they are rounding. The number has to be smaller by
    `margin`, relative to the next one: what the measurement scatters.

    >>> smallest("b", {"one": {"a": 3, "b": 2}, "two": {"a": 1, "b": 2}})
    Finding(reproduced=False, measured='one: b 2, a 3. two: a 1, b 2.')
    """

    def holds(found: Mapping[str, float]) -> bool:
        own, next_one = found[key], min(value for name, value in found.items() if name != key)
        return own < (1 - margin) * next_one or (ties and own == next_one) or max(own, next_one) <= floor

    def text(value: float) -> str:
        return str(value) if isinstance(value, int) else f"{value:.3g}"

    known = {case: [(name, x) for name, x in found.items() if x is not None] for case, found in measured.items()}
    cases = {case: dict(sorted(found, key=lambda item: item[1])) for case, found in known.items()}
    texts = [f"{case}: {', '.join(f'{name} {text(x)}' for name, x in of.items())}." for case, of in cases.items()]
    texts += [f"Up to {floor:.0e} is rounding."] if floor else []
    texts += [f"Differences below {100 * margin:g} % are scatter."] if margin else []
    return Finding(all(map(holds, cases.values())), " ".join(texts))
