"""Derivatives of the inverse dynamics by the motions: ∂e/∂θ, ∂e/∂θ̇ and ∂e/∂θ̈ by composite bodies, O(n d) for depth d.

e = Pᵀ w̃ are the forces on the motions θ of the links, (25) of papers/denoc. Twists are of a link i in its axes, λ is its parent
extended rigidly, × and ×* are the products of twists with twists and wrenches. Varying a column P of link j by 1 moves the
subtree of j as one rigid body. From t = A t_λ + P θ̇ and (23), with the same variation for everything farther out,

    δt = Ψ̇,   δṫ = Ψ̈ − t × Ψ̇       Ψ̇ = t_λ × P,   Ψ̈ = ṫ_λ × P + t_λ × Ψ̇      for a change of θ,
    δt = P,   δṫ = Σ − t × P         Σ = t_λ × P + t_j × P                     for a change of θ̇,
    δt = 0,   δṫ = P                                                          for a change of θ̈.

The wrench of one body, w = M ṫ + t ×* M t, then varies by δw = M Ψ̈ + B Ψ̇, where B collects the terms in t:

    B [a; b] = ∫ [ρ × (2 a × u); 2 a × u] dm = [(tr Q) a − Q a; a × p],   p = 2 ∫ u dm,   Q = 2 ∫ u ρᵀ dm,

the Coriolis force of a rotation a on the velocities u of the points ρ: 12 numbers, which are additive over bodies like mass. With
M̃, B̃ and w̃ of a link i with its subtree, and j = i or between i and the world,

    ∂e_i/∂θ_j = P_iᵀ (M̃ Ψ̈_j + B̃ Ψ̇_j)                    ∂e_j/∂θ_i = P_jᵀ (M̃ Ψ̈_i + B̃ Ψ̇_i + P_i ×* w̃)    j ≠ i
    ∂e_i/∂θ̇_j = P_iᵀ (M̃ Σ_j + B̃ P_j)                      ∂e_j/∂θ̇_i = P_jᵀ (M̃ Σ_i + B̃ P_i)
    ∂e_i/∂θ̈_j = P_iᵀ M̃ P_j                               (21)

The terms in brackets on the right, M̃ P_i and B̃ᵀ P_i are transformed from i toward the world like wrenches. No force depends on
a common translation of the tree: velocities are relative to that of its first prismatic joints, so those of a free base vanish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dalembert.recursive._inertias import NO_BODY, Rigid, Rows, rotate_rows
from dalembert.recursive._transforms import NONE, Three, Transform, absent, crossed, dot, is_absent, plus, times
from dalembert.recursive.composite_inertia import Wrench, composites, generalized_force, with_rotor, wrenches_to_parent
from dalembert.recursive.inverse import LinkMotion, combined, field, point, spins, world_motion
from dalembert.recursive.link_states import MotionAxis, Moving, MovingLink
from dalembert.symbolic.algebra_base import Scalar


@dataclass(frozen=True)
class CoriolisTerms:
    """p and Q of one or several bodies, which define B."""

    p: Three
    Q: Rows

    @classmethod
    def of(cls, body: Rigid, w: Three, v: Three) -> CoriolisTerms:
        """For one body: u = v + ω × ρ."""
        if body is NO_BODY:
            return NO_CORIOLIS
        w, v = times(2, w), times(2, v)
        xx, yy, zz, yz, xz, xy = body.inertia
        half = (xx + yy + zz) / 2
        second = ((half - xx, 0 - xy, 0 - xz), (0 - xy, half - yy, 0 - yz), (0 - xz, 0 - yz, half - zz))  # ∫ ρ ρᵀ dm
        columns = [plus(times(h, v), crossed(w, column)) for h, column in zip(body.h, second, strict=True)]
        a, b, c = columns
        Q = ((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2]))
        return cls(plus(times(body.m, v), crossed(w, body.h)), Q)

    def __add__(self, other: CoriolisTerms) -> CoriolisTerms:
        a, b, c = (plus(x, y) for x, y in zip(self.Q, other.Q, strict=True))
        return CoriolisTerms(plus(self.p, other.p), (a, b, c))

    def inwards(self, transform: Transform) -> CoriolisTerms:
        """About the origin of the parent and in its axes."""
        if self is NO_CORIOLIS:
            return self
        Q, p = self._shifted(transform.after).Q, transform.inwards(self.p)
        for rotation in reversed(transform.rotations):
            Q = rotate_rows(rotation, Q)
        return CoriolisTerms(p, Q)._shifted(transform.before)

    def _shifted(self, d: Three) -> CoriolisTerms:
        """About a point from which the old reference point is at d: Q' = Q + p dᵀ."""
        rows = [
            tuple(q if absent(x) else q + y * x for q, x in zip(row, d, strict=True))
            for row, y in zip(self.Q, self.p, strict=True)
        ]
        return CoriolisTerms(self.p, tuple(rows))  # type: ignore[arg-type]

    def wrench(self, a: Three) -> Wrench:
        """B [a; b]: the same for any b."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self.Q
        n = (
            (yy + zz) * a[0] - xy * a[1] - xz * a[2],
            (xx + zz) * a[1] - yx * a[0] - yz * a[2],
            (xx + yy) * a[2] - zx * a[0] - zy * a[1],
        )
        return n, crossed(a, self.p)

    def transposed_moment(self, axis: MotionAxis) -> Three:
        """Bᵀ P: the moment of a wrench without a force."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self.Q
        a = axis.about
        n = (
            (yy + zz) * a[0] - yx * a[1] - zx * a[2],
            (xx + zz) * a[1] - xy * a[0] - zy * a[2],
            (xx + yy) * a[2] - xz * a[0] - yz * a[1],
        )
        return n if is_absent(axis.along) else plus(n, crossed(self.p, axis.along))


