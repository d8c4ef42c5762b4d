"""Text files that appear only when they are complete."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from dalembert.errors import InputError, WorkError


def write_text(path: Path, text: str) -> None:
    """Write a file under another name beside its place, and give it its own when all went well."""
    if not path.name:
        raise InputError(f"'{path}' is not the name of a file. Expected a path such as model.toml.")
    part = path.with_name(f".{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkError(f"{path}: the file cannot be written ({reason}). Choose another place or free some.") from error
    finally:
        if part.exists():
            part.unlink()
