"""Whether the mesh files that a robot names are there; nothing of them is read."""

from __future__ import annotations

from pathlib import Path

from dalembert.importers.urdf.elements import Robot
from dalembert.importers.urdf.reading import Reading

_PACKAGE = "package://"
_LEVELS = 8


def remark_missing(robot: Robot, folder: Path, reading: Reading) -> None:
    """Remark the mesh files that are not beside the file, nor in a package around it."""
    seen: dict[str, bool] = {}
    for link in robot.links:
        for visual in link.visuals:
            if visual.mesh and visual.mesh not in seen:
                seen[visual.mesh] = _exists(visual.mesh, folder)
            if visual.mesh and not seen[visual.mesh]:
                reading.remark("a mesh file was not found", f"{visual.mesh!r} (line {visual.line})")


def _exists(name: str, folder: Path) -> bool:
    """Whether the file is there; of names that lead elsewhere (http:, file:, absolute paths) nothing is known."""
    if name.startswith(_PACKAGE):
        name, folders = name.removeprefix(_PACKAGE), [folder, *list(folder.resolve().parents)[:_LEVELS]]
    else:
        folders = [folder]
    if ":" in name or name.startswith(("/", "\\")):
        return False
    try:
        return any((place / name).is_file() for place in folders)
    except (OSError, ValueError):
        return False
