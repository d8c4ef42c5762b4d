"""Base class of rolling without slipping on a plane, for disks, balls and ellipsoids.

The plane contains `point` of the ground, which is the world or another body, and its `normal` n points toward the rolling body.
The contact is at r = c + a, where c is the center and a the vector from it to the lowest point of the shape. Then

    contact    n·(c − point) = −n·a                       the lowest point is in the plane
    slip       eᵢ·(v − v_ground) = 0,  i = 1, 2           the material points of both bodies at r have the same velocity

with e₁, e₂ perpendicular to n and fixed on the ground. The first is holonomic, the others are not. Multipliers are forces.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import Problem
from dalembert.model.contacts.base import ConstraintAction, Contact, Formulas, reaction_pair
from dalembert.model.evaluation import Table, value
from dalembert.model.keys import body_name, direction, fixed_vector, switch
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import (
    Condition,
    Derivatives,
    Level,
    MotionProbe,
    ReferencePoses,
    axes_of,
    length,
    point_of,
    position_condition,
)
from dalembert.model.values import WORLD, ZERO, UnitVector, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, matrix, vector
from dalembert.symbolic.rotations import cross, perpendicular
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


@record
class Rolling(Contact):
    """A shape around `center` of a body that rolls on a plane; without `contact` the coordinates must satisfy the contact."""

    body: str = argument(body_name, positional=True, about="the rolling body")
    ground: str = argument(body_name, WORLD, about='the body that carries the plane, or `"world"`')
    center: Vector3 = argument(fixed_vector, ZERO, about="three constants: the center, in body axes")
    point: Vector3 = argument(fixed_vector, ZERO, about="three constants: a point of the plane, in axes of the ground")
    normal: UnitVector = argument(
        direction,
        (0, 0, 1),
        about="three numbers: the normal of the plane, in axes of the ground, toward the rolling body",
    )
    contact: bool = argument(
        switch, True, about="`true` to add the contact constraint; `false` if the coordinates already satisfy it"
    )

    @abstractmethod
    def lowest(self, motion: LoadKinematics, up: Array) -> tuple[Array, Scalar]:
        """For the unit normal in body axes: the vector a from the center to the lowest point, and its depth."""

    @abstractmethod
    def down(self, poses: ReferencePoses, up: Array) -> Array:
        """For verification: the vector to the lowest point by another formula, in world axes."""

    @property
    @abstractmethod
    def sizes(self) -> Sequence[tuple[str, Formula]]:
        """The lengths of the shape with their keys; all must be positive."""

    @property
    def characteristic_length(self) -> Formula | None:
        return self.sizes[0][1]

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center), (self.ground, self.point)]

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        found = []
        if self.body in (WORLD, self.ground):
            fact = "the world cannot roll." if self.body == WORLD else f"'{self.body}' is both body and ground."
            advice = "Give `body` and `ground` two different names; `body` must not be 'world'."
            found.append(Problem(self.title, fact, advice))
        known = [(key, value(size, table)) for key, size in self.sizes]
        return found + [
            Problem(f"{self.title}, {key}", f"the length is {size:g}.", "Expected a positive number.")
            for key, size in known
            if not 0 < size < np.inf
        ]

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The height of the lowest point, and its material velocity along the plane relative to the ground."""
        frame, ground, axes = motion.frame(self.body), motion.frame(self.ground), self._axes(motion)
        n, center = axes[0], vector_of(motion, self.center)
        arm, depth = self.lowest(motion, frame.R.T @ n)
        point, J, c = frame.point(center + arm)
        velocity = J @ motion.qd + c
        foot = vector_of(motion, self.point)
        if self.ground != WORLD:
            _, J, c = ground.point(ground.R.T @ (point - ground.p))
            velocity, foot = velocity - (J @ motion.qd + c), ground.p + ground.R @ foot
        height = n @ (frame.p + frame.R @ center - foot) - depth
        names = self._names
        return dict(zip(names[:1], [height] * self.contact, strict=False)), {
            name: e @ velocity for name, e in zip(names[1:], axes[1:], strict=True)
        }

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        frame, axes = motion.frame(self.body), self._axes(motion)
        arm, _ = self.lowest(motion, frame.R.T @ axes[0])
        point, _, _ = frame.point(vector_of(motion, self.center) + arm)
        forces = {
            name: reaction_pair((self.ground, self.body), e, point) for name, e in zip(self._names, axes, strict=True)
        }
        return {name: forces[name] for name in (self._names if self.contact else self._names[1:])}

    @property
    def _names(self) -> tuple[str, str, str]:
        return f"{self.name}, contact", f"{self.name}, slip 1", f"{self.name}, slip 2"

    def _axes(self, motion: LoadKinematics) -> list[Array]:
        """The normal and two unit vectors along the plane, in world axes."""
        n, first = vector(list(self.normal)), vector(list(perpendicular(self.normal)))
        axes = [n, first, cross(n, first)]
        return axes if self.ground == WORLD else [motion.frame(self.ground).R @ e for e in axes]

    # verification

    def reference_conditions(self, probe: MotionProbe) -> Iterator[Condition]:
        """The material points of both bodies at r have the same velocity along the plane: (1 − n nᵀ) (v − v_ground) = 0."""
        n = probe.traced(self._up)
        point = probe.traced(lambda poses: poses.point(self.body, self.center) + self.down(poses, self._up(poses)))
        body, ground = (_matter(probe, name, x, point) for name, x in self.fixed_points)
        v, vd, dv = body.rate - ground.rate, body.second - ground.second, body.change - ground.change
        fast, quick = body.value[0] + ground.value[0], body.value[1] + ground.value[1]
        spin = length(n.rate)
        drift = n.rate * _dot(n.value, v) + n.value * _dot(n.rate, v)
        yield Condition(
            f"{self.name}, slip",
            dv - n.value[:, None] * np.einsum("xk,xnk->nk", n.value, dv),
            None,
            Level(v - n.value * _dot(n.value, v), fast + np.zeros_like(v)),
            Level(vd - n.value * _dot(n.value, vd) - drift, quick + spin * fast + np.zeros_like(v)),
        )
        if self.contact:
            height = probe.traced(lambda poses: self._parts(poses).sum(axis=1))
            far = length(point.value - point_of(probe, self.body, self.center).value)
            yield position_condition(f"{self.name}, contact", probe, height, sizes=(far, fast, quick + spin * fast))

    def residual_terms(self, poses: ReferencePoses) -> Array | None:
        """The heights of the center, of the lowest point below it, and of the plane."""
        return self._parts(poses) if self.contact else None

    def _parts(self, poses: ReferencePoses) -> Array:
        n, (center, foot) = self._up(poses), (poses.point(*each) for each in self.fixed_points)
        return matrix([[n @ center, n @ self.down(poses, n), -(n @ foot)]])

    def _up(self, poses: ReferencePoses) -> Array:
        return poses.frames[self.ground].along(self.normal)


