"""Run equations and record the motion as a `Trajectory`: the options of a run, which are written once, and the run itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

from dalembert.api.recording import Recording
from dalembert.api.run_checks import check_run, notes_on_rank
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.function import interpreting_long_programs
from dalembert.model.initial_state import Start
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.integrators.integrate import Settings
from dalembert.simulation.main_loop import Stretches, Task, stretches_of
from dalembert.simulation.partition import joined

P = ParamSpec("P")
R = TypeVar("R")


class SimulationOptions(TypedDict, total=False):
    """The options of a run besides its duration. Their defaults are those of `Task` and `Settings`, else None."""

    q0: Start
    qd0: Start
    t0: float
    integrator: str | None
    samples: int | None
    times: Sequence[float] | None
    project: bool
    rechoose: bool
    stabilization: float | tuple[float, float] | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    step: float | None
    dense: bool
    progress: Callable[[float], bool | None] | None
    parameters: Mapping[str, float] | None


_SETTINGS = {each.name: each.default for each in fields(Settings)}
_DEFAULTS = {each.name: each.default for each in fields(Task)} | _SETTINGS


def takes_options(names: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a function with `**options` a signature in which they are listed: all of them, or those in `names`.

    Keyword arguments of the function itself are named there, too, where they stand among the options.
    """

    def listed(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        positional = [x for x in own.parameters.values() if x.kind is x.POSITIONAL_OR_KEYWORD]
        keywords = [
            own.parameters.get(name) or _parameter(name) for name in names.split() or SimulationOptions.__annotations__
        ]
        vars(function)["__signature__"] = own.replace(parameters=[*positional, *keywords])
        return function

    return listed


def _parameter(name: str) -> Parameter:
    annotation = SimulationOptions.__annotations__[name].__forward_arg__
    return Parameter(name, Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=annotation)


def task_of(duration: float | None, *, change_charts: bool = True, **options: Unpack[SimulationOptions]) -> Task:
    """The run with some options; `parameters` and `stabilization`, which change the equations, are not among them."""
    of_task: dict[str, Any] = {**options}
    settings = Settings(**{name: of_task.pop(name) for name in _SETTINGS if name in of_task})
    return Task(duration, settings=settings, change_charts=change_charts, **of_task)


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
