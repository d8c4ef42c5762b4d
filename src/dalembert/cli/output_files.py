"""Output paths, checked before the computation starts.

The modules that know the formats are imported when they are needed: those of figures import Matplotlib.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from dalembert.errors import InputError
from dalembert.io.files import join_alternatives


def table_suffixes() -> tuple[str, ...]:
    """The suffixes of data files."""
    from dalembert.display import dataset

    return tuple(sorted(dataset.FORMATS))


def figure_suffixes() -> Sequence[str]:
    """The suffixes of figures."""
    from dalembert.display.plots import plot

    return plot.FORMATS


def output_file(path: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path of a writable file with one of the suffixes; raises if it is not."""
    out = Path(path)
    _require_usable(path, option)
    if out.is_dir():
        raise InputError(f"{option} {path}: this is a directory. Expected a file name.")
    if suffixes and out.suffix.lower() not in suffixes:
        got = f"unsupported suffix '{out.suffix}'" if out.suffix else "the suffix is missing"
        raise InputError(f"{option} {path}: {got}. Expected a file name that ends in {join_alternatives(suffixes)}.")
    if out.exists() and not os.access(out, os.W_OK):
        raise InputError(
            f"{option} {path}: the file is not writable. Choose another file name, or change its permissions."
        )
    _require_directory(out.parent, f"{option} {path}")
    return out


def output_directory(path: str, option: str) -> Path:
    """The path of a directory that exists or can be created; raises if it cannot."""
    _require_usable(path, option)
    _require_directory(Path(path), f"{option} {path}")
    return Path(path)


def _require_usable(path: str, option: str) -> None:
    """Raise for an invalid file name."""
    reason = "it contains NUL" if "\0" in path else ""
    try:
        Path(path).exists()
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise InputError(f"{option} {path}: invalid file name ({reason}). Choose another one.")


def _require_directory(path: Path, where: str) -> None:
    while not path.exists() and path != path.parent:
        path = path.parent
    if not path.is_dir():
        raise InputError(f"{where}: '{path}' is not a directory. Choose another directory.")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(
            f"{where}: the directory '{path}' is not writable. Choose another directory, or change its permissions."
        )


def figure_path(path: str, option: str, name: str) -> Path:
    """The path of a figure: `path`, or `name`.png in it if it is a directory (a path without a suffix)."""
    _require_usable(path, option)
    if Path(path).is_dir() or not Path(path).suffix:
        path = str(Path(path) / f"{file_name(name)}.png")
    return output_file(path, option, figure_suffixes())


def figure_paths(path: str, option: str, name: str) -> Path:
    """The path of several figures: a directory, or one file for all of them."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return output_directory(path, option)
    # a path with another suffix is a directory whose name contains a dot
    known = figure_suffixes()
    return output_file(path if suffix in known else f"{path}/{file_name(name)}.png", option, known)


def file_name(name: str) -> str:
    """Convert the name of a model to a file name, without path separators.

    >>> file_name("../my model")
    'my-model'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
