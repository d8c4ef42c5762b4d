"""The tree of a model: one link for every motion of a joint, with the formulas of the motions differentiated once.

A joint of several motions is a sequence of links with one rotation or translation each, as modeled in section 2.1 of
papers/denoc: translations first, then rotations about axes that intersect in a point. A body may also have a sequence of joints.
All links except the last are massless, coincide with their parent and cost almost nothing. A quaternion is one link that rotates
freely. Velocities of the recursions are speeds s: the rate of every ordinary coordinate, and instead of the four components of a
quaternion the angular velocity of its joint in axes of the moved frame.

    θ      values of a link's joint           f(q, t), usually one coordinate each
    θ̇      (∂f/∂q) q̇ + ∂f/∂t                  with q̇ = H(q) s
    θ̈      (∂f/∂q) q̈ + the remainder at q̈ = 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.errors import InputError
from dalembert.mechanics.motion import topological_order
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.joints.base import HERE, Joint, MotionAxes
from dalembert.model.joints.fixed import Fixed
from dalembert.model.values import WORLD, Vector3
from dalembert.symbolic.symbols import TIME, Formula, coordinate, rate
from dalembert.symbolic.symengine_algebra import slope


@dataclass(frozen=True)
class QuaternionIndices:
    """A quaternion: the indices of its components among the coordinates, and of its angular velocity among the speeds."""

    name: str
    joint: Joint
    parts: tuple[int, int, int, int]  # w, x, y, z
    first: int


@dataclass(frozen=True)
class JointMotionFormulas:
    """One motion of a joint as formulas: f(q, t), ∂f/∂q by coordinate, ∂f/∂t, its rate, and its second rate at q̈ = 0."""

    value: Formula
    gradient: tuple[tuple[int, Formula], ...]
    drift: Formula
    rate: Formula
    bias: Formula


@dataclass(frozen=True)
class Link:
    """A frame moved by one motion of a joint, carried by the link `parent` (−1 is the world).

    The motion is the rotation or translation `step` by `value`, or that of an `attitude`, or none. `speeds` lists the speeds that
    move it. `position` and `rotation` give the frame on the parent at zero; both are zero except for the first motion of a joint.
    """

    name: str
    parent: int
    joint: Joint
    position: Vector3
    rotation: Vector3
    joint_motion: tuple[str, int, int]  # the body, the index of its joint, and the index of the motion
    body: Body | None  # None for all links of a body except the last
    step: MotionAxes
    value: JointMotionFormulas | None
    attitude: QuaternionIndices | None
    speeds: tuple[int, ...]
    rotors: tuple[tuple[int, Formula], ...]  # index of the motion, inertia × ratio²

    @property
    def motions(self) -> int:
        """The number of motions: 1, or 3 for an attitude, or 0."""
        return 3 if self.attitude is not None else int(self.value is not None)


@dataclass(frozen=True)
class Tree:
    """The links of a model, parents before children, and its speeds."""

    model: Elements
    links: tuple[Link, ...]
    attitudes: tuple[QuaternionIndices, ...]

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.model.generalized_coordinates)

    @property
    def n_speeds(self) -> int:
        """The number of speeds: one less than coordinates for each quaternion."""
        return self.n - len(self.attitudes)

    @cached_property
    def columns(self) -> tuple[int | None, ...]:
        """For each coordinate the speed that is its rate; None for the components of quaternions."""
        return _columns(self.n, self.attitudes)

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """The names of the speeds: `dot(theta)`, or `omega_x(body)` for the angular velocity of a quaternion."""
        out = [""] * self.n_speeds
        for name, column in zip(self.model.coordinate_names, self.columns, strict=True):
            if column is not None:
                out[column] = rate(name).name
        for attitude in self.attitudes:
            for k, axis in enumerate("xyz"):
                out[attitude.first + k] = f"omega_{axis}({attitude.name})"
        return tuple(out)

    @cached_property
    def values(self) -> dict[tuple[str, int, int], JointMotionFormulas]:
        """The motions by body, index of the joint and index of the motion."""
        return {link.joint_motion: link.value for link in self.links if link.value is not None}

    @cached_property
    def decoupled(self) -> bool:
        """True if every speed moves only one link, and every link has one speed per motion: links are eliminated one by one."""
        used = [speed for link in self.links for speed in link.speeds]
        return len(used) == len(set(used)) and all(len(link.speeds) in (0, link.motions) for link in self.links)


def tree_of(model: Elements) -> Tree:
    """The links of a model.

    >>> from dalembert.model.model import Model
    >>> model = Model("arm").coordinates("a", "b")
    >>> _ = model.body("hand", joint=[model.revolute((0, 0, 1), "a"), model.prismatic((1, 0, 0), "b")], mass=1)
    >>> [(link.name, link.parent) for link in tree_of(model).links]
    [('hand, joint 0', -1), ('hand', 0)]
    """
    if model.energies is not None:
        raise InputError(
            f"model '{model.name}' is defined by energies. Expected bodies: recursive algorithms need bodies and joints. "
            "Describe the system by bodies and joints, or derive its equations with `dl.derive`."
        )
    attitudes = _attitudes(model)
    indices = {name: i for i, name in enumerate(model.coordinate_names)}
    builder = _LinkBuilder(model, attitudes, _columns(len(indices), attitudes), indices)
    last_link, links = {WORLD: -1}, []
    for body in topological_order(model):
        parent = last_link[body.parent]
        joints = body.joints or (Fixed(HERE, HERE),)
        for index, joint in enumerate(joints):
            links += builder.links(body, index, joint, parent, len(links), last=index == len(joints) - 1)
            parent = len(links) - 1
        last_link[body.name] = parent
    return Tree(model, tuple(links), attitudes)


def _attitudes(model: Elements) -> tuple[QuaternionIndices, ...]:
    """The quaternions in the order of their components w among the coordinates."""
    indices = {name: i for i, name in enumerate(model.coordinate_names)}
    found: dict[tuple[int, ...], tuple[str, Joint]] = {}
    for body in model.bodies:
        for index, joint in enumerate(body.joints):
            if joint.quaternion:
                several = sum(other.quaternion for other in body.joints) > 1
                name = f"{body.name}, joint {index}" if several else body.name
                found.setdefault(tuple(indices[part.name] for part in joint.values[-4:]), (name, joint))
    parts = [part for group in found for part in group]
    if len(parts) != len(set(parts)):
        shared = next(model.coordinate_names[part] for part in parts if parts.count(part) > 1)
        raise InputError(
            f"model '{model.name}': coordinate '{shared}' belongs to two different quaternions. "
            "Expected four separate coordinates for every quaternion. Declare more coordinates."
        )
    out: list[QuaternionIndices] = []
    for group, (name, joint) in sorted(found.items()):
        w, x, y, z = group
        before = sum(1 for i in range(w) if i not in parts) + 3 * sum(1 for other in found if other[0] < w)
        out.append(QuaternionIndices(name, joint, (w, x, y, z), before))
    return tuple(out)


def _columns(n: int, attitudes: Sequence[QuaternionIndices]) -> tuple[int | None, ...]:
    quaternion_parts = {part for attitude in attitudes for part in attitude.parts}
    first = {attitude.parts[0] for attitude in attitudes}
    out: list[int | None] = []
    column = 0
    for i in range(n):
        out.append(None if i in quaternion_parts else column)
        column += 3 if i in first else 0 if i in quaternion_parts else 1
    return tuple(out)


@dataclass(frozen=True)
class _LinkBuilder:
    """Creates the links of a model."""

    model: Elements
    attitudes: tuple[QuaternionIndices, ...]
    columns: tuple[int | None, ...]
    indices: Mapping[str, int]  # indices of the coordinates, by name

    def links(self, body: Body, index: int, joint: Joint, parent: int, first: int, *, last: bool) -> list[Link]:
        """The links of one joint; `first` is the index of the first one."""
        attitude = self._attitude(joint)
        motions: list[tuple[int | None, MotionAxes]] = [*_order(joint)]
        if attitude is not None:
            motions.append((len(joint.values) - 4, MotionAxes()))
        out: list[Link] = []
        for k, (motion, step) in enumerate(motions or [(None, MotionAxes())]):
            final, followed = k == max(len(motions) - 1, 0), [later for later, _ in motions[k + 1 :]]
            own_attitude = attitude if final else None
            value = None if motion is None or own_attitude is not None else _value(self.indices, joint.values[motion])
            out.append(
                Link(
                    _link_name(body, index, joint, motion, final=final, last=last),
                    first + k - 1 if k else parent,
                    joint,
                    HERE if k else joint.position,
                    HERE if k else joint.rotation,
                    (body.name, index, -1 if motion is None else motion),
                    body if last and final else None,
                    step,
                    value,
                    own_attitude,
                    self._speeds(value, own_attitude),
                    () if motion in followed else self._rotors(body, index, motion, own_attitude),
                )
            )
        return out

    def _rotors(
        self, body: Body, index: int, motion: int | None, own_attitude: QuaternionIndices | None
    ) -> tuple[tuple[int, Formula], ...]:
        """The rotors on the motions of a link: its own motion, or also the following ones if it rotates freely."""
        own = range(0) if motion is None else range(motion, motion + (3 if own_attitude is not None else 1))
        return tuple(
            (rotor.motion - own.start, rotor.inertia * rotor.ratio**2)
            for rotor in self.model.rotors
            if (rotor.body, rotor.joint) == (body.name, index) and rotor.motion in own
        )

    def _attitude(self, joint: Joint) -> QuaternionIndices | None:
        """The quaternion of a joint."""
        if not joint.quaternion:
            return None
        names = [part.name for part in joint.values[-4:]]
        return next(a for a in self.attitudes if names == [self.model.coordinate_names[i] for i in a.parts])

    def _speeds(self, value: JointMotionFormulas | None, own: QuaternionIndices | None) -> tuple[int, ...]:
        """The speeds that move a link."""
        own_attitude = set() if own is None else {own}
        found: set[int] = set()
        for i in (i for i, _ in (value.gradient if value is not None else ())):
            column = self.columns[i]
            if column is None:
                own_attitude.add(next(a for a in self.attitudes if i in a.parts))
            else:
                found.add(column)
        return tuple(sorted(found | {a.first + k for a in own_attitude for k in range(3)}))


def _order(joint: Joint) -> list[tuple[int, MotionAxes]]:
    """The motions of a joint in the order of its links: translations along axes of F, then rotations.

    A screw motion is one link if it translates along its rotation axis, and two links with the same value otherwise.
    """
    steps = list(enumerate(joint.steps))[: len(joint.values) - 4 if joint.quaternion else None]
    translations, rotations = list[tuple[int, MotionAxes]](), list[tuple[int, MotionAxes]]()
    for k, step in steps:
        if step.about is None:
            translations.append((k, step))
        elif step.along is None or (not rotations and _parallel(step.about, step.along)):
            rotations.append((k, step))
        else:
            translations.append((k, MotionAxes(None, step.along)))
            rotations.append((k, MotionAxes(step.about, None)))
    return translations + rotations


def _parallel(axis: Sequence[object], direction: Sequence[object]) -> bool:
    a, b = np.array(axis, dtype=float), np.array(direction, dtype=float)
    return bool(np.linalg.norm(np.cross(a, b)) <= 1e-12 * np.linalg.norm(a) * np.linalg.norm(b))


def _link_name(body: Body, index: int, joint: Joint, motion: int | None, *, final: bool, last: bool) -> str:
    name = body.name if last else f"{body.name}, joint {index}"
    return name if final or motion is None else f"{name}, {joint.motions[motion]}"


def _value(indices: Mapping[str, int], formula: Formula) -> JointMotionFormulas:
    gradient = tuple((indices[name], slope(formula, coordinate(name))) for name in _used(formula, indices))
    velocity = _along(formula, indices)
    return JointMotionFormulas(formula, gradient, slope(formula, TIME), velocity, _along(velocity, indices))


def _used(f: Formula, indices: Mapping[str, int]) -> list[str]:
    """The coordinates in a formula, in their order."""
    return sorted((symbol.name for symbol in f.free_symbols if symbol.name in indices), key=indices.__getitem__)


def _along(f: Formula, indices: Mapping[str, int]) -> Formula:
    """∂f/∂t + (∂f/∂q) q̇."""
    return sum((slope(f, coordinate(name)) * rate(name) for name in _used(f, indices)), start=slope(f, TIME))
