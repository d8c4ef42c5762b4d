"""Base classes of loads.

A load defines its name and bodies, its arguments, its formulas, its validation, and the forces it exerts: each is paired with
the velocity of its point of application, so that its power is F · (J q̇ + c). Conservative loads also have a potential. Energy
formulations use the potential, the others use the forces: if one of the two were wrong, the formulations would disagree.
`reference_work` and `actions` are independent definitions for verification, from positions only: see `model/reference_model`. The
two definitions share no formula.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem
from dalembert.model.elements import Parameter
from dalembert.model.evaluation import value
from dalembert.model.immutable import map_formulas
from dalembert.model.joints.base import JointMotion
from dalembert.model.keys import (
    CONSTANTS,
    body_name,
    constant_stiffness,
    integer,
    name,
    two_bodies,
    two_points,
    unsupported_in_urdf,
)
from dalembert.model.python_laws import DEFAULT_INPUT, Controller, Law, Timing, controller_of
from dalembert.model.record import Named, argument, record
from dalembert.model.reference_model import (
    Action,
    Derivatives,
    MotionProbe,
    ReferencePoses,
    VirtualWork,
    on_point,
    point_of,
    product,
)
from dalembert.model.values import WORLD, ZERO, TwoPoints, Vector3
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, matrix, vector
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.rotations import Frame, cross
from dalembert.symbolic.symbols import Formula, Lowering

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.loads.contact_base import GapState, Unilateral
    from dalembert.model.model import Model


@dataclass(frozen=True)
class Wrench:
    """A force at the mass center of a body, in world axes, and a moment about it, in body axes."""

    body: str
    force: Array
    moment: Array


@dataclass(frozen=True)
class Applied:
    """A force and J, c of the velocity J q̇ + c of its point of application; `potential` is None if it has none.

    `wrenches` are the equivalent wrenches on each body; they are empty for a torque inside a joint.
    """

    name: str
    force: Array
    J: Array
    c: Array
    potential: Scalar | None = None
    wrenches: tuple[Wrench, ...] = ()


@dataclass(frozen=True)
class Span:
    """The ends of a spring or damper whose force has no direction if they coincide, and its natural length."""

    name: str
    kind: str
    ends: tuple[Array, Array]
    length: Scalar
    regular: bool = False  # if its ends coincide, its force follows from the rate of the vector between them


class LoadKinematics(Protocol):
    """The kinematics of a model over one algebra, as loads and contacts use it."""

    @property
    def model(self) -> Elements:
        """The model."""
        ...

    @property
    def algebra(self) -> Algebra:
        """The algebra of the scalars."""
        ...

    @property
    def qd(self) -> Array:
        """The velocities q̇."""
        ...

    def frame(self, name: str) -> Frame:
        """The frame of a body, or of the world."""
        ...

    @property
    def lower(self) -> Lowering:
        """Converts a formula to a scalar."""
        ...

    def center(self, body: str) -> Array:
        """The mass center of a body, in its axes."""
        ...

    def mass(self, body: str) -> Scalar:
        """The mass of a body."""
        ...

    def joint(self, body: str, joint: int, motion: int) -> JointMotion:
        """One motion of a joint."""
        ...


@record
class Load(Named):
    """Base class of applied loads."""

    family = "load"
    model_attribute = "loads"

    words: ClassVar[Mapping[str, str]] = {}  # display names of constants
    drives: ClassVar[bool] = False  # True: an actuator of its joint
    is_friction: ClassVar[bool] = False  # True: omitted if friction is disabled

    name: str = argument(name, None, about="the name of the load", absent="numbered")

    @classmethod
    def build(cls, model: Model, **arguments: object) -> Model:
        super().build(model, **arguments)
        if added := model.loads[-1].parameters:
            model.declared_parameters += added
        return model

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that it adds to the model: the forces of a rigid contact."""
        return ()

    @property
    def constants(self) -> dict[str, Formula]:
        """Its constant formulas by key."""
        return {key: getattr(self, key) for key, about in self.keys().items() if about.kind in CONSTANTS}

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The joint motions that it acts on: body, joint and motion; empty if it acts on bodies."""
        return []

    @property
    def on(self) -> str:
        """Description of what it acts on."""
        return " and ".join(name for key, name in self.referenced_bodies if key in ("body", "bodies"))

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Its formulas of coordinates, velocities or time."""
        own = (getattr(self, key) for key, about in self.keys().items() if about.kind.unnamed)
        return tuple(formula for value in own for _, formula in formulas_in(value, self.title))

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Its points of application, each with its body."""
        return []

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Iterate over its formulas with their paths, constants first."""
        for key in sorted(self.keys(), key=lambda key: key not in self.constants):
            path = self.title if self.keys()[key].kind.unnamed else f"{self.title}, {key}"
            yield from formulas_in(getattr(self, key), path)

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Its problems; `table` has the initial value of every symbol."""
        return []

    def _not_positive(self, keys: Iterable[str], table: dict[str, float]) -> list[Problem]:
        """The problems of constants that must be positive."""
        found = ((key, value(getattr(self, key), table)) for key in keys)
        advice = "Expected a positive number."
        return [Problem(f"{self.title}, {key}", f"it is {x:g}.", advice) for key, x in found if not x > 0]

    @property
    def stiff(self) -> Formula | None:
        """A stiffness among its constants, if there is one."""
        return next((value for _, value in self._of(constant_stiffness)), None)

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        """Viscous and dry friction, the only loads of URDF; `number` evaluates a formula."""
        raise unsupported_in_urdf(self.title, "URDF has no loads except joint friction")

    def law(self) -> tuple[str, str]:
        """Its display name and a description of its force law."""
        terms = ((self.words.get(key, key.replace("_", " ")), formula) for key, formula in self.constants.items())
        return self.kind, ", ".join(f"{name} {formula_string(formula)}" for name, formula in terms)

    @abstractmethod
    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """The forces it exerts."""

    @property
    def unilateral(self) -> Unilateral | None:
        """The constants of a rigid contact; None for all other loads."""
        return None

    def gap_state(self, motion: LoadKinematics) -> GapState:
        """The gap of a rigid contact and its rates."""
        raise InputError(f"{self.title}: it has no gap function. Expected a rigid contact.")

    def lowering(self, motion: LoadKinematics) -> Lowering:
        """Converts its formulas to scalars, including its measures."""
        return motion.lower

    def freeze(self, hold: Callable[[Formula], Formula]) -> Self:
        """Return a copy with frozen conditions in its formulas: see `model/discontinuities`."""
        return map_formulas(self, hold)

    @property
    def sliding_range(self) -> tuple[Formula, Formula] | None:
        """The smallest and the largest mixture of both branches of its switches in sliding mode, if not 0 and 1."""
        return None

    def span(self, motion: LoadKinematics) -> Span | None:
        """Its ends, if its force has no direction where they coincide."""
        return None

    @abstractmethod
    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        """For verification: its virtual work, from positions only and by other formulas than `applied`."""

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        """For verification: its forces and couples on each body; loads inside a joint are part of the joint reaction."""
        yield from ()


@record
class InJoint(Load):
    """Base class of loads on the child along one joint motion, counted from 0, with the reaction on the parent."""

    body: str = argument(body_name, positional=True, about="the body whose joint it acts in")
    joint: int = argument(integer, 0, about="which of the body's joints, counted from 0")
    motion: int = argument(integer, 0, about="which of the joint's motions, counted from 0")

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        return [(self.body, self.joint, self.motion)]

    @abstractmethod
    def reversed(self) -> Self:
        """Return the load for the inverted joint, whose motion has the opposite sign."""

    def _along(self, motion: LoadKinematics, force: Scalar, potential: Scalar | None = None) -> Applied:
        joint = motion.joint(self.body, self.joint, self.motion)
        return Applied(self.name, vector([force]), matrix([list(joint.gradient)]), vector([joint.drift]), potential)

    def _state(self, motion: LoadKinematics) -> tuple[Scalar, Scalar]:
        """The value of the motion, and its rate."""
        joint = motion.joint(self.body, self.joint, self.motion)
        return joint.value, joint.gradient @ motion.qd + joint.drift

    def _joint_motion(self, probe: MotionProbe) -> Derivatives:
        """For verification: the value of the joint motion."""
        return probe.traced(lambda poses: poses.value(self.body, self.joint, self.motion))


def formulas_in(value: object, path: str) -> Iterator[tuple[str, Formula]]:
    """The formulas of a field with their paths."""
    if isinstance(value, tuple):
        for i, each in enumerate(value):
            yield from formulas_in(each, f"{path}[{i}]")
    elif isinstance(value, Formula):
        yield path, value


def vector_of(motion: LoadKinematics, formulas: Sequence[Formula]) -> Array:
    """Formulas as a vector of scalars."""
    return vector([motion.lower(x) for x in formulas])


def at_point(motion: LoadKinematics, body: str, point: Array, force: Array) -> tuple[Wrench, ...]:
    """The wrench of a force (world axes) at a point of a body (body axes); empty for the world."""
    if body == WORLD:
        return ()
    return (Wrench(body, force, cross(point - motion.center(body), motion.frame(body).R.T @ force)),)


def new_name(model: Model, name: str | None, kind: str) -> str:
    """The name of a new load; without a name it is numbered."""
    key = name or f"{kind}{len(model.loads) + 1}"
    if key in Load.used_names(model):
        raise InputError(f"{kind} '{key}': declared twice. Give each load a unique name.")
    return key


def add(model: Model, *loads: Load) -> Model:
    """Add loads and their parameters to the model."""
    model.loads += loads
    if added := tuple(parameter for load in loads for parameter in load.parameters):
        model.declared_parameters += added
    return model


def controlled(model: Model, by: Controller) -> list[Formula]:
    """Declare the inputs of a control law as parameters of the model and return their symbols."""
    model.controllers += (by,)
    model.declared_parameters += tuple(Parameter(name, DEFAULT_INPUT, f"given by {by.title}") for name in by.inputs)
    return [se.Symbol(name) for name in by.inputs]


def by_law(
    model: Model, kind: str, name: str | None, formulas: object, law: Law | None, timing: Timing
) -> tuple[str, Vector3] | None:
    """The name and the three inputs of a load with a control law; None for formulas."""
    if law is None and formulas is not None and timing == Timing():
        return None
    key = new_name(model, name, kind)
    if law is None or formulas is not None:
        got = "both a law and formulas" if law is not None else "no law" if formulas is not None else "neither"
        raise InputError(
            f"{kind} '{key}': got {got}. Expected three formulas, or law=... with a Python function and optionally "
            "period, delay and vectorized."
        )
    x, y, z = controlled(model, controller_of(key, [key], law, timing, ends=("_x", "_y", "_z")))
    return key, (x, y, z)


@record
class AtPoint(Load):
    """Base class of forces at a point of a body."""

    body: str

    @abstractmethod
    def applied_force(self, probe: MotionProbe) -> tuple[Derivatives, np.ndarray]:
        """For verification: the point, and the force at it (3, K)."""

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        point, force = self.applied_force(probe)
        return on_point(self.name, force, point)

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        point, force = self.applied_force(probe)
        yield Action(self.body, force, point.value, np.zeros((3, probe.K)))


@record
class Pull(Load):
    """Base class of tensions between two points; the verification uses the tension and the distance."""

    bodies: tuple[str, str]

    @abstractmethod
    def attachment_points(self, probe: MotionProbe) -> list[tuple[str, Vector3]]:
        """For verification: both points, each with its body."""

    @abstractmethod
    def tension(self, probe: MotionProbe, length: Derivatives) -> np.ndarray:
        """For verification: the tension (K,)."""

    def _distance(self, probe: MotionProbe) -> Derivatives:
        ends = self.attachment_points(probe)

        def distance(poses: ReferencePoses) -> Scalar:
            first, second = (poses.point(body, x) for body, x in ends)
            span = second - first
            return poses.algebra.sqrt(span @ span)

        return probe.traced(distance)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        length = self._distance(probe)
        return product(self.name, -self.tension(probe, length), length)

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        first, second = (point_of(probe, body, x).value for body, x in self.attachment_points(probe))
        length, zero = self._distance(probe), np.zeros((3, probe.K))
        along = self.tension(probe, length) * (second - first) / length.value
        yield Action(self.bodies[1], -along, second, zero)
        yield Action(self.bodies[0], along, first, zero)


@record
class Between(Pull):
    """Base class of forces along the line between two points, equal and opposite."""

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about='two names, of bodies or `"world"`')
    points: TwoPoints = argument(two_points, (ZERO, ZERO), about="two points, each in the axes of its body")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return list(zip(self.bodies, self.points, strict=True))

    def problems(self, table: dict[str, float]) -> list[Problem]:
        if self.bodies[0] != self.bodies[1]:
            return []
        fact = f"both ends are on '{self.bodies[0]}', so it has no effect."
        return [Problem(self.title, fact, "Give `bodies` two different names.")]

    def _ends(self, motion: LoadKinematics) -> list[tuple[Array, Array, Array]]:
        """Both points, and J, c of their velocities."""
        return [motion.frame(body).point(vector_of(motion, point)) for body, point in self.fixed_points]

    def _line(self, motion: LoadKinematics) -> tuple[Array, Array, Array]:
        """The vector from the first point to the second, and J, c of its rate."""
        (p1, J1, c1), (p2, J2, c2) = self._ends(motion)
        return p2 - p1, J2 - J1, c2 - c1

    def _pull(self, motion: LoadKinematics, force: Array) -> tuple[Wrench, ...]:
        """The wrenches of a force on the second point and of its reaction on the first."""
        first, second = (vector_of(motion, point) for point in self.points)
        return (*at_point(motion, self.bodies[1], second, force), *at_point(motion, self.bodies[0], first, -force))

    def _span(self, motion: LoadKinematics, length: Scalar, *, regular: bool = False) -> Span:
        """Its ends, at whose coincidence the force has no direction."""
        (first, _, _), (second, _, _) = self._ends(motion)
        return Span(self.name, self.kind, (first, second), length, regular)

    def attachment_points(self, probe: MotionProbe) -> list[tuple[str, Vector3]]:
        return self.fixed_points
