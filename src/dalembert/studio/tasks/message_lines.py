"""Line numbers of messages about a model file.

TOML readers report no line numbers of values, so the source is scanned again: `places` returns the offset of every table, key
and entry. `spot` finds the place of a path such as "body 'rod', joint (revolute), angle".
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dalembert.errors import Problem
from dalembert.io import toml_reader
from dalembert.io.toml_reader import title
from dalembert.model import contacts, loads
from dalembert.model.keys import quote
from dalembert.studio.payload import Toml

Place = tuple[str | int, ...]  # keys and indices, from the top of the file
_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}|'
    + r"'''(?:[^']|'{1,2}(?!'))*'{3,5}|"
    + r'"(?:[^"\\\n]|\\.)*"|'
    + r"'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


def places(text: str) -> dict[Place, int]:
    """Return the offset of everything in a TOML source: tables at their headers, values at their keys.

    >>> text = 'name = "arm"\\n[[body]]\\nmass = 2\\njoint = { type = "fixed" }'
    >>> found = places(text)
    >>> text[found["body", 0] :][:8], text[found["body", 0, "joint", "type"] :][:4]
    ('[[body]]', 'type')
    """
    scanner = _Scanner(text)
    try:
        scanner.document()
    except (_SyntaxMismatch, RecursionError):
        return scanner.found  # what precedes the error
    return scanner.found


class _SyntaxMismatch(Exception):
    """The scanner cannot parse this source: it is not valid TOML."""


class _Scanner:
    """Scans a source once and records offsets."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Place, int] = {}
        self._counts: dict[Place, int] = {}  # of elements written as [[...]]

    def document(self) -> None:
        """Scan headers and keys to the end."""
        table: Place = ()
        self._take(_BLANK)
        while self.at < len(self.text):
            table = self._header() if self.text[self.at] == "[" else self._pair(table) or table
            self._take(_BLANK)

    def _header(self) -> Place:
        begin, several = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        *before, last = self._names()
        place: Place = ()
        for name in before:  # within an array of tables it is the last one
            place = (*place, name, self._counts[*place, name] - 1) if (*place, name) in self._counts else (*place, name)
            self.found.setdefault(place, begin)
        if several:
            count = self._counts[*place, last] = self._counts.get((*place, last), 0) + 1
            self.found.setdefault((*place, last), begin)
            place = (*place, last, count - 1)
            self.found[place] = begin
        else:
            place = (*place, last)
            self.found.setdefault(place, begin)
        self.at += 2 if several else 1
        return place

    def _pair(self, table: Place) -> None:
        begin = self.at
        for name in self._names():
            table = (*table, name)
            self.found.setdefault(table, begin)
        if not self.text.startswith("=", self.at):
            raise _SyntaxMismatch
        self.at += 1
        self._take(_SPACE)
        self._value(table)

    def _names(self) -> list[str]:
        """Scan the names of a dotted key."""
        out = []
        while True:
            self._take(_SPACE)
            out.append(_plain(self._take(_KEY)))
            self._take(_SPACE)
            if not self.text.startswith(".", self.at):
                return out
            self.at += 1

    def _value(self, place: Place) -> None:
        begins = self.text[self.at : self.at + 1]
        if begins in ("[", "{"):
            self.at += 1
            count = 0
            self._take(_BLANK)
            while self.text[self.at : self.at + 1] not in ("]", "}"):
                if begins == "{":
                    self._pair(place)
                else:
                    self.found[*place, count] = self.at
                    self._value((*place, count))
                    count += 1
                self._take(_BLANK)
            self.at += 1
        else:
            self._take(_STRING if begins in ('"', "'") else _PLAIN)

    def _take(self, what: re.Pattern[str]) -> str:
        match = what.match(self.text, self.at)
        if match is None:
            raise _SyntaxMismatch
        self.at = match.end()
        return match.group()


def _plain(key: str) -> str:
    """Return a key without its quotation marks."""
    if key[0] not in "\"'":
        return key
    try:
        return tomllib.loads(f"x = {key}")["x"]
    except tomllib.TOMLDecodeError:
        raise _SyntaxMismatch from None


# from messages to places

