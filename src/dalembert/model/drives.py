"""Making what drives a model besides loads: the rotors of motors and prescribed motions."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.expressions.formula import Written
from dalembert.model.elements import Holonomic, Rotor
from dalembert.model.making import Given, Maker


class DriveMakers(Maker):
    """Rotors and drives."""

    rotors: tuple[Rotor, ...]
    holonomic_list: tuple[Holonomic, ...]

    @checked
    def rotor(
        self,
        body: str,
        inertia: Written,
        *,
        ratio: Written = 1,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Give the motor of a joint its inertia: a rotor that turns `ratio` times as fast as the joint.

        It adds ½ inertia (ratio × rate)² to the kinetic energy; its gyroscopic effects are left out, as is usual for
        geared drives.
        """
        key = name or f"rotor{len(self.rotors) + 1}"
        where = f"rotor '{key}'"
        if any(rotor.name == key for rotor in self.rotors):
            raise InputError(f"{where}: declared twice. Give each rotor its own name.")
        J, N = (self.reader.constant(x, f"{where}, {y}") for x, y in ((inertia, "inertia"), (ratio, "ratio")))
        self.rotors += (Rotor(key, body, joint, motion, J, N),)
        return self

    @checked
    def drive(self, coordinate: str, motion: Written, name: str | None = None, feedback: Given | None = None) -> Self:
        """Prescribe the motion of a coordinate: a formula of time. The force that it takes is the multiplier of the drive.

        With `feedback` = (α, β) it is a computed-torque controller: an error e of the motion dies out by ë + β ė + α e = 0.
        """
        if coordinate not in self.coordinate_names:
            raise InputError(
                f"drive: there is no coordinate '{coordinate}'. {nearest(coordinate, self.coordinate_names)}"
            )
        key = name or f"drive of {coordinate}"
        formula = replace(self.reader, coordinates=()).read(motion, f"'{key}'", rates=False)
        phi = self.reader.read(coordinate, f"'{key}'") - formula
        gains = self._feedback(feedback, 2, f"'{key}', feedback")
        self.holonomic_list += (Holonomic(key, phi, f"prescribed motion of {coordinate}", gains),)
        return self
