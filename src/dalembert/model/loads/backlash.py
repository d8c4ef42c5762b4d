"""Two wheels whose teeth mesh with play: one flank pushes, or the other, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

from dalembert.arguments import checked
from dalembert.errors import InputError, Problem
from dalembert.model.checks.check_values import value
from dalembert.model.keys import NAMED, Key, Keys, constant, counted, switch, two_bodies
from dalembert.model.loads.base import Applied, LoadMaker, Motion
from dalembert.model.loads.contact_laws import PRESS, PressLaw, press_given
from dalembert.model.loads.walls import Walls
from dalembert.model.making import Given, several
from dalembert.model.reference_model import Places, Watch, Work, product
from dalembert.symbolic.algebra_base import Array, Scalar, matrix, scaled, vector
from dalembert.symbolic.exact_numbers import written_out
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class Backlash(Walls):
    """The flanks push where e = θ₁ + ratio θ₂ − phase is beyond half the play; θ₁ − ratio θ₂ where one wheel is internal.

    The torque acts on the first wheel along its motion, and ratio times as much on the second.
    """

    kind: ClassVar[str] = "backlash"
    forms: ClassVar[dict[str, Keys]] = {
        "backlash": {
            **NAMED,
            "bodies": Key(two_bodies, required=True),
            "ratio": Key(constant, True),
            "play": Key(constant, True),
            "internal": Key(switch, usual=False),
            **dict.fromkeys(("joints", "motions"), Key(counted, usual=[])),
            "phase": Key(constant, usual=0),
            **PRESS,
            "stiffness": Key(constant, usual=0),  # of an angle
        }
    }

    bodies: tuple[str, str]
    ratio: Formula
    play: Formula
    internal: bool
    joints: tuple[int, ...]
    motions: tuple[int, ...]
    phase: Formula

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The motions of the two wheels."""
        return list(zip(self.bodies, self.joints or (0, 0), self.motions or (0, 0), strict=True))

    @property
    def walls(self) -> tuple[Formula, Formula]:
        """The flanks."""
        return -self.play / 2, self.play / 2

    @property
    def _weight(self) -> Formula:
        """What the second motion counts by."""
        return -self.ratio if self.internal else self.ratio

    def law(self) -> tuple[str, str]:
        """Ratio and play, and how the flanks press."""
        return self.kind, f"ratio {written_out(self._weight)}, play {written_out(self.play)}: {self.press_in_words()}"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Two motions that are not the same, a ratio, and no negative play."""
        found, play = self.press_faults(self.title, table), value(self.play, table)
        if not play >= 0:
            found.append(Problem(f"{self.title}, play", f"the play is {play:g}.", "Expected no negative number."))
        if value(self.ratio, table) == 0:
            found.append(Problem(f"{self.title}, ratio", "the ratio is 0.", "Expected a number that is not 0."))
        first, second = self.in_joints
        if first == second:
            fact = f"it names the same motion of '{first[0]}' twice."
            found.append(Problem(self.title, fact, "Name two different motions."))
        return found

    def _slopes(self, motion: Motion) -> tuple[Array, Scalar]:
        """J and c of ė."""
        first, second = (motion.joint(*each) for each in self.in_joints)
        k = motion.lower(self._weight)
        return first.gradient + scaled(k, second.gradient), first.drift + k * second.drift

    def lowering(self, motion: Motion) -> Lowering:
        """Knowing e and its rate."""
        first, second = (motion.joint(*each) for each in self.in_joints)
        k, (J, c) = motion.lower(self._weight), self._slopes(motion)
        place = first.value + k * second.value - motion.lower(self.phase)
        return self.measured(motion, place, J @ motion.qd + c)

    def applied(self, motion: Motion) -> list[Applied]:
        """The push on ė, inside both joints."""
        J, c = self._slopes(motion)
        return [Applied(self.name, vector([self.lowering(motion)(self.resistance)]), matrix([list(J)]), vector([c]))]

    def declared(self, watch: Watch) -> Work:
        """The push times the change of e."""

        def slack(places: Places) -> Scalar:
            (first, second), turn = self.in_joints, places.lower(self.ratio)
            there = places.value(*second) * turn
            return places.value(*first) + (-there if self.internal else there) - places.lower(self.phase)

        e = watch.traced(slack)
        return product(self.name, self.pushed_back(watch, e), e)


class BacklashMaker(LoadMaker):
    """Makes gears with play."""

    @checked
    def backlash(
        self,
        bodies: tuple[str, str],
        ratio: Written,
        *,
        play: Written,
        internal: bool = False,
        joints: Given = (),
        motions: Given = (),
        phase: Written = 0,
        name: str | None = None,
        **law: Unpack[PressLaw],
    ) -> Self:
        """Let two wheels mesh with play: e = θ₁ + ratio θ₂ − phase, or θ₁ − ratio θ₂ − phase where one has its teeth inside.

        `play` is how far the first wheel can turn while the second is held; at e = 0 it is in the middle. Beyond half of it a
        flank is in the other by a depth δ, measured as the angle of the first wheel, and presses by the law of a `joint_stop`:
        `stiffness` (torque on the first wheel for each radian), `damping`, `dissipation`, `exponent`, or `push`. Otherwise it is
        the `gear` of the same ratio, and like it acts inside the joints.

        >>> import dalembert as dl
        >>> model = dl.Model("gears").coordinate("a", 0.0, 1.0).coordinate("b")
        >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
        >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 4))
        >>> _ = model.backlash(("pinion", "wheel"), 2, play=0.02, stiffness=1e4)
        >>> run = dl.simulate(model, 0.05)  # a blow of equal inertias: 1 and 4/2²
        >>> [round(float(v), 9) + 0.0 for v in run.qd[:, -1]], round(run.switchings[0].t, 12)
        ([0.0, -0.5], 0.01)
        """
        key = self._load_name(name, "backlash")
        for what, found in (("joints", joints), ("motions", motions)):
            if several(found) and len(found) not in (0, 2):
                where = f"backlash '{key}', {what}"
                raise InputError(f"{where}: got {len(found)}. Expected 2, one for each of the bodies.")
        given = {"bodies": bodies, "ratio": ratio, "play": play, "internal": internal}
        given |= {"joints": joints, "motions": motions, "phase": phase}
        return self._load(Backlash, key, **given, **press_given(Backlash.kind, law, given))
