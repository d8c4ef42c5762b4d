"""Friction inside a joint: viscous, Coulomb's, also other backwards than forwards, and Stribeck's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dalembert.algebra import Scalar
from dalembert.arguments import checked
from dalembert.errors import InputError, Problem
from dalembert.expressions.formula import Written
from dalembert.expressions.numbers import written_out
from dalembert.model.checks.values import value
from dalembert.model.declared import Watch, Work, product
from dalembert.model.file_form import unsaid
from dalembert.model.keys import IN_JOINT, Key, Keys, Pair, constant, one_or_two, optional_constant
from dalembert.model.loads.base import Applied, InJoint, LoadMaker, Motion
from dalembert.model.making import Given
from dalembert.model.vectors import Formula

SMOOTHING = 1e-3
both_ways = one_or_two("forwards", "backwards")


@dataclass(frozen=True)
class JointFriction(InJoint):
    """Friction inside a joint: −viscous × rate − (coulomb + (static − coulomb) exp(−(rate/stribeck)²)) s.

    The smooth sign s of the rate is rate / √(rate² + smoothing²). Coulomb's and the static friction have a value for forwards and
    one for backwards; in between it is that of forwards with the weight (1 + s)/2 and that of backwards with (1 − s)/2. Without
    `static` it is Coulomb's at all rates.
    """

    kind: ClassVar[str] = "joint_friction"
    forms: ClassVar[dict[str, Keys]] = {
        "joint_friction": {
            **IN_JOINT,
            "viscous": Key(constant, usual=0),
            "coulomb": Key(both_ways, usual=0),
            "smoothing": Key(constant, usual=SMOOTHING),
            "static": Key(both_ways),
            "stribeck": Key(optional_constant),
        }
    }
    rubs: ClassVar[bool] = True

    viscous: Formula
    coulomb: Pair
    smoothing: Formula
    static: Pair | None = None
    stribeck: Formula | None = None

    def reversed(self) -> Self:
        """It resists both ways; what was forwards is backwards."""
        static = None if self.static is None else self.static[::-1]
        return replace(self, coulomb=self.coulomb[::-1], static=static)

    def law(self) -> tuple[str, str]:
        """Its constants."""
        pairs = (("coulomb", self.coulomb), ("static", self.static))
        dry = [(name, _words(pair)) for name, pair in pairs if pair is not None]
        rates = (("smoothed below", self.smoothing), ("stribeck", self.stribeck))
        parts = [
            ("viscous", written_out(self.viscous)),
            *dry,
            *((k, written_out(x)) for k, x in rates if x is not None),
        ]
        return self.kind, ", ".join(f"{name} {text}" for name, text in parts)

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Coulomb's friction needs some smoothing, and the static one a rate above which it fades."""
        found, smoothing = [], value(self.smoothing, table)
        dry = any(value(x, table) != 0 for x in (*self.coulomb, *(self.static or ())))
        if dry and not smoothing > 0:
            fact = f"the smoothing is {smoothing:g}, so Coulomb's friction has no value at rest."
            advice = "Expected a small positive rate, such as 1e-3."
            found.append(Problem(f"{self.title}, smoothing", fact, advice))
        if self.stribeck is not None and not (fades := value(self.stribeck, table)) > 0:
            fact = f"the rate above which static friction fades is {fades:g}."
            found.append(
                Problem(f"{self.title}, stribeck", fact, "Expected a positive rate, well above the smoothing.")
            )
        return found

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        """Both; URDF knows no other smoothing than the usual, one direction and no static friction."""
        smoothing, dry = number(self.smoothing), [number(x) for x in self.coulomb]
        if self.static is not None or dry[0] != dry[1]:
            raise unsaid(self.title, "URDF has one friction for both directions and all rates")
        if dry[0] and smoothing != SMOOTHING:
            fact = f"its smoothing is {smoothing:g}, which URDF cannot say"
            raise unsaid(self.title, fact, f"Give it the usual {SMOOTHING:g}, or export the model to TOML.")
        return number(self.viscous), dry[0]

    def applied(self, motion: Motion) -> list[Applied]:
        """Its force on the rate of the motion."""
        joint = motion.joint(self.body, self.joint, self.motion)
        rate = joint.gradient @ motion.qd + joint.drift
        force, eps = -motion.lower(self.viscous) * rate, motion.lower(self.smoothing)
        dry = [motion.lower(x) for x in (*self.coulomb, *(self.static or ()))]
        if not all(motion.algebra.is_zero(x) for x in dry):
            sign = rate / motion.algebra.sqrt(rate * rate + eps * eps)
            size = _weighed(motion, self.coulomb, sign)
            if self.static is not None and self.stribeck is not None:
                pace = rate / motion.lower(self.stribeck)
                fading = motion.algebra.function("exp", -pace * pace)
                size = size + (_weighed(motion, self.static, sign) - size) * fading
            force = force - size * sign
        return [self._along(motion, force)]

    def declared(self, watch: Watch) -> Work:
        """Its force times the change of the motion."""
        moved = self._moved(watch)
        soft = watch.number(self.smoothing)
        force = -watch.number(self.viscous) * moved.rate
        dry = watch.numbers(self.coulomb)
        if dry.any() or self.static is not None:
            sign = moved.rate / np.hypot(moved.rate, soft)
            if self.static is not None and self.stribeck is not None:
                fading = np.exp(-((moved.rate / watch.number(self.stribeck)) ** 2))
                dry = fading * watch.numbers(self.static) + (1 - fading) * dry
            force = force - (0.5 * (1 + sign) * dry[0] + 0.5 * (1 - sign) * dry[1]) * sign
        return product(self.name, force, moved)


