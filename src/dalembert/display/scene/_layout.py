"""Numeric positions of joints, ends and mass centers on each body, for drawings without declared shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dalembert.mechanics.motion import topological_order, values
from dalembert.model.contacts.base import BetweenPoints
from dalembert.model.contacts.distance import Distance
from dalembert.model.contacts.knife_edge import KnifeEdge
from dalembert.model.contacts.rolling import Rolling
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.loads.base import Between
from dalembert.model.loads.sphere_on_box import SphereOnBox
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere
from dalembert.model.values import WORLD
from dalembert.symbolic.floats import FLOATS, real
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import Formula, Lowering


@dataclass(frozen=True)
class FramePose:
    """Pose of a frame in another: R rotates its axes to those of the other, p is its origin there."""

    R: np.ndarray = field(default_factory=lambda: np.eye(3))
    p: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __matmul__(self, other: FramePose) -> FramePose:
        return FramePose(self.R @ other.R, self.R @ other.p + self.p)

    @property
    def inverse(self) -> FramePose:
        """Return the inverse pose."""
        return FramePose(self.R.T, -self.R.T @ self.p)

    def of(self, point: np.ndarray) -> np.ndarray:
        """Transform a point of this frame to the other."""
        return self.R @ point + self.p


@dataclass(frozen=True)
class JointMotion:
    """One motion of a joint: rotation about or translation along a direction; both None for a component of a 3D rotation."""

    about: np.ndarray | None
    along: np.ndarray | None
    formula: Formula
    before: FramePose  # initial pose of the joint in its parent, without the motion of this joint
    first: bool  # the first motion of its body


@dataclass(frozen=True)
class BodyLayout:
    """A body on its parent in the initial state."""

    body: Body
    motions: tuple[JointMotion, ...]
    attached: FramePose  # first moving frame, on the parent
    joint_pose: FramePose  # last moving frame, on the body
    pose: FramePose  # of the body in its parent
    mass: float
    center: np.ndarray
    inertia: np.ndarray

    @property
    def turns(self) -> list[JointMotion]:
        """Rotations of the body."""
        return [motion for motion in self.motions if motion.along is None]

    @property
    def slides(self) -> list[JointMotion]:
        """Translations of the body."""
        return [motion for motion in self.motions if motion.along is not None]

    @property
    def floats(self) -> bool:
        """True if it moves freely in a plane or in space, without rail and hinge."""
        return len(self.slides) > 1

    def axis(self) -> np.ndarray | None:
        """Return its rotation axis, in body axes; None if it has none or several."""
        found = [motion.about for motion in self.turns]
        if len(found) != 1 or found[0] is None:
            return None
        return self.joint_pose.R @ found[0]

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Return edges and axes (columns) of the uniform box with its mass and inertia; zero edges for a point mass."""
        moments, axes = np.linalg.eigh((self.inertia + self.inertia.T) / 2)
        if np.linalg.det(axes) < 0:
            axes = axes * np.array([1, 1, -1])
        squares = 6 * (moments.sum() - 2 * moments) / self.mass if self.mass > 0 else np.zeros(3)
        return np.sqrt(np.maximum(squares, 0.0)), axes


