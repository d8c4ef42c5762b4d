"""Joint motors with a linear torque-speed curve: stall torque and no-load speed, or DC motor constants."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dalembert.errors import Problem
from dalembert.model.keys import constant, moving
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.record import Arguments, argument, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class _Line(InJoint):
    """Base class of motors whose torque decreases linearly with the joint rate."""

    drives = True
    positive: ClassVar[tuple[str, ...]] = ()  # constants that must be positive

    @property
    @abstractmethod
    def line(self) -> tuple[Formula, Formula]:
        """The stall torque, and the decrease of torque per rate."""

    def law(self) -> tuple[str, str]:
        stall, slope = map(formula_string, self.line)
        return self.kind, f"{stall} less {slope} × rate"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        return self._not_positive(self.positive, table)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        stall, slope = map(motion.lower, self.line)
        return [self._along(motion, stall - slope * self._state(motion)[1])]


@record
class Motor(_Line):
    """Drive the joint of a body by stall_torque × (command − rate / no_load_speed).

    `command` is a formula: 1 for full voltage, 0 to brake, −1 for full reverse voltage. Add its rotor with `rotor`.

    >>> from dalembert.model.model import Model
    >>> model = Model("wheel").coordinates("turn")
    >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
    >>> model.motor("wheel", stall_torque=3, no_load_speed=12, command="cos(t)").loads[0].law()
    ('motor', '3*cos(t) less 1/4 × rate')
    """

    kind = "motor"
    positive = ("stall_torque", "no_load_speed")

    stall_torque: Formula = argument(constant, about="a constant: the torque at zero speed")
    no_load_speed: Formula = argument(constant, about="a constant: the rate at which the torque is zero")
    command: Formula = argument(
        moving, 1, about="a formula: 1 for full voltage, −1 for full reverse voltage, 0 to brake"
    )

    @property
    def line(self) -> tuple[Formula, Formula]:
        return self.stall_torque * self.command, self.stall_torque / self.no_load_speed

    def reversed(self) -> Self:
        return replace(self, command=-self.command)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        motion = self._joint_motion(probe)
        left = probe.number(self.command) - motion.rate / probe.number(self.no_load_speed)
        return product(self.name, probe.number(self.stall_torque) * left, motion)


@record
class DcMotor(_Line):
    """Drive the joint of a body by a DC motor that rotates `ratio` times as fast as the joint.

    Its current is (voltage − back_emf × ratio × rate) / resistance and its torque on the joint
    ratio × torque_constant × current. `voltage` is a formula; `back_emf` defaults to the torque constant, as in SI units.
    The inductance is neglected. Add the rotor with `rotor` and the same ratio.

    >>> from dalembert.model.model import Model
    >>> model = Model("wheel").coordinates("turn")
    >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
    >>> model.dc_motor("wheel", voltage=12, resistance=2, torque_constant=0.05, ratio=20).loads[0].law()
    ('dc_motor', '6 less 1/2 × rate')
    """

    kind = "dc_motor"
    positive = ("resistance",)

    voltage: Formula = argument(moving, about="a formula")
    resistance: Formula = argument(constant, about="a constant")
    torque_constant: Formula = argument(constant, about="a constant: torque per current, at the motor shaft")
    back_emf: Formula = argument(
        constant, None, about="a constant: voltage per rate of the motor shaft", absent="`torque_constant`"
    )
    ratio: Formula = argument(constant, 1, about="a constant: the gear ratio")

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        """Back-EMF and torque have the same constant in consistent units."""
        return {**arguments, "back_emf": arguments["torque_constant"]} if arguments["back_emf"] is None else arguments

    @property
    def line(self) -> tuple[Formula, Formula]:
        gain = self.ratio * self.torque_constant / self.resistance
        return gain * self.voltage, gain * self.ratio * self.back_emf

    def reversed(self) -> Self:
        return replace(self, voltage=-self.voltage)

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        shaft, N = self._joint_motion(probe), probe.number(self.ratio)
        left = probe.number(self.voltage) - probe.number(self.back_emf) * N * shaft.rate
        value = probe.number(self.torque_constant) * (left / probe.number(self.resistance)) * (N * shaft.change)
        return VirtualWork(self.name, value, np.abs(value))
