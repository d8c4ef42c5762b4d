"""Gear pair with backlash: contact at one flank, at the other, or at none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import constant, index_list, switch, two_bodies
from dalembert.model.loads.base import Applied, LoadKinematics
from dalembert.model.loads.contact_laws import Walls
from dalembert.model.record import Arguments, argument, record
from dalembert.model.reference_model import MotionProbe, ReferencePoses, VirtualWork, product
from dalembert.model.values import is_sequence
from dalembert.symbolic.algebra_base import Array, Scalar, matrix, scaled, vector
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula, Lowering

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class Backlash(Walls):
    """Mesh two gears with backlash: e = θ₁ + ratio θ₂ − phase, or θ₁ − ratio θ₂ − phase for an internal gear.

    The torque acts on the first gear along its motion, and ratio times the torque on the second.

    `play` is the free rotation of the first gear while the second is fixed; e = 0 is the middle. Beyond half of it the flanks
    penetrate by a depth δ, measured as an angle of the first gear, with the contact law of a `joint_stop`: `stiffness` (torque
    on the first gear per radian), `damping`, `dissipation`, `exponent`, or `push`. Ratio and joints are those of `gear`; like
    its torque, the contact torque acts inside the joints.

    >>> import dalembert as dl
    >>> model = dl.Model("gears").coordinate("a", 0.0, 1.0).coordinate("b")
    >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
    >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 4))
    >>> _ = model.backlash(("pinion", "wheel"), 2, play=0.02, stiffness=1e4)
    >>> run = dl.simulate(model, 0.05)  # collision of equal inertias: 1 and 4/2²
    >>> [round(float(v), 9) + 0.0 for v in run.qd[:, -1]], round(run.switchings[0].t, 12)
    ([0.0, -0.5], 0.01)
    """

    kind = "backlash"

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about="the names of the two wheels")
    ratio: Formula = argument(
        constant, positional=True, about="a constant: the ratio of the radii or teeth, second to first"
    )
    play: Formula = argument(
        constant, about="a constant: the free rotation of the first wheel while the second is fixed"
    )
    internal: bool = argument(
        switch, False, about="`true` for an internal gear, whose wheels rotate in the same direction"
    )
    joints: tuple[int, ...] = argument(
        index_list, (), about="which joint of each body, counted from 0", absent="all `0`"
    )
    motions: tuple[int, ...] = argument(
        index_list, (), about="which motion of each joint, counted from 0", absent="all `0`"
    )
    stiffness: Formula = argument(constant, 0, about="a constant: torque on the first wheel per radian")
    phase: Formula = argument(constant, 0, about="a constant: offset such that e = 0 in the middle of the play")

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        for key in ("joints", "motions"):
            if is_sequence(arguments[key]) and len(arguments[key]) not in (0, 2):
                raise InputError(f"{where}, {key}: got {len(arguments[key])}. Expected 2, one for each body.")
        return arguments

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        return list(zip(self.bodies, self.joints or (0, 0), self.motions or (0, 0), strict=True))

    @property
    def walls(self) -> tuple[Formula, Formula]:
        return -self.play / 2, self.play / 2

    @property
    def _weight(self) -> Formula:
        """The factor of the second motion."""
        return -self.ratio if self.internal else self.ratio

    def law(self) -> tuple[str, str]:
        return (
            self.kind,
            f"ratio {formula_string(self._weight)}, play {formula_string(self.play)}: {self.press_description()}",
        )

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found, play = self.press_faults(self.title, table), value(self.play, table)
        if not play >= 0:
            found.append(Problem(f"{self.title}, play", f"the play is {play:g}.", "Expected a number >= 0."))
        if value(self.ratio, table) == 0:
            found.append(Problem(f"{self.title}, ratio", "the ratio is 0.", "Expected a nonzero number."))
        first, second = self.in_joints
        if first == second:
            fact = f"it has the same motion of '{first[0]}' twice."
            found.append(Problem(self.title, fact, "Use two different motions."))
        return found

    def _slopes(self, motion: LoadKinematics) -> tuple[Array, Scalar]:
        """J and c of ė."""
        first, second = (motion.joint(*each) for each in self.in_joints)
        k = motion.lower(self._weight)
        return first.gradient + scaled(k, second.gradient), first.drift + k * second.drift

    def lowering(self, motion: LoadKinematics) -> Lowering:
        first, second = (motion.joint(*each) for each in self.in_joints)
        k, (J, c) = motion.lower(self._weight), self._slopes(motion)
        e = first.value + k * second.value - motion.lower(self.phase)
        return self.measured(motion, e, J @ motion.qd + c)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        J, c = self._slopes(motion)
        return [Applied(self.name, vector([self.lowering(motion)(self.resistance)]), matrix([list(J)]), vector([c]))]

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        def slack(poses: ReferencePoses) -> Scalar:
            (first, second), ratio = self.in_joints, poses.lower(self.ratio)
            reflected = poses.value(*second) * ratio
            return poses.value(*first) + (-reflected if self.internal else reflected) - poses.lower(self.phase)

        e = probe.traced(slack)
        return product(self.name, self.restoring_force(probe, e), e)
