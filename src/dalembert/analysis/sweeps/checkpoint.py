"""Answers on disk: arrays for all runs, and a journal that says which chunks are in them.

A chunk counts when its line stands in the journal, and the line is written after the numbers: whenever the process ends, what the
journal names is whole, and the rest is made again. The manifest holds the fingerprint of the spec; another spec is
refused.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analysis.sweeps.evaluate_chunk import Answer
from dalembert.analysis.sweeps.sweep_spec import SweepSpec
from dalembert.errors import InputError, WorkError
from dalembert.io.files import write_text

_FORMAT = 1
_MANIFEST, _JOURNAL = "manifest.json", "journal.jsonl"


class Memory:
    """Answers in memory."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        runs = spec.variation.runs
        self.columns = {each.name: np.empty((runs, *spec.shape_of(each))) for each in spec.observables}
        self.reasons: dict[int, str] = {}
        self.missing = list(range(spec.chunks))

    def keep(self, chunk: int, found: Answer) -> None:
        """Put an answer in its place."""
        first, count = self._spec.runs_of(chunk)
        for name, values in found.columns.items():
            self.columns[name][first : first + count] = values
        self.reasons |= {first + i: reason for i, reason in found.reasons.items()}

    def close(self) -> None:
        """Nothing is open."""


class Folder(Memory):
    """Answers in a folder."""

    def __init__(self, spec: SweepSpec, path: Path) -> None:
        self._spec, self._path = spec, path
        self.columns: dict[str, np.ndarray] = {}
        self.reasons: dict[int, str] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._open()
            done = self._read_journal()
            self._journal = os.open(path / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise WorkError(
                f"sweep, checkpoint {path}: {error.strerror or error}. Choose another place or free some."
            ) from error
        self.missing = [chunk for chunk in range(spec.chunks) if chunk not in done]

    def _open(self) -> None:
        spec, manifest = self._spec, self._path / _MANIFEST
        wanted = {
            "format": _FORMAT,
            "fingerprint": spec.fingerprint,
            "model": spec.equations.model.name,
            "runs": spec.variation.runs,
            "chunk": spec.chunk,
            "observed": [each.name for each in spec.observables],
        }
        fresh = not manifest.exists()
        if fresh and any(self._path.iterdir()) and not (self._path / "0.npy").exists():
            raise InputError(f"sweep, checkpoint {self._path}: the folder holds other files. Choose an empty one.")
        if not fresh:
            self._require_same(_manifest(manifest), wanted)
        for i, each in enumerate(spec.observables):
            file = self._path / f"{i}.npy"
            if fresh:
                shape = (spec.variation.runs, *spec.shape_of(each))
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="w+", dtype=float, shape=shape)
                _reserve(file)
            else:
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="r+")
        if fresh:
            write_text(manifest, json.dumps(wanted, indent=2) + "\n")

    def _require_same(self, found: Mapping[str, object], wanted: Mapping[str, object]) -> None:
        other = [key for key in wanted if found.get(key) != wanted[key]]
        if other:
            told = "; ".join(f"{key} is {found.get(key)!r} there and {wanted[key]!r} here" for key in other)
            raise InputError(
                f"sweep, checkpoint {self._path}: it belongs to another sweep: {told}. Ask the same question to go on, or "
                "choose another folder."
            )

    def _read_journal(self) -> set[int]:
        """The complete chunks; an incomplete last line is removed."""
        file, done, good = self._path / _JOURNAL, set[int](), 0
        for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
            entry = _entry(line)
            if entry is None:
                break
            good += len(line)
            if self._sum(entry["chunk"]) == entry["sum"]:
                done.add(entry["chunk"])
                self.reasons |= {int(i): reason for i, reason in entry["reasons"].items()}
        if file.exists():
            os.truncate(file, good)
        return done

    def _sum(self, chunk: int) -> int:
        """A checksum of the numbers of a chunk."""
        first, count = self._spec.runs_of(chunk)
        total = 0
        for column in self.columns.values():
            total = zlib.crc32(column[first : first + count].tobytes(), total)
        return total

    def keep(self, chunk: int, found: Answer) -> None:
        """Write an answer into its place, then its line."""
        super().keep(chunk, found)
        first, _ = self._spec.runs_of(chunk)
        reasons = {str(first + i): reason for i, reason in found.reasons.items()}
        line = json.dumps({"chunk": chunk, "sum": self._sum(chunk), "reasons": reasons}) + "\n"
        try:
            os.write(self._journal, line.encode())
        except OSError as error:
            raise WorkError(
                f"sweep, checkpoint {self._path}: {error.strerror}. Free some space and start again."
            ) from error

    def close(self) -> None:
        """Let everything reach the disk."""
        for column in self.columns.values():
            assert isinstance(column, np.memmap)
            column.flush()
        os.fsync(self._journal)
        os.close(self._journal)


def _reserve(file: Path) -> None:
    """Reserve the disk space now: a file with holes would end the process when the disk is full."""
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as opened:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def _manifest(file: Path) -> dict[str, object]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"sweep, checkpoint: '{file}' cannot be read ({error}). Choose another folder.") from error
    return found if isinstance(found, dict) else {}


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"chunk", "sum", "reasons"} <= set(found) else None
