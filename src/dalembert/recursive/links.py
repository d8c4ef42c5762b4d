"""The links in motion at one state (or a batch of states), over any algebra: what all recursions start from.

Everything stands in axes of the link and refers to the origin O of its frame, as in section 3.1 of papers/denoc:

    t = [ω; v]            twist of a link                                (1), with v of O instead of the mass centre
    t_i = A_ij t_j + P θ̇   from the parent j to the link i                (36a)
    A_ij                  twist propagation, 6×6                         (36b), with the change of axes R
    P                     joint-rate propagation, 6×k: Ω above L         (36b), for a joint of any kind
    M_i                   mass matrix of a link about O, 6×6             (47b)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, matrix, scaled, vector, zeros
from dalembert.expressions.lower import Lowering
from dalembert.kinematics.motion import values as symbol_values
from dalembert.recursive.speeds import part_rates, to_rates, to_second_rates
from dalembert.recursive.tree import Link, Tree, Value, rate_name, value_name
from dalembert.spatial import roll_pitch_yaw, skew


@dataclass(frozen=True)
class Fixture:
    """What does not change with the state: the placement of a link's joint on its parent, its mass and its rotors."""

    R_PF: Array
    p_PF: Array
    mass: Scalar
    moment: Array  # m d: mass times the place of the mass centre from O
    inertia: Array  # about O
    armature: Array  # inertia × ratio² of the rotor of each motion


@dataclass(frozen=True)
class MovingLink:
    """A link with all facts that the recursions need."""

    parent: int
    speeds: tuple[int, ...]
    fixture: Fixture
    R: Array  # R_PM, from link axes to axes of the parent
    p: Array  # p_PM, the origin in axes of the parent
    about: Array  # Ω: 3×k
    along: Array  # L: 3×k
    G: Array  # θ̇ = G s + ...: k×len(speeds)
    rates: Array  # θ̇
    drift: Array  # θ̈ at ṡ = 0
    turning: Array  # Ω̇ θ̇ above L̇ θ̇: 6

    @cached_property
    def A(self) -> Array:
        """The twist propagation from the parent, (36b): [Rᵀ 0; −Rᵀ p× Rᵀ]."""
        Rt = self.R.T
        return _blocks(Rt, zeros(3, 3), -(Rt @ skew(self.p)), Rt)

    @cached_property
    def N(self) -> Array:
        """P G: the twist for unit speeds, 6×len(speeds)."""
        return np.concatenate([self.about, self.along]) @ self.G if self.speeds else zeros(6, 0)

    @cached_property
    def rotors(self) -> Array:
        """What the rotors add to the inertia matrix at the link's speeds: Gᵀ diag(armature) G."""
        weighted = matrix([[a * g for g in row] for a, row in zip(self.fixture.armature, self.G, strict=True)])
        return self.G.T @ weighted if len(weighted) else zeros(len(self.speeds), len(self.speeds))

    @property
    def M(self) -> Array:
        """The mass matrix about O, (47b)."""
        fixture = self.fixture
        arm = skew(fixture.moment)
        return _blocks(fixture.inertia, arm, -arm, _diagonal(fixture.mass))


@dataclass(frozen=True)
class Moving:
    """A tree in motion."""

    tree: Tree
    algebra: Algebra
    lower: Lowering
    gravity: Array
    links: tuple[MovingLink, ...]


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    """[a b; c d]."""
    out = zeros(6, 6)
    out[:3, :3], out[:3, 3:], out[3:, :3], out[3:, 3:] = a, b, c, d
    return out


def _diagonal(x: Scalar) -> Array:
    """x times the 3×3 identity."""
    return matrix([[x if i == j else 0 for j in range(3)] for i in range(3)])


def fixtures(tree: Tree, algebra: Algebra, parameters: Mapping[str, Scalar]) -> tuple[Fixture, ...]:
    """The constant facts of all links, for values of the parameters."""
    lower = Lowering(algebra, dict(parameters))
    return tuple(_fixture(link, algebra, lower) for link in tree.links)


def _fixture(link: Link, algebra: Algebra, lower: Lowering) -> Fixture:
    R = roll_pitch_yaw(algebra, [lower(x) for x in link.joint.rotation])
    p = vector([lower(x) for x in link.joint.position])
    armature = zeros(len(link.values) + (3 if link.attitude else 0))
    for motion, inertia in link.rotors:
        armature[motion] = armature[motion] + lower(inertia)
    if link.body is None:
        return Fixture(R, p, 0, zeros(3), zeros(3, 3), armature)
    m, d = lower(link.body.mass), vector([lower(x) for x in link.body.center])
    about_center = matrix([[lower(x) for x in row] for row in link.body.inertia])
    arm = skew(d)
    shifted = matrix([[m * entry for entry in row] for row in arm @ arm.T])
    return Fixture(R, p, m, scaled(m, d), about_center + shifted, armature)


