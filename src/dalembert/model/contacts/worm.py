"""A worm that turns a wheel."""

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
class Worm(Tied):
    """A turn of the worm, the first body, moves the second on by `starts` of its `teeth`; backwards if left-handed."""

    kind: ClassVar[str] = "worm"
    keys: ClassVar[Keys] = {
        **TWO,
        "teeth": Key(constant, True),
        "starts": Key(constant, usual=1),
        "left": Key(switch, usual=False),
        **WHICH,
    }

    teeth: Formula
    starts: Formula
    left: bool

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the torque on the worm."""
        ratio = self.teeth / self.starts
        return se.Integer(1), ratio if self.left else -ratio


class WormMaker(TiedMaker):
    """Makes worms."""

    @checked
    def worm(
        self,
        bodies: tuple[str, str],
        teeth: Written,
        *,
        starts: Written = 1,
        left: bool = False,
        joints: Given = (),
        motions: Given = (),
        phase: Written | None = None,
        name: str | None = None,
    ) -> Self:
        """Let a worm turn a wheel: θ₁ − (teeth/starts) θ₂ = phase, and with a left-handed thread the other way round.

        There is no friction in it, so the wheel also drives the worm; a worm that locks needs friction in its joint.

        >>> from dalembert.model.model import Model
        >>> model = Model("hoist").coordinates("a", "b")
        >>> _ = model.body("worm", joint=model.revolute((1, 0, 0), "a"), mass=1, inertia=(1, 0, 0))
        >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(0, 1, 0)), mass=8, inertia=(0, 0, 400))
        >>> _ = model.worm(("worm", "wheel"), 40, starts=2).joint_torque("worm", 4)
        >>> import dalembert as dl
        >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 400/20²) ä = 4
        array([2. , 0.1])
        """
        return self._tied(Worm, name, bodies, joints, motions, teeth=teeth, starts=starts, left=left, phase=phase)