def _words(pair: Pair) -> str:
    forwards, backwards = map(written_out, pair)
    return forwards if pair[0] == pair[1] else f"{forwards} forwards, {backwards} backwards"


def _weighed(motion: Motion, pair: Pair, sign: Scalar) -> Scalar:
    """The value forwards at sign = 1, that backwards at −1."""
    forwards, backwards = map(motion.lower, pair)
    if pair[0] == pair[1]:
        return forwards
    half = motion.algebra.half
    return half * (forwards + backwards) + half * (forwards - backwards) * sign


class JointFrictionMaker(LoadMaker):
    """Makes friction in joints."""

    @checked
    def joint_friction(
        self,
        body: str,
        *,
        viscous: Written = 0,
        coulomb: Written | Given = 0,
        smoothing: Written = SMOOTHING,
        static: Written | Given | None = None,
        stribeck: Written | None = None,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Let a joint resist its motion: −viscous × rate − coulomb × rate / √(rate² + smoothing²).

        Coulomb's force has its full size at rates well above `smoothing` and no jump at rest. Two values are for forwards and
        backwards. `static` friction holds at low rates and fades into Coulomb's as exp(−(rate/stribeck)²).

        >>> from dalembert import Model
        >>> model = Model("slide").coordinate("x", 0.0, 1.0)
        >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
        >>> _ = model.joint_friction("block", coulomb=(3, 5), static=(4, 6), stribeck=0.05)
        >>> model.loads[0].law()[1]
        'viscous 0, coulomb 3 forwards, 5 backwards, static 4 forwards, 6 backwards, smoothed below 0.001, stribeck 0.05'
        """
        if (static is None) != (stribeck is None):
            given, missing = ("stribeck", "static") if static is None else ("static", "stribeck")
            where = f"joint_friction '{name}'" if name else f"joint_friction on '{body}'"
            raise InputError(
                f"{where}: {given} is given and {missing} is not. Give both: the friction and the rate it fades at."
            )
        constants = {
            "viscous": viscous,
            "coulomb": coulomb,
            "smoothing": smoothing,
            "static": static,
            "stribeck": stribeck,
        }
        return self._load(JointFriction, name, body=body, joint=joint, motion=motion, **constants)
