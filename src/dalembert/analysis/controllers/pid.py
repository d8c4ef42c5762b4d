"""Proportional, integral and derivative control of one coordinate.

u = kp e + kd ė + ki ∫ e dt,     e = target − coordinate
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dalembert.analysis.controllers.controlled_joints import Wanted, gain, target_of
from dalembert.arguments import numbers_given, shown
from dalembert.errors import InputError
from dalembert.model.profiles import Profile
from dalembert.model.python_laws import State
from dalembert.symbolic.symbols import Kind

Target = float | Profile | Callable[[float], float | tuple[float, float, float]]


class PD:
    """u = kp e + kd ė for a target that is a number, a profile, or a function of time; continuous or sampled.

    A function of time gives the position, taken as at rest, or position, rate and acceleration.

    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum").copy()
    >>> _ = model.actuator("bob", law=PD("theta", 0.5, kp=200, kd=25))
    >>> round(float(dl.simulate(model, 5.0)["theta"][-1]), 3)  # gravity stays
    0.477
    """

    def __init__(self, coordinate: str, target: Target, kp: float, kd: float = 0.0) -> None:
        where = f"{type(self).__name__} of '{coordinate}'"
        if not isinstance(coordinate, str):
            raise InputError(f"{type(self).__name__}, coordinate: got {shown(coordinate)}. Expected a name.")
        self.coordinate, self.kp, self.kd = coordinate, gain(kp, f"{where}, kp"), gain(kd, f"{where}, kd")
        self._rate = Kind.RATE.of(coordinate)
        self._target = target_of(target, (), f"{where}, target")

    def _errors(self, t: float, state: State) -> tuple[float, float]:
        """e and ė."""
        wanted: Wanted = self._target(t)
        return wanted.position - state[self.coordinate], wanted.rate - state[self._rate]

    def __call__(self, t: float, state: State) -> float:
        """The effort at a state."""
        e, rate = self._errors(t, state)
        return self.kp * e + self.kd * rate


class PID(PD):
    """u = kp e + kd ė + ki ∫ e dt, sampled; cut off at ±`limit` or at `limit` = (lowest, highest) without winding up.

    The integral counts the error of each sample until the next. Where the effort is cut off, it only counts errors that lead
    back.

    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum").copy()
    >>> _ = model.actuator("bob", law=PID("theta", 0.5, kp=200, ki=400, kd=25, limit=60), period=0.01)
    >>> round(float(dl.simulate(model, 5.0)["theta"][-1]), 3)
    0.5
    """

    def __init__(
        self,
        coordinate: str,
        target: Target,
        kp: float,
        ki: float = 0.0,
        kd: float = 0.0,
        *,
        limit: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(coordinate, target, kp, kd)
        self.ki = gain(ki, f"PID of '{coordinate}', ki")
        self.low, self.high = _ends(limit, f"PID of '{coordinate}', limit")
        self._sum, self._last, self._counted = 0.0, 0.0, 0.0

    def reset(self, t0: float, state: State) -> None:
        """Begin with no integral."""
        self._sum, self._last, self._counted = 0.0, t0, 0.0

    def __call__(self, t: float, state: State) -> float:
        """The effort at a sample."""
        self._sum += self._counted * (t - self._last)
        e, rate = self._errors(t, state)
        effort = self.kp * e + self.kd * rate + self.ki * self._sum
        kept = min(max(effort, self.low), self.high)
        self._last, self._counted = t, e if kept == effort or (effort - kept) * self.ki * e < 0 else 0.0
        return kept


def _ends(limit: float | Sequence[float] | None, where: str) -> tuple[float, float]:
    if limit is None:
        return -math.inf, math.inf
    given = numbers_given(limit, where)
    ends = given if given.ndim else np.array([-given, given])
    if ends.shape != (2,) or not ends[0] <= ends[1]:
        raise InputError(f"{where}: got {shown(limit)}. Expected a number that is not negative, or (lowest, highest).")
    return float(ends[0]), float(ends[1])
