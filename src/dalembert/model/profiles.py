"""Motion profiles as formulas of time: cycloidal, quintic, trapezoidal velocity, spline and spline of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import symengine as se

from dalembert.arguments import as_finite_array, documented_class, is_real, validate_arguments
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.floats import number as as_number
from dalembert.symbolic.lookup_tables import piecewise_cubic
from dalembert.symbolic.symbols import TIME, Formula, Lowering, number

ACCURACY = 1e-8
_MIN_SAMPLES, _MAX_SAMPLES = 33, 16385  # of a function
Ends = tuple[npt.ArrayLike, npt.ArrayLike]


@validate_arguments
def cycloidal(
    start: npt.ArrayLike, end: npt.ArrayLike, duration: float, *, after: float = 0.0, names: tuple[str, ...] = ()
) -> Profile:
    """Cycloidal motion profile from `start` to `end`, (34) and (35) of papers/denoc.

    θ = θ(0) + (θ(T) − θ(0)) / T · [t − T / 2π · sin(2π t / T)]. Rate and acceleration vanish at both ends.

    Parameters
    ----------
    start, end : array_like, scalar or shape (n,)
        Positions at the start and at the end.
    duration : float
        Duration T, positive.
    after : float
        Start time.
    names : tuple of str
        Names of the n coordinates.

    Raises
    ------
    InputError
        If the shapes differ or the duration is not positive.

    Examples
    --------
    >>> profile = cycloidal(0.0, 1.0, 10.0)
    >>> profile.position([0.0, 5.0, 10.0, 12.0]).tolist(), float(profile.rate(5.0))
    ([0.0, 0.5, 1.0, 1.0], 0.2)
    """
    return _between("cycloidal", start, end, duration, after, names, lambda u: u - se.sin(2 * se.pi * u) / (2 * se.pi))


@validate_arguments
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
    """Quintic polynomial motion profile from `start` to `end` with specified rates and accelerations at both.

    Parameters
    ----------
    start, end : array_like, scalar or shape (n,)
        Positions at the start and at the end.
    duration : float
        Duration, positive.
    rates, accelerations : tuple of two array_like
        Values at the start and at the end, zero by default.
    after : float
        Start time.
    names : tuple of str
        Names of the n coordinates.

    Raises
    ------
    InputError
        If the shapes differ or the duration is not positive.

    Examples
    --------
    >>> profile = quintic(0.0, 1.0, 2.0, rates=(0.5, 0.0))
    >>> profile.position(1.0).round(6).tolist(), profile.rate(0.0).tolist(), abs(profile.acceleration(2.0)) < 1e-12
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


@validate_arguments
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
    """Trapezoidal velocity profile from rest to rest; all values move in synchrony.

    Give either `duration` and `ramp`, or `speed` and `acceleration` for the fastest motion within these limits.

    Parameters
    ----------
    start, end : array_like, scalar or shape (n,)
        Positions at the start and at the end.
    duration : float, optional
        Duration, positive.
    ramp : float
        Fraction of the duration in which the speed increases, at most 0.5.
    speed, acceleration : float, optional
        Largest speed and acceleration of any value.
    after : float
        Start time.
    names : tuple of str
        Names of the n coordinates.

    Raises
    ------
    InputError
        If the arguments are inconsistent.

    Examples
    --------
    >>> profile = trapezoidal(0.0, 3.0, 4.0)
    >>> profile.rate([0.5, 2.0, 3.5]).tolist(), profile.acceleration([0.5, 2.0, 3.5]).tolist()
    ([0.5, 1.0, 0.5], [1.0, 0.0, -1.0])
    >>> fastest = trapezoidal(0.0, 3.0, speed=1.0, acceleration=1.0)
    >>> fastest.duration
    4.0
    """
    (a, b), scalar = numbers_of([start, end], "trapezoidal")
    T, ramp_time = _durations(float(np.abs(b - a).max()), duration, ramp, speed, acceleration)
    t0, t1 = times_of(T, after, "trapezoidal")
    begins, ends = TIME - number(t0, "trapezoidal"), TIME - number(t1, "trapezoidal")
    formulas = []
    for first, last in zip(a.tolist(), b.tolist(), strict=True):
        cruise = (last - first) / (T - ramp_time)  # the speed between the ramps
        bend, low, high, rise, rate = (
            number(x, "trapezoidal") for x in (cruise / ramp_time / 2, first, last, cruise * ramp_time / 2, cruise)
        )
        parts = [
            (low, t0),
            (low + bend * begins**2, t0 + ramp_time),
            (low - rise + rate * begins, t1 - ramp_time),
            (high - bend * ends**2, t1),
        ]
        formulas.append(piecewise_in_time(parts, last))
    return Profile(tuple(formulas), t0, t1, scalar, names)


