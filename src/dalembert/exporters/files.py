"""Files of models and results: their names, and that they appear only when they are complete."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import InputError, WorkError


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
