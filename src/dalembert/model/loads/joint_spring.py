"""A spring and a damper inside a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dalembert.arguments import checked
from dalembert.model.file_form import unsaid
from dalembert.model.keys import IN_JOINT, Key, Keys, constant, constant_stiffness
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.reference_model import Watch, Work, product
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class JointSpring(InJoint):
    """A spring and a damper inside a joint: −stiffness × (motion − rest) − damping × rate."""

    kind: ClassVar[str] = "joint_spring"
    words: ClassVar[dict[str, str]] = {"rest": "at rest at"}
    forms: ClassVar[dict[str, Keys]] = {
        "joint_spring": {
            **IN_JOINT,
            "stiffness": Key(constant_stiffness, usual=0),
            **dict.fromkeys(("rest", "damping"), Key(constant, usual=0)),
        }
    }

    stiffness: Formula
    rest: Formula
    damping: Formula

    def reversed(self) -> Self:
        """At rest at the opposite value."""
        return replace(self, rest=-self.rest)

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        """Its damping, if it is no spring."""
        if number(self.stiffness):
            raise unsaid(self.title, "URDF has no springs in joints")
        return number(self.damping), 0.0

    def applied(self, motion: Motion) -> list[Applied]:
        """The spring with its potential, and the damper."""
        k, c = motion.lower(self.stiffness), motion.lower(self.damping)
        joint = motion.joint(self.body, self.joint, self.motion)
        stretch = joint.value - motion.lower(self.rest)
        out = []
        if not motion.algebra.is_zero(k):
            out.append(self._along(motion, -k * stretch, motion.algebra.half * k * stretch * stretch))
        if not motion.algebra.is_zero(c):
            out.append(self._along(motion, -c * (joint.gradient @ motion.qd + joint.drift)))
        return out

    def declared(self, watch: Watch) -> Work:
        """Both at once, times the change of the motion."""
        moved = self._moved(watch)
        force = -watch.number(self.stiffness) * (moved.value - watch.number(self.rest))
        return product(self.name, force - watch.number(self.damping) * moved.rate, moved)


class JointSpringMaker(LoadMaker):
    """Makes springs in joints."""

    @checked
    def joint_spring(
        self,
        body: str,
        *,
        stiffness: Written = 0,
        rest: Written = 0,
        damping: Written = 0,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Put a spring and a damper into a joint: −stiffness × (motion − rest) − damping × rate, a torsion spring if it turns."""
        constants = {"stiffness": stiffness, "rest": rest, "damping": damping}
        return self._load(JointSpring, name, body=body, joint=joint, motion=motion, **constants)
