"""Attitudes given by three angles, and the same model with another angle sequence.

Three rotations about axes through one point, each perpendicular to the next, cover every attitude. Where the first and the third
axis are parallel (gimbal lock), the angle rates are undefined and the mass matrix is singular. The model itself is regular, and
so is another sequence of axes. `in_chart` rewrites the model with such a sequence. The coordinates keep their names and indices,
and elements declared on bodies do not change; an element that refers to one of the angles prevents the change (`chart_obstacle`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dalembert.model.description import Description
from dalembert.model.elements import Body
from dalembert.model.evaluation import value
from dalembert.model.joints.base import HERE, Joint
from dalembert.model.joints.free import Free
from dalembert.model.joints.revolute import Revolute
from dalembert.model.joints.spherical import UNITS, Spherical
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import EulerAngles, roll_pitch_yaw, solved
from dalembert.symbolic.symbols import Formula, coordinate, rate

_AXES = "xyz"


@dataclass(frozen=True)
class Attitude:
    """Three angles that rotate a body about one point, each a separate coordinate."""

    body: str
    joints: tuple[int, ...]  # three revolute joints, or one spherical or free joint
    coordinates: tuple[str, str, str]
    leading: int = 0  # number of motions of the joint before its angles

    @property
    def title(self) -> str:
        """Name in messages."""
        joints = f"joint{'s' if len(self.joints) > 1 else ''} {', '.join(str(k) for k in self.joints)}"
        return f"the angles {', '.join(self.coordinates)} ({joints} of body '{self.body}')"

    def contains_motion(self, body: str, joint: int, motion: int) -> bool:
        """Is a motion of a joint one of the angles?"""
        return body == self.body and joint in self.joints and motion >= self.leading


@lru_cache(maxsize=64)
def attitudes_of(model: Description) -> tuple[Attitude, ...]:
    """The attitudes of a model whose angles are separate coordinates and cover every rotation."""
    names = set(model.coordinate_names)
    found = (each for body in model.bodies for each in _attitudes(body, names))
    return tuple(each for each in found if angles_of(model, each, model.parameter_values).complete)


def _attitudes(body: Body, names: set[str]) -> Iterator[Attitude]:
    k = 0
    while k < len(body.joints):
        joint = body.joints[k]
        ball = joint.attitude if isinstance(joint, Free) else joint
        if isinstance(ball, Spherical) and (found := _coordinates(ball.angles, names)):
            yield Attitude(body.name, (k,), found, 3 if isinstance(joint, Free) else 0)
        elif found := _three_revolutes(body.joints[k : k + 3], names):
            yield Attitude(body.name, (k, k + 1, k + 2), found)
            k += 2
        k += 1


def _three_revolutes(joints: Sequence[Joint], names: set[str]) -> tuple[str, str, str] | None:
    """The coordinates of three revolute joints about one point."""
    revolutes = [joint for joint in joints if isinstance(joint, Revolute)]
    if len(revolutes) < 3 or any(x != 0 for joint in revolutes[1:] for x in joint.position):
        return None
    return _coordinates([joint.angle for joint in revolutes], names)


def _coordinates(angles: Sequence[Formula], names: set[str]) -> tuple[str, str, str] | None:
    """The names of three angles that are different coordinates."""
    found = tuple(str(angle) for angle in angles if angle is not None and angle.is_Symbol and str(angle) in names)
    return (found[0], found[1], found[2]) if len(set(found)) == 3 else None


def angles_of(model: Description, attitude: Attitude, values: Mapping[str, float]) -> EulerAngles:
    """The Euler angles, relative to the frame in which the first joint is placed."""
    return _angles(model, attitude, values) if attitude_varies(model, attitude) else _constant_angles(model, attitude)


@lru_cache(maxsize=64)
def _constant_angles(model: Description, attitude: Attitude) -> EulerAngles:
    return _angles(model, attitude, {})


def _angles(model: Description, attitude: Attitude, values: Mapping[str, float]) -> EulerAngles:
    joints = _joints(model, attitude)
    first = joints[0].attitude if isinstance(joints[0], Free) else joints[0]
    if isinstance(first, Spherical):
        return sequence_angles(first.sequence)
    R, axes = np.eye(3), list[tuple[float, ...]]()
    for k, joint in enumerate(joints):
        assert isinstance(joint, Revolute)
        if k:
            angles = [value(angle, dict(values)) for angle in joint.rotation]
            R = R @ roll_pitch_yaw(FLOATS, angles).astype(float)
        axes.append(tuple((R @ np.array([float(x) for x in joint.axis])).tolist()))
    return EulerAngles((axes[0], axes[1], axes[2]), tuple(tuple(row) for row in R.tolist()))


def attitude_varies(model: Description, attitude: Attitude) -> bool:
    """Do the axes, relative to the first joint, depend on parameters?"""
    return any(angle.free_symbols for joint in _joints(model, attitude)[1:] for angle in joint.rotation)


def _joints(model: Description, attitude: Attitude) -> list[Joint]:
    body = next(body for body in model.bodies if body.name == attitude.body)
    return [body.joints[k] for k in attitude.joints]


@lru_cache(maxsize=16)
def sequence_angles(sequence: str) -> EulerAngles:
    """The angles of a sequence of axes such as zxz."""
    first, second, third = (tuple(float(x) for x in UNITS[axis]) for axis in sequence)
    return EulerAngles((first, second, third))


def sequences_beside(user: EulerAngles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nine sequences with different singularities: the three to try first, and the others.

    With first and third axis i and k, sin² B = 1 − R_ik². At most one entry in each row and column of R is large, so for any two
    attitudes some sequence is regular at both. The first three begin with the user's first axis if that is a coordinate axis: an
    ignorable angle about the vertical stays ignorable.
    """
    first = np.abs(np.array(user.axes[0]))
    i = int(np.argmax(first)) if np.isclose(first.max(), 1.0) else 0
    rows = [tuple(_sequence(m, n) for n in range(3)) for m in (i, (i + 1) % 3, (i + 2) % 3)]
    return rows[0], rows[1] + rows[2]


