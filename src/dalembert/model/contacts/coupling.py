"""Motions of joints that are tied together: the law of gears, belts, racks, worms and differentials."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import symengine as se

from dalembert.arguments import checked
from dalembert.errors import InputError, Problem
from dalembert.model.checks.check_values import Table, value
from dalembert.model.contacts.base import ContactMaker, Formulas, Held, Push
from dalembert.model.file_form import vector
from dalembert.model.keys import (
    NAMED,
    Key,
    Keys,
    Kind,
    constant,
    counted,
    many,
    optional_constant,
    several_bodies,
    two_bodies,
)
from dalembert.model.loads.base import Motion
from dalembert.model.making import Given, row_of, several
from dalembert.model.reference_model import Places
from dalembert.symbolic.algebra_base import Array, matrix
from dalembert.symbolic.expression_reading import decimal
from dalembert.symbolic.symbols import TIME, Formula, Written, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_factors = Kind(
    many(constant, "numbers or formulas"),
    lambda maker, x, where: tuple(maker.reader.constant(each, where) for each in row_of(x, where, "factors")),
    vector,
)
WHICH: Keys = {**dict.fromkeys(("joints", "motions"), Key(counted, usual=[])), "phase": Key(optional_constant)}
TWO: Keys = {**NAMED, "bodies": Key(two_bodies, required=True)}


@dataclass(frozen=True)
class Tied(Held):
    """Σ factorᵢ × (motion of joint i) = phase: a law of joints, also where their motions are formulas of coordinates.

    A motion is found by its body, the number of the joint on the way to the body, and the number of the motion in it; without
    `joints` and `motions` all are the first. Without a phase the sum keeps the value that it has in the initial state. The
    forces act inside the joints, as those of motors do: multiplier × factorᵢ on body i along its motion, and back on its parent.
    """

    unit: ClassVar[str | None] = "rad"

    bodies: tuple[str, ...]
    joints: tuple[int, ...]
    motions: tuple[int, ...]
    phase: Formula | None

    @property
    @abstractmethod
    def weights(self) -> tuple[Formula, ...]:
        """What each motion counts by."""

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The motions that are tied."""
        still = (0,) * len(self.bodies)
        return list(zip(self.bodies, self.joints or still, self.motions or still, strict=True))

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Factors of zero, a motion that is named twice, and motions that no coordinate moves."""
        found = [
            Problem(self.title, f"the motion of '{body}' counts by {size:g}.", "Expected a number that is not 0.")
            for body, factor in zip(self.bodies, self.weights, strict=True)
            if not 0 < abs(size := value(factor, table)) < math.inf
        ]
        tied = self.in_joints
        if len(set(tied)) < len(tied):
            body = next(each[0] for each in tied if tied.count(each) > 1)
            found.append(Problem(self.title, f"it names the same motion of '{body}' twice.", "Tie different motions."))
        q = {coordinate(name) for name in model.coordinate_names}
        if not any(self._formula(model, *each).free_symbols & q for each in tied):
            found.append(Problem(self.title, "no coordinate moves its joints.", "Tie joints that can move."))
        return found

    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The sum less its phase."""
        lower, tied = motion.lower, list(zip(self.weights, self.in_joints, strict=True))
        start = {coordinate(c.name): decimal(c.start) for c in motion.model.coordinate_list} | {TIME: se.Integer(0)}
        phase = self.phase
        if phase is None:
            phase = sum((k * self._formula(motion.model, *each).subs(start) for k, each in tied), start=se.Integer(0))
        return {self.name: sum(lower(k) * motion.joint(*each).value for k, each in tied) - lower(phase)}, {}

    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """None: its forces act inside the joints."""
        return {}

    def parts(self, places: Places) -> Array:
        """Each motion by its factor, and the phase or the same at the start."""
        tied = [(places.lower(k), each) for k, each in zip(self.weights, self.in_joints, strict=True)]
        still = [k * places.started(*each) for k, each in tied] if self.phase is None else [places.lower(self.phase)]
        return matrix([[*(k * places.value(*each) for k, each in tied), *(-x for x in still)]])

    @staticmethod
    def _formula(model: Elements, body: str, joint: int, motion: int) -> Formula:
        return next(each for each in model.bodies if each.name == body).joints[joint].values[motion]


@dataclass(frozen=True)
class Coupling(Tied):
    """Any number of motions, tied by their factors."""

    kind: ClassVar[str] = "coupling"
    unit: ClassVar[str | None] = None
    keys: ClassVar[Keys] = {
        **NAMED,
        "bodies": Key(several_bodies, required=True),
        "factors": Key(_factors, required=True),
        **WHICH,
    }

    factors: tuple[Formula, ...]

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The factors."""
        return self.factors


class TiedMaker(ContactMaker):
    """What the makers of couplings share."""

    def _tied(
        self, kind: type[Tied], name: str | None, bodies: Sequence[str], joints: Given, motions: Given, **given: object
    ) -> Self:
        """Add a coupling of this kind; factors, and joints and motions where they are given, are as many as bodies."""
        counts = {"joints": joints or None, "motions": motions or None, "factors": given.get("factors")}
        for key, found in counts.items():
            if several(found) and several(bodies) and len(found) != len(bodies):
                where = f"{kind.kind} '{self._contact_name(kind, name)}', {key}"
                raise InputError(f"{where}: got {len(found)}. Expected {len(bodies)}, one for each of the bodies.")
        return self._contact(kind, name, bodies=bodies, joints=joints, motions=motions, **given)


class CouplingMaker(TiedMaker):
    """Makes couplings."""

    @checked
    def coupling(
        self,
        bodies: Sequence[str],
        factors: Given,
        *,
        joints: Given = (),
        motions: Given = (),
        phase: Written | None = None,
        name: str | None = None,
    ) -> Self:
        """Tie motions of joints together: Σ factorᵢ × motionᵢ = phase, by default what the sum is in the initial state.

        A planet gear that a carrier takes around a fixed sun of twice its radius, its angle being that to the carrier:

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
        return self._tied(Coupling, name, bodies, joints, motions, factors=factors, phase=phase)
