"""A strut inside a joint: it pulls back by any law of how far the joint has moved and how fast."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dalembert.arguments import checked
from dalembert.model.keys import IN_JOINT, Key, Keys
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.loads.by_law import ByLaw
from dalembert.model.loads.force_laws import CURVES, RATE, law, measure, require_some
from dalembert.model.making import Given
from dalembert.model.reference_model import Watch, Work, product
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Written

POSITION = ("position", "angle")


@dataclass(frozen=True)
class JointStrut(ByLaw, InJoint):
    """It acts with −pull, a formula of `position` (or `angle`) and `rate` of the joint, and with curves over them."""

    kind: ClassVar[str] = "joint_strut"
    measured: ClassVar[tuple[str, ...]] = POSITION
    forms: ClassVar[dict[str, Keys]] = {
        "joint_strut": {**IN_JOINT, "pull": Key(law(*POSITION, RATE), usual=0), **CURVES}
    }

    def reversed(self) -> Self:
        """The law of the opposite."""
        turned = self._law.mirrored()
        return replace(self, pull=turned.pull, curve=turned.curve, rate_curve=turned.rate_curve)

    def applied(self, motion: Motion) -> list[Applied]:
        """What has a potential, then the rest."""
        return [self._along(motion, -pull, V) for pull, V in self._pulls(self.lowering(motion))]

    def lowering(self, motion: Motion) -> Lowering:
        """Knowing the position of the joint and its rate."""
        joint = motion.joint(self.body, self.joint, self.motion)
        rate = joint.gradient @ motion.qd + joint.drift
        return motion.lower.knowing({measure(POSITION[0]).name: joint.value, measure(RATE).name: rate})

    def declared(self, watch: Watch) -> Work:
        """All at once, times the change of the motion."""
        moved = self._moved(watch)
        return product(self.name, -self._pulled(watch, moved), moved)


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

        >>> from dalembert.model.model import Model
        >>> model = Model("Duffing").parameters(k=1.0, a=0.3).coordinate("x", 2.0)
        >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        >>> model.joint_strut("block", pull="k*position + a*position**3").loads[0].law()
        ('joint_strut', 'a*position**3 + k*position')
        """
        require_some((pull, curve, rate_curve), f"joint_strut '{name or 'joint_strut'}'")
        given = {"pull": 0 if pull is None else pull, "curve": curve, "rate_curve": rate_curve}
        return self._load(JointStrut, name, body=body, joint=joint, motion=motion, **given)
