"""Motors in joints: the line from stall torque to no-load speed, and the direct current motor that has such a line."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dalembert.errors import Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import constant, moving
from dalembert.model.loads.base import Applied, InJoint, Motion
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Watch, Work, product
from dalembert.symbolic.formula_writer import written_out
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class _Line(InJoint):
    """A torque that falls with the rate of the joint along a straight line."""

    drives: ClassVar[bool] = True
    positive: ClassVar[tuple[str, ...]] = ()  # the constants that have to be

    @property
    @abstractmethod
    def line(self) -> tuple[Formula, Formula]:
        """The torque at rest, and how much it falls with the rate."""

    def law(self) -> tuple[str, str]:
        """Its line."""
        stall, slope = map(written_out, self.line)
        return self.kind, f"{stall} less {slope} × rate"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Constants that have to be positive."""
        found = ((key, value(getattr(self, key), table)) for key in self.positive)
        return [
            Problem(f"{self.title}, {key}", f"it is {number:g}.", "Expected a positive number.")
            for key, number in found
            if not number > 0
        ]

    def applied(self, motion: Motion) -> list[Applied]:
        """The torque on the rate of the motion."""
        joint = motion.joint(self.body, self.joint, self.motion)
        stall, slope = map(motion.lower, self.line)
        return [self._along(motion, stall - slope * (joint.gradient @ motion.qd + joint.drift))]


@record
class Motor(_Line):
    """Drive the joint of a body by stall_torque × (command − rate / no_load_speed).

    `command` is a formula: 1 for the whole voltage, 0 for a motor that brakes, −1 for backwards. Give its rotor by `rotor`.

    >>> from dalembert.model.model import Model
    >>> model = Model("wheel").coordinates("turn")
    >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
    >>> model.motor("wheel", stall_torque=3, no_load_speed=12, command="cos(t)").loads[0].law()
    ('motor', '3*cos(t) less 1/4 × rate')
    """

    kind: ClassVar[str] = "motor"
    positive: ClassVar[tuple[str, ...]] = ("stall_torque", "no_load_speed")

    stall_torque: Formula = argument(constant, about="a constant: the torque at rest")
    no_load_speed: Formula = argument(constant, about="a constant: the rate at which nothing is left of it")
    command: Formula = argument(moving, 1, about="a formula: 1 for the whole voltage, −1 for backwards, 0 to brake")

    @property
    def line(self) -> tuple[Formula, Formula]:
        """From the stall torque at rest to nothing at the no-load speed."""
        return self.stall_torque * self.command, self.stall_torque / self.no_load_speed

    def reversed(self) -> Self:
        """The opposite command."""
        return replace(self, command=-self.command)

    def declared(self, watch: Watch) -> Work:
        """The torque times the change of the motion."""
        moved = self._moved(watch)
        left = watch.number(self.command) - moved.rate / watch.number(self.no_load_speed)
        return product(self.name, watch.number(self.stall_torque) * left, moved)


@record
class DcMotor(_Line):
    """Drive the joint of a body by a direct current motor that turns `ratio` times as fast.

    A direct current motor without inductance, behind a gear.

    Its current is (voltage − back_emf × ratio × rate) / resistance, its torque on the joint ratio × torque_constant × current.

    Its current is (voltage − back_emf × ratio × rate) / resistance and its torque on the joint
    ratio × torque_constant × current. `voltage` is a formula; without `back_emf` it is the torque constant, as in SI units.
    The inductance is left out. Give the rotor by `rotor` with the same ratio.

    >>> from dalembert.model.model import Model
    >>> model = Model("wheel").coordinates("turn")
    >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
    >>> model.dc_motor("wheel", voltage=12, resistance=2, torque_constant=0.05, ratio=20).loads[0].law()
    ('dc_motor', '6 less 1/2 × rate')
    """

    kind: ClassVar[str] = "dc_motor"
    positive: ClassVar[tuple[str, ...]] = ("resistance",)

    voltage: Formula = argument(moving, about="a formula")
    resistance: Formula = argument(constant, about="a constant")
    torque_constant: Formula = argument(constant, about="a constant: torque per current, at the motor's shaft")
    back_emf: Formula = argument(
        constant, None, about="a constant: voltage per rate of the motor's shaft", absent="`torque_constant`"
    )
    ratio: Formula = argument(constant, 1, about="a constant: the ratio of the gear")

    @classmethod
    def completed(cls, model: Model, given: dict[str, Any], where: str) -> dict[str, Any]:
        """Back-EMF and torque have the same constant in consistent units."""
        return {**given, "back_emf": given["torque_constant"] if given["back_emf"] is None else given["back_emf"]}

    @property
    def line(self) -> tuple[Formula, Formula]:
        """The torque of the whole voltage, less that of the back-EMF."""
        gain = self.ratio * self.torque_constant / self.resistance
        return gain * self.voltage, gain * self.ratio * self.back_emf

    def reversed(self) -> Self:
        """The opposite voltage."""
        return replace(self, voltage=-self.voltage)

    def declared(self, watch: Watch) -> Work:
        """Current, torque on the motor's shaft, and the turn of this shaft."""
        shaft, N = self._moved(watch), watch.number(self.ratio)
        current = (watch.number(self.voltage) - watch.number(self.back_emf) * N * shaft.rate) / watch.number(
            self.resistance
        )
        value = watch.number(self.torque_constant) * current * (N * shaft.change)
        return Work(self.name, value, np.abs(value))
