"""Where the bodies are, in the declaration's own words: a walk that shares no line with `kinematics`.

Only positions are made here. Each joint says in its own file how it carries its child (`displaced`), by the rotations of
`model/reference_model` and not by the matrices that `kinematics` takes: a joint, a placement or a rotation that is wrong there is
seen as a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.model.description import Elements
from dalembert.model.reference_model import Place, turned
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@dataclass(frozen=True)
class Places:
    """Where all bodies of a model are, over one algebra."""

    model: Elements
    algebra: Algebra
    lower: Lowering
    frames: Mapping[str, Place]
    hinges: Mapping[str, Array]  # where each body hangs: the origin of the last joint that moves it
    first: Lowering  # makes a scalar of a formula in the initial state

    def numbers(self, formulas: Sequence[Formula]) -> Array:
        """Formulas as a vector of scalars."""
        return vector([self.lower(formula) for formula in formulas])

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        """Where a point of a body is; x are formulas, in body axes."""
        return self.frames[body].point(self.numbers(x))

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """How far a joint has moved along one of its motions."""
        return self.lower(self._motion(body, joint, motion))

    def started(self, body: str, joint: int, motion: int) -> Scalar:
        """How far it has moved in the initial state."""
        return self.first(self._motion(body, joint, motion))

    def _motion(self, body: str, joint: int, motion: int) -> Formula:
        return next(b for b in self.model.bodies if b.name == body).joints[joint].values[motion]

    def placed(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> Place:
        """A frame fixed on a body: its origin at `position`, turned by roll, then pitch, then yaw about the body's axes."""
        return _placed(self.algebra, self.frames[body], self.numbers(position), self.numbers(rotation))


def places(model: Elements, algebra: Algebra, values: Mapping[str, Scalar]) -> Places:
    """The places of all bodies, given a scalar for every symbol."""
    lower = Lowering(algebra, values)
    frames, hinges = {WORLD: Place(zeros(3), identity(3))}, {}
    rest = list(model.bodies)
    while rest:
        body = next(b for b in rest if b.parent in frames)
        rest.remove(body)
        at = frames[body.parent]
        for joint in body.joints:
            position, rotation = (vector([lower(x) for x in part]) for part in (joint.position, joint.rotation))
            shift, turn = joint.displaced(algebra, [lower(x) for x in joint.values])
            at = _placed(algebra, at, position, rotation)
            at = Place(at.point(shift), at.R @ turn)
            if joint.values:
                hinges[body.name] = at.p
        frames[body.name] = at
        hinges.setdefault(body.name, at.p)
    start = {TIME.name: 0.0, **{c.name: c.start for c in model.generalized_coordinates}}
    return Places(model, algebra, lower, frames, hinges, Lowering(algebra, {**values, **start}))


def _placed(algebra: Algebra, at: Place, position: Array, rotation: Array) -> Place:
    roll, pitch, yaw = rotation
    R = at.R
    for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)):
        R = R @ turned(algebra, _AXES[axis], angle)
    return Place(at.point(position), R)
