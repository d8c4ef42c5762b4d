"""Tasks of the studio by name: each is a function of its arguments, the folder, and a progress callback.

A quick task answers while the user types; it runs in a separate process, so that it never waits for a long task. Tasks call the
public API and convert its results to JSON data; HTML in answers is escaped by `display` and `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks import (
    describe_task,
    dh_grid,
    downloads,
    equilibrium_task,
    form_edits,
    forms,
    glossary,
    robot_task,
    simulate_task,
)


@dataclass(frozen=True)
class Task:
    """A function, and whether it answers while the user types."""

    call: Callable[[Payload, Folder, ReportProgress], Answer]
    quick: bool = False

    def work(self, values: object, folder: Folder, progress: ReportProgress) -> Answer:
        """Return the answer as JSON-compatible data."""
        try:
            return self.call(Payload(values), folder, progress)
        finally:
            folder.release()


TASKS: dict[str, Task] = {
    "examples": Task(describe_task.examples, quick=True),
    "example": Task(describe_task.example, quick=True),
    "draft": Task(describe_task.draft, quick=True),
    "picture": Task(describe_task.picture),
    "describe": Task(describe_task.describe, quick=True),
    "format": Task(forms.file_format, quick=True),
    "edit": Task(form_edits.edit, quick=True),
    "import": Task(describe_task.import_file),
    "simulation_options": Task(simulate_task.simulation_options, quick=True),
    "write_values": Task(simulate_task.write_values, quick=True),
    "prepare": Task(simulate_task.prepare),
    "simulate": Task(simulate_task.simulate),
    "equilibria": Task(equilibrium_task.equilibria),
    "modes": Task(equilibrium_task.modes),
    "mode": Task(equilibrium_task.mode),
    "sweep": Task(simulate_task.sweep),
    "read_table": Task(dh_grid.read_table, quick=True),
    "write_table": Task(dh_grid.write_table, quick=True),
    "robot": Task(robot_task.robot_properties, quick=True),
    "inverse_kinematics": Task(robot_task.inverse_kinematics),
    "inverse_dynamics": Task(robot_task.inverse_dynamics),
    "forward_dynamics": Task(robot_task.forward_dynamics),
    "file_kinds": Task(downloads.file_kinds, quick=True),
    "download": Task(downloads.download),
    "declarations": Task(describe_task.declarations, quick=True),
    "summary": Task(describe_task.summary),
    "equations": Task(describe_task.equations),
    "prove": Task(equilibrium_task.prove),
    "verify": Task(equilibrium_task.verify),
    "compare": Task(equilibrium_task.compare),
    "glossary": Task(glossary.glossary, quick=True),
}


def warm_up() -> None:
    """Load modules that the first task needs."""
    describe_task.describe(Payload({"text": _FIRST}), None, lambda *progress: None)


_FIRST = """name = "first"
coordinates.x = {}
[[body]]
name = "a"
mass = 1
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
"""
