"""Link frames that minimize the operations of a recursion, for links with numeric constants.

The frames of a model are chosen by the user. Here each link has a frame with z along its axis, x along the common normal to the
axis of a child link, and the origin at their intersection, as in Denavit and Hartenberg (papers/denoc, section 2.8) and Khalil
and Kleinfinger (section 6.2). The transform from the parent is then

    before = (d, 0, 0),   a rotation about x by a constant angle α,   a rotation about z by θ + δ,   after = (0, 0, r):

planar rotations and single translations, with integers where axes are parallel or orthogonal. Of several children of one parent,
the others begin with an additional constant rotation about z. Three rotations about one point keep their origins there: see
`forward.Ball`. Links that do not move are merged with their parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.recursive._inertias import Rigid
from dalembert.recursive._transforms import (
    NONE,
    AxisRotationMatrix,
    Matrix,
    Rotation,
    Three,
    Transform,
    absent,
    is_absent,
    three,
)
from dalembert.recursive.link_states import LinkConstants, MotionAxis, link_constants
from dalembert.recursive.tree import Tree
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric
from dalembert.symbolic.rotations import sine_and_cosine

_ROUNDING = 4e-15  # values closer to an integer are rounded to it
_MEETING = 2e-14  # tolerance for the distance of intersecting lines, relative to the distances of the joints
_FARTHEST = 4.0  # maximum distance of an origin, relative to the distances of the joints


@dataclass(frozen=True)
class _Placement:
    """Position of a link on the moving link that carries it, both in frames of the model, and its joint axis."""

    carrier: int
    R: np.ndarray
    p: np.ndarray
    axis: np.ndarray | None  # in axes of the link; None for a quaternion
    rotates: bool
    central: bool  # one of three rotations about a point, where the origin remains


@dataclass(frozen=True)
class _Frame:
    """A frame in a link: its axes as columns, and its origin."""

    Q: np.ndarray
    e: np.ndarray


def aligned_constants(tree: Tree, parameters: Mapping[str, float]) -> tuple[LinkConstants, ...]:
    """The constant data of all moving links in their own frames.

    >>> from dalembert.model.model import Model
    >>> model = Model("arm").coordinates("a", "b")
    >>> _ = model.body("upper", joint=model.revolute((1, 0, 0), "a"), mass=1)
    >>> _ = model.body("lower", parent="upper", joint=model.revolute((0, 1, 0), "b", position=(0, 0, 2)), mass=1)
    >>> from dalembert.recursive.tree import tree_of
    >>> [constants.transform.before for constants in aligned_constants(tree_of(model), {})]
    [(0, 0, 0), (2.0, 0, 0)]
    """
    raw, placements = _merged(link_constants(tree, FLOATS, dict(parameters)))
    children: dict[int, list[int]] = {}
    for i, placement in enumerate(placements):
        children.setdefault(placement.carrier, []).append(i)
    frames = [_frame(placement, [placements[c] for c in children.get(i, [])]) for i, placement in enumerate(placements)]
    world = _Frame(np.eye(3), np.zeros(3))
    carriers = [frames[placement.carrier] if placement.carrier >= 0 else world for placement in placements]
    branched = [i in children for i in range(len(raw))]
    return tuple(map(_constants_of, raw, placements, frames, carriers, branched))


def _merged(raw: Sequence[LinkConstants]) -> tuple[list[LinkConstants], list[_Placement]]:
    """The moving links, each with the bodies fixed to it, and their positions."""
    links, placements = list[LinkConstants](), list[_Placement]()
    carriers = list[tuple[int, np.ndarray, np.ndarray]]()  # for each link its moving link, and its pose on it
    for constants in raw:
        carrier, R, p = (-1, np.eye(3), np.zeros(3)) if constants.parent < 0 else carriers[constants.parent]
        R, p = R @ constants.transform.R.astype(float), p + R @ constants.transform.p.astype(float)
        if constants.axes:
            carriers.append((len(links), np.eye(3), np.zeros(3)))
            links.append(constants)
            central = sum(step.about is not None for step in constants.link.joint.steps) == 3
            placements.append(_Placement(carrier, R, p, *_axis(constants.axes), central))
            continue
        carriers.append((carrier, R, p))
        if carrier >= 0:
            more = constants.body.inwards(Transform(_three(p), (Matrix(R),), NONE))
            links[carrier] = replace(links[carrier], body=links[carrier].body + more)
    return links, placements


def _axis(axes: Sequence[MotionAxis]) -> tuple[np.ndarray | None, bool]:
    if len(axes) != 1:
        return None, True
    (axis,) = axes
    rotates = not is_absent(axis.about)
    found = to_numeric(vector(axis.about if rotates else axis.along))
    return found / np.linalg.norm(found), rotates


def _frame(placement: _Placement, children: Sequence[_Placement]) -> _Frame:
    """The frame of a link: z along its axis, x chosen for the first child axis."""
    if placement.axis is None:
        return _Frame(np.eye(3), np.zeros(3))
    child = next((each for each in children if each.axis is not None), None)
    if child is None or child.axis is None:
        return _Frame(_basis(placement.axis, np.zeros(3)), np.zeros(3))
    a, u, p = placement.axis, child.R @ child.axis, child.p
    normal, along = np.cross(a, u), float(a @ p)
    size = float(np.linalg.norm(normal))
    if placement.central:
        return _Frame(_basis(a, normal if size > _ROUNDING else p), np.zeros(3))
    if size > _ROUNDING:
        foot = float(np.cross(p, u) @ normal) / size**2
        near = abs(foot) <= _FARTHEST * float(np.linalg.norm(p))
        return _Frame(_basis(a, normal), a * (foot if near else along))
    return _Frame(_basis(a, p - along * a), a * along)


def _basis(z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Axes with this z, and x along the component of a direction orthogonal to it if there is one."""
    x = x - (x @ z) * z
    if float(np.linalg.norm(x)) <= _ROUNDING:
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return _snapped(np.stack([x, np.cross(z, x), z], axis=1))


