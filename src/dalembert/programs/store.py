"""What is kept on disk from one process to the next: machine code, and what was traced, each found by its digest.

`DALEMBERT_CACHE` names the folder, and empty means none. A file holds the SHA-256 of what follows; one that does not is not read.
Who can write there can run code of his own: the folder is the user's alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

CODE, TEXT = "o", "text"  # kinds of files: machine code; what was traced
_MOST_FILES = 4000  # of one kind


def _folder() -> Path | None:
    """The folder named by DALEMBERT_CACHE, else one in the user's cache; none where that is empty."""
    named = os.environ.get("DALEMBERT_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "dalembert"
    except RuntimeError:  # a user without a home
        return None


def stored(digest: str, kind: str) -> bytes | None:
    """What is kept; None where there is nothing, or where the file does not hold what was written."""
    folder = _folder()
    if folder is None:
        return None
    try:
        data = (folder / f"{digest}.{kind}").read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def keep(digest: str, kind: str, data: bytes) -> None:
    """Keep bytes; where the folder cannot be written, they are made again next time."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, folder / f"{digest}.{kind}")
        except OSError:
            os.unlink(name)
            raise
        _prune(folder, kind)


def _prune(folder: Path, kind: str) -> None:
    """Forget the oldest half where there are too many."""
    files = list(folder.glob(f"*.{kind}"))
    if len(files) > _MOST_FILES:
        for old in sorted(files, key=lambda each: each.stat().st_mtime)[: len(files) // 2]:
            old.unlink(missing_ok=True)
