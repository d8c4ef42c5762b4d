"""Sign changes of functions of the state along a run: discontinuity surfaces, contacts, and the events of a user.

All roots within a step are isolated (`root_isolation`), in order, for every method and direction. The first one that ends the
segment cuts the step; those before it are recorded, and the search continues after them. The equations are extended smoothly
beyond a discontinuity surface (see `model/discontinuities`), so that the interpolant is smooth on both sides of the
root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.errors import SimulationError
from dalembert.simulation._root_isolation import (
    Basis,
    Intervals,
    Separation,
    basis_for,
    estimate_root,
    expand,
    keeps_sign,
    refine_roots,
    separate_roots,
)
from dalembert.simulation.integrators.base import Burst, Method, Step, StepMonitor, Termination
from dalembert.simulation.integrators.interpolant import Piece
from dalembert.simulation.integrators.taylor import Taylor

_ROUNDING = 8.9e-16  # relative rounding error of a state; roots closer than this share of a step coincide
_START_NOISE = 8.0  # times the effect of rounding: the zero threshold of a function that is zero at the start
_GRADED = np.concatenate([[0.0], np.exp2([-60.0, -45.0, -30.0, -18.0, -9.0, -4.0, 0.0])])
_SECANT = 1e-8  # of an interval: this close to a root a secant is accurate to rounding
_FIRST_WINDOW, _WINDOW = 128, 2048  # intervals that are divided at the same time, at first and later
_MAX_WINDOWS = 1000  # in one search
_FIRST_GROUP = 4  # steps of a burst searched together at first; then twice as many each time

States = Callable[
    [np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]
]  # steps (I,), shares (I, P) → t (I P,), y (n, I P)


@dataclass(frozen=True)
class EventFunction:
    """sign × (function `row` − offset), which is positive until a crossing."""

    row: int
    sign: float
    offset: float = 0.0
    fresh: bool = False  # zero at the start of the segment; only a later return counts
    follows: bool = False  # if fresh, its sign is that of the motion after the start, not a side it must keep
    up: bool = True  # an upward crossing ends the segment; otherwise it is recorded, and the segment continues
    down: bool = True
    starts_up: bool = False  # if fresh, becoming positive is a crossing at the start
    starts_down: bool = False
    title: str = "a condition of the model"


class Change(NamedTuple):
    """A sign change of a monitored function between two shares of a step."""

    step: int
    which: int
    low: float
    high: float
    up: bool
    interval: int = -1  # of the separation, if there is only one between the two


class IntervalSamples(NamedTuple):
    """Values and noise of a function at the ends of the intervals of a step; `first` is the index of the first interval."""

    step: int
    which: int
    first: int
    shares: np.ndarray
    values: np.ndarray
    noise: np.ndarray


class Root(NamedTuple):
    """A crossing, in the order of time."""

    step: int
    share: float
    which: int
    up: bool


@dataclass(frozen=True)
class Interpolants:
    """The states within consecutive steps."""

    count: int
    degree: int
    states: States
    last: bool  # the last step ends at the end of the run


class Crossings(StepMonitor):
    """Monitor that ends a segment at the first terminal crossing."""

    locates_events = True

    def __init__(
        self,
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
        monitored: Sequence[EventFunction],
        end: float = np.inf,
    ) -> None:
        self._values, self._monitored, self._end = (
            values,
            tuple(monitored),
            end,
        )  # values: t (K,), y (n, K) → (functions, K)
        self._rows = np.array([each.row for each in monitored], dtype=np.intp)
        self._offsets = np.array([each.offset for each in monitored])
        self._sides = np.array([each.sign for each in monitored])
        self._fresh = np.array([each.fresh for each in monitored], dtype=bool)
        self._begins = True  # until a step has been searched
        self.terminal: Termination | None = None  # where the segment ended
        self.simultaneous: tuple[Termination, ...] = ()  # other crossings at the same instant
        self.recorded: list[Termination] = []  # crossings that do not end the segment

    @property
    def halted(self) -> bool:
        """True after a crossing that ends the segment."""
        return self.terminal is not None

    @property
    def fresh(self) -> set[tuple[int, float]]:
        """Rows and offsets of functions that have been zero since the start."""
        pairs = zip(self._monitored, self._fresh, strict=True)
        return {(each.row, each.offset) for each, fresh in pairs if fresh}

    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or its part before the first crossing."""
        if not len(self._rows):
            return step
        piece, h = step.piece, step.t1 - step.t0

        def states(steps: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            shares = s.ravel()
            return step.t0 + shares * h, piece.polynomial.values(shares * (h / piece.unit))

        degree = piece.polynomial.coefficients.shape[1] - 1
        if self._search(Interpolants(1, degree, states, step.t1 >= self._end)) is None:
            return step
        assert self.terminal is not None
        t, y = self.terminal.t, self.terminal.y
        if isinstance(stepper, Taylor) and step.coefficients is not None:
            return stepper.resize_step(step, t - step.t0)
        return Step(
            step.t0, t, y, lambda: Piece(step.t0, t, piece.unit, piece.polynomial), may_project=step.may_project
        )

    def first_termination(self, burst: Burst) -> tuple[int, Termination] | None:
        """The first crossing that ends the segment in consecutive accepted steps, and its step."""
        if not len(burst) or not len(self._rows):
            return None
        degree, last = burst.steps.powers.shape[2] - 1, bool(burst.steps.t1[-1] >= self._end)
        k = self._search(Interpolants(len(burst), degree, burst.at, last))
        return None if k is None or self.terminal is None else (k, self.terminal)

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Does nothing: see `first_termination`."""

    # the search

    def _search(self, steps: Interpolants) -> int | None:
        """The step with the first crossing that ends the segment; crossings before it are recorded."""
        b, functions, first = basis_for(steps.degree), self._functions(steps), 0
        if self._begins:  # another crossing may follow soon: intervals become shorter toward the start
            self._begins, first = False, 1
            which, low, high = np.zeros(len(_GRADED) - 1, dtype=np.intp), _GRADED[:-1], _GRADED[1:]
            c, error = expand(functions, which, low, high, b)
            only = steps.last and steps.count == 1
            if (found := self._advance(steps, self._unsettled(c, error, which, low, high, only), b)) is not None:
                return found
        which = np.arange(first, steps.count)
        if not len(which):
            return None
        low, high = np.zeros(len(which)), np.ones(len(which))
        c, error = expand(functions, which, low, high, b)
        suspect = self._suspect(c, error)
        suspect[-1] |= steps.last  # a function may reach zero at the end of the run
        for k in _groups(np.flatnonzero(suspect)):
            last = steps.last and which[k[-1]] == steps.count - 1
            part = self._unsettled(c[:, k], error[:, k], which[k], low[k], high[k], last)
            if (found := self._advance(steps, part, b)) is not None:
                return found
        return None

    def _unsettled(
        self, c: np.ndarray, error: np.ndarray, steps: np.ndarray, low: np.ndarray, high: np.ndarray, last: bool
    ) -> Intervals:
        """The intervals of functions that may change sign, from coefficients (functions, I, P); of all functions at the end."""
        stays = keeps_sign(c, error) & (np.sign(c[..., 0]) == self._sides[:, None])
        rows = np.flatnonzero(~stays.all(axis=1) | self._fresh | last)
        count, each = len(steps), np.tile(np.arange(len(steps)), len(rows))
        parts = (steps[each], low[each], high[each], c[rows].reshape(-1, c.shape[2]), error[rows].ravel())
        return Intervals(np.repeat(rows, count), *parts)

    def _suspect(self, c: np.ndarray, error: np.ndarray) -> np.ndarray:
        """The steps in which a function may have a root, or begins with another sign than the preceding step ended."""
        safe = keeps_sign(c, error)
        sign = np.where(safe, np.sign(c[..., 0]), 0.0)
        before = np.concatenate([np.where(self._fresh, 0.0, self._sides)[:, None], sign[:, :-1]], axis=1)
        return (~safe | (sign != before)).any(axis=0)

    def _functions(self, steps: Interpolants) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        def functions(which: np.ndarray, s: np.ndarray) -> np.ndarray:
            t, y = steps.states(which, s)
            return (self._values(t, y)[self._rows] - self._offsets[:, None]).reshape(-1, *s.shape)

        return functions

    def _perturbed(self, steps: Interpolants) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The functions, and their change when the state is perturbed by rounding."""

        def perturbed(which: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            t, y, count = _rounded(*steps.states(which, s))
            values = self._values(t, y)[self._rows].reshape(len(self._rows), count, *s.shape)
            return values[:, 0] - self._offsets[:, None, None], np.ptp(values, axis=1)

        return perturbed

    def _advance(self, steps: Interpolants, found: Intervals, b: Basis) -> int | None:
        """Search steps in order; the step that ends the segment."""
        if not len(found):
            return None
        functions, perturbed = self._functions(steps), self._perturbed(steps)
        roots: list[Root] = []
        for n in range(_MAX_WINDOWS):
            max_intervals = min(_FIRST_WINDOW * 2**n, _WINDOW)
            separation = separate_roots(functions, lambda k, s: perturbed(k, s)[1], found, b, max_intervals)
            changes = self._until_end(list(self._changes(steps, separation)))
            roots = _ordered(roots + self._refined(steps, changes, separation.intervals))
            count = sum((root.step, root.share) < separation.edge for root in roots)
            end, roots = self._record(steps, roots[:count]), roots[count:]
            if end is not None or separation.later is None:
                return end
            found = separation.later
        raise self._too_many(steps, found)

    def _too_many(self, steps: Interpolants, found: Intervals) -> SimulationError:
        """The error for a function with too many roots in a step, such as rounding noise."""
        n = int(np.argmin(found.step + found.low))
        t, _ = steps.states(found.step[n : n + 1], found.low[n : n + 1, None])
        return SimulationError(
            f"{self._monitored[found.row[n]].title} changes its sign about {_MAX_WINDOWS * 1000} times within one step of the "
            f"integrator, before t = {t[0]:.9g}. Check the formula for rounding noise, such as a difference of equal terms, "
            "or set a smaller `max_step`."
        )

    def _changes(self, steps: Interpolants, separation: Separation) -> Iterator[Change]:
        """Sign changes in the order of steps; the signs are updated."""
        found, first = separation.intervals, separation.first
        if not len(found):
            return
        last = first[1:] - 1  # of each step and function; the points are the ends of its intervals
        s = np.insert(found.low, first[1:], found.high[last])
        which, rows = (np.insert(x, first[1:], x[last]) for x in (found.step, found.row))
        points = np.arange(len(s))
        values, noise = (x[rows, points, 0] for x in self._perturbed(steps)(which, s[:, None]))
        for n, (low, high) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
            k, j, part = int(found.step[low]), int(found.row[low]), slice(low + n, high + n + 1)
            ends = steps.last and k == steps.count - 1 and bool(s[high + n] == 1)
            yield from self._followed(IntervalSamples(k, j, low, s[part], values[part], noise[part]), ends)

    def _followed(self, samples: IntervalSamples, last: bool) -> Iterator[Change]:
        """The sign changes of a function in a step, from values at points that separate its roots."""
        k, j, first, s, g, noise = samples
        each, clear = self._monitored[j], np.abs(g) > noise
        if self._fresh[j]:
            clear &= np.maximum.accumulate(np.abs(g) > _START_NOISE * noise + 4 * abs(g[0]))
        known = np.flatnonzero(clear).tolist()
        if not known:
            return
        before = 0
        if self._fresh[j]:
            self._fresh[j], before = False, known[0]
            yield from self._left(k, j, bool(g[before] > 0))
        for i in known:
            if (g[i] > 0) != (self._sides[j] > 0):
                self._sides[j] *= -1
                low, high = (s[before], s[i]) if g[before] * g[i] < 0 else (s[_nearest(g, before, i)],) * 2
                yield Change(k, j, float(low), float(high), bool(g[i] > 0), first + before if i == before + 1 else -1)
            before = i
        if last and each.follows and not clear[-1]:  # it reaches zero at the end of the run
            self._sides[j] *= -1
            yield Change(k, j, 1.0, 1.0, bool(self._sides[j] > 0))

    def _left(self, k: int, j: int, up: bool) -> Iterator[Change]:
        """A function that was zero at the start becomes nonzero: a crossing there, or its new sign."""
        each = self._monitored[j]
        counts = (each.starts_up if up else each.starts_down) if each.follows else up != (self._sides[j] > 0)
        if counts:
            yield Change(k, j, 0.0, 0.0, up)
        if counts or each.follows:
            self._sides[j] = 1.0 if up else -1.0

    def _ends(self, which: int, up: bool) -> bool:
        return self._monitored[which].up if up else self._monitored[which].down

    def _until_end(self, changes: list[Change]) -> list[Change]:
        """The changes that may precede or coincide with the first one that ends the segment."""
        ending = [(each.step, each.high) for each in changes if self._ends(each.which, each.up)]
        limit = min(ending, default=(np.inf, np.inf))
        return [each for each in changes if (each.step, each.low - _ROUNDING) <= limit]

    def _refined(self, steps: Interpolants, changes: list[Change], intervals: Intervals) -> list[Root]:
        """The roots of all changes."""
        shares = {each: each.low for each in changes}
        wide = [each for each in changes if each.low < each.high]
        if wide:
            estimates = np.array([_estimate(each, intervals) for each in wide])
            guesses, off = self._polished(steps, wide, *estimates.T)
            shares |= dict(zip(wide, guesses.tolist(), strict=True))
            rest = [each for each, fails in zip(wide, off, strict=True) if fails]
            if rest:
                low, high = np.array([each.low for each in rest]), np.array([each.high for each in rest])
                found = refine_roots(self._each_at(steps, rest), low, high)
                shares |= dict(zip(rest, found.tolist(), strict=True))
        return [Root(each.step, shares[each], each.which, each.up) for each in changes]

    def _each_at(self, steps: Interpolants, changes: list[Change]) -> Callable[[np.ndarray], np.ndarray]:
        """The function of each change at P shares of its step, (R, P) → (R, P)."""
        which, functions = np.array([each.step for each in changes]), self._functions(steps)
        rows, points = np.array([each.which for each in changes]), np.arange(len(changes))
        return lambda s: functions(which, s)[rows, points]

    def _polished(
        self, steps: Interpolants, changes: list[Change], guess: np.ndarray, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Roots by a secant across the error interval of an estimate, and where that fails."""
        low, high = np.array([each.low for each in changes]), np.array([each.high for each in changes])
        a, b = np.maximum(guess - off, low), np.minimum(guess + off, high)
        fa, fb = self._each_at(steps, changes)(np.stack([a, b], axis=1)).T
        with np.errstate(all="ignore"):
            root = a + (b - a) * fa / (fa - fb)
        return root, ~((fa * fb < 0) & (b - a <= _SECANT * (high - low)) & np.isfinite(root))

    def _record(self, steps: Interpolants, roots: list[Root]) -> int | None:
        """Record crossings up to the first one that ends the segment; its step."""
        n = next((n for n, root in enumerate(roots) if self._ends(root.which, root.up)), None)
        if n is None:
            self.recorded += self._halts(steps, roots)
            return None
        end = roots[n]
        same = [each.step == end.step and abs(each.share - end.share) <= _ROUNDING for each in roots]
        self.recorded += self._halts(steps, [each for each, also in zip(roots[:n], same, strict=False) if not also])
        others = [each for i, each in enumerate(roots) if i != n and same[i]]
        self.simultaneous, (self.terminal,) = tuple(self._halts(steps, others)), self._halts(steps, [end])
        return end.step

    def _halts(self, steps: Interpolants, roots: Sequence[Root]) -> list[Termination]:
        """Times and states of crossings."""
        if not roots:
            return []
        t, y = steps.states(np.array([root.step for root in roots]), np.array([[root.share] for root in roots]))
        return [Termination(float(t[i]), y[:, i].copy(), root.which, root.up) for i, root in enumerate(roots)]


def _ordered(roots: list[Root]) -> list[Root]:
    """Roots in the order of time. Those that coincide have one instant and the order in which their functions are declared."""
    out: list[Root] = []
    for root in sorted(roots):
        coincides = out and root.step == out[-1].step and root.share - out[-1].share <= _ROUNDING
        out.append(root._replace(share=out[-1].share) if coincides else root)
    return sorted(out, key=lambda root: (root.step, root.share, root.which))


def _groups(steps: np.ndarray) -> Iterator[np.ndarray]:
    """Steps in groups of increasing size."""
    first, size = 0, _FIRST_GROUP
    while first < len(steps):
        yield steps[first : first + size]
        first, size = first + size, 2 * size


def _estimate(change: Change, intervals: Intervals) -> tuple[float, float]:
    """The root by the Chebyshev series of its interval, and its error bound; infinite if there is no series."""
    half = 0.5 * (change.high - change.low)
    if change.interval < 0:
        return change.low + half, np.inf
    x, off = estimate_root(intervals.c[change.interval], float(intervals.error[change.interval]))
    guess = change.low + half * (1 + x)
    return guess, half * off + 2 * _ROUNDING * guess


def _nearest(g: np.ndarray, low: int, high: int) -> int:
    """The point in a range at which a function is nearest to zero; for a jump, the first point."""
    return low + int(np.argmin(np.abs(g[low : high + 1])))


def _rounded(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Times (K,) and states (n, K), C copies: unperturbed, and perturbed by rounding."""
    return perturbed_states(t, y, _ROUNDING * t, _ROUNDING * y)


def perturbed_states(
    t: np.ndarray, y: np.ndarray, dt: np.ndarray, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Times (K,) and states (n, K), C copies: unperturbed, and perturbed by dt and dy, any two states equally and oppositely."""
    n = len(y)
    bits = (np.arange(n)[:, None] >> np.arange(max(n.bit_length(), 1))) & 1
    signs = np.concatenate([np.ones((n, 1)), 2.0 * bits - 1], axis=1)
    signs = np.concatenate([np.zeros((n, 1)), signs, -signs], axis=1)
    count = signs.shape[1]
    late = np.concatenate([[0.0], np.ones(count // 2), -np.ones(count // 2)])
    times = t + late[:, None] * dt
    states = y[:, None, :] + signs[:, :, None] * dy[:, None, :]
    return times.ravel(), states.reshape(n, -1), count
