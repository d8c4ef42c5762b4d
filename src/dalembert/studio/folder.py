"""Files of the studio: all are written to its start folder and a subfolder for drafts, runs and uploads.

Names come from web pages and are not trusted: a file is a plain name in the folder itself, drafts and runs have keys of letters
and digits. Files are written atomically; existing files are never overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import secrets
import shutil
from pathlib import Path
from time import time as now
from typing import Any

from dalembert.errors import InputError
from dalembert.io.files import write_text

OWN = ".dalembert-studio"
MAX_DRAFTS, MAX_RUNS, MAX_UPLOADS = 50, 40, 20  # older ones are deleted
MAX_DRAFT = 4_000_000  # characters
MAX_UPLOAD = 20_000_000  # bytes
STALE_SECONDS = 86_400.0  # after which an incomplete file is removed
KEY = re.compile(r"[a-z0-9]{8,32}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}")


class Folder:
    """Drafts, runs and files of one studio."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._reservations: list[Path] = []
        self._names: dict[str, tuple[str | None, float]] = {}  # of drafts, with their times

    # files for the user

    def free(self, stem: str, suffix: str) -> Path:
        """Return an unused path in the folder for a file of this name; it is reserved until the task ends."""
        clean = _clean(stem)
        for count in itertools.count(1):
            path = self.root / (f"{clean}{suffix}" if count == 1 else f"{clean}-{count}{suffix}")
            if not path.exists() and not path.is_symlink() and self._reserve(path.name):
                return path
        raise AssertionError("there is always a free name")

    def _reserve(self, name: str) -> bool:
        """Reserve a file name until `release`; return False if another task has it."""
        mark = self._new_path("names", hashlib.sha256(name.encode()).hexdigest()[:32], "")
        with contextlib.suppress(FileNotFoundError):
            if now() - mark.stat().st_mtime > STALE_SECONDS:
                mark.unlink()
        try:
            mark.open("x").close()
        except FileExistsError:
            return False
        self._reservations.append(mark)
        return True

    def release(self) -> None:
        """Release the reserved names; existing files are never overwritten anyway."""
        while self._reservations:
            self._reservations.pop().unlink(missing_ok=True)

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder itself, by its plain name."""
        path = self.root / name
        if not _NAME.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise InputError(f"there is no file '{name[:80]}' in the folder of the studio.")
        return path

    def scratch(self) -> Path:
        """Return the folder for temporary files; old files of terminated processes are removed."""
        directory = self._new_path("scratch", "anything", "").parent
        for path, time in _newest(directory):
            if now() - time > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
        return directory

    # drafts: the state of a tab

    def save_draft(self, key: str, draft: dict[str, Any]) -> None:
        """Save the draft of a tab."""
        try:
            text = json.dumps(draft, allow_nan=False)
        except (ValueError, RecursionError):
            raise InputError(
                "the draft cannot be saved: it is nested too deeply or contains a non-finite number."
            ) from None
        if len(text) > MAX_DRAFT:
            raise InputError(f"the draft has {len(text)} characters. Expected at most {MAX_DRAFT}.")
        write_text(self._new_path("drafts", key, ".json"), text)
        self._trim("drafts", MAX_DRAFTS)

    def draft(self, key: str) -> dict[str, Any] | None:
        """Return a draft; None if there is no readable one."""
        path = self._path("drafts", key, ".json")
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def drafts(self) -> list[dict[str, Any]]:
        """Return key, name and time of all drafts, the newest first."""
        found = [(path, time) for path, time in _newest(self.root / OWN / "drafts") if KEY.fullmatch(path.stem)]
        named = [(path.stem, self._name(path, time), time) for path, time in found[:MAX_DRAFTS]]
        return [{"key": key, "name": name, "time": time} for key, name, time in named if name is not None]

    def _name(self, path: Path, time: float) -> str | None:
        """Return the name of a draft; the file is read again only if it has changed."""
        if self._names.get(path.stem, (None, 0.0))[1] != time:
            draft = self.draft(path.stem)
            name = draft.get("name", "") if draft is not None else None
            self._names[path.stem] = name[:200] if isinstance(name, str) else None if draft is None else "", time
        return self._names[path.stem][0]

    # runs: results for later tasks

    def new_run(self) -> tuple[str, Path]:
        """Return a new key and path for a run."""
        key = secrets.token_hex(8)
        path = self._new_path("runs", key, ".nc")
        self._trim("runs", MAX_RUNS - 1)
        return key, path

    def run(self, key: str) -> Path:
        """Return the path of a run."""
        path = self._path("runs", key, ".nc")
        if not path.is_file():
            raise InputError("this run is no longer stored. Simulate again.")
        return path

    # uploads: files dropped on the page

    def new_upload(self, name: str) -> tuple[str, Path]:
        """Return a new key and path for an uploaded file; its name is reduced to safe characters."""
        key = secrets.token_hex(8)
        path = self._new_path("uploads", key, f"-{_clean(name.replace(chr(92), '/').rpartition('/')[2])}")
        self._trim("uploads", MAX_UPLOADS - 1)
        return key, path

    def upload(self, key: str) -> tuple[str, Path]:
        """Return name and path of an uploaded file."""
        directory = self._path("uploads", key, "").parent
        found = next(directory.glob(f"{key}-*"), None)
        if found is None:
            raise InputError("this file is no longer stored. Drop it on the page again.")
        return found.name.removeprefix(f"{key}-"), found

    def _path(self, kind: str, key: str, suffix: str) -> Path:
        if not KEY.fullmatch(key):
            raise InputError(f"studio: got the key '{key[:40]}'. Expected 8 to 32 lowercase letters and digits.")
        directory = self.root / OWN / kind
        if directory.resolve() != directory:  # a symbolic link in the folder
            raise InputError(f"{directory} is a symbolic link. Expected a folder of the studio. Remove the link.")
        return directory / f"{key}{suffix}"

    def _new_path(self, kind: str, key: str, suffix: str) -> Path:
        """Return the path of `_path`, after creating its folder."""
        path = self._path(kind, key, suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = self.root / OWN / ".gitignore"
        if not ignore.exists():
            write_text(ignore, "*\n")
        return path

    def _trim(self, kind: str, limit: int) -> None:
        count = 0
        for path, time in _newest(self.root / OWN / kind):
            partial = path.name.startswith(".")  # being written, or left by a terminated process
            count += not partial
            if (count > limit and not partial) or (partial and now() - time > STALE_SECONDS):
                path.unlink(missing_ok=True)


def _newest(directory: Path) -> list[tuple[Path, float]]:
    """Return files and their times, the newest first; other processes may remove files concurrently."""
    found = []
    for path in directory.iterdir() if directory.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            found.append((path, path.stat().st_mtime))
    return sorted(found, key=lambda each: each[1], reverse=True)


def _clean(name: str) -> str:
    """Return a name of safe characters with the same suffix that is not reserved on Windows."""
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[-80:].strip("-.") or "model"
    return f"model-{clean}" if _RESERVED.match(clean) else clean
