"""Line numbers of messages about a model file.

TOML readers report no line numbers of values, so the source is scanned again: `value_offsets` returns the offset of every
table, key and entry. `locate` finds the key path of a message path such as "body 'rod', joint (revolute), angle".
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

KeyPath = tuple[str | int, ...]  # keys and indices, from the top of the file
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


def value_offsets(source: str) -> dict[KeyPath, int]:
    """Return the offset of everything in a TOML source: tables at their headers, values at their keys.

    >>> source = 'name = "arm"\\n[[body]]\\nmass = 2\\njoint = { type = "fixed" }'
    >>> found = value_offsets(source)
    >>> source[found["body", 0] :][:8], source[found["body", 0, "joint", "type"] :][:4]
    ('[[body]]', 'type')
    """
    scanner = _Scanner(source)
    try:
        scanner.document()
    except (_SyntaxMismatch, RecursionError):
        return scanner.found  # what precedes the error
    return scanner.found


class _SyntaxMismatch(Exception):
    """The scanner cannot parse this source: it is not valid TOML."""


class _Scanner:
    """Scans a source once and records offsets."""

    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.found: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}  # of elements written as [[...]]

    def document(self) -> None:
        """Scan headers and keys to the end."""
        table: KeyPath = ()
        self._take(_BLANK)
        while self.at < len(self.source):
            table = self._header() if self.source[self.at] == "[" else self._pair(table) or table
            self._take(_BLANK)

    def _header(self) -> KeyPath:
        begin, several = self.at, self.source.startswith("[[", self.at)
        self.at += 2 if several else 1
        *before, last = self._names()
        key_path: KeyPath = ()
        for name in before:  # within an array of tables it is the last one
            key_path = (*key_path, name)
            if key_path in self._counts:
                key_path = (*key_path, self._counts[key_path] - 1)
            self.found.setdefault(key_path, begin)
        if several:
            count = self._counts[*key_path, last] = self._counts.get((*key_path, last), 0) + 1
            self.found.setdefault((*key_path, last), begin)
            key_path = (*key_path, last, count - 1)
            self.found[key_path] = begin
        else:
            key_path = (*key_path, last)
            self.found.setdefault(key_path, begin)
        self.at += 2 if several else 1
        return key_path

    def _pair(self, table: KeyPath) -> None:
        begin = self.at
        for name in self._names():
            table = (*table, name)
            self.found.setdefault(table, begin)
        if not self.source.startswith("=", self.at):
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
            if not self.source.startswith(".", self.at):
                return out
            self.at += 1

    def _value(self, key_path: KeyPath) -> None:
        begins = self.source[self.at : self.at + 1]
        if begins in ("[", "{"):
            self.at += 1
            count = 0
            self._take(_BLANK)
            while self.source[self.at : self.at + 1] not in ("]", "}"):
                if begins == "{":
                    self._pair(key_path)
                else:
                    self.found[*key_path, count] = self.at
                    self._value((*key_path, count))
                    count += 1
                self._take(_BLANK)
            self.at += 1
        else:
            self._take(_STRING if begins in ('"', "'") else _PLAIN)

    def _take(self, what: re.Pattern[str]) -> str:
        match = what.match(self.source, self.at)
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


# from message paths to key paths

_SYNTAX = re.compile(r"(?:^|, )line (\d+)(?:,|$)")
_STEP = re.compile(r"(?:^|(\w+))(?: (\d+))?(?: \([^()]*\))?((?:\[\d+\])*)")
_KEY_IN_MESSAGE = re.compile(r"there is no key (?:or section )?('.*?'|\".*?\")(?: here)?\.|`(\w+)`")
_NAMED = {"parameters": "parameter", "coordinates": "coordinate", "speeds": "speed", "limits": "limit of"}
_OTHER_TITLES = {
    "body": ("joint of '{}'", "shape of '{}'", "joint '{}'"),
    "drive": ("constraint '{}'", "holonomic '{}'"),
}
_TITLES: dict[str, KeyPath] = {"kinetic energy": ("energies", "kinetic"), "potential energy": ("energies", "potential")}


@dataclass(frozen=True)
class SourceMap:
    """A source with its data and offsets; both are empty if it is not valid TOML."""

    source: str
    data: Toml
    offsets: Mapping[KeyPath, int]

    @classmethod
    def of(cls, source: str) -> SourceMap:
        """Parse a source."""
        try:
            return cls(source, tomllib.loads(source), value_offsets(source))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            return cls(source, {}, {})

    def locate(self, problem: Problem) -> tuple[int | None, KeyPath]:
        """Return the line, from 1, and the key path of a problem, as far as they are known.

        >>> source_map = SourceMap.of('name = "arm"\\n[[body]]\\nname = "rod"\\njoint = { type = "revolute", angle = 3 }')
        >>> source_map.locate(Problem("body 'rod', joint (revolute), angle", "got 3."))
        (4, ('body', 0, 'joint', 'angle'))
        """
        if not self.data and (syntax := _SYNTAX.search(problem.path)):
            return int(syntax.group(1)), ()
        key_path = self._named_in(problem.path)
        for match in _KEY_IN_MESSAGE.finditer(f"{problem.fact} {problem.advice}"):
            key = match.group(2) or match.group(1)[1:-1]
            if (*key_path, key) in self.offsets:
                key_path = (*key_path, key)
                break
        return (self.line(key_path) if key_path else None), key_path

    def line(self, key_path: KeyPath) -> int:
        """Return the line of a key path, from 1."""
        return self.source.count("\n", 0, self.offsets[key_path]) + 1

    def _named_in(self, path: str) -> KeyPath:
        """Return the key path of a message path: an element by its title, then keys within it."""
        best: KeyPath = ()
        rest = path
        for name, key_path in self._titles():
            longer = path.startswith(name) and len(name) > len(path) - len(rest)
            if longer and path[len(name) : len(name) + 1] in _AFTER and key_path in self.offsets:
                best, rest = key_path, path[len(name) :]
        for step in _STEP.finditer(rest) if best else ():
            key, number, entries = step.groups("")
            if key and (*best, key) not in self.offsets:
                continue
            best = (*best, key) if key else best
            for each in re.findall(r"\d+", f"{number} {entries}"):
                best = (*best, int(each)) if (*best, int(each)) in self.offsets else best
        return best

    def _titles(self) -> Iterator[tuple[str, KeyPath]]:
        """Yield the titles of the elements in messages, and their key paths."""
        yield from _TITLES.items()
        for section, value in self.data.items():
            yield section, (section,)
            for name in value if isinstance(value, dict) and section in _NAMED else ():
                yield f"{_NAMED[section]} {quote(name)}", (section, name)
            for i, each in enumerate(value if isinstance(value, list) else ()):
                yield title(section, each, i), (section, i)
                name = each.get("name") if isinstance(each, dict) else None
                for pattern in _OTHER_TITLES.get(section, ("constraint '{}'",)) if isinstance(name, str) else ():
                    yield pattern.format(name), (section, i)
        yield from self._unnamed()

    def _unnamed(self) -> Iterator[tuple[str, KeyPath]]:
        """Yield elements without a name by their default name: all loads are counted together, and so are all contacts."""
        family = {kind: "load" for load in loads.LOADS for kind in load.forms()}
        family |= {kind.kind: "contact" for kind in contacts.CONTACTS}
        counts = Counter[str]()
        for kind in toml_reader.elements():
            value = self.data.get(kind)
            for i, each in enumerate(value if isinstance(value, list) else ()):
                counts[family.get(kind, kind)] += 1
                if isinstance(each, dict) and "name" not in each:
                    yield f"{kind} '{kind}{counts[family.get(kind, kind)]}'", (kind, i)
                    yield f"constraint '{kind}{counts[family.get(kind, kind)]}'", (kind, i)


_AFTER = ("", ",", ":", "[", " ", "(")
