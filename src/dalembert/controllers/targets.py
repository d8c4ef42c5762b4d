"""Where a controller is to go: a number, a designed motion, or a function of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from dalembert.arguments import is_real, numbers_given, shown
from dalembert.errors import InputError
from dalembert.profiles import Profile


class Wanted(NamedTuple):
    """A target at a time: its position, rate and acceleration."""

    position: Any
    rate: Any
    acceleration: Any


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
        function: Callable[[float], Any] = given
        return lambda t: _wanted(function(t), shape, f"{where} at t = {t:.9g}")
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
