"""The records of a run: events, impulses, segments, motions of bodies, and the work of elements, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import suggest_name
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.model.values import WORLD
from dalembert.symbolic.rotations import PointMotion, Pose
from dalembert.tables import Table, Tabular, format_cell


@dataclass(frozen=True)
class EventRecord(FrozenValue):
    """An event or a switching of a run: its time, and the state before and after."""

    name: str
    t: float
    q: np.ndarray
    qd: np.ndarray  # just before
    after: np.ndarray  # q̇ just after
    switching: bool = False

    def __repr__(self) -> str:
        return f"<{self.name} at t = {self.t:.9g}>"


@dataclass(frozen=True)
class Impulse(FrozenValue):
    """The impulse of a rigid contact or of a kink."""

    name: str
    t: float
    vector: np.ndarray  # on the body, in world axes
    approach: float  # the rate at which its gap closed just before
    departure: float  # the rate at which its gap opened just after
    energy: float  # the energy added to the system, negative if lost

    def __repr__(self) -> str:
        return f"<impulse of '{self.name}' at t = {self.t:.9g}: {np.linalg.norm(self.vector):.6g}>"


@dataclass(frozen=True)
class Segment(FrozenValue):
    """A part of a run that was integrated with one choice of speeds, dependent coordinates and angles."""

    t: float  # its start
    jumps: Frozen[str, float]  # energy added at its start, by name
    speeds: tuple[str, ...]  # formulas
    dependent: tuple[int, ...]  # coordinates
    sequences: tuple[str | None, ...] | None = None  # of the angles in use; None: the user's


@dataclass(frozen=True)
class BodyMotion(FrozenValue):
    """Motions of the frames of bodies in world axes; velocities and accelerations are linear above angular."""

    names: tuple[str, ...]
    rotation: np.ndarray  # R_WB, (bodies, 3, 3, samples)
    position: np.ndarray  # (bodies, 3, samples)
    velocity: np.ndarray  # (bodies, 6, samples)
    acceleration: np.ndarray  # (bodies, 6, samples)

    def pose(self, body: str) -> Pose:
        """The pose of a body in the world."""
        i = self.names.index(body)
        return Pose(body, WORLD, self.rotation[i], self.position[i])

    def velocity_of(self, body: str, point: np.ndarray) -> PointMotion:
        """The velocity of a point, given in axes of its body."""
        i = self.names.index(body)
        v, w = self.velocity[i, :3], self.velocity[i, 3:]
        return PointMotion(v + _cross(w, self._arm(i, point)), w)

    def acceleration_of(self, body: str, point: np.ndarray) -> PointMotion:
        """The acceleration of a point, given in axes of its body."""
        i, w = self.names.index(body), self.velocity[self.names.index(body), 3:]
        a, alpha, r = self.acceleration[i, :3], self.acceleration[i, 3:], self._arm(i, point)
        return PointMotion(a + _cross(alpha, r) + _cross(w, _cross(w, r)), alpha)

    def _arm(self, i: int, point: np.ndarray) -> np.ndarray:
        return np.einsum("xyk,y->xk", self.rotation[i], point)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.cross(a, b, axis=0)


def joined_arrays(values: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays along the segments of a run as one: each segment begins with the last sample of the preceding one."""
    return np.concatenate([each[..., i > 0 :] for i, each in enumerate(values)], axis=-1)


class Work(Mapping[str, np.ndarray], Tabular):
    """The work of all elements from the start: arrays over the samples by name, and their sum `total`.

    >>> done = Work({"motor": np.array([0.0, 3.0]), "friction": np.array([0.0, -1.0])}, 2)
    >>> done["motor"], done.total
    (array([0., 3.]), array([0., 2.]))
    >>> print(done)
    from the start  at the end  minimum  maximum
    motor           3           0        3
    friction        -1          -1       0
    total           2           0        2
    """

    def __init__(self, found: Mapping[str, np.ndarray], samples: int) -> None:
        self._found, self._samples = Frozen(found), samples

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._found:
            raise KeyError(self.missing(name))
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def total(self) -> np.ndarray:
        """The sum of all of them."""
        return sum(self._found.values(), start=np.zeros(self._samples))

    def missing(self, name: str) -> str:
        """The message for a name that does no work."""
        return f"no element '{name}' does work. {suggest_name(name, self) if self else 'No element does work in this run.'}"

    def tables(self) -> tuple[Table, ...]:
        """The final, minimum and maximum values."""
        rows = [
            (name, *(format_cell(float(x)) for x in (values[-1], values.min(), values.max())))
            for name, values in (*self.items(), ("total", self.total))
        ]
        return (Table(("from the start", "at the end", "minimum", "maximum"), tuple(rows)),)

    def __repr__(self) -> str:
        return f"<Work of {', '.join(self) or 'nothing'}>"
