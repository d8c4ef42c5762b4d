"""Joint strut: a restoring force or torque that is any function of the joint position and rate."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from dalembert.model.immutable import Frozen
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.loads.force_laws import RATE, ByLaw, law, measure
from dalembert.model.record import argument, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.symbolic.symbols import Formula, Lowering

POSITION = ("position", "angle")


@record
class JointStrut(ByLaw, InJoint):
    """Add a nonlinear spring and damper to a joint: −pull acts along the motion.

    `pull` is a formula of `position` (also called `angle`, for rotations), `rate`, parameters and `t`. `curve` has rows
    (position, pull) and `rate_curve` rows (rate, pull), with linear interpolation and constant extrapolation. The three are
    added.

    >>> from dalembert.model.model import Model
    >>> model = Model("Duffing").parameters(k=1.0, a=0.3).coordinate("x", 2.0)
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> model.joint_strut("block", pull="k*position + a*position**3").loads[0].law()
    ('joint_strut', 'a*position**3 + k*position')
    """

    kind = "joint_strut"
    measured = POSITION
    descriptions = Frozen(curve="rows `[position, pull]` with increasing positions")

    pull: Formula = argument(
        law(*POSITION, RATE),
        None,
        saved=0,
        about="a formula of `position` (also called `angle`), `rate`, parameters and `t`",
        absent="`0`",
    )

    def reversed(self) -> Self:
        mirrored = self._law.mirrored()
        return replace(self, pull=mirrored.pull, curve=mirrored.curve, rate_curve=mirrored.rate_curve)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        return [self._along(motion, -pull, V) for pull, V in self._force_terms(self.lowering(motion))]

    def lowering(self, motion: LoadKinematics) -> Lowering:
        value, rate = self._state(motion)
        return motion.lower.with_values({measure(POSITION[0]).name: value, measure(RATE).name: rate})

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        motion = self._joint_motion(probe)
        return product(self.name, -self._law_value(probe, motion), motion)
