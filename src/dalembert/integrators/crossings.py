"""Where functions of the state change their sign along a run: switchings, and events that a user asks for.

Along a step the motion is a polynomial of time, so a crossing is found on it to rounding, whatever the method: the functions are
looked at on a grid of the step, at dips between its points, and then by Brent's method. The step is cut there. Equations
are held beyond a switching surface (see `model/switches`), so that the polynomial is smooth on both sides of the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import root_scalar

from dalembert.integrators.base import Burst, Guide, Halt, Method, Step
from dalembert.integrators.polynomial import Piece
from dalembert.integrators.taylor import Taylor

_GRID = 33
_SHARES = np.linspace(0.0, 1.0, _GRID)
_FINER = 9
_ROUNDS = 6  # how often a dip is looked at more closely
_NEAR = np.concatenate([np.exp2(np.arange(-60.0, -5.0)), _SHARES[1:]])  # closer and closer to the start of a step
_CLOSER = np.concatenate([[0.0], np.exp2(np.arange(-24.0, -4.0))])  # before the first point of the grid
_ROUNDING = 8.9e-16  # of the state: how far it may be off
_STILL = 1e-15

Along = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # shares of a step → times (K,) and states (states, K)


@dataclass(frozen=True)
class Watched:
    """sign × (function `row` − offset), which is positive until it is crossed."""

    row: int
    sign: float
    offset: float = 0.0
    fresh: bool = False  # it is zero at the start of the run, and only a later return counts
    follows: bool = False  # where it is fresh, its sign is the side to which the motion goes, not one it must keep
    up: bool = True  # a crossing from below to above ends the run; else it is written down, and the run goes on
    down: bool = True


class Crossings(Guide):
    """The guide that ends a run at the first crossing."""

    def __init__(self, values: Callable[[np.ndarray, np.ndarray], np.ndarray], watched: Sequence[Watched]) -> None:
        self._values = values  # (times (K,), states (states, K)) → (functions, K)
        self._rows = np.array([each.row for each in watched], dtype=np.intp)
        self._signs = np.array([each.sign for each in watched])
        self._offsets = np.array([each.offset for each in watched])
        self._fresh = np.array([each.fresh for each in watched], dtype=bool)
        self._follows = np.array([each.follows for each in watched])
        self._halts = {1.0: [each.down for each in watched], -1.0: [each.up for each in watched]}  # by the sign before
        self._begins = True  # until a step has been looked at
        self.met: Halt | None = None  # where the run ended
        self.also: tuple[Halt, ...] = ()  # what is crossed at the same instant
        self.noted: list[Halt] = []  # crossings that do not end it

    @property
    def halted(self) -> bool:
        """True behind a crossing that ends the run."""
        return self.met is not None

    def mend(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or as much of it as comes before the first crossing."""
        piece, h = step.piece, step.t1 - step.t0

        def along(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return step.t0 + s * h, piece.polynomial.values(s * (h / piece.unit))

        found = self._look(along)
        if found is None:
            return step
        self.met = self._crossing(found, along)
        t, y = self.met.t, self.met.y
        if isinstance(stepper, Taylor) and step.coefficients is not None:
            return stepper.go_on(step, t - step.t0)
        return Step(step.t0, t, y, lambda: Piece(step.t0, t, piece.unit, piece.polynomial), sure=step.sure)

    def cut(self, burst: Burst) -> tuple[int, Halt] | None:
        """The first crossing in a row of steps that are taken already, and the step it is in."""
        if not len(burst):
            return None
        f = self._watch(*burst.inside(_SHARES)).reshape(len(self._rows), len(burst), _GRID)
        k = 0
        while k < len(burst):
            along, signs = partial(burst.inside, which=np.array([k])), self._signs.copy()
            found = self._look(along)
            if found is not None:
                self.met = self._crossing(found, along)
                return k, self.met
            f *= (signs * self._signs)[:, None, None]
            rest = (f[:, k + 1 :, 1:] <= 0).any(axis=(0, 2)) | _dips(f[:, k + 1 :]).any(axis=(0, 2))
            k = k + 1 + int(np.argmax(rest)) if rest.any() else len(burst)
        return None

    def watch(self, stepper: Method, burst: Burst, end: float) -> None:
        """Nothing: see `cut`."""

    def _watch(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        values = self._values(t, y)[self._rows]
        return self._signs[:, None] * (values - self._offsets[:, None])

    def _crossing(self, found: tuple[float, int], along: Along) -> Halt:
        t, y = along(np.array([found[0]]))
        return Halt(float(t[0]), y[:, 0], found[1], bool(self._signs[found[1]] < 0))

    def _look(self, along: Along) -> tuple[float, int] | None:
        """The first crossing that ends the run; those before it that do not are written down."""
        f = self._watch(*along(_SHARES))
        dips = _dips(f[:, None])[:, 0]
        first, self._begins = self._begins, False
        roots = []
        if first:  # behind a crossing things happen soon, if they do: look closer at what comes next
            near = self._watch(*along(_CLOSER))
            roots += [(s, j) for j in self._passing(near) if (s := self._closer(j, near[j], along)) is not None]
        known = {j for _, j in roots}
        for j in np.flatnonzero((f <= 0).any(axis=1) | dips.any(axis=1) | self._fresh):
            if j not in known and (s := self._root(int(j), f[j], dips[j], along)) is not None:
                roots.append((s, int(j)))
        self._fresh = self._fresh & (np.abs(f) <= _STILL).all(
            axis=1
        )  # what is zero along a whole step has not gone anywhere
        passed: list[tuple[float, Halt]] = []
        ordered, end = sorted(roots), None
        for n, (s, j) in enumerate(ordered):
            if self._halts[float(self._signs[j])][j]:
                both = [self._crossing(each, along) for each in ordered[n + 1 :] if each[0] <= s + _ROUNDING]
                self.also = (*(halt for r, halt in passed if r >= s - _ROUNDING), *both)
                passed, end = [(r, halt) for r, halt in passed if r < s - _ROUNDING], (s, j)
                break
            passed.append((s, self._crossing((s, j), along)))
            self._signs[j] *= -1
        self.noted += [halt for _, halt in passed]
        return end

    def _passing(self, f: np.ndarray) -> list[int]:
        """What is positive where a stretch begins and not so before the first point of the grid, or dips there."""
        lowest = (f[:, :-2] > f[:, 1:-1]) & (f[:, 2:] > f[:, 1:-1])
        inside = (f[:, 0] > 0) & ~self._fresh & ((f <= 0).any(axis=1) | lowest.any(axis=1))
        return np.flatnonzero(inside).tolist()

    def _closer(self, j: int, f: np.ndarray, along: Along) -> float | None:
        """Where function j is crossed before the first point of the grid, or in a dip there."""
        k = int(np.argmax(f <= 0)) if (f <= 0).any() else int(np.argmin(f))
        low, high = _CLOSER[k - 1], _CLOSER[min(k + (f[k] > 0), len(f) - 1)]
        return self._inside(j, float(low), float(high), along)

    def _inside(self, j: int, low: float, high: float, along: Along) -> float | None:
        """Where function j is crossed between two places, if it dips below zero there."""

        def at(s: float) -> float:
            return float(self._watch(*along(np.array([s])))[j, 0])

        for _ in range(_ROUNDS):
            fine = np.linspace(low, high, _FINER)
            g = self._watch(*along(fine))[j]
            if (g <= 0).any():
                return _refined(at, low, float(fine[int(np.argmax(g <= 0))]))
            i = int(np.argmin(g))
            low, high = float(fine[max(i - 1, 0)]), float(fine[min(i + 1, _FINER - 1)])
        return None

    def _root(self, j: int, f: np.ndarray, dips: np.ndarray, along: Along) -> float | None:
        """Where function j is crossed first."""

        def at(s: float) -> float:
            return float(self._watch(*along(np.array([s])))[j, 0])

        if self._fresh[j]:
            return self._returned(j, at, along)
        below = np.flatnonzero(f <= 0)
        end = int(below[0]) if len(below) else len(f)
        for k in np.flatnonzero(dips[: max(end - 1, 0)]):
            if (s := self._inside(j, float(_SHARES[k]), float(_SHARES[k + 2]), along)) is not None:
                return s
        if end == len(f):
            return None
        return 0.0 if end == 0 else _refined(at, float(_SHARES[end - 1]), float(_SHARES[end]))

    def _returned(self, j: int, at: Callable[[float], float], along: Along) -> float | None:
        """Where a function returns that is zero at the start: at once, if it goes to the side where it may not."""
        f, (t, y) = self._watch(*along(_NEAR))[j], along(np.zeros(1))
        here = self._watch(*_rounded(t, y))[j]
        noise = 8 * float(np.ptp(here)) + 4 * abs(float(here[0]))
        off = np.flatnonzero(np.abs(f) > noise)
        if not len(off):
            return None
        first = int(off[0])
        if f[first] < 0:
            if not self._follows[j]:
                return 0.0
            self._signs[j] *= -1
            f = -f
        below = np.flatnonzero(f[first:] <= 0)
        if not len(below):
            return None
        k = int(below[0]) + first
        return _refined(at, float(_NEAR[k - 1]), float(_NEAR[k]))


def _rounded(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A time (1,) and state (states, 1), and the same off by rounding: all one way, and any two states in opposite ways."""
    ways = (np.arange(len(y))[:, None] >> np.arange(len(y).bit_length())) & 1
    signs = np.concatenate([np.zeros((len(y), 1)), np.ones((len(y), 1)), 2.0 * ways - 1], axis=1)
    signs = np.concatenate([signs, -signs[:, 1:]], axis=1)
    late = np.concatenate([[0.0], np.ones(signs.shape[1] // 2), -np.ones(signs.shape[1] // 2)])
    return t * (1 + _ROUNDING * late), y * (1 + _ROUNDING * signs)


def _refined(at: Callable[[float], float], low: float, high: float) -> float:
    """The root between two signs."""
    if at(low) <= 0:
        return low
    if at(high) >= 0:
        return high
    found = root_scalar(at, bracket=(low, high), method="brentq", xtol=1e-16, rtol=8.9e-16)
    return float(found.root)


def _dips(f: np.ndarray) -> np.ndarray:
    """Where positive functions (functions, steps, grid) have a dip whose parabola goes below zero: (…, grid − 2)."""
    a, b, c = f[..., :-2], f[..., 1:-1], f[..., 2:]
    bend = a - 2 * b + c
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = b - (a - c) ** 2 / (8 * bend)
    return (a > b) & (c > b) & (b > 0) & (lowest < 0.5 * b)
