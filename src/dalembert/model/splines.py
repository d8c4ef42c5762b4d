"""Motions through points, and of functions that are known by their values only: cubic splines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dalembert.arguments import checked, numbers_given, shown
from dalembert.errors import InputError
from dalembert.model.motion_profile import Profile, both
from dalembert.model.profile_pieces import through_points

ACCURACY = 1e-8
_FIRST, _MOST = 33, 16385  # samples of a function
Ends = tuple[npt.ArrayLike, npt.ArrayLike]


@checked
def spline(
    times: npt.ArrayLike,
    points: npt.ArrayLike,
    *,
    rates: Ends | None = None,
    bends: npt.ArrayLike | None = None,
    names: tuple[str, ...] = (),
) -> Profile:
    """The cubic spline through points (K,) or (n, K) at increasing times (K,); its acceleration has no leaps between them.

    `rates` are those at both ends, such as (0, 0) from rest to rest; without them, the first two pieces are one cubic, and the
    last two. `bends` are the accelerations at the points, where they are known already, as in a model file.

    >>> way = spline([0, 1, 2, 4], [[0, 1, 0, 2], [1, 1, 1, 1]], rates=(0, 0))
    >>> way.position([1, 2]).round(12).tolist(), way.rate(4.0).round(12).tolist()
    ([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.0])
    """
    t, values = numbers_given(times, "spline, times"), numbers_given(points, "spline, points")
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise InputError(f"spline, times: got shape {t.shape}. Expected two or more increasing times.")
    if values.ndim not in (1, 2) or values.shape[-1] != len(t):
        raise InputError(f"spline, points: got shape {values.shape}. Expected ({len(t)},) or (n, {len(t)}), as times.")
    rows = np.atleast_2d(values)
    known = _bends(t, rows, rates) if bends is None else np.atleast_2d(numbers_given(bends, "spline, bends"))
    if known.shape != rows.shape or (bends is not None and rates is not None):
        raise InputError(
            f"spline, bends: got shape {np.shape(known)}{' and rates' * (rates is not None)}. Expected one for each point, "
            f"{values.shape}, and no rates beside them."
        )
    formulas = tuple(through_points(t, row, bend) for row, bend in zip(rows, known, strict=True))
    return Profile(formulas, float(t[0]), float(t[-1]), values.ndim == 1, names)


def _bends(t: np.ndarray, rows: np.ndarray, rates: Ends | None) -> np.ndarray:
    """The second derivatives at the knots, (n, K)."""
    from scipy.interpolate import CubicSpline

    if rates is None:
        ends: object = "not-a-knot"
    else:
        found = [numbers_given(rate, "spline, rates") for rate in both(rates, "spline, rates")]
        if any(rate.shape not in ((), (len(rows),)) for rate in found):
            raise InputError(f"spline, rates: expected a number or ({len(rows)},) for each end.")
        ends = tuple((1, np.broadcast_to(rate, len(rows))) for rate in found)
    return CubicSpline(t, rows.T, bc_type=ends)(t, 2).T  # type: ignore[arg-type]


@checked
def sampled(
    function: Callable[[float], npt.ArrayLike],
    duration: float,
    *,
    after: float = 0.0,
    accuracy: float = ACCURACY,
    names: tuple[str, ...] = (),
) -> Profile:
    """A function of time as a spline, with so many samples that it is within `accuracy` of its values, relative to their size.

    The function gives a number or (n,). What it does is looked at between the samples, too; one that leaps or has corners
    is refused, since no number of samples would do.

    >>> import math
    >>> way = sampled(math.sin, 3.0)
    >>> abs(way.position(1.2345) - math.sin(1.2345)) < 1e-8, abs(way.rate(1.0) - math.cos(1.0)) < 1e-5
    (np.True_, np.True_)
    """
    if not callable(function):
        raise InputError(f"sampled: got {shown(function)}. Expected a function of time.")
    if not duration > 0:
        raise InputError(f"sampled, duration: got {duration!r}. Expected a positive number.")
    known: dict[float, np.ndarray] = {}

    def value(t: float) -> np.ndarray:
        if t not in known:
            known[t] = numbers_given(function(t), f"sampled, at t = {t:.6g}")
            if known[t].ndim > 1 or not known[t].size:
                raise InputError(f"sampled, at t = {t:.6g}: got shape {known[t].shape}. Expected a number or (n,).")
        return known[t]

    count, off = _FIRST, np.inf
    while count <= _MOST:
        times = np.linspace(after, after + duration, count)
        middle = (times[1:] + times[:-1]) / 2
        found = spline(times, np.stack([value(t) for t in times.tolist()], axis=-1), names=names)
        there = np.stack([value(t) for t in middle.tolist()], axis=-1)
        off = float(np.abs(found.position(middle) - there).max())
        if off <= accuracy * max(float(np.abs(there).max()), 1e-300) or not off:
            return Profile(found.formulas, found.start, found.end, found.scalar, names, off)
        count = 2 * count - 1
    raise InputError(
        f"sampled: with {_MOST} samples the function is still {off:.3g} away from its spline. Expected a smooth function; "
        "give pieces of it, or a larger `accuracy`."
    )
