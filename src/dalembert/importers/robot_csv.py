"""Robots from Denavit–Hartenberg tables in CSV: one line for each link, under a header that names the columns.

Lines that begin with # are settings (`# convention = mdh`) or remarks. `docs/robot-tables.md` is the reference.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import InputError, Problem, nearest
from dalembert.expressions import parse
from dalembert.importers.dh import from_links
from dalembert.importers.source import MAX_BYTES, failure, read_text
from dalembert.importers.tables import CONVENTIONS, UNITS
from dalembert.importers.toml import problems_failure
from dalembert.model import WORLD, Model
from dalembert.model.keys import MAX_ELEMENTS, MAX_NAME, quote

NUMBERS = ("theta", "d", "a", "alpha", "mass", "cx", "cy", "cz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
DRIVES = ("motor_inertia", "gear_ratio", "viscous", "coulomb", "lower", "upper")
COLUMNS = ("name", "type", "parent", *NUMBERS, *DRIVES)
SETTINGS = ("convention", "name", "description", "gravity", "unit")
KIND_OF = {"r": "revolute", "p": "prismatic", "f": "fixed"}
_REQUIRED = ("theta", "d", "a", "alpha")
_BY_CASE = {column.lower(): column for column in COLUMNS} | {"joint": "name", "link": "name"}
_SETTING = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)


def read_csv(path: str | Path) -> Model:
    """The robot described by a CSV file; its name is that of the file unless the file says another.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_csv("no-such-place/arm.csv")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return loads_csv(read_text(path), str(path), Path(path).stem)


def loads_csv(text: str, source: str = "<text>", name: str = "robot") -> Model:
    """The robot described by a text in CSV; `source` is what messages call it.

    >>> loads_csv('''
    ... # convention = dh
    ... # gravity = 0 -9.81 0
    ... name,  type, theta, d, a,   alpha, mass, cx
    ... upper, R,    0,     0, 0.4, 0,     1,    -0.2
    ... lower, R,    0,     0, 0.4, 0,     1,    -0.2
    ... ''')
    <Model 'robot': 2 bodies, 2 coordinates, 0 constraints>
    """
    if len(text) > MAX_BYTES:
        raise failure(
            source, f"the text is larger than {MAX_BYTES} characters.", "Split the system into several models."
        )
    table = _Table(source, [])
    data = table.read(text, name)
    if table.found:
        raise problems_failure(source, table.found)
    return from_links(data, source)


