"""Singular configurations along a run: branches of the motion cross where the constraints become dependent.

The motion q(t) is analytic through such a time t*; only the equations are 0/0 there. At a distance δ from t*, a rounding error ε
enters the Taylor coefficient of order k as ε/δ^(k+1), and a step of length h amplifies it by (h/δ)^k. Therefore no step begins or
ends close to t*: one step begins at some δ before t* and ends as far after it, using only the orders above rounding.
Positions, velocities and energy must then be continuous; otherwise the run ends and reports the time and the constraints.

Rounding errors of the accelerations are ε divided by the remaining inertia, so a run with a step that ends there raises and names
the coordinates. A long step may cross the singularity: it is then detected from the samples on both sides, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.errors import SimulationError
from dalembert.mechanics.facts import reciprocal_condition
from dalembert.simulation.constraint_manifold import Independence
from dalembert.simulation.integrators.base import Burst, Method, Step, StepMonitor, describe, listed
from dalembert.simulation.integrators.interpolant import Polynomial, hermite
from dalembert.simulation.integrators.taylor import Taylor
from dalembert.simulation.step_monitors import StateMechanics

_SINGULAR = 1e-6  # independence relative to its maximum along the run, below which branches cross
_CLOSE = 1e-3  # the same, below which a note is added
_END_LIMIT = 1e-5  # the same, below which no step may end
_CROSSING_DISTANCE = 0.35  # of a usual step: the distance at which the crossing step begins
_MAX_STEP_AFTER = 0.7  # after t*, steps are shorter than this fraction of the distance from it
_RETRY_FACTOR = 3.0  # a failed crossing is repeated from a distance reduced by this factor
_MAX_TRIES = 3
_MAX_JUMP = 1e-6  # of the velocity: the maximum correction by the projection after a crossing
_MAX_DRIFT = 1e-8  # of the energy: the maximum change by a crossing
_GOOD_DRIFT = 1e-11  # of the energy: above it a crossing is repeated from nearer while tries remain
_ROUNDING = 2e-14  # of the path length: branches closer than this cross
_MIN_SEPARATION = 1e-11  # of the path length: branches farther apart than this can be distinguished
_GRID = 9
_FRACTIONS = np.linspace(0.0, 1.0, 7)  # fractions of a step at which other methods are checked
_ADVICE = "Use the integrator taylor, which ends no step there, or rk4 with another `step`. "


class BranchPointError(SimulationError):
    """The method cannot continue the motion across a singular configuration."""


class BranchPoints(StepMonitor):
    """Monitor that steps across singular configurations; it records them for the entire run, across repartitions.

    With `lead` False it only monitors, for runs without projection.
    """

    def __init__(self, mechanics: StateMechanics, lead: bool = True) -> None:
        self.mechanics, self._lead = mechanics, lead  # of the equations in use
        self.needs_interpolant = lead
        self._independence = Independence(len(mechanics.manifold.rows))
        self._natural = 0.0  # the step length away from singular configurations
        self._last = -np.inf  # the singular time passed last
        self._tries = 0
        self._searched = np.zeros((0, _GRID)), np.zeros((0, _GRID))  # times and independence of the last steps
        self._min_independence, self._min_time = 1.0, 0.0
        self._passed: list[float] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """The singular configurations of the run, in words."""
        if self._passed:
            return (f"the motion passed singular configurations on its branch at t = {listed(self._passed)}",)
        if self._min_independence > _CLOSE:
            return ()
        return (
            f"the motion passes close to a singular configuration at t = {self._min_time:.6g}: the smallest singular value of "
            f"the constraints falls to {self._min_independence:.1e} of its maximum. Check the results after this time",
        )

    def reset_reference(self) -> None:
        """Reset the reference independence: parameters of the constraints or masses have changed."""
        self._independence.reference = 0.0

    def limit(self, t: float) -> float:
        """After a singular time, steps longer than the distance from it amplify rounding errors."""
        behind = t - self._last
        return t + _MAX_STEP_AFTER * behind if behind < 3 * self._natural else np.inf

    def check_state(self, t: float, y: np.ndarray) -> float:
        """The independence of the constraints at a state of the run; its minimum is recorded."""
        found = self._independence.measure(*self.mechanics.rows(np.array([t]), y[:, None]))
        return float(self._record_independence(np.array([t]), found, np.array([True]))[0])

    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or one that ends before a singular time, or one that crosses it."""
        if not self._lead:
            self.check_state(step.t1, step.y1)
            return step
        if not isinstance(stepper, Taylor) or step.coefficients is None:
            return self._check_step(stepper, step)
        h, polynomial = step.t1 - step.t0, Polynomial(step.coefficients)
        usual = max(h, self._natural)
        ahead = self._time_to_singularity(step.t0, polynomial, h, max(h, min(2.5 * usual, polynomial.reach(1e-7))))
        if ahead is None:
            if step.t1 < end and step.t0 - self._last >= 3 * self._natural:
                self._natural, self._tries = h, 0
            return step
        goal = _CROSSING_DISTANCE * usual / _RETRY_FACTOR**self._tries
        if ahead <= 1.3 * goal:
            return self._cross_step(stepper, step, ahead, end)
        return step if ahead - h >= goal else stepper.resize_step(step, ahead - goal)

    def first_adjusted(self, burst: Burst, end: float) -> int:
        """The first step within or shortly after which the independence has a minimum."""
        if not self._lead or not len(burst):
            return len(burst)
        h, t = burst.steps.h, burst.steps.t0
        usual = np.maximum(h, np.append(self._natural, h[:-1]))
        reach = np.maximum(h, np.minimum(2.5 * usual, burst.reach(1e-7)))
        shares = (reach / h)[:, None] * np.linspace(0.0, 1.0, _GRID)
        times, states = burst.at(np.arange(len(burst)), shares)
        found = self._independence.measure(*self.mechanics.rows(times, states)).reshape(shares.shape)
        passed = shares <= 1.0001
        self._searched = (
            np.where(passed, t[:, None] + shares * h[:, None], t[:, None]),
            np.where(passed, found, found[:, :1]),
        )
        return int(np.append(np.flatnonzero(_interior_minima(found)), len(burst))[0])

    def _time_to_singularity(self, t0: float, polynomial: Polynomial, h: float, reach: float) -> float | None:
        """The time until the first singular time; None if there is none within `reach`."""
        s = np.linspace(0.0, reach, _GRID)
        found = self._independence.measure(*self.mechanics.rows(t0 + s, polynomial.values(s)))
        sizes = self._record_independence(t0 + s, found, s <= 1.0001 * h)
        for i in range(1, _GRID - 1):
            if sizes[i] <= min(sizes[i - 1], sizes[i + 1]) and 2 * sizes[i] <= 1.1 * max(sizes[i - 1], sizes[i + 1]):
                where, minimum = self._locate_minimum(t0, polynomial, s[i - 1], s[i + 1])
                span = max(s[-1], self._natural)
                if minimum < _SINGULAR and self._crossing(t0 + where, polynomial.value(where), span):
                    return where
        return None

    def _record_independence(self, t: np.ndarray, found: np.ndarray, passed: np.ndarray) -> np.ndarray:
        """The independence relative to its maximum along the run; updates the maximum and minimum at `passed` times."""
        self._independence.reference = max(self._independence.reference, float(found[passed].max()))
        sizes = found / max(self._independence.reference, 1e-300)
        k = int(np.argmin(np.where(passed, sizes, np.inf)))
        if sizes[k] < self._min_independence:
            self._min_independence, self._min_time = float(sizes[k]), float(t[k])
        return sizes

    def _crossing(self, t: float, y: np.ndarray, span: float) -> bool:
        """True if branches cross at this singular configuration: φ vanishes there; otherwise they are separate.

        φ is relative to the path length of the motion in the time `span`. Between rounding and the smallest separation that
        Taylor steps can follow, neither can be decided.
        """
        A, M = (part[..., 0] for part in self.mechanics.rows(np.array([t]), y[:, None]))
        qd = self.mechanics.velocities(t, y)
        path_length = max(float(np.sqrt(max(qd @ M @ qd, 0.0))) * span, 1e-300)
        gap = self._independence.branch_separation(A, M, self.mechanics.violation(t, y), _CLOSE) / path_length
        if _ROUNDING < gap < _MIN_SEPARATION:
            raise self._singular_error(
                t, y, f"the branches are {gap:.1e} of the path length apart, which rounding cannot distinguish from 0"
            )
        return gap <= _ROUNDING

    def _relative_independence(self, t0: float, polynomial: Polynomial, s: np.ndarray) -> np.ndarray:
        found = self._independence.measure(*self.mechanics.rows(t0 + s, polynomial.values(s)))
        return found / max(self._independence.reference, 1e-300)

    def _locate_minimum(self, t0: float, polynomial: Polynomial, low: float, high: float) -> tuple[float, float]:
        """The minimum of the independence between two times, by successive grid refinement."""
        where, minimum = low, np.inf
        for _ in range(18):
            s = np.linspace(low, high, _GRID)
            sizes = self._relative_independence(t0, polynomial, s)
            i = int(np.clip(np.argmin(sizes), 1, _GRID - 2))
            where, minimum = float(s[i]), float(sizes[i])
            if minimum < 1e-3 * _SINGULAR or 2 * minimum > 1.5 * max(sizes[i - 1], sizes[i + 1]):
                break  # found, or a smooth minimum that does not vanish
            low, high = s[i - 1], s[i + 1]
        return where, minimum

    def _cross_step(self, stepper: Taylor, step: Step, ahead: float, end: float) -> Step:
        """The step that begins `ahead` before a singular time and ends at the same distance after it."""
        s, polynomial = 2 * ahead, Polynomial(step.coefficients if step.coefficients is not None else np.zeros((0, 0)))
        singular, order = step.t0 + ahead, polynomial.best_order(2 * ahead)
        if step.t0 + s >= end:
            s = end - step.t0
        short = polynomial.cut(order)
        y1 = short.value(s)
        if s > 1.5 * ahead:
            n = self.mechanics.positions
            y1, corrected = self.mechanics.projected(step.t0 + s, y1, short.rate.value(s)[:n])
            drift = self._drift(step, y1, step.t0 + s)
            failed = corrected > _MAX_JUMP or drift > _MAX_DRIFT
            if failed or (drift > _GOOD_DRIFT and self._tries + 1 < _MAX_TRIES):
                self._tries += 1
                if self._tries >= _MAX_TRIES:
                    raise self._singular_error(
                        singular, polynomial.value(ahead), _describe_discontinuity(corrected, drift)
                    )
                return stepper.resize_step(step, ahead * (1 - 1 / _RETRY_FACTOR))
        self._last, self._tries = singular, 0
        self._passed.append(singular)
        out = stepper.resize_step(step, s, y1, order)
        out = replace(out, t1=end) if step.t0 + s >= end else out
        return replace(out, may_project=lambda t: abs(t - singular) > 0.5 * ahead)

    def _drift(self, step: Step, y1: np.ndarray, t1: float) -> float:
        """The change of the energy balance in a step, relative to the energies."""
        start = step.coefficients[:, 0] if step.coefficients is not None else step.at(step.t0)
        before, size = self.mechanics.balance(step.t0, start)
        after, other = self.mechanics.balance(t1, y1)
        return abs(after - before) / max(size, other, 1e-300)

    def _check_step(self, stepper: Method, step: Step) -> Step:
        """A step of another method: it must not end at a singular time, and may cross one only if the motion is continuous."""
        last = self.check_state(step.t1, step.y1)
        if last < _END_LIMIT:
            raise self._singular_error(
                step.t1, step.y1, "a step ends at it, where rounding is amplified without bound", _ADVICE
            )
        if not stepper.capabilities.adaptive and last > 0.1:
            return step
        s = step.t0 + (step.t1 - step.t0) * _FRACTIONS
        sizes = self._independence.measure(*self.mechanics.rows(s, np.stack([step.at(float(t)) for t in s], axis=1)))
        if _interior_minima(sizes[None])[0]:
            self._verify(stepper, step, float(s[np.argmin(sizes)]))
        return step

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Check the ends of the steps, and points within them if required; `_check_step` handles suspect steps."""
        if not len(burst):
            return
        if isinstance(stepper, Taylor):
            self._accept(burst, end)
            return
        steps, measure, rows = burst.steps, self._independence.measure, self.mechanics.rows
        if not self._lead:
            self._record_independence(steps.t1, measure(*rows(steps.t1, steps.y1.T)), np.full(len(burst), True))
            return
        found = measure(*rows(np.append(steps.t0[0], steps.t1), np.column_stack([steps.powers[0, :, 0], steps.y1.T])))
        last = self._record_independence(steps.t1, found[1:], np.full(len(burst), True))
        within = np.flatnonzero((last <= 0.1) | (stepper.capabilities.adaptive))
        suspect = last < _END_LIMIT
        if len(within):
            inner = _FRACTIONS[1:-1]
            sizes = measure(*rows(*burst.inside(inner, within)))
            ends = (found[within, None], sizes.reshape(len(within), len(inner)), found[within + 1, None])
            suspect[within] |= _interior_minima(np.concatenate(ends, axis=1))
        for k in np.flatnonzero(suspect):
            self._check_step(stepper, burst.step(int(k)))

    def _accept(self, burst: Burst, end: float) -> None:
        """Record the independence along steps that were not adjusted, and their length."""
        if not self._lead:
            found = self._independence.measure(*self.mechanics.rows(burst.steps.t1, burst.steps.y1.T))
            self._record_independence(burst.steps.t1, found, np.full(len(burst), True))
            return
        t, found = (part[: len(burst)].ravel() for part in self._searched)
        self._record_independence(t, found, np.full(len(t), True))
        ordinary = burst.steps.h[burst.steps.t1 < end]
        if len(ordinary):
            self._natural, self._tries = float(ordinary[-1]), 0

    def _verify(self, stepper: Method, step: Step, singular: float) -> None:
        """A step across a singular time must leave energy and velocities continuous; otherwise raise."""
        qd = self.mechanics.velocities(step.t1, step.y1)
        y1, corrected = self.mechanics.projected(step.t1, step.y1, qd)
        drift = self._drift(step, y1, step.t1)
        before = self.mechanics.velocities(step.t0, step.at(step.t0))
        bend = 1 - float(before @ qd) / max(float(np.linalg.norm(before) * np.linalg.norm(qd)), 1e-300)
        if corrected > max(1e-3, 10 * stepper.tolerance) or drift > max(1e-6, 10 * stepper.tolerance) or bend > 0.2:
            raise self._singular_error(singular, step.at(singular), _describe_discontinuity(corrected, drift), _ADVICE)
        self._passed.append(singular)

    def _singular_error(self, t: float, y: np.ndarray, what: str, others: str = "") -> BranchPointError:
        A, M = self.mechanics.rows(np.array([t]), y[:, None])
        rows = self._independence.dependent_rows(A[..., 0], M[..., 0], _CLOSE)
        names = ", ".join(f"'{self.mechanics.names[i]}'" for i in rows)
        who = f"the constraint {names} becomes" if len(rows) == 1 else f"the constraints {names} become"
        return BranchPointError(
            f"at t = {t:.9g} the motion passes a singular configuration: {who} dependent, and "
            f"branches of the motion meet. Expected a step across it that continues the motion, but {what}. {others}Change "
            "the dimensions slightly, so that the branches either cross exactly or stay apart."
        )


def _interior_minima(sizes: np.ndarray) -> np.ndarray:
    """The steps whose independence (steps, fractions) has an interior minimum at about half of its neighbors."""
    i, steps = sizes.argmin(axis=1), np.arange(len(sizes))
    inner = np.clip(i, 1, sizes.shape[1] - 2)
    beside = np.maximum(sizes[steps, inner - 1], sizes[steps, inner + 1])
    return (i == inner) & (2 * sizes[steps, inner] <= 1.1 * beside)


def _describe_discontinuity(corrected: float, drift: float) -> str:
    return f"the step does not continue it: its velocity error is {corrected:.1e}, its energy error {drift:.1e}"


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
