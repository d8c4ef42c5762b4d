"""Data classes of a reproduced paper: tables, figures, claims and notes."""

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

from dalembert.arguments import documented_class
from dalembert.errors import InputError, suggest_name
from dalembert.papers.table_cells import Cell, Entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


Computed = Mapping[str, Sequence[Entry]]  # the entries of each row, by its name


@dataclass(frozen=True)
class FigurePanel:
    """One pair of axes; `log` selects a logarithmic scale."""

    title: str  # label of the vertical axis
    lines: tuple[PrintedLine, ...]
    along: str = "time [s]"
    log: bool = False

    @property
    def deviation(self) -> float | None:
        """The largest distance of published points from the preceding curve; None without such points."""
        pairs = [(curve, dots) for curve, dots in pairwise(self.lines) if dots.points and not curve.points]
        found = [np.abs(np.interp(dots.x, curve.x, curve.y) - dots.y).max() for curve, dots in pairs]
        return float(max(found)) if found else None


@dataclass(frozen=True)
class MechanismSnapshot:
    """Snapshot of a mechanism."""

    title: str
    strokes: tuple[Stroke, ...]


Picture = Sequence[FigurePanel | MechanismSnapshot]


@dataclass(frozen=True)
class Note:
    """Reason for deviations, or a remark on a table or figure; `misprint` if the paper is wrong."""

    text: str
    rows: tuple[str, ...] = ()  # of the cells it explains; empty: a general remark
    columns: tuple[str, ...] = ()  # empty: every column of the rows
    misprint: bool = False

    def covers(self, row: str, column: str) -> bool:
        """Return True if the note explains a cell."""
        return row in self.rows and (not self.columns or column in self.columns)


