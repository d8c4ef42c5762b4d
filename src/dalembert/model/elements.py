"""The elements a model is made of, as frozen records. A formula is a SymEngine expression of plain symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dalembert.model.joints.base import Joint
from dalembert.model.keys import IN_JOINT, Key, Keys, constant
from dalembert.model.vectors import Matrix3, Vector3
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class Parameter:
    """A named constant of the model; its value can be changed at run time."""

    name: str
    value: float
    description: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Coordinate:
    """A generalized coordinate with its default initial position and velocity."""

    name: str
    description: str = ""
    unit: str = ""
    start: float = 0.0
    start_rate: float = 0.0


@dataclass(frozen=True)
class Body:
    """A rigid body, carried by its parent through one joint or a sequence of joints.

    `center` is the mass centre from the body origin and `inertia` the inertia about the mass centre, both in body axes.
    """

    name: str
    parent: str
    joints: tuple[Joint, ...]
    mass: Formula
    center: Vector3
    inertia: Matrix3
    description: str = ""


@dataclass(frozen=True)
class Speed:
    """A quasi-velocity u = Y(q,t) q̇ + Z(q,t), given as a formula linear in the velocities."""

    name: str
    value: Formula
    description: str = ""


@dataclass(frozen=True)
class Energies:
    """An analytic description: T(q, q̇, t), V(q, t) and the applied generalized forces Q(q, q̇, t)."""

    kinetic: Formula
    potential: Formula
    forces: tuple[Formula, ...]


@dataclass(frozen=True)
class Rotor:
    """The rotor of a joint's motor, turning `ratio` times as fast as the joint."""

    keys: ClassVar[Keys] = {**IN_JOINT, "inertia": Key(constant, required=True), "ratio": Key(constant, usual=1)}

    name: str
    body: str
    joint: int
    motion: int
    inertia: Formula
    ratio: Formula

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"rotor '{self.name}'"


@dataclass(frozen=True)
class Limits:
    """What a coordinate and its drive can reach; None where there is no limit. Stops are made of them when asked."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Shape:
    """What a body looks like: a box (three edges), cylinder or capsule (radius, length), sphere (radius) or mesh (a file)."""

    body: str
    kind: str
    size: tuple[float, ...]
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rotation: tuple[float, ...] = (0.0, 0.0, 0.0)
    color: tuple[float, ...] | None = None  # red, green, blue, alpha
    mesh: str = ""
    folder: str = field(default="", compare=False, repr=False)  # of the model file: where the mesh is looked for
