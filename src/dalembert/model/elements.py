"""The elements a model is made of, as frozen records. A formula is a SymEngine expression of plain symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dalembert.errors import InputError
from dalembert.model.joints.base import Joint
from dalembert.model.keys import body_name, constant, name, whole
from dalembert.model.record import Record, argument, record
from dalembert.model.values import Matrix3, Vector3
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.model import Model


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


@record
class Rotor(Record):
    """Give the motor of a joint its inertia: a rotor that turns `ratio` times as fast as the joint.

    It adds ½ inertia (ratio × rate)² to the kinetic energy; its gyroscopic effects are left out, as is usual for
    geared drives.
    """

    kind: ClassVar[str] = "rotor"

    name: str = argument(name, None, about="the name of the rotor", absent="numbered")
    body: str = argument(body_name, positional=True, about="the body whose joint is driven")
    joint: int = argument(whole, 0, about="which of the body's joints, counted from 0")
    motion: int = argument(whole, 0, about="which of the joint's motions, counted from 0")
    inertia: Formula = argument(
        constant, positional=True, about="a constant: the inertia of the rotor about its own axis"
    )
    ratio: Formula = argument(constant, 1, about="a constant: the ratio of the gear")

    @classmethod
    def build(cls, model: Model, **given: Any) -> Model:
        """Add the rotor."""
        name = given.pop("name") or f"rotor{len(model.rotors) + 1}"
        if any(rotor.name == name for rotor in model.rotors):
            raise InputError(f"rotor '{name}': declared twice. Give each rotor its own name.")
        model.rotors += (cls.read(model, {"name": name, **given}, f"rotor '{name}'"),)
        return model

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
