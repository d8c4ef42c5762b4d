"""Other angles along a run: what is integrated near gimbal lock, and how the user's angles are found from it.

A run looks at the ends of its steps how far the angles of every attitude are from their singularity. Next to it the
run goes on with another sequence of axes, derived and compiled once, and the user's angles, rates, accelerations and generalized
forces are found from its motion. They follow the motion continuously: turns are counted from step to step. Only a
motion that passes the singularity itself, within rounding, lets the first and the third angle jump by half a turn, opposite or
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError, SimulationError
from dalembert.handles.derivation import derivation_of
from dalembert.model.frozen import Value
from dalembert.spatial.euler_angles import EulerAngles, solved, swept_angle
from dalembert.structure.attitude_charts import (
    Attitude,
    angles_of,
    attitudes_of,
    best_sequence,
    in_chart,
    obstacle,
    sequence_angles,
)

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

NEAR = 0.1  # |sin B| at which a run goes on with other angles
GOOD = 0.3  # and from which on the user's take their place again
STOP = 1e-3  # and at which a run ends that cannot
SINGULAR = 1e-4  # the least inertia, by the largest, at which angles at gimbal lock are held by nothing else
_MOST = 2000
_FULL = 2 * np.pi
Singular = Callable[[int], bool]
Sequences = tuple[str | None, ...]  # for every attitude: the sequence in use, None for the user's angles


@dataclass(frozen=True)
class ChangedAngles:
    """One attitude whose angles were changed: the user's angles and those in use, at these places among the coordinates."""

    rows: tuple[int, int, int]
    user: EulerAngles
    used: EulerAngles
    side: float  # the sign of sin B of the user's angles

    def _rows(self, x: np.ndarray) -> np.ndarray:
        return x[list(self.rows)]

    def angles(self, q: np.ndarray) -> np.ndarray:
        """The user's angles (3, ...), the first and third up to whole turns."""
        return self.user.angles(self.used.rotation(self._rows(q)), self.side)

    def rates(self, q: np.ndarray, qd: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The rates of the user's angles."""
        spin = np.einsum("ij...,j...->i...", self.used.columns(self._rows(q)), self._rows(qd))
        return solved(self.user.columns(angles), spin)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The second rates of the user's angles."""
        own, rates = self._rows(q), self.rates(q, qd, angles)
        spun = np.einsum("ij...,j...->i...", self.used.columns(own), self._rows(qdd))
        spun = spun + self.used.turning(own, self._rows(qd)) - self.user.turning(angles, rates)
        return solved(self.user.columns(angles), spun)

    def forces(self, q: np.ndarray, Q: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """The generalized forces on the user's angles, of those on the angles in use; momenta likewise."""
        moment = solved(np.swapaxes(self.used.columns(self._rows(q)), 0, 1), self._rows(Q))
        return np.einsum("ji...,j...->i...", self.user.columns(angles), moment)

    def into(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The angles in use and their rates, of the user's."""
        own = self._rows(q)
        angles = self.used.angles(self.user.rotation(own), 1.0)
        return angles, solved(self.used.columns(angles), self.user.columns(own) @ self._rows(qd))

    def follow(self, before: np.ndarray, rates: tuple[np.ndarray, np.ndarray], h: float, angles: np.ndarray) -> np.ndarray:
        """The angles behind a step with the whole turns that continue those before it."""
        sigma = float(self.user.common(angles))
        sums = [each[0] + sigma * each[2] for each in rates]  # regular next to the singularity
        states = [self.user.pointer(each, speed) for each, speed in ((before, rates[0]), (angles, rates[1]))]
        first = _next_to(angles[0], before[0] + swept_angle(*states[0], *states[1], h))
        total = _next_to(first + sigma * angles[2], before[0] + sigma * before[2] + h * (sums[0] + sums[1]) / 2)
        return np.array([first, _next_to(angles[1], before[1]), sigma * (total - first)])


def _next_to(angle: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """An angle with the whole turns that bring it next to what is expected."""
    return angle + _FULL * np.round((expected - angle) / _FULL)


@dataclass(frozen=True)
class Chart(Value):
    """The angles of a stretch that are not the user's, and the user's at the ends of its steps."""

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
        """The second rates of the user's coordinates."""
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
        """Coordinates and rates in use, of one state in the user's."""
        out, rates = q.copy(), qd.copy()
        for each in self.changed:
            out[list(each.rows)], rates[list(each.rows)] = each.into(q, qd)
        return out, rates


def joined_charts(charts: Sequence[Chart]) -> Chart | None:
    """The charts of stretches one behind the other as one; None where there are none."""
    if not charts:
        return None
    times, angles = (np.concatenate([getattr(each, key) for each in charts], axis=-1) for key in ("times", "angles"))
    return replace(charts[0], times=times, angles=angles)


def equations_in(equations: Equations, sequences: Sequences) -> Equations:
    """The equations by the same formalism with other angles; raises where the formalism cannot treat them."""
    derivation = equations.derivation
    model = derivation.setup.declared
    pairs = zip(attitudes_of(model), sequences, strict=True)
    declared = in_chart(model, {attitude: sequence for attitude, sequence in pairs if sequence is not None})
    setup = replace(derivation.setup, declared=declared, choice=None)
    known = replace(derivation_of(setup, derivation.formalism, derivation.alpha), modules=derivation.modules)
    return replace(equations, derivation=known)


def chart_of(equations: Equations, sequences: Sequences, sides: Sequence[float]) -> Chart | None:
    """The chart of sequences, None where all angles are the user's."""
    if not any(sequences):
        return None
    model = equations.derivation.setup.declared
    known, names = dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)), model.coordinate_names
    found = list[ChangedAngles]()
    for attitude, sequence, side in zip(attitudes_of(model), sequences, sides, strict=True):
        if sequence is not None:
            first, second, third = (names.index(name) for name in attitude.coordinates)
            user = angles_of(model, attitude, known)
            found.append(ChangedAngles((first, second, third), user, sequence_angles(sequence), side))
    return Chart(sequences, tuple(found))


def gimbal_locks(equations: Equations) -> list[tuple[int, float]]:
    """The place of the second angle of every attitude, and a value of it at which the angles are singular."""
    model = equations.derivation.setup.declared
    known, names = dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)), model.coordinate_names
    return [
        (names.index(attitude.coordinates[1]), -angles_of(model, attitude, known).offset) for attitude in attitudes_of(model)
    ]


