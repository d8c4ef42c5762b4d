"""From a file to the tables written in it, with bounds on everything a hostile file could make large."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from dalembert.errors import ModelFileError, Problem, nearest

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16
MAX_PROBLEMS = 100

Table: TypeAlias = dict[str, Any]  # what a file holds: the schema checks it, not its type

_SPLIT = "Split the system into several models."
# tomllib needs quadratic time for a.a.a. ... = 1, so such keys are refused before it sees them
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}""")
_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")


class Enough(Exception):
    """There are more problems than anybody reads at once."""


class Findings:
    """The problems of one file, as they are found; too many of them end the reading by `Enough`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Problem] = []

    def note(self, problems: Iterable[Problem], at: int | None = None) -> bool:
        """Keep the problems, at a place among the others or behind them; true if there were none."""
        before = len(self.found)
        for problem in problems:
            self.found.insert(len(self.found) if at is None else at, problem)
            if len(self.found) > MAX_PROBLEMS:
                raise Enough
        return len(self.found) == before

    def require_sound(self) -> None:
        """Raise one error that lists all problems, if there are any."""
        if not self.found:
            return
        shown = self.found[:MAX_PROBLEMS]
        count = "1 problem" if len(shown) == 1 else f"{len(shown)} problems"
        more = "\n  - and more; correct these first." if len(self.found) > MAX_PROBLEMS else ""
        lines = "\n".join(f"  - {problem}" for problem in shown)
        raise ModelFileError(f"{self.source} has {count}:\n{lines}{more}", shown)


def failure(path: str, fact: str, advice: str) -> ModelFileError:
    """The error about a file that cannot be read at all."""
    problem = Problem(path, fact, advice)
    return ModelFileError(str(problem), [problem])


def read_text(path: str | Path, most: int = MAX_BYTES) -> str:
    """The text of a model file of at most `most` bytes, or a `ModelFileError` that says why there is none."""
    return decode(read_bytes(path, most), str(path), most)


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of a model file, at most `most` of them."""
    path, name = Path(path), str(path)
    advice = f"Give the path of a model file, such as model{path.suffix or '.toml'}."
    try:
        if path.is_dir():
            raise failure(name, "this is a directory.", advice)
        if not path.exists():
            raise failure(name, "there is no such file.", _others(path))
        if not path.is_file():
            raise failure(name, "this is not a regular file.", advice)
        with path.open("rb") as file:
            data = file.read(most + 1)
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(name, f"the file cannot be opened ({reason}).", "Check its name and permissions.") from error
    _require_small(data, name, most)
    return data


def decode(data: bytes, source: str, most: int = MAX_BYTES) -> str:
    """The bytes of a file as text: UTF-8 without NUL, and not too long."""
    _require_small(data, source, most)
    if (at := data.find(b"\0")) >= 0:
        line, advice = data.count(b"\n", 0, at) + 1, "Expected a text file; save it as UTF-8 text."
        raise failure(f"{source}, line {line}", "there is a NUL character.", advice)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"the byte 0x{data[error.start]:02x} is not UTF-8."
        raise failure(f"{source}, line {line}", fact, "Save the file in the encoding UTF-8.") from error


def _require_small(data: bytes, source: str, most: int) -> None:
    if len(data) > most:
        raise failure(source, f"the file is larger than {most} bytes.", _SPLIT)


def require_short(size: int, source: str, unit: str = "characters") -> None:
    """Raise when a text is longer than a file may be."""
    if size > MAX_BYTES:
        raise failure(source, f"the text is larger than {MAX_BYTES} {unit}.", _SPLIT)


def tables(text: str, source: str) -> Table:
    """The tables of a TOML text, or a `ModelFileError` with the line that is wrong."""
    require_short(len(text.encode("utf-8", "replace")), source, "bytes")
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        fact = f"more than {MAX_KEY_PARTS} names are joined by points."
        raise failure(f"{source}, line {line}", fact, "Write tables under their own headers, such as [parameters].")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(text, source, str(error)) from error
    except (RecursionError, ValueError) as error:
        raise beyond_bounds(error, source, "tables") from error


def beyond_bounds(error: Exception, source: str, what: str) -> ModelFileError:
    """The error about a text that is too deep, or has a number too long, for the reader of its format."""
    if isinstance(error, RecursionError):
        return failure(source, f"arrays or {what} are nested too deeply.", "Expected at most a few levels.")
    # the one value such readers leave to Python: whole numbers of thousands of digits
    return failure(source, "a whole number has too many digits.", "Write it as 1.5e10.")


def line_shown(text: str, number: int) -> str:
    """A line of a text as a message shows it."""
    lines = text.split("\n", number)
    line = lines[number - 1].strip() if number <= len(lines) else ""
    return line if len(line) <= 60 else line[:57] + "..."


def _syntax(text: str, source: str, said: str) -> ModelFileError:
    """What tomllib said, with the line it is about and the mistake most people make there."""
    place = _LINE.search(said)
    number = int(place.group(1)) if place and place.group(1) else max(len(text.rstrip().split("\n")), 1)
    reason = _LINE.sub("", said)
    if reason == "Invalid value":
        advice = 'Text and formulas stand in quotation marks, as in mass = "2*m".'
    elif reason.startswith(("Cannot overwrite", "Cannot declare")):
        advice = "Something is written twice: keep one of the two, or use [[...]] for elements of which there are many."
    else:
        advice = "Correct this line."
    return failure(f"{source}, line {number}", f"not valid TOML: {reason}, at {line_shown(text, number)!r}.", advice)


def _others(path: Path) -> str:
    """A hint with the model file beside the missing one that has the nearest name."""
    if not path.parent.is_dir():
        return f"There is no directory {str(path.parent)!r} either."
    others = [other.name for other in islice(path.parent.glob(f"*{path.suffix or '.toml'}"), 1000)]
    return nearest(path.name, others) if others else "Check the name and the directory."
