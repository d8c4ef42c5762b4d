"""Build hook for the web viewer; see `viewer/build.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ViewerHook(BuildHookInterface[Any]):
    """Add the files of the viewer and of the math font to the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the viewer if its sources have changed."""
        subprocess.run([sys.executable, str(Path(self.root) / "viewer" / "build.py")], check=True)
