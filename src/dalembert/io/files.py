"""Atomic writing of model and result files, their names, and a checksum at the end of binary files.

HDF5, and therefore NetCDF, ignores bytes after its own end of file. On a damaged file its library raises errors of many types,
returns wrong numbers, or never returns. So a file is compared with its checksum before the library reads it.

A file appears only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import ComputationError, InputError

_MARK = b"\ndalembert sha256 "
_LENGTH = len(_MARK) + 64


def with_checksum(content: bytes) -> bytes:
    """The content, followed by a marker and its SHA-256.

    >>> len(with_checksum(b"content")) - len(b"content")
    82
    """
    return content + _MARK + hashlib.sha256(content).hexdigest().encode()


def checksum_fault(path: Path) -> str:
    """The fault of a file written with `with_checksum`, as the end of a sentence; empty if there is none."""
    data = path.read_bytes()
    content, end = data[:-_LENGTH], data[-_LENGTH:]
    if not end.startswith(_MARK):
        return "has no checksum at its end: it is incomplete, or was not written by run.save(...) of this version"
    if end != with_checksum(content)[-_LENGTH:]:
        return "does not match its checksum: it was damaged or changed after run.save(...) wrote it"
    return ""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` that is renamed to it on success and removed on failure."""
    part = path.with_name(f".{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ComputationError(
            f"{path}: cannot write the file ({reason}). Choose another path or free disk space."
        ) from error
    finally:
        if part.exists():
            part.unlink()


def write_text(path: Path, content: str) -> None:
    """Write a text file atomically."""
    if not path.name:
        raise InputError(f"'{path}' is not a file name. Expected a path such as model.toml.")
    with atomic_write(path) as part:
        part.write_text(content, encoding="utf-8")


def join_alternatives(words: Sequence[str]) -> str:
    """Join alternatives with commas and `or`.

    >>> join_alternatives([".nc", ".csv", ".txt"])
    '.nc, .csv or .txt'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def require_suffix(path: Path, possible: Sequence[str], what: str) -> None:
    """Raise if the suffix of a file name is not supported.

    >>> require_suffix(Path("run.xlsx"), (".nc", ".csv"), "a run")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: run.xlsx: a run cannot be saved as '.xlsx'. Expected the suffix .nc or .csv.
    """
    if path.suffix.lower() not in possible:
        got = f"as '{path.suffix}'" if path.suffix else "without a suffix"
        raise InputError(f"{path}: {what} cannot be saved {got}. Expected the suffix {join_alternatives(possible)}.")
