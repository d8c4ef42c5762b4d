"""The elements a model is made of, as frozen records. A formula is a SymEngine expression of plain symbols."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.model.joints import Joint
from dalembert.model.vectors import WORLD as WORLD
from dalembert.model.vectors import Formula as Formula
from dalembert.model.vectors import Matrix3, Vector3


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
class Holonomic:
    """A constraint φ(q, t) = 0; with feedback gains (α, β) a servo constraint φ̈ + β φ̇ + α φ = 0."""

    name: str
    phi: Formula
    description: str = ""
    feedback: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class Nonholonomic:
    """A constraint ψ(q, q̇, t) = 0; with a feedback gain α a servo constraint ψ̇ + α ψ = 0."""

    name: str
    psi: Formula
    description: str = ""
    feedback: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class CanonicalConstraint:
    """A constraint φ(q, p, t) = 0 on coordinates and momenta: (5.287) of papers/desapio."""

    name: str
    phi: Formula
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
class Loop:
    """A joint that closes a loop: its frame F sits on the first body, its moved frame M on the second.

    The placement of F is the joint's own; M sits at `position` with `rotation` on the second body. The joint's motions are
    not coordinates. With feedback gains (α, β) its rows are stabilised, φ̈ + β φ̇ + α φ = 0.
    """

    name: str
    bodies: tuple[str, str]
    joint: Joint
    position: Vector3
    rotation: Vector3
    description: str = ""
    feedback: tuple[Formula, ...] = ()

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of its constraints."""
        return tuple(f"{self.name}, {row}" for row in self.joint.row_names)


@dataclass(frozen=True)
class Rotor:
    """The rotor of a joint's motor, turning `ratio` times as fast as the joint."""

    name: str
    body: str
    joint: int
    motion: int
    inertia: Formula
    ratio: Formula


@dataclass(frozen=True)
class Limits:
    """What a coordinate and its drive can reach; None where there is no limit. They are told, not enforced."""

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
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    color: tuple[float, float, float, float] | None = None
    mesh: str = ""