@dataclass(frozen=True)
class ComparedTable:
    """A numbered table, or a worked example with printed results: printed and computed entries, row by row.

    >>> table = ComparedTable("2", "Norms", ("Maggi",), {"energy": ("6.05e-4",)}, {"energy": (6.0521e-4,)})
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
        """Title with its number."""
        return title_of("Table", self.number)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of printed and computed entries, row by row; empty pairs are omitted."""
        return tuple(
            Cell(
                row,
                column,
                text,
                value,
                " ".join(k for k, note in notes_with_letters(self.notes) if note.covers(row, column)),
            )
            for row, strings in self.printed.items()
            for column, text, value in zip(self.columns, strings, self.computed[row], strict=True)
            if text or value is not None
        )

    @property
    def unexplained(self) -> tuple[Cell, ...]:
        """Cells that deviate in a printed digit without an explaining note, or have no computed value."""
        return tuple(cell for cell in self.cells if not cell.explained)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a JSON-compatible dict."""
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
class PrintedLine:
    """A curve, or points if `points` is True: published values are points that belong to the preceding curve."""

    label: str
    x: np.ndarray
    y: np.ndarray
    points: bool = False


@dataclass(frozen=True)
class Stroke:
    """Part of a mechanism: a line through points (k, 2) or (k, 3); a filled polygon if closed."""

    points: np.ndarray
    closed: bool = False
    color: int = 0  # index of the color
    joint: bool = False  # its ends are drawn as joints
    label: str = ""
    thin: bool = False  # an axis, the ground or a path


def text_label(point: np.ndarray, text: str) -> Stroke:
    """Return a text label at a point."""
    return Stroke(np.array([point, point]), thin=True, label=text)


@dataclass(frozen=True)
class Figure:
    """A numbered figure: curves, the frames of a motion, or frames above curves."""

    number: str
    caption: str
    panels: tuple[FigurePanel, ...] = ()
    frames: tuple[MechanismSnapshot, ...] = ()
    notes: tuple[Note, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Title with its number."""
        return title_of("Figure", self.number)

    @property
    def deviation_text(self) -> str:
        """Sentence with the distances of published points from the curves; empty without such points."""
        found = [(panel.title, panel.deviation) for panel in self.panels if panel.deviation is not None]
        if not found:
            return ""
        return f"Largest distance of the published points: {', '.join(f'{title} {gap:.1e}' for title, gap in found)}."

    def draw(self) -> Drawing:
        """Draw the figure with matplotlib."""
        from dalembert.papers import page

        return page.draw_figure(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as a JSON-compatible dict, without its points."""
        return {
            "number": self.number,
            "caption": self.caption,
            "panels": [{"axis": panel.title, "deviation": panel.deviation} for panel in self.panels],
            "frames": [frame.title for frame in self.frames],
            "notes": _noted(self.notes),
            "commands": list(self.commands),
        }


@documented_class
@dataclass(frozen=True)
class Paper:
    """A reproduced paper, the result of `paper`: the requested tables, figures and claims.

    Attributes
    ----------
    name : str
        The key of the paper, such as 'volterra'.
    title : str
        Title of the paper.
    source : str
        Bibliographic reference.
    tables : tuple of ComparedTable
        Tables with printed and computed values.
    figures : tuple of Figure
        Figures with computed curves.
    remarks : tuple of str
        General remarks on the reproduction.
    claims : tuple of Claim
        Claims of the paper with verdicts.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.paper("volterra", tables=["4"])
    >>> len(found.tables), len(found.table(4).cells), found.unexplained
    (1, 10, ())
    """

    name: str
    title: str
    source: str
    tables: tuple[ComparedTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    claims: tuple[Claim, ...] = ()

    def __iter__(self) -> Iterator[ComparedTable]:
        return iter(self.tables)

    def table(self, number: str | int) -> ComparedTable:
        """Return a table by its number.

        Parameters
        ----------
        number : str or int
            The number of the table in the paper.

        Returns
        -------
        ComparedTable
            Printed and computed values.
        """
        return _numbered(self.tables, str(number), "table", self.name)

    def figure(self, number: str | int) -> Figure:
        """Return a figure by its number.

        Parameters
        ----------
        number : str or int
            The number of the figure in the paper.

        Returns
        -------
        Figure
            Curves, snapshots and notes.
        """
        return _numbered(self.figures, str(number), "figure", self.name)

    @property
    def unexplained(self) -> tuple[Cell, ...]:
        """Cells of all tables that deviate in a printed digit without an explaining note."""
        return tuple(cell for table in self.tables for cell in table.unexplained)

    @property
    def misprints(self) -> tuple[Note, ...]:
        """Notes on misprints in the paper."""
        noted = [*self.tables, *self.figures]
        return tuple(dict.fromkeys(note for each in noted for note in each.notes if note.misprint))

    def to_dict(self) -> dict[str, Any]:
        """Return the paper as a JSON-compatible dict."""
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
        """Write the figures and a self-contained HTML page to a folder.

        Files are replaced atomically.

        Parameters
        ----------
        folder : str or Path
            The folder; it is created if necessary.

        Returns
        -------
        list of Path
            The written files.
        """
        from dalembert.papers import page

        return page.write_paper(self, Path(folder))

    def __str__(self) -> str:
        from dalembert.papers import page

        return page.of_paper(self)

    def _repr_html_(self) -> str:
        from dalembert.papers import page

        return page.body(self, page.pictures(self))


Numbered = TypeVar("Numbered", ComparedTable, Figure)


def title_of(kind: str, number: str) -> str:
    """Return the title of a table or figure: kind and number, or its own name.

    >>> title_of("Table", "2"), title_of("Table", "Example 1")
    ('Table 2', 'Example 1')
    """
    return f"{kind} {number}" if number[0].isdigit() else number


def notes_with_letters(notes: Sequence[Note]) -> list[tuple[str, Note]]:
    """Return the notes with the letters that cells refer to; general remarks have none."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return [(next(letters) if note.rows else "", note) for note in notes]


def _noted(notes: Sequence[Note]) -> list[dict[str, Any]]:
    return [
        {"mark": letter, "text": note.text, "misprint": note.misprint} for letter, note in notes_with_letters(notes)
    ]


def _numbered(all_of: Sequence[Numbered], number: str, kind: str, name: str) -> Numbered:
    for each in all_of:
        if each.number == number:
            return each
    known = [each.number for each in all_of]
    raise InputError(f"paper '{name}' has no {kind} '{number}' here. {suggest_name(number, known)}")


@dataclass(frozen=True)
class Recipe:
    """Functions that compute the tables, figures and claims of a paper, by their numbers.

    The functions of one recipe share their runs; a recipe is created for one reproduction and then discarded.
    """

    tables: Mapping[str, Callable[[], Computed]]
    figures: Mapping[str, Callable[[], Picture]] = field(default_factory=dict)
    claims: Mapping[str, Callable[[], ClaimResult]] = field(default_factory=dict)


@dataclass(frozen=True)
class PrintedTable:
    """A table as printed."""

    caption: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]
    notes: tuple[Note, ...]
    commands: tuple[str, ...]

    def with_computed(self, number: str, computed: Computed) -> ComparedTable:
        """Return the table with the computed entries."""
        found = {row: tuple(computed[row]) for row in self.rows}
        return ComparedTable(number, self.caption, self.columns, self.rows, found, self.notes, self.commands)


@dataclass(frozen=True)
class PrintedFigure:
    """Caption and notes of a figure."""

    caption: str
    notes: tuple[Note, ...]
    commands: tuple[str, ...]

    def with_computed(self, number: str, picture: Picture) -> Figure:
        """Return the figure with the computed curves and frames."""
        panels = tuple(each for each in picture if isinstance(each, FigurePanel))
        frames = tuple(each for each in picture if isinstance(each, MechanismSnapshot))
        return Figure(number, self.caption, panels, frames, self.notes, self.commands)


