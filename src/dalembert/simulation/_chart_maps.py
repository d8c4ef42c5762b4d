"""The user's angles, rates, accelerations and generalized forces along a segment integrated in other angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.model.immutable import FrozenValue
from dalembert.symbolic.rotations import EulerAngles, solved, swept_angle

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
