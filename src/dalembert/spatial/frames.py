"""Frames in motion, as every derivation knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.algebra import Algebra, Array, Scalar
from dalembert.algebra.surds import Component
from dalembert.spatial.rotations import about_axis, roll_pitch_yaw, skew


@dataclass(frozen=True)
class Turn:
    """A rotation R = `before` · (turn by `angle` about `axis`): turns about one axis, one after the other, add up."""

    before: Array
    axis: tuple[Component, ...]
    angle: Scalar

    def on(self, axis: Sequence[Component], angle: Scalar) -> Turn | None:
        """This turn and a further one as one, None where their axes are not parallel."""
        if tuple(axis) == self.axis:
            return Turn(self.before, self.axis, self.angle + angle)
        return Turn(self.before, self.axis, self.angle - angle) if tuple(-x for x in axis) == self.axis else None

    def rotation(self, algebra: Algebra) -> Array:
        """R."""
        return self.before @ algebra.pack(about_axis(algebra, self.axis, self.angle))


@dataclass(frozen=True)
class Frame:
    """A moving frame: where it is, and how its velocities follow from q̇."""

    R: Array  # R_WB
    p: Array  # p_WB, world axes
    J: Array  # velocity of the origin, world axes: J q̇ + c
    c: Array
    D: Array  # angular velocity, own axes: D q̇ + E
    E: Array
    turn: Turn | None = None  # how R ends

    def placed(self, algebra: Algebra, position: Array, angles: Sequence[Scalar]) -> Frame:
        """A frame fixed in this one, at `position` and turned by roll, pitch and yaw."""
        p, J, c = self.point(position)
        if all(algebra.is_zero(angle) for angle in angles):
            return replace(self, p=p, J=J, c=c)
        R = algebra.pack(roll_pitch_yaw(algebra, angles))
        return Frame(self.R @ R, p, J, c, R.T @ self.D, R.T @ self.E)

    def point(self, p_BP: Array) -> tuple[Array, Array, Array]:
        """Position of a point fixed in the frame, and J, c of its velocity, all in world axes."""
        arm = self.R @ -skew(p_BP)  # ω × r = −[r×] ω
        return self.p + self.R @ p_BP, self.J + arm @ self.D, self.c + arm @ self.E