_SYNTAX = re.compile(r"(?:^|, )line (\d+)(?:,|$)")
_STEP = re.compile(r"(?:^|(\w+))(?: (\d+))?(?: \([^()]*\))?((?:\[\d+\])*)")
_KEY_IN_MESSAGE = re.compile(r"there is no key (?:or section )?('.*?'|\".*?\")(?: here)?\.|`(\w+)`")
_NAMED = {"parameters": "parameter", "coordinates": "coordinate", "speeds": "speed", "limits": "limit of"}
_OTHER_TITLES = {
    "body": ("joint of '{}'", "shape of '{}'", "joint '{}'"),
    "drive": ("constraint '{}'", "holonomic '{}'"),
}
_TITLES: dict[str, Place] = {"kinetic energy": ("energies", "kinetic"), "potential energy": ("energies", "potential")}


@dataclass(frozen=True)
class Text:
    """A source with its data and offsets; both are empty if it is not valid TOML."""

    text: str
    data: Toml
    places: Mapping[Place, int]

    @classmethod
    def of(cls, text: str) -> Text:
        """Parse a source."""
        try:
            return cls(text, tomllib.loads(text), places(text))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            return cls(text, {}, {})

    def spot(self, problem: Problem) -> tuple[int | None, Place]:
        """Return the line, from 1, and the place of a problem, as far as they are known.

        >>> text = Text.of('name = "arm"\\n[[body]]\\nname = "rod"\\njoint = { type = "revolute", angle = 3 }')
        >>> text.spot(Problem("body 'rod', joint (revolute), angle", "got 3."))
        (4, ('body', 0, 'joint', 'angle'))
        """
        if not self.data and (syntax := _SYNTAX.search(problem.path)):
            return int(syntax.group(1)), ()
        place = self._named_in(problem.path)
        for match in _KEY_IN_MESSAGE.finditer(f"{problem.fact} {problem.advice}"):
            key = match.group(2) or match.group(1)[1:-1]
            if (*place, key) in self.places:
                place = (*place, key)
                break
        return (self.line(place) if place else None), place

    def line(self, place: Place) -> int:
        """Return the line of a place, from 1."""
        return self.text.count("\n", 0, self.places[place]) + 1

    def _named_in(self, path: str) -> Place:
        """Return the place of a path: an element by its title, then keys within it."""
        best: Place = ()
        rest = path
        for name, place in self._titles():
            longer = path.startswith(name) and len(name) > len(path) - len(rest)
            if longer and path[len(name) : len(name) + 1] in _AFTER and place in self.places:
                best, rest = place, path[len(name) :]
        for step in _STEP.finditer(rest) if best else ():
            key, number, entries = step.groups("")
            if key and (*best, key) not in self.places:
                continue
            best = (*best, key) if key else best
            for each in re.findall(r"\d+", f"{number} {entries}"):
                best = (*best, int(each)) if (*best, int(each)) in self.places else best
        return best

    def _titles(self) -> Iterator[tuple[str, Place]]:
        """Yield the titles of the elements in messages, and their places."""
        yield from _TITLES.items()
        for section, given in self.data.items():
            yield section, (section,)
            for name in given if isinstance(given, dict) and section in _NAMED else ():
                yield f"{_NAMED[section]} {quote(name)}", (section, name)
            for i, each in enumerate(given if isinstance(given, list) else ()):
                yield title(section, each, i), (section, i)
                name = each.get("name") if isinstance(each, dict) else None
                for words in _OTHER_TITLES.get(section, ("constraint '{}'",)) if isinstance(name, str) else ():
                    yield words.format(name), (section, i)
        yield from self._unnamed()

    def _unnamed(self) -> Iterator[tuple[str, Place]]:
        """Yield elements without a name by their default name: all loads are counted together, and so are all contacts."""
        family = {kind: "load" for load in loads.LOADS for kind in load.forms()}
        family |= {kind.kind: "contact" for kind in contacts.CONTACTS}
        counts = Counter[str]()
        for kind in toml_reader.elements():
            given = self.data.get(kind)
            for i, each in enumerate(given if isinstance(given, list) else ()):
                counts[family.get(kind, kind)] += 1
                if isinstance(each, dict) and "name" not in each:
                    yield f"{kind} '{kind}{counts[family.get(kind, kind)]}'", (kind, i)
                    yield f"constraint '{kind}{counts[family.get(kind, kind)]}'", (kind, i)


_AFTER = ("", ",", ":", "[", " ", "(")
