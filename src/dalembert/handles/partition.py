"""Choices that are made again on the way: a run in parts, each with the speeds and constraints that serve there.

A velocity that is independent at the start of a closed mechanism can vanish later, as a rocker's does where it turns back; and of
redundant constraints those that were independent can become dependent, as two wheels on one axle show when they have turned
by a right angle. The run then goes on with others. Every choice
is derived and compiled once, however often it comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SimulationError
from dalembert.integrators import Solution
from dalembert.integrators.base import Burst, Guide, Method, Step
from dalembert.integrators.independence import Independence
from dalembert.integrators.mechanics import Mechanics
from dalembert.integrators.polynomial import Polynomial
from dalembert.integrators.taylor import Taylor
from dalembert.kinematics.speeds import speed_map
from dalembert.model.elements import Formula
from dalembert.model.frozen import Frozen, Value
from dalembert.programs import Function
from dalembert.structure import Choice
from dalembert.structure.rank import best_rows, singular_value
from dalembert.structure.speed_choice import best_speeds, independence, speed_rows

if TYPE_CHECKING:
    from dalembert.handles.derivation import Derivation
    from dalembert.handles.equations import Equations

_WORN = 0.2  # a choice has served when it determines the motion five times worse than where it was made
_BETTER = 2.5  # and another is this much better
_POOR = 1e-3
_MOST = 2000
Place = tuple[float, np.ndarray, np.ndarray]  # t, q, q̇


@dataclass(frozen=True)
class Part(Value):
    """A stretch of a run with one choice; its works begin at zero."""

    equations: Equations
    solution: Solution
    constants: np.ndarray
    jumps: Frozen[str, float] = Frozen()  # noqa: RUF009 (it cannot change) energy that came in where it begins, by name

    @property
    def work(self) -> dict[str, np.ndarray]:
        """The work since its start, by what did it."""
        rows = self.solution.y[self.equations.n_states :]
        return dict(zip(self.equations.working, rows, strict=True))

    @property
    def work_at_end(self) -> dict[str, float]:
        """The work at the end of its last step, where the next part begins."""
        y = self.solution.y[:, -1] if self.solution.end is None else self.solution.end[1]
        return dict(zip(self.equations.working, y[self.equations.n_states :].tolist(), strict=True))


def work_along(parts: Sequence[Part]) -> list[dict[str, np.ndarray]]:
    """The work since the start of the first part along each of them, jumps included, all under the same names."""
    names = dict.fromkeys(name for part in parts for name in (*part.equations.working, *part.jumps))
    done, out = dict.fromkeys(names, 0.0), list[dict[str, np.ndarray]]()
    for part in parts:
        found, nothing = part.work, np.zeros(len(part.solution.t))
        done = {name: so_far + part.jumps.get(name, 0.0) for name, so_far in done.items()}
        out.append({name: so_far + found.get(name, nothing) for name, so_far in done.items()})
        done |= {name: done[name] + more for name, more in part.work_at_end.items()}
    return out


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The same run with stretches put together that differ in their constants only, which then stand at each sample."""
    out: list[Part] = []
    group: list[Part] = []
    for part in parts:
        if group and (part.jumps or part.equations.derivation != group[0].equations.derivation):
            out.append(_one(group))
            group = []
        group.append(part)
    return (*out, _one(group))


def _one(group: Sequence[Part]) -> Part:
    """Stretches one behind the other as one."""
    if len(group) == 1:
        return group[0]
    first, size, end = group[0], group[0].equations.n_states, group[0].solution.end
    done, y, constants = np.zeros(len(first.solution.y) - size), list[np.ndarray](), list[np.ndarray]()
    for i, part in enumerate(group):
        rows = part.solution.y[:, i > 0 :].copy()
        rows[size:] += done[:, None]
        y.append(rows)
        known = (
            part.constants
            if part.constants.ndim == 2
            else np.repeat(part.constants[:, None], part.solution.y.shape[1], axis=1)
        )
        constants.append(known[:, i > 0 :])
        assert part.solution.end is not None
        end = (part.solution.end[0], np.concatenate([part.solution.end[1][:size], part.solution.end[1][size:] + done]))
        done = end[1][size:]
    solutions = [part.solution for part in group]
    calls = [each.evaluations for each in solutions]
    found = replace(
        solutions[-1],
        t=np.concatenate([each.t[i > 0 :] for i, each in enumerate(solutions)]),
        y=np.concatenate(y, axis=1),
        steps=sum(each.steps for each in solutions),
        evaluations=None if None in calls else sum(c for c in calls if c is not None),
        dense=tuple(piece for each in solutions for piece in each.dense),
        end=end,
    )
    return Part(first.equations, found, np.concatenate(constants, axis=1), first.jumps)


