"""Robots from Denavit–Hartenberg tables in CSV: one line for each link, under a header that names the columns.

Lines that begin with # are settings (`# convention = mdh`) or remarks. `docs/robot-tables.md` is the reference.
"""

from __future__ import annotations

import csv
import math
import re
from contextlib import suppress
from pathlib import Path

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.io.robot_rows import CONVENTIONS, UNITS, from_links
from dalembert.io.toml_reader import ProblemList, Table, TooManyProblems, failure, read_text, require_short
from dalembert.model.keys import MAX_ELEMENTS, quote
from dalembert.model.model import Model
from dalembert.model.values import MAX_NAME, WORLD
from dalembert.symbolic.parser import parse

TEXTS = ("name", "type", "parent")
STEP = ("theta", "d", "a", "alpha")
CENTER = ("cx", "cy", "cz")
INERTIA = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
# the columns that form a nested table of a link: its keys by column name
INNER = {
    "motor": {"motor_inertia": "inertia", "gear_ratio": "ratio"},
    "friction": {"viscous": "viscous", "coulomb": "coulomb"},
    "limits": {"lower": "lower", "upper": "upper"},
}
COLUMNS = (*TEXTS, *STEP, "mass", *CENTER, *INERTIA, *(column for names in INNER.values() for column in names))
SETTINGS = ("convention", "name", "description", "gravity", "unit")
_WORDS = {"convention": CONVENTIONS, "unit": UNITS}
KIND_OF = {"r": "revolute", "p": "prismatic", "f": "fixed"}
_BY_CASE = {column.lower(): column for column in COLUMNS} | {"joint": "name", "link": "name"}
_SETTING = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)


def read_csv(path: str | Path) -> Model:
    """Read a robot from a CSV file; its name is the file name unless the file sets another."""
    return loads_csv(read_text(path), str(path), Path(path).stem)


def loads_csv(content: str, source: str = "<text>", name: str = "robot") -> Model:
    """Read a robot from a CSV string; `source` is its name in messages.

    >>> loads_csv('''
    ... # convention = dh
    ... # gravity = 0 -9.81 0
    ... name,  type, theta, d, a,   alpha, mass, cx
    ... upper, R,    0,     0, 0.4, 0,     1,    -0.2
    ... lower, R,    0,     0, 0.4, 0,     1,    -0.2
    ... ''')
    <Model 'robot': 2 bodies, 2 coordinates, 0 constraints>
    """
    require_short(len(content), source)
    table, data = _Reader(source), Table()
    with suppress(TooManyProblems):
        data = table.read(content, name)
    table.require_sound()
    return from_links(data, source)