def moving(
    tree: Tree,
    algebra: Algebra,
    t: Scalar,
    q: Sequence[Scalar],
    s: Sequence[Scalar],
    parameters: Mapping[str, Scalar],
    known: Sequence[Fixture] | None = None,
) -> Moving:
    """A tree in motion at coordinates q and speeds s; `known` saves finding the constant facts again."""
    qd = to_rates(tree, algebra, q, s)
    rest = to_second_rates(tree, algebra, q, s, [0] * tree.n_speeds) if tree.attitudes else zeros(tree.n)
    lower = Lowering(algebra, symbol_values(tree.model, t, q, list(qd), dict(parameters)))
    walk = _Walk(tree, algebra, lower, q, s, rest)
    known = fixtures(tree, algebra, parameters) if known is None else known
    links = tuple(walk.moved(link, fixture) for link, fixture in zip(tree.links, known, strict=True))
    return Moving(tree, algebra, lower, vector([lower(x) for x in tree.model.gravity]), links)


class _Walk:
    """Lowers the formulas of one link after the other."""

    def __init__(
        self, tree: Tree, algebra: Algebra, lower: Lowering, q: Sequence[Scalar], s: Sequence[Scalar], rest: Array
    ) -> None:
        self._tree, self._algebra, self._lower, self._q, self._s, self._rest = tree, algebra, lower, q, s, rest
        self._slopes = {a: part_rates(algebra, a, q) for a in tree.attitudes}
        self._turned = {i: (a, k) for a in tree.attitudes for k, i in enumerate(a.parts)}

    def moved(self, link: Link, fixture: Fixture) -> MovingLink:
        algebra, joint, count = self._algebra, link.joint, len(link.values)
        values = [self._lower(value.value) for value in link.values]
        rates = [self._lower(value.rate) for value in link.values]
        drift = [self._drift(value) for value in link.values]
        G = [self._gradient(value, link.speeds) for value in link.values]
        about, along = zeros(3, 0), zeros(3, 0)
        own = [] if link.attitude is None else [self._q[i] for i in link.attitude.parts]
        R_FM, p_FM = joint.turn(algebra, [*values, *own]), joint.shift(algebra, [*values, *own])
        if count:
            about = joint.angular(algebra, [*values, *own])[:, :count]
            along = R_FM.T @ joint.linear(algebra, [*values, *own])[:, :count]
        if link.attitude is not None:
            first = link.attitude.first
            about = np.concatenate([about, identity(3)], axis=1)
            along = np.concatenate([along, zeros(3, 3)], axis=1)
            rates += list(self._s[first : first + 3])
            drift += [0, 0, 0]
            G += [[1 if speed == first + k else 0 for speed in link.speeds] for k in range(3)]
        R, p = fixture.R_PF @ R_FM, fixture.p_PF + fixture.R_PF @ p_FM
        turning = self._turning(link, values, rates, R_FM)
        gradient = matrix(G) if G else zeros(0, len(link.speeds))
        return MovingLink(
            link.parent, link.speeds, fixture, R, p, about, along, gradient, vector(rates), vector(drift), turning
        )

    def _drift(self, value: Value) -> Scalar:
        """θ̈ at ṡ = 0: q̈ is then zero but for the parts of quaternions."""
        total = self._lower(value.bias)
        for i, slope in value.slopes:
            if i in self._turned:
                total = total + self._lower(slope) * self._rest[i]
        return total

    def _gradient(self, value: Value, speeds: tuple[int, ...]) -> list[Scalar]:
        row: dict[int, Scalar] = dict.fromkeys(speeds, 0)
        for i, formula in value.slopes:
            slope, column = self._lower(formula), self._tree.columns[i]
            if column is not None:
                row[column] = row[column] + slope
            else:
                attitude, part = self._turned[i]
                for k in range(3):
                    at = attitude.first + k
                    row[at] = row[at] + slope * self._slopes[attitude][part, k]
        return list(row.values())

    def _turning(self, link: Link, values: list[Scalar], rates: list[Scalar], R_FM: Array) -> Array:
        if not link.turning:
            return zeros(6)
        known = {value_name(k): x for k, x in enumerate(values)} | {rate_name(k): x for k, x in enumerate(rates)}
        lower = Lowering(self._algebra, known)
        six = vector([lower(formula) for formula in link.turning])
        return np.concatenate([six[:3], R_FM.T @ six[3:]])
