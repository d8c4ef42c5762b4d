"""Spring and damper inside a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self

from dalembert.model.immutable import Frozen
from dalembert.model.keys import constant, constant_stiffness, unsupported_in_urdf
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.symbolic.symbols import Formula


@record
class JointSpring(InJoint):
    """Add a spring and a damper to a joint: −stiffness × (motion − rest) − damping × rate, a torsion spring if it rotates."""

    kind = "joint_spring"
    words = Frozen(rest="at rest at")

    stiffness: Formula = argument(constant_stiffness, 0, about="a constant")
    rest: Formula = argument(constant, 0, about="a constant: the position at which the spring is relaxed")
    damping: Formula = argument(constant, 0, about="a constant")

    def reversed(self) -> Self:
        return replace(self, rest=-self.rest)

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        if number(self.stiffness):
            raise unsupported_in_urdf(self.title, "URDF has no springs in joints")
        return number(self.damping), 0.0

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        k, c = motion.lower(self.stiffness), motion.lower(self.damping)
        stretch = motion.joint(self.body, self.joint, self.motion).value - motion.lower(self.rest)
        out = []
        if not motion.algebra.is_zero(k):
            out.append(self._along(motion, -k * stretch, motion.algebra.half * k * stretch * stretch))
        if not motion.algebra.is_zero(c):
            out.append(self._along(motion, -c * self._state(motion)[1]))
        return out

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        motion = self._joint_motion(probe)
        force = -probe.number(self.stiffness) * (motion.value - probe.number(self.rest))
        return product(self.name, force - probe.number(self.damping) * motion.rate, motion)