class Track:
    """The user's angles at the ends of the steps of a stretch."""

    def __init__(self, t: float, angles: Sequence[np.ndarray]) -> None:
        self._times = [t]
        self._angles = [list(angles)]
        self._rates: list[list[np.ndarray] | None] = [None]

    @property
    def last(self) -> list[np.ndarray]:
        """The angles of every changed attitude at the last step."""
        return self._angles[-1]

    def go_on(self, chart: Chart, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
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
        """The chart with the steps until `t`, where the stretch ends."""
        count = max(1, int(np.searchsorted(self._times, t, side="left")))
        self._times, self._angles, self._rates = self._times[:count], self._angles[:count], self._rates[:count]
        if t > self._times[-1]:
            self.go_on(chart, np.array([t]), q[:, None], qd[:, None])
        return replace(chart, times=np.array(self._times), angles=np.array([np.concatenate(each) for each in self._angles]).T)


class Charts:
    """The angles that a run uses, and when they have served."""

    def __init__(self, equations: Equations, forbidden: str | None = None) -> None:
        self._equations = equations  # in the user's angles
        self._forbidden = forbidden  # why a run must not go on with other angles
        self.attitudes = attitudes_of(equations.derivation.setup.declared)
        self.sequences: Sequences = (None,) * len(self.attitudes)
        self.chart: Chart | None = None
        self._track: Track | None = None
        self._known: dict[Sequences, Equations] = {self.sequences: equations}
        self._sides = [1.0] * len(self.attitudes)
        self._sheets: list[float] = []
        self._forced: set[int] = set()  # attitudes whose next step would lead through the singularity
        self._changes: list[tuple[float, str]] = []
        self._leaps: list[tuple[float, str]] = []

    @property
    def equations(self) -> Equations:
        """The equations with the angles in use, as first derived."""
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
        return [obstacle(self._equations.derivation.setup.declared, attitude) for attitude in self.attitudes]

    def _used(self, i: int) -> EulerAngles:
        sequence = self.sequences[i]
        return self._users[i] if sequence is None else sequence_angles(sequence)

    def _limit(self, i: int) -> float:
        return NEAR if self._obstacles[i] is None else STOP

    @property
    def notes(self) -> tuple[str, ...]:
        """Where angles were changed, or a step led through their singularity."""
        out = []
        if self._changes:
            t, title = self._changes[0]
            often = f", and {len(self._changes)} times in all" if len(self._changes) > 1 else ""
            out.append(
                f"{title} came close to gimbal lock at t = {t:.6g}{often}: the run went on with another sequence of axes, and "
                "the angles are found from its motion"
            )
        if self._leaps:
            t, title = self._leaps[0]
            out.append(
                f"a step that ends at t = {t:.6g} led through gimbal lock of {title}. Look at the result beyond with care, or "
                "shorten the steps by `max_step` or `step`"
            )
        return tuple(out)

    def begin(self, t: float, q: np.ndarray, singular: Singular) -> bool:
        """Take up the start, in the user's coordinates; True where other angles should begin."""
        self._sides = [user.side(q[rows]) for user, rows in zip(self._users, self._rows, strict=True)]
        self._look_at(q)
        return self.poor(np.array([t]), q[:, None], singular) is not None

    def _look_at(self, q: np.ndarray) -> None:
        self._sheets = [float(self._used(i).sheet(q[rows])) for i, rows in enumerate(self._rows)]

    def poor(self, t: np.ndarray, q: np.ndarray, singular: Singular) -> int | None:
        """The first of K ends of steps (n, K) at which other angles should go on; raises where none can.

        `singular` says of the k-th whether the equations are singular there: constraints may hold what has no inertia.
        """
        found = [k for i in range(len(self.attitudes)) if (k := self._poor(i, t, q, singular)) is not None]
        if not found:
            self._look_at(q[:, -1])
        return min(found, default=None)

    def _poor(self, i: int, t: np.ndarray, q: np.ndarray, singular: Singular) -> int | None:
        used, own = self._used(i), q[self._rows[i]]
        poor = used.distance(own) < self._limit(i)
        if self.sequences[i] is not None:
            poor |= self._users[i].distance_of(used.rotation(own)) >= GOOD
        near = np.flatnonzero(poor)
        led = np.flatnonzero(np.diff(used.sheet(own), prepend=self._sheets[i]))
        k = int(min([*near[:1], *led[:1]], default=-1))
        if k < 0:
            return None
        why = self._obstacles[i]
        if why is not None:
            if singular(k):
                raise self._stop(i, float(t[k]), own[:, k], why)
            return None
        if k in near:
            return k
        if k:  # the step behind this one leads through
            self._forced.add(i)
            return k - 1
        self._leaps.append((float(t[0]), self.attitudes[i].title))
        self._sheets[i] = float(used.sheet(own)[0])
        return self._poor(i, t, q, singular)

    def served(self, q: np.ndarray) -> np.ndarray:
        """At which of K states (n, K) along a step the angles in use serve."""
        out = np.ones(q.shape[1], dtype=bool)
        for i, rows in enumerate(self._rows):
            used, own = self._used(i), q[rows]
            out &= (used.distance(own) >= 0.9 * self._limit(i)) & (used.sheet(own) == used.sheet(own[:, :1]))
        return out

    def follow(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
        """Follow the user's angles along the ends of steps (n, K)."""
        if self.chart is not None and self._track is not None:
            self._track.go_on(self.chart, t, q, qd)

    def end(self, t: float, q: np.ndarray, qd: np.ndarray) -> Chart | None:
        """The chart of the stretch that ends here, with the user's angles along it."""
        if self.chart is None or self._track is None:
            return None
        return self._track.end(self.chart, t, q, qd)

    def _stop(self, i: int, t: float, angles: np.ndarray, why: str) -> SimulationError:
        """The error where no other angles can go on."""
        attitude, used = self.attitudes[i], self._used(i)
        values = ", ".join(f"{name} = {x:.6g}" for name, x in zip(attitude.coordinates, angles, strict=True))
        first, _, third = attitude.coordinates
        best = self._best(i, used.rotation(angles))
        return SimulationError(
            f"at t = {t:.9g} {attitude.title} are at gimbal lock: the axes of {first} and {third} are parallel but for "
            f"{float(used.distance(angles)):.1e}, and runs end at {STOP:g}. State: {values}. The run cannot go on with other "
            f"angles, since {why}. Turn the body by a quaternion (a spherical or free joint with `quaternion`), or by the "
            f"sequence of axes {best}, which is regular here."
        )

    def _best(self, i: int, rotation: np.ndarray) -> str:
        """A sequence that is regular here, and at the initial state, from which facts about a model are found."""
        start, _ = self._equations.derivation.setup.declared.initial
        rotations = np.stack([rotation, self._users[i].rotation(start[self._rows[i]])], axis=2)
        return best_sequence(self._users[i], rotations, GOOD, self.sequences[i])

    def change(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[Equations, np.ndarray, np.ndarray]:
        """The equations with angles that serve here, and the state in them; q and q̇ are in the angles in use."""
        shown, new, out, rates = self._shown(q), list(self.sequences), q.copy(), qd.copy()
        for i, rows in enumerate(self._rows):
            used, user, own = self._used(i), self._users[i], q[rows]
            forced = i in self._forced
            rotation, spin = used.rotation(own), used.columns(own) @ qd[rows]
            back = self.sequences[i] is not None and float(user.distance_of(rotation)) >= GOOD
            serves = float(used.distance(own)) >= GOOD and not (forced or back)
            if serves or self._obstacles[i] is not None:
                continue
            new[i] = None if back else self._best(i, rotation)
            other = user if back else sequence_angles(new[i] or "")
            out[rows] = shown[i] if back else other.angles(rotation, 1.0)
            rates[rows] = solved(other.columns(out[rows]), spin)
        self._write_down(t, new)
        self._forced, self.sequences = set(), tuple(new)
        equations = self._equations_now(t)
        self.chart = chart_of(self._equations, self.sequences, self._sides)
        self._track = Track(t, [shown[i] for i, each in enumerate(new) if each is not None])
        self._look_at(out)
        return equations, out, rates

    def _shown(self, q: np.ndarray) -> list[np.ndarray]:
        """The user's angles of every attitude at the end of a stretch."""
        last = iter([] if self._track is None else self._track.last)
        pairs = zip(self._rows, self.sequences, strict=True)
        return [q[rows] if sequence is None else next(last) for rows, sequence in pairs]

    def _write_down(self, t: float, new: Sequence[str | None]) -> None:
        changed = next(i for i, each in enumerate(new) if each != self.sequences[i])
        self._changes.append((t, self.attitudes[changed].title))
        if len(self._changes) > _MOST:
            raise SimulationError(
                f"at t = {t:.9g} {self.attitudes[changed].title} have been replaced {_MOST} times, always close to gimbal lock. "
                "Turn the body by a quaternion."
            )

    def _equations_now(self, t: float) -> Equations:
        """The equations with the angles in use."""
        if self.sequences not in self._known:
            try:
                self._known[self.sequences] = equations_in(self._equations, self.sequences)
            except DalembertError as error:
                raise SimulationError(
                    f"at t = {t:.9g} {self._changes[-1][1]} are close to gimbal lock, the axes of the first and the third parallel "
                    f"but for {NEAR:g}, and the run cannot go on with another sequence of axes: {error} Turn the body by a "
                    "quaternion, or derive by another formalism."
                ) from error
        return self._known[self.sequences]
