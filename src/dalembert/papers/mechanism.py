"""Numerical helpers of the papers: bodies in a configuration, finite differences, relative differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalembert.api import load
from dalembert.api.kinematics import kinematics
from dalembert.api.load import Source
from dalembert.mechanics.motion import Motion, move
from dalembert.model.description import Elements
from dalembert.model.evaluation import value as evaluate
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import Pose


def derivative(f: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """Return f′(0) by fourth-order central differences."""
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)


def relative_difference(found: np.ndarray, known: np.ndarray) -> float:
    """Return the largest difference relative to the largest entry."""
    return float(np.abs(found - known).max() / np.abs(known).max())


@dataclass(frozen=True)
class BodyPoses:
    """The bodies of a model in one configuration."""

    model: Elements
    poses: Mapping[str, Pose]

    def points(self, body: str, positions: npt.ArrayLike) -> np.ndarray:
        """Return the world coordinates (k, 3) of points in body axes.

        >>> pose_bodies("simple-pendulum", [0.0]).points("bob", [(0, 0, 0)]).shape
        (1, 3)
        """
        return np.array([self.poses[body].at(position) for position in np.asarray(positions, dtype=float)])

    def center(self, body: str) -> np.ndarray:
        """Return the mass center of a body in world axes."""
        (declared,) = (each for each in self.model.bodies if each.name == body)
        return self.poses[body].at([evaluate(x, self.model.parameter_values) for x in declared.center])


def pose_bodies(model: Source, q: npt.ArrayLike) -> BodyPoses:
    """Return the bodies of a model at the coordinates q."""
    known = load.description_of(model)
    return BodyPoses(known, kinematics(known).poses(np.asarray(q, dtype=float)))


def evaluate_motion(model: Elements, q: np.ndarray) -> Motion:
    """Evaluate the shared kinematics of the formulations at q, at rest."""
    return move(model, FLOATS, 0.0, q, np.zeros(len(q)), model.parameter_values)


def box(half: npt.ArrayLike) -> list[np.ndarray]:
    """Return the six faces (4, 3) of a box centered at the origin with these half edges.

    >>> len(box((1, 1, 1)))
    6
    """
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    edges = np.asarray(half, dtype=float)
    return [np.insert(corners, axis, side, axis=1) * edges for axis in range(3) for side in (-1, 1)]
