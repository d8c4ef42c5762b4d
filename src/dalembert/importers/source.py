"""From a file to the tables written in it, with bounds on everything a hostile file could make large."""

from __future__ import annotations

import re
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

from dalembert.errors import ModelFileError, Problem, nearest

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16

# tomllib needs quadratic time for a.a.a. ... = 1, so such keys are refused before it sees them
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}""")
_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")


def read_text(path: str | Path) -> str:
    """The text of a model file, or a `ModelFileError` that says why there is none."""
    path, name = Path(path), str(path)
    try:
        if path.is_dir():
            raise failure(name, "this is a directory.", "Give the path of a model file, such as model.toml.")
        if not path.exists():
            raise failure(name, "there is no such file.", _others(path))
        if not path.is_file():
            raise failure(name, "this is not a regular file.", "Give the path of a model file, such as model.toml.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(name, f"the file cannot be opened ({reason}).", "Check its name and permissions.") from error
    return decode(data, name)


def decode(data: bytes, source: str) -> str:
    """The bytes of a file as text: UTF-8 without NUL, and not too long."""
    if len(data) > MAX_BYTES:
        raise failure(source, f"the file is larger than {MAX_BYTES} bytes.", "Split the system into several models.")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise failure(
            f"{source}, line {line}", "there is a NUL character.", "Expected a text file; save it as UTF-8 text."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"the byte 0x{data[error.start]:02x} is not UTF-8."
        raise failure(f"{source}, line {line}", fact, "Save the file in the encoding UTF-8.") from error


def tables(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text, or a `ModelFileError` with the line that is wrong."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise failure(source, f"the text is larger than {MAX_BYTES} bytes.", "Split the system into several models.")
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        fact = f"more than {MAX_KEY_PARTS} names are joined by points."
        raise failure(f"{source}, line {line}", fact, "Write tables under their own headers, such as [parameters].")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(text, source, str(error)) from error
    except RecursionError as error:
        raise failure(source, "arrays or tables are nested too deeply.", "Expected at most a few levels.") from error
    except ValueError as error:
        # the one value tomllib leaves to Python: whole numbers of thousands of digits
        raise failure(source, "a whole number has too many digits.", "Write it as 1.5e10.") from error


def failure(path: str, fact: str, advice: str) -> ModelFileError:
    """The error about a file that cannot be read at all."""
    problem = Problem(path, fact, advice)
    return ModelFileError(str(problem), [problem])


def _syntax(text: str, source: str, said: str) -> ModelFileError:
    """What tomllib said, with the line it is about and the mistake most people make there."""
    lines = text.split("\n")
    place = _LINE.search(said)
    number = int(place.group(1)) if place and place.group(1) else max(len(text.rstrip().split("\n")), 1)
    line = lines[number - 1].strip()
    shown = line if len(line) <= 60 else line[:57] + "..."
    reason = _LINE.sub("", said)
    if reason == "Invalid value":
        advice = 'Text and formulas stand in quotation marks, as in mass = "2*m".'
    elif reason.startswith(("Cannot overwrite", "Cannot declare")):
        advice = "Something is written twice: keep one of the two, or use [[...]] for elements of which there are many."
    else:
        advice = "Correct this line."
    return failure(f"{source}, line {number}", f"not valid TOML: {reason}, at {shown!r}.", advice)


def _others(path: Path) -> str:
    """A hint with the model file beside the missing one that has the nearest name."""
    if not path.parent.is_dir():
        return f"There is no directory {str(path.parent)!r} either."
    others = [other.name for other in islice(path.parent.glob("*.toml"), 1000)]
    return nearest(path.name, others) if others else "Check the name and the directory."
