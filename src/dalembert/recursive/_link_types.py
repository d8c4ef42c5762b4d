"""Link types, and the steps of the recursions for a link of one type: `inverse` and `forward` traced over symbols.

In its own frame a link rotates about z, translates along z, does both as a screw, or rotates freely by a quaternion. Its type
also defines the form of the transform from its parent, and whether it has mass and rotors: absent terms are never multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np

from dalembert.codegen.link_sweeps import Location, Storage, SweepStep, step_of
from dalembert.model.joints.base import HERE
from dalembert.model.joints.spherical import Quaternion
from dalembert.recursive._inertias import NO_BODY, Articulated, Rigid
from dalembert.recursive._transforms import (
    NONE,
    UNITS,
    AxisRotationMatrix,
    Matrix,
    Rotation,
    Three,
    Transform,
    absent,
    is_absent,
    plus,
    three,
    times,
)
from dalembert.recursive.forward import ArticulatedBody, FactoredBlock, LinkVelocity, accelerate, block_of, eliminate
from dalembert.recursive.inverse import LinkMotion, effort, newton_euler, propagate
from dalembert.recursive.joint_speeds import part_rates
from dalembert.recursive.link_states import LinkConstants, MotionAxis
from dalembert.recursive.tree import QuaternionIndices
from dalembert.symbolic.algebra_base import Scalar, Scalars, identity, vector
from dalembert.symbolic.floats import to_numeric
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, node

Wrench = tuple[Three, Three]
_UP = UNITS[2]
_BALL = Quaternion(HERE, HERE, (*HERE, HERE[0]))
_MOMENT, _INERTIA = ("h_x", "h_y", "h_z"), tuple(f"I_{k}" for k in range(6))


class MotionType(IntEnum):
    """Motion type of a link."""

    FREE = 0  # rotation by a quaternion
    SCREW = 1
    TRANSLATION = 2
    ROTATION = 3

    @property
    def coordinates(self) -> int:
        """The number of coordinates."""
        return 4 if self is MotionType.FREE else 1

    @property
    def speeds(self) -> int:
        """The number of speeds."""
        return 3 if self is MotionType.FREE else 1


def _motion_type(constants: LinkConstants) -> MotionType:
    if len(constants.axes) == 3:
        return MotionType.FREE
    (axis,) = constants.axes
    if is_absent(axis.about):
        return MotionType.TRANSLATION
    return MotionType.ROTATION if is_absent(axis.along) else MotionType.SCREW


def _angles(transform: Transform) -> list[AxisRotationMatrix | None]:
    """The constant rotations of a transform by γ about z, β about x and φ about z, None where absent."""
    out: list[AxisRotationMatrix | None] = [None, None, None]
    rotations = [rotation for rotation in transform.rotations if isinstance(rotation, AxisRotationMatrix)]
    tilted = any(rotation.axis == 0 for rotation in rotations)
    for rotation in rotations:
        out[1 if rotation.axis == 0 else 0 if tilted and out[1] is None else 2] = rotation
    return out


def _wrench(entries: Scalars) -> Wrench:
    return three(entries[:3]), three(entries[3:])


@dataclass(frozen=True, order=True)
class LinkType:
    """A link type."""

    motion: MotionType
    normal: bool  # the transform is a translation along x and a rotation about x: see `_link_frames`
    massive: bool
    rotors: bool

    @classmethod
    def of(cls, constants: LinkConstants) -> LinkType:
        """The type of a link in its own frame."""
        _, y, z = constants.transform.before
        first, _, _ = _angles(constants.transform)
        normal = first is None and absent(y) and absent(z)
        body, rotors = constants.body, to_numeric(vector(constants.armature))
        massive = to_numeric(vector([body.m, *body.h, *body.inertia])).any()
        return cls(_motion_type(constants), normal, bool(massive), bool(rotors.any()))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its numbers in the table."""
        has_angle = self.motion in (MotionType.ROTATION, MotionType.SCREW)
        out = ["cos β", "sin β", *(["offset"] if has_angle else ["cos φ", "sin φ"]), "x", "d"]
        out += [] if self.normal else ["y", "z", "cos γ", "sin γ"]
        out += ["lead"] if self.motion is MotionType.SCREW else []
        out += [f"armature {k}" for k in range(self.motion.speeds)] if self.rotors else []
        return tuple([*out, "m", *_MOMENT, *_INERTIA] if self.massive else out)

    def numbers(self, constants: LinkConstants) -> np.ndarray:
        """The numbers of a link of this type."""
        transform, body = constants.transform, constants.body
        known: dict[str, Scalar] = {"offset": constants.offset, "d": transform.after[2]}
        for name, rotation in zip("γβφ", _angles(transform), strict=True):
            known |= {
                f"cos {name}": 1 if rotation is None else rotation.c,
                f"sin {name}": 0 if rotation is None else rotation.s,
            }
        known |= dict(zip("xyz", transform.before, strict=True)) | {"m": body.m}
        known |= {f"armature {k}": x for k, x in enumerate(constants.armature)}
        known |= dict(zip(_MOMENT, body.h, strict=True)) | dict(zip(_INERTIA, body.inertia, strict=True))
        if self.motion is MotionType.SCREW:
            known["lead"] = constants.axes[0].along[2]
        return to_numeric(vector([known[name] for name in self.columns]))

    # the link over symbols

    def number(self, name: str) -> Node:
        """The symbol of a number."""
        return Location(Storage.NUMBER, self.columns.index(name)).symbol

    @cached_property
    def body(self) -> Rigid:
        """The rigid body over symbols."""
        if not self.massive:
            return NO_BODY
        inertia = [self.number(name) for name in _INERTIA]
        h = three([self.number(name) for name in _MOMENT])
        return Rigid(self.number("m"), h, tuple(inertia))  # type: ignore[arg-type]

    @cached_property
    def axes(self) -> tuple[MotionAxis, ...]:
        """The motion axes."""
        if self.motion is MotionType.FREE:
            return tuple(MotionAxis(unit, NONE) for unit in UNITS)
        along: dict[MotionType, Three] = {MotionType.TRANSLATION: _UP}
        if self.motion is MotionType.SCREW:
            along[MotionType.SCREW] = (0, 0, self.number("lead"))
        about = NONE if self.motion is MotionType.TRANSLATION else _UP
        return (MotionAxis(about, along.get(self.motion, NONE)),)

    @cached_property
    def armature(self) -> list[Scalar]:
        """The rotor inertias of its motions."""
        return [self.number(f"armature {k}") if self.rotors else 0 for k in range(self.motion.speeds)]

    def transform(self, q: Sequence[Node], angle: tuple[Node, Node] | None) -> Transform:
        """The transform from its parent at coordinates q; `angle` is the cosine and sine of its rotation."""
        rotations: list[Rotation] = (
            [] if self.normal else [AxisRotationMatrix(2, self.number("cos γ"), self.number("sin γ"))]
        )
        rotations.append(AxisRotationMatrix(0, self.number("cos β"), self.number("sin β")))
        rotations.append(
            AxisRotationMatrix(2, *angle)
            if angle
            else AxisRotationMatrix(2, self.number("cos φ"), self.number("sin φ"))
        )
        before = (self.number("x"), 0, 0) if self.normal else three([self.number(name) for name in "xyz"])
        after: Three = (0, 0, self.number("d"))
        if self.motion is MotionType.FREE:
            after = NONE
            rotations.append(Matrix(Quaternion(HERE, HERE, HERE).rotation_matrix(GRAPH, q)))  # type: ignore[arg-type]
        else:
            after = plus(after, times(q[0], self.axes[0].along))
        return Transform(before, tuple(rotations), after)

    def angle(self, q: Sequence[Node]) -> tuple[Node, Node] | None:
        """The cosine and sine of its rotation angle."""
        if self.motion not in (MotionType.ROTATION, MotionType.SCREW):
            return None
        total = q[0] + self.number("offset")
        return GRAPH.function("cos", total), GRAPH.function("sin", total)


