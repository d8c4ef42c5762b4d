"""A strut inside a joint: it pulls back by any law of how far the joint has moved and how fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dalembert.algebra.tables import Table
from dalembert.arguments import checked
from dalembert.expressions.formula import Written
from dalembert.expressions.lower import Lowering
from dalembert.model.declared import Watch, Work, product
from dalembert.model.keys import IN_JOINT, Key, Keys
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.loads.laws import CURVES, RATE, Law, law, measure, numbers_but, require_some
from dalembert.model.making import Given
from dalembert.model.vectors import Formula

POSITION = ("position", "angle")


@dataclass(frozen=True)
class JointStrut(InJoint):
    """It acts with −pull, a formula of `position` (or `angle`) and `rate` of the joint, and with curves over them."""

    kind: ClassVar[str] = "joint_strut"
    forms: ClassVar[dict[str, Keys]] = {
        "joint_strut": {**IN_JOINT, "pull": Key(law(*POSITION, RATE), usual=0), **CURVES}
    }

    pull: Formula
    curve: Table | None
    rate_curve: Table | None

    @property
    def _law(self) -> Law:
        return Law(POSITION, self.pull, self.curve, self.rate_curve)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The law with its curves."""
        return (self._law.formula,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """All but the law."""
        return numbers_but(self.pull, super().numbers())

    def law(self) -> tuple[str, str]:
        """What it pulls back with."""
        return self.kind, self._law.words()

    def reversed(self) -> Self:
        """The law of the opposite."""
        turned = self._law.mirrored()
        return replace(self, pull=turned.pull, curve=turned.curve, rate_curve=turned.rate_curve)

    def applied(self, motion: Motion) -> list[Applied]:
        """What has a potential, then the rest."""
        lower = self.lowering(motion)
        energy, rest = self._law.parts
        found = [(energy.diff(measure(POSITION[0])), lower(energy)), (rest, None)]
        return [self._along(motion, -lower(pull), V) for pull, V in found if pull != 0]

    def lowering(self, motion: Motion) -> Lowering:
        """Knowing the position of the joint and its rate."""
        joint = motion.joint(self.body, self.joint, self.motion)
        rate = joint.gradient @ motion.qd + joint.drift
        return motion.lower.knowing({measure(POSITION[0]).name: joint.value, measure(RATE).name: rate})

    def held(self, hold: Callable[[Formula], Formula]) -> Self:
        """With its curves in the law."""
        return replace(self, pull=hold(self._law.formula), curve=None, rate_curve=None)

    def declared(self, watch: Watch) -> Work:
        """All at once, times the change of the motion."""
        moved = self._moved(watch)
        known = dict.fromkeys((measure(name).name for name in POSITION), moved.value)
        curves = ((self.curve, moved.value), (self.rate_curve, moved.rate))
        along = [np.interp(x, held.times, held.values) for held, x in curves if held is not None]
        pull = watch.number(self.pull, known | {measure(RATE).name: moved.rate})
        return product(self.name, -pull - sum(along, start=np.zeros(watch.K)), moved)


class JointStrutMaker(LoadMaker):
    """Makes struts in joints."""

    @checked
    def joint_strut(
        self,
        body: str,
        *,
        pull: Written | None = None,
        curve: Given | None = None,
        rate_curve: Given | None = None,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Put a spring and damper of any law into a joint: it acts with −pull along the motion.

        `pull` is a formula of `position` (also called `angle`, for joints that turn), `rate`, parameters and `t`. `curve` has
        rows (position, pull) and `rate_curve` rows (rate, pull), with straight lines between them and level outside. What is
        given adds up.

        >>> from dalembert import Model
        >>> model = Model("Duffing").parameters(k=1.0, a=0.3).coordinate("x", 2.0)
        >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        >>> model.joint_strut("block", pull="k*position + a*position**3").loads[0].law()
        ('joint_strut', 'a*position**3 + k*position')
        """
        require_some((pull, curve, rate_curve), f"joint_strut '{name or 'joint_strut'}'")
        given = {"pull": 0 if pull is None else pull, "curve": curve, "rate_curve": rate_curve}
        return self._load(JointStrut, name, body=body, joint=joint, motion=motion, **given)