def _snapped(values: np.ndarray) -> np.ndarray:
    rounded = np.round(values)
    return np.where(np.abs(values - rounded) <= _ROUNDING, rounded, values)


def _three(values: np.ndarray) -> Three:
    """Three numbers; those that are zero within rounding become absent."""
    size = float(np.abs(values).max())
    return three(vector([0 if abs(x) <= _MEETING * max(size, 1e-300) else float(x) for x in values]))


def _constants_of(
    constants: LinkConstants, placement: _Placement, frame: _Frame, carrier: _Frame, has_children: bool
) -> LinkConstants:
    body = _in_frame(constants.body, frame)
    C, p = carrier.Q.T @ placement.R, carrier.Q.T @ (placement.p - carrier.e)
    if placement.axis is None:
        rotations, last = _factors(C)
        transform = Transform(_three(p), (*rotations, *_planar(2, last)), NONE)
        return replace(constants, parent=placement.carrier, transform=transform, body=body)
    rotations, last = _factors(C @ frame.Q)
    # a point of the axis, relative to the origin of the parent, with as few nonzero numbers as possible
    u = C @ placement.axis
    shift = 0.0 if placement.central else _nearest(p, u)
    offset = float(frame.e @ placement.axis) - shift
    if not has_children:
        body, offset = _in_frame(constants.body, replace(frame, e=placement.axis * shift)), 0.0
    after: Three = (0, 0, 0 if abs(offset) <= _MEETING * float(np.linalg.norm(p)) else offset)
    (axis,) = constants.axes
    about: Three = (0, 0, 1) if placement.rotates else NONE
    lead = float(to_numeric(vector(axis.along)) @ placement.axis)
    along: Three = (0, 0, 1 if lead == 1 else lead) if lead else NONE
    rotations = rotations if placement.rotates else (*rotations, *_planar(2, last))
    transform = Transform(_three(p + shift * u), rotations, after)
    axes, offset = (MotionAxis(about, along),), last if placement.rotates else 0
    return replace(constants, parent=placement.carrier, transform=transform, axes=axes, body=body, offset=offset)


def _nearest(p: np.ndarray, u: np.ndarray) -> float:
    """The distance along u from p that gives the position few components."""
    if abs(u[0]) <= _ROUNDING and abs(p[1] * u[2] - p[2] * u[1]) <= _MEETING * float(np.linalg.norm(p)):
        return -float(p @ u)  # the x axis intersects the line: it is the common normal
    k = int(np.argmax(np.abs(u)))
    return -float(p[k] / u[k])


def _in_frame(body: Rigid, frame: _Frame) -> Rigid:
    """Transform a body from the frame of the model to another frame of the same link."""
    Qt = frame.Q.T
    return body.inwards(Transform(_three(-Qt @ frame.e), () if (Qt == np.eye(3)).all() else (Matrix(Qt),), NONE))


def _factors(C: np.ndarray) -> tuple[tuple[Rotation, ...], float]:
    """C as rotations about z and x, and a final angle about z."""
    C = _snapped(C)
    sine = float(np.hypot(C[0, 2], C[1, 2]))
    if sine <= _ROUNDING:
        flipped = C[2, 2] < 0
        last = float(np.arctan2(-C[0, 1], C[0, 0]))
        return ((AxisRotationMatrix(0, -1, 0),) if flipped else ()), last
    if abs(C[0, 2]) <= _ROUNDING:  # no first rotation: x is the common normal
        return _planar(0, float(np.arctan2(-C[1, 2], C[2, 2]))), float(np.arctan2(-C[0, 1], C[0, 0]))
    first = float(np.arctan2(C[0, 2], -C[1, 2]))
    middle = float(np.arctan2(sine, C[2, 2]))
    return (*_planar(2, first), *_planar(0, middle)), float(np.arctan2(C[2, 0], C[2, 1]))


def _planar(axis: int, angle: float) -> tuple[Rotation, ...]:
    """A constant rotation about a coordinate axis, empty if the angle is zero; quarter turns are exact."""
    near = round(angle / (np.pi / 2)) * np.pi / 2
    s, c = sine_and_cosine(FLOATS, near if abs(angle - near) <= _ROUNDING else angle)
    return () if absent(s) and c == 1 else (AxisRotationMatrix(axis, c, s),)
