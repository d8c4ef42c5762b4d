"""Coordinate singularities along a run: where the inertia along a combination of coordinates vanishes, q̈ is undefined.

Rounding errors of the accelerations are ε divided by the remaining inertia, so a run with a step that ends there raises and names
the coordinates. A long step may cross the singularity: it is then detected from the samples on both sides, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import SimulationError
from dalembert.mechanics.facts import reciprocal_condition
from dalembert.simulation.integrators.base import Burst, Method, Step, StepMonitor, describe
from dalembert.simulation.integrators.interpolant import hermite
from dalembert.simulation.step_monitors import StateMechanics

STOP = 1e-10  # the smallest inertia relative to the largest, at which a run ends
CLOSE = 1e-8  # the same, below which a note is added
FAILED = 1e-6  # the same, below which it is the cause of a failed run
_SHORT_STEP = 0.1  # of the longest step: shorter ones are checked
_DIP_RATIO = 0.5  # of its neighbors: a smaller square root of the inertia at a sample starts a search for a singularity
_MAX_DIPS = 4
_SEARCH_ITERATIONS = 48
_NAMED_SHARE = 0.1  # of the direction without inertia: coordinates with a larger component are named


class SingularInertia(StepMonitor):
    """Monitors the inertia of the motions that the constraints permit."""

    needs_interpolant = False

    def __init__(self, mechanics: StateMechanics, names: Sequence[str]) -> None:
        self.mechanics, self._names = mechanics, tuple(names)
        self._sizes = np.zeros(mechanics.positions)  # the largest inertia of every coordinate so far
        self._longest = 0.0
        self._min_inertia, self._min_time, self._min_names = 1.0, 0.0, ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The coordinate singularity that the motion passes, if any."""
        if self._min_inertia > CLOSE:
            return ()
        return (
            f"the motion passes a singularity of the coordinates {self._min_names} at t = {self._min_time:.6g}: the inertia "
            f"along a combination of them falls to {self._min_inertia:.1e} of the largest, as at gimbal lock or at a pole. Check "
            "the results after this time",
        )

    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step itself; raises if coordinates are singular at the end of a short step."""
        h = step.t1 - step.t0
        if h > self._longest or not self._sizes.any():
            self._longest = max(h, self._longest)
            self._measure(step.t1, step.y1)
        elif h < _SHORT_STEP * self._longest:
            self._require_inertia(step.t1, step.y1)
        return step

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Check the end of the shortest step and of the last; of all steps if the run has failed."""
        if not len(burst):
            return
        if burst.failure is not None:
            self._require_sound(burst)
        shortest = int(np.argmin(burst.steps.t1 - burst.steps.t0))
        for k in {shortest, len(burst) - 1}:
            self._require_inertia(float(burst.steps.t1[k]), burst.steps.y1[k])

    def _require_sound(self, burst: Burst) -> None:
        """Raise if coordinates were close to singular before a run failed."""
        for k in np.flatnonzero(np.isfinite(burst.steps.y1).all(axis=1)):
            y = burst.steps.y1[k]
            if self._measure(float(burst.steps.t1[k]), y) < FAILED:
                raise self._singular_error(float(burst.steps.t1[k]), y) from burst.failure

    def review(self, t: np.ndarray, y: np.ndarray) -> None:
        """Search samples (states, K) for singularities at or between them."""
        if len(t) < 2:
            return
        _, M = self.mechanics.rows(t, y)
        self._sizes = np.maximum(self._sizes, np.einsum("iik->ik", M).max(axis=1))
        scaled = np.moveaxis(M, 2, 0) / np.sqrt(np.outer(self._sizes, self._sizes).clip(1e-300))
        size = np.abs(np.linalg.det(scaled)) ** 0.5
        around = np.maximum(np.roll(size, 1), np.roll(size, -1))
        dips = [k for k in np.flatnonzero(size <= _DIP_RATIO * around).tolist() if 0 < k < len(t) - 1]
        for k in sorted(dips, key=lambda k: size[k])[:_MAX_DIPS]:
            for i in (k - 1, k):
                self._search_minimum(t, y, i)

    def _search_minimum(self, t: np.ndarray, y: np.ndarray, i: int) -> None:
        """Record the smallest inertia between two samples, along their cubic Hermite interpolant."""
        n, (t0, t1) = self.mechanics.positions, t[i : i + 2].tolist()
        rates = self.mechanics.velocities(t[i : i + 2], y[:, i : i + 2])
        cubic = hermite(t0, t1, (y[:n, i], y[:n, i + 1]), (rates[:, 0], rates[:, 1]))
        low, high = t0, t1
        for _ in range(_SEARCH_ITERATIONS):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if self._inertia(a, cubic(a), rates[:, 0])[0] < self._inertia(b, cubic(b), rates[:, 0])[0]:
                high = b
            else:
                low = a
        self._record_minimum((low + high) / 2, *self._inertia((low + high) / 2, cubic((low + high) / 2), rates[:, 0]))

    def _inertia(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[float, np.ndarray]:
        manifold = self.mechanics.manifold
        _, _, A, M = manifold.evaluate(q, qd, t, self.mechanics.values)
        self._sizes = np.maximum(self._sizes, np.diag(M))
        return reciprocal_condition(M, A[manifold.rows] if manifold.rows else A[:0], self._sizes)

    def _measure(self, t: float, y: np.ndarray) -> float:
        n = self.mechanics.positions
        minimum, direction = self._inertia(t, y[:n], np.asarray(self.mechanics.velocities(t, y)))
        self._record_minimum(t, minimum, direction)
        return minimum

    def _record_minimum(self, t: float, minimum: float, direction: np.ndarray) -> None:
        if minimum < self._min_inertia:
            self._min_inertia, self._min_time = minimum, t
            share = np.abs(direction) / max(float(np.abs(direction).max()), 1e-300)
            self._min_names = ", ".join(
                name for name, part in zip(self._names, share, strict=True) if part > _NAMED_SHARE
            )

    def _require_inertia(self, t: float, y: np.ndarray) -> None:
        if self._measure(t, y) <= STOP:
            raise self._singular_error(t, y)

    def _singular_error(self, t: float, y: np.ndarray) -> SimulationError:
        return SimulationError(
            f"at t = {t:.9g} the motion is at a singularity of the coordinates {self._min_names}: the inertia along a "
            f"combination of them is {self._min_inertia:.1e} of the largest; runs end at {STOP:g}, or where they fail. "
            f"{describe(self._names, y[: len(self._names)])} Angles are singular at gimbal lock, polar coordinates at the pole; "
            "the motion itself may be regular. Use bodies with spherical or free joints, whose angles are changed along a run, "
            "a quaternion, or Cartesian coordinates with a constraint."
        )
