"""Reads the tables of a TOML file, with limits on everything that a malicious file could make large."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from dalembert.errors import ModelFileError, Problem, suggest_name

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16
MAX_PROBLEMS = 100

Table: TypeAlias = dict[str, Any]  # content of a file: checked by the schema, not by the type

_SPLIT = "Split the system into several models."
# tomllib needs quadratic time for a.a.a. ... = 1, so such keys are refused before parsing
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}""")
_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")


class TooManyProblems(Exception):
    """Raised if there are more than `MAX_PROBLEMS` problems."""


class ProblemList:
    """Collects the problems of one file; too many of them raise `TooManyProblems`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Problem] = []

    def note(self, problems: Iterable[Problem], at: int | None = None) -> bool:
        """Add problems at index `at` or at the end; return True if there were none."""
        before = len(self.found)
        for problem in problems:
            self.found.insert(len(self.found) if at is None else at, problem)
            if len(self.found) > MAX_PROBLEMS:
                raise TooManyProblems
        return len(self.found) == before

    def require_sound(self) -> None:
        """Raise one error that lists all problems, if there are any."""
        if not self.found:
            return
        listed = self.found[:MAX_PROBLEMS]
        count = "1 problem" if len(listed) == 1 else f"{len(listed)} problems"
        more = "\n  - and more; correct these first." if len(self.found) > MAX_PROBLEMS else ""
        lines = "\n".join(f"  - {problem}" for problem in listed)
        raise ModelFileError(f"{self.source} has {count}:\n{lines}{more}", listed)


def failure(path: str, fact: str, advice: str) -> ModelFileError:
    """The error for a file that cannot be read."""
    problem = Problem(path, fact, advice)
    return ModelFileError(str(problem), [problem])


def read_text(path: str | Path, max_bytes: int = MAX_BYTES) -> str:
    """The content of a model file of at most `max_bytes` bytes; raises `ModelFileError` if it cannot be read."""
    return decode(read_bytes(path, max_bytes), str(path), max_bytes)


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a model file of at most `max_bytes` bytes."""
    path, name = Path(path), str(path)
    advice = f"Expected the path of a model file, such as model{path.suffix or '.toml'}."
    try:
        if path.is_dir():
            raise failure(name, "the path is a directory.", advice)
        if not path.exists():
            raise failure(name, "there is no such file.", _others(path))
        if not path.is_file():
            raise failure(name, "the path is not a regular file.", advice)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(name, f"the file cannot be opened ({reason}).", "Check its name and permissions.") from error
    _require_small(data, name, max_bytes)
    return data


def decode(data: bytes, source: str, max_bytes: int = MAX_BYTES) -> str:
    """Decode the bytes of a file: UTF-8 without NUL characters, and not too long."""
    _require_small(data, source, max_bytes)
    if (at := data.find(b"\0")) >= 0:
        line, advice = data.count(b"\n", 0, at) + 1, "Expected a text file; save it as UTF-8 text."
        raise failure(f"{source}, line {line}", "the line contains a NUL character.", advice)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"the byte 0x{data[error.start]:02x} is not UTF-8."
        raise failure(f"{source}, line {line}", fact, "Save the file in UTF-8 encoding.") from error


def _require_small(data: bytes, source: str, max_bytes: int) -> None:
    if len(data) > max_bytes:
        raise failure(source, f"the file is larger than {max_bytes} bytes.", _SPLIT)


def require_short(size: int, source: str, unit: str = "characters") -> None:
    """Raise if a string is longer than the largest file."""
    if size > MAX_BYTES:
        raise failure(source, f"the input is larger than {MAX_BYTES} {unit}.", _SPLIT)


def tables(content: str, source: str) -> Table:
    """Parse a TOML string; raises `ModelFileError` with the line of a syntax error."""
    require_short(len(content.encode("utf-8", "replace")), source, "bytes")
    if long := _LONG_KEY.search(content):
        line = content.count("\n", 0, long.start()) + 1
        fact = f"a key has more than {MAX_KEY_PARTS} dotted parts."
        raise failure(f"{source}, line {line}", fact, "Write tables under separate headers, such as [parameters].")
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(content, source, str(error)) from error
    except (RecursionError, ValueError) as error:
        raise beyond_bounds(error, source, "tables") from error


def beyond_bounds(error: Exception, source: str, what: str) -> ModelFileError:
    """The error for input with too many nesting levels or too many digits for the parser of its format."""
    if isinstance(error, RecursionError):
        return failure(source, f"arrays or {what} are nested too deeply.", "Expected at most a few levels.")
    # the only ValueError of these parsers: integers with thousands of digits
    return failure(source, "an integer has too many digits.", "Write it as a float such as 1.5e10.")


def shortened_line(content: str, number: int) -> str:
    """A line of a string, shortened for a message."""
    lines = content.split("\n", number)
    line = lines[number - 1].strip() if number <= len(lines) else ""
    return line if len(line) <= 60 else line[:57] + "..."


def _syntax(content: str, source: str, message: str) -> ModelFileError:
    """The error of tomllib with its line and advice for the most frequent mistakes."""
    position = _LINE.search(message)
    number = int(position.group(1)) if position and position.group(1) else max(len(content.rstrip().split("\n")), 1)
    reason = _LINE.sub("", message)
    if reason == "Invalid value":
        advice = 'Put strings and formulas in quotation marks, as in mass = "2*m".'
    elif reason.startswith(("Cannot overwrite", "Cannot declare")):
        advice = "A table or key is defined twice: remove one of them, or use [[...]] for repeated elements."
    else:
        advice = "Correct this line."
    return failure(
        f"{source}, line {number}", f"not valid TOML: {reason}, at {shortened_line(content, number)!r}.", advice
    )


def _others(path: Path) -> str:
    """A hint with the most similar file name in the same directory."""
    if not path.parent.is_dir():
        return f"There is no directory {str(path.parent)!r} either."
    others = [other.name for other in islice(path.parent.glob(f"*{path.suffix or '.toml'}"), 1000)]
    return suggest_name(path.name, others) if others else "Check the name and the directory."
