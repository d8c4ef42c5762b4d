"""Placements in numbers: a position and roll, pitch, yaw, as URDF gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import roll_pitch_yaw

Numbers3 = tuple[float, float, float]
ORIGIN: Numbers3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Pose:
    """A frame B placed in a frame A: p_AB, and R_AB = Rz(yaw) Ry(pitch) Rx(roll)."""

    position: Numbers3 = ORIGIN
    rotation: Numbers3 = ORIGIN

    @property
    def R(self) -> np.ndarray:
        """R_AB."""
        return np.array(roll_pitch_yaw(FLOATS, self.rotation), dtype=float)

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB X_BC; angles that need no arithmetic are kept as they are.

        >>> (Pose((1, 0, 0), (0, 0, 0.5)) @ Pose((0, 0, 2))).rotation
        (0, 0, 0.5)
        """
        if not any(other.rotation):
            rotation = self.rotation
        elif not any(self.rotation):
            rotation = other.rotation
        else:
            rotation = angles(self.R @ other.R)
        return Pose(self.point(other.position), rotation)

    def point(self, p: Numbers3) -> Numbers3:
        """A point given in B, in A."""
        x, y, z = np.add(self.position, self.R @ p if any(self.rotation) else p).tolist()
        return (x, y, z)

    def tensor(self, inertia: np.ndarray) -> np.ndarray:
        """R I Rᵀ: a symmetric matrix given in axes of B, in axes of A."""
        if not any(self.rotation):
            return inertia
        turned = self.R @ inertia @ self.R.T
        return (turned + turned.T) / 2


def angles(R: np.ndarray) -> Numbers3:
    """Roll, pitch and yaw of a rotation matrix.

    Near a pitch of ±90° the yaw is ill-determined, but roll and pitch are then taken from Rz(−yaw) R, so that the three
    together give R back to rounding.

    >>> angles(Pose(rotation=(0.1, 0.2, 0.3)).R)
    (0.1, 0.2, 0.3)
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return (roll, pitch, yaw)
