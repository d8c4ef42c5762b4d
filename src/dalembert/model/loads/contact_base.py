"""Base classes of contacts between a body and the ground at one point, with normal force and friction.

At the contact point r, with the unit normal n from the ground to the body and the velocity v of the material point of the body
at r relative to that of the ground,

    δ̇ = −n·v,    slip s = v − (n·v) n,    force on the body F = N n − (friction along s),

and −F on the ground at the same point. N and the friction are functions of depth, rate and slip, see `contact_laws`. A contact
has no potential; its energy is accounted for as work.

The force of a rigid contact is not a function of the state. Its components are parameters, which a simulation computes:

    press(name)     N, the normal force
    rub(name)       the friction force of a sticking contact, opposite to the slip direction
    slide(name)     1 or −1, the sign of the slip of a sliding contact, otherwise 0

and the force on the body is N n − (slide μ N + rub) w with the slip direction w. While the gap g > 0 they are zero; in a closed
contact 0 ≤ N ⊥ g̈ ≥ 0 and |friction| ≤ μ N, with μ N opposite to the slip or to the slip acceleration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import symengine as se

from dalembert.errors import Problem
from dalembert.model.elements import Parameter
from dalembert.model.keys import body_name
from dalembert.model.loads.base import Applied, Load, LoadKinematics, at_point
from dalembert.model.loads.contact_laws import DEPTH, ONSET, SLIP, SLOWEST, SQUARE, Laws
from dalembert.model.loads.force_laws import RATE, measure, numbers_but
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Action, MotionProbe, ReferencePoses, VirtualWork, axes_of, point_of
from dalembert.model.scales import onset, slowest_slip
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector, zeros
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.symbols import Formula, Lowering, SymbolKind

if TYPE_CHECKING:
    from dalembert.model.loads.base import LoadKinematics
    from dalembert.model.loads.contact_laws import Impact


ORIGIN = (0, 0, 0)
FORCES = (SymbolKind.NORMAL_FORCE, SymbolKind.FRICTION_FORCE, SymbolKind.SLIP_DIRECTION)


@dataclass(frozen=True)
class ContactGeometry:
    """Contact geometry: depth, unit normal from the ground to the body, and contact point, in world axes."""

    depth: Scalar
    normal: Array
    point: Array


@record
class ContactLoad(Laws, Load):
    """Base class of contacts of a body with the ground, which is the world or another body."""

    body: str = argument(body_name, positional=True, about="the body in contact")
    ground: str = argument(body_name, WORLD, about='the body that carries the other shape, or `"world"`')
    frozen_laws: tuple[Formula, ...] = field(default=(), kw_only=True)  # the laws with frozen conditions

    @abstractmethod
    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        """The contact geometry."""

    @abstractmethod
    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """For verification: depth, normal and contact point by other formulas."""

    @property
    def laws(self) -> tuple[Formula, ...]:
        """Normal force and drag."""
        return self.frozen_laws or ((self.press, self.drag) if self.unilateral is None else self.unilateral.laws)

    @property
    def unilateral(self) -> Unilateral | None:
        if self.restitution is None:
            return None
        known = (self.restitution, self.friction, self.rest_speed, self.impact)
        return Unilateral(self.name, self.title, *known)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        if (rigid := self.unilateral) is None:
            return ()
        units = {rigid.press: "N", rigid.rub: "N", rigid.slide: "1"}
        about = f"of the rigid contact {rigid.title}"
        return tuple(Parameter(name, 0.0, about, units[name]) for name in rigid.parameters)

    def gap_state(self, motion: LoadKinematics) -> GapState:
        """The gap, the slip and their directions; the slip is zero without `planar`."""
        geometry = self.geometry(motion)
        J, c = self._velocity(motion, geometry.point)
        velocity, n, direction, slip = J @ motion.qd + c, geometry.normal, zeros(3), 0
        if self.planar is not None:
            direction, measured = self._slip(motion, n, velocity)
            slip = measured[SLIP]
        return GapState(-geometry.depth, n @ velocity, slip, n, direction)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return self.laws

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        return super().numbers() if self.push is None else numbers_but(self.push, super().numbers())

    def law(self) -> tuple[str, str]:
        return self.kind.replace("_", " "), self.laws_description()

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = self.faults(self.title, table)
        if self.body == self.ground:
            fact = f"'{self.body}' is both body and ground, so it has no effect."
            found.append(Problem(self.title, fact, "Give `body` and `ground` two different names."))
        return found

    def freeze(self, hold: Callable[[Formula], Formula]) -> Self:
        return replace(self, frozen_laws=tuple(map(hold, self.laws)))

    def _matter(self, motion: LoadKinematics, point: Array) -> list[Array]:
        """The material points of body and ground at a world point, each in its own axes."""
        frames = [motion.frame(name) for name in (self.body, self.ground)]
        return [frame.R.T @ (point - frame.p) for frame in frames]

    def _velocity(self, motion: LoadKinematics, point: Array) -> tuple[Array, Array]:
        """J and c of the velocity of the body relative to the ground at a world point."""
        first, second = self._matter(motion, point)
        _, J1, c1 = motion.frame(self.body).point(first)
        if self.ground == WORLD:
            return J1, c1
        _, J2, c2 = motion.frame(self.ground).point(second)
        return J1 - J2, c1 - c2

    def _slip(self, motion: LoadKinematics, normal: Array, velocity: Array) -> tuple[Array, Mapping[str, Scalar]]:
        """The vector that the drag multiplies, and the measures of the drag law."""
        if self.planar is not None:
            across = cross(vector(list(self.planar)), normal)
            direction = scaled(1 / motion.algebra.sqrt(across @ across), across)
            return direction, {SLIP: direction @ velocity}
        slip = velocity - scaled(normal @ velocity, normal)
        return slip, {SQUARE: slip @ slip}

    def more(self, motion: LoadKinematics) -> dict[str, Scalar]:
        """Additional measures of its laws."""
        return {}

    def lowering(self, motion: LoadKinematics) -> Lowering:
        geometry = self.geometry(motion)
        J, c = self._velocity(motion, geometry.point)
        velocity, model = J @ motion.qd + c, motion.model.description
        _, measured = self._slip(motion, geometry.normal, velocity)
        bounds = {ONSET: motion.lower(onset(model)), SLOWEST: motion.lower(slowest_slip(model))}
        known = {DEPTH: geometry.depth, RATE: -(geometry.normal @ velocity), **measured, **bounds, **self.more(motion)}
        return motion.lower.with_values({measure(name).name: x for name, x in known.items()})

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        geometry, lower = self.geometry(motion), self.lowering(motion)
        J, c = self._velocity(motion, geometry.point)
        press, drag = self.laws[:2]
        force = scaled(lower(press), geometry.normal)
        with np.errstate(all="ignore"):  # 0/0 at zero slip in an inactive branch
            if drag != 0:
                force = force - scaled(lower(drag), self._slip(motion, geometry.normal, J @ motion.qd + c)[0])
        first, second = self._matter(motion, geometry.point)
        wrenches = (*at_point(motion, self.body, first, force), *at_point(motion, self.ground, second, -force))
        return [Applied(self.name, force, J, c, wrenches=wrenches)]

    # verification

    def _forces(self, probe: MotionProbe) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The contact point, normal force, friction, and the variation (3, n, K) of the body relative to the ground there.

        The material point x at the contact point is fixed on its body: v = ṗ + Ṙ x, δr = δp + δR x.
        """

        def flat(poses: ReferencePoses) -> Array:
            depth, normal, point = self.reference_geometry(poses)
            return vector([depth, *normal, *point])

        met = probe.traced(flat)
        depth, normal, point = met.value[0], met.value[1:4], met.value[4:]
        velocity, change = np.zeros((3, probe.K)), 0.0
        for name, sign in ((self.body, 1.0), (self.ground, -1.0)):
            origin, axes = point_of(probe, name, ORIGIN), axes_of(probe, name)
            x = np.einsum("yak,yk->ak", axes.value, point - origin.value)
            velocity = velocity + sign * (origin.rate + np.einsum("yak,ak->yk", axes.rate, x))
            change = change + sign * (origin.change + np.einsum("yank,ak->ynk", axes.change, x))
        slip = velocity - normal * np.sum(normal * velocity, axis=0)
        if (rigid := self.unilateral) is not None:
            press = probe.number(se.Symbol(rigid.press))
            return point, press * normal, self._rigid_friction(probe, press, normal), np.asarray(change)
        press = self.normal_force(probe, depth, met.rate[0])
        return point, press * normal, self.friction_force(probe, press, slip, normal), np.asarray(change)

    def _rigid_friction(self, probe: MotionProbe, press: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Friction of a rigid contact from its parameters."""
        rigid = self.unilateral
        if rigid is None or not rigid.has_friction or self.planar is None:
            return np.zeros_like(normal)
        mu, rub, side = (probe.number(x) for x in (self.friction, se.Symbol(rigid.rub), se.Symbol(rigid.slide)))
        out = np.array(self.planar, dtype=float)
        x, y, z = normal
        w = np.array([out[1] * z - out[2] * y, out[2] * x - out[0] * z, out[0] * y - out[1] * x])
        return -(rub + mu * side * press) * w / np.sqrt(np.sum(w * w, axis=0))

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        """F·(δr of the body − δr of the ground)."""
        _, press, drag, change = self._forces(probe)
        value = np.einsum("xk,xnk->nk", press + drag, change)
        return VirtualWork(self.name, value, np.linalg.norm(press + drag, axis=0) * np.linalg.norm(change, axis=0))

    def actions(self, probe: MotionProbe) -> Iterator[Action]:
        point, press, drag, _ = self._forces(probe)
        for name, sign in ((self.body, 1.0), (self.ground, -1.0)):
            if name != WORLD:
                yield Action(name, sign * (press + drag), point, np.zeros((3, probe.K)))


@dataclass(frozen=True)
class GapState:
    """The gap, its rate, the slip, and the directions of both, in world axes."""

    gap: Scalar
    rate: Scalar
    slip: Scalar
    normal: Array
    slip_direction: Array


@dataclass(frozen=True)
class Unilateral:
    """The constants of a rigid contact."""

    load: str
    title: str
    restitution: Formula
    friction: Formula
    rest_speed: Formula  # slower approaches do not bounce
    impact: Impact

    @property
    def has_friction(self) -> bool:
        """True if it has friction."""
        return bool(self.friction != 0)

    @property
    def press(self) -> str:
        """The parameter of N."""
        return SymbolKind.NORMAL_FORCE.of(self.load)

    @property
    def rub(self) -> str:
        """The parameter of the sticking friction force."""
        return SymbolKind.FRICTION_FORCE.of(self.load)

    @property
    def slide(self) -> str:
        """The parameter of the sign of the slip."""
        return SymbolKind.SLIP_DIRECTION.of(self.load)

    @property
    def parameters(self) -> Iterator[str]:
        """The parameters of its force."""
        yield self.press
        if self.has_friction:
            yield from (self.rub, self.slide)

    @property
    def laws(self) -> tuple[Formula, Formula]:
        """Normal force and drag, which is opposite to the slip."""
        N, rub, slide = (se.Symbol(name) for name in (self.press, self.rub, self.slide))
        return N, slide * self.friction * N + rub if self.has_friction else se.Integer(0)


@dataclass(frozen=True)
class ConstrainedRate:
    """A rate of a rigid contact that is constrained to zero, and the parameter of the constraint force."""

    load: str
    slips: bool  # True: the slip; False: the rate of the gap
    parameter: str

    def at(self, motion: LoadKinematics) -> Scalar:
        """Its value, a function of (q, q̇, t)."""
        load = next(load for load in motion.model.loads if load.name == self.load)
        gap_state = load.gap_state(motion)
        return gap_state.slip if self.slips else gap_state.rate
