"""Singular positions on the way: where constraints become dependent, branches of the motion cross.

The motion q(t) is analytic through such a time t*, only the equations are 0/0 there. Next to it, at a distance δ, rounding ε
enters the Taylor coefficient of order k with ε/δ^(k+1): a step of length h magnifies it by (h/δ)^k. So no step begins or ends
close to t*: one begins at some δ before it and ends as far behind it, with those orders only that stand out from rounding.
Then it is looked at whether positions, velocities and energy continue; if they do not, the run ends with time and names.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.errors import SimulationError
from dalembert.simulation.constraint_manifold import Independence
from dalembert.simulation.guides import Mechanics
from dalembert.simulation.integrators.base import Burst, Guide, Method, Step, listed
from dalembert.simulation.integrators.interpolant import Polynomial
from dalembert.simulation.integrators.taylor import Taylor

_SINGULAR = 1e-6  # independence, by the largest on the way, at which branches cross
_CLOSE = 1e-3  # and at which it is told
_LANDING = 1e-5  # and at which a step may not end
_DISTANCE = 0.35  # of a usual step: where the step across begins
_AWAY = 0.7  # behind t*, steps are shorter than this share of the way back to it
_NEARER = 3.0  # a crossing that fails is tried again from this much nearer
_TRIES = 3
_JUMP = 1e-6  # of the velocity, that a projection may correct after a crossing
_DRIFT = 1e-8  # of the energy, that a crossing may change
_GOOD = 1e-11  # of the energy: a crossing that changes more is tried again from nearer, as long as tries are left
_ROUNDING = 2e-14  # of the way: branches that are closer cross
_FOLLOWED = 1e-11  # of the way: branches that are further apart are followed
_GRID = 9
_SHARES = np.linspace(0.0, 1.0, 7)  # of the steps of other methods, at which they are looked at
_OTHERS = "Use the integrator taylor, which keeps clear of it, or rk4 with another `step`. "


class BranchPoints(Guide):
    """The guide across singular positions; remembers them for the whole run, whatever choices are made on the way.

    With `lead` False it only looks, for runs that are left to themselves.
    """

    def __init__(self, mechanics: Mechanics, lead: bool = True) -> None:
        self.mechanics, self._lead = mechanics, lead  # of the equations in use
        self.looks_inside = lead
        self._independence = Independence(len(mechanics.manifold.rows))
        self._natural = 0.0  # the length of steps where nothing disturbs
        self._last = -np.inf  # the singular time passed last
        self._tries = 0
        self._least, self._when = 1.0, 0.0
        self._passed: list[float] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling."""
        if self._passed:
            return (f"the motion passed singular configurations, on its branch, at t = {listed(self._passed)}",)
        if self._least > _CLOSE:
            return ()
        return (
            f"the motion passes close to a singular configuration at t = {self._when:.6g}: the constraints are "
            f"{self._least:.1e} times as independent as elsewhere. Look at the result beyond with care",
        )

    def measure_anew(self) -> None:
        """Forget how independent the constraints have been: parameters that they or the masses contain have other values."""
        self._independence.usual = 0.0

    def limit(self, t: float) -> float:
        """Behind a singular time, rounding is magnified by steps that are longer than the way back to it."""
        behind = t - self._last
        return t + _AWAY * behind if behind < 3 * self._natural else np.inf

    def look(self, t: float, y: np.ndarray) -> float:
        """How independent the constraints are at a state of the run; remembered where it is least."""
        found = self._independence.measure(*self.mechanics.rows(np.array([t]), y[:, None]))
        return float(self._remember(np.array([t]), found, np.array([True]))[0])

    def mend(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or one that keeps clear of a singular time, or one that crosses it."""
        if not self._lead:
            self.look(step.t1, step.y1)
            return step
        if not isinstance(stepper, Taylor) or step.coefficients is None:
            return self._checked(stepper, step)
        h, polynomial = step.t1 - step.t0, Polynomial(step.coefficients)
        usual = max(h, self._natural)
        ahead = self._ahead(step.t0, polynomial, h, max(h, min(2.5 * usual, polynomial.reach(1e-7))))
        if ahead is None:
            if step.t1 < end and step.t0 - self._last >= 3 * self._natural:
                self._natural, self._tries = h, 0
            return step
        goal = _DISTANCE * usual / _NEARER**self._tries
        if ahead <= 1.3 * goal:
            return self._across(stepper, step, ahead, end)
        return step if ahead - h >= goal else stepper.go_on(step, ahead - goal)

    def _ahead(self, t0: float, polynomial: Polynomial, h: float, reach: float) -> float | None:
        """How far ahead the first singular time lies; None when there is none within reach."""
        s = np.linspace(0.0, reach, _GRID)
        found = self._independence.measure(*self.mechanics.rows(t0 + s, polynomial.values(s)))
        sizes = self._remember(t0 + s, found, s <= 1.0001 * h)
        for i in range(1, _GRID - 1):
            if sizes[i] <= min(sizes[i - 1], sizes[i + 1]) and 2 * sizes[i] <= 1.1 * max(sizes[i - 1], sizes[i + 1]):
                where, least = self._closest(t0, polynomial, s[i - 1], s[i + 1])
                span = max(s[-1], self._natural)
                if least < _SINGULAR and self._crossing(t0 + where, polynomial.value(where), span):
                    return where
        return None

    def _remember(self, t: np.ndarray, found: np.ndarray, passed: np.ndarray) -> np.ndarray:
        """The independence by the largest on the way; of the times that are passed, the largest and the least are kept."""
        self._independence.usual = max(self._independence.usual, float(found[passed].max()))
        sizes = found / max(self._independence.usual, 1e-300)
        k = int(np.argmin(np.where(passed, sizes, np.inf)))
        if sizes[k] < self._least:
            self._least, self._when = float(sizes[k]), float(t[k])
        return sizes

    def _crossing(self, t: float, y: np.ndarray, span: float) -> bool:
        """Do branches cross at this singular position? φ tells: where it does not vanish they pass each other by.

        φ is measured by the way that the motion goes in the time `span`. Between rounding and what Taylor steps can follow
        round the corner lies a gap in which nothing can be told.
        """
        A, M = (part[..., 0] for part in self.mechanics.rows(np.array([t]), y[:, None]))
        qd = self.mechanics.velocities(t, y)
        way = max(float(np.sqrt(max(qd @ M @ qd, 0.0))) * span, 1e-300)
        gap = self._independence.missed(A, M, self.mechanics.violation(t, y), _CLOSE) / way
        if _ROUNDING < gap < _FOLLOWED:
            raise self._stuck(
                t, y, f"the branches pass by each other at {gap:.1e} of the way, which rounding does not tell from 0"
            )
        return gap <= _ROUNDING

    def _along(self, t0: float, polynomial: Polynomial, s: np.ndarray) -> np.ndarray:
        found = self._independence.measure(*self.mechanics.rows(t0 + s, polynomial.values(s)))
        return found / max(self._independence.usual, 1e-300)

    def _closest(self, t0: float, polynomial: Polynomial, low: float, high: float) -> tuple[float, float]:
        """Where between two times the independence is least, by ever finer grids."""
        where, least = low, np.inf
        for _ in range(18):
            s = np.linspace(low, high, _GRID)
            sizes = self._along(t0, polynomial, s)
            i = int(np.clip(np.argmin(sizes), 1, _GRID - 2))
            where, least = float(s[i]), float(sizes[i])
            if least < 1e-3 * _SINGULAR or 2 * least > 1.5 * max(sizes[i - 1], sizes[i + 1]):
                break  # found, or a smooth minimum that does not vanish
            low, high = s[i - 1], s[i + 1]
        return where, least

    def _across(self, stepper: Taylor, step: Step, ahead: float, end: float) -> Step:
        """The step that begins `ahead` before a singular time and ends as far behind it."""
        s, polynomial = 2 * ahead, Polynomial(step.coefficients if step.coefficients is not None else np.zeros((0, 0)))
        singular, order = step.t0 + ahead, polynomial.best_order(2 * ahead)
        if step.t0 + s >= end:
            s = end - step.t0
        short = polynomial.cut(order)
        y1 = short.value(s)
        if s > 1.5 * ahead:
            n = self.mechanics.positions
            y1, corrected = self.mechanics.settled(step.t0 + s, y1, short.rate.value(s)[:n])
            drift = self._drift(step, y1, step.t0 + s)
            failed = corrected > _JUMP or drift > _DRIFT
            if failed or (drift > _GOOD and self._tries + 1 < _TRIES):
                self._tries += 1
                if self._tries >= _TRIES:
                    raise self._stuck(singular, polynomial.value(ahead), _broken(corrected, drift))
                return stepper.go_on(step, ahead * (1 - 1 / _NEARER))
        self._last, self._tries = singular, 0
        self._passed.append(singular)
        out = stepper.go_on(step, s, y1, order)
        out = replace(out, t1=end) if step.t0 + s >= end else out
        return replace(out, sure=lambda t: abs(t - singular) > 0.5 * ahead)

    def _drift(self, step: Step, y1: np.ndarray, t1: float) -> float:
        """The change of the energy balance in a step, by the size of the energies."""
        start = step.coefficients[:, 0] if step.coefficients is not None else step.at(step.t0)
        before, size = self.mechanics.balance(step.t0, start)
        after, other = self.mechanics.balance(t1, y1)
        return abs(after - before) / max(size, other, 1e-300)

    def _checked(self, stepper: Method, step: Step) -> Step:
        """A step of another method: it may not end at a singular time, and may cross one only when the motion continues."""
        last = self.look(step.t1, step.y1)
        if last < _LANDING:
            raise self._stuck(step.t1, step.y1, "a step ends at it, where rounding is magnified without bound", _OTHERS)
        if not stepper.capabilities.adaptive and last > 0.1:
            return step
        s = step.t0 + (step.t1 - step.t0) * _SHARES
        sizes = self._independence.measure(*self.mechanics.rows(s, np.stack([step.at(float(t)) for t in s], axis=1)))
        if _dips(sizes[None])[0]:
            self._verify(stepper, step, float(s[np.argmin(sizes)]))
        return step

    def watch(self, stepper: Method, burst: Burst, end: float) -> None:
        """Look at the ends of steps, and within them where that is asked; `_checked` takes those that are suspect."""
        if not len(burst):
            return
        steps, measure, rows = burst.steps, self._independence.measure, self.mechanics.rows
        if not self._lead:
            self._remember(steps.t1, measure(*rows(steps.t1, steps.y1.T)), np.full(len(burst), True))
            return
        found = measure(*rows(np.append(steps.t0[0], steps.t1), np.column_stack([steps.powers[0, :, 0], steps.y1.T])))
        last = self._remember(steps.t1, found[1:], np.full(len(burst), True))
        within = np.flatnonzero((last <= 0.1) | (stepper.capabilities.adaptive))
        suspect = last < _LANDING
        if len(within):
            inner = _SHARES[1:-1]
            sizes = measure(*rows(*burst.inside(inner, within)))
            ends = (found[within, None], sizes.reshape(len(within), len(inner)), found[within + 1, None])
            suspect[within] |= _dips(np.concatenate(ends, axis=1))
        for k in np.flatnonzero(suspect):
            self._checked(stepper, burst.step(int(k)))

    def _verify(self, stepper: Method, step: Step, singular: float) -> None:
        """A step across a singular time, as its slopes tell, must leave energy and velocities continuous."""
        qd = self.mechanics.velocities(step.t1, step.y1)
        y1, corrected = self.mechanics.settled(step.t1, step.y1, qd)
        drift = self._drift(step, y1, step.t1)
        before = self.mechanics.velocities(step.t0, step.at(step.t0))
        turned = 1 - float(before @ qd) / max(float(np.linalg.norm(before) * np.linalg.norm(qd)), 1e-300)
        if corrected > max(1e-3, 10 * stepper.tolerance) or drift > max(1e-6, 10 * stepper.tolerance) or turned > 0.2:
            raise self._stuck(singular, step.at(singular), _broken(corrected, drift), _OTHERS)
        self._passed.append(singular)

    def _stuck(self, t: float, y: np.ndarray, what: str, others: str = "") -> SimulationError:
        A, M = self.mechanics.rows(np.array([t]), y[:, None])
        rows = self._independence.spoilers(A[..., 0], M[..., 0], _CLOSE)
        names = ", ".join(f"'{self.mechanics.names[i]}'" for i in rows)
        who = f"the constraint {names} becomes" if len(rows) == 1 else f"the constraints {names} become"
        return SimulationError(
            f"at t = {t:.9g} the motion passes a singular configuration: {who} dependent, and "
            f"branches of the motion meet. Expected a step across it that continues the motion, but {what}. {others}Change "
            "the dimensions a little, so that the branches cross exactly or keep clear of each other."
        )


def _dips(sizes: np.ndarray) -> np.ndarray:
    """In which steps the independence (steps, shares) is least within, and falls to about half of what is beside it."""
    i, steps = sizes.argmin(axis=1), np.arange(len(sizes))
    inner = np.clip(i, 1, sizes.shape[1] - 2)
    beside = np.maximum(sizes[steps, inner - 1], sizes[steps, inner + 1])
    return (i == inner) & (2 * sizes[steps, inner] <= 1.1 * beside)


def _broken(corrected: float, drift: float) -> str:
    return f"the step does not continue it: its velocity is off by {corrected:.1e}, its energy by {drift:.1e}"