def _durations(
    far: float, duration: float | None, ramp: float, speed: float | None, acceleration: float | None
) -> tuple[float, float]:
    """The duration of a trapezoidal profile and of its ramps."""
    for name, quantity in (("duration", duration), ("speed", speed), ("acceleration", acceleration)):
        if quantity is not None and not is_real(quantity):
            raise InputError(f"trapezoidal, {name}: got {short_repr(quantity)}. Expected a finite number.")
    if duration is not None:
        if speed is not None or acceleration is not None:
            raise InputError(
                "trapezoidal: got a duration and also a speed or an acceleration. Expected one or the other."
            )
        if not 0 < ramp <= 0.5:
            raise InputError(f"trapezoidal, ramp: got {ramp!r}. Expected a fraction of the duration, 0 < ramp <= 0.5.")
        return duration, ramp * duration
    if not speed or not acceleration or speed < 0 or acceleration < 0 or not far:
        raise InputError(
            "trapezoidal: expected a duration, or a positive speed and acceleration and different start and end."
        )
    ramp_time = min(speed / acceleration, (far / acceleration) ** 0.5)
    return ramp_time + far / (acceleration * ramp_time), ramp_time


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


def share(start: float, end: float) -> Formula:
    """(t − start) / (end − start), 0 before and 1 after; as a formula that can be written to model files.

    >>> from dalembert.symbolic.formula_writer import write_formula
    >>> write_formula(share(1.0, 3.0))
    'piecewise(0, t < 1, (t - 1)/2, t < 3, 1)'
    """
    t0, t1 = number(start, "start"), number(end, "end")
    return se.Piecewise((0, t0 > TIME), ((TIME - t0) / (t1 - t0), t1 > TIME), (1, True))


def piecewise_in_time(parts: Sequence[tuple[Formula, float]], last: float) -> Formula:
    """A piecewise formula: each part until its end time, then a constant.

    >>> piecewise_in_time([(TIME**2, 1.0), (2 * TIME - 1, 2.0)], 3.0)
    Piecewise((t**2, t < 1), (-1 + 2*t, t < 2), (3, True))
    """
    return se.Piecewise(*((part, number(end, "time") > TIME) for part, end in parts), (number(last, "end"), True))


@validate_arguments
def spline(
    times: npt.ArrayLike,
    points: npt.ArrayLike,
    *,
    rates: Ends | None = None,
    accelerations: npt.ArrayLike | None = None,
    names: tuple[str, ...] = (),
) -> Profile:
    """Cubic spline through points, with continuous acceleration.

    Parameters
    ----------
    times : array_like, shape (K,)
        Increasing times, at least two.
    points : array_like, shape (K,) or (n, K)
        Positions at the times.
    rates : tuple of two array_like, optional
        Rates at both ends; without them, the not-a-knot conditions apply.
    accelerations : array_like, same shape as `points`, optional
        Accelerations at the points, if they are known, as in a model file; not with `rates`.
    names : tuple of str
        Names of the n coordinates.

    Raises
    ------
    InputError
        If the times do not increase or the shapes differ.

    Examples
    --------
    >>> profile = spline([0, 1, 2, 4], [[0, 1, 0, 2], [1, 1, 1, 1]], rates=(0, 0))
    >>> profile.position([1, 2]).round(12).tolist(), profile.rate(4.0).round(12).tolist()
    ([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.0])
    """
    t, values = as_finite_array(times, "spline, times"), as_finite_array(points, "spline, points")
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise InputError(f"spline, times: got shape {t.shape}. Expected two or more increasing times.")
    if values.ndim not in (1, 2) or values.shape[-1] != len(t):
        raise InputError(f"spline, points: got shape {values.shape}. Expected ({len(t)},) or (n, {len(t)}), as times.")
    rows = np.atleast_2d(values)
    known = (
        _accelerations(t, rows, rates)
        if accelerations is None
        else np.atleast_2d(as_finite_array(accelerations, "spline, accelerations"))
    )
    if known.shape != rows.shape or (accelerations is not None and rates is not None):
        raise InputError(
            f"spline, accelerations: got shape {np.shape(known)}{' and rates' * (rates is not None)}. Expected one for each "
            f"point, {values.shape}, and no rates."
        )
    formulas = tuple(piecewise_cubic(t, row, bend) for row, bend in zip(rows, known, strict=True))
    return Profile(formulas, float(t[0]), float(t[-1]), values.ndim == 1, names)


