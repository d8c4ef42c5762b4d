"""Where results go: paths are looked at before the work begins, and files appear only when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import InputError, WorkError

TABLES = (".csv", ".nc")
PICTURES = (".png", ".pdf", ".svg")


def target(path: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path of a file that can be written, with one of the suffixes; raises before any work is done."""
    out = Path(path)
    if suffixes and out.suffix.lower() not in suffixes:
        got = f"it ends in '{out.suffix}'" if out.suffix else "it has no ending"
        raise InputError(f"{option} {path}: {got}. Expected a file name that ends in {_either(suffixes)}.")
    if out.is_dir():
        raise InputError(f"{option} {path}: this is a directory. Expected the name of a file.")
    if out.exists() and not os.access(out, os.W_OK):
        raise InputError(f"{option} {path}: the file cannot be written. Choose another name, or change its permissions.")
    folder(str(out.parent), option)
    return out


def folder(path: str, option: str) -> Path:
    """The path of a directory that exists or can be made; raises before any work is done."""
    out = Path(path)
    there = out
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{option} {path}: '{there}' is not a directory. Choose another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            f"{option} {path}: the directory '{there}' cannot be written. Choose another place, or change its permissions."
        )
    return out


def picture(path: str, option: str, name: str) -> Path:
    """The path of a picture: the one given, or `name`.png in the directory given (a path without an ending)."""
    if Path(path).is_dir() or not Path(path).suffix:
        path = str(Path(path) / f"{name}.png")
    return target(path, option, PICTURES)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the directory of a file; what the system refuses becomes an error with the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise WorkError(
            f"{path}: the file cannot be written ({error.strerror or error}). Free some space or choose another place."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file that appears only when it is complete."""
    with writing(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
