"""The one place where the studio writes: the folder in which it was started, and a folder of its own in it for drafts and runs.

Names come from pages, so none is used as it comes: a file is a plain name in the folder itself, drafts and runs are known by
letters and digits. Files are written completely or not at all; nothing that was there before is written over.
"""

from __future__ import annotations

import itertools
import json
import re
import secrets
from pathlib import Path
from typing import Any

from dalembert.errors import InputError
from dalembert.exporters.files import write_text

OWN = ".dalembert-studio"
MOST_DRAFTS, MOST_RUNS = 50, 40  # the newest are kept
MAX_DRAFT = 4_000_000  # characters
_KEY = re.compile(r"[a-z0-9]{8,32}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}")


class Folder:
    """Drafts, runs and files of one studio."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    # files that the user takes away

    def free(self, stem: str, suffix: str) -> Path:
        """A path in the folder at which nothing is, for a file of this name."""
        clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:80] or "model"
        for count in itertools.count(1):
            path = self.root / (f"{clean}{suffix}" if count == 1 else f"{clean}-{count}{suffix}")
            if not path.exists() and not path.is_symlink():
                return path
        raise AssertionError("there is always a free name")

    def file(self, name: str) -> Path:
        """A file in the folder itself, by its plain name."""
        path = self.root / name
        if not _NAME.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise InputError(f"there is no file '{name[:80]}' in the folder of the studio.")
        return path

    def scratch(self) -> Path:
        """A folder for what is under way."""
        place = self.root / OWN / "scratch"
        place.mkdir(parents=True, exist_ok=True)
        return place

    # drafts: what a tab is working on

    def save_draft(self, key: str, draft: dict[str, Any]) -> None:
        """Keeps what a tab is working on."""
        text = json.dumps(draft, ensure_ascii=False, allow_nan=False)
        if len(text) > MAX_DRAFT:
            raise InputError(f"the draft has {len(text)} characters. Expected at most {MAX_DRAFT}.")
        write_text(self._own("drafts", key, ".json"), text)
        self._trim("drafts", MOST_DRAFTS)

    def draft(self, key: str) -> dict[str, Any] | None:
        """A draft, if there is one that can be read."""
        path = self._own("drafts", key, ".json")
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def drafts(self) -> list[dict[str, Any]]:
        """Key, name and time of all drafts, the newest first."""
        place = self.root / OWN / "drafts"
        found = (
            sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True) if place.is_dir() else []
        )
        out = []
        for path in found[:MOST_DRAFTS]:
            draft = self.draft(path.stem) if _KEY.fullmatch(path.stem) else None
            if draft is not None:
                out.append({"key": path.stem, "name": str(draft.get("name", "")), "time": path.stat().st_mtime})
        return out

    # runs: results that later tasks need

    def new_run(self) -> tuple[str, Path]:
        """A key and the path for a run."""
        key = secrets.token_hex(8)
        path = self._own("runs", key, ".nc")
        self._trim("runs", MOST_RUNS - 1)
        return key, path

    def run(self, key: str) -> Path:
        """The path of a run."""
        path = self._own("runs", key, ".nc")
        if not path.is_file():
            raise InputError("this run is no longer kept. Simulate again.")
        return path

    def _own(self, kind: str, key: str, suffix: str) -> Path:
        if not _KEY.fullmatch(key):
            raise InputError(f"studio: got the key '{key[:40]}'. Expected 8 to 32 small letters and digits.")
        place = self.root / OWN / kind
        place.mkdir(parents=True, exist_ok=True)
        ignore = self.root / OWN / ".gitignore"
        if not ignore.exists():
            write_text(ignore, "*\n")
        return place / f"{key}{suffix}"

    def _trim(self, kind: str, most: int) -> None:
        place = self.root / OWN / kind
        for path in sorted(place.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[most:]:
            path.unlink(missing_ok=True)
