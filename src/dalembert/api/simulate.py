"""Simulation of equations and recording as a `Trajectory`; the single definition of the options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, signature
from numbers import Real
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

import numpy as np

from dalembert.api.recording import Recording
from dalembert.api.run_checks import check_run, notes_on_rank
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import is_real
from dalembert.codegen.function import interpreting_long_programs
from dalembert.errors import InputError, NotApplicableError, short_repr
from dalembert.formalisms.shared.about import About
from dalembert.model.evaluation import Start
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import RunOptions, Segments, integrate_segments
from dalembert.simulation.partition import merge_segments

P = ParamSpec("P")
R = TypeVar("R")


class SimulationOptions(TypedDict, total=False):
    """The options of a run except its duration. Defaults are those of `RunOptions` and `Settings`, else None."""

    q0: Start
    qd0: Start
    t0: float
    integrator: str | None
    samples: int | None
    times: Sequence[float] | np.ndarray | None
    project: bool
    repartition: bool
    stabilization: float | tuple[float, float] | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    step: float | None
    dense: bool
    progress: Callable[[float], bool | None] | None
    parameters: Mapping[str, float] | None


_SETTINGS = {each.name: each.default for each in fields(Settings)}
_DEFAULTS = {each.name: each.default for each in fields(RunOptions)} | _SETTINGS


def takes_options(names: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function with `**options` with an explicit signature: all options, or those in `names`.

    `names` also contains the keyword arguments of the function itself, at their position among the options.
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


def task_of(duration: float | None, *, change_charts: bool = True, **options: Unpack[SimulationOptions]) -> RunOptions:
    """The task with these options, except `parameters` and `stabilization`, which change the equations."""
    of_task: dict[str, Any] = {**options}
    settings = Settings(**{name: of_task.pop(name) for name in _SETTINGS if name in of_task})
    return RunOptions(duration, settings=settings, change_charts=change_charts, **of_task)


def simulate(equations: BoundEquations, task: RunOptions) -> Trajectory:
    """Integrate from the initial state, record the samples, and check the run against the integrator's tolerance."""
    found = integrate_segments(equations, task)
    assert found.accuracy is not None
    recording = recording_of(equations, found)
    with interpreting_long_programs():
        notes = (*notes_on_rank(recording), *check_run(recording, found.accuracy))
    return recording.trajectory(notes)


def recording_of(equations: BoundEquations, found: Segments) -> Recording:
    """The recording of an integrated run."""
    known = (found.integrator, found.cpu_seconds, found.notes, found.events, found.initial_equations, found.impulses)
    return Recording(equations, merge_segments(found.parts), *known)


_GAINS = "one number α for dirac and hamilton, or a pair (α, β)"


def read_gains(gains: object) -> tuple[float, float | None]:
    """Read α and β of a stabilization, or α and None.

    >>> read_gains(5.0), read_gains((25, 10))
    ((5.0, None), (25.0, 10.0))
    """
    if isinstance(gains, Real) and not isinstance(gains, bool):
        return _gain(gains, gains), None
    if isinstance(gains, Sequence) and not isinstance(gains, str) and len(gains) == 2:
        alpha, beta = gains
        return _gain(alpha, gains), _gain(beta, gains)
    raise InputError(f"simulate, stabilization: got {short_repr(gains)}. Expected {_GAINS}.")


def _gain(value: object, gains: object) -> float:
    if isinstance(value, Real) and is_real(value) and float(value) >= 0:
        return float(value)
    raise InputError(f"simulate, stabilization: got {short_repr(gains)}. Expected finite numbers >= 0, {_GAINS}.")


def require_gains(about: About, alpha: float, beta: float | None) -> None:
    """Raise if the formalism does not support this kind of stabilization."""
    key = about.key
    if not (about.servo or about.first_order):
        raise NotApplicableError(
            f"formalism '{key}' does not support stabilization: its velocity variables satisfy the constraints. "
            "Omit it to project after every step, or use another formalism."
        )
    if beta is None and not about.first_order:
        raise InputError(
            f"formalism '{key}', stabilization: got one number, {alpha:g}. Expected a pair (α, β) of φ̈ + β φ̇ + α φ = 0; "
            "one number is only for dirac and hamilton."
        )
    if beta is not None and not about.servo:
        raise InputError(
            f"formalism '{key}', stabilization: got the pair ({alpha:g}, {beta:g}). Expected one number α of ċ + α c = 0; "
            "its constraints in phase space are differentiated only once."
        )
