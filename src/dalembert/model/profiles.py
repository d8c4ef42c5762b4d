"""Motions from rest to rest: cycloidal, quintic, and with a trapezoid of speed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import symengine as se

from dalembert.arguments import checked, is_real, shown
from dalembert.errors import InputError
from dalembert.model.motion_profile import Profile, both, numbers_of, times_of
from dalembert.model.profile_pieces import in_turn, share
from dalembert.symbolic.expression_reading import number
from dalembert.symbolic.symbols import TIME, Formula


@checked
def cycloidal(
    start: npt.ArrayLike, end: npt.ArrayLike, duration: float, *, after: float = 0.0, names: tuple[str, ...] = ()
) -> Profile:
    """The cycloidal motion from `start` to `end`, numbers or (n,), (34) and (35) of papers/denoc.

    θ = θ(0) + (θ(T) − θ(0)) / T · [t − T / 2π · sin(2π t / T)]. Rate and acceleration vanish at both ends. It begins at the time
    `after`.

    >>> way = cycloidal(0.0, 1.0, 10.0)
    >>> way.position([0.0, 5.0, 10.0, 12.0]).tolist(), float(way.rate(5.0))
    ([0.0, 0.5, 1.0, 1.0], 0.2)
    """
    return _between("cycloidal", start, end, duration, after, names, lambda u: u - se.sin(2 * se.pi * u) / (2 * se.pi))


@checked
def quintic(
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    duration: float,
    *,
    rates: tuple[npt.ArrayLike, npt.ArrayLike] = (0.0, 0.0),
    accelerations: tuple[npt.ArrayLike, npt.ArrayLike] = (0.0, 0.0),
    after: float = 0.0,
    names: tuple[str, ...] = (),
) -> Profile:
    """The polynomial of fifth order from `start` to `end` with given rates and accelerations at both, zero by default.

    >>> way = quintic(0.0, 1.0, 2.0, rates=(0.5, 0.0))
    >>> way.position(1.0).round(6).tolist(), way.rate(0.0).tolist(), abs(way.acceleration(2.0)) < 1e-12
    (0.65625, 0.5, np.True_)
    """
    (a, b, v0, v1, w0, w1), scalar = numbers_of(
        [start, end, *both(rates, "quintic, rates"), *both(accelerations, "quintic, accelerations")], "quintic"
    )
    t0, t1 = times_of(duration, after, "quintic")
    u, T = share(t0, t1), duration
    formulas = []
    for far, rate0, rate1, bend0, bend1, begin in zip(b - a, v0 * T, v1 * T, w0 * T * T, w1 * T * T, a, strict=True):
        parts = (
            begin,
            rate0,
            bend0 / 2,
            10 * far - 6 * rate0 - 4 * rate1 - 1.5 * bend0 + 0.5 * bend1,
            -15 * far + 8 * rate0 + 7 * rate1 + 1.5 * bend0 - bend1,
            6 * far - 3 * rate0 - 3 * rate1 - 0.5 * bend0 + 0.5 * bend1,
        )
        formulas.append(_polynomial(u, [number(float(part), "quintic") for part in parts]))
    return Profile(tuple(formulas), t0, t1, scalar, names)


@checked
def trapezoidal(
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    duration: float | None = None,
    *,
    ramp: float = 0.25,
    speed: float | None = None,
    acceleration: float | None = None,
    after: float = 0.0,
    names: tuple[str, ...] = (),
) -> Profile:
    """From rest to rest with a constant acceleration, a constant speed, and the acceleration back; all values move together.

    With a `duration`, `ramp` is the share of it in which the speed grows, up to 1/2. Without one, the motion is the quickest in
    which no value exceeds `speed` and `acceleration`.

    >>> way = trapezoidal(0.0, 3.0, 4.0)
    >>> way.rate([0.5, 2.0, 3.5]).tolist(), way.acceleration([0.5, 2.0, 3.5]).tolist()
    ([0.5, 1.0, 0.5], [1.0, 0.0, -1.0])
    >>> quick = trapezoidal(0.0, 3.0, speed=1.0, acceleration=1.0)
    >>> quick.duration
    4.0
    """
    (a, b), scalar = numbers_of([start, end], "trapezoidal")
    T, growing = _quickest(float(np.abs(b - a).max()), duration, ramp, speed, acceleration)
    t0, t1 = times_of(T, after, "trapezoidal")
    begins, ends = TIME - number(t0, "trapezoidal"), TIME - number(t1, "trapezoidal")
    formulas = []
    for first, last in zip(a.tolist(), b.tolist(), strict=True):
        fast = (last - first) / (T - growing)  # the speed between the ramps
        bend, low, high, rise, pace = (
            number(x, "trapezoidal") for x in (fast / growing / 2, first, last, fast * growing / 2, fast)
        )
        parts = [
            (low, t0),
            (low + bend * begins**2, t0 + growing),
            (low - rise + pace * begins, t1 - growing),
            (high - bend * ends**2, t1),
        ]
        formulas.append(in_turn(parts, last))
    return Profile(tuple(formulas), t0, t1, scalar, names)


def _quickest(
    far: float, duration: float | None, ramp: float, speed: float | None, acceleration: float | None
) -> tuple[float, float]:
    """How long a trapezoid lasts, and how long its speed grows."""
    for name, given in (("duration", duration), ("speed", speed), ("acceleration", acceleration)):
        if given is not None and not is_real(given):
            raise InputError(f"trapezoidal, {name}: got {shown(given)}. Expected a finite number.")
    if duration is not None:
        if speed is not None or acceleration is not None:
            raise InputError("trapezoidal: a duration, and also a speed or an acceleration. Expected one or the other.")
        if not 0 < ramp <= 0.5:
            raise InputError(f"trapezoidal, ramp: got {ramp!r}. Expected a share of the duration above 0, up to 0.5.")
        return duration, ramp * duration
    if not speed or not acceleration or speed < 0 or acceleration < 0 or not far:
        raise InputError(
            "trapezoidal: expected a duration, or a positive speed and acceleration and two different places."
        )
    growing = min(speed / acceleration, (far / acceleration) ** 0.5)
    return growing + far / (acceleration * growing), growing


def _polynomial(u: Formula, parts: list[Formula]) -> Formula:
    out = parts[-1]
    for part in parts[-2::-1]:
        out = part + u * out
    return out


def _between(
    where: str,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    duration: float,
    after: float,
    names: tuple[str, ...],
    law: Callable[[Formula], Formula],
) -> Profile:
    """start + (end − start) law(u)."""
    (a, b), scalar = numbers_of([start, end], where)
    t0, t1 = times_of(duration, after, where)
    done = law(share(t0, t1))
    formulas = [number(float(x), where) + number(float(y - x), where) * done for x, y in zip(a, b, strict=True)]
    return Profile(tuple(formulas), t0, t1, scalar, names)
