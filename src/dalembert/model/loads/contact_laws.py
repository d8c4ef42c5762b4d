"""Laws of contact: how strongly two bodies press, and how friction resists their slip, as formulas of what is measured.

    depth δ, rate δ̇     how far the bodies go into each other, and how fast
    slip, square        in a planar motion the speed of slip with its sign; in space the square of the speed of slip

While δ > 0 a contact presses with

    N = k δⁿ (1 + d δ̇) + c δ̇        stiffness k, exponent n, dissipation d, damping c

or with any formula of depth and rate. With n = 1 and d = 0 this is the linear law, a spring and a damper side by side; with
c = 0 it is that of K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact,
J. Appl. Mech. 42 (1975) 440–445. A contact never pulls: where the law is negative the force is zero. So bodies that part faster
than the ground can follow have left it although δ > 0.

Friction is μ N against the slip. In a planar motion it is exact, with its jump at rest; else it has a slope at rest,
μ N s/√(s² + v²), or is viscous up to Coulomb's bound, min(b |s|, μ N).

Between two walls at lower and upper, of which neither pulls, the force on x is F = N(lower − x, −ẋ) − N(x − upper, ẋ).

With a coefficient of restitution in place of a stiffness a contact is rigid: its force follows from the motion, see `touching`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

import numpy as np
import symengine as se

from dalembert.arguments import shown
from dalembert.errors import InputError, Problem
from dalembert.model import scales
from dalembert.model.evaluation import value
from dalembert.model.keys import constant, constant_stiffness, direction, fitting, optional, optional_constant
from dalembert.model.loads.base import Load, Motion
from dalembert.model.loads.force_laws import RATE, law, measure, numbers_but, plain
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Traced, Watch
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.formula_writer import written_out
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Formula, piecewise, signum

if TYPE_CHECKING:
    from dalembert.model.description import Elements


Impact = Literal["newton", "poisson", "successive"]
IMPACTS: tuple[str, ...] = get_args(Impact)
DEPTH, SLIP, SQUARE = "depth", "slip", "square"
SMOOTHING = 1e-3  # a speed
REST_SPEED = 1e-6  # a speed: what approaches more slowly does not bounce
# by the scales of the model: a depth below which a power without a series at zero begins smoothly, and the slowest slip
ONSET, SLOWEST = "onset", "slowest"
NOTHING = se.Integer(0)
_ELASTIC = {"stiffness": 0, "damping": 0, "dissipation": 0, "exponent": 1}  # with their values where they are not given
PLACE = measure("position")


def _manner(model: Elements, given: object, where: str) -> object:
    if given not in IMPACTS:
        raise InputError(f"{where}: got {shown(given)}. Expected {_MANNERS}.")
    return given


_MANNERS = "'newton', 'poisson' or 'successive'"
_IMPACT = replace(fitting(lambda x: x in IMPACTS, _MANNERS, "Impact"), read=_manner)


@record
class Press:
    """How strongly something presses that goes into something else."""

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
        """k δⁿ; a power that is not whole, which has no series at zero, as δ (δ² + ε²)^((n−1)/2)."""
        depth, n = measure(DEPTH), self.exponent
        whole = n.is_Integer and int(n) > 0
        rounded = depth * (depth**2 + measure(ONSET) ** 2) ** ((n - 1) / 2)
        return self.stiffness * (depth**n if whole else rounded)

    def press_in_words(self) -> str:
        """The law in words."""
        if self.push is not None:
            return f"push {written_out(plain(self.push))}"
        parts = [(name, getattr(self, name), usual) for name, usual in _ELASTIC.items()]
        return ", ".join(f"{name} {written_out(x)}" for name, x, usual in parts if x != usual)

    def press_faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """What is wrong with the numbers, and what is said twice."""
        known = {name: value(getattr(self, name), table) for name in _ELASTIC}
        found = not_negative(title, {name: x for name, x in known.items() if name != "exponent"})
        elastic = [name for name, usual in _ELASTIC.items() if known[name] != usual]
        if self.push is not None and elastic:
            fact = f"push says the whole law, and {elastic[0]} is given, too."
            found.append(Problem(title, fact, "Leave one of them out."))
        if self.push is None and known["stiffness"] == 0:
            found.append(Problem(title, f"it has {self.missing}, so nothing holds up what touches.", "Give one."))
        if known["exponent"] <= 0:
            fact = f"the value is {known['exponent']:g}."
            found.append(Problem(f"{title}, exponent", fact, "Expected a positive number, such as 1 or 1.5."))
        return found

    # for the evidence

    def pressed(self, watch: Watch, depth: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """N at every state."""
        if self.push is not None:
            force = watch.number(self.push, {measure(DEPTH).name: depth, measure(RATE).name: rate})
        else:
            k, c, d, n = (watch.number(x) for x in (self.stiffness, self.damping, self.dissipation, self.exponent))
            force = k * np.maximum(depth, 0.0) ** n * (1 + d * rate) + c * rate
        return np.where(depth > 0, np.maximum(force, 0.0), 0.0)


@record
class Laws(Press):
    """Press and friction of a contact."""

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
        """True where nothing gives way."""
        return self.restitution is not None

    @property
    def drag(self) -> Formula:
        """Friction against the slip: in a planar motion the force, in space the force for each unit of slip."""
        if self.friction == 0:
            return NOTHING
        bound, square = self.friction * self.press, measure(SQUARE)
        if self.planar is not None:
            return bound * signum(measure(SLIP))
        if self.viscous != 0:
            # where nothing presses and nothing slips, rounding would decide the direction: there it is viscous
            slides = se.Lt(bound**2 + (self.viscous * measure(SLOWEST)) ** 2, self.viscous**2 * square)
            drag = piecewise(bound / se.sqrt(square), slides, self.viscous)
            return piecewise(drag, se.Lt(0, measure(DEPTH)), NOTHING)
        return bound / se.sqrt(square + self.smoothing**2)

    def in_words(self) -> str:
        """The law in words."""
        if self.restitution is not None:
            manner = f", {self.impact}" if self.impact != "newton" else ""
            press = f"rigid, restitution {written_out(self.restitution)}{manner}"
        else:
            press = self.press_in_words()
        if self.friction == 0:
            return press
        return f"{press}, friction {written_out(self.friction)}{', exact' if self.planar is not None else ''}"

    def faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """What is wrong with the numbers, and what is said twice."""
        known = {name: value(getattr(self, name), table) for name in ("friction", "viscous", "smoothing")}
        found = not_negative(title, {name: x for name, x in known.items() if name != "smoothing"})
        found += self._friction_faults(title, known) + self._rigid_faults(title, table)
        return found if self.rigid else self.press_faults(title, table) + found

    def _rigid_faults(self, title: str, table: dict[str, float]) -> list[Problem]:
        """What does not go with a rigid contact, or with a compliant one."""
        slow = value(self.rest_speed, table)
        if self.restitution is None:
            said = [("impact", self.impact != "newton"), ("rest_speed", slow != REST_SPEED)]
            advice = "Give `restitution`, or leave it out."
            return [Problem(f"{title}, {key}", f"{key} is given without restitution.", advice) for key, x in said if x]
        e, found = value(self.restitution, table), []
        if not 0 <= e <= 1:
            found.append(Problem(f"{title}, restitution", f"the value is {e:g}.", "Expected a number from 0 to 1."))
        if slow <= 0:
            found.append(Problem(f"{title}, rest_speed", f"the value is {slow:g}.", "Expected a small positive speed."))
        said = [(key, value(getattr(self, key), table) != usual) for key, usual in _ELASTIC.items()]
        said.append(("push", self.push is not None))
        for key in (key for key, given in said if given):
            fact = f"restitution makes it rigid, and {key} is given, too."
            found.append(Problem(f"{title}, {key}", fact, "Leave one of them out."))
        if self.friction != 0 and self.planar is None:
            fact = "exact friction of a rigid contact needs one direction of slip, and `planar` is not given."
            advice = "Give `planar`, the normal of a planar motion; in space take a compliant contact, or leave friction out."
            found.append(Problem(f"{title}, friction", fact, advice))
        return found

    def _friction_faults(self, title: str, known: dict[str, float]) -> list[Problem]:
        said = [("planar", self.planar is not None), ("viscous", known["viscous"] > 0)]
        said += [("smoothing", known["smoothing"] != SMOOTHING)]
        ways = [name for name, given in said if given]
        found = []
        if ways and self.friction == 0:
            fact = f"{ways[0]} is given without friction."
            found.append(Problem(f"{title}, {ways[0]}", fact, "Give `friction`, or leave it out."))
        if len(ways) > 1:
            fact = f"{ways[0]} and {ways[1]} both say what friction is at rest."
            found.append(Problem(f"{title}, {ways[1]}", fact, "Leave one of them out."))
        if known["smoothing"] <= 0:
            fact = f"the smoothing is {known['smoothing']:g}, so friction has no value at rest."
            found.append(Problem(f"{title}, smoothing", fact, "Expected a small positive speed, or give `planar`."))
        return found

    # for the evidence

    def dragged(self, watch: Watch, press: np.ndarray, slip: np.ndarray, across: np.ndarray) -> np.ndarray:
        """The force of friction (3, K) for a slip (3, K); `across` is the normal."""
        mu, b, soft = (watch.number(x) for x in (self.friction, self.viscous, self.smoothing))
        if self.planar is not None:
            way = np.cross(np.array(self.planar, dtype=float)[:, None], across, axis=0)
            way = way / np.linalg.norm(way, axis=0)
            return -mu * press * np.sign(np.sum(way * slip, axis=0)) * way
        speed = np.linalg.norm(slip, axis=0)
        if self.viscous != 0:
            return -slip * np.minimum(b, mu * press / np.maximum(speed, 1e-300))
        return -mu * press * slip / np.hypot(speed, soft)


def not_negative(title: str, known: dict[str, float]) -> list[Problem]:
    """The problems of constants that have the wrong sign."""
    return [
        Problem(f"{title}, {name}", f"the value is {x:g}.", "Expected no negative number.")
        for name, x in known.items()
        if x < 0
    ]


def _positive(x: Formula) -> Formula:
    """x, where it is positive."""
    return piecewise(x, se.Lt(0, x), NOTHING)


@record
class Walls(Press, Load):
    """Two walls, or one, and how strongly they press."""

    held_law: Formula | None = field(default=None, kw_only=True)  # what a run holds in place of the law

    @property
    @abstractmethod
    def walls(self) -> tuple[Formula | None, Formula | None]:
        """Where they stand; None where there is none."""

    @property
    def resistance(self) -> Formula:
        """What pushes back, a formula of the place and its rate."""
        if self.held_law is not None:
            return self.held_law
        (lower, upper), rate, total = self.walls, measure(RATE), NOTHING
        if lower is not None:
            total += self.press.subs({measure(DEPTH): lower - PLACE, rate: -rate})
        if upper is not None:
            total -= self.press.subs({measure(DEPTH): PLACE - upper})
        return total

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.resistance,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        return super().numbers() if self.push is None else numbers_but(self.push, super().numbers())

    def held(self, hold: Callable[[Formula], Formula]) -> Self:
        return replace(self, held_law=hold(self.resistance))

    def measured(self, motion: Motion, place: Scalar, rate: Scalar) -> Lowering:
        """Makes scalars of its law, knowing the place, its rate, and the depth below which the law begins smoothly."""
        body, joint, k = self.in_joints[0]
        joints = next(each.joints for each in motion.model.bodies if each.name == body)
        least = scales.ONSET if scales.turns(joints[joint], k) else scales.onset(motion.model.description)
        known = {PLACE: place, measure(RATE): rate, measure(ONSET): motion.lower(least)}
        return motion.lower.knowing({symbol.name: x for symbol, x in known.items()})

    # for the evidence

    def pushed_back(self, watch: Watch, x: Traced) -> np.ndarray:
        """What pushes back at every state."""
        (lower, upper), total = self.walls, np.zeros(watch.K)
        if lower is not None:
            total = total + self.pressed(watch, watch.number(lower) - x.value, -x.rate)
        if upper is not None:
            total = total - self.pressed(watch, x.value - watch.number(upper), x.rate)
        return total
