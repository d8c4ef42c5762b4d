"""The links in motion at one state (or a batch of states), over any algebra: the input of all recursions.

Everything is in axes of the link and refers to the origin O of its frame, as in section 3.1 of papers/denoc:

    t = [ω; v]            twist of a link                                (1), with v of O instead of the mass center
    t_i = A_ij t_j + P θ̇   from the parent j to the link i                (36a)
    A_ij                  twist propagation                              (36b), with the change of axes: a `Transform`
    P                     joint-rate propagation: angular above linear   (36b), constant in axes of the link
    M_i                   mass matrix of a link about O                  (47b): a `Rigid`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.mechanics.motion import values as symbol_values
from dalembert.recursive._inertias import NO_BODY, Rigid, six, symmetric
from dalembert.recursive._transforms import (
    NONE,
    UNITS,
    AxisRotationMatrix,
    Matrix,
    Rotation,
    Three,
    Transform,
    is_absent,
    plus,
    three,
    times,
)
from dalembert.recursive.joint_speeds import part_rates, to_rates, to_second_rates
from dalembert.recursive.tree import JointMotionFormulas, Link, Tree
from dalembert.symbolic.algebra_base import Algebra, Array, Parameters, Scalar, Scalars, matrix, vector, zeros
from dalembert.symbolic.rotations import about_axis, sine_and_cosine, skew
from dalembert.symbolic.symbols import Lowering


@dataclass(frozen=True)
class MotionAxis:
    """The twist of a link per unit of a motion, in axes of the link: a column of P, (36b)."""

    about: Three
    along: Three


@dataclass(frozen=True)
class LinkConstants:
    """State-independent data: transform of a link from its parent at the zero position, motion axes, mass and rotors."""

    link: Link
    parent: int
    transform: Transform
    axes: tuple[MotionAxis, ...]
    body: Rigid
    armature: tuple[Scalar, ...]  # inertia × ratio² of the rotor of each motion
    offset: float = 0  # added to its rotation angle


@dataclass(frozen=True)
class MovingLink:
    """A link with all data that the recursions need."""

    constants: LinkConstants
    transform: Transform
    G: Array  # θ̇ = G s + ...: motions × len(speeds)
    rates: Array  # θ̇
    drift: Array  # θ̈ at ṡ = 0

    @property
    def parent(self) -> int:
        """The link that carries it, −1 for the world."""
        return self.constants.parent

    @property
    def speeds(self) -> tuple[int, ...]:
        """The speeds that move it."""
        return self.constants.link.speeds

    @property
    def about(self) -> Array:
        """Ω: 3×motions."""
        return _beside([axis.about for axis in self.constants.axes])

    @property
    def along(self) -> Array:
        """L: 3×motions."""
        return _beside([axis.along for axis in self.constants.axes])

    @property
    def A(self) -> Array:
        """The twist propagation from the parent as a matrix, (36b): [Rᵀ 0; −Rᵀ p× Rᵀ]."""
        Rt = self.transform.R.T
        return _blocks(Rt, zeros(3, 3), -(Rt @ skew(self.transform.p)), Rt)

    @property
    def N(self) -> Array:
        """P G: the twist for unit speeds, 6×len(speeds)."""
        return np.concatenate([self.about, self.along]) @ self.G if self.speeds else zeros(6, 0)

    @property
    def M(self) -> Array:
        """The mass matrix about O, (47b)."""
        return mass_matrix_6x6(self.constants.body)


@dataclass(frozen=True)
class Moving:
    """A tree in motion."""

    tree: Tree
    algebra: Algebra
    lower: Lowering
    gravity: Array
    links: tuple[MovingLink, ...]


def _beside(columns: Sequence[Three]) -> Array:
    return matrix(columns).T if columns else zeros(3, 0)


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    """[a b; c d]."""
    return np.concatenate([np.concatenate([a, b], axis=1), np.concatenate([c, d], axis=1)])


def mass_matrix_6x6(body: Rigid) -> Array:
    """The 6×6 mass matrix of a body about the origin of its axes, (47b)."""
    parts = body.articulated()
    H = matrix(parts.H)
    return _blocks(symmetric(parts.inertia), H, H.T, symmetric(parts.M))


def link_constants(tree: Tree, algebra: Algebra, parameters: Parameters) -> tuple[LinkConstants, ...]:
    """The constant data of all links in the frames of the model, for these parameter values."""
    lower = Lowering(algebra, dict(parameters))
    return tuple(_constants_of(link, algebra, lower) for link in tree.links)


def _constants_of(link: Link, algebra: Algebra, lower: Lowering) -> LinkConstants:
    translation = _three([lower(x) for x in link.position], algebra)
    rotations: list[Rotation] = []
    for axis, formula in zip((2, 1, 0), reversed(link.rotation), strict=True):
        angle = lower(formula)
        if not algebra.is_zero(angle):
            s, c = sine_and_cosine(algebra, angle)
            rotations.append(AxisRotationMatrix(axis, c, s))
    armature: list[Scalar] = [0] * link.motions
    for motion, inertia in link.rotors:
        armature[motion] = armature[motion] + lower(inertia)
    transform = Transform(translation, tuple(rotations), NONE)
    return LinkConstants(link, link.parent, transform, _axes(link), _body(link, lower), tuple(armature))


def _three(entries: Scalars, algebra: Algebra) -> Three:
    x, y, z = (0 if algebra.is_zero(entry) else entry for entry in entries)
    return (x, y, z)


def _axes(link: Link) -> tuple[MotionAxis, ...]:
    if link.attitude is not None:
        return tuple(MotionAxis(unit, NONE) for unit in UNITS)
    if link.value is None:
        return ()
    about, along = (NONE if axis is None else three(vector(list(axis))) for axis in link.step)
    return (MotionAxis(about, along),)


def _body(link: Link, lower: Lowering) -> Rigid:
    if link.body is None:
        return NO_BODY
    m, d = lower(link.body.mass), vector([lower(x) for x in link.body.center])
    about_center = matrix([[lower(x) for x in row] for row in link.body.inertia])
    arm = skew(d)
    shifted = matrix([[m * entry for entry in row] for row in arm @ arm.T])
    return Rigid(m, three(vector([m * x for x in d])), six(about_center + shifted))


def moving(
    tree: Tree,
    algebra: Algebra,
    t: Scalar,
    q: Scalars,
    s: Scalars,
    parameters: Parameters,
    constants: Sequence[LinkConstants] | None = None,
) -> Moving:
    """A tree in motion at coordinates q and speeds s; `constants` are precomputed."""
    qd = to_rates(tree, algebra, q, s)
    rest = to_second_rates(tree, algebra, q, s, [0] * tree.n_speeds) if tree.attitudes else zeros(tree.n)
    lower = Lowering(algebra, symbol_values(tree.model, t, q, list(qd), dict(parameters)))
    evaluation = _LinkEvaluation(tree, algebra, lower, q, s, rest)
    constants = link_constants(tree, algebra, parameters) if constants is None else constants
    links = tuple(evaluation.moved(link) for link in constants)
    return Moving(tree, algebra, lower, vector([lower(x) for x in tree.model.gravity]), links)


def _rotation(algebra: Algebra, about: Three, angle: Scalar, offset: float) -> Rotation:
    """Rotation by an angle and a constant offset about a numeric unit vector; quarter turns exchange sine and cosine."""
    used = [k for k, x in enumerate(about) if x != 0]
    if len(used) > 1:
        return Matrix(about_axis(algebra, about, angle))  # type: ignore[arg-type]
    quarters = round(offset / (np.pi / 2))
    rest = offset - quarters * np.pi / 2
    s, c = sine_and_cosine(algebra, angle if abs(rest) <= 1e-14 else angle + rest)
    for _ in range(quarters % 4):
        s, c = c, -s
    return AxisRotationMatrix(used[0], c, s if about[used[0]] == 1 else -s)


class _LinkEvaluation:
    """Evaluates the formulas of the links in order."""

    def __init__(self, tree: Tree, algebra: Algebra, lower: Lowering, q: Scalars, s: Scalars, rest: Array) -> None:
        self._tree, self._algebra, self._lower, self._q, self._s, self._rest = tree, algebra, lower, q, s, rest
        self._quaternion_rates = {a: part_rates(algebra, a, q) for a in tree.attitudes}
        self._quaternion_component = {i: (a, k) for a in tree.attitudes for k, i in enumerate(a.parts)}

    def moved(self, constants: LinkConstants) -> MovingLink:
        """One link in motion."""
        link, value = constants.link, constants.link.value
        G, rates, drift, transform = zeros(0, len(link.speeds)), zeros(0), zeros(0), constants.transform
        if link.attitude is not None:
            first = link.attitude.first
            G = matrix([[1 if speed == first + k else 0 for speed in link.speeds] for k in range(3)])
            rates, drift = vector(self._s[first : first + 3]), zeros(3)
            parts = [0] * (len(link.joint.values) - 4) + [self._q[i] for i in link.attitude.parts]
            R = Matrix(link.joint.rotation_matrix(self._algebra, parts))
            transform = replace(transform, rotations=(*transform.rotations, R))
        elif value is not None:
            G = matrix([self._gradient(value, link.speeds)])
            rates, drift = vector([self._lower(value.rate)]), vector([self._drift(value)])
            transform = self._transform_at(constants, self._lower(value.value))
        return MovingLink(constants, transform, G, rates, drift)

    def _transform_at(self, constants: LinkConstants, value: Scalar) -> Transform:
        """The transform to a link at a value of its one motion."""
        (axis,), base = constants.axes, constants.transform
        rotations = base.rotations
        if not is_absent(axis.about):
            rotations = (*rotations, _rotation(self._algebra, axis.about, value, constants.offset))
        return Transform(base.before, rotations, plus(base.after, times(value, axis.along)))

    def _drift(self, value: JointMotionFormulas) -> Scalar:
        """θ̈ at ṡ = 0: q̈ is then zero except for components of quaternions."""
        total = self._lower(value.bias)
        for i, partial in value.gradient:
            if i in self._quaternion_component:
                total = total + self._lower(partial) * self._rest[i]
        return total

    def _gradient(self, value: JointMotionFormulas, speeds: tuple[int, ...]) -> list[Scalar]:
        row: dict[int, Scalar] = dict.fromkeys(speeds, 0)
        for i, formula in value.gradient:
            partial, column = self._lower(formula), self._tree.columns[i]
            if column is not None:
                row[column] = row[column] + partial
            else:
                attitude, part = self._quaternion_component[i]
                for k in range(3):
                    at = attitude.first + k
                    row[at] = row[at] + partial * self._quaternion_rates[attitude][part, k]
        return list(row.values())
