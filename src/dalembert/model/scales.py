"""Characteristic length, mass and time of a model, from its own data, so that no absolute tolerance is needed.

| scale | from | otherwise |
|---|---|---|
| length | the largest dimension of the bodies | largest initial position, initial rate × duration / 10, m g / k, 1 |
| mass | the heaviest body | 1 |
| time | √(length / gravity) | the slowest spring, initial rates, a tenth of the duration |

Dimensions are joint positions, mass centers, radii of gyration, the points of loops, springs and forces, natural lengths and
radii of contacts; points of the ground count by their distance from their mean, not from the origin.

The scale of an angle is 1 rad, that of a translation the length; for a formula such as `r*theta` the scale is divided by the
slope. In a model defined by energies a coordinate inside sine or cosine is an angle; the scale of the others is the largest
initial position among them. The scale of a velocity is scale / time, or its initial rate if that is larger.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import symengine as se

from dalembert.model.evaluation import at_start, derivative_of, value
from dalembert.model.joints.base import Joint
from dalembert.model.loads.base import InJoint
from dalembert.model.values import WORLD
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.lookup_tables import interpolations_in
from dalembert.symbolic.symbols import TIME, Formula, SymbolKind, kind_of

if TYPE_CHECKING:
    from dalembert.model.description import Description, Elements

ONSET = se.Integer(10) ** -9  # angle, and fraction of lengths
# where slip grows from zero, the Taylor coefficient of order k of its direction grows as (acceleration / this speed)^k;
# coefficients up to order 20 must not overflow in any unit of time
_SLOW = se.Integer(10) ** -7
Motion = tuple[Formula, bool]  # a joint motion, and whether it is a rotation


@dataclass(frozen=True)
class Scales:
    """Characteristic length, mass and time of a model, scales of coordinates and velocities, and its time span."""

    length: float
    mass: float
    time: float
    q: tuple[float, ...]
    qd: tuple[float, ...]
    duration: float
    last: float  # the last time at which a formula switches, or the duration

    @property
    def force(self) -> float:
        """The scale of forces, mass × length / time², rounded to a power of two so that scaling is exact."""
        return float(np.exp2(np.round(np.log2(self.mass * self.length / self.time**2))))

    def instant(self, t: float, duration: float) -> float:
        """The scale of small time differences at t: the time of the model, a shorter duration, or t."""
        return max(min(self.time, duration), abs(t))

    @property
    def positions(self) -> np.ndarray:
        """The scale of each coordinate."""
        return np.array(self.q)

    @property
    def velocities(self) -> np.ndarray:
        """The scale of each velocity."""
        return np.array(self.qd)

    @property
    def accelerations(self) -> np.ndarray:
        """The scale of each acceleration."""
        return np.array(self.qd) / self.time


def scales_of(model: Elements) -> Scales:
    """The scales of a model.

    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, -9.81, 0)).coordinates("theta")
    >>> _ = model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=2, center=(0, -0.5, 0))
    >>> found = scales_of(model)
    >>> found.length, found.mass, round(found.time, 4), found.q
    (0.5, 2.0, 0.2258, (1.0,))
    """
    motions = _motions(model)
    rotational = _rotational(model, motions)
    mass = max((_number(body.mass, model) for body in model.bodies), default=0.0) or 1.0
    length = max(_lengths(model), default=0.0) or _length_of_motion(model, rotational, mass)
    steepest = _steepest(model, motions, rotational)
    q = tuple((1.0 if name in rotational else length) / steepest[name] for name in model.coordinate_names)
    time = _time(model, length, mass, q)
    qd = tuple(max(x / time, abs(c.start_rate)) for x, c in zip(q, model.generalized_coordinates, strict=True))
    return Scales(length, mass, time, q, qd, model.duration, max([model.duration, *_switches(model)]))


@lru_cache(maxsize=64)
def onset(model: Description) -> Formula:
    """Depth below which a law without a Taylor series at zero is smoothed: 1e-9 of the model length, as a power of ten.

    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, -9810, 0)).coordinates("theta")
    >>> _ = model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=2, center=(0, -500, 0))
    >>> onset(model.description), slowest_slip(model.description)
    (1/1000000, 1/10000)
    """
    return ONSET * _decade(scales_of(model).length)


@lru_cache(maxsize=64)
def slowest_slip(model: Description) -> Formula:
    """Speed below which slip has no direction: 1e-7 of the speed of the model, as a power of ten."""
    known = scales_of(model)
    return _SLOW * _decade(known.length / known.time)


def _decade(x: float) -> Formula:
    return se.Integer(10) ** round(math.log10(x))


def _number(formula: Formula, model: Elements) -> float:
    """The absolute value of a constant formula, 0 if it is not finite."""
    found = abs(value(formula, model.parameter_values))
    return found if math.isfinite(found) else 0.0


def _norm(vector: Sequence[Formula], model: Elements) -> float:
    return math.hypot(*(_number(x, model) for x in vector))


def _lengths(model: Elements) -> Iterator[float]:
    """All lengths of the model; points of the ground count by their distance from their mean."""
    ground: list[list[float]] = []
    for name, vector in _points(model):
        if name == WORLD:
            ground.append([value(x, model.parameter_values) for x in vector])
        else:
            yield _norm(vector, model)
    points = np.nan_to_num(np.array(ground or [[0.0, 0.0, 0.0]]))
    yield float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
    for body in model.bodies:
        mass, inertia = _number(body.mass, model), sum(_number(body.inertia[i][i], model) for i in range(3))
        yield math.sqrt(inertia / 2 / mass) if mass else 0.0
        for joint in body.joints:
            yield abs(float(getattr(joint, "lead", 0.0)))
    for element in (*model.loads, *model.contacts):
        if element.characteristic_length is not None:
            yield _number(element.characteristic_length, model)


def _points(model: Elements) -> Iterator[tuple[str, Sequence[Formula]]]:
    """All fixed points of the model, each with its body."""
    for body in model.bodies:
        yield body.name, body.center
        for i, joint in enumerate(body.joints):
            yield (body.parent if i == 0 else body.name), joint.position
    for loop in model.loops:
        yield loop.bodies[0], loop.joint.position
        yield loop.bodies[1], loop.position
    for element in (*model.loads, *model.contacts):
        yield from element.fixed_points


def _length_of_motion(model: Elements, rotational: set[str], mass: float) -> float:
    """A length for a model without dimensions: its initial positions, or the distance it travels."""
    sliding = [c for c in model.generalized_coordinates if c.name not in rotational]
    starts = max((abs(c.start) for c in sliding), default=0.0)
    far = max((abs(c.start_rate) for c in sliding), default=0.0) * model.duration / 10
    outside = [load.stiff for load in model.loads if load.stiff is not None and not isinstance(load, InJoint)]
    stiffness = max((_number(k, model) for k in outside), default=0.0)
    sag = mass * _norm(model.gravity, model) / stiffness if stiffness else 0.0
    return starts or far or sag or 1.0


def rotational_coordinates(model: Elements) -> set[str]:
    """The coordinates that are angles or quaternion components; without joints, those inside sine, cosine or tangent."""
    return _rotational(model, _motions(model))


def _rotational(model: Elements, motions: Sequence[Motion]) -> set[str]:
    jointed = {symbol.name for formula, _ in motions for symbol in formula.free_symbols}
    found = {symbol.name for formula, rotates in motions if rotates for symbol in formula.free_symbols}
    waves = {symbol.name for wave in _waves(model) for symbol in wave.free_symbols}
    return (found | (waves - jointed)) & set(model.coordinate_names)


def _waves(model: Elements) -> list[Formula]:
    """The arguments of sine, cosine and tangent; formulas of measures do not contain coordinates."""
    formulas = [f for f in model.formulas if not any(kind_of(s.name) is SymbolKind.MEASURE for s in f.free_symbols)]
    return [wave.args[0] for formula in formulas for wave in formula.atoms(se.sin, se.cos, se.tan)]


def _motions(model: Elements) -> list[Motion]:
    joints = [joint for body in model.bodies for joint in body.joints]
    return [(formula, is_rotation(joint, k)) for joint in joints for k, formula in enumerate(joint.values)]


def is_rotation(joint: Joint, motion: int) -> bool:
    """Whether a joint motion rotates the child."""
    start = [0.0] * len(joint.values)
    if joint.quaternion:
        start[-4] = 1.0
        if motion >= len(start) - 4:
            return True
    return bool(np.any(numbers(joint.angular_motion_subspace(FLOATS, start), 1)[:, motion]))


def _steepest(model: Elements, motions: Sequence[Motion], rotational: set[str]) -> dict[str, float]:
    """The largest slope of the joint motions, or arguments of sine and cosine, with respect to each coordinate."""
    jointed, waving = defaultdict[tuple[str, bool], list[Formula]](list), defaultdict[str, list[Formula]](list)
    for formula, rotates in motions:
        for symbol in formula.free_symbols:
            jointed[symbol.name, rotates].append(formula)
    for wave in _waves(model):
        for symbol in wave.free_symbols:
            waving[symbol.name].append(wave)
    out, table = {}, at_start(model)
    for name in model.coordinate_names:
        rotates = name in rotational
        found = jointed[name, rotates] or (waving[name] if rotates else [])
        out[name] = max(filter(math.isfinite, (abs(derivative_of(f, table, name)) for f in found)), default=0.0) or 1.0
    return out


def _time(model: Elements, length: float, mass: float, q: Sequence[float]) -> float:
    gravity = _norm(model.gravity, model)
    if gravity:
        return math.sqrt(length / gravity)
    springs = [math.sqrt(mass / k) for k in _stiffnesses(model, length) if k]
    if springs:
        return max(springs)
    rates = [abs(c.start_rate) / x for x, c in zip(q, model.generalized_coordinates, strict=True) if c.start_rate]
    return 1 / float(np.median(rates)) if rates else model.duration / 10


def _stiffnesses(model: Elements, length: float) -> Iterator[float]:
    """The translational stiffness of every spring."""
    bodies = {body.name: body for body in model.bodies}
    for load in model.loads:
        if load.stiff is not None:
            torsion = isinstance(load, InJoint) and is_rotation(bodies[load.body].joints[load.joint], load.motion)
            yield _number(load.stiff, model) / (length**2 if torsion else 1.0)


def _switches(model: Elements) -> Iterator[float]:
    """The times at which formulas change branches, such as those of a table."""
    for formula in model.formulas:
        for table, argument in interpolations_in(formula):
            if argument == TIME:
                yield from table.times.tolist()
        for choice in formula.atoms(se.Piecewise):
            for condition in choice.args[1::2]:
                if TIME in condition.free_symbols:
                    yield from _times(condition, model)


def _times(condition: Formula, model: Elements) -> Iterator[float]:
    if not isinstance(condition, se.StrictLessThan | se.LessThan):
        for part in condition.args:
            yield from _times(part, model)
        return
    left, right = condition.args
    for clock, other in ((left, right), (right, left)):
        if clock == TIME and not (other.free_symbols - {se.Symbol(name) for name in model.parameter_values}):
            yield _number(other, model)