def _accelerations(t: np.ndarray, rows: np.ndarray, rates: Ends | None) -> np.ndarray:
    """The second derivatives at the knots, (n, K)."""
    from scipy.interpolate import CubicSpline

    if rates is None:
        ends: object = "not-a-knot"
    else:
        found = [as_finite_array(rate, "spline, rates") for rate in both(rates, "spline, rates")]
        if any(rate.shape not in ((), (len(rows),)) for rate in found):
            raise InputError(f"spline, rates: expected a number or ({len(rows)},) for each end.")
        ends = tuple((1, np.broadcast_to(rate, len(rows))) for rate in found)
    return CubicSpline(t, rows.T, bc_type=ends)(t, 2).T  # type: ignore[arg-type]


@validate_arguments
def spline_from_function(
    function: Callable[[float], npt.ArrayLike],
    duration: float,
    *,
    after: float = 0.0,
    accuracy: float = ACCURACY,
    names: tuple[str, ...] = (),
) -> Profile:
    """Approximate a smooth function of time by a cubic spline, with as many samples as the accuracy requires.

    The error is measured midway between the samples.

    Parameters
    ----------
    function : callable
        Function of time that returns a number or shape (n,).
    duration : float
        Duration, positive.
    after : float
        Start time.
    accuracy : float
        Largest error, relative to the largest value.
    names : tuple of str
        Names of the n coordinates.

    Raises
    ------
    InputError
        If the accuracy is not reached, as for functions with jumps or kinks.

    Examples
    --------
    >>> import math
    >>> profile = spline_from_function(math.sin, 3.0)
    >>> abs(profile.position(1.2345) - math.sin(1.2345)) < 1e-8, abs(profile.rate(1.0) - math.cos(1.0)) < 1e-5
    (np.True_, np.True_)
    """
    if not callable(function):
        raise InputError(f"spline_from_function: got {short_repr(function)}. Expected a function of time.")
    if not duration > 0:
        raise InputError(f"spline_from_function, duration: got {duration!r}. Expected a positive number of seconds.")
    known: dict[float, np.ndarray] = {}

    def value(t: float) -> np.ndarray:
        if t not in known:
            known[t] = as_finite_array(function(t), f"spline_from_function, at t = {t:.6g}")
            if known[t].ndim > 1 or not known[t].size:
                raise InputError(
                    f"spline_from_function, at t = {t:.6g}: got shape {known[t].shape}. Expected a number or (n,)."
                )
        return known[t]

    count, error = _MIN_SAMPLES, np.inf
    while count <= _MAX_SAMPLES:
        times = np.linspace(after, after + duration, count)
        middle = (times[1:] + times[:-1]) / 2
        found = spline(times, np.stack([value(t) for t in times.tolist()], axis=-1), names=names)
        exact = np.stack([value(t) for t in middle.tolist()], axis=-1)
        error = float(np.abs(found.position(middle) - exact).max())
        if error <= accuracy * max(float(np.abs(exact).max()), 1e-300) or not error:
            return Profile(found.formulas, found.start, found.end, found.scalar, names, error)
        count = 2 * count - 1
    raise InputError(
        f"spline_from_function: with {_MAX_SAMPLES} samples the error of the spline is still {error:.3g}. Expected a smooth "
        "function; split it into smooth parts, or give a larger `accuracy`."
    )


class ProfileState(NamedTuple):
    """Position, rate and acceleration of a profile, each a number, (n,), (K,) or (n, K)."""

    position: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray


