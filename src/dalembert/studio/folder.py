"""The one place where the studio writes: the folder in which it was started, and a folder of its own in it for drafts and runs.

Names come from pages, so none is used as it comes: a file is a plain name in the folder itself, drafts and runs are known by
letters and digits. Files are written completely or not at all; nothing that was there before is written over.
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
MOST_DRAFTS, MOST_RUNS, MOST_UPLOADS = 50, 40, 20  # the newest are kept
MAX_DRAFT = 4_000_000  # characters
MAX_UPLOAD = 20_000_000  # bytes
LEFT_BEHIND = 86_400.0  # seconds after which a file that was not completed is removed
KEY = re.compile(r"[a-z0-9]{8,32}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}")


class Folder:
    """Drafts, runs and files of one studio."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._held: list[Path] = []
        self._names: dict[str, tuple[str | None, float]] = {}  # of drafts, with their times

    # files that the user takes away

    def free(self, stem: str, suffix: str) -> Path:
        """A path in the folder at which nothing is, for a file of this name; no other task gets it before this one ends."""
        clean = _clean(stem)
        for count in itertools.count(1):
            path = self.root / (f"{clean}{suffix}" if count == 1 else f"{clean}-{count}{suffix}")
            if not path.exists() and not path.is_symlink() and self._hold(path.name):
                return path
        raise AssertionError("there is always a free name")

    def _hold(self, name: str) -> bool:
        """Reserve a file name until `release`; False where another task has it."""
        mark = self._made("names", hashlib.sha256(name.encode()).hexdigest()[:32], "")
        with contextlib.suppress(FileNotFoundError):
            if now() - mark.stat().st_mtime > LEFT_BEHIND:
                mark.unlink()
        try:
            mark.open("x").close()
        except FileExistsError:
            return False
        self._held.append(mark)
        return True

    def release(self) -> None:
        """Release the reserved names: files that were written protect themselves."""
        while self._held:
            self._held.pop().unlink(missing_ok=True)

    def file(self, name: str) -> Path:
        """A file in the folder itself, by its plain name."""
        path = self.root / name
        if not _NAME.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise InputError(f"there is no file '{name[:80]}' in the folder of the studio.")
        return path

    def scratch(self) -> Path:
        """A folder for what is under way; what was left behind there by a process that was ended is removed."""
        place = self._made("scratch", "anything", "").parent
        for path, time in _newest(place):
            if now() - time > LEFT_BEHIND:
                shutil.rmtree(path, ignore_errors=True)
        return place

    # drafts: what a tab is working on

    def save_draft(self, key: str, draft: dict[str, Any]) -> None:
        """Keeps what a tab is working on."""
        try:
            text = json.dumps(draft, allow_nan=False)
        except (ValueError, RecursionError):
            raise InputError(
                "the draft cannot be kept: it is nested too deeply, or holds a number that is none."
            ) from None
        if len(text) > MAX_DRAFT:
            raise InputError(f"the draft has {len(text)} characters. Expected at most {MAX_DRAFT}.")
        write_text(self._made("drafts", key, ".json"), text)
        self._trim("drafts", MOST_DRAFTS)

    def draft(self, key: str) -> dict[str, Any] | None:
        """A draft, if there is one that can be read."""
        path = self._own("drafts", key, ".json")
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def drafts(self) -> list[dict[str, Any]]:
        """Key, name and time of all drafts, the newest first."""
        found = [(path, time) for path, time in _newest(self.root / OWN / "drafts") if KEY.fullmatch(path.stem)]
        named = [(path.stem, self._name(path, time), time) for path, time in found[:MOST_DRAFTS]]
        return [{"key": key, "name": name, "time": time} for key, name, time in named if name is not None]

    def _name(self, path: Path, time: float) -> str | None:
        """The name of a draft; it is read again only when it has changed."""
        if self._names.get(path.stem, (None, 0.0))[1] != time:
            draft = self.draft(path.stem)
            name = draft.get("name", "") if draft is not None else None
            self._names[path.stem] = name[:200] if isinstance(name, str) else None if draft is None else "", time
        return self._names[path.stem][0]

    # runs: results that later tasks need

    def new_run(self) -> tuple[str, Path]:
        """A key and the path for a run."""
        key = secrets.token_hex(8)
        path = self._made("runs", key, ".nc")
        self._trim("runs", MOST_RUNS - 1)
        return key, path

    def run(self, key: str) -> Path:
        """The path of a run."""
        path = self._own("runs", key, ".nc")
        if not path.is_file():
            raise InputError("this run is no longer kept. Simulate again.")
        return path

    # uploads: files that were dropped on the page

    def new_upload(self, name: str) -> tuple[str, Path]:
        """A key and the path for a file that comes from the page; only harmless characters of its name stay."""
        key = secrets.token_hex(8)
        path = self._made("uploads", key, f"-{_clean(name.replace(chr(92), '/').rpartition('/')[2])}")
        self._trim("uploads", MOST_UPLOADS - 1)
        return key, path

    def upload(self, key: str) -> tuple[str, Path]:
        """Name and path of a file that came from the page."""
        place = self._own("uploads", key, "").parent
        found = next(place.glob(f"{key}-*"), None)
        if found is None:
            raise InputError("this file is no longer kept. Drop it on the page again.")
        return found.name.removeprefix(f"{key}-"), found

    def _own(self, kind: str, key: str, suffix: str) -> Path:
        if not KEY.fullmatch(key):
            raise InputError(f"studio: got the key '{key[:40]}'. Expected 8 to 32 small letters and digits.")
        place = self.root / OWN / kind
        if place.resolve() != place:  # a link that came with the folder
            raise InputError(f"{place} leads elsewhere. Expected a folder of the studio's own: remove it.")
        return place / f"{key}{suffix}"

    def _made(self, kind: str, key: str, suffix: str) -> Path:
        """The same, and a folder to write it to."""
        path = self._own(kind, key, suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = self.root / OWN / ".gitignore"
        if not ignore.exists():
            write_text(ignore, "*\n")
        return path

    def _trim(self, kind: str, most: int) -> None:
        kept = 0
        for path, time in _newest(self.root / OWN / kind):
            partial = path.name.startswith(".")  # under way, or left behind by a process that was ended
            kept += not partial
            if (kept > most and not partial) or (partial and now() - time > LEFT_BEHIND):
                path.unlink(missing_ok=True)


def _newest(place: Path) -> list[tuple[Path, float]]:
    """Files and their times, the newest first; other processes may remove some meanwhile."""
    found = []
    for path in place.iterdir() if place.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            found.append((path, path.stat().st_mtime))
    return sorted(found, key=lambda each: each[1], reverse=True)


def _clean(name: str) -> str:
    """A name of letters, digits and few signs, which keeps its ending and is none that Windows keeps for itself."""
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[-80:].strip("-.") or "model"
    return f"model-{clean}" if _RESERVED.match(clean) else clean
