"""Linear couplings of joint motions: the constraint of gears, belts, racks, worms and differentials."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import symengine as se

from dalembert.errors import InputError, Problem
from dalembert.model.contacts.base import ConstraintAction, Formulas, PositionContact
from dalembert.model.evaluation import Table, value
from dalembert.model.keys import (
    ValueType,
    constant,
    index_list,
    many,
    optional_constant,
    several_bodies,
    two_bodies,
    vector,
)
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import Arguments, argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import is_sequence, row_of
from dalembert.symbolic.algebra_base import Array, matrix
from dalembert.symbolic.symbols import TIME, Formula, coordinate, decimal

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

_factors = ValueType(
    many(constant, "numbers or formulas"),
    lambda model, x, where: tuple(model.reader.constant(each, where) for each in row_of(x, where, "factors")),
    vector,
    argument="ArrayInput",
)


@record
class LinearCoupling(PositionContact):
    """Base class of linear couplings Σ factorᵢ × (motion of joint i) = phase; motions may be formulas of coordinates.

    A motion is identified by its body, the index of the joint of the body, and the index of the motion in the joint, all 0
    by default. Without a phase the sum keeps its initial value. The forces act inside the joints, like those of motors:
    multiplier × factorᵢ on body i along its motion, and the reaction on its parent.
    """

    unit = "rad"

    bodies: tuple[str, ...] = argument(two_bodies, positional=True, about="two body names")
    joints: tuple[int, ...] = argument(
        index_list, (), about="an integer for each body: which of its joints, counted from 0", absent="all `0`"
    )
    motions: tuple[int, ...] = argument(
        index_list, (), about="an integer for each joint: which of its motions, counted from 0", absent="all `0`"
    )
    phase: Formula | None = argument(
        optional_constant, None, about="a constant: the value of the sum", absent="its initial value"
    )

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        """The numbers of factors, joints and motions must equal the number of bodies."""
        counts = {
            "joints": arguments["joints"] or None,
            "motions": arguments["motions"] or None,
            "factors": arguments.get("factors"),
        }
        for key, found in counts.items():
            if is_sequence(found) and is_sequence(arguments["bodies"]) and len(found) != len(arguments["bodies"]):
                expected = f"Expected {len(arguments['bodies'])}, one for each body."
                raise InputError(f"{where}, {key}: got {len(found)}. {expected}")
        return arguments

    @property
    @abstractmethod
    def weights(self) -> tuple[Formula, ...]:
        """The factor of each motion."""

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The coupled motions."""
        zeros = (0,) * len(self.bodies)
        return list(zip(self.bodies, self.joints or zeros, self.motions or zeros, strict=True))

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Zero factors, duplicate motions, and motions that depend on no coordinate."""
        found = [
            Problem(self.title, f"the factor of the motion of '{body}' is {size:g}.", "Expected a nonzero number.")
            for body, factor in zip(self.bodies, self.weights, strict=True)
            if not 0 < abs(size := value(factor, table)) < math.inf
        ]
        motions = self.in_joints
        if len(set(motions)) < len(motions):
            body = next(each[0] for each in motions if motions.count(each) > 1)
            found.append(Problem(self.title, f"it has the same motion of '{body}' twice.", "Couple different motions."))
        q = {coordinate(name) for name in model.coordinate_names}
        if not any(self._formula(model, *each).free_symbols & q for each in motions):
            found.append(Problem(self.title, "its motions depend on no coordinate.", "Couple joints that can move."))
        return found

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The sum minus its phase."""
        lower, terms = motion.lower, list(zip(self.weights, self.in_joints, strict=True))
        start = {coordinate(c.name): decimal(c.start) for c in motion.model.generalized_coordinates} | {
            TIME: se.Integer(0)
        }
        phase = self.phase
        if phase is None:
            phase = sum((k * self._formula(motion.model, *each).subs(start) for k, each in terms), start=se.Integer(0))
        return {self.name: sum(lower(k) * motion.joint(*each).value for k, each in terms) - lower(phase)}, {}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """None: its forces act inside the joints."""
        return {}

    def residual_terms(self, poses: ReferencePoses) -> Array:
        """Each motion times its factor, and minus the phase or the initial terms."""
        terms = [(poses.lower(k), each) for k, each in zip(self.weights, self.in_joints, strict=True)]
        phase = (
            [k * poses.initial_value(*each) for k, each in terms] if self.phase is None else [poses.lower(self.phase)]
        )
        return matrix([[*(k * poses.value(*each) for k, each in terms), *(-x for x in phase)]])

    @staticmethod
    def _formula(model: Elements, body: str, joint: int, motion: int) -> Formula:
        return next(each for each in model.bodies if each.name == body).joints[joint].values[motion]


@record
class Coupling(LinearCoupling):
    """Couple joint motions linearly: Σ factorᵢ × motionᵢ = phase, by default the initial value of the sum.

    A planet gear on a carrier around a fixed sun of twice its radius, with the planet angle relative to the carrier:

    >>> from dalembert.model.model import Model
    >>> model = Model("planet gear").coordinates("carrier", "planet")
    >>> _ = model.body("arm", joint=model.revolute((0, 0, 1), "carrier"), mass=1, inertia=(0, 0, 2))
    >>> wheel = model.revolute((0, 0, 1), "planet", position=(1, 0, 0))
    >>> _ = model.body("wheel", parent="arm", joint=wheel, mass=1, inertia=(0, 0, 3)).start({}, [1, 2])
    >>> _ = model.coupling(("arm", "wheel"), (2, -1), name="teeth")
    >>> import dalembert as dl
    >>> dl.simulate(model, 1.0, samples=2).q[:, -1]
    array([1., 2.])
    """

    kind = "coupling"
    unit = None

    bodies: tuple[str, ...] = argument(
        several_bodies,
        positional=True,
        about="two or more body names; a body may be repeated with different motions",
    )
    factors: tuple[Formula, ...] = argument(_factors, positional=True, about="a nonzero constant for each body")

    @property
    def weights(self) -> tuple[Formula, ...]:
        return self.factors