def _matter(probe: MotionProbe, name: str, from_point: Vector3, point: Derivatives) -> Derivatives:
    """Velocity of the material point of a body at a position: v = ȯ + Ṙ x with x = Rᵀ (r − o), its rate and variation.

    The material point changes with time: ẋ = Ṙᵀ (r − o) + Rᵀ (ṙ − ȯ). `value` has the magnitudes of both.
    """
    o, axes = point_of(probe, name, from_point), axes_of(probe, name)
    arm, moving = point.value - o.value, point.rate - o.rate
    x = np.einsum("yak,yk->ak", axes.value, arm)
    xd = np.einsum("yak,yk->ak", axes.rate, arm) + np.einsum("yak,yk->ak", axes.value, moving)
    v = o.rate + np.einsum("yak,ak->yk", axes.rate, x)
    vd = o.second + np.einsum("yak,ak->yk", axes.second, x) + np.einsum("yak,ak->yk", axes.rate, xd)
    dv = o.change + np.einsum("yank,ak->ynk", axes.change, x)
    spin, size = length(axes.rate), length(arm)
    fast = length(o.rate) + spin * size
    quick = length(o.second) + length(axes.second) * size + spin * (spin * size + length(moving))
    return Derivatives(np.stack([fast, quick]), v, vd, dv)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sum(a * b, axis=0)
