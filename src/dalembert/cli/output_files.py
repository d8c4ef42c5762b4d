"""Output paths of commands, checked before the work begins. Not in `output`: formats of figures import Matplotlib."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from dalembert.display import dataset
from dalembert.display.plots import plot
from dalembert.errors import InputError
from dalembert.io.files import either

TABLES, PICTURES = tuple(sorted(dataset.FORMATS)), plot.FORMATS


def target(path: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path of a file that can be written, with one of the suffixes; raises before any work is done."""
    out = Path(path)
    _require_usable(path, option)
    if out.is_dir():
        raise InputError(f"{option} {path}: this is a directory. Expected the name of a file.")
    if suffixes and out.suffix.lower() not in suffixes:
        got = f"it ends in '{out.suffix}'" if out.suffix else "it has no ending"
        raise InputError(f"{option} {path}: {got}. Expected a file name that ends in {either(suffixes)}.")
    if out.exists() and not os.access(out, os.W_OK):
        raise InputError(
            f"{option} {path}: the file cannot be written. Choose another name, or change its permissions."
        )
    _require_folder(out.parent, f"{option} {path}")
    return out


def folder(path: str, option: str) -> Path:
    """The path of a directory that exists or can be made; raises before any work is done."""
    _require_usable(path, option)
    _require_folder(Path(path), f"{option} {path}")
    return Path(path)


def _require_usable(path: str, option: str) -> None:
    """Raise for a name that no file can have."""
    reason = "it contains NUL" if "\0" in path else ""
    try:
        Path(path).exists()
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise InputError(f"{option} {path}: not a usable name ({reason}). Choose another one.")


def _require_folder(there: Path, where: str) -> None:
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{where}: '{there}' is not a directory. Choose another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            f"{where}: the directory '{there}' cannot be written. Choose another place, or change its permissions."
        )


def picture(path: str, option: str, name: str) -> Path:
    """The path of a picture: the one given, or `name`.png in the directory given (a path without an ending)."""
    _require_usable(path, option)
    if Path(path).is_dir() or not Path(path).suffix:
        path = str(Path(path) / f"{file_name(name)}.png")
    return target(path, option, PICTURES)


def pictures(path: str, option: str, name: str) -> Path:
    """Where several figures go: a directory, or one picture for all of them."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return folder(path, option)
    # a directory with a point in its name would be taken for a file
    return target(path if suffix in PICTURES else f"{path}/{file_name(name)}.png", option, PICTURES)


def file_name(name: str) -> str:
    """The name of a model as the name of a file, without anything that could lead elsewhere.

    >>> file_name("../my model")
    'my-model'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
