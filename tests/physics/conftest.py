"""The same mechanism in other units of length, mass and time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import symengine as se

from dalembert.model.constraints.loop import Loop
from dalembert.model.contacts.base import Contact
from dalembert.model.contacts.distance import Distance
from dalembert.model.contacts.gear import Gear
from dalembert.model.contacts.knife_edge import KnifeEdge
from dalembert.model.contacts.point_on_surface import PointOnSurface
from dalembert.model.contacts.rack_and_pinion import RackAndPinion
from dalembert.model.contacts.rolling_ball import RollingBall
from dalembert.model.contacts.rolling_disk import RollingDisk
from dalembert.model.contacts.rolling_ellipsoid import RollingEllipsoid
from dalembert.model.elements import Body, Coordinate, Event, Limits, Rotor, Shape
from dalembert.model.evaluation import value
from dalembert.model.immutable import Frozen
from dalembert.model.joints.base import Joint
from dalembert.model.joints.cylindrical import Cylindrical
from dalembert.model.joints.free import Free
from dalembert.model.joints.planar import Planar
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.screw import Screw
from dalembert.model.loads.backlash import Backlash
from dalembert.model.loads.base import InJoint, Load
from dalembert.model.loads.bushing import Bushing
from dalembert.model.loads.contact_base import ContactLoad
from dalembert.model.loads.contact_laws import Press
from dalembert.model.loads.damper import Damper
from dalembert.model.loads.force import Force
from dalembert.model.loads.force_laws import RATE, measure
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.loads.joint_spring import JointSpring
from dalembert.model.loads.joint_stop import JointStop
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere
from dalembert.model.loads.spring import Spring
from dalembert.model.loads.strut import LENGTH, Strut
from dalembert.model.loads.torque import Torque
from dalembert.model.model import Model
from dalembert.symbolic.lookup_tables import LookupTable, table
from dalembert.symbolic.symbols import TIME, coordinate, rate


@dataclass(frozen=True)
class Units:
    """Conversion factors from old to new units: a length of 2 becomes the number 2 × length."""

    length: Fraction
    mass: Fraction
    time: Fraction

    @property
    def energy(self) -> Fraction:
        return self.mass * self.length**2 / self.time**2

    @property
    def force(self) -> Fraction:
        return self.mass * self.length / self.time**2


@dataclass(frozen=True)
class Scaled:
    """A model in other units, with the conversion of numbers between the old and the new units."""

    model: Model
    units: Units
    lengths: np.ndarray  # True for the coordinates that are lengths, False for angles

    def times(self, t: Any) -> Any:
        return t * float(self.units.time)

    def positions(self, q: np.ndarray) -> np.ndarray:
        return (q.T * self._sizes(0)).T

    def velocities(self, qd: np.ndarray) -> np.ndarray:
        return (qd.T * self._sizes(1)).T

    def positions_before(self, q: np.ndarray) -> np.ndarray:
        return (q.T / self._sizes(0)).T

    def velocities_before(self, qd: np.ndarray) -> np.ndarray:
        return (qd.T / self._sizes(1)).T

    def accelerations_before(self, qdd: np.ndarray) -> np.ndarray:
        return (qdd.T / self._sizes(2)).T

    def _sizes(self, order: int) -> np.ndarray:
        """The factors of the coordinates, their velocities or accelerations."""
        return np.where(self.lengths, float(self.units.length), 1.0) / float(self.units.time) ** order


class _Converter:
    """Rewrites one model. A formula f of dimension s becomes s · f(q'/s_q, q̇' s_t/s_q, t'/s_t); parameters stay."""

    def __init__(self, model: Model, units: Units) -> None:
        self.model, self.units = model, units
        self.lengths = _displacements(model)
        known = {name: self.size(name) for name in model.coordinate_names}
        self._old = {coordinate(name): coordinate(name) / _exact(size) for name, size in known.items()}
        self._old |= {rate(name): rate(name) * _exact(units.time / size) for name, size in known.items()}
        self._old[TIME] = TIME / _exact(units.time)

    def size(self, name: str) -> Fraction:
        """The factor of a coordinate."""
        return self.units.length if name in self.lengths else Fraction(1)

    def formula(self, f: Any, size: Fraction) -> Any:
        f = se.sympify(f)
        return _exact(size) * f.subs(self._old) if f.free_symbols & set(self._old) else _exact(size) * f

    def vector(self, entries: Sequence[Any], size: Fraction) -> Any:
        return tuple(self.formula(x, size) for x in entries)

    def sized(self, record: Any, **sizes: Fraction) -> Any:
        """A record whose named fields (formulas, tuples of them, or None) have these dimensions."""
        return replace(record, **{key: self._nested(getattr(record, key), size) for key, size in sizes.items()})

    def _nested(self, entry: Any, size: Fraction) -> Any:
        if entry is None:
            return None
        return tuple(self._nested(x, size) for x in entry) if isinstance(entry, tuple) else self.formula(entry, size)

    def mixed(self, f: Any) -> Fraction:
        """The factor of a constraint or a speed without a declared dimension: its degrees in lengths and in velocities.

        Any other factor is valid too; this is the factor of a file written by hand in these units.
        """
        rates = {rate(name).name for name in self.model.coordinate_names}
        long = {p.name for p in self.model.declared_parameters if p.unit == "m"}
        long |= self.lengths | {rate(name).name for name in self.lengths}
        return self.units.length ** _degree(f, long) / self.units.time ** _degree(f, rates)

    def convert(self) -> Model:
        old, out, L, T = self.model, self.model.copy(), self.units.length, self.units.time
        out.gravity_input = tuple(_times(x, L / T**2) for x in old.gravity_input)
        out.generalized_coordinates = tuple(self._coordinate(c) for c in old.generalized_coordinates)
        out.bodies = tuple(self._body(body) for body in old.bodies)
        out.loads = tuple(self._load(load) for load in old.loads)
        out.rotors = tuple(self._rotor(rotor) for rotor in old.rotors)
        out.loops = tuple(self._loop(loop) for loop in old.loops)
        out.contacts = tuple(self._contact(contact) for contact in old.contacts)
        out.events = tuple(self._event(event) for event in old.events)
        out.shapes = tuple(self._shape(shape) for shape in old.shapes)
        out.limits = Frozen({name: self._limits(name, limits) for name, limits in old.limits.items()})
        out.holonomic_constraints = tuple(
            replace(c, formula=self.formula(c.phi, self.mixed(c.phi)), feedback=self._gains(c.feedback))
            for c in old.holonomic_constraints
        )
        out.nonholonomic_constraints = tuple(
            replace(c, formula=self.formula(c.psi, self.mixed(c.psi)), feedback=self.vector(c.feedback, 1 / T))
            for c in old.nonholonomic_constraints
        )
        out.generalized_speeds = tuple(
            replace(u, value=self.formula(u.value, self.mixed(u.value))) for u in old.generalized_speeds
        )
        out.non_ideal_forces = Frozen(
            {name: self.formula(f, self.units.energy / self.size(name)) for name, f in old.non_ideal_forces.items()}
        )
        if old.energies is not None:
            out.energies = self._energies()
        out.duration = _number(old.duration, T)
        out.step = None if old.step is None else _number(old.step, T)
        return out

    def _energies(self) -> Any:
        known, E = self.model.energies, self.units.energy
        assert known is not None
        forces = [
            self.formula(f, E / self.size(name))
            for name, f in zip(self.model.coordinate_names, known.forces, strict=True)
        ]
        return replace(
            known,
            kinetic=self.formula(known.kinetic, E),
            potential=self.formula(known.potential, E),
            forces=tuple(forces),
        )

    def _coordinate(self, c: Coordinate) -> Coordinate:
        size = self.size(c.name)
        return replace(c, start=_number(c.start, size), start_rate=_number(c.start_rate, size / self.units.time))

    def _body(self, body: Body) -> Body:
        inertia = self.units.mass * self.units.length**2
        rows = [self.vector(row, inertia) for row in body.inertia]
        return replace(
            body,
            joints=tuple(self._joint(joint) for joint in body.joints),
            mass=self.formula(body.mass, self.units.mass),
            center=self.vector(body.center, self.units.length),
            inertia=(rows[0], rows[1], rows[2]),
        )

    def _joint(self, joint: Joint) -> Joint:
        """Its placement, and its motions: displacements are lengths, angles and quaternions are numbers."""
        L = self.units.length
        placed = replace(joint, position=self.vector(joint.position, L))
        match placed:
            case Prismatic() | Cylindrical():
                placed = replace(placed, displacement=self.formula(placed.displacement, L))
            case Planar() | Free():
                placed = replace(placed, displacement=self.vector(placed.displacement, L))
            case Screw():
                placed = replace(placed, pitch=_number(placed.pitch, L))
        if isinstance(placed, Free):
            return replace(placed, attitude=self._joint(placed.attitude))
        turns = {
            key: self.vector(x, Fraction(1)) if isinstance(x, tuple) else self.formula(x, Fraction(1))
            for key in ("angle", "angles", "parts")
            if (x := getattr(placed, key, None)) is not None
        }
        return replace(placed, **turns)

    def _loop(self, loop: Loop) -> Loop:
        position = self.vector(loop.position, self.units.length)
        return replace(loop, joint=self._joint(loop.joint), position=position, feedback=self._gains(loop.feedback))

    def _gains(self, gains: tuple[Any, ...]) -> tuple[Any, ...]:
        """(α, β) of φ̈ + β φ̇ + α φ = 0."""
        T = self.units.time
        return tuple(self.formula(gain, size) for gain, size in zip(gains, (1 / T**2, 1 / T), strict=False))

    def _contact(self, contact: Contact) -> Contact:
        L, one = self.units.length, Fraction(1)
        match contact:
            case KnifeEdge():
                return self.sized(contact, point=L)
            case RollingDisk() | RollingBall():
                return self.sized(contact, center=L, point=L, radius=L)
            case RollingEllipsoid():
                return self.sized(contact, center=L, point=L, semi_axes=L)
            case Distance():
                return self.sized(contact, points=L, length=L)
            case PointOnSurface():
                places = {coordinate(x): coordinate(x) / _exact(L) for x in ("x", "y", "z")}
                surface = _exact(L) * contact.surface.subs(places)
                return self.sized(replace(contact, surface=surface), points=L)
            case Gear():
                return self.sized(contact, phase=one)
            case RackAndPinion():
                return self.sized(contact, radius=L, phase=L)
        raise NotImplementedError(f"{contact.title} in other units")

    def _event(self, event: Event) -> Event:
        """Only the sign of `when` matters; parameters are unchanged; rates are those of the new units."""
        rates = {name: self.formula(f, self.size(name) / self.units.time) for name, f in event.reset.items()}
        values = {name: self.formula(f, Fraction(1)) for name, f in event.set.items()}
        return replace(event, when=self.formula(event.when, Fraction(1)), set=Frozen(values), reset=Frozen(rates))

    def _motion(self, load: InJoint | Rotor) -> Fraction:
        """The factor of the motion of the joint that a load acts along."""
        body = next(body for body in self.model.bodies if body.name == load.body)
        return self.units.length if _slides(body.joints[load.joint], load.motion) else Fraction(1)

    def _rotor(self, rotor: Rotor) -> Rotor:
        size = self.units.energy * self.units.time**2 / self._motion(rotor) ** 2
        return replace(rotor, inertia=self.formula(rotor.inertia, size))

    def _load(self, load: Load) -> Load:
        units = self.units
        L, T, E, F = units.length, units.time, units.energy, units.force
        match load:
            case Force():
                return self.sized(load, force=F, point=L)
            case Torque():
                return self.sized(load, torque=E)
            case Spring():
                return self.sized(load, points=L, stiffness=F / L, natural_length=L)
            case Damper():
                return self.sized(load, points=L, damping=F * T / L)
            case Strut():
                return self._strut(load)
            case Bushing():
                blocks = np.block(
                    [[np.full((3, 3), F / L), np.full((3, 3), F)], [np.full((3, 3), F), np.full((3, 3), E)]]
                )
                gains = {"stiffness": blocks, "damping": blocks * T}
                rows = {
                    key: tuple(
                        tuple(map(self.formula, row, sizes)) for row, sizes in zip(getattr(load, key), of, strict=True)
                    )
                    for key, of in gains.items()
                }
                return self.sized(replace(load, **rows), points=L)
            case SphereOnPlane():
                return self.sized(self._press(load, F, L), **self._sliding(load), radius=L, center=L, point=L)
            case SphereOnSphere():
                lengths = dict.fromkeys(("radius", "center", "ground_radius", "ground_center"), L)
                return self.sized(self._press(load, F, L), **self._sliding(load), **lengths)
            case Backlash():
                return self._press(load, E, Fraction(1))  # play and phase are angles
        return self._load_in_joint(load)

    def _load_in_joint(self, load: Load) -> Load:
        if not isinstance(load, InJoint):
            raise NotImplementedError(f"{load.title} in other units")
        T, E, s = self.units.time, self.units.energy, self._motion(load)
        match load:
            case JointTorque():
                return self.sized(load, value=E / s)
            case JointSpring():
                return self.sized(load, stiffness=E / s**2, rest=s, damping=E * T / s**2)
            case JointFriction():
                dry, speed = E / s, s / T
                return self.sized(load, viscous=dry / speed, coulomb=dry, smoothing=speed, static=dry, stribeck=speed)
            case JointStop():
                return self.sized(self._press(load, E / s, s), lower=s, upper=s)
        raise NotImplementedError(f"{load.title} in other units")

    def _strut(self, load: Strut) -> Strut:
        L, T, F = self.units.length, self.units.time, self.units.force
        measured = {measure(LENGTH): measure(LENGTH) / _exact(L), measure(RATE): measure(RATE) * _exact(T / L)}
        curves = {"curve": _curve(load.curve, L, F), "rate_curve": _curve(load.rate_curve, L / T, F)}
        pull = self.formula(load.pull.subs(measured), F)
        return self.sized(replace(load, pull=pull, **curves), points=L)

    def _sliding(self, contact: ContactLoad) -> dict[str, Fraction]:
        """The dimensions of what friction and impacts depend on; a field that is not used must have its default value."""
        speed = self.units.length / self.units.time
        smoothed = contact.friction != 0 and contact.viscous == 0 and contact.planar is None
        used = {"viscous": True, "smoothing": smoothed, "rest_speed": contact.restitution is not None}
        sizes = {"viscous": self.units.force / speed, "smoothing": speed, "rest_speed": speed}
        return {key: size for key, size in sizes.items() if used[key]}

    def _press(self, load: Any, force: Fraction, depth: Fraction) -> Any:
        """N = k δⁿ (1 + d δ̇) + c δ̇; the exponent n of this rewriting must be a number."""
        if load.push is not None:
            raise NotImplementedError(f"push of {load.title} in other units")
        assert isinstance(load, Press)
        T = self.units.time
        stiffness = force / Fraction(float(depth) ** float(load.exponent)) if load.stiffness != 0 else force
        return self.sized(load, stiffness=stiffness, damping=force * T / depth, dissipation=T / depth)

    def _limits(self, name: str, limits: Limits) -> Limits:
        size, units = self.size(name), self.units
        sizes = {"lower": size, "upper": size, "velocity": size / units.time, "effort": units.energy / size}
        return Limits(
            **{key: None if (x := getattr(limits, key)) is None else _number(x, s) for key, s in sizes.items()}
        )

    def _shape(self, shape: Shape) -> Shape:
        """A mesh is scaled by its sizes, the others have them; both are lengths here."""
        L = self.units.length
        x, y, z = (_number(part, L) for part in shape.position)
        return replace(shape, size=tuple(_number(part, L) for part in shape.size), position=(x, y, z))


def _curve(curve: LookupTable | None, x: Fraction, y: Fraction) -> LookupTable | None:
    return None if curve is None else table(curve.times * float(x), curve.values * float(y))


def _displacements(model: Model) -> set[str]:
    """The coordinates that are lengths: those that alone are a displacement of a joint, or whose unit is meters."""
    moved = {
        motion.name
        for body in model.bodies
        for joint in body.joints
        for k, motion in enumerate(joint.values)
        if _slides(joint, k) and motion.is_Symbol
    }
    return (moved | {c.name for c in model.generalized_coordinates if c.unit == "m"}) & set(model.coordinate_names)


def _slides(joint: Joint, motion: int) -> bool:
    """Whether a motion of a joint is a displacement."""
    match joint:
        case Prismatic():
            return True
        case Cylindrical():
            return motion == 1
        case Planar():
            return motion < 2
        case Free():
            return motion < 3
    return False


def _degree(f: Any, names: set[str]) -> int:
    """k if doubling these symbols multiplies f by 2ᵏ; 1 if f depends on them in another manner."""
    symbols = sorted(symbol.name for symbol in f.free_symbols)
    if not names & set(symbols):
        return 0
    point = dict(zip(symbols, np.random.default_rng(4).uniform(0.5, 1.5, len(symbols)).tolist(), strict=True))
    ratio = value(f, {name: x * (1 + (name in names)) for name, x in point.items()}) / value(f, point)
    degree = round(float(np.log2(ratio))) if 0.9 < ratio < 1e3 else 1
    return degree if abs(ratio - 2.0**degree) < 1e-9 * ratio else 1


def _exact(number: Fraction) -> Any:
    return se.Integer(number.numerator) / se.Integer(number.denominator)


def _number(old: float, size: Fraction) -> float:
    return float(Fraction(old) * size)


def _times(old: Any, size: Fraction) -> Any:
    """A component of gravity, which may be a str, times a factor."""
    return f"({old})*{size.numerator}/{size.denominator}" if isinstance(old, str) else _number(old, size)


@pytest.fixture(scope="session")
def scaled() -> Callable[..., Scaled]:
    """A function that writes a model in other units: `scaled(model, length=1000)` uses millimeters instead of meters."""

    def make(model: Model, *, length: Any = 1, mass: Any = 1, time: Any = 1) -> Scaled:
        converter = _Converter(model, Units(Fraction(length), Fraction(mass), Fraction(time)))
        lengths = np.array([name in converter.lengths for name in model.coordinate_names])
        return Scaled(converter.convert(), converter.units, lengths)

    return make
