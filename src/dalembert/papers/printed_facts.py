"""What is printed: the tables and captions of a paper, kept in a file beside its recipe, with their source.

    title = "..."
    source = "..."

    [tables.2]
    caption = "..."
    columns = ["Lagrange", "Maggi"]
    commands = ["dalembert compare ..."]
    rows = { "Norm of energy error" = ["6.05e-4", "6.05e-4"] }

    [[tables.2.notes]]
    rows = ["Norm of energy error"]
    columns = ["Lagrange"]      # all where it is left out
    misprint = true             # the paper is wrong
    text = "..."

    [figures.2]
    caption = "..."

    [claims.fewest-equations]   # what the paper says of its method; the recipe measures it
    text = "..."
    place = "abstract"

Numbers are texts, with the digits that are printed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from dalembert.papers.claims import Claim, Finding
from dalembert.papers.printed_values import Figure, Frame, Note, Panel, Table
from dalembert.papers.tables_of_cells import Entry

Computed = Mapping[str, Sequence[Entry]]  # the entries of each row, by its name
Picture = Sequence[Panel | Frame]


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
    figures = {number: _figure(each) for number, each in data.get("figures", {}).items()}
    claims = {key: PrintedClaim(each["text"], each["place"]) for key, each in data.get("claims", {}).items()}
    return Printed(data["title"], data["source"], tables, figures, tuple(data.get("remarks", ())), claims)


@cache
def published(name: str) -> dict[str, Any]:
    """Data the authors published beside a paper, from its JSON file."""
    return json.loads(files("dalembert.papers").joinpath(f"{name}_runs.json").read_text(encoding="utf-8"))


def _table(data: Mapping[str, Any]) -> PrintedTable:
    rows = {name: tuple(texts) for name, texts in data["rows"].items()}
    return PrintedTable(data["caption"], tuple(data["columns"]), rows, _notes(data), tuple(data.get("commands", ())))


def _figure(data: Mapping[str, Any]) -> PrintedFigure:
    return PrintedFigure(data["caption"], _notes(data), tuple(data.get("commands", ())))


def _notes(data: Mapping[str, Any]) -> tuple[Note, ...]:
    return tuple(
        Note(each["text"], tuple(each.get("rows", ())), tuple(each.get("columns", ())), each.get("misprint", False))
        for each in data.get("notes", ())
    )
