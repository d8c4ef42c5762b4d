"""A checksum behind the content of a binary file.

HDF5, and so NetCDF, ignores bytes behind its own end of file. On a damaged file its library raises errors of many types, returns
wrong numbers, or never returns. So a file is compared with its checksum before the library reads it.

Files of models and results: their names, and that they appear only when they are complete.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import InputError, WorkError

_MARK = b"\ndalembert sha256 "
_LENGTH = len(_MARK) + 64


def with_checksum(content: bytes) -> bytes:
    """The content, and behind it a mark and its SHA-256.

    >>> len(with_checksum(b"content")) - len(b"content")
    82
    """
    return content + _MARK + hashlib.sha256(content).hexdigest().encode()


def checksum_fault(path: Path) -> str:
    """What is wrong with a file that `with_checksum` made, as the end of a sentence; empty where nothing is."""
    data = path.read_bytes()
    content, end = data[:-_LENGTH], data[-_LENGTH:]
    if not end.startswith(_MARK):
        return "has no checksum at its end: it is not complete, or run.save(...) of this version did not write it"
    if end != with_checksum(content)[-_LENGTH:]:
        return "does not agree with its checksum: it was damaged or changed after run.save(...) wrote it"
    return ""


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when all went well, and is removed when not."""
    part = path.with_name(f".{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkError(f"{path}: the file cannot be written ({reason}). Choose another place or free some.") from error
    finally:
        if part.exists():
            part.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    if not path.name:
        raise InputError(f"'{path}' is not the name of a file. Expected a path such as model.toml.")
    with complete(path) as part:
        part.write_text(text, encoding="utf-8")


def either(words: Sequence[str]) -> str:
    """Alternatives in words.

    >>> either([".nc", ".csv", ".txt"])
    '.nc, .csv or .txt'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def require_suffix(path: Path, possible: Sequence[str], what: str) -> None:
    """Raise when the file name does not end as one that can be written.

    >>> require_suffix(Path("run.xlsx"), (".nc", ".csv"), "a run")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: run.xlsx: a run cannot be saved as '.xlsx'. Expected a name that ends in .nc or .csv.
    """
    if path.suffix.lower() not in possible:
        got = f"as '{path.suffix}'" if path.suffix else "without an ending"
        raise InputError(f"{path}: {what} cannot be saved {got}. Expected a name that ends in {either(possible)}.")
