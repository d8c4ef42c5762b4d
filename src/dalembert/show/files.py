"""Files of results: their names, and that they appear only when they are complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dalembert.errors import InputError
from dalembert.exporters.files import complete as complete


def require_suffix(path: Path, possible: Sequence[str], what: str) -> None:
    """Raise when the file name does not end as one that can be written.

    >>> require_suffix(Path("run.xlsx"), (".nc", ".csv"), "a run")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: run.xlsx: a run cannot be saved as '.xlsx'. Expected a name that ends in .nc or .csv.
    """
    if path.suffix.lower() not in possible:
        got = f"as '{path.suffix}'" if path.suffix else "without an ending"
        endings = f"{', '.join(possible[:-1])} or {possible[-1]}"
        raise InputError(f"{path}: {what} cannot be saved {got}. Expected a name that ends in {endings}.")