@documented_class
@dataclass(frozen=True)
class Profile:
    """Motion profile of one or several values over time; constant before its start and after its end.

    Call it with a time or with times (K,). `drive`, `computed_torque` and `feedforward` accept profiles.

    Parameters
    ----------
    formulas : tuple of Formula
        Positions as formulas of time, one for each value.
    start, end : float
        Start time and end time.
    scalar : bool
        Whether values are returned without the axis of length n.
    names : tuple of str
        Names of the coordinates, if they are known.
    accuracy : float
        Largest deviation from the sampled function.

    Examples
    --------
    >>> from dalembert.model.profiles import quintic
    >>> profile = quintic([0.0, 1.0], [2.0, 5.0], 4.0)
    >>> profile(2.0).position, profile(2.0).rate, profile.acceleration([0.0, 4.0]).shape
    (array([1., 3.]), array([0.9375, 1.875 ]), (2, 2))
    """

    formulas: tuple[Formula, ...]
    start: float
    end: float
    scalar: bool = False
    names: tuple[str, ...] = ()
    accuracy: float = 0.0

    def __len__(self) -> int:
        return len(self.formulas)

    def __getitem__(self, entry: int | str) -> Profile:
        """One of its values, by index or name."""
        if isinstance(entry, str):
            if entry not in self.names:
                raise InputError(f"profile: there is no coordinate '{entry}'. {suggest_name(entry, self.names)}")
            entry = self.names.index(entry)
        if not -len(self) <= entry < len(self):
            raise IndexError(f"profile: index {entry} is out of range. It has {len(self)} values.")
        names = self.names[entry : entry + 1] if entry >= 0 or not self.names else (self.names[entry],)
        return replace(self, formulas=(self.formulas[entry],), scalar=True, names=names)

    def __call__(self, t: npt.ArrayLike) -> ProfileState:
        """Position, rate and acceleration at a time, or at times (K,) along the last axis."""
        return ProfileState(*(self._at(level, t) for level in range(3)))

    def position(self, t: npt.ArrayLike) -> np.ndarray:
        """The position at one time or at K times.

        Returns
        -------
        ndarray, shape (n,) or (n, K)
            Positions; without the first axis if the profile is scalar.
        """
        return self._at(0, t)

    def rate(self, t: npt.ArrayLike) -> np.ndarray:
        """The rate at one time or at K times.

        Returns
        -------
        ndarray, shape (n,) or (n, K)
            Rates, per second; without the first axis if the profile is scalar.
        """
        return self._at(1, t)

    def acceleration(self, t: npt.ArrayLike) -> np.ndarray:
        """The acceleration at one time or at K times.

        Returns
        -------
        ndarray, shape (n,) or (n, K)
            Accelerations, per second squared; without the first axis if the profile is scalar.
        """
        return self._at(2, t)

    @property
    def duration(self) -> float:
        """The duration from start to end."""
        return self.end - self.start

    @cached_property
    def _levels(self) -> tuple[tuple[Formula, ...], ...]:
        first = tuple(se.diff(f, TIME) for f in self.formulas)
        return self.formulas, first, tuple(se.diff(f, TIME) for f in first)

    def _at(self, level: int, t: npt.ArrayLike) -> np.ndarray:
        times = as_finite_array(t, "profile, t")
        if times.ndim > 1:
            raise InputError(f"profile, t: got shape {times.shape}. Expected a time or (K,).")
        if level:  # left-hand limits at the end
            times = np.where(times == self.end, np.nextafter(self.end, -np.inf), times)
        lower = Lowering(FLOATS, {TIME.name: times})
        rows = [np.broadcast_to(as_number(lower(f)), times.shape) for f in self._levels[level]]
        return np.array(rows[0] if self.scalar else rows, dtype=float)


def numbers_of(ends: Sequence[npt.ArrayLike], where: str) -> tuple[list[np.ndarray], bool]:
    """Broadcast scalars or arrays (n,) to arrays of equal shape, and report whether all are scalars."""
    found = [as_finite_array(end, where) for end in ends]
    shape = max((x.shape for x in found), key=len)
    if len(shape) > 1 or not all(x.shape in ((), shape) for x in found):
        shapes = ", ".join(str(x.shape) for x in found)
        raise InputError(f"{where}: got the shapes {shapes}. Expected numbers, or arrays of the same length.")
    return [np.broadcast_to(x, shape or (1,)) for x in found], shape == ()


def both(pair: object, where: str) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """The values for the start and for the end."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"{where}: got {short_repr(pair)}. Expected two values, for the start and for the end.")
    return pair[0], pair[1]


def times_of(duration: float, start: float, where: str) -> tuple[float, float]:
    """The start and end time of a motion."""
    if not duration > 0:
        raise InputError(f"{where}, duration: got {duration!r}. Expected a positive number of seconds.")
    return float(start), float(start) + float(duration)
