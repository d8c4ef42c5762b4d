"""Run equations and record the motion as a `Trajectory`; see `Equations.simulate`."""

from __future__ import annotations

from dalembert.api.recording import Recording
from dalembert.api.run_checks import check_run, notes_on_rank
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.function import interpreting_long_programs
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.main_loop import Stretches, Task, stretches_of
from dalembert.simulation.partition import joined


def simulate(equations: BoundEquations, task: Task) -> Trajectory:
    """Integrate from the initial state, record the samples, and check the run against the integrator's tolerance."""
    found = stretches_of(equations, task)
    assert found.accuracy is not None
    recording = recording_of(equations, found)
    with interpreting_long_programs():
        notes = (*notes_on_rank(recording), *check_run(recording, found.accuracy))
    return recording.trajectory(notes)


def recording_of(equations: BoundEquations, found: Stretches) -> Recording:
    """What is evaluated along an integrated run."""
    known = (found.integrator, found.cpu_seconds, found.notes, found.happened, found.held, found.impulses)
    return Recording(equations, joined(found.parts), *known)
