"""The step of the build that makes the viewer; see `viewer/build.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ViewerHook(BuildHookInterface[Any]):
    """Puts the files of the viewer and of the math font into the package before it is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs the build of the viewer, which does nothing if nothing has changed."""
        subprocess.run([sys.executable, str(Path(self.root) / "viewer" / "build.py")], check=True)
