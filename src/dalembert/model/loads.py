"""The loads on a model, as frozen records; what they do is stated once, in `kinematics/applied`."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.model.elements import Formula, Vector3


@dataclass(frozen=True)
class Force:
    """A force at a point of a body (None: the mass centre), in the axes of `frame`: `world` or a body."""

    name: str
    body: str
    force: Vector3
    point: Vector3 | None
    frame: str


@dataclass(frozen=True)
class Torque:
    """A torque on a body, in the axes of `frame`; its opposite acts on `reaction` when that is given."""

    name: str
    body: str
    torque: Vector3
    frame: str
    reaction: str | None


@dataclass(frozen=True)
class JointTorque:
    """A torque (revolute) or force (prismatic) along one joint's motion, on the child; its opposite acts on the parent."""

    name: str
    body: str
    joint: int
    value: Formula
    motion: int = 0


@dataclass(frozen=True)
class Spring:
    """A linear spring between two points: pulls with stiffness × (distance − natural_length)."""

    name: str
    bodies: tuple[str, str]
    points: tuple[Vector3, Vector3]
    stiffness: Formula
    natural_length: Formula


@dataclass(frozen=True)
class Damper:
    """A linear damper between two points: resists with damping × rate of their distance."""

    name: str
    bodies: tuple[str, str]
    points: tuple[Vector3, Vector3]
    damping: Formula


@dataclass(frozen=True)
class JointSpring:
    """A spring and a damper inside a joint: −stiffness × (motion − rest) − damping × rate."""

    name: str
    body: str
    joint: int
    motion: int
    stiffness: Formula
    rest: Formula
    damping: Formula


@dataclass(frozen=True)
class JointFriction:
    """Friction inside a joint: −viscous × rate − coulomb × rate / √(rate² + smoothing²)."""

    name: str
    body: str
    joint: int
    motion: int
    viscous: Formula
    coulomb: Formula
    smoothing: Formula


InJoint = JointTorque | JointSpring | JointFriction
Load = Force | Torque | Spring | Damper | InJoint
