"""Making the rotors of motors."""

from __future__ import annotations

from typing import Self

from dalembert.arguments import checked
from dalembert.errors import InputError
from dalembert.expressions.formula import Written
from dalembert.model.elements import Rotor
from dalembert.model.making import Maker


class DriveMakers(Maker):
    """Rotors."""

    rotors: tuple[Rotor, ...]

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
