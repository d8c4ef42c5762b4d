"""Joint friction: viscous, Coulomb (optionally asymmetric) and static, with or without the Stribeck effect.

Without smoothing dry friction is exact: a joint at rest sticks while the required force is less than the friction. The sign of
the rate is then a discontinuity, see `model/discontinuities`, and the force of a sticking joint is a mixture of both branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import Pair, constant, one_or_two, optional_constant, unsupported_in_urdf
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.loads.force_laws import RATE, measure
from dalembert.model.record import argument, record
from dalembert.model.reference_model import MotionProbe, VirtualWork, product
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula, Lowering, piecewise

if TYPE_CHECKING:
    from dalembert.model.model import Model

SMOOTHING = 1e-3  # default of robot files without smoothing
forward_backward = one_or_two("forward", "backward")


@record
class JointFriction(InJoint):
    """Add friction to a joint: −viscous × rate − coulomb × sign(rate).

    With `static` and `stribeck`: −viscous × rate − (coulomb + (static − coulomb) exp(−(rate/stribeck)²)) sign(rate).

    Two values are for forward and backward motion. A joint at rest sticks until the required force exceeds the Coulomb
    friction, or `static` if it is set. With `stribeck` static friction also acts at low rates and decays to Coulomb friction
    as exp(−(rate/stribeck)²). With `smoothing` the sign is s = rate / √(rate² + smoothing²), and the forward and backward
    friction have the weights (1 + s)/2 and (1 − s)/2: the force is smooth, and there is no sticking.

    >>> import dalembert as dl
    >>> model = dl.Model("slide", gravity=(2, 0, 0)).coordinate("x", 0.0, 1.0)
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> _ = model.joint_friction("block", coulomb=(5, 3), static=(6, 4), name="slide")
    >>> run = dl.simulate(model, 4.0)  # decelerates with 4/2 − 5/2 and sticks, since 4 < 6
    >>> [float(x) for x in run.q[:, -1].round(9)], [round(each.t, 9) for each in run.switchings]
    ([1.0], [2.0])
    """

    kind = "joint_friction"
    is_friction = True

    viscous: Formula = argument(constant, 0, about="a constant")
    coulomb: Pair = argument(forward_backward, 0, about="a constant for both directions, or two: `[forward, backward]`")
    smoothing: Formula = argument(
        constant, 0, about="a constant: regularization rate of the dry friction; 0: exact friction"
    )
    static: Pair | None = argument(
        forward_backward, None, about="a constant, or two: the static friction", absent="`coulomb`", default=None
    )
    stribeck: Formula | None = argument(
        optional_constant,
        None,
        about="a constant: the rate over which static friction decays; without it, static friction acts only at rest",
        default=None,
    )
    frozen_law: Formula | None = field(default=None, kw_only=True)  # the law with frozen conditions

    @classmethod
    def build(cls, model: Model, **arguments: object) -> Model:
        if arguments["static"] is None and arguments["stribeck"] is not None:
            where = f"{cls.kind} '{arguments['name']}'" if arguments["name"] else f"{cls.kind} on '{arguments['body']}'"
            fact = "got stribeck without static. Give both: the static friction and the rate of its decay."
            raise InputError(f"{where}: {fact}")
        return super().build(model, **arguments)

    @property
    def exact(self) -> bool:
        """True if it is not smoothed."""
        return self.smoothing == 0

    @property
    def resistance(self) -> Formula:
        """The friction force, a formula of the rate."""
        rate = measure(RATE)
        forwards, backwards = self._dry
        if forwards == backwards == 0:
            return self.viscous * rate
        if self.exact:
            dry = piecewise(forwards, se.Lt(0, rate), -backwards, se.Lt(rate, 0), se.Integer(0))
        else:
            sign = rate / se.sqrt(rate**2 + self.smoothing**2)
            dry = (forwards + backwards) / 2 * sign + (forwards - backwards) / 2 * sign**2
        return self.viscous * rate + dry

    @property
    def _dry(self) -> Pair:
        """Dry friction for forward and backward motion, formulas of the rate."""
        if self.static is None or self.stribeck is None:
            return self.coulomb
        fading = se.exp(-((measure(RATE) / self.stribeck) ** 2))
        forwards, backwards = (c + (s - c) * fading for c, s in zip(self.coulomb, self.static, strict=True))
        return forwards, backwards

    @property
    def sliding_range(self) -> Pair | None:
        """Static friction at rest only: the range of the forward weight, beyond 0 to 1, in which the joint sticks."""
        if self.static is None or self.stribeck is not None:
            return None
        (forwards, backwards), (ahead, back) = self.coulomb, self.static
        return (backwards - back) / (forwards + backwards), (backwards + ahead) / (forwards + backwards)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.resistance if self.frozen_law is None else self.frozen_law,)

    def freeze(self, hold: Callable[[Formula], Formula]) -> Self:
        return replace(self, frozen_law=hold(self.resistance))

    def reversed(self) -> Self:
        static = None if self.static is None else self.static[::-1]
        return replace(self, coulomb=self.coulomb[::-1], static=static)

    def law(self) -> tuple[str, str]:
        dry = (("coulomb", self.coulomb), ("static", self.static))
        rates = (("smoothed below", None if self.exact else self.smoothing), ("stribeck", self.stribeck))
        parts = [f"viscous {formula_string(self.viscous)}"]
        parts += [f"{name} {_words(pair)}" for name, pair in dry if pair is not None]
        parts += [f"{name} {formula_string(x)}" for name, x in rates if x is not None]
        return self.kind, ", ".join(parts)

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found, smoothing = [], value(self.smoothing, table)
        if not self.exact and not smoothing > 0:
            fact = f"the smoothing is {smoothing:g}, so friction is undefined at rest."
            advice = "Expected a positive rate, such as 1e-3; omit it for exact friction."
            found.append(Problem(f"{self.title}, smoothing", fact, advice))
        if self.stribeck is not None and not (decay := value(self.stribeck, table)) > 0:
            fact = f"the rate at which static friction decays is {decay:g}."
            advice = "Expected a positive rate, much larger than the smoothing."
            found.append(Problem(f"{self.title}, stribeck", fact, advice))
        if self.static is not None and self.stribeck is None:
            found += self._static_problems(table)
        return found

    def _static_problems(self, table: dict[str, float]) -> list[Problem]:
        """The problems of static friction that acts at rest only."""
        assert self.static is not None
        if not self.exact:
            fact = "static friction that acts at rest only cannot be smoothed."
            return [Problem(self.title, fact, "Give `stribeck`, the rate at which it decays, or omit `smoothing`.")]
        pairs = [(value(c, table), value(s, table)) for c, s in zip(self.coulomb, self.static, strict=True)]
        facts = [f"static friction is {s:g} and Coulomb friction {c:g}." for c, s in pairs if not 0 < c <= s]
        return [Problem(self.title, fact, "Expected 0 < coulomb <= static.") for fact in facts[:1]]

    def friction_in_urdf(self, number: Callable[[Formula], float]) -> tuple[float, float]:
        """Both; URDF has neither smoothing, asymmetric friction nor static friction."""
        smoothing, dry = number(self.smoothing), [number(x) for x in self.coulomb]
        if self.static is not None or dry[0] != dry[1]:
            raise unsupported_in_urdf(self.title, "URDF has the same friction for both directions and all rates")
        if dry[0] and smoothing != SMOOTHING:
            fact = f"its smoothing is {smoothing:g}, which URDF does not support"
            raise unsupported_in_urdf(self.title, fact, f"Use the default {SMOOTHING:g}, or export the model to TOML.")
        return number(self.viscous), dry[0]

    def lowering(self, motion: LoadKinematics) -> Lowering:
        return motion.lower.with_values({measure(RATE).name: self._state(motion)[1]})

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        return [self._along(motion, -self.lowering(motion)(self.formulas[0]))]

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        motion = self._joint_motion(probe)
        soft = probe.number(self.smoothing)
        force = -probe.number(self.viscous) * motion.rate
        dry = probe.numbers(self.coulomb)
        if dry.any() or self.static is not None:
            sign = np.sign(motion.rate) if self.exact else motion.rate / np.hypot(motion.rate, soft)
            if self.static is not None and self.stribeck is not None:
                fading = np.exp(-((motion.rate / probe.number(self.stribeck)) ** 2))
                dry = fading * probe.numbers(self.static) + (1 - fading) * dry
            force = force - (0.5 * (1 + sign) * dry[0] + 0.5 * (1 - sign) * dry[1]) * sign
        return product(self.name, force, motion)


def _words(pair: Pair) -> str:
    forwards, backwards = map(formula_string, pair)
    return forwards if pair[0] == pair[1] else f"{forwards} forward, {backwards} backward"