class Layout:
    """A model at one configuration, numerically."""

    def __init__(self, model: Elements, parameters: dict[str, float], q: np.ndarray, t: float) -> None:
        self.model = model
        self._lower = Lowering(FLOATS, values(model, t, list(q), [0.0] * len(q), parameters))
        self.placed = {body.name: self._placed(body) for body in topological_order(model)}

    def number(self, formula: Formula) -> float:
        """Evaluate a formula at this configuration."""
        return real(self._lower(formula))

    def vector(self, formulas: Sequence[Formula]) -> np.ndarray:
        """Evaluate three formulas."""
        return np.array([self.number(x) for x in formulas])

    def frame(self, position: Sequence[Formula], rotation: Sequence[Formula]) -> FramePose:
        """Return a constant placement as a pose."""
        angles = [self.number(x) for x in rotation]
        return FramePose(np.array(roll_pitch_yaw(FLOATS, angles), dtype=float), self.vector(position))

    def _placed(self, body: Body) -> BodyLayout:
        pose, attached, hung = FramePose(), None, None
        motions: list[JointMotion] = []
        for joint in body.joints:
            pose = pose @ self.frame(joint.position, joint.rotation)
            if not joint.values:
                continue
            attached = attached or pose
            for step, formula in zip(joint.steps, joint.values, strict=True):
                about, along = (None if x is None else np.array(x, dtype=float) for x in step)
                motions.append(JointMotion(about, along, formula, pose, not motions))
            values = [self.number(x) for x in joint.values]
            turn, shift = joint.rotation_matrix(FLOATS, values), joint.translation(FLOATS, values)
            pose = pose @ FramePose(np.array(turn, dtype=float), np.array(shift, dtype=float))
            hung = pose
        return BodyLayout(
            body,
            tuple(motions),
            attached or pose,
            pose.inverse @ (hung or pose),
            pose,
            self.number(body.mass),
            self.vector(body.center),
            np.array([[self.number(x) for x in row] for row in body.inertia]),
        )

    @cached_property
    def poses(self) -> dict[str, FramePose]:
        """Return the poses of all bodies in the world."""
        out = {WORLD: FramePose()}
        for name, placed in self.placed.items():
            out[name] = out[placed.body.parent] @ placed.pose
        return out

    @cached_property
    def ends(self) -> dict[str, list[np.ndarray]]:
        """Return the points on every body besides its own joint: joints of children and loops, declared shapes, ends of loads."""
        out: dict[str, list[np.ndarray]] = {name: [] for name in (WORLD, *self.placed)}
        for placed in self.placed.values():
            if not placed.floats:
                out[placed.body.parent].append(placed.attached.p)
        for loop in self.model.loops:
            out[loop.bodies[0]].append(self.vector(loop.joint.position))
            out[loop.bodies[1]].append(self.vector(loop.position))
        for shape in self.model.shapes:
            if shape.body in self.placed:
                out[shape.body].append(np.array(shape.position, dtype=float))
        for name, feet in self.feet.items():
            out[name] += feet
        between = [load for load in self.model.loads if isinstance(load, Between)]
        rods = [contact for contact in self.model.contacts if isinstance(contact, Distance)]
        for element in (*between, *rods):
            for name, point in element.fixed_points:
                out[name].append(self.vector(point))
        for contact in self.model.contacts:
            if isinstance(contact, BetweenPoints) and not isinstance(contact, Distance):
                out[contact.bodies[1]].append(self.vector(contact.points[1]))
        return out

    @cached_property
    def feet(self) -> dict[str, list[np.ndarray]]:
        """Return the contact points, in body axes: spheres with radius 0."""
        out: dict[str, list[np.ndarray]] = {name: [] for name in self.placed}
        for load in self.model.loads:
            if isinstance(load, SphereOnPlane | SphereOnBox | SphereOnSphere) and self.number(load.radius) == 0:
                out[load.body].append(self.vector(load.center))
        return out

    def contacts(self, body: str) -> list[Rolling | KnifeEdge]:
        """Return the contacts of a body with the ground."""
        return [c for c in self.model.contacts if isinstance(c, Rolling | KnifeEdge) and c.body == body]

    @cached_property
    def unit(self) -> float:
        """Return a characteristic length: the distances of joints, ends and mass centers on the bodies."""
        lengths = [0.0]
        for name, placed in self.placed.items():
            points = [placed.joint_pose.p, placed.center, *self.ends[name]]
            edges, _ = placed.box
            far = max(float(np.linalg.norm(x - points[0])) for x in points)
            lengths.append(max(far, float(edges.max())))
            for contact in self.contacts(name):
                if isinstance(contact, Rolling):
                    lengths[-1] = max(lengths[-1], *(2 * self.number(size) for _, size in contact.sizes))
        ground = np.array(self.ends[WORLD] or [np.zeros(3)])
        lengths.append(float(np.linalg.norm(np.ptp(ground, axis=0))))
        return max(lengths)
