"""Contact laws: normal force and friction as formulas of penetration depth, its rate, and slip.

    depth δ, rate δ̇     penetration depth and its rate
    slip, square        the signed slip speed in a planar motion; the square of the slip speed in space

While δ > 0 the normal force of a contact is

    N = k δⁿ (1 + d δ̇) + c δ̇        stiffness k, exponent n, dissipation d, damping c

or any formula of depth and rate. With n = 1 and d = 0 this is the linear law, a spring and a damper in parallel; with
c = 0 it is that of K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact,
J. Appl. Mech. 42 (1975) 440–445. The normal force is never attractive: where the law is negative the force is zero. So bodies
that separate fast lose contact although δ > 0.

Friction is μ N opposite to the slip. In a planar motion it is exact, with its jump at zero slip; otherwise it is smoothed,
μ N s/√(s² + v²), or viscous up to the Coulomb limit, min(b |s|, μ N).

Between two unilateral walls at lower and upper the force on x is F = N(lower − x, −ẋ) − N(x − upper, ẋ).

With a coefficient of restitution instead of a stiffness a contact is rigid: see `contact_base`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem, short_repr
from dalembert.model import scales
from dalembert.model.evaluation import value
from dalembert.model.keys import constant, constant_stiffness, direction, optional, optional_constant, satisfying
from dalembert.model.loads.base import Load, LoadKinematics
from dalembert.model.loads.force_laws import RATE, law, measure, numbers_but, plain
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula, Lowering, piecewise, signum

if TYPE_CHECKING:
    from dalembert.model.description import Elements


Impact = Literal["newton", "poisson", "successive"]
IMPACTS: tuple[str, ...] = get_args(Impact)
DEPTH, SLIP, SQUARE = "depth", "slip", "square"
SMOOTHING = 1e-3  # a speed
REST_SPEED = 1e-6  # a speed: slower approaches do not bounce
# from the scales of the model: the depth below which a noninteger power is smoothed, and the slowest slip
ONSET, SLOWEST = "onset", "slowest"
NOTHING = se.Integer(0)
_ELASTIC = {"stiffness": 0, "damping": 0, "dissipation": 0, "exponent": 1}  # with their defaults
POSITION = measure("position")


def _read_impact(model: Elements, impact: object, where: str) -> object:
    if impact not in IMPACTS:
        raise InputError(f"{where}: got {short_repr(impact)}. Expected {_IMPACT_NAMES}.")
    return impact


_IMPACT_NAMES = "'newton', 'poisson' or 'successive'"
_IMPACT = replace(satisfying(lambda x: x in IMPACTS, _IMPACT_NAMES, "Impact"), read=_read_impact)


@record
class Press:
    """Normal force law of a compliant contact."""

    missing: ClassVar[str] = "no stiffness and no push"

    stiffness: Formula = argument(constant_stiffness, 0, about="a constant: k in N = k δⁿ (1 + d δ̇) + c δ̇")
    damping: Formula = argument(constant, 0, about="a constant: c")
    dissipation: Formula = argument(constant, 0, about="a constant: d")
    exponent: Formula = argument(constant, 1, about="a constant: n")
    push: Formula | None = argument(
        optional(law(DEPTH, RATE)),
        None,
        about="N as a formula of `depth`, `rate`, parameters and `t`, instead of these four",
    )

    @property
    def press(self) -> Formula:
        """N as a formula of depth and rate."""
        depth, rate = measure(DEPTH), measure(RATE)
        if self.push is not None:
            force = _positive(self.push)
        elif self.damping != 0:
            force = _positive(self._spring * (1 + self.dissipation * rate) + self.damping * rate)
        else:
            force = self._spring * (_positive(1 + self.dissipation * rate) if self.dissipation != 0 else 1)
        return piecewise(force, se.Lt(0, depth), NOTHING)

    @property
    def _spring(self) -> Formula:
        """k δⁿ; a noninteger power, which has no Taylor series at zero, as δ (δ² + ε²)^((n−1)/2)."""
        depth, n = measure(DEPTH), self.exponent
        integer = n.is_Integer and int(n) > 0
        smoothed = depth * (depth**2 + measure(ONSET) ** 2) ** ((n - 1) / 2)
        return self.stiffness * (depth**n if integer else smoothed)

    def press_description(self) -> str:
        """A description of the law."""
        if self.push is not None:
            return f"push {formula_string(plain(self.push))}"
        parts = [(name, getattr(self, name), default) for name, default in _ELASTIC.items()]
        return ", ".join(f"{name} {formula_string(x)}" for name, x, default in parts if x != default)

    def press_faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """Invalid numbers and redundant arguments."""
        known = {name: value(getattr(self, name), table) for name in _ELASTIC}
        found = not_negative(title, {name: x for name, x in known.items() if name != "exponent"})
        elastic = [name for name, default in _ELASTIC.items() if known[name] != default]
        if self.push is not None and elastic:
            fact = f"push defines the complete law, but {elastic[0]} is set, too."
            found.append(Problem(title, fact, "Remove one of them."))
        if self.push is None and known["stiffness"] == 0:
            found.append(Problem(title, f"it has {self.missing}, so there is no contact force.", "Give one."))
        if known["exponent"] <= 0:
            fact = f"the value is {known['exponent']:g}."
            found.append(Problem(f"{title}, exponent", fact, "Expected a positive number, such as 1 or 1.5."))
        return found

    # verification

    def normal_force(self, probe: MotionProbe, depth: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """N at every state."""
        if self.push is not None:
            force = probe.number(self.push, {measure(DEPTH).name: depth, measure(RATE).name: rate})
        else:
            k, c, d, n = (probe.number(x) for x in (self.stiffness, self.damping, self.dissipation, self.exponent))
            force = k * np.maximum(depth, 0.0) ** n * (1 + d * rate) + c * rate
        return np.where(depth > 0, np.maximum(force, 0.0), 0.0)


@record
class Laws(Press):
    """Normal force and friction laws of a contact."""

    missing = "no stiffness, no push and no restitution"

    friction: Formula = argument(constant, 0, about="a constant: the Coulomb friction coefficient μ")
    viscous: Formula = argument(
        constant, 0, about="a constant b: the friction force is the smaller of b × slip speed and μ N"
    )
    smoothing: Formula = argument(
        constant, SMOOTHING, about="a constant: regularization speed, below which friction is less than μ N"
    )
    planar: UnitVector | None = argument(
        optional(direction),
        None,
        about="three numbers: the normal of a planar motion, in world axes; selects exact friction with sticking",
    )
    restitution: Formula | None = argument(
        optional_constant,
        None,
        about="a constant e from 0 to 1, instead of a stiffness: rigid contact with coefficient of restitution e",
    )
    impact: Impact = argument(
        _IMPACT,
        "newton",
        about='rigid contacts only: impact law of simultaneous contacts, `"newton"`, `"poisson"` or `"successive"`',
    )
    rest_speed: Formula = argument(
        constant, REST_SPEED, about="rigid contacts only, a constant: approaches slower than this do not bounce"
    )

    @property
    def rigid(self) -> bool:
        """True for a rigid contact."""
        return self.restitution is not None

    @property
    def drag(self) -> Formula:
        """Friction opposite to the slip: the force in a planar motion, the force per unit of slip in space."""
        if self.friction == 0:
            return NOTHING
        bound, square = self.friction * self.press, measure(SQUARE)
        if self.planar is not None:
            return bound * signum(measure(SLIP))
        if self.viscous != 0:
            # without normal force and slip, rounding would decide the direction: there it is viscous
            slides = se.Lt(bound**2 + (self.viscous * measure(SLOWEST)) ** 2, self.viscous**2 * square)
            drag = piecewise(bound / se.sqrt(square), slides, self.viscous)
            return piecewise(drag, se.Lt(0, measure(DEPTH)), NOTHING)
        return bound / se.sqrt(square + self.smoothing**2)

    def laws_description(self) -> str:
        """A description of the law."""
        if self.restitution is not None:
            impact = f", {self.impact}" if self.impact != "newton" else ""
            press = f"rigid, restitution {formula_string(self.restitution)}{impact}"
        else:
            press = self.press_description()
        if self.friction == 0:
            return press
        return f"{press}, friction {formula_string(self.friction)}{', exact' if self.planar is not None else ''}"

    def faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """Invalid numbers and redundant arguments."""
        known = {name: value(getattr(self, name), table) for name in ("friction", "viscous", "smoothing")}
        found = not_negative(title, {name: x for name, x in known.items() if name != "smoothing"})
        found += self._friction_faults(title, known) + self._rigid_faults(title, table)
        return found if self.rigid else self.press_faults(title, table) + found

    def _rigid_faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """Arguments that are incompatible with a rigid contact, or with a compliant one."""
        slow = value(self.rest_speed, table)
        if self.restitution is None:
            options = [("impact", self.impact != "newton"), ("rest_speed", slow != REST_SPEED)]
            advice = "Give `restitution`, or remove it."
            return [Problem(f"{title}, {key}", f"{key} is set without restitution.", advice) for key, x in options if x]
        e, found = value(self.restitution, table), []
        if not 0 <= e <= 1:
            found.append(Problem(f"{title}, restitution", f"the value is {e:g}.", "Expected a number from 0 to 1."))
        if slow <= 0:
            found.append(Problem(f"{title}, rest_speed", f"the value is {slow:g}.", "Expected a small positive speed."))
        options = [(key, value(getattr(self, key), table) != default) for key, default in _ELASTIC.items()]
        options.append(("push", self.push is not None))
        for key in (key for key, is_set in options if is_set):
            fact = f"restitution makes it rigid, but {key} is set, too."
            found.append(Problem(f"{title}, {key}", fact, "Remove one of them."))
        if self.friction != 0 and self.planar is None:
            fact = "friction of a rigid contact needs a single slip direction, but `planar` is not set."
            advice = "Give `planar`, the normal of a planar motion; else use a compliant contact, or remove friction."
            found.append(Problem(f"{title}, friction", fact, advice))
        return found

    def _friction_faults(self, title: str, known: dict[str, float]) -> list[Problem]:
        options = [("planar", self.planar is not None), ("viscous", known["viscous"] > 0)]
        options += [("smoothing", known["smoothing"] != SMOOTHING)]
        names = [name for name, is_set in options if is_set]
        found = []
        if names and self.friction == 0:
            fact = f"{names[0]} is set without friction."
            found.append(Problem(f"{title}, {names[0]}", fact, "Give `friction`, or remove it."))
        if len(names) > 1:
            fact = f"{names[0]} and {names[1]} both define friction at zero slip."
            found.append(Problem(f"{title}, {names[1]}", fact, "Remove one of them."))
        if known["smoothing"] <= 0:
            fact = f"the smoothing is {known['smoothing']:g}, so friction is undefined at rest."
            found.append(Problem(f"{title}, smoothing", fact, "Expected a small positive speed, or give `planar`."))
        return found

    # verification

    def friction_force(self, probe: MotionProbe, press: np.ndarray, slip: np.ndarray, across: np.ndarray) -> np.ndarray:
        """The friction force (3, K) for a slip velocity (3, K); `across` is the normal."""
        mu, b, soft = (probe.number(x) for x in (self.friction, self.viscous, self.smoothing))
        if self.planar is not None:
            tangent = np.cross(np.array(self.planar, dtype=float)[:, None], across, axis=0)
            tangent = tangent / np.linalg.norm(tangent, axis=0)
            return -mu * press * np.sign(np.sum(tangent * slip, axis=0)) * tangent
        speed = np.linalg.norm(slip, axis=0)
        if self.viscous != 0:
            return -slip * np.minimum(b, mu * press / np.maximum(speed, 1e-300))
        return -mu * press * slip / np.hypot(speed, soft)


def not_negative(title: str, known: dict[str, float]) -> list[Problem]:
    """The problems of negative constants."""
    return [
        Problem(f"{title}, {name}", f"the value is {x:g}.", "Expected a number >= 0.")
        for name, x in known.items()
        if x < 0
    ]


def _positive(x: Formula) -> Formula:
    """max(x, 0)."""
    return piecewise(x, se.Lt(0, x), NOTHING)


@record
class Walls(Press, Load):
    """Base class of one or two unilateral walls with a normal force law."""

    frozen_law: Formula | None = field(default=None, kw_only=True)  # the law with frozen conditions

    @property
    @abstractmethod
    def walls(self) -> tuple[Formula | None, Formula | None]:
        """The positions of the walls; None for no wall."""

    @property
    def resistance(self) -> Formula:
        """The restoring force, a formula of the position and its rate."""
        if self.frozen_law is not None:
            return self.frozen_law
        (lower, upper), rate, total = self.walls, measure(RATE), NOTHING
        if lower is not None:
            total += self.press.subs({measure(DEPTH): lower - POSITION, rate: -rate})
        if upper is not None:
            total -= self.press.subs({measure(DEPTH): POSITION - upper})
        return total

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.resistance,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        return super().numbers() if self.push is None else numbers_but(self.push, super().numbers())

    def freeze(self, hold: Callable[[Formula], Formula]) -> Self:
        return replace(self, frozen_law=hold(self.resistance))

    def measured(self, motion: LoadKinematics, position: Scalar, rate: Scalar) -> Lowering:
        """Converts its law to a scalar, with the position, its rate, and the depth below which the law is smoothed."""
        body, joint, k = self.in_joints[0]
        joints = next(each.joints for each in motion.model.bodies if each.name == body)
        onset = scales.ONSET if scales.is_rotation(joints[joint], k) else scales.onset(motion.model.description)
        known = {POSITION: position, measure(RATE): rate, measure(ONSET): motion.lower(onset)}
        return motion.lower.with_values({symbol.name: x for symbol, x in known.items()})

    # verification

    def restoring_force(self, probe: MotionProbe, x: Derivatives) -> np.ndarray:
        """The restoring force at every state."""
        (lower, upper), total = self.walls, np.zeros(probe.K)
        if lower is not None:
            total = total + self.normal_force(probe, probe.number(lower) - x.value, -x.rate)
        if upper is not None:
            total = total - self.normal_force(probe, x.value - probe.number(upper), x.rate)
        return total
