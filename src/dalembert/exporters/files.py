"""Files that appear only when they are complete."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
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