@dataclass(frozen=True)
class PrintedClaim:
    """A claim of the paper and its position in it."""

    text: str
    location: str

    def with_finding(self, key: str, finding: ClaimResult) -> Claim:
        """Return the claim with the measured values."""
        return Claim(key, self.text, self.location, finding)


@dataclass(frozen=True)
class Printed:
    """A paper as printed."""

    title: str
    source: str
    tables: Mapping[str, PrintedTable]
    figures: Mapping[str, PrintedFigure]
    remarks: tuple[str, ...]
    claims: Mapping[str, PrintedClaim]


@cache
def printed(name: str) -> Printed:
    """Return the printed values of a paper.

    >>> printed("volterra").tables["2"].rows["Norm of energy error"][0]
    '6.05e-4'
    """
    data = tomllib.loads(files("dalembert.papers").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    tables = {number: _table(each) for number, each in data.get("tables", {}).items()}
    figures = {
        number: PrintedFigure(each["caption"], _notes(each), tuple(each.get("commands", ())))
        for number, each in data.get("figures", {}).items()
    }
    claims = {key: PrintedClaim(each["text"], each["location"]) for key, each in data.get("claims", {}).items()}
    return Printed(data["title"], data["source"], tables, figures, tuple(data.get("remarks", ())), claims)


def keyed_rows(name: str, number: str, rows: Iterable[Sequence[Entry]]) -> Computed:
    """Return the computed entries of a table, keyed by its printed rows in order."""
    return dict(zip(printed(name).tables[number].rows, rows, strict=True))


@cache
def published(name: str) -> dict[str, Any]:
    """Return data that the authors published with a paper, from its JSON file."""
    return json.loads(files("dalembert.papers").joinpath(f"{name}_runs.json").read_text(encoding="utf-8"))


def _table(data: Mapping[str, Any]) -> PrintedTable:
    rows = {name: tuple(strings) for name, strings in data["rows"].items()}
    return PrintedTable(data["caption"], tuple(data["columns"]), rows, _notes(data), tuple(data.get("commands", ())))


def _notes(data: Mapping[str, Any]) -> tuple[Note, ...]:
    return tuple(
        Note(each["text"], tuple(each.get("rows", ())), tuple(each.get("columns", ())), each.get("misprint", False))
        for each in data.get("notes", ())
    )


class ClaimResult(NamedTuple):
    """Whether a claim was reproduced, and the numbers that decide it."""

    reproduced: bool
    measured: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper with its verdict."""

    key: str
    text: str  # from the paper, shortened
    location: str  # section or table in the paper
    finding: ClaimResult

    @property
    def verdict(self) -> str:
        """`reproduced` or `not reproduced`."""
        return "reproduced" if self.finding.reproduced else "not reproduced"

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as a JSON-compatible dict."""
        return {
            "claim": self.text,
            "location": self.location,
            "measured": self.finding.measured,
            "reproduced": self.finding.reproduced,
        }


def check_smallest(
    key: str,
    measured: Mapping[str, Mapping[str, float | None]],
    *,
    ties: bool = False,
    floor: float = 0.0,
    margin: float = 0.0,
) -> ClaimResult:
    """Check that one method has the smallest number in every case; `measured` is by case and method.

    With `ties` equal numbers are accepted; numbers up to `floor` are rounding and count as equal. The number must be smaller than
    the next one by the relative `margin`, the scatter of the measurement.

    >>> check_smallest("b", {"one": {"a": 3, "b": 2}, "two": {"a": 1, "b": 2}})
    Finding(reproduced=False, measured='one: b 2, a 3. two: a 1, b 2.')
    """

    def holds(found: Mapping[str, float]) -> bool:
        own, other = found[key], min(value for name, value in found.items() if name != key)
        return own < (1 - margin) * other or (ties and own == other) or max(own, other) <= floor

    def text(value: float) -> str:
        return str(value) if isinstance(value, int) else f"{value:.3g}"

    known = {case: [(name, x) for name, x in found.items() if x is not None] for case, found in measured.items()}
    cases = {case: dict(sorted(found, key=lambda item: item[1])) for case, found in known.items()}
    strings = [f"{case}: {', '.join(f'{name} {text(x)}' for name, x in of.items())}." for case, of in cases.items()]
    strings += [f"Up to {floor:.0e} is rounding."] if floor else []
    strings += [f"Differences below {100 * margin:g} % are scatter."] if margin else []
    return ClaimResult(all(map(holds, cases.values())), " ".join(strings))
