"""Motors in joints: the line from stall torque to no-load speed, and the direct current motor that has such a line."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.model.checks.check_values import value
from dalembert.model.keys import IN_JOINT, Key, Keys, constant, moving
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.reference_model import Watch, Work, product
from dalembert.symbolic.exact_numbers import written_out
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Motor(_Line):
    """stall_torque × (command − rate / no_load_speed) along the motion of a joint."""

    kind: ClassVar[str] = "motor"
    forms: ClassVar[dict[str, Keys]] = {
        "motor": {
            **IN_JOINT,
            **dict.fromkeys(("stall_torque", "no_load_speed"), Key(constant, True)),
            "command": Key(moving, usual=1),
        }
    }
    positive: ClassVar[tuple[str, ...]] = ("stall_torque", "no_load_speed")

    stall_torque: Formula
    no_load_speed: Formula
    command: Formula

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


@dataclass(frozen=True)
class DcMotor(_Line):
    """A direct current motor without inductance, behind a gear.

    Its current is (voltage − back_emf × ratio × rate) / resistance, its torque on the joint ratio × torque_constant × current.
    """

    kind: ClassVar[str] = "dc_motor"
    forms: ClassVar[dict[str, Keys]] = {
        "dc_motor": {
            **IN_JOINT,
            "voltage": Key(moving, True),
            **dict.fromkeys(("resistance", "torque_constant"), Key(constant, True)),
            "back_emf": Key(constant),
            "ratio": Key(constant, usual=1),
        }
    }
    positive: ClassVar[tuple[str, ...]] = ("resistance",)

    voltage: Formula
    resistance: Formula
    torque_constant: Formula
    back_emf: Formula
    ratio: Formula

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


class MotorMaker(LoadMaker):
    """Makes motors."""

    @checked
    def motor(
        self,
        body: str,
        *,
        stall_torque: Written,
        no_load_speed: Written,
        command: Written = 1,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Drive the joint of a body by stall_torque × (command − rate / no_load_speed).

        `command` is a formula: 1 for the whole voltage, 0 for a motor that brakes, −1 for backwards. Give its rotor by `rotor`.

        >>> from dalembert.model.model import Model
        >>> model = Model("wheel").coordinates("turn")
        >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
        >>> model.motor("wheel", stall_torque=3, no_load_speed=12, command="cos(t)").loads[0].law()
        ('motor', '3*cos(t) less 1/4 × rate')
        """
        line = {"stall_torque": stall_torque, "no_load_speed": no_load_speed, "command": command}
        return self._load(Motor, name, body=body, joint=joint, motion=motion, **line)

    @checked
    def dc_motor(
        self,
        body: str,
        *,
        voltage: Written,
        resistance: Written,
        torque_constant: Written,
        back_emf: Written | None = None,
        ratio: Written = 1,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Drive the joint of a body by a direct current motor that turns `ratio` times as fast.

        Its current is (voltage − back_emf × ratio × rate) / resistance and its torque on the joint
        ratio × torque_constant × current. `voltage` is a formula; without `back_emf` it is the torque constant, as in SI units.
        The inductance is left out. Give the rotor by `rotor` with the same ratio.

        >>> from dalembert.model.model import Model
        >>> model = Model("wheel").coordinates("turn")
        >>> _ = model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(1, 2, 1))
        >>> model.dc_motor("wheel", voltage=12, resistance=2, torque_constant=0.05, ratio=20).loads[0].law()
        ('dc_motor', '6 less 1/2 × rate')
        """
        back = torque_constant if back_emf is None else back_emf
        given = {"voltage": voltage, "resistance": resistance, "torque_constant": torque_constant, "back_emf": back}
        return self._load(DcMotor, name, body=body, joint=joint, motion=motion, **given, ratio=ratio)