class Partition(Guide):
    """The parts of a run so far, and the equations it goes on with."""

    looks_inside = False

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.parts: list[Part] = []
        known = equations.workspace.facts
        self._known: dict[Choice, Equations] = {_ordered(known.speeds, known.rows): equations}
        self._maps: dict[Derivation, Function] = {}  # Y of each choice
        self._mechanics: Mechanics | None = None
        self._independence = Independence(len(known.rows))
        self._fresh: tuple[float, float] | None = None
        self._usual = 0.0
        self._jumps: dict[str, float] = {}
        self._again = 0  # how often the choice was made again
        self._in_speeds = equations.about.uses_speeds

    @property
    def choosable(self) -> bool:
        """True when there are constraints, and the formalism works in speeds or drops redundant ones."""
        return bool(self.equations.workspace.manifold.rows) and (self._in_speeds or self._drops)

    @property
    def _drops(self) -> bool:
        about = self.equations.about
        return bool(self.equations.workspace.facts.dropped) and about.redundant == "drops"

    @property
    def notes(self) -> tuple[str, ...]:
        """How often the choice was made again."""
        times = self._again
        if not times:
            return ()
        what = "speeds" if self._in_speeds else "independent constraints"
        often = "once" if times == 1 else f"{times} times"
        return (f"the {what} were chosen again {often} on the way, among {len(self._known)} choices",)

    def keep(self, solution: Solution, constants: np.ndarray) -> None:
        """Remember a stretch."""
        self.parts.append(Part(self.equations, solution, constants, Frozen(self._jumps)))
        self._jumps = {}

    def jump(self, name: str, energy: float) -> None:
        """Account for energy that comes in at once where the next stretch begins, such as by an impact, under a name."""
        self._jumps[name] = self._jumps.get(name, 0.0) + energy

    def end(self, t: float, y: np.ndarray) -> None:
        """End the last stretch with a sample at its very end."""
        last = self.parts[-1]
        found, known = last.solution, last.constants
        if t > found.t[-1]:
            found = replace(found, t=np.append(found.t, t), y=np.column_stack([found.y, y]))
            known = known if known.ndim == 1 else np.column_stack([known, known[:, -1]])
            self.parts[-1] = Part(last.equations, found, known, last.jumps)

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Look at the start: a choice that is poor there, such as a user's speed that vanishes, is made again at once."""
        if not self.choosable:
            return
        here = (t, q, qd)
        now = self._measures(here)
        if min(now) >= _POOR:
            self._fresh, self._usual = now, self._held(here)
        elif min(self._measures(here, *self._best(here))) > _BETTER * min(now):
            self.rechoose(t, q, qd)

    def measure_anew(self) -> None:
        """Forget how well the choice served: parameters that constraints or masses contain have other values."""
        self._fresh = None

    def use(self, mechanics: Mechanics) -> None:
        """Go on with these equations."""
        self._mechanics = mechanics

    def worn(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of K states (states, K) at which the present choice has become poor."""
        assert self._mechanics is not None
        if self._fresh is None:
            here = self._place(float(t[0]), y[:, 0])
            self._fresh, self._usual = self._measures(here), self._held(here)
        measures = self._now(t, y[: self._mechanics.positions], self._mechanics.velocities(t, y))
        poor = np.any([now < _WORN * fresh for now, fresh in zip(measures, self._fresh, strict=True)], axis=0)
        for k in np.flatnonzero(poor):
            here = self._place(float(t[k]), y[:, k])
            # where the mechanism itself is singular no choice is better, and the run goes on with what it has
            if self._held(here) < _WORN * self._usual:
                continue
            if min(self._measures(here, *self._best(here))) > _BETTER * min(now[k] for now in measures):
                return int(k)
        return None

    def _place(self, t: float, y: np.ndarray) -> Place:
        assert self._mechanics is not None
        return t, y[: self._mechanics.positions], self._mechanics.velocities(t, y)

    def mend(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or as much of it as the choice serves for: a step must not leap over the place where it fails."""
        if not isinstance(stepper, Taylor) or step.coefficients is None or self._fresh is None:
            return step
        polynomial, h = Polynomial(step.coefficients), step.t1 - step.t0
        s = np.linspace(0.0, h, 7)
        for _ in range(5):  # ever finer, until the first place where it fails is known
            served = self._serves(step.t0 + s, polynomial.values(s))
            if served.all() or not served[0]:
                return step
            k = int(np.argmin(served))
            s = np.linspace(s[k - 1], s[k], 7)
        return stepper.go_on(step, float(s[-1])) if s[-1] < h else step

    def watch(self, stepper: Method, burst: Burst, end: float) -> None:
        """Nothing: how a choice serves is asked at the ends of steps, by `worn`."""

    def _serves(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """At which of many states the present choice serves."""
        assert self._fresh is not None
        assert self._mechanics is not None
        first, second = self._now(t, y[: self._mechanics.positions], self._mechanics.velocities(t, y))
        return (first >= 0.9 * _WORN * self._fresh[0]) & (second >= 0.9 * _WORN * self._fresh[1])

    def state(self, t: float, y: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and q̇ at the end of a stretch."""
        n, size = len(self.equations.model.coordinate_names), self.equations.n_states
        return y[:n].copy(), self.equations.kernel.velocities(y[:size], t, constants)

    def rechoose(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Go on with the speeds and constraints that are best at this position."""
        self._again += 1
        if self._again > _MOST:
            raise SimulationError(
                f"at t = {t:.9g} speeds or constraints have been chosen again {_MOST} times. The mechanism stays close to a "
                "singular configuration. Derive with mode='assembled' and a formalism in velocities, such as lagrange."
            )
        speeds, rows = self._best((t, q, qd))
        key = _ordered(speeds, rows)
        if key not in self._known:
            facts, changes = self.equations.workspace.facts, self.equations.changes
            steady = not changes.keys() & (facts.structural | facts.inertial)
            self._known[key] = self.equations.with_choice(Choice(speeds, rows, steady))
        self.equations = replace(self._known[key], changes=self.equations.changes)
        self._fresh, self._usual = self._measures((t, q, qd)), self._held((t, q, qd))

    def _held(self, here: Place) -> float:
        """How independent the constraints are among themselves, whatever is chosen of them."""
        rank = len(self.equations.workspace.facts.rows)
        return float(np.linalg.svd(self._rows(here)[0], compute_uv=False)[rank - 1]) if rank else 1.0

    def _best(self, here: Place) -> tuple[tuple[Formula, ...], tuple[int, ...]]:
        """The speeds and independent constraints that serve best at a state."""
        t, q, _ = here
        known, (scaled, A) = self.equations.workspace.facts, self._rows(here)
        rows = best_rows(scaled, len(known.rows)) if self._drops else known.rows
        speeds = best_speeds(self.equations.model, A[list(rows)], q, t) if self._in_speeds else known.speeds
        return speeds, rows

    def _measures(
        self, here: Place, speeds: tuple[Formula, ...] | None = None, rows: tuple[int, ...] | None = None
    ) -> tuple[float, float]:
        """How well speeds complete the constraints, and how independent the kept constraints are; by default the present."""
        t, q, qd = here
        if speeds is None or rows is None:
            first, second = self._now(np.array([t]), q[:, None], qd[:, None])
            return float(first[0]), float(second[0])
        scaled, A = self._rows(here)
        kept = list(rows)
        complete = independence(speed_rows(self.equations.model, speeds, q, t), A[kept]) if self._in_speeds else 1.0
        return complete, float(_share(scaled[None], kept)[0]) if self._drops else 1.0

    def _now(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both measures of the present choice at K states."""
        _, _, A, M = self.equations.workspace.manifold.evaluate(q, qd, t, self.equations.values)
        kept, first = list(self.equations.workspace.facts.rows), np.ones(len(t))
        if self._in_speeds:
            S = np.concatenate([self._speeds(t, q), np.moveaxis(A[kept], -1, 0)], axis=1)
            S = S / np.maximum(np.linalg.norm(S, axis=2, keepdims=True), 1e-300)
            first = singular_value(S, min(S.shape[1:]) - 1)
        return first, _share(self._independence.scaled(A, M), kept) if self._drops else np.ones(len(t))

    def _speeds(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Y of u = Y q̇ + Z for the speeds in use, (K, d, n), by a compiled function."""
        space = self.equations.workspace
        if self.equations.derivation not in self._maps:
            Y, _ = speed_map(space.system.motion, space.facts.speeds)
            self._maps[self.equations.derivation] = space.compiled(Y.ravel(), space.system.q)
        out = self._maps[self.equations.derivation](np.concatenate([q, t[None]]), self.equations.values)
        return np.moveaxis(out.reshape(-1, *q.shape), -1, 0)

    def _rows(self, here: Place) -> tuple[np.ndarray, np.ndarray]:
        """The constraint rows without dimensions, and as they are."""
        t, q, qd = here
        _, _, A, M = self.equations.workspace.manifold.evaluate(q, qd, t, self.equations.values)
        return self._independence.scaled(A[..., None], M[..., None])[0], A


def _ordered(speeds: tuple[Formula, ...], rows: tuple[int, ...]) -> Choice:
    """A choice as a key: the order of the speeds does not matter."""
    return Choice(tuple(sorted(speeds, key=str)), rows)


def _share(rows: np.ndarray, kept: list[int]) -> np.ndarray:
    """How independent the kept of many rows (K, r, n) are, by how independent the best of them can be."""
    place = len(kept) - 1
    return singular_value(rows[:, kept], place) / np.maximum(singular_value(rows, place), 1e-300)
