"""Springs and dampers that pass through zero length: the direction of the force reverses instantaneously.

The force of a spring with natural length acts along its direction, so it jumps where the length passes zero. The Taylor
polynomial of a step continues with the old direction. The step is therefore cut at zero length, and the next one
begins just after it, with the force of the other side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.simulation.integrators.base import Burst, Method, Step, StepMonitor, listed
from dalembert.simulation.integrators.interpolant import Piece, Polynomial, hermite
from dalembert.simulation.integrators.taylor import Taylor
from dalembert.simulation.step_monitors import StateMechanics

_ZERO = 1e-11  # of the distances of the ends: smaller lengths are zero
_AFTER = 1e-8  # of the step: the offset after zero length at which the next one begins
_SHARE = 0.25  # of the distance to the complex singularity: the maximum step
_AHEAD = 3.0  # steps: the range of the search for zero lengths, because rounding shortens the steps before them
_GRID = 17

_FIRST = 1e-6  # of the time scale of the model: the first step from zero length
_FIRST_AT_REST = 1e-4  # the same, if the ends have no relative velocity
_MAX_CHANGE = 1e-4  # of the rates: their maximum change in such a step
_MAX_TRIES = 20

States = Callable[[np.ndarray], np.ndarray]


def first_step(mechanics: StateMechanics, t: float, y: np.ndarray, until: float) -> Piece:
    """A first short step from a state at which a damper has zero length, by Heun's method.

    The force is 0/0 there; its limit is evaluated at a nearby state: see `Lengths.separated`.
    """
    n, scales = mechanics.positions, mechanics.manifold.system.facts.scales

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, later = mechanics.lengths.separated(y[:n, None], mechanics.velocities(t, y)[:, None], t, mechanics.values)
        return mechanics.rates(float(later[0]), np.concatenate([q[:, 0], y[n:]]))

    first = rates(t, y)
    soon = mechanics.lengths.any_zero((y[:n] + _FIRST * scales.time * first[:n])[:, None], t, mechanics.values)[0]
    h = min((_FIRST_AT_REST if soon else _FIRST) * scales.time, (until - t) / 4)
    second = rates(t + h, y + h * first)
    for _ in range(0 if soon else _MAX_TRIES):
        if np.linalg.norm(second - first) <= _MAX_CHANGE * max(float(np.linalg.norm(first)), 1e-300):
            break
        h /= 4
        second = rates(t + h, y + h * first)
    return hermite(t, t + h, (y, y + h / 2 * (first + second)), (first, second))


class ZeroLengths(StepMonitor):
    """Monitor of zero lengths of springs and dampers."""

    def __init__(self, mechanics: StateMechanics) -> None:
        self.mechanics = mechanics  # of the equations in use
        self._spans = mechanics.lengths.spans
        self._sizes = np.zeros(len(self._spans))  # the maximum distances of the ends along the run
        self._passages: dict[str, list[float]] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The elements that passed zero length, and the times."""
        return tuple(
            f"the {label} passed through zero length at t = {listed(times)}: its force reverses there"
            for label, times in self._passages.items()
        )

    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or one that ends just after zero length, or one that is short enough for a near miss."""
        h, states = step.t1 - step.t0, _states(step)
        s = np.linspace(0.0, min(_reach(step), end - step.t0), _GRID)
        found = [hit for i in self._suspects(step.t0, states, s) if (hit := self._closest(step.t0, states, s, i))]
        if not found:
            return step
        where, minimum, i, pace = min(found)
        met = minimum <= _ZERO * self._sizes[i]
        if not isinstance(stepper, Taylor) or step.coefficients is None:
            if met or minimum <= 0.01 * pace * h:
                self._record(i, step.t0 + where, states(np.array([where])))
            return step
        if met:
            return self._cut_at_zero(stepper, step, where, i, end)
        allowed = _SHARE * float(np.hypot(where, minimum / pace))
        return step if h <= 2 * allowed else stepper.resize_step(step, allowed)

    def first_adjusted(self, burst: Burst, end: float) -> int:
        """The first step within or shortly after which an element rotates by more than 90°."""
        if not len(burst):
            return 0
        h = burst.steps.h
        reach = np.minimum(np.maximum(h, np.minimum(_AHEAD * h, burst.reach(1e-13))), end - burst.steps.t0)
        shares = (reach / h)[:, None] * np.linspace(0.0, 1.0, _GRID)
        between, _, _ = self.mechanics.between(*burst.at(np.arange(len(burst)), shares))
        return int(np.append(np.flatnonzero(_reverses(between, len(burst))), len(burst))[0])

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Record passages; only steps in which an element rotates by more than 90° are examined."""
        if not len(burst):
            return
        t, y = burst.inside(np.linspace(0.0, 1.0, _GRID))
        between, size, _ = self.mechanics.between(t, y)
        self._sizes = np.maximum(self._sizes, size.max(axis=1))
        for k in np.flatnonzero(_reverses(between, len(burst))):
            self.adjust_step(stepper, burst.step(int(k)), end)

    def _lengths(self, t0: float, states: States, s: np.ndarray) -> tuple[np.ndarray, ...]:
        between, size, _ = self.mechanics.between(t0 + s, states(s))
        self._sizes = np.maximum(self._sizes, size.max(axis=1))
        return between, np.linalg.norm(between, axis=1)

    def _suspects(self, t0: float, states: States, s: np.ndarray) -> list[int]:
        """The elements that rotate by more than 90° in the step."""
        between, _ = self._lengths(t0, states, s)
        cosine = np.einsum("ijk,ij->ik", between, between[:, :, 0])
        return [int(i) for i in np.flatnonzero((cosine < 0).any(axis=1))]

    def _closest(self, t0: float, states: States, s: np.ndarray, i: int) -> tuple[float, float, int, float] | None:
        """The time of the minimum length at the first passage, the length, the element, and its rate."""
        between, lengths = self._lengths(t0, states, s)
        dips = [k for k in range(1, len(s) - 1) if lengths[i, k] <= min(lengths[i, k - 1], lengths[i, k + 1])]
        k = dips[0] if dips else len(s) - 2
        low, high = float(s[k - 1]), float(s[k + 1])
        pace = float(np.linalg.norm(between[i, :, k + 1] - between[i, :, k - 1])) / (high - low)
        where, minimum = low, np.inf
        for _ in range(24):
            fine = np.linspace(low, high, 9)
            _, lengths = self._lengths(t0, states, fine)
            j = int(np.argmin(lengths[i]))
            where, minimum = float(fine[j]), float(lengths[i, j])
            low, high = float(fine[max(j - 1, 0)]), float(fine[min(j + 1, 8)])
        return (where, minimum, i, max(pace, 1e-300)) if 0 < where < s[-1] else None

    def _cut_at_zero(self, stepper: Taylor, step: Step, where: float, i: int, end: float) -> Step:
        """Cut the step at zero length; the state just after it uses the force on the other side."""
        assert step.coefficients is not None
        polynomial = Polynomial(step.coefficients)
        self._record(i, step.t0 + where, polynomial.values(np.array([where])))
        eta = _AFTER * (step.t1 - step.t0)
        if step.t0 + where + eta >= end:
            return step
        beyond = self.mechanics.rates(step.t0 + where + eta, polynomial.value(where + eta))
        return stepper.resize_step(step, where + eta, polynomial.value(where) + eta * beyond)

    def _record(self, i: int, t: float, y: np.ndarray) -> None:
        """Record a passage; a spring of zero natural length is omitted, because its force does not jump."""
        _, _, natural = self.mechanics.between(np.array([t]), y)
        span = self._spans[i]
        if span.kind != "spring" or natural[i, 0] != 0:
            self._passages.setdefault(f"{span.kind} '{span.name}'", []).append(t)


def _reverses(between: np.ndarray, count: int) -> np.ndarray:
    """The steps in which a vector (elements, 3, steps × _GRID) rotates by more than 90°."""
    between = between.reshape(*between.shape[:2], count, _GRID)
    return (np.einsum("ijks,ijk->iks", between, between[..., 0]) < 0).any(axis=(0, 2))


def _states(step: Step) -> States:
    """The states within a step as a function of the time since its start."""
    if step.coefficients is not None:
        return Polynomial(step.coefficients).values
    return lambda s: np.stack([step.at(step.t0 + float(x)) for x in s], axis=1)


def _reach(step: Step) -> float:
    """The time from the start of a step for which its states are accurate to rounding."""
    h = step.t1 - step.t0
    if step.coefficients is None:
        return h
    return max(h, min(_AHEAD * h, Polynomial(step.coefficients).reach(1e-13)))
