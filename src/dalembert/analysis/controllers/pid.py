"""Proportional, integral and derivative control of one coordinate.

u = kp e + kd ė + ki ∫ e dt,     e = target − coordinate
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from dalembert.analysis.tracking import joint_of
from dalembert.api.dynamics import Dynamics, dynamics
from dalembert.arguments import are_names, is_real, numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.model.motion_profile import Profile
from dalembert.model.python_laws import State
from dalembert.symbolic.reserved_symbols import Kind

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


def driven(model: Elements, actuated: Sequence[str] | None, who: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The coordinates that are driven, all by default, and the bodies whose first joint each of them moves."""
    if not isinstance(model, Elements):
        raise InputError(f"{who}, model: got {shown(model)}. Expected a model, such as dl.load(...) gives.")
    if actuated is not None and not are_names(actuated):
        raise InputError(f"{who}, actuated: got {shown(actuated)}. Expected names of coordinates in a list or tuple.")
    names = tuple(model.coordinate_names if actuated is None else actuated)
    for name in names:
        if name not in model.coordinate_names:
            raise InputError(f"{who}: there is no coordinate '{name}'. {nearest(name, model.coordinate_names)}")
    places = [joint_of(model, name, who) for name in names]
    for name, (body, joint, motion) in zip(names, places, strict=True):
        if (joint, motion) != (0, 0):
            raise InputError(
                f"{who}: the coordinate '{name}' is motion {motion} of joint {joint} of body '{body}'. Expected the first of "
                "each: an actuator by a law for several bodies acts there. Give the joint a body of its own."
            )
    return names, tuple(body for body, _, _ in places)


def dynamics_in_rates(model: Elements, who: str) -> Dynamics:
    """The dynamics of a model whose speeds are the rates of its coordinates."""
    found = dynamics(model)
    if found.speed_names != tuple(map(Kind.RATE.of, model.coordinate_names)):
        raise InputError(
            f"{who}: model '{model.name}' has quaternions, so its speeds are not rates. Expected joints that are none."
        )
    return found


class Wanted(NamedTuple):
    """A target at a time: its position, rate and acceleration."""

    position: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray


def gain(given: object, where: str) -> float:
    """One finite number."""
    if not is_real(given):
        raise InputError(f"{where}: got {shown(given)}. Expected a number.")
    return float(cast("float", given))


def target_of(given: object, shape: tuple[int, ...], where: str) -> Callable[[float], Wanted]:
    """A target as a function of time: at rest, a profile, or a function of time that gives a position, or (x, ẋ, ẍ)."""
    if isinstance(given, Profile):
        profile = given
        _require(profile.position(0.0), shape, where)
        return lambda t: Wanted(*profile(t))
    if callable(given):
        return lambda t: _wanted(given(t), shape, f"{where} at t = {t:.9g}")
    still = Wanted(_require(given, shape, where), np.zeros(shape), np.zeros(shape))
    return lambda t: still


def _wanted(found: object, shape: tuple[int, ...], where: str) -> Wanted:
    if isinstance(found, tuple) and len(found) == 3 and (not shape or np.ndim(found[0])):
        x, v, a = (_require(part, shape, where) for part in found)
        return Wanted(x, v, a)
    return Wanted(_require(found, shape, where), np.zeros(shape), np.zeros(shape))


def _require(found: object, shape: tuple[int, ...], where: str) -> np.ndarray:
    numbers = numbers_given(found, where)
    if numbers.shape != shape:
        expected = "a number" if not shape else f"{shape[0]} numbers"
        raise InputError(f"{where}: got {shown(found)}. Expected {expected}, a profile, or a function of time.")
    return numbers
