"""Where a frame is, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the frame of a body is: R and p of x = R x_body + p, for one state or with the batch on the last axis.

    >>> pose = Pose("arm", "world", np.eye(3), np.array([1.0, 0.0, 0.0]))
    >>> pose.quaternion, pose.matrix[:, 3]
    (array([1., 0., 0., 0.]), array([1., 0., 0., 1.]))
    >>> pose.at((0.0, 2.0, 0.0))
    array([1., 2., 0.])
    """

    of: str  # the body
    frame: str  # in whose axes, and from whose origin
    rotation: np.ndarray  # (3, 3) or (3, 3, batch): columns are the axes of the body
    position: np.ndarray  # (3,) or (3, batch): the origin of the body

    @property
    def matrix(self) -> np.ndarray:
        """[R p; 0 1], (4, 4) or (4, 4, batch)."""
        out = np.zeros((4, 4, *self.position.shape[1:]))
        out[:3, :3], out[:3, 3], out[3, 3] = self.rotation, self.position, 1.0
        return out

    @property
    def quaternion(self) -> np.ndarray:
        """(w, x, y, z) of norm 1 with w ≥ 0, (4,) or (4, batch)."""
        R = self.rotation
        # 4 q qᵀ is linear in R: its longest column is the one without cancellation
        K = np.array(
            [
                [1 + R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
                [R[2, 1] - R[1, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
                [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1]],
                [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
            ]
        )
        longest = np.argmax(np.einsum("ii...->i...", K), axis=0)
        column = np.take_along_axis(K, longest[None, None], axis=1)[:, 0]
        return column / np.linalg.norm(column, axis=0) * np.where(column[0] < 0, -1.0, 1.0)

    def at(self, point: np.typing.ArrayLike) -> np.ndarray:
        """Where a point of the body is, (3,) or (3, batch)."""
        return np.einsum("ij...,j->i...", self.rotation, np.asarray(point, dtype=float)) + self.position

    def __repr__(self) -> str:
        batch = "".join(f", {n} states" for n in self.position.shape[1:])
        return f"<Pose of '{self.of}' in '{self.frame}'{batch}>"
