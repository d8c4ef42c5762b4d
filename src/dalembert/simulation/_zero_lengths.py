"""Springs and dampers whose ends pass through one point: the direction of the force turns round within one instant.

A spring with natural length pulls and pushes along its own direction, so its force jumps where the length passes zero. The Taylor
polynomial of a step knows nothing of it and goes on with the old direction. The step is therefore cut where the length is
zero, and the next begins just behind, with the force of the other side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.simulation.guides import Mechanics
from dalembert.simulation.integrators.base import Burst, Guide, Method, Step, listed
from dalembert.simulation.integrators.interpolant import Piece, Polynomial, hermite
from dalembert.simulation.integrators.taylor import Taylor

_MEETING = 1e-11  # of the distances of the ends: closer than this they meet
_BEHIND = 1e-8  # of the step: how far behind the meeting the next one begins
_SHARE = 0.25  # of the way to the singularity beside the path, which a step may go
_FURTHER = 3.0  # steps: how far ahead a meeting is looked for, since rounding shortens the steps that lead to it
_GRID = 17

_SOON = 1e-6  # of the time of the model: how long a first step from a meeting is
_REST = 1e-4  # and from one in which the ends do not move against each other yet
_CHANGE = 1e-4  # of its rates: more than this may not change in such a step
_TRIES = 20

States = Callable[[np.ndarray], np.ndarray]


def depart(mechanics: Mechanics, t: float, y: np.ndarray, until: float) -> Piece:
    """A first short step from a state at which the ends of a damper meet, by Heun's method.

    There the force is 0/0, and just beside it what it is at the meeting: see `Lengths.apart`.
    """
    n, scales = mechanics.positions, mechanics.manifold.system.facts.scales

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, later = mechanics.lengths.apart(y[:n, None], mechanics.velocities(t, y)[:, None], t, mechanics.values)
        return mechanics.rates(float(later[0]), np.concatenate([q[:, 0], y[n:]]))

    first = rates(t, y)
    soon = mechanics.lengths.meet((y[:n] + _SOON * scales.time * first[:n])[:, None], t, mechanics.values)[0]
    h = min((_REST if soon else _SOON) * scales.time, (until - t) / 4)
    second = rates(t + h, y + h * first)
    for _ in range(0 if soon else _TRIES):
        if np.linalg.norm(second - first) <= _CHANGE * max(float(np.linalg.norm(first)), 1e-300):
            break
        h /= 4
        second = rates(t + h, y + h * first)
    return hermite(t, t + h, (y, y + h / 2 * (first + second)), (first, second))


class ZeroLengths(Guide):
    """The guide across meetings of the ends of springs and dampers."""

    def __init__(self, mechanics: Mechanics) -> None:
        self.mechanics = mechanics  # of the equations in use
        self._spans = mechanics.lengths.spans
        self._sizes = np.zeros(len(self._spans))  # the largest distances of the ends so far
        self._met: dict[str, list[float]] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Which elements passed length zero, and when."""
        return tuple(
            f"the {label} passed through length zero at t = {listed(times)}: its force turns round there"
            for label, times in self._met.items()
        )

    def mend(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or one that ends just behind a meeting, or one that is short enough for a near miss."""
        h, states = step.t1 - step.t0, _states(step)
        s = np.linspace(0.0, min(_reach(step), end - step.t0), _GRID)
        found = [hit for i in self._suspects(step.t0, states, s) if (hit := self._closest(step.t0, states, s, i))]
        if not found:
            return step
        where, least, i, pace = min(found)
        met = least <= _MEETING * self._sizes[i]
        if not isinstance(stepper, Taylor) or step.coefficients is None:
            if met or least <= 0.01 * pace * h:
                self._tell(i, step.t0 + where, states(np.array([where])))
            return step
        if met:
            return self._across(stepper, step, where, i, end)
        allowed = _SHARE * float(np.hypot(where, least / pace))
        return step if h <= 2 * allowed else stepper.go_on(step, allowed)

    def watch(self, stepper: Method, burst: Burst, end: float) -> None:
        """Tell the passages; only steps in which an element turns by more than a right angle are looked at closely."""
        if not len(burst):
            return
        t, y = burst.inside(np.linspace(0.0, 1.0, _GRID))
        between, size, _ = self.mechanics.between(t, y)
        self._sizes = np.maximum(self._sizes, size.max(axis=1))
        between = between.reshape(*between.shape[:2], len(burst), _GRID)
        turned = np.einsum("ijks,ijk->iks", between, between[..., 0])
        for k in np.flatnonzero((turned < 0).any(axis=(0, 2))):
            self.mend(stepper, burst.step(int(k)), end)

    def _lengths(self, t0: float, states: States, s: np.ndarray) -> tuple[np.ndarray, ...]:
        between, size, _ = self.mechanics.between(t0 + s, states(s))
        self._sizes = np.maximum(self._sizes, size.max(axis=1))
        return between, np.linalg.norm(between, axis=1)

    def _suspects(self, t0: float, states: States, s: np.ndarray) -> list[int]:
        """The elements that are shortest within the step and turn by more than a right angle in it."""
        between, _ = self._lengths(t0, states, s)
        turned = np.einsum("ijk,ij->ik", between, between[:, :, 0])
        return [int(i) for i in np.flatnonzero((turned < 0).any(axis=1))]

    def _closest(self, t0: float, states: States, s: np.ndarray, i: int) -> tuple[float, float, int, float] | None:
        """When the first passage is closest, how close, the element, and its pace."""
        between, lengths = self._lengths(t0, states, s)
        dips = [k for k in range(1, len(s) - 1) if lengths[i, k] <= min(lengths[i, k - 1], lengths[i, k + 1])]
        k = dips[0] if dips else len(s) - 2
        low, high = float(s[k - 1]), float(s[k + 1])
        pace = float(np.linalg.norm(between[i, :, k + 1] - between[i, :, k - 1])) / (high - low)
        where, least = low, np.inf
        for _ in range(24):
            fine = np.linspace(low, high, 9)
            _, lengths = self._lengths(t0, states, fine)
            j = int(np.argmin(lengths[i]))
            where, least = float(fine[j]), float(lengths[i, j])
            low, high = float(fine[max(j - 1, 0)]), float(fine[min(j + 1, 8)])
        return (where, least, i, max(pace, 1e-300)) if 0 < where < s[-1] else None

    def _across(self, stepper: Taylor, step: Step, where: float, i: int, end: float) -> Step:
        """Cut at the meeting; the state just behind it comes from the force on the other side."""
        assert step.coefficients is not None
        polynomial = Polynomial(step.coefficients)
        self._tell(i, step.t0 + where, polynomial.values(np.array([where])))
        eta = _BEHIND * (step.t1 - step.t0)
        if step.t0 + where + eta >= end:
            return step
        beyond = self.mechanics.rates(step.t0 + where + eta, polynomial.value(where + eta))
        return stepper.go_on(step, where + eta, polynomial.value(where) + eta * beyond)

    def _tell(self, i: int, t: float, y: np.ndarray) -> None:
        """Remember a passage; a spring whose natural length is zero has nothing to tell, its force does not jump."""
        _, _, natural = self.mechanics.between(np.array([t]), y)
        span = self._spans[i]
        if span.kind != "spring" or natural[i, 0] != 0:
            self._met.setdefault(f"{span.kind} '{span.name}'", []).append(t)


def _states(step: Step) -> States:
    """The states within a step, by the time since its start."""
    if step.coefficients is not None:
        return Polynomial(step.coefficients).values
    return lambda s: np.stack([step.at(step.t0 + float(x)) for x in s], axis=1)


def _reach(step: Step) -> float:
    """How far from the start of a step its states are known to rounding."""
    h = step.t1 - step.t0
    if step.coefficients is None:
        return h
    return max(h, min(_FURTHER * h, Polynomial(step.coefficients).reach(1e-13)))