NO_CORIOLIS = CoriolisTerms(NONE, (NONE, NONE, NONE))


@dataclass(frozen=True)
class MotionColumns:
    """Columns of one motion: Ψ̇, Ψ̈ and Σ, each with the angular above the linear part."""

    first: Wrench
    second: Wrench
    sigma: Wrench


@dataclass(frozen=True)
class ForceDerivatives:
    """∂e/∂θ, ∂e/∂θ̇ and ∂e/∂θ̈ of the motion k of a link by the motion j of another."""

    link: int
    k: int
    by: int
    j: int
    by_position: Scalar
    rate: Scalar
    second: Scalar


def force_derivatives(
    moving: Moving, motions: Sequence[LinkMotion], wrenches: Sequence[Wrench]
) -> Iterator[ForceDerivatives]:
    """All entries that are not structurally zero, from the motions of all links and their accumulated wrenches."""
    velocities = _velocities(moving, motions)
    columns = _columns(moving, motions, velocities)
    coriolis = _coriolis(moving, motions, velocities)
    for index, body in enumerate(composites(moving)):
        if moving.links[index].speeds:
            transformed = _Column.all_of(moving.links[index], body, coriolis[index], columns[index], wrenches[index])
            yield from _of_link(moving, index, transformed, columns)


@dataclass(frozen=True)
class _Column:
    """Columns of one motion transformed toward the world: the brackets for θ and θ̇, M̃ P, and the moment B̃ᵀ P."""

    position: Wrench
    rate: Wrench
    mass: Wrench
    moment: Three

    @classmethod
    def all_of(
        cls, link: MovingLink, body: Rigid, coriolis: CoriolisTerms, columns: Sequence[MotionColumns], wrenches: Wrench
    ) -> list[tuple[_Column, Wrench]]:
        """The columns of a link, and their brackets for θ without P ×* w̃."""
        M, out = body.articulated(), []
        for axis, varied in zip(link.constants.axes, columns, strict=True):
            own = _sum(M.wrench(*varied.second), coriolis.wrench(varied.first[0]))
            rate = _sum(M.wrench(*varied.sigma), coriolis.wrench(axis.about))
            mass = M.wrench(axis.about, axis.along)
            position, moment = _sum(own, _wrench_product(axis, wrenches)), coriolis.transposed_moment(axis)
            out.append((cls(position, rate, mass, moment), own))
        return out

    def inwards(self, transform: Transform) -> _Column:
        """Transform to the parent."""
        position, rate, mass = wrenches_to_parent(transform, (self.position, self.rate, self.mass))
        return _Column(position, rate, mass, transform.inwards(self.moment))


