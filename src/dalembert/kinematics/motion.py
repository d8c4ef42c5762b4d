"""Positions, rotations, velocities and Jacobians of every body, by one walk from the world outwards.

Frames in Drake's monogram notation: R_WB turns body axes into world axes, p_WB is the body origin in the world. Linear
velocities have world components, angular velocities body components, as in (54) of papers/volterra:

    V_G = B q̇ + C   (world axes),    ω = D q̇ + E   (body axes).

Only arithmetic is used (the joints' own formulas are differentiated beforehand), so every algebra serves, also numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.algebra import Algebra, Array, Scalar, identity, matrix, scaled, vector, zeros
from dalembert.expressions import TIME, coordinate, rate
from dalembert.expressions.lower import Lowering
from dalembert.model import WORLD, Body, Model
from dalembert.model.joints import Joint
from dalembert.spatial import roll_pitch_yaw, skew


@dataclass(frozen=True)
class Frame:
    """A moving frame: where it is, and how its velocities follow from q̇."""

    R: Array  # R_WB
    p: Array  # p_WB, world axes
    J: Array  # velocity of the origin, world axes: J q̇ + c
    c: Array
    D: Array  # angular velocity, own axes: D q̇ + E
    E: Array

    def point(self, p_BP: Array) -> tuple[Array, Array, Array]:
        """Position of a point fixed in the frame, and J, c of its velocity, all in world axes."""
        arm = self.R @ -skew(p_BP)  # ω × r = −[r×] ω
        return self.p + self.R @ p_BP, self.J + arm @ self.D, self.c + arm @ self.E


@dataclass(frozen=True)
class MovingBody:
    """A body with all facts of its motion; names as in (54) of papers/volterra."""

    name: str
    frame: Frame
    mass: Scalar
    inertia: Array  # about the mass centre, body axes
    center: Array  # p_BG, body axes
    p_WG: Array
    B: Array
    C: Array

    @property
    def R_WB(self) -> Array:
        """The rotation from body axes to world axes."""
        return self.frame.R

    @property
    def D(self) -> Array:
        """∂ω/∂q̇ in body axes."""
        return self.frame.D

    @property
    def E(self) -> Array:
        """The part of ω that does not depend on q̇, in body axes."""
        return self.frame.E


@dataclass(frozen=True)
class JointMotion:
    """The rate of one joint's motion: d(value)/dt = gradient q̇ + drift."""

    body: str
    joint: int
    gradient: Array
    drift: Scalar


@dataclass(frozen=True)
class Motion:
    """A model in motion over one algebra: the symbols (or numbers) it moves by, and what follows from them."""

    model: Model
    algebra: Algebra
    t: Scalar
    q: Array
    qd: Array
    lower: Lowering
    bodies: tuple[MovingBody, ...]
    joints: tuple[JointMotion, ...]

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.q)

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """The frames of world and bodies by name."""
        return {WORLD: _world(self.n), **{body.name: body.frame for body in self.bodies}}

    def body(self, name: str) -> MovingBody:
        """The moving body called `name`."""
        return next(body for body in self.bodies if body.name == name)


def values(model: Model, t: Scalar, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: dict[str, Scalar]) -> dict:
    """A scalar for every symbol that formulas of the model may contain."""
    names = model.coordinate_names
    return {
        "t": t,
        **dict(zip(names, q, strict=True)),
        **{rate(name).name: v for name, v in zip(names, qd, strict=True)},
        **parameters,
    }


def move(model: Model, algebra: Algebra, t: Scalar, q: Array, qd: Array, parameters: dict[str, Scalar]) -> Motion:
    """The motion of a model, given scalars for time, coordinates, velocities and parameters."""
    lower = Lowering(algebra, values(model, t, list(q), list(qd), parameters))
    walk = _Walk(model, algebra, lower, len(q))
    bodies = tuple(walk.visit(body) for body in outwards(model))
    return Motion(model, algebra, t, q, qd, lower, bodies, tuple(walk.joints))


def outwards(model: Model) -> list[Body]:
    """The bodies in an order in which every parent comes before its children."""
    placed, rest, order = {WORLD}, list(model.bodies), []
    while rest:
        ready = [body for body in rest if body.parent in placed]
        if not ready:
            # parents that are unknown or form a ring are reported by the check of the model
            model.require_sound()
        order += ready
        placed |= {body.name for body in ready}
        rest = [body for body in rest if body.name not in placed]
    return order


class _Walk:
    """Visits the bodies outwards and carries the frames along."""

    def __init__(self, model: Model, algebra: Algebra, lower: Lowering, n: int) -> None:
        self._names = model.coordinate_names
        self._algebra, self._lower = algebra, lower
        self._frames = {WORLD: _world(n)}
        self.joints: list[JointMotion] = []

    def visit(self, body: Body) -> MovingBody:
        frame = self._frames[body.parent]
        for index, joint in enumerate(body.joints):
            frame = self._moved(self._placed(frame, joint), joint, body.name, index)
        self._frames[body.name] = frame
        center = vector([self._lower(x) for x in body.center])
        inertia = matrix([[self._lower(x) for x in row] for row in body.inertia])
        p_WG, B, C = frame.point(center)
        return MovingBody(body.name, frame, self._lower(body.mass), inertia, center, p_WG, B, C)

    def _placed(self, P: Frame, joint: Joint) -> Frame:
        """The joint frame F, fixed on the parent P."""
        p, J, c = P.point(vector([self._lower(x) for x in joint.position]))
        R_PF = roll_pitch_yaw(self._algebra, [self._lower(x) for x in joint.rotation])
        return Frame(P.R @ R_PF, p, J, c, R_PF.T @ P.D, R_PF.T @ P.E)

    def _moved(self, F: Frame, joint: Joint, body: str, index: int) -> Frame:
        """The frame M that the joint has moved away from F."""
        if joint.value is None:
            return F
        value = self._lower(joint.value)
        gradient = vector([self._lower(se.diff(joint.value, coordinate(name))) for name in self._names])
        drift = self._lower(se.diff(joint.value, TIME))
        self.joints.append(JointMotion(body, index, gradient, drift))
        R_FM = joint.turn(self._algebra, value)
        p, J, c = F.point(joint.shift(value))
        axis = F.R @ vector(joint.linear)
        spin = vector(joint.angular)
        return Frame(
            F.R @ R_FM,
            p,
            J + np.outer(axis, gradient),
            c + scaled(drift, axis),
            R_FM.T @ F.D + np.outer(spin, gradient),
            R_FM.T @ F.E + scaled(drift, spin),
        )


def _world(n: int) -> Frame:
    """The frame that does not move."""
    return Frame(identity(3), zeros(3), zeros(3, n), zeros(3), zeros(3, n), zeros(3))
