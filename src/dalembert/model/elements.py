"""The elements a model is made of, as frozen records. A formula is a SymEngine expression of plain symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.model.joints import Joint

Formula = Any
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]

WORLD = "world"


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
