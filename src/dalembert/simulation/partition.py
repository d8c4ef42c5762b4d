"""Repartitioning along a run: segments with different generalized speeds and independent constraints.

An independent velocity of a closed mechanism can vanish later, as that of a rocker at its reversal; a trial vector of a
projection can become orthogonal to the admissible motions; and among redundant constraints an independent set can
become dependent, as for two wheels on one axle after a rotation by 90°. The run then continues
with another choice, with or without projection, and near gimbal lock with other angles (`chart_changes`). Every choice is
derived and compiled once, however often it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.codegen.function import CompiledFunction
from dalembert.errors import SimulationError
from dalembert.formalisms.shared.quantities import Velocities
from dalembert.mechanics.facts import PartitionChoice, reciprocal_condition
from dalembert.mechanics.generalized_speeds import best_coordinates, best_speeds, completeness, speed_map, speed_rows
from dalembert.mechanics.rank import best_rows, singular_value
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.simulation.chart_changes import SINGULAR, Chart, Charts, Sequences, joined_charts
from dalembert.simulation.constraint_manifold import Independence
from dalembert.simulation.integrators.base import Burst, Method, Solution, Step, StepMonitor
from dalembert.simulation.integrators.interpolant import Polynomial
from dalembert.simulation.integrators.taylor import Taylor
from dalembert.simulation.step_monitors import StateMechanics

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations, Derivation
    from dalembert.simulation.trajectory_data import EventRecord

_LOSS = 0.2  # a choice is replaced if its conditioning falls to this fraction of its initial value
_BETTER = 2.5  # and another is better by this factor
_ILL_CONDITIONED = 1e-3
_SINGULAR = (
    1e-3  # of the independence of the constraints at the last choice: below it branches meet, and no choice is made
)
_MAX_CHOICES = 2000
At = tuple[float, np.ndarray, np.ndarray]  # t, q, q̇


@dataclass(frozen=True)
class RunSegment(FrozenValue):
    """A segment of a run with one choice; its works begin at zero."""

    equations: BoundEquations
    solution: Solution
    constants: np.ndarray
    jumps: Frozen[str, float] = Frozen()  # noqa: RUF009 (immutable) energy added at its start, by name
    chart: Chart | None = None  # None: its angles are the user's

    @property
    def positions(self) -> np.ndarray:
        """The user's coordinates at its samples, (n, samples)."""
        q = self.solution.y[: len(self.equations.model.coordinate_names)]
        return q if self.chart is None else self.chart.positions(self.solution.t, q)

    def user_motion(self, found: np.ndarray) -> np.ndarray:
        """q̇, or q̇ and q̈, (1 or 2, n, samples) of the user's coordinates, from those in use."""
        if self.chart is None:
            return found
        q = self.solution.y[: found.shape[1]]
        rates = self.chart.rates(q, found[0])
        return np.stack([rates, self.chart.accelerations(q, *found)]) if len(found) > 1 else rates[None]

    def user_forces(self, forces: np.ndarray) -> np.ndarray:
        """Generalized forces or momenta (n, samples) of the user's coordinates, from those in use."""
        return forces if self.chart is None else self.chart.forces(self.solution.y[: len(forces)], forces)

    @property
    def work(self) -> dict[str, np.ndarray]:
        """The work since its start, by element."""
        rows = self.solution.y[self.equations.n_states :]
        return dict(zip(self.equations.work_sources, rows, strict=True))

    @property
    def work_at_end(self) -> dict[str, float]:
        """The work at the end of its last step, where the next part begins."""
        y = self.solution.y[:, -1] if self.solution.end is None else self.solution.end[1]
        return dict(zip(self.equations.work_sources, y[self.equations.n_states :].tolist(), strict=True))


def work_along(parts: Sequence[RunSegment]) -> list[dict[str, np.ndarray]]:
    """The work since the start of the first part along each part, including jumps, with the same names in all."""
    names = dict.fromkeys(name for part in parts for name in (*part.equations.work_sources, *part.jumps))
    done, out = dict.fromkeys(names, 0.0), list[dict[str, np.ndarray]]()
    for part in parts:
        found, nothing = part.work, np.zeros(len(part.solution.t))
        done = {name: so_far + part.jumps.get(name, 0.0) for name, so_far in done.items()}
        out.append({name: so_far + found.get(name, nothing) for name, so_far in done.items()})
        done |= {name: done[name] + more for name, more in part.work_at_end.items()}
    return out


