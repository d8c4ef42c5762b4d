"""A pinion that moves a rack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import symengine as se

from dalembert.arguments import checked
from dalembert.model.contacts.coupling import TWO, WHICH, Tied, TiedMaker
from dalembert.model.keys import Key, Keys, constant_length
from dalembert.model.making import Given
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class RackAndPinion(Tied):
    """The rack, the second body, slides by `radius` × the angle of the pinion, the first."""

    kind: ClassVar[str] = "rack_and_pinion"
    unit: ClassVar[str | None] = "m"
    keys: ClassVar[Keys] = {**TWO, "radius": Key(constant_length, True), **WHICH}

    radius: Formula

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the force of the rack on the teeth of the pinion."""
        return self.radius, se.Integer(-1)


class RackAndPinionMaker(TiedMaker):
    """Makes racks."""

    @checked
    def rack_and_pinion(
        self,
        bodies: tuple[str, str],
        radius: Written,
        *,
        joints: Given = (),
        motions: Given = (),
        phase: Written | None = None,
        name: str | None = None,
    ) -> Self:
        """Let a pinion move a rack: radius × θ₁ − x₂ = phase. A negative radius lets it run the other way.

        >>> from dalembert.model.model import Model
        >>> model = Model("steering").coordinates("turn", "x")
        >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "turn"), mass=1, inertia=(0, 0, 1))
        >>> _ = model.body("rack", joint=model.prismatic((1, 0, 0), "x", position=(0, -0.5, 0)), mass=4)
        >>> _ = model.rack_and_pinion(("pinion", "rack"), 0.5).joint_torque("pinion", 2)
        >>> import dalembert as dl
        >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 4·0.5²) × second rate of the turn = 2
        array([1. , 0.5])
        """
        return self._tied(RackAndPinion, name, bodies, joints, motions, radius=radius, phase=phase)