def _sequence(i: int, k: int) -> str:
    """A sequence with this first and third axis."""
    j = (i + 1) % 3 if i == k else 3 - i - k
    return _AXES[i] + _AXES[j] + _AXES[k]


def best_sequence(user: EulerAngles, rotations: np.ndarray, good: float, without: str | None = None) -> str:
    """The sequence whose smallest distance from gimbal lock over rotations (3, 3, K) is largest."""

    def distance(sequence: str) -> float:
        return float(sequence_angles(sequence).distance_of(rotations).min())

    first, others = (tuple(each for each in found if each != without) for found in sequences_beside(user))
    best = max(first, key=distance)
    return best if distance(best) >= good else max((*first, *others), key=distance)


def chart_obstacle(model: Description, attitude: Attitude) -> str | None:
    """The element that refers to the angles themselves, so that they cannot be replaced; None if there is none."""
    if model.controllers:
        return f"{model.controllers[0].title} is a Python control law that reads the coordinates"
    if model.rigid:
        return f"{model.rigid[0].title} is a rigid contact"
    if model.canonical_constraints:
        return f"the constraint '{model.canonical_constraints[0].name}' is a constraint on momenta"
    for name in attitude.coordinates:
        if name in model.non_ideal_forces:
            return f"the non-ideal force on '{name}' acts on it"
    for element in (*model.loads, *model.contacts):
        if any(attitude.contains_motion(*motion) for motion in element.in_joints):
            return f"{element.title} acts on one of them"
    for rotor in model.rotors:
        if attitude.contains_motion(rotor.body, rotor.joint, rotor.motion):
            return f"{rotor.title} rotates with one of them"
    symbols = {each.name for name in attitude.coordinates for each in (coordinate(name), rate(name))}
    for title, formula in _formulas(model, attitude):
        if symbols & {str(each) for each in formula.free_symbols}:
            return f"{title} contains one of them"
    return None


def _formulas(model: Description, attitude: Attitude) -> Iterator[tuple[str, Formula]]:
    """Every formula that may contain a coordinate, with its element; those of the angles and speeds are left out."""
    for body in model.bodies:
        for k, joint in enumerate(body.joints):
            own = body.name == attitude.body and k in attitude.joints
            values = joint.values[: attitude.leading] if own else joint.values
            yield from ((f"joint {k} of body '{body.name}'", each) for each in values)
    yield from ((f"the constraint '{c.name}'", c.formula) for c in model.formula_constraints)
    yield from ((load.title, formula) for load in model.loads for formula in load.formulas)
    yield from ((f"the non-ideal force on '{name}'", f) for name, f in model.non_ideal_forces.items())
    for event in model.events:
        reset = (rate(name) for name in event.reset)
        yield from ((event.title, f) for f in (event.when, *event.set.values(), *event.reset.values(), *reset))


def in_chart(model: Description, sequences: Mapping[Attitude, str]) -> Description:
    """The model with other axis sequences for some attitudes; the initial state is the same."""
    q, qd = model.initial
    names, bodies = model.coordinate_names, {body.name: body for body in model.bodies}
    for attitude, sequence in sequences.items():
        rows = [names.index(name) for name in attitude.coordinates]
        user, other = angles_of(model, attitude, model.parameter_values), sequence_angles(sequence)
        angles = other.angles(user.rotation(q[rows]), 1.0)
        qd[rows] = solved(other.columns(angles), user.columns(q[rows]) @ qd[rows])
        q[rows] = angles
        bodies[attitude.body] = _in_chart(bodies[attitude.body], attitude, sequence)
    starts = zip(model.generalized_coordinates, q.tolist(), qd.tolist(), strict=True)
    named = {
        each.name for attitude in sequences for name in attitude.coordinates for each in (coordinate(name), rate(name))
    }
    speeds = (u for u in model.generalized_speeds if not named & {str(each) for each in u.value.free_symbols})
    return model.replaced(
        bodies=tuple(bodies[body.name] for body in model.bodies),
        generalized_coordinates=tuple(replace(each, start=x, start_rate=v) for each, x, v in starts),
        generalized_speeds=tuple(speeds),  # those that contain none of the angles
    )


def _in_chart(body: Body, attitude: Attitude, sequence: str) -> Body:
    joints = list(body.joints)
    for k, joint in ((k, joints[k]) for k in attitude.joints):
        if isinstance(joint, Free):
            assert isinstance(joint.attitude, Spherical)
            joints[k] = replace(joint, attitude=replace(joint.attitude, sequence=sequence))
        elif isinstance(joint, Spherical):
            joints[k] = replace(joint, sequence=sequence)
        else:
            index = attitude.joints.index(k)
            here = {"rotation": HERE} if index else {}
            joints[k] = replace(joint, axis=UNITS[sequence[index]], **here)
    return replace(body, joints=tuple(joints))
