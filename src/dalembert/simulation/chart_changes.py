"""Chart changes along a run: integration in other angles near gimbal lock, and recovery of the user's angles.

At the ends of its steps a run checks the distance of the angles of every attitude from their singularity. Near it the
run continues with another sequence of axes, derived and compiled once, and the user's angles, rates, accelerations and
generalized forces are computed from its motion. They are continuous: full turns are counted from step to step. Only if the
motion passes the singularity itself, within rounding, do the first and the third angle jump by π, in opposite or equal
directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError, SimulationError
from dalembert.mechanics.attitude_charts import (
    angles_of,
    attitudes_of,
    best_sequence,
    chart_obstacle,
    in_chart,
    sequence_angles,
)
from dalembert.model.immutable import FrozenValue
from dalembert.simulation.bound_equations import derivation_of
from dalembert.symbolic.rotations import EulerAngles, solved, swept_angle

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations


_FULL_TURN = 2 * np.pi
Sequences = tuple[str | None, ...]  # for every attitude: the sequence in use, None for the user's angles


@dataclass(frozen=True)
class ChangedAngles:
    """One attitude with changed angles: the user's angles, those in use, and their rows among the coordinates."""

    rows: tuple[int, int, int]
    user: EulerAngles
    used: EulerAngles
    side: float  # the sign of sin B of the user's angles

    def _rows(self, x: np.ndarray) -> np.ndarray:
        return x[list(self.rows)]

    def angles(self, q: np.ndarray) -> np.ndarray:
        """The user's angles (3, ...), the first and third modulo 2π."""
        return self.user.angles(self.used.rotation(self._rows(q)), self.side)

    def rates(self, q: np.ndarray, qd: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The rates of the user's angles."""
        spin = np.einsum("ij...,j...->i...", self.used.columns(self._rows(q)), self._rows(qd))
        return solved(self.user.columns(angles), spin)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The second derivatives of the user's angles."""
        own, rates = self._rows(q), self.rates(q, qd, angles)
        spun = np.einsum("ij...,j...->i...", self.used.columns(own), self._rows(qdd))
        spun = spun + self.used.velocity_terms(own, self._rows(qd)) - self.user.velocity_terms(angles, rates)
        return solved(self.user.columns(angles), spun)

    def forces(self, q: np.ndarray, Q: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The generalized forces on the user's angles from those on the angles in use; momenta likewise."""
        moment = solved(np.swapaxes(self.used.columns(self._rows(q)), 0, 1), self._rows(Q))
        return np.einsum("ji...,j...->i...", self.user.columns(angles), moment)

    def into(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The angles in use and their rates, from the user's."""
        own = self._rows(q)
        angles = self.used.angles(self.user.rotation(own), 1.0)
        return angles, solved(self.used.columns(angles), self.user.columns(own) @ self._rows(qd))

    def follow(
        self, before: np.ndarray, rates: tuple[np.ndarray, np.ndarray], h: float, angles: np.ndarray
    ) -> np.ndarray:
        """The angles after a step, with multiples of 2π that make them continuous."""
        sigma = float(self.user.common(angles))
        sums = [each[0] + sigma * each[2] for each in rates]  # regular next to the singularity
        states = [self.user.pointer(each, speed) for each, speed in ((before, rates[0]), (angles, rates[1]))]
        first = _next_to(angles[0], before[0] + swept_angle(*states[0], *states[1], h))
        total = _next_to(first + sigma * angles[2], before[0] + sigma * before[2] + h * (sums[0] + sums[1]) / 2)
        return np.array([first, _next_to(angles[1], before[1]), sigma * (total - first)])


def _next_to(angle: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The angle plus the multiple of 2π that is nearest to the expected value."""
    return angle + _FULL_TURN * np.round((expected - angle) / _FULL_TURN)


@dataclass(frozen=True)
class Chart(FrozenValue):
    """The angles in use along a segment, and the user's angles at the ends of its steps."""

    sequences: Sequences
    changed: tuple[ChangedAngles, ...]
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (K,)
    angles: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (3 × changed, K)

    def positions(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The user's coordinates (n, samples)."""
        out = q.copy()
        for i, each in enumerate(self.changed):
            found = each.angles(q)
            for k in range(3):
                found[k] = _next_to(found[k], np.interp(t, self.times, self.angles[3 * i + k]))
            out[list(each.rows)] = found
        return out

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The rates of the user's coordinates."""
        out = qd.copy()
        for each in self.changed:
            out[list(each.rows)] = each.rates(q, qd, each.angles(q))
        return out

    def accelerations(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The second derivatives of the user's coordinates."""
        out = qdd.copy()
        for each in self.changed:
            out[list(each.rows)] = each.accelerations(q, qd, qdd, each.angles(q))
        return out

    def forces(self, q: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """Generalized forces or momenta of the user's coordinates."""
        out = Q.copy()
        for each in self.changed:
            out[list(each.rows)] = each.forces(q, Q, each.angles(q))
        return out

    def into(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates and rates in use, from one state in the user's."""
        out, rates = q.copy(), qd.copy()
        for each in self.changed:
            out[list(each.rows)], rates[list(each.rows)] = each.into(q, qd)
        return out, rates


def joined_charts(charts: Sequence[Chart]) -> Chart | None:
    """The charts of consecutive segments as one; None if there are none."""
    if not charts:
        return None
    times, angles = (np.concatenate([getattr(each, key) for each in charts], axis=-1) for key in ("times", "angles"))
    return replace(charts[0], times=times, angles=angles)


class AngleTrack:
    """The user's angles at the ends of the steps of a segment."""

    def __init__(self, t: float, angles: Sequence[np.ndarray]) -> None:
        self._times = [t]
        self._angles = [list(angles)]
        self._rates: list[list[np.ndarray] | None] = [None]

    @property
    def last(self) -> list[np.ndarray]:
        """The angles of every changed attitude at the last step."""
        return self._angles[-1]

    def follow(self, chart: Chart, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
        """Follow the motion along the ends of steps (n, K)."""
        found = [(each, each.angles(q)) for each in chart.changed]
        rates = [each.rates(q, qd, angles) for each, angles in found]
        for k, now in enumerate(t.tolist()):
            own = [rate[:, k] for rate in rates]
            before = self._rates[-1] or own
            steps = zip(found, self.last, before, own, strict=True)
            h = now - self._times[-1]
            self._angles.append([each.follow(old, (v0, v1), h, angles[:, k]) for (each, angles), old, v0, v1 in steps])
            self._times.append(now)
            self._rates.append(own)

    def end(self, chart: Chart, t: float, q: np.ndarray, qd: np.ndarray) -> Chart:
        """The chart with the steps up to `t`, the end of the segment."""
        count = max(1, int(np.searchsorted(self._times, t, side="left")))
        self._times, self._angles, self._rates = self._times[:count], self._angles[:count], self._rates[:count]
        if t > self._times[-1]:
            self.follow(chart, np.array([t]), q[:, None], qd[:, None])
        return replace(
            chart, times=np.array(self._times), angles=np.array([np.concatenate(each) for each in self._angles]).T
        )


NEAR = 0.1  # |sin B| below which a run continues with other angles
REGULAR = 0.3  # |sin B| above which it returns to the user's angles
STOP = 1e-3  # |sin B| below which a run ends that cannot change angles
SINGULAR = 1e-4  # relative inertia below which no constraint fixes the angles at gimbal lock
_MAX_CHANGES = 2000
_CLEAR = float(np.arcsin(NEAR))  # radians
Singular = Callable[[int], bool]


def equations_in(equations: BoundEquations, sequences: Sequences) -> BoundEquations:
    """The equations by the same formalism with other angles; raises if the formalism does not support them."""
    derivation = equations.derivation
    model = derivation.setup.declared
    pairs = zip(attitudes_of(model), sequences, strict=True)
    declared = in_chart(model, {attitude: sequence for attitude, sequence in pairs if sequence is not None})
    setup = replace(derivation.setup, declared=declared, choice=None)
    known = replace(derivation_of(setup, derivation.formalism, derivation.alpha), modules=derivation.modules)
    return replace(equations, derivation=known)


def chart_of(equations: BoundEquations, sequences: Sequences, sides: Sequence[float]) -> Chart | None:
    """The chart of sequences; None if all angles are the user's."""
    if not any(sequences):
        return None
    model = equations.derivation.setup.declared
    known, names = (
        dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)),
        model.coordinate_names,
    )
    found = list[ChangedAngles]()
    for attitude, sequence, side in zip(attitudes_of(model), sequences, sides, strict=True):
        if sequence is not None:
            first, second, third = (names.index(name) for name in attitude.coordinates)
            user = angles_of(model, attitude, known)
            found.append(ChangedAngles((first, second, third), user, sequence_angles(sequence), side))
    return Chart(sequences, tuple(found))


def gimbal_locks(equations: BoundEquations) -> list[tuple[int, float]]:
    """The row of the second angle of every attitude, and a singular value of it."""
    model = equations.derivation.setup.declared
    known, names = (
        dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)),
        model.coordinate_names,
    )
    return [
        (names.index(attitude.coordinates[1]), -angles_of(model, attitude, known).offset)
        for attitude in attitudes_of(model)
    ]


class Charts:
    """The angles that a run uses, and when they must be changed."""

    def __init__(self, equations: BoundEquations, forbidden: str | None = None) -> None:
        self._equations = equations  # in the user's angles
        self._forbidden = forbidden  # why a run must not change angles
        self.attitudes = attitudes_of(equations.derivation.setup.declared)
        self.sequences: Sequences = (None,) * len(self.attitudes)
        self.chart: Chart | None = None
        self._track: AngleTrack | None = None
        self._known: dict[Sequences, BoundEquations] = {self.sequences: equations}
        self._sides = [1.0] * len(self.attitudes)
        self._sheets: list[float] = []
        self._forced: set[int] = set()  # attitudes whose next step would cross the singularity
        self._changes: list[tuple[float, str]] = []
        self._crossed: list[tuple[float, str]] = []

    @property
    def equations(self) -> BoundEquations:
        """The equations with the angles in use, as derived."""
        return self._known[self.sequences]

    @cached_property
    def _rows(self) -> list[list[int]]:
        names = self._equations.model.coordinate_names
        return [[names.index(name) for name in attitude.coordinates] for attitude in self.attitudes]

    @cached_property
    def _users(self) -> list[EulerAngles]:
        model = self._equations.derivation.setup.declared
        known = dict(zip(self._equations.model.parameter_values, self._equations.values.tolist(), strict=True))
        return [angles_of(model, attitude, known) for attitude in self.attitudes]

    @cached_property
    def _obstacles(self) -> list[str | None]:
        if self._forbidden is not None:
            return [self._forbidden] * len(self.attitudes)
        return [chart_obstacle(self._equations.derivation.setup.declared, attitude) for attitude in self.attitudes]

    def _used(self, i: int) -> EulerAngles:
        sequence = self.sequences[i]
        return self._users[i] if sequence is None else sequence_angles(sequence)

    def _limit(self, i: int) -> float:
        return NEAR if self._obstacles[i] is None else STOP

    @property
    def notes(self) -> tuple[str, ...]:
        """The changes of angles, and steps across their singularity."""
        out = []
        if self._changes:
            t, title = self._changes[0]
            often = f", and {len(self._changes)} times in total" if len(self._changes) > 1 else ""
            out.append(
                f"{title} came close to gimbal lock at t = {t:.6g}{often}: the run used another sequence of axes, and "
                "the angles are computed from its motion"
            )
        if self._crossed:
            t, title = self._crossed[0]
            out.append(
                f"the step that ends at t = {t:.6g} crossed gimbal lock of {title}. Check the results after this time, or "
                "shorten the steps with `max_step` or `step`"
            )
        return tuple(out)

    def begin(self, t: float, q: np.ndarray, singular: Singular) -> bool:
        """Initialize at the start, in the user's coordinates; True if the run must begin with other angles."""
        self._sides = [user.side(q[rows]) for user, rows in zip(self._users, self._rows, strict=True)]
        self._look_at(q)
        return self.ill_conditioned_at(np.array([t]), q[:, None], singular) is not None

    def _look_at(self, q: np.ndarray) -> None:
        self._sheets = [float(self._used(i).sheet(q[rows])) for i, rows in enumerate(self._rows)]

    def stays_clear(self, coefficients: np.ndarray, h: float) -> bool:
        """True if a step with this polynomial (states, orders) stays away from gimbal lock: its terms are small."""
        if self.chart is not None:
            return False
        powers = h ** np.arange(1, coefficients.shape[1])
        return all(
            self._gap(rows[1], float(coefficients[rows[1], 0])) - float(np.abs(coefficients[rows[1], 1:]) @ powers)
            > _CLEAR
            for rows in self._rows
        )

    def _gap(self, i: int, angle: float) -> float:
        """The distance of the second of the user's angles, the i-th coordinate, from gimbal lock, in radians."""
        halves = (angle + self._offsets[i]) / np.pi
        return abs(halves - round(halves)) * np.pi

    @cached_property
    def _offsets(self) -> dict[int, float]:
        return {rows[1]: user.offset for rows, user in zip(self._rows, self._users, strict=True)}

    def _is_clear(self, q: np.ndarray) -> bool:
        """True if one state in the user's angles is far from gimbal lock, and no step has crossed it."""
        for (_, k, _), sheet in zip(self._rows, self._sheets, strict=True):
            angle = float(q[k])
            if self._gap(k, angle) < _CLEAR or np.floor((angle + self._offsets[k]) / np.pi) != sheet:
                return False
        return self.chart is None

    def ill_conditioned_at(self, t: np.ndarray, q: np.ndarray, singular: Singular) -> int | None:
        """The first of K ends of steps (n, K) at which the angles must be changed; raises if they cannot be.

        `singular(k)` is True if the equations are singular there; constraints may remove motions without inertia.
        """
        if len(t) == 1 and self._is_clear(q[:, 0]):
            return None
        found = [k for i in range(len(self.attitudes)) if (k := self._change_needed_at(i, t, q, singular)) is not None]
        if not found:
            self._look_at(q[:, -1])
        return min(found, default=None)

    def _change_needed_at(self, i: int, t: np.ndarray, q: np.ndarray, singular: Singular) -> int | None:
        used, own = self._used(i), q[self._rows[i]]
        near_lock = used.distance(own) < self._limit(i)
        if self.sequences[i] is not None:
            near_lock |= self._users[i].distance_of(used.rotation(own)) >= REGULAR
        near = np.flatnonzero(near_lock)
        crossed = np.flatnonzero(np.diff(used.sheet(own), prepend=self._sheets[i]))
        k = int(min([*near[:1], *crossed[:1]], default=-1))
        if k < 0:
            return None
        why = self._obstacles[i]
        if why is not None:
            if singular(k):
                raise self._gimbal_lock_error(i, float(t[k]), own[:, k], why)
            return None
        if k in near:
            return k
        if k:  # the next step crosses gimbal lock
            self._forced.add(i)
            return k - 1
        self._crossed.append((float(t[0]), self.attitudes[i].title))
        self._sheets[i] = float(used.sheet(own)[0])
        return self._change_needed_at(i, t, q, singular)

    def is_regular(self, q: np.ndarray) -> np.ndarray:
        """True at the K states (n, K) along a step where the angles in use are regular."""
        out = np.ones(q.shape[1], dtype=bool)
        for i, rows in enumerate(self._rows):
            used, own = self._used(i), q[rows]
            out &= (used.distance(own) >= 0.9 * self._limit(i)) & (used.sheet(own) == used.sheet(own[:, :1]))
        return out

    def follow(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
        """Follow the user's angles along the ends of steps (n, K)."""
        if self.chart is not None and self._track is not None:
            self._track.follow(self.chart, t, q, qd)

    def end(self, t: float, q: np.ndarray, qd: np.ndarray) -> Chart | None:
        """The chart of the segment that ends here, with the user's angles along it."""
        if self.chart is None or self._track is None:
            return None
        return self._track.end(self.chart, t, q, qd)

    def _gimbal_lock_error(self, i: int, t: float, angles: np.ndarray, why: str) -> SimulationError:
        """The error at gimbal lock if the angles cannot be changed."""
        attitude, used = self.attitudes[i], self._used(i)
        values = ", ".join(f"{name} = {x:.6g}" for name, x in zip(attitude.coordinates, angles, strict=True))
        first, _, third = attitude.coordinates
        best = self._best_sequence(i, used.rotation(angles))
        return SimulationError(
            f"at t = {t:.9g} {attitude.title} are at gimbal lock: the axes of {first} and {third} are parallel within "
            f"{float(used.distance(angles)):.1e}, and runs end at {STOP:g}. State: {values}. The run cannot continue with other "
            f"angles, because {why}. Use a quaternion (a spherical or free joint with `quaternion`), or the "
            f"sequence of axes {best}, which is regular here."
        )

    def _best_sequence(self, i: int, rotation: np.ndarray) -> str:
        """A sequence that is regular here and at the initial state, where facts about a model are determined."""
        start, _ = self._equations.derivation.setup.declared.initial
        rotations = np.stack([rotation, self._users[i].rotation(start[self._rows[i]])], axis=2)
        return best_sequence(self._users[i], rotations, REGULAR, self.sequences[i])

    def change(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[BoundEquations, np.ndarray, np.ndarray]:
        """The equations with angles that are regular here, and the state in them; q and q̇ are in the angles in use."""
        angles, new, out, rates = self._user_angles(q), list(self.sequences), q.copy(), qd.copy()
        for i, rows in enumerate(self._rows):
            used, user, own = self._used(i), self._users[i], q[rows]
            forced = i in self._forced
            rotation, spin = used.rotation(own), used.columns(own) @ qd[rows]
            back = self.sequences[i] is not None and float(user.distance_of(rotation)) >= REGULAR
            regular = float(used.distance(own)) >= REGULAR and not (forced or back)
            if regular or self._obstacles[i] is not None:
                continue
            new[i] = None if back else self._best_sequence(i, rotation)
            other = user if back else sequence_angles(new[i] or "")
            out[rows] = angles[i] if back else other.angles(rotation, 1.0)
            rates[rows] = solved(other.columns(out[rows]), spin)
        self._record(t, new)
        self._forced, self.sequences = set(), tuple(new)
        equations = self._equations_now(t)
        self.chart = chart_of(self._equations, self.sequences, self._sides)
        self._track = AngleTrack(t, [angles[i] for i, each in enumerate(new) if each is not None])
        self._look_at(out)
        return equations, out, rates

    def _user_angles(self, q: np.ndarray) -> list[np.ndarray]:
        """The user's angles of every attitude at the end of a segment."""
        last = iter([] if self._track is None else self._track.last)
        pairs = zip(self._rows, self.sequences, strict=True)
        return [q[rows] if sequence is None else next(last) for rows, sequence in pairs]

    def _record(self, t: float, new: Sequence[str | None]) -> None:
        changed = next(i for i, each in enumerate(new) if each != self.sequences[i])
        self._changes.append((t, self.attitudes[changed].title))
        if len(self._changes) > _MAX_CHANGES:
            raise SimulationError(
                f"at t = {t:.9g} {self.attitudes[changed].title} have been replaced {_MAX_CHANGES} times, always close to gimbal "
                "lock. Use a quaternion for this body."
            )

    def _equations_now(self, t: float) -> BoundEquations:
        """The equations with the angles in use."""
        if self.sequences not in self._known:
            try:
                self._known[self.sequences] = equations_in(self._equations, self.sequences)
            except DalembertError as error:
                raise SimulationError(
                    f"at t = {t:.9g} {self._changes[-1][1]} are close to gimbal lock, the first and the third axis parallel "
                    f"within {NEAR:g}, and the run cannot continue with another sequence of axes: {error} Use a "
                    "quaternion, or another formalism."
                ) from error
        return self._known[self.sequences]
