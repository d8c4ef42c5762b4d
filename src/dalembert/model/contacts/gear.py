"""Two wheels whose teeth mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import symengine as se

from dalembert.arguments import checked
from dalembert.model.contacts.coupling import TWO, WHICH, Tied, TiedMaker
from dalembert.model.keys import Key, Keys, constant, switch
from dalembert.model.making import Given
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class Gear(Tied):
    """The first wheel turns `ratio` times while the second turns once: backwards, or the same way if one is internal."""

    kind: ClassVar[str] = "gear"
    keys: ClassVar[Keys] = {**TWO, "ratio": Key(constant, True), "internal": Key(switch, usual=False), **WHICH}

    ratio: Formula
    internal: bool

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the torque on the first wheel."""
        return se.Integer(1), -self.ratio if self.internal else self.ratio


class GearMaker(TiedMaker):
    """Makes gears."""

    @checked
    def gear(
        self,
        bodies: tuple[str, str],
        ratio: Written,
        *,
        internal: bool = False,
        joints: Given = (),
        motions: Given = (),
        phase: Written | None = None,
        name: str | None = None,
    ) -> Self:
        """Let two wheels mesh: θ₁ + ratio θ₂ = phase, or θ₁ − ratio θ₂ where one has its teeth inside.

        `ratio` is that of the radii or teeth, second to first. Both angles are those of the joints, from parents that do not
        turn against each other; where a carrier takes a wheel around, use `coupling`.

        >>> from dalembert.model.model import Model
        >>> model = Model("gears").coordinates("a", "b")
        >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
        >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 12))
        >>> _ = model.gear(("pinion", "wheel"), 2).joint_torque("pinion", 8)
        >>> import dalembert as dl
        >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 12/2²) ä = 8
        array([ 2., -1.])
        """
        return self._tied(Gear, name, bodies, joints, motions, ratio=ratio, internal=internal, phase=phase)
