"""Disk cache of compiled code and traced programs: one file per key. `marshal` serializes programs as tuples.

`DALEMBERT_CACHE` sets the folder; an empty value disables the disk cache. Files contain machine code, so anyone who can write
to the folder can run code in this process. Therefore

* a file starts with the SHA-256 of its key and its content; a damaged file, or one of another key, is not read;
* the folder and its files must be owned by the user and must not be writable by group or others, and the folder must not be
  a symbolic link. Otherwise a `CacheWarning` reports the reason once, and everything is compiled in memory.

Windows has no such owners and modes: there the folder inherits the access list of `%LOCALAPPDATA%`, which allows only the user,
and only symbolic links are rejected. Any other folder must be protected by the user.
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

from dalembert.codegen.link_sweeps import Location, Storage, Sweep, Sweeps, SweepStep
from dalembert.codegen.program import Program
from dalembert.errors import CacheWarning
from dalembert.symbolic.lookup_tables import LookupTable

CODE, TRACE = "o", "trace"  # file types: machine code; traced programs
_FORMAT = 2  # file format; part of the file names, so that versions of the package do not overwrite each other's files
_MAX_FILES = 4000  # per file type
_COUNTED = "0"  # files are counted when a key begins with this digit: counting takes milliseconds, and keys are hashes
_CHECKSUM_BYTES = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_REPORTED: set[tuple[Path, str]] = set()  # folders and reasons already reported
Tuples = tuple[Any, ...]


def _named_folder() -> Path | None:
    """The folder set by DALEMBERT_CACHE, else one in the user's cache folder; None if it is empty."""
    named = os.environ.get("DALEMBERT_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "dalembert"
    except RuntimeError:  # a user without a home directory
        return None


def _trusted_folder() -> Path | None:
    """The folder if only this user can write to it; a missing folder is created with mode 0700."""
    folder = _named_folder()
    if folder is None:
        return None
    try:
        if not os.path.lexists(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(folder)
    except OSError:  # a read-only disk, or a file with that name: no disk cache
        return None
    linked = stat.S_ISLNK(status.st_mode)
    link_fault = "it is a symbolic link; set DALEMBERT_CACHE to the target of the link"
    fault = link_fault if linked else _write_fault(status)
    if fault and (folder, fault) not in _REPORTED:
        _REPORTED.add((folder, fault))
        message = f"the disk cache {folder} is not used: {fault}. Compiled code is stored in memory only."
        warnings.warn(message, CacheWarning, stacklevel=3)
    return None if fault else folder


def _write_fault(status: os.stat_result) -> str:
    """The reason why others can write to a file or folder; empty if they cannot, and on Windows, which has no such modes."""
    if os.name == "nt":
        return ""
    user = os.geteuid()
    if status.st_uid != user:
        owner = f"it is owned by the user with id {status.st_uid}, but this process runs as {user}"
        return f"{owner}; use a folder that you own"
    if status.st_mode & _OTHERS_WRITE:
        return f"its mode {stat.S_IMODE(status.st_mode):04o} lets other users write; empty it and run chmod go-w"
    return ""


def _path(folder: Path, digest: str, kind: str) -> Path:
    return folder / f"{digest}-{_FORMAT}.{kind}"


def _checksum(digest: str, kind: str, data: bytes) -> bytes:
    """The SHA-256 of key and content: an entry is valid only under its own key."""
    return hashlib.sha256(f"{digest}.{kind}\n{len(data)}\n".encode() + data).digest()


def read_entry(digest: str, kind: str) -> bytes | None:
    """The content of a key; None if there is none, or if the file is damaged or belongs to another key."""
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
    """The bytes of a file that only this user can write; empty for any other file."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        return b"" if _write_fault(os.fstat(handle)) else file.read()


def write_entry(digest: str, kind: str, data: bytes) -> None:
    """Write the content of a key; if the folder is not writable, it is compiled again next time."""
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
        if digest.startswith(_COUNTED):
            _prune(folder, kind)


def _prune(folder: Path, kind: str) -> None:
    """Remove the older half of the files of a type if there are too many."""
    names = [name for name in os.listdir(folder) if name.endswith(f".{kind}")]
    if len(names) > _MAX_FILES:
        files = sorted(map(folder.joinpath, names), key=lambda each: each.stat().st_mtime)
        for old in files[: len(files) // 2]:
            old.unlink(missing_ok=True)


def to_bytes(values: Tuples) -> bytes:
    """Serialize tuples of numbers, strings and bytes."""
    return marshal.dumps(values)


def from_bytes(data: bytes) -> Tuples:
    """Inverse of `to_bytes`."""
    collects = gc.isenabled()
    gc.disable()  # creating ten thousand tuples would trigger full garbage collections
    try:
        return marshal.loads(data)  # the checksum was verified, and the cache contains machine code anyway
    finally:
        if collects:
            gc.enable()


def program_to_tuples(program: Program) -> Tuples:
    """Convert a program to tuples."""
    tables = tuple(
        (table.digest, table.order, table.times.tobytes(), table.values.tobytes()) for table in program.tables
    )
    return program.inputs, program.parameters, program.numbers, tables, program.lines, program.outputs


def program_from_tuples(values: Tuples) -> Program:
    """Inverse of `program_to_tuples`."""
    inputs, parameters, numbers, tables, lines, outputs = values
    table = tuple(LookupTable(digest, order, *map(np.frombuffer, points)) for digest, order, *points in tables)
    return Program(inputs, parameters, numbers, table, lines, outputs)


def sweeps_to_tuples(sweeps: Sweeps) -> Tuples:
    """Convert sweeps to tuples."""
    sweep_tuples = tuple(
        (sweep.outwards, sweep.passed, tuple(map(_step_to_tuples, sweep.steps))) for sweep in sweeps.sweeps
    )
    return sweeps.stored, sweeps.rows, sweeps.numbers, sweep_tuples


def sweeps_from_tuples(values: Tuples) -> Sweeps:
    """Inverse of `sweeps_to_tuples`."""
    stored, rows, numbers, sweep_tuples = values
    sweeps = (Sweep(outwards, passed, tuple(map(_step_from_tuples, steps))) for outwards, passed, steps in sweep_tuples)
    return Sweeps(stored, rows, numbers, tuple(sweeps))


def _step_to_tuples(step: SweepStep) -> Tuples:
    locations = (tuple((each.storage.value, each.at) for each in group) for group in (step.inputs, step.outputs))
    return program_to_tuples(step.program), *locations


def _step_from_tuples(values: Tuples) -> SweepStep:
    program, *locations = values
    inputs, outputs = (tuple(Location(Storage(storage), at) for storage, at in group) for group in locations)
    return SweepStep(program_from_tuples(program), inputs, outputs)
