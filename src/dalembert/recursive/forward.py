"""Recursive forward dynamics: accelerations from forces, by I = U D Uᵀ. Section 2.7 of papers/denoc for trees, O(n).

Reverse Gaussian elimination visits the links from the tips to the world; the matrix itself is never formed.

    M̂_j = M_j + Σ A_ijᵀ M̄_i A_ij             (31)  articulated: the link with its subtree, whose joints are free
    Ψ̂_i = M̂_i P_i,  m̂_i = P_iᵀ Ψ̂_i            (30)  blocks of D, including rotors: L D Lᵀ for a link with a quaternion
    M̄_i = M̂_i − Ψ̂_i m̂_i⁻¹ Ψ̂_iᵀ               (31)
    τ̂_i = φ_i − P_iᵀ η_i                       (28)  with η from the children of i: (29)
    θ̈_i = m̂_i⁻¹ τ̂_i − Ψ_iᵀ μ_i                 (32), (33)

Deviates: φ = τ − C θ̇ of (27) is not computed first. The velocity terms, c_i = Ȧ t_j + Ṗ θ̇ of (23) and the wrench of (46) at
rest, are included in η and μ. That saves a complete inverse dynamics.

Where a motion is along one coordinate axis and has no rotor, M̄ has a zero row there, and the wrench passed to the parent
contains τ: neither is computed.

It requires speeds that move one link each. Otherwise the inertia matrix is formed and factored as L D Lᵀ.

A link with prescribed acceleration is not an unknown: its subtree is passed to its parent without elimination,

    M̄_i = M̂_i,  η_i + M̂_i (c_i + P_i θ̈_i)      in place of (29), (31)
    τ_i = P_iᵀ (M̂_i ṫ_i + η_i)                  the required force, (25) for the complete subtree

so the sweeps of `forward` apply unchanged, with θ̈_i as for a joint that depends on time only.

It requires speeds that move one link each, and links prescribed with all their speeds. Otherwise the rows of I θ̈ = φ are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.recursive._inertias import NO_BODY, Articulated, Rigid, Six, six, symmetric
from dalembert.recursive._transforms import (
    NONE,
    AxisRotationMatrix,
    Three,
    Transform,
    absent,
    crossed,
    is_absent,
    plus,
    three,
    times,
)
from dalembert.recursive.composite_inertia import generalized_force, mass_matrix, with_rotor
from dalembert.recursive.inverse import combined, effort, euler, field, inverse_dynamics, point, second_rates, spins
from dalembert.recursive.link_states import MotionAxis, Moving, MovingLink
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, Scalars, matrix, vector, zeros
from dalembert.symbolic.elimination import ldl, ldl_apply, lower_solve, upper_solve


@dataclass(frozen=True)
class LinkVelocity:
    """ω of a link, the entries of ω×ω× as in `spins`, and c of (23): the velocity terms of its ω̇ and v̇."""

    w: Three
    K: Six
    angular: Three
    linear: Three


@dataclass(frozen=True)
class ArticulatedBody:
    """Articulated body: the mass matrix M̂ of a link with its subtree, and the wrench η at rest."""

    M: Articulated
    n: Three
    f: Three

    def __add__(self, other: ArticulatedBody) -> ArticulatedBody:
        return ArticulatedBody(self.M + other.M, plus(self.n, other.n), plus(self.f, other.f))

    def inwards(self, transform: Transform) -> ArticulatedBody:
        """Transform to the parent."""
        return ArticulatedBody(self.M.inwards(transform), *transform.wrench_inwards(self.n, self.f))


@dataclass(frozen=True)
class FactoredBlock:
    """One block of D, factored as L D Lᵀ, with the rows L⁻¹ Ψ̂ᵀ, the same divided by D, and D⁻¹ L⁻¹ τ̂."""

    zero_rows: tuple[int, ...]  # the zero rows of M̄, one for each motion, or none
    L: Array
    D: Array
    hats: tuple[tuple[Scalar, ...], ...]
    rows: tuple[tuple[Scalar, ...], ...]
    reduced: tuple[Scalar, ...]


def velocity(
    transform: Transform, axes: Sequence[MotionAxis], rates: Array, drift: Array, parent: LinkVelocity
) -> LinkVelocity:
    """The velocity terms of a link from those of its parent: (22), and (23) at θ̈ = `drift`."""
    w = transform.outwards(parent.w)
    before, angular = transform.before, NONE
    linear = NONE if is_absent(before) else transform.outwards(point(field(parent.K, NONE), NONE, before))
    if axes:
        angular_rate, linear_rate = combined(axes, rates)
        if not is_absent(angular_rate):
            angular = crossed(w, angular_rate)
            w = plus(w, angular_rate)  # (3a)
        if not is_absent(linear_rate):
            linear = plus(linear, crossed(w, times(2, linear_rate)))
        about, along = combined(axes, drift)
        angular, linear = plus(angular, about), plus(linear, along)
    K = spins(w)
    return LinkVelocity(w, K, angular, point(field(K, angular), linear, transform.after))


def at_rest(body: Rigid, K: Six) -> ArticulatedBody:
    """A single link, with the wrench of (46) at ṫ = 0."""
    if body is NO_BODY:
        return ArticulatedBody(body.articulated(), NONE, NONE)
    U = field(K, NONE)
    return ArticulatedBody(body.articulated(), euler(body.inertia, NONE, K, U), point(U, NONE, body.h))


def block_of(
    algebra: Algebra, body: ArticulatedBody, axes: Sequence[MotionAxis], armature: Scalars, tau: Scalars
) -> FactoredBlock:
    """The block of D for the motions of a link under the forces `tau`: (28), (30), (32)."""
    zero_rows = _zero_rows(axes, armature)
    hats = [body.M.wrench(axis.about, axis.along) for axis in axes]  # Ψ̂, column by column
    m = matrix([[generalized_force(axis, hat) for hat in hats] for axis in axes])
    for k, inertia in enumerate(armature):
        m[k, k] = with_rotor(m[k, k], inertia)
    left = vector([x - generalized_force(axis, (body.n, body.f)) for x, axis in zip(tau, axes, strict=True)])  # (28)
    L, D = ldl(algebra, m)
    half = matrix([[0 if row in zero_rows else x for row, x in enumerate((*n, *f))] for n, f in hats])
    half, left = lower_solve(algebra, L, half), lower_solve(algebra, L, left)
    shrink = [1 / d for d in D]
    rows = [tuple(0 if absent(x) else x * by for x in row) for row, by in zip(half, shrink, strict=True)]
    reduced = tuple(x * by for x, by in zip(left, shrink, strict=True))  # (32)
    return FactoredBlock(zero_rows, L, D, tuple(map(tuple, half)), tuple(rows), reduced)


def _zero_rows(axes: Sequence[MotionAxis], armature: Scalars) -> tuple[int, ...]:
    """The zero rows of M̄: those of the motions if each is along one axis and has no rotor."""
    out = list[int]()
    for axis, inertia in zip(axes, armature, strict=True):
        used = [(row, x) for row, x in enumerate((*axis.about, *axis.along)) if not absent(x)]
        if len(used) != 1 or used[0][1] != 1 or not absent(inertia):
            return ()
        out.append(used[0][0])
    return tuple(out)


def eliminate(body: ArticulatedBody, block: FactoredBlock, tau: Scalars, c: LinkVelocity) -> ArticulatedBody:
    """The link after elimination of its motions: M̄ of (31) and η of (29), in axes of the link."""
    M = body.M.without(list(zip(block.hats, block.rows, strict=True)), block.zero_rows)
    n, f = M.wrench(c.angular, c.linear)
    six = [x + y for x, y in zip((*body.n, *body.f), (*n, *f), strict=True)]
    for row in range(6):
        if row in block.zero_rows:
            six[row] = tau[block.zero_rows.index(row)]
        else:
            for hat, amount in zip(block.hats, block.reduced, strict=True):
                six[row] = six[row] + hat[row] * amount
    return ArticulatedBody(M, (six[0], six[1], six[2]), (six[3], six[4], six[5]))


def accelerate(
    algebra: Algebra,
    transform: Transform,
    axes: Sequence[MotionAxis],
    block: FactoredBlock | None,
    c: LinkVelocity,
    parent: tuple[Three, Three],
) -> tuple[tuple[Three, Three], Array]:
    """ω̇ and v̇ of a link from those of its parent, and θ̈ of its motions: (33)."""
    wd, vd = transform.rates_outwards(*parent)
    wd, vd = plus(wd, c.angular), plus(vd, c.linear)
    if block is None:
        return (wd, vd), zeros(0)
    six = [*wd, *vd]
    left = vector([_less(x, row, six) for x, row in zip(block.reduced, block.rows, strict=True)])
    found = upper_solve(algebra, block.L, left)
    if block.zero_rows:
        thdd = vector([x - six[row] for x, row in zip(found, block.zero_rows, strict=True)])
        for x, row in zip(found, block.zero_rows, strict=True):
            six[row] = x
        return ((six[0], six[1], six[2]), (six[3], six[4], six[5])), thdd
    angular, linear = combined(axes, found)
    return (plus(wd, angular), plus(vd, linear)), found


def _less(x: Scalar, row: Scalars, six: Scalars) -> Scalar:
    for a, b in zip(row, six, strict=True):
        if not absent(a):
            x = x - a * b
    return x


def eliminate_spherical(
    algebra: Algebra, body: ArticulatedBody, transforms: tuple[Transform, Transform], tau: Scalars, linear: Three
) -> tuple[SphericalBlock, ArticulatedBody]:
    """The block of three rotations about one point, and the articulated body of their first link.

    `transforms` lead from the first link to the second and the third; `linear` is the velocity term of v̇ of the first.
    """
    T_i, T = moments(*transforms, tau)
    block = spherical_block(algebra, body.M, body.n, transforms, T)
    S, hats, rows = symmetric(body.M.M), block.hats.T, block.rows.T
    rest = matrix([[S[a, b] - hats[a] @ rows[b] if a <= b else 0 for b in range(3)] for a in range(3)])
    f = three([x + hat @ block.reduced for x, hat in zip(body.f, hats, strict=True)])
    M = Articulated((0, 0, 0, 0, 0, 0), (NONE, NONE, NONE), six(rest))
    for transform in reversed(transforms):
        M, f = M.inwards(transform), transform.inwards(f)
    return block, ArticulatedBody(M, T_i, plus(f, M.wrench(NONE, linear)[1]))


def spherical_accelerations(
    algebra: Algebra,
    block: SphericalBlock,
    transforms: Sequence[Transform],
    c: Sequence[LinkVelocity],
    parent: tuple[Three, Three],
) -> tuple[tuple[Three, Three], Array]:
    """ω̇ and v̇ of the last of three links that rotate about one point, and the accelerations of their angles."""
    wd_i, vd = transforms[0].rates_outwards(*parent)  # without that of its own angle
    wd_i, vd = plus(wd_i, c[0].angular), plus(vd, c[0].linear)
    vd = transforms[2].outwards(transforms[1].outwards(vd))
    (beta, b), (gamma, last), (c_j, c_k) = *map(_angles, transforms[1:]), (c[1].angular, c[2].angular)
    wd = three(upper_solve(algebra, block.L, block.reduced - block.rows @ vector(vd)))
    x, y, z = last.inwards((wd[0] - c_k[0], wd[1] - c_k[1], wd[2]))
    E = beta.outwards(wd_i)
    y_i = (x - c_j[0] - b.c * E[0]) * (1 / b.s)  # ω̇_j orthogonal to x, which the last angle does not affect
    first = (y_i - E[1]) / beta.s
    rest = (gamma.c * y - (b.c * y_i - b.s * E[0] + c_j[1])) / gamma.s
    middle = gamma.s * y + gamma.c * rest - E[2] - beta.c * first
    return (wd, vd), vector([first, middle, z - rest])


def forward_dynamics(moving: Moving, tau: Array) -> tuple[Array, Array]:
    """ṡ of τ = M ṡ + c + g, and the pivots of the elimination of M; a pivot of 0 means that M is singular."""
    if moving.tree.decoupled:
        found = run_sweeps(moving, tau)
        return found.sd, found.pivots
    phi = tau - inverse_dynamics(moving, zeros(moving.tree.n_speeds))  # (27)
    L, D = ldl(moving.algebra, mass_matrix(moving))
    return ldl_apply(moving.algebra, L, D, phi), D


@dataclass(frozen=True)
class SweepResult:
    """ṡ and the pivots, and intermediate results of the sweeps: M̂ and η of every link, and its ω̇ and v̇."""

    sd: Array
    pivots: Array
    bodies: list[ArticulatedBody]
    rates: list[tuple[Three, Three]]


def run_sweeps(moving: Moving, tau: Array) -> SweepResult:
    """The three sweeps, for speeds that move one link each. Links without speeds move with their drift."""
    velocities = _velocities(moving)
    bodies, blocks = _articulated(moving, tau, velocities)
    sd, pivots, rates = _outwards(moving, velocities, blocks)
    return SweepResult(sd, pivots, bodies, rates)


def _velocities(moving: Moving) -> list[LinkVelocity]:
    out, world = list[LinkVelocity](), LinkVelocity(NONE, spins(NONE), NONE, NONE)
    for link in moving.links:
        parent = world if link.parent < 0 else out[link.parent]
        drift = zeros(len(link.drift)) if link.speeds else link.drift  # unknown, or a function of time only
        out.append(velocity(link.transform, link.constants.axes, link.rates, drift, parent))
    return out


def _gains(link: MovingLink) -> Array:
    """The diagonal of G of a link with one speed per motion."""
    return vector([1, 1, 1]) if len(link.speeds) == 3 else link.G[0]


def _articulated(
    moving: Moving, tau: Array, velocities: Sequence[LinkVelocity]
) -> tuple[list[ArticulatedBody], list[FactoredBlock | SphericalBlock | None]]:
    """M̂ and η of every link, and the blocks of D and U at the last link of each: steps 1 and 2.

    There is no block for a link without speeds.
    """
    links, ends = moving.links, spherical_ends(moving.links)
    bodies = [at_rest(link.constants.body, c.K) for link, c in zip(links, velocities, strict=True)]
    blocks: list[FactoredBlock | SphericalBlock | None] = [None] * len(bodies)
    index = len(bodies) - 1
    while index >= 0:
        at = ends.get(index, index)  # first link of the block
        link, body = links[at], bodies[index]
        push = [x for each in links[at : index + 1] for x in _push(each, tau)]
        if at < index:
            transforms = (links[at + 1].transform, links[index].transform)
            blocks[index], body = eliminate_spherical(moving.algebra, body, transforms, push, velocities[at].linear)
        elif link.speeds:
            block = block_of(moving.algebra, body, link.constants.axes, link.constants.armature, push)
            blocks[index] = block
            body = eliminate(body, block, push, velocities[index]) if link.parent >= 0 else body
        else:
            n, f = body.M.wrench(velocities[index].angular, velocities[index].linear)
            body = ArticulatedBody(body.M, plus(body.n, n), plus(body.f, f))
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + body.inwards(link.transform)  # (29), (31)
        index = at - 1
    return bodies, blocks


def _push(link: MovingLink, tau: Array) -> list[Scalar]:
    """The forces on the motions of a link."""
    if not link.speeds:
        return []
    return [x / g for x, g in zip(tau[list(link.speeds)], _gains(link), strict=True)]


def _outwards(
    moving: Moving, velocities: Sequence[LinkVelocity], blocks: Sequence[FactoredBlock | SphericalBlock | None]
) -> tuple[Array, Array, list[tuple[Three, Three]]]:
    """ṡ from the world to the tips, the pivots, and ω̇ and v̇ of the links: step 3."""
    sd, pivots = zeros(moving.tree.n_speeds), zeros(moving.tree.n_speeds)
    x, y, z = (0 - g for g in moving.gravity)
    world, rates = (NONE, (x, y, z)), list[tuple[Three, Three]]()
    for index, (link, block, c) in enumerate(zip(moving.links, blocks, velocities, strict=True)):
        members = moving.links[index - 2 if isinstance(block, SphericalBlock) else index : index + 1]
        parent = world if members[0].parent < 0 else rates[members[0].parent]
        if isinstance(block, SphericalBlock):
            transforms, cs = tuple(member.transform for member in members), velocities[index - 2 : index + 1]
            own, thdd = spherical_accelerations(moving.algebra, block, transforms, cs, parent)
        else:
            own, thdd = accelerate(moving.algebra, link.transform, link.constants.axes, block, c, parent)
        rates.append(own)
        if block is not None:
            speeds = [
                each for member in members for each in zip(member.speeds, _gains(member), member.drift, strict=True)
            ]
            for (speed, g, drift), x, pivot in zip(speeds, thdd, block.D, strict=True):
                sd[speed], pivots[speed] = (x - drift) / g, pivot * g * g
    return sd, pivots, rates


@dataclass(frozen=True)
class SphericalBlock:
    """The block of D of three rotations: I = L D Lᵀ, L⁻¹ H, D⁻¹ L⁻¹ H, D⁻¹ L⁻¹ (T − n), and the pivots of the angles."""

    L: Array
    hats: Array
    rows: Array
    reduced: Array
    D: tuple[Scalar, Scalar, Scalar]


def spherical_ends(links: Sequence[MovingLink]) -> dict[int, int]:
    """The spherical blocks of a tree: from the index of the last link of each to that of its first."""
    carried = [0] * len(links)
    for link in links:
        if link.parent >= 0:
            carried[link.parent] += 1
    out: dict[int, int] = {}
    for k, link in enumerate(links):
        i, j = k - 2, k - 1
        if i < 0 or link.parent != j or links[j].parent != i or i in out or j in out:
            continue
        massless = all(links[x].constants.body is NO_BODY and carried[x] == 1 for x in (i, j))
        concentric = all(is_absent(links[x].transform.after) for x in (i, j, k))
        if (
            massless
            and concentric
            and all(map(_rotates_about_z, links[i : k + 1]))
            and all(_crosses(links[x].transform) for x in (j, k))
        ):
            out[k] = i
    return out


def _rotates_about_z(link: MovingLink) -> bool:
    """True for a link with one speed, a rotation about z, and without a rotor."""
    if len(link.speeds) != 1 or len(link.constants.axes) != 1:
        return False
    (axis,), (armature,) = link.constants.axes, link.constants.armature
    return all(map(absent, axis.about[:2])) and axis.about[2] == 1 and is_absent(axis.along) and absent(armature)


def _crosses(transform: Transform) -> bool:
    """True for a transform of two rotations about one point, by a constant angle about x and then about z."""
    axes = [rotation.axis for rotation in transform.rotations if isinstance(rotation, AxisRotationMatrix)]
    return axes == [0, 2] and len(transform.rotations) == 2 and is_absent(transform.before)


def _angles(transform: Transform) -> tuple[AxisRotationMatrix, AxisRotationMatrix]:
    first, second = transform.rotations
    assert isinstance(first, AxisRotationMatrix)
    assert isinstance(second, AxisRotationMatrix)
    return first, second


def moments(second: Transform, third: Transform, tau: Scalars) -> tuple[Three, Three]:
    """T in axes of i and of k, for the torques about the axes of i, j and k: its z components there."""
    (beta, b), (gamma, c), (first, middle, last) = _angles(second), _angles(third), tau
    y = (middle - gamma.c * last) / gamma.s  # S = T_z(θ_k) T_k has the components x, y, τ_k
    y_j = gamma.c * y - gamma.s * last
    y_i = (first - beta.c * middle) / beta.s
    x = (y_i - b.c * y_j) * (1 / b.s)
    T_k = (c.c * x + c.s * y, c.c * y - c.s * x, last)
    return (b.c * x - b.s * y_j, beta.c * y_i - beta.s * middle, first), T_k


def spherical_block(
    algebra: Algebra, M: Articulated, n: Three, transforms: tuple[Transform, Transform], T: Three
) -> SphericalBlock:
    """The spherical block for the link k with its subtree, about the center, under the moment T."""
    L, D, shrink = _factored(M.inertia)
    hats = lower_solve(algebra, L, matrix(M.H))
    left = lower_solve(algebra, L, vector([x - y for x, y in zip(T, n, strict=True)]))
    rows = matrix([[x * by for x in row] for row, by in zip(hats, shrink, strict=True)])
    (beta, b), (gamma, _) = map(_angles, transforms)
    size = beta.s * b.s * gamma.s  # the volume of the three axes: zero in gimbal lock
    reduced = vector([x * by for x, by in zip(left, shrink, strict=True)])
    return SphericalBlock(L, hats, rows, reduced, (D[0] * size * size, D[1], D[2]))


def _factored(S: Six) -> tuple[Array, tuple[Scalar, Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]:
    """L, D and D⁻¹ with S = L D Lᵀ, by three divisions."""
    xx, yy, zz, yz, xz, xy = S
    x = 1 / xx
    a, b = xy * x, xz * x
    left = yz - b * xy
    second = yy - a * xy
    y = 1 / second
    c = left * y
    third = zz - b * xz - c * left
    return matrix([[1, 0, 0], [a, 1, 0], [b, c, 1]]), (xx, second, third), (x, y, 1 / third)


@dataclass(frozen=True)
class Hybrid:
    """ṡ and τ of all speeds, and the pivots of the eliminated ones; 0 for the others."""

    sd: Array
    tau: Array
    pivots: Array


def hybrid_dynamics(moving: Moving, prescribed: Sequence[int], sd: Array, tau: Array, loads: Array) -> Hybrid:
    """The unknown accelerations and forces of M ṡ + c + g = τ + loads: ṡ of `prescribed` speeds is known, τ of the others.

    The other entries of `sd` and `tau` are not read.
    """
    chosen = set(prescribed)
    prescribed_sd = vector([x if i in chosen else 0 for i, x in enumerate(sd)])
    pushed = vector([0 if i in chosen else x + y for i, (x, y) in enumerate(zip(tau, loads, strict=True))])
    all_or_none = all(len(chosen & {*link.speeds}) in (0, len(link.speeds)) for link in moving.links)
    solve = _by_sweeps if moving.tree.decoupled and all_or_none else _by_rows
    found, pivots, needed = solve(moving, chosen, prescribed_sd, pushed)
    return Hybrid(_joined(chosen, prescribed_sd, found), _joined(chosen, needed - loads, tau), pivots)


def _by_sweeps(moving: Moving, chosen: set[int], prescribed_sd: Array, pushed: Array) -> tuple[Array, Array, Array]:
    """ṡ of the other speeds, their pivots, and τ of the chosen ones."""
    prescribed_links = [_prescribed(link, prescribed_sd) if chosen & {*link.speeds} else link for link in moving.links]
    found, needed = run_sweeps(replace(moving, links=tuple(prescribed_links)), pushed), zeros(len(prescribed_sd))
    for link, moved, body, (wd, vd) in zip(moving.links, prescribed_links, found.bodies, found.rates, strict=True):
        if moved is not link:
            n, f = body.M.wrench(wd, vd)
            n, f = plus(n, body.n), plus(f, body.f)
            driven = zip(link.constants.axes, link.constants.armature, moved.drift, strict=True)
            efforts = vector([effort(axis, n, f, armature, x) for axis, armature, x in driven])
            needed[list(link.speeds)] = link.G.T @ efforts
    return found.sd, found.pivots, needed


def _prescribed(link: MovingLink, sd: Array) -> MovingLink:
    """A link with prescribed motion, without speeds."""
    fixed = replace(link.constants, link=replace(link.constants.link, speeds=()))
    return replace(link, constants=fixed, drift=vector(list(second_rates(link, sd))))


def _joined(chosen: set[int], prescribed_sd: Array, found: Array) -> Array:
    """The prescribed values of the chosen speeds, and the computed values of the others."""
    return vector([x if i in chosen else y for i, (x, y) in enumerate(zip(prescribed_sd, found, strict=True))])


def _by_rows(moving: Moving, chosen: set[int], prescribed_sd: Array, pushed: Array) -> tuple[Array, Array, Array]:
    """The same, by solving the rows of known forces for the unknown accelerations."""
    free = [i for i in range(moving.tree.n_speeds) if i not in chosen]
    sd, pivots = zeros(len(prescribed_sd)), zeros(len(prescribed_sd))
    if free:
        phi = pushed - inverse_dynamics(moving, prescribed_sd)
        L, D = ldl(moving.algebra, mass_matrix(moving)[free][:, free])
        sd[free], pivots[free] = ldl_apply(moving.algebra, L, D, phi[free]), D
    return sd, pivots, inverse_dynamics(moving, _joined(chosen, prescribed_sd, sd))
