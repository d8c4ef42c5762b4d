"""Which joints a law drives: those that move by one coordinate each.

Where a controller is to go: a number, a designed motion, or a function of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from dalembert.analysis.tracking import joint_of
from dalembert.api.dynamics import Dynamics, dynamics
from dalembert.arguments import are_names, is_real, numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.model.motion_profile import Profile
from dalembert.symbolic.reserved_symbols import Kind


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
