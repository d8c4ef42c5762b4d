"""What a tab can ask for, by name: each task is a function of what was given, the folder, and whom to tell how far it is.

A quick task answers while somebody types and has a process of its own, so that it never waits behind a long one. Tasks call the
pipeline and turn what it returns into plain data; HTML in answers is escaped by `show` and `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.studio.folder import Folder
from dalembert.studio.given import Given, Tell
from dalembert.studio.tasks import (
    deriving,
    describing,
    editing,
    evidence,
    gallery_page,
    help,
    outlining,
    rest,
    robot,
    simulating,
    sweeping,
    table,
    taking,
    understanding,
)


@dataclass(frozen=True)
class Task:
    """A function, and whether it answers while somebody types."""

    call: Callable[[Given, Folder, Tell], dict[str, Any]]
    quick: bool = False

    def work(self, values: object, folder: Folder, tell: Tell) -> dict[str, Any]:
        """The answer as plain data."""
        try:
            return self.call(Given(values), folder, tell)
        finally:
            folder.release()


TASKS: dict[str, Task] = {
    "examples": Task(gallery_page.examples, quick=True),
    "example": Task(gallery_page.example, quick=True),
    "draft": Task(gallery_page.draft, quick=True),
    "picture": Task(gallery_page.picture),
    "describe": Task(describing.describe, quick=True),
    "format": Task(outlining.file_format, quick=True),
    "edit": Task(editing.edit, quick=True),
    "import": Task(describing.taken_in),
    "choices": Task(simulating.choices, quick=True),
    "written": Task(simulating.written, quick=True),
    "prepare": Task(simulating.prepare),
    "simulate": Task(simulating.simulate),
    "equilibria": Task(rest.equilibria),
    "modes": Task(rest.modes),
    "mode": Task(rest.mode),
    "sweep": Task(sweeping.sweep),
    "read_table": Task(table.read_table, quick=True),
    "write_table": Task(table.write_table, quick=True),
    "robot": Task(robot.about_robot, quick=True),
    "reach": Task(robot.reach),
    "follow": Task(robot.follow),
    "drive_along": Task(robot.drive_along),
    "kinds": Task(taking.kinds, quick=True),
    "take": Task(taking.take),
    "declared": Task(understanding.declared, quick=True),
    "understand": Task(understanding.understand),
    "equations": Task(deriving.equations),
    "prove": Task(evidence.prove),
    "verify": Task(evidence.verify),
    "compare": Task(evidence.compare),
    "help": Task(help.table, quick=True),
}


def warm_up() -> None:
    """Loads what the first task would wait for."""
    describing.describe(Given({"text": _FIRST}), None, lambda *progress: None)


_FIRST = """name = "first"
coordinates.x = {}
[[body]]
name = "a"
mass = 1
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
"""
