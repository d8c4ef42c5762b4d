"""Tasks of the studio by name: each is a function of its arguments, the folder, and a progress callback.

A quick task answers while the user types; it runs in a separate process, so that it never waits for a long task. Tasks call the
public API and convert its results to JSON data; HTML in answers is escaped by `display` and `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks import (
    describe_task,
    dh_grid,
    downloads,
    equilibrium_task,
    evidence_task,
    form_edits,
    forms,
    gallery_page,
    help,
    robot_task,
    simulate_task,
    sweep_task,
)


@dataclass(frozen=True)
class Task:
    """A function, and whether it answers while the user types."""

    call: Callable[[Given, Folder, Tell], Answer]
    quick: bool = False

    def work(self, values: object, folder: Folder, tell: Tell) -> Answer:
        """Return the answer as JSON-compatible data."""
        try:
            return self.call(Given(values), folder, tell)
        finally:
            folder.release()


TASKS: dict[str, Task] = {
    "examples": Task(gallery_page.examples, quick=True),
    "example": Task(gallery_page.example, quick=True),
    "draft": Task(gallery_page.draft, quick=True),
    "picture": Task(gallery_page.picture),
    "describe": Task(describe_task.describe, quick=True),
    "format": Task(forms.file_format, quick=True),
    "edit": Task(form_edits.edit, quick=True),
    "import": Task(describe_task.taken_in),
    "choices": Task(simulate_task.choices, quick=True),
    "written": Task(simulate_task.written, quick=True),
    "prepare": Task(simulate_task.prepare),
    "simulate": Task(simulate_task.simulate),
    "equilibria": Task(equilibrium_task.equilibria),
    "modes": Task(equilibrium_task.modes),
    "mode": Task(equilibrium_task.mode),
    "sweep": Task(sweep_task.sweep),
    "read_table": Task(dh_grid.read_table, quick=True),
    "write_table": Task(dh_grid.write_table, quick=True),
    "robot": Task(robot_task.about_robot, quick=True),
    "reach": Task(robot_task.reach),
    "follow": Task(robot_task.follow),
    "drive_along": Task(robot_task.drive_along),
    "kinds": Task(downloads.kinds, quick=True),
    "take": Task(downloads.take),
    "declared": Task(describe_task.declared, quick=True),
    "understand": Task(describe_task.understand),
    "equations": Task(describe_task.equations),
    "prove": Task(evidence_task.prove),
    "verify": Task(evidence_task.verify),
    "compare": Task(evidence_task.compare),
    "help": Task(help.table, quick=True),
}


def warm_up() -> None:
    """Load modules that the first task needs."""
    describe_task.describe(Given({"text": _FIRST}), None, lambda *progress: None)


_FIRST = """name = "first"
coordinates.x = {}
[[body]]
name = "a"
mass = 1
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
"""
