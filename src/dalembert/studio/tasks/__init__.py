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
    describe,
    edit,
    equations,
    evidence,
    examples,
    help,
    outline,
    rest,
    robot,
    simulate,
    sweep,
    table,
    take,
    understand,
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
    "examples": Task(examples.examples, quick=True),
    "example": Task(examples.example, quick=True),
    "draft": Task(examples.draft, quick=True),
    "picture": Task(examples.picture),
    "describe": Task(describe.describe, quick=True),
    "format": Task(outline.file_format, quick=True),
    "edit": Task(edit.edit, quick=True),
    "import": Task(describe.taken_in),
    "choices": Task(simulate.choices, quick=True),
    "written": Task(simulate.written, quick=True),
    "prepare": Task(simulate.prepare),
    "simulate": Task(simulate.simulate),
    "equilibria": Task(rest.equilibria),
    "modes": Task(rest.modes),
    "mode": Task(rest.mode),
    "sweep": Task(sweep.sweep),
    "read_table": Task(table.read_table, quick=True),
    "write_table": Task(table.write_table, quick=True),
    "robot": Task(robot.about_robot, quick=True),
    "reach": Task(robot.reach),
    "follow": Task(robot.follow),
    "drive_along": Task(robot.drive_along),
    "kinds": Task(take.kinds, quick=True),
    "take": Task(take.take),
    "declared": Task(understand.declared, quick=True),
    "understand": Task(understand.understand),
    "equations": Task(equations.equations),
    "prove": Task(evidence.prove),
    "verify": Task(evidence.verify),
    "compare": Task(evidence.compare),
    "help": Task(help.table, quick=True),
}


def warm_up() -> None:
    """Loads what the first task would wait for."""
    describe.describe(Given({"text": _FIRST}), None, lambda *progress: None)


_FIRST = """name = "first"
coordinates.x = {}
[[body]]
name = "a"
mass = 1
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
"""
