"""Taylor's method as heyoka has it: adaptive in order and step, at the accuracy of the machine unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import EngineError, InputError
from dalembert.integrators.base import InitialValueProblem, Settings, Step, Stepper, collapse


class Taylor(Stepper):
    """heyoka's adaptive integrator, stepped one by one."""

    name = "taylor"
    evaluations = None

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        if problem.taylor is None:
            raise EngineError(
                "the integrator 'taylor' needs the engine 'heyoka', and these equations run on 'portable'. "
                "Use integrator='dop853', or derive with engine='heyoka' (Linux)."
            )
        if not problem.smooth:
            raise InputError(
                "the integrator 'taylor' cannot see where abs, sign, min, max or piecewise switch branches, so it would step "
                "over them. Use integrator='dop853' for this model."
            )
        self._problem = problem
        self._largest = settings.max_step or np.inf
        self._machine: Any = problem.taylor(settings.rtol)
        self._machine.time = problem.t0
        self._machine.state[:] = problem.y0

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._machine.state[:] = y

    def advance(self, limit: float) -> Step:
        """One step, with its Taylor coefficients as dense output."""
        machine = self._machine
        t0 = float(machine.time)
        before = machine.state.copy()
        _, h = machine.step(max_delta_t=min(limit - t0, self._largest), write_tc=True)
        t1 = float(machine.time)
        if limit - t1 <= 4 * np.spacing(abs(limit)):
            t1 = limit
        after = machine.state.copy()
        if not np.isfinite(after).all():
            return Step(t0, t1, after, lambda _: before, lambda: lambda _: before)
        if t1 - t0 <= 0 or (abs(h) < 16 * np.spacing(abs(t0)) and t1 != limit):
            raise collapse(self._problem, t0, float(h), before)

        def keep() -> Callable[[float], np.ndarray]:
            coefficients = machine.tc[:, ::-1].copy()
            return lambda time: np.array([np.polyval(row, time - t0) for row in coefficients])

        return Step(t0, t1, after, lambda time: machine.update_d_output(time), keep)