class _Reader(ProblemList):
    """Reads the lines of one file and collects their problems."""

    def wrong(self, line: int, column: str, fact: str, advice: str) -> None:
        self.note([Problem(f"line {line}{f', column {quote(column)}' if column else ''}", fact, advice)])

    def read(self, content: str, name: str) -> Table:
        """The same tables as from a TOML file."""
        data: Table = {"name": name}
        columns: list[str] | None = None
        links: list[tuple[int, Table]] = []
        for line, row in enumerate(content.splitlines(), start=1):
            if row.lstrip().startswith("#"):
                self._setting(line, row.lstrip().lstrip("#"), data)
            elif row.strip(" \t,"):
                cells = self._cells(line, row)
                if columns is None:
                    columns = self._header(line, cells)
                    self.require_sound()
                elif len(links) == MAX_ELEMENTS:
                    where, advice = f"{self.source}, line {line}", f"Expected at most {MAX_ELEMENTS}."
                    raise failure(where, "too many links.", advice)
                else:
                    links.append((line, self._link(line, columns, cells)))
        self._names(links)
        if columns is None:
            advice = "Expected a header line with the column names, and one line for each link."
            raise failure(self.source, "the file contains no table.", advice)
        if not links:
            raise failure(self.source, "there are no links below the header.", "Add one line for each link.")
        if "convention" not in data and not any("convention" in problem.path for problem in self.found):
            advice = "Add a line '# convention = dh' (standard) or '# convention = mdh' (modified) at the top."
            self.found.insert(0, Problem("file", "the setting 'convention' is missing.", advice))
        return {**data, "link": [link for _, link in links]}

    def _names(self, links: list[tuple[int, Table]]) -> None:
        """Check that names are unique and parents exist."""
        known: dict[str, int] = {}
        for line, link in links:
            name = link.get("name", "")
            if name in known:
                fact = f"the name {quote(name)} is already used in line {known[name]}."
                self.wrong(line, "name", fact, "Use unique link names.")
            elif name:
                known[name] = line
        for line, link in links:
            if link.get("parent", WORLD) not in (WORLD, *known):
                advice = suggest_name(link["parent"][:MAX_NAME], (WORLD, *known))
                self.wrong(line, "parent", f"there is no link {quote(link['parent'])}.", advice)

    def _cells(self, line: int, content: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader([content], strict=True, skipinitialspace=True))]
        except (csv.Error, StopIteration) as error:
            raise failure(f"{self.source}, line {line}", f"not valid CSV: {error}.", "Correct this line.") from error

    def _setting(self, line: int, content: str, data: Table) -> None:
        match = _SETTING.fullmatch(content)
        if match is None:
            return
        key, value = match.group(1).lower(), match.group(2).strip().strip("\"'")
        where = f"setting {key}"[:MAX_NAME]
        if key not in SETTINGS:
            self.wrong(line, "", f"there is no setting {quote(key)}.", suggest_name(key[:MAX_NAME], SETTINGS))
        elif key == "gravity":
            parts = value.strip("[]() ").replace(",", " ").split()
            if len(parts) != 3:
                advice = "Expected 3, as in # gravity = 0 0 -9.81."
                self.wrong(line, "", f"gravity has {len(parts)} components.", advice)
            else:
                data[key] = [self._number(part, line, where) for part in parts]
        elif (known := _WORDS.get(key)) and value.lower() not in known:
            fact = f"there is no {key} {quote(value)}."
            self.note([Problem(f"line {line}, {key}", fact, f"Expected {' or '.join(known)}.")])
        else:
            data[key] = value.lower() if key in _WORDS else value

    def _header(self, line: int, cells: list[str]) -> list[str]:
        columns: list[str] = []
        for cell in cells:
            column = _BY_CASE.get(cell.lower())
            if column is None:
                seems = ";" in cell or "\t" in cell
                advice = "Separate the columns by commas." if seems else suggest_name(cell[:MAX_NAME], COLUMNS)
                self.wrong(line, cell, "there is no such column.", advice)
            elif column in columns:
                self.wrong(line, cell, "duplicate column.", "Remove one of them.")
            columns.append(column or "")
        if "" not in columns:
            for column in ("name", *STEP):
                if column not in columns:
                    self.wrong(line, column, "the column is missing.", "Add it to the header and to every line.")
        return columns

    def _link(self, line: int, columns: list[str], cells: list[str]) -> Table:
        """One line as a table [[link]]; empty cells have default values."""
        if len(cells) != len(columns):
            advice = f"Expected {len(columns)}, as in the header."
            self.wrong(line, "", f"there are {len(cells)} cells.", advice)
            return {}
        filled = {column: cell for column, cell in zip(columns, cells, strict=True) if cell}
        values = {key: self._number(cell, line, key) for key, cell in filled.items() if key not in TEXTS}
        link: Table = {key: filled[key] for key in ("name", "parent") if key in filled}
        link |= {key: values[key] for key in (*STEP, "mass") if key in values}
        if "name" not in filled:
            self.wrong(line, "name", "the link has no name.", "Give each link a unique name.")
        if "type" in filled:
            link["type"] = self._kind(filled["type"], line)
        link["center"] = [values.get(key, 0) for key in CENTER]
        link["inertia"] = [values.get(key, 0) for key in INERTIA]
        for key, names in INNER.items():
            if part := {to: values[column] for column, to in names.items() if column in values}:
                link[key] = part
        if "motor" in link:
            link["motor"].setdefault("inertia", 0)
        return link

    def _kind(self, cell: str, line: int) -> str:
        word = KIND_OF.get(cell.lower(), cell.lower())
        if word not in KIND_OF.values():
            advice = "Expected R or revolute, P or prismatic, F or fixed."
            self.wrong(line, "type", f"there is no joint of type {quote(cell)}.", advice)
            return "fixed"
        return word

    def _number(self, cell: str, line: int, column: str) -> float:
        """A number, or a formula of numbers and pi."""
        with suppress(ValueError):
            if math.isfinite(number := float(cell)):
                return number
        with suppress(InputError, ValueError, TypeError, RuntimeError):
            number = float(parse(cell, coordinates=(), parameters=(), where="cell", rates=False, time=False))
            if math.isfinite(number):
                return number
        advice = "Expected a finite number, or a formula of numbers and pi, such as -pi/2."
        self.wrong(line, column, f"got {quote(cell)}.", advice)
        return 0.0