def _of_link(
    moving: Moving, index: int, transformed: list[tuple[_Column, Wrench]], columns: Sequence[Sequence[MotionColumns]]
) -> Iterator[ForceDerivatives]:
    """The entries of one link with itself and with those between it and the world."""
    link = at = moving.links[index]
    for j, (column, own) in enumerate(transformed):
        for k, axis in enumerate(link.constants.axes):
            inertia = generalized_force(axis, column.mass)
            second = with_rotor(inertia, link.constants.armature[k]) if j == k else inertia
            yield ForceDerivatives(
                index, k, index, j, generalized_force(axis, own), generalized_force(axis, column.rate), second
            )
    transformed_columns = [column for column, _ in transformed]
    while at.parent >= 0:
        transformed_columns, above = [column.inwards(at.transform) for column in transformed_columns], at.parent
        at = moving.links[above]
        for j, (axis, varied) in enumerate(zip(at.constants.axes, columns[above], strict=True) if at.speeds else ()):
            for k, column in enumerate(transformed_columns):
                inertia = generalized_force(axis, column.mass)
                yield ForceDerivatives(
                    above,
                    j,
                    index,
                    k,
                    generalized_force(axis, column.position),
                    generalized_force(axis, column.rate),
                    inertia,
                )
                position = dot(column.moment, varied.first[0]) + _work(column.mass, varied.second)
                rate = dot(axis.about, column.moment) + _work(column.mass, varied.sigma)
                yield ForceDerivatives(index, k, above, j, position, rate, inertia)


def _velocities(moving: Moving, motions: Sequence[LinkMotion]) -> list[Three]:
    """v of the origin of every link, relative to the velocity of the first prismatic joints of its tree."""
    children = [0] * (len(moving.links) + 1)
    for link in moving.links:
        children[link.parent] += 1
    out, sliding = list[Three](), list[bool]()
    for link in moving.links:
        slides = all(is_absent(axis.about) for axis in link.constants.axes)
        first = link.parent < 0 or (sliding[link.parent] and children[link.parent] == 1)
        sliding.append(first and slides)
        own = combined(link.constants.axes, link.rates)[1]
        out.append(NONE if sliding[-1] else plus(_parent_twist(link, motions, out)[1], own))
    return out


def _parent_twist(link: MovingLink, motions: Sequence[LinkMotion], velocities: Sequence[Three]) -> Wrench:
    """t_λ: the twist of the parent about the origin of a link, in its axes."""
    if link.parent < 0:
        return NONE, NONE
    return link.transform.rates_outwards(motions[link.parent].w, velocities[link.parent])


def _columns(moving: Moving, motions: Sequence[LinkMotion], velocities: Sequence[Three]) -> list[list[MotionColumns]]:
    """Ψ̇, Ψ̈ and Σ of all motions. Ψ̈ is computed from U = ω̇× + ω×ω× and v̇ of a point of the parent."""
    world, out = world_motion(moving.gravity), list[list[MotionColumns]]()
    for index, link in enumerate(moving.links):
        (w, v), parent = _parent_twist(link, motions, velocities), world if link.parent < 0 else motions[link.parent]
        U = field(spins(w), link.transform.outwards(parent.wd))
        vd = point(U, link.transform.outwards(point(parent.U, parent.vd, link.transform.before)), link.transform.after)
        varied = list[MotionColumns]()
        for axis in link.constants.axes if link.speeds else ():
            first = _crossed(w, v, axis)
            turning = point(U, NONE, axis.about)
            sliding = plus(crossed(vd, axis.about), crossed(times(2, v), first[0]))
            second = turning, point(U, sliding, axis.along)
            own = first if len(link.constants.axes) == 1 else _crossed(motions[index].w, velocities[index], axis)
            varied.append(MotionColumns(first, second, _sum(first, own)))
        out.append(varied)
    return out


def _coriolis(moving: Moving, motions: Sequence[LinkMotion], velocities: Sequence[Three]) -> list[CoriolisTerms]:
    """p and Q of every link with its subtree."""
    out = [
        CoriolisTerms.of(link.constants.body, motion.w, v)
        for link, motion, v in zip(moving.links, motions, velocities, strict=True)
    ]
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            out[link.parent] = out[link.parent] + out[index].inwards(link.transform)
    return out


def _crossed(w: Three, v: Three, axis: MotionAxis) -> Wrench:
    """t × P."""
    return crossed(w, axis.about), plus(crossed(v, axis.about), crossed(w, axis.along))


def _wrench_product(axis: MotionAxis, wrench: Wrench) -> Wrench:
    """P ×* w."""
    n, f = wrench
    return plus(crossed(axis.about, n), crossed(axis.along, f)), crossed(axis.about, f)


def _sum(a: Wrench, b: Wrench) -> Wrench:
    return plus(a[0], b[0]), plus(a[1], b[1])


def _work(wrench: Wrench, twist: Wrench) -> Scalar:
    return dot(wrench[0], twist[0]) + dot(wrench[1], twist[1])
