"""The disk cache of compiled code and traced programs: one file for each key. `marshal` writes programs as plain tuples.

`DALEMBERT_CACHE` names the folder; empty means no disk cache. Files hold machine code, so whoever can write there can run code in
this process. Therefore

* a file starts with the SHA-256 of its key and its content; a damaged file, or one that belongs to another key, is not read;
* the folder and its files have to belong to the user and must not be writable by group or others, nor may the folder be a
  symbolic link. Else a `CacheWarning` says why, once, and everything is compiled in memory.

Windows has no such owners and modes: there the folder inherits the access list of `%LOCALAPPDATA%`, which is the user's alone,
and only symbolic links are refused. Who names another folder there has to protect it.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import marshal
import os
import stat
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.codegen.link_sweeps import Place, Step, Storage, Sweep, Sweeps
from dalembert.codegen.program import Program
from dalembert.errors import CacheWarning
from dalembert.symbolic.lookup_tables import Table

CODE, TEXT = "o", "text"  # kinds of files: machine code; what was traced
_FORMAT = 2  # of files; it is part of their names, so that versions of the package do not overwrite each other's files
_MAX_FILES = 4000  # of one kind
_CHECKSUM_BYTES = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_REFUSED: set[tuple[Path, str]] = set()  # folders and reasons that were reported
Plain = tuple[Any, ...]


def _named_folder() -> Path | None:
    """The folder named by DALEMBERT_CACHE, else one in the user's cache; none where that is empty."""
    named = os.environ.get("DALEMBERT_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "dalembert"
    except RuntimeError:  # a user without a home
        return None


def _trusted_folder() -> Path | None:
    """The folder, where only this user can write; a missing folder is created with mode 0700."""
    folder = _named_folder()
    if folder is None:
        return None
    try:
        if not os.path.lexists(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(folder)
    except OSError:  # a read-only disk, or a file of that name: there is no disk cache
        return None
    linked = stat.S_ISLNK(status.st_mode)
    link_fault = "it is a symbolic link; set DALEMBERT_CACHE to the folder that the link names"
    fault = link_fault if linked else _write_fault(status)
    if fault and (folder, fault) not in _REFUSED:
        _REFUSED.add((folder, fault))
        message = f"the disk cache {folder} is not used: {fault}. Compiled code stays in memory only."
        warnings.warn(message, CacheWarning, stacklevel=3)
    return None if fault else folder


def _write_fault(status: os.stat_result) -> str:
    """Who else can write a file or folder; empty where nobody can, and on Windows, which has no such modes."""
    if os.name == "nt":
        return ""
    user = os.geteuid()
    if status.st_uid != user:
        owner = f"it belongs to the user with id {status.st_uid}, and this process runs as {user}"
        return f"{owner}; use a folder of your own"
    if status.st_mode & _OTHERS_WRITE:
        return f"its mode {stat.S_IMODE(status.st_mode):04o} lets other users write; run chmod go-w, after emptying it"
    return ""


def _path(folder: Path, digest: str, kind: str) -> Path:
    return folder / f"{digest}-{_FORMAT}.{kind}"


def _checksum(digest: str, kind: str, data: bytes) -> bytes:
    """The SHA-256 of key and content: an entry is valid under its own key only."""
    return hashlib.sha256(f"{digest}.{kind}\n{len(data)}\n".encode() + data).digest()


def stored(digest: str, kind: str) -> bytes | None:
    """The content under a key; None where there is none, or where the file does not hold what was written for this key."""
    folder = _trusted_folder()
    if folder is None:
        return None
    try:
        content = _read(_path(folder, digest, kind))
    except OSError:
        return None
    checksum, data = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    return data if checksum == _checksum(digest, kind, data) else None


def _read(path: Path) -> bytes:
    """The bytes of a file that nobody else can write; nothing of another one."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        return b"" if _write_fault(os.fstat(handle)) else file.read()


def keep(digest: str, kind: str, data: bytes) -> None:
    """Write the content of a key; where the folder cannot be written, it is compiled again next time."""
    folder = _trusted_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(digest, kind, data) + data)
            os.replace(name, _path(folder, digest, kind))
        except OSError:
            os.unlink(name)
            raise
        _prune(folder, kind)


def _prune(folder: Path, kind: str) -> None:
    """Remove the older half of the files of a kind where there are too many."""
    files = list(folder.glob(f"*.{kind}"))
    if len(files) > _MAX_FILES:
        for old in sorted(files, key=lambda each: each.stat().st_mtime)[: len(files) // 2]:
            old.unlink(missing_ok=True)


def to_bytes(plain: Plain) -> bytes:
    """Tuples of numbers, words and bytes, as bytes."""
    return marshal.dumps(plain)


def from_bytes(data: bytes) -> Plain:
    """What `to_bytes` wrote."""
    collects = gc.isenabled()
    gc.disable()  # ten thousand new tuples would make Python search all of its memory for waste
    try:
        return marshal.loads(data)  # the store has checked its digest, and keeps machine code beside it
    finally:
        if collects:
            gc.enable()


def plain_program(program: Program) -> Plain:
    """A program as tuples."""
    tables = tuple((held.digest, held.order, held.times.tobytes(), held.values.tobytes()) for held in program.tables)
    return program.inputs, program.parameters, program.numbers, tables, program.lines, program.outputs


def program_again(plain: Plain) -> Program:
    """The program of such tuples."""
    inputs, parameters, numbers, tables, lines, outputs = plain
    held = tuple(Table(digest, order, *map(np.frombuffer, points)) for digest, order, *points in tables)
    return Program(inputs, parameters, numbers, held, lines, outputs)


def plain_sweeps(sweeps: Sweeps) -> Plain:
    """Sweeps as tuples."""
    walks = tuple((sweep.outwards, sweep.passed, tuple(map(_plain_step, sweep.steps))) for sweep in sweeps.sweeps)
    return sweeps.kept, sweeps.rows, sweeps.numbers, walks


def sweeps_again(plain: Plain) -> Sweeps:
    """The sweeps of such tuples."""
    kept, rows, numbers, walks = plain
    again = (Sweep(outwards, passed, tuple(map(_step_again, steps))) for outwards, passed, steps in walks)
    return Sweeps(kept, rows, numbers, tuple(again))


def _plain_step(step: Step) -> Plain:
    places = (tuple((place.storage.value, place.at) for place in some) for some in (step.inputs, step.outputs))
    return plain_program(step.program), *places


def _step_again(plain: Plain) -> Step:
    program, *places = plain
    inputs, outputs = (tuple(Place(Storage(storage), at) for storage, at in some) for some in places)
    return Step(program_again(program), inputs, outputs)
