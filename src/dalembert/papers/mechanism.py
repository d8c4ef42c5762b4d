"""Where the bodies of a model are, for drawings of mechanisms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalembert import sources
from dalembert.algebra import FLOATS
from dalembert.kinematics.motion import Motion, move
from dalembert.sources import Source


@dataclass(frozen=True)
class Placed:
    """The bodies of a model in one configuration."""

    motion: Motion

    def points(self, body: str, places: npt.ArrayLike) -> np.ndarray:
        """Points (k, 3) in the axes of a body, in the world.

        >>> placed("simple-pendulum", [0.0]).points("bob", [(0, 0, 0)]).shape
        (1, 3)
        """
        frame = self.motion.frame(body)
        rotation, origin = np.asarray(frame.R, dtype=float), np.asarray(frame.p, dtype=float)
        return np.asarray(places, dtype=float) @ rotation.T + origin

    def center(self, body: str) -> np.ndarray:
        """The mass centre of a body in the world."""
        return np.asarray(self.motion.body(body).p_WG, dtype=float)


def placed(model: Source, q: npt.ArrayLike, t: float = 0.0) -> Placed:
    """A model at the coordinates q and the time t."""
    known = sources.described(model)
    place = np.asarray(q, dtype=float)
    return Placed(move(known, FLOATS, t, place, np.zeros(len(place)), known.parameter_values))


def box(half: npt.ArrayLike) -> list[np.ndarray]:
    """The six faces (4, 3) of a box about the origin with the given half edges.

    >>> len(box((1, 1, 1)))
    6
    """
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    faces = []
    for axis in range(3):
        for side in (-1, 1):
            faces.append(np.insert(corners, axis, side, axis=1) * np.asarray(half, dtype=float))
    return faces