@dataclass
class _Table:
    """Reads the lines of one file and keeps the problems of each."""

    source: str
    found: list[Problem]

    def note(self, line: int, column: str, fact: str, advice: str) -> None:
        self.found.append(Problem(f"line {line}{f', column {quote(column)}' if column else ''}", fact, advice))

    def read(self, text: str, name: str) -> dict[str, Any]:
        """The same tables that a file in TOML has."""
        data: dict[str, Any] = {"name": name}
        columns: list[str] | None = None
        links: list[tuple[int, dict[str, Any]]] = []
        for line, content in enumerate(text.splitlines(), start=1):
            if content.lstrip().startswith("#"):
                self._setting(line, content.lstrip().lstrip("#"), data)
            elif content.strip(" \t,"):
                cells = self._cells(line, content)
                if columns is None:
                    columns = self._header(line, cells)
                    if self.found:
                        raise problems_failure(self.source, self.found)
                elif len(links) == MAX_ELEMENTS:
                    raise failure(
                        f"{self.source}, line {line}", "there are too many links.", f"Expected {MAX_ELEMENTS}."
                    )
                else:
                    links.append((line, self._link(line, columns, cells)))
        self._names(links)
        if columns is None:
            advice = "Expected a line with the names of the columns, and one line for each link."
            raise failure(self.source, "there is no table in it.", advice)
        if not links:
            raise failure(self.source, "there are no links below the header.", "Add one line for each link.")
        if "convention" not in data and not any("convention" in problem.path for problem in self.found):
            advice = "Add a line '# convention = dh' (standard) or '# convention = mdh' (modified) at the top."
            self.found.insert(0, Problem("file", "the convention is not told.", advice))
        return {**data, "link": [link for _, link in links]}

    def _names(self, links: list[tuple[int, dict[str, Any]]]) -> None:
        """Names are there once, and parents exist."""
        known: dict[str, int] = {}
        for line, link in links:
            name = link.get("name", "")
            if name in known:
                self.note(
                    line, "name", f"line {known[name]} has a link {quote(name)} already.", "Give it another name."
                )
            elif name:
                known[name] = line
        for line, link in links:
            if link.get("parent", WORLD) not in (WORLD, *known):
                advice = nearest(link["parent"][:MAX_NAME], (WORLD, *known))
                self.note(line, "parent", f"there is no link {quote(link['parent'])}.", advice)

    def _cells(self, line: int, content: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader([content], strict=True, skipinitialspace=True))]
        except (csv.Error, StopIteration) as error:
            raise failure(f"{self.source}, line {line}", f"not valid CSV: {error}.", "Correct this line.") from error

    def _setting(self, line: int, content: str, data: dict[str, Any]) -> None:
        match = _SETTING.fullmatch(content)
        if match is None:
            return
        key, value = match.group(1).lower(), match.group(2).strip().strip("\"'")
        where = f"setting {key}"[:MAX_NAME]
        if key not in SETTINGS:
            self.note(line, "", f"there is no setting {quote(key)}.", nearest(key[:MAX_NAME], SETTINGS))
        elif key == "gravity":
            parts = value.strip("[]() ").replace(",", " ").split()
            if len(parts) != 3:
                self.note(line, "", f"gravity has {len(parts)} components.", "Expected 3, as in # gravity = 0 0 -9.81.")
            else:
                data[key] = [self._number(part, line, where) for part in parts]
        elif key in ("convention", "unit") and value.lower() not in (CONVENTIONS if key == "convention" else UNITS):
            known = CONVENTIONS if key == "convention" else UNITS
            self.found.append(
                Problem(f"line {line}, {key}", f"there is no {key} {quote(value)}.", f"Expected {' or '.join(known)}.")
            )
        else:
            data[key] = value.lower() if key in ("convention", "unit") else value

    def _header(self, line: int, cells: list[str]) -> list[str]:
        columns: list[str] = []
        for cell in cells:
            column = _BY_CASE.get(cell.lower())
            if column is None:
                seems = ";" in cell or "\t" in cell
                advice = "Separate the columns by commas." if seems else nearest(cell[:MAX_NAME], COLUMNS)
                self.note(line, cell, "there is no such column.", advice)
            elif column in columns:
                self.note(line, cell, "the column is there twice.", "Remove one of them.")
            columns.append(column or "")
        if "" not in columns:
            for column in ("name", *_REQUIRED):
                if column not in columns:
                    self.note(line, column, "the column is missing.", "Add it to the header and to every line.")
        return columns

    def _link(self, line: int, columns: list[str], cells: list[str]) -> dict[str, Any]:
        """One line as a table [[link]]; empty cells are left to their defaults."""
        if len(cells) != len(columns):
            advice = f"Expected {len(columns)}, as in the header."
            self.note(line, "", f"there are {len(cells)} cells.", advice)
            return {}
        given = {column: cell for column, cell in zip(columns, cells, strict=True) if column and cell}
        values: dict[str, Any] = {key: self._number(cell, line, key) for key, cell in given.items() if key in _NUMERIC}
        link: dict[str, Any] = {key: given[key] for key in ("name", "parent") if key in given}
        link |= {key: values[key] for key in ("theta", "d", "a", "alpha", "mass") if key in values}
        if "name" not in given:
            self.note(line, "name", "the link has no name.", "Give each link a name of its own.")
        if "type" in given:
            link["type"] = self._kind(given["type"], line)
        link["center"] = [values.get(key, 0) for key in ("cx", "cy", "cz")]
        link["inertia"] = [values.get(key, 0) for key in ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")]
        inner: tuple[tuple[str, dict[str, str]], ...] = (
            ("motor", {"motor_inertia": "inertia", "gear_ratio": "ratio"}),
            ("friction", {"viscous": "viscous", "coulomb": "coulomb"}),
            ("limits", {"lower": "lower", "upper": "upper"}),
        )
        for key, names in inner:
            part = {to: values[column] for column, to in names.items() if column in values}
            if part:
                link[key] = part
        if "gear_ratio" in values and "motor_inertia" not in values:
            link["motor"]["inertia"] = 0
        return link

    def _kind(self, cell: str, line: int) -> str:
        word = KIND_OF.get(cell.lower(), cell.lower())
        if word not in KIND_OF.values():
            advice = "Expected R or revolute, P or prismatic, F or fixed."
            self.note(line, "type", f"there is no joint of type {quote(cell)}.", advice)
            return "fixed"
        return word

    def _number(self, cell: str, line: int, column: str) -> float:
        """A number, or a formula of numbers and pi."""
        try:
            return _finite(float, cell)
        except ValueError:
            pass
        try:
            formula = parse(cell, coordinates=(), parameters=(), where="cell", rates=False, time=False)
            return _finite(float, formula)
        except (InputError, ValueError, TypeError, RuntimeError):
            advice = "Expected a finite number, or a formula of numbers and pi, such as -pi/2."
            self.note(line, column, f"got {quote(cell)}.", advice)
            return 0.0


_NUMERIC = (*NUMBERS, *DRIVES)


def _finite(read: Callable[[Any], float], given: Any) -> float:
    number = read(given)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number