class Steps:
    """The steps of one link type. Its rows are coordinates, speeds, `has_inputs` accelerations or forces if any, and results.

    Results are forces or accelerations, preceded by the `rates` of the coordinates if requested.
    """

    def __init__(self, link_type: LinkType, *, has_inputs: bool, rates: bool = False) -> None:
        self._link_type, motion = link_type, link_type.motion
        n, k = motion.coordinates, motion.speeds
        self.rows = n + (3 if has_inputs else 2) * k + (n if rates else 0)
        locations = [Location(Storage.ROW, i) for i in range(self.rows)]
        symbols = [location.symbol for location in locations]
        self._q, self._s = symbols[:n], symbols[n : n + k]
        self._inputs: list[Scalar] = [*symbols[n + k : n + 2 * k]] if has_inputs else [0] * k
        self._results = locations[self.rows - k :]
        self._rates = locations[self.rows - k - n : self.rows - k] if rates else []
        self._has_angle = motion in (MotionType.ROTATION, MotionType.SCREW)
        self._angle = [Location(Storage.LINK, i) for i in range(2 if self._has_angle else 0)]

    # stored values: cosine and sine of the angle, then six more, or as many as forward dynamics needs

    def _storage(self, count: int) -> list[Location]:
        first = len(self._angle)
        return [Location(Storage.LINK, first + i) for i in range(count)]

    @property
    def stored_inverse(self) -> int:
        """The number of values stored by inverse dynamics."""
        return len(self._angle) + (6 if self._link_type.massive else 0)

    @property
    def stored_forward(self) -> int:
        """The number of values stored by forward dynamics."""
        return len(self._angle) + max(6 if self._link_type.massive else 0, len(self._block_storage))

    def outwards(self, *, accelerated: bool) -> SweepStep:
        """ω, ω̇ and v̇, and the inertial wrench (n, f) of the link; accelerations are inputs, or zero."""
        link_type, angle = self._link_type, self._link_type.angle(self._q)
        w, wd, vd = (three([_passed(3 * i + k) for k in range(3)]) for i in range(3))
        inputs: list[Scalar] = self._inputs if accelerated else [0] * link_type.motion.speeds
        motion = propagate(
            link_type.transform(self._q, angle), link_type.axes, vector(self._s), inputs, LinkMotion.of(w, wd, vd)
        )
        out = _all_passed([*motion.w, *motion.wd, *motion.vd])
        out |= _stored(self._angle, angle or ())
        if link_type.massive:
            n, f = newton_euler(link_type.body, motion)
            out |= _stored(self._storage(6), [*n, *f])
        return step_of(out)

    def _wrench(self) -> Wrench:
        """(n, f) of a link with its subtree."""
        own = [location.symbol if self._link_type.massive else 0 for location in self._storage(6)]
        return _wrench([x + _passed(i) for i, x in enumerate(own)])

    def _transform(self) -> Transform:
        """The transform, from the stored cosine and sine."""
        angle = [location.symbol for location in self._angle]
        return self._link_type.transform(self._q, (angle[0], angle[1]) if angle else None)

    def inwards(self, *, accelerated: bool) -> SweepStep:
        """τ from the wrench of the link with its subtree."""
        link_type, (n, f) = self._link_type, self._wrench()
        inputs = self._inputs if accelerated else [0] * link_type.motion.speeds
        driven = zip(link_type.axes, link_type.armature, inputs, strict=True)
        found = [effort(axis, n, f, armature, x) for axis, armature, x in driven]
        n, f = self._transform().wrench_inwards(n, f)
        return step_of(_all_passed([*n, *f]) | _stored(self._results, found))

    # forward dynamics, with the velocity terms in the wrenches of the first sweep, as in (27)

    @cached_property
    def _eliminated(self) -> tuple[FactoredBlock, ArticulatedBody]:
        """The block of D, and the link with its subtree after elimination: (28)-(31)."""
        link_type, (n, f) = self._link_type, self._wrench()
        body = ArticulatedBody(_articulated([_passed(6 + i) for i in range(21)]), n, f)
        if link_type.massive:
            body = replace(body, M=body.M + link_type.body.articulated())
        push = self._inputs
        block = block_of(GRAPH, body, link_type.axes, link_type.armature, push)
        return block, eliminate(body, block, push, _AT_REST)

    @property
    def _block(self) -> list[Scalar]:
        """The entries of the block that the accelerations need."""
        block, _ = self._eliminated
        return [*block.L.ravel(), *(x for row in block.rows for x in row), *block.reduced]

    @property
    def _block_storage(self) -> list[tuple[int, Location]]:
        """Storage of those entries that are not structural constants."""
        used = [i for i, x in enumerate(self._block) if not isinstance(x, int)]
        return [*zip(used, self._storage(len(used)), strict=True)]

    def eliminate(self) -> SweepStep:
        """M̂ and the wrench of the link with its subtree, passed to the parent after elimination of its own motions."""
        _, body = self._eliminated
        body, found = body.inwards(self._transform()), self._block
        out = {location: node(found[i]) for i, location in self._block_storage}
        return step_of(out | _all_passed([*body.n, *body.f, *_entries(body.M)]))

    def accelerate(self) -> SweepStep:
        """ṡ, and the resulting twist rates μ: (32), (33)."""
        link_type, (block, _), entries = self._link_type, self._eliminated, self._block
        for i, location in self._block_storage:
            entries[i] = location.symbol
        k = len(link_type.axes)
        rows = tuple(tuple(entries[k * k + 6 * i : k * k + 6 * i + 6]) for i in range(k))
        L = vector(entries[: k * k]).reshape(k, k)
        block = replace(block, L=L, rows=rows, reduced=tuple(entries[k * k + 6 * k :]))
        parent = _wrench([_passed(i) for i in range(6)])
        (wd, vd), found = accelerate(GRAPH, self._transform(), link_type.axes, block, _AT_REST, parent)
        return step_of(_all_passed([*wd, *vd]) | _stored(self._results, list(found)) | self._coordinate_rates())

    def _coordinate_rates(self) -> dict[Location, Node]:
        """q̇ = H(q) s, if requested."""
        if not self._rates:
            return {}
        free = self._link_type.motion is MotionType.FREE
        H = part_rates(GRAPH, QuaternionIndices("", _BALL, (0, 1, 2, 3), 0), self._q) if free else identity(1)
        return _stored(self._rates, list(H @ vector(self._s)))


_AT_REST = LinkVelocity(NONE, (0, 0, 0, 0, 0, 0), NONE, NONE)


def _passed(i: int) -> Node:
    return Location(Storage.PASSED, i).symbol


def _all_passed(values: Scalars) -> dict[Location, Node]:
    return {Location(Storage.PASSED, i): node(x) for i, x in enumerate(values)}


def _stored(locations: Sequence[Location], values: Scalars) -> dict[Location, Node]:
    return {location: node(x) for location, x in zip(locations, values, strict=True)}


def _articulated(x: Scalars) -> Articulated:
    return Articulated(tuple(x[:6]), tuple(three(x[6 + 3 * a : 9 + 3 * a]) for a in range(3)), tuple(x[15:]))  # type: ignore[arg-type]


def _entries(M: Articulated) -> list[Scalar]:
    return [*M.inertia, *(x for row in M.H for x in row), *M.M]