def merge_segments(parts: Sequence[RunSegment]) -> tuple[RunSegment, ...]:
    """The same run with segments merged that differ only in their constants, which are then stored at each sample."""
    out: list[RunSegment] = []
    group: list[RunSegment] = []
    for part in parts:
        if group and (part.jumps or part.equations.derivation != group[0].equations.derivation):
            out.append(_merged(group))
            group = []
        group.append(part)
    return (*out, _merged(group))


def _merged(group: Sequence[RunSegment]) -> RunSegment:
    """Consecutive segments as one."""
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
    chart = joined_charts([part.chart for part in group if part.chart is not None])
    return RunSegment(first.equations, found, np.concatenate(constants, axis=1), first.jumps, chart)


class Partition(StepMonitor):
    """The parts of a run so far, and the equations of the next segment."""

    needs_interpolant = False

    def __init__(self, equations: BoundEquations, *, change_charts: bool = True, fixed: bool = False) -> None:
        forbidden = None if change_charts else "derivatives of the motion are required in its own angles"
        self.equations, self._fixed = equations, fixed
        self.parts: list[RunSegment] = []
        self.charts = Charts(equations, forbidden)
        self._chart_is_regular = True  # False: the next segment uses other angles
        known = equations.workspace.facts
        # the user's trial vectors are not such a choice
        dependent = known.dependent if equations.derivation.trials is None else ()
        self._known: dict[tuple[Sequences, PartitionChoice], BoundEquations] = {
            (self.charts.sequences, _ordered(PartitionChoice(known.speeds, known.rows, dependent))): equations
        }
        self._maps: dict[Derivation, CompiledFunction] = {}  # Y of each choice
        self._mechanics: StateMechanics | None = None
        self._independence = Independence(len(known.rows))
        self._reference: tuple[float, float] | None = None
        self._reference_rank = 0.0
        self._jumps: dict[str, float] = {}
        self._count = 0  # number of repartitions
        self._in_speeds = equations.about.uses_speeds

    @property
    def may_repartition(self) -> bool:
        """True if a choice can become ill-conditioned: angles, speeds or independent constraints."""
        return bool(self.charts.attitudes) or self.has_choice

    @property
    def has_choice(self) -> bool:
        """True if there are constraints, and the equations depend on speeds, trial vectors or a choice of constraints."""
        chosen = self._in_speeds or self._drops_rows or self._trials is not None
        return bool(self.equations.workspace.facts.rows) and chosen and not self._fixed

    @property
    def _trials(self) -> np.ndarray | None:
        """The trial vectors (m, n) of the compiled equations, if these can become ill-conditioned."""
        return _trials_of(self.equations)

    @property
    def _drops_rows(self) -> bool:
        about = self.equations.about
        return bool(self.equations.workspace.facts.dropped) and about.dependent_rows == "drops"

    @property
    def notes(self) -> tuple[str, ...]:
        """The number of repartitions, and the notes on angles."""
        times = self._count
        if not times:
            return self.charts.notes
        what = "speeds" if self._in_speeds else "independent constraints" if self._drops_rows else "trial vectors"
        often = "once" if times == 1 else f"{times} times"
        again = f"the {what} were repartitioned {often}, among {len(self._known)} choices"
        return (*self.charts.notes, again)

    def add_segment(self, solution: Solution, constants: np.ndarray) -> None:
        """Store a segment."""
        chart = self._ended_chart(solution)
        self.parts.append(RunSegment(self.equations, solution, constants, Frozen(self._jumps), chart))
        self._jumps = {}

    def _ended_chart(self, solution: Solution) -> Chart | None:
        """The user's angles along a segment in other angles."""
        if self.charts.chart is None:
            return None
        t, y = solution.end or (float(solution.t[-1]), solution.y[:, -1])
        _, q, qd = self._at(t, y)
        return self.charts.end(t, q, qd)

    def jump(self, name: str, energy: float) -> None:
        """Record energy added at the start of the next segment, such as by an impact, under a name."""
        self._jumps[name] = self._jumps.get(name, 0.0) + energy

    def end(self, t: float, y: np.ndarray) -> None:
        """Add a sample at the end of the last segment."""
        last = self.parts[-1]
        found, known = last.solution, last.constants
        if t > found.t[-1]:
            found = replace(found, t=np.append(found.t, t), y=np.column_stack([found.y, y]))
            known = known if known.ndim == 1 else np.column_stack([known, known[:, -1]])
            self.parts[-1] = replace(last, solution=found, constants=known)

    def start_run(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state at the start of the run in its initial angles."""
        if self.charts.attitudes and self.charts.begin(t, q, lambda _: self._is_singular((t, q, qd))):
            self.equations, q, qd = self.charts.change(t, q, qd)
        self.start_segment(t, q, qd)
        return q, qd

    def start_segment(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Check the start: a choice that is ill-conditioned there, such as a vanishing speed of the user, is replaced at once."""
        if not self.has_choice:
            return
        here = (t, q, qd)
        now = self._measures(here)
        if min(now) >= _ILL_CONDITIONED:
            self._reference, self._reference_rank = now, self._rank(here)
        elif min(self._measures(here, self._best(here))) > _BETTER * min(now):
            self._repartition(t, q, qd)

    def reset_reference(self) -> None:
        """Reset the reference conditioning: parameters of constraints or masses have changed."""
        self._reference = None

    def ill_conditioned_states(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The indices of the K states at which the present choice is ill-conditioned."""
        if not self.has_choice:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(np.minimum(*self._now(t, q, qd)) < _ILL_CONDITIONED)

    def use(self, mechanics: StateMechanics) -> None:
        """Continue with these equations."""
        self._mechanics = mechanics

    def repartition_at(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of K states (states, K) at which the angles in use or the present choice are ill-conditioned."""
        chart = self._singular_chart_at(t, y) if self.charts.attitudes else None
        choice = self.ill_conditioned_at(t, y) if self.has_choice else None
        self._chart_is_regular = chart is None or (choice is not None and choice < chart)
        return choice if self._chart_is_regular else chart

    def _singular_chart_at(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of K states at which the angles must be changed."""
        assert self._mechanics is not None
        q = y[: self._mechanics.positions]
        if self.charts.chart is not None:
            self.charts.follow(t, q, self._mechanics.velocities(t, y))
        return self.charts.ill_conditioned_at(t, q, lambda k: self._is_singular(self._at(float(t[k]), y[:, k])))

    def _is_singular(self, here: At) -> bool:
        """True if an admissible motion has almost no inertia."""
        t, q, qd = here
        manifold = self.equations.workspace.manifold
        _, _, A, M = manifold.evaluate(q, qd, t, self.equations.values)
        return reciprocal_condition(M, A[manifold.rows] if manifold.rows else A[:0])[0] < SINGULAR

    def ill_conditioned_at(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of K states (states, K) at which the present choice is ill-conditioned."""
        assert self._mechanics is not None
        if self._reference is None:
            here = self._at(float(t[0]), y[:, 0])
            self._reference, self._reference_rank = self._measures(here), self._rank(here)
        measures = self._now(t, y[: self._mechanics.positions], self._mechanics.velocities(t, y))
        worse = np.any([now < _LOSS * fresh for now, fresh in zip(measures, self._reference, strict=True)], axis=0)
        for k in np.flatnonzero(worse):
            here = self._at(float(t[k]), y[:, k])
            if self._rank(here) < _SINGULAR * self._reference_rank:
                continue
            if min(self._measures(here, self._best(here))) > _BETTER * min(now[k] for now in measures):
                return int(k)
        return None

    def _at(self, t: float, y: np.ndarray) -> At:
        assert self._mechanics is not None
        return t, y[: self._mechanics.positions], self._mechanics.velocities(t, y)

    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step, or its part with a well-conditioned choice: a step must not cross the state where it fails."""
        if not isinstance(stepper, Taylor) or step.coefficients is None:
            return step
        h = step.t1 - step.t0
        if self._reference is None and (not self.charts.attitudes or self.charts.stays_clear(step.coefficients, h)):
            return step
        polynomial = Polynomial(step.coefficients)
        s = np.linspace(0.0, h, 7)
        for _ in range(5):  # refine the grid to locate the first failure
            well_conditioned = self._is_well_conditioned(step.t0 + s, polynomial.values(s))
            if well_conditioned.all() or not well_conditioned[0]:
                return step
            k = int(np.argmin(well_conditioned))
            s = np.linspace(s[k - 1], s[k], 7)
        return stepper.resize_step(step, float(s[-1])) if s[-1] < h else step

    def first_adjusted(self, burst: Burst, end: float) -> int:
        """The first step within which the angles or the choice become ill-conditioned."""
        if (self._reference is None and not self.charts.attitudes) or not len(burst):
            return len(burst)
        good = self._is_well_conditioned(*burst.inside(np.linspace(0.0, 1.0, 7))).reshape(len(burst), 7)
        return int(np.append(np.flatnonzero(good[:, 0] & ~good.all(axis=1)), len(burst))[0])

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Does nothing: the choice is checked at the ends of steps, by `ill_conditioned_at`."""

    def _is_well_conditioned(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """True at the states where the angles in use and the present choice are well-conditioned."""
        assert self._mechanics is not None
        q = y[: self._mechanics.positions]
        regular = self.charts.is_regular(q)
        if self._reference is None:
            return regular
        first, second = self._now(t, q, self._mechanics.velocities(t, y))
        return regular & (first >= 0.9 * _LOSS * self._reference[0]) & (second >= 0.9 * _LOSS * self._reference[1])

    def state(self, t: float, y: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and q̇ at the end of a segment."""
        n, size = len(self.equations.model.coordinate_names), self.equations.n_states
        return y[:n].copy(), self.equations.kernel.velocities(y[:size], t, constants)

    def user_state(self, t: float, y: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The user's q and q̇ at a state of the last segment."""
        q, qd = self._user(t, *self.state(t, y, constants))
        return q, qd

    def _user(self, t: float, q: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, ...]:
        """The user's coordinates and rates at a time of the last segment."""
        chart = self.parts[-1].chart
        if chart is None:
            return (q, *rates)
        return (chart.positions(np.array([t]), q[:, None])[:, 0], *(chart.rates(q, qd) for qd in rates))

    def convert_events(self, events: list[EventRecord], since: int) -> None:
        """Convert the events at the end of the last segment to the user's coordinates."""
        for k, each in enumerate(events[since:], start=since):
            q, qd, after = self._user(each.t, each.q, each.qd, each.after)
            events[k] = replace(each, q=q, qd=qd, after=after)

    def repartition(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Continue with the best angles, or speeds and constraints, at this position; the state in them."""
        if self._chart_is_regular:
            self._repartition(t, q, qd)
            return q, qd
        changes = self.equations.changes
        equations, q, qd = self.charts.change(t, q, qd)
        self.equations, self._reference = replace(equations, changes=changes), None
        self.start_segment(t, q, qd)
        return q, qd

    def _repartition(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Continue with the best speeds and constraints at this position."""
        self._count += 1
        if self._count > _MAX_CHOICES:
            raise SimulationError(
                f"at t = {t:.9g} speeds or constraints have been repartitioned {_MAX_CHOICES} times. The mechanism stays close "
                "to a singular configuration. Derive with mode='assembled' and a formalism in velocities, such as lagrange."
            )
        self.equations = self._with_choice(self._best((t, q, qd)))
        self._reference, self._reference_rank = self._measures((t, q, qd)), self._rank((t, q, qd))

    def _with_choice(self, choice: PartitionChoice) -> BoundEquations:
        """The equations with another choice, cached."""
        facts, changes = self.equations.workspace.facts, self.equations.changes
        choice = replace(choice, steady=not changes.keys() & (facts.structural | facts.inertial))
        key = self.charts.sequences, _ordered(choice)
        if key not in self._known:
            self._known[key] = self.equations.with_choice(choice)
        return replace(self._known[key], changes=self.equations.changes)

    def _rank(self, here: At) -> float:
        """The independence of all constraints, whatever the choice."""
        rank = len(self.equations.workspace.facts.rows)
        return float(np.linalg.svd(self._rows(here)[0], compute_uv=False)[rank - 1]) if rank else 1.0

    def _best(self, here: At) -> PartitionChoice:
        """The best speeds, independent constraints and dependent coordinates at a state."""
        t, q, _ = here
        known, (scaled, A) = self.equations.workspace.facts, self._rows(here)
        rows = best_rows(scaled, len(known.rows)) if self._drops_rows else known.rows
        speeds = best_speeds(self.equations.model, A[list(rows)], q, t) if self._in_speeds else known.speeds
        if self._trials is None:
            return PartitionChoice(speeds, rows, known.dependent)
        free = best_coordinates(A[list(rows)], known.scales.positions)
        return PartitionChoice(speeds, rows, tuple(i for i in range(len(q)) if i not in free))

    def _measures(self, here: At, choice: PartitionChoice | None = None) -> tuple[float, float]:
        """Both measures of the present choice, or of another, at one state."""
        t, q, qd = here
        if choice is not None and self._in_speeds and not self._square:  # does not require a derivation
            (scaled, A), rows = self._rows(here), list(choice.rows)
            Y = speed_rows(self.equations.model, choice.speeds, q, t)
            first = completeness(Y[None], A[None, rows], self.equations.workspace.facts.scales.positions)
            return float(first[0]), float(_share(scaled[None], rows)[0]) if self._drops_rows else 1.0
        equations = self.equations if choice is None else self._with_choice(choice)
        first, second = self._measured(equations, np.array([t]), q[:, None], qd[:, None])
        return float(first[0]), float(second[0])

    @property
    def _square(self) -> bool:
        """True if n quasi-velocities are used: d speeds, and rates that complete them."""
        return self.equations.about.velocities is Velocities.SQUARE_SPEEDS

    def _now(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both measures of the present choice at K states."""
        return self._measured(self.equations, t, q, qd)

    def _measured(
        self, equations: BoundEquations, t: np.ndarray, q: np.ndarray, qd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The conditioning of speeds or trial vectors, and the independence of the chosen constraints."""
        known, one = equations.workspace.facts, np.ones(len(t))
        _, _, A, M = equations.workspace.manifold.evaluate(q, qd, t, equations.values)
        rows, trials = list(known.rows), _trials_of(equations)
        Y = self._speeds(equations, t, q) if self._in_speeds else None
        if trials is not None:
            Y = np.repeat(trials[None], len(t), axis=0)
        others = np.moveaxis(A[rows], -1, 0)
        if self._square and Y is not None:
            Y, others = Y[:, : known.d], Y[:, known.d :]
        first = one if Y is None else completeness(Y, others, known.scales.positions)
        return first, _share(self._independence.scaled(A, M), rows) if self._drops_rows else one

    def _speeds(self, equations: BoundEquations, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Y of u = Y q̇ + Z for the speeds of equations, (K, d, n), or G of all n, by a compiled function."""
        space = equations.workspace
        if equations.derivation not in self._maps:
            speeds = (*space.facts.speeds, *(space.facts.completing if self._square else ()))
            Y, _ = speed_map(space.system.motion, speeds)
            self._maps[equations.derivation] = space.compiled(Y.ravel(), space.system.q)
        out = self._maps[equations.derivation](np.concatenate([q, t[None]]), equations.values)
        return np.moveaxis(out.reshape(-1, *q.shape), -1, 0)

    def _rows(self, here: At) -> tuple[np.ndarray, np.ndarray]:
        """The dimensionless constraint rows, and A."""
        t, q, qd = here
        _, _, A, M = self.equations.workspace.manifold.evaluate(q, qd, t, self.equations.values)
        return self._independence.scaled(A[..., None], M[..., None])[0], A


def _trials_of(equations: BoundEquations) -> np.ndarray | None:
    solver = equations.form.solver
    if solver is None or solver.trials is None or not equations.kernel.fused:
        return None
    return solver.trials.astype(float)


def _ordered(choice: PartitionChoice) -> PartitionChoice:
    """A choice as a key: the order of the speeds does not matter."""
    return replace(choice, speeds=tuple(sorted(choice.speeds, key=str)))


def _share(rows: np.ndarray, chosen: list[int]) -> np.ndarray:
    """The independence of the chosen rows among rows (K, r, n), relative to that of all rows."""
    last = len(chosen) - 1
    return singular_value(rows[:, chosen], last) / np.maximum(singular_value(rows, last), 1e-300)
