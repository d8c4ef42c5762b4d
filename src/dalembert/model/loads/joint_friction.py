"""Friction inside a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.expressions.formula import Written
from dalembert.model.checks.values import value
from dalembert.model.declared import Watch, Work, product
from dalembert.model.file_form import unsaid
from dalembert.model.keys import IN_JOINT, Key, Keys, constant
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.vectors import Formula

SMOOTHING = 1e-3


@dataclass(frozen=True)
class JointFriction(InJoint):
    """Friction inside a joint: −viscous × rate − coulomb × rate / √(rate² + smoothing²)."""

    kind: ClassVar[str] = "joint_friction"
    words: ClassVar[dict[str, str]] = {"smoothing": "smoothed below"}
    forms: ClassVar[dict[str, Keys]] = {
        "joint_friction": {
            **IN_JOINT,
            **dict.fromkeys(("viscous", "coulomb"), Key(constant, usual=0)),
            "smoothing": Key(constant, usual=SMOOTHING),
        }
    }
    rubs: ClassVar[bool] = True

    viscous: Formula
    coulomb: Formula
    smoothing: Formula

    def reversed(self) -> Self:
        """It resists both ways."""
        return self

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Coulomb's friction needs some smoothing."""
        smoothing = value(self.smoothing, table)
        if value(self.coulomb, table) == 0 or smoothing > 0:
            return []
        fact = f"the smoothing is {smoothing:g}, so Coulomb's friction has no value at rest."
        return [Problem(f"{self.title}, smoothing", fact, "Expected a small positive rate, such as 1e-3.")]

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        """Both; URDF knows no other smoothing than the usual."""
        smoothing, dry = number(self.smoothing), number(self.coulomb)
        if dry and smoothing != SMOOTHING:
            fact = f"its smoothing is {smoothing:g}, which URDF cannot say"
            raise unsaid(self.title, fact, f"Give it the usual {SMOOTHING:g}, or export the model to TOML.")
        return number(self.viscous), dry

    def applied(self, motion: Motion) -> list[Applied]:
        """Its force on the rate of the motion."""
        joint = motion.joint(self.body, self.joint, self.motion)
        rate = joint.gradient @ motion.qd + joint.drift
        b, c, eps = motion.lower(self.viscous), motion.lower(self.coulomb), motion.lower(self.smoothing)
        force = -b * rate
        if not motion.algebra.is_zero(c):
            force = force - c * rate / motion.algebra.sqrt(rate * rate + eps * eps)
        return [self._along(motion, force)]

    def declared(self, watch: Watch) -> Work:
        """Its force times the change of the motion."""
        moved = self._moved(watch)
        b, c, soft = (watch.number(x) for x in (self.viscous, self.coulomb, self.smoothing))
        force = -b * moved.rate
        if c.any():
            force = force - c * moved.rate / np.hypot(moved.rate, soft)
        return product(self.name, force, moved)


class JointFrictionMaker(LoadMaker):
    """Makes friction in joints."""

    @checked
    def joint_friction(
        self,
        body: str,
        *,
        viscous: Written = 0,
        coulomb: Written = 0,
        smoothing: Written = SMOOTHING,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Let a joint resist its motion: −viscous × rate − coulomb × rate / √(rate² + smoothing²).

        Coulomb's force has its full size at rates well above `smoothing` and no jump at rest.
        """
        constants = {"viscous": viscous, "coulomb": coulomb, "smoothing": smoothing}
        return self._load(JointFriction, name, body=body, joint=joint, motion=motion, **constants)
