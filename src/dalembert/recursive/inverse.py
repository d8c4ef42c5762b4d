"""Recursive inverse dynamics: the generalized forces of a motion, in O(n). Section 2.6 of papers/denoc for trees.

Outward: the angular velocity ω and the rates ω̇ and v̇ of every link's twist. Inward: the wrench of its subtree.

    ṫ_i = A ṫ_j + Ȧ t_j + P θ̈ + Ṗ θ̇           (23), with A of (36) in place of B
    ṫ_0 = [0; −g]                              (26): gravity as an acceleration of the world
    w_i = M_i ṫ_i + Ω_i M_i E_i t_i            (46), (47): Newton and Euler about the origin of the link
    w̃_j = w_j + Σ A_ijᵀ w̃_i,  τ_i = Pᵀ w̃_i     (25)

v itself is never needed. Every product of two components of ω is computed once per link, in the matrix of its accelerations

    U = ω̇× + ω×ω×,   so that v̇ + U p is the acceleration of the point p, and ∫ U p dm = U h.

Deviates: (25) is printed without w_j, and (46b) without the dot on v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.recursive._inertias import NO_BODY, Rigid, Rows, Six
from dalembert.recursive._transforms import NONE, Three, Transform, absent, crossed, dot, is_absent, plus, three, times
from dalembert.recursive.link_states import MotionAxis, Moving, MovingLink
from dalembert.symbolic.algebra_base import Array, Scalar, Scalars, scaled, vector, zeros


@dataclass(frozen=True)
class LinkMotion:
    """ω, ω̇ and v̇ of a link, and the acceleration field of its points: the entries of ω×ω×, and U."""

    w: Three
    wd: Three
    vd: Three
    K: Six
    U: Rows

    @classmethod
    def of(cls, w: Three, wd: Three, vd: Three) -> LinkMotion:
        """From ω, ω̇ and v̇."""
        K = spins(w)
        return cls(w, wd, vd, K, field(K, wd))


def spins(w: Three) -> Six:
    """−xx, −yy, −zz, yz, xz, xy of ω×ω× = ω ωᵀ − |ω|²: the diagonal has the opposite sign, to save negations."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    return (yy + zz, xx + zz, xx + yy, y * z, x * z, x * y)


def field(K: Six, wd: Three) -> Rows:
    """U = ω̇× + ω×ω×, with the opposite sign of its diagonal."""
    (xx, yy, zz, a, b, c), (x, y, z) = K, wd
    return ((xx, c - z, b + y), (c + z, yy, a - x), (b - y, a + x, zz))


def point(U: Rows, v: Three, p: Three) -> Three:
    """v + U p, without the absent components of p."""
    out = list(v)
    for k, d in enumerate(p):
        if not absent(d):
            for a in range(3):
                term = d * U[a][k]
                out[a] = out[a] - term if a == k else out[a] + term
    return (out[0], out[1], out[2])


def combined(axes: Sequence[MotionAxis], amounts: Array | Scalars) -> tuple[Three, Three]:
    """P x: the combined motion of these amounts, angular and linear."""
    about, along = NONE, NONE
    for axis, x in zip(axes, amounts, strict=True):
        about, along = plus(about, times(x, axis.about)), plus(along, times(x, axis.along))
    return about, along


def propagate(
    transform: Transform, axes: Sequence[MotionAxis], rates: Array, thdd: Scalars, parent: LinkMotion
) -> LinkMotion:
    """The motion of a link from that of its parent: (22), (23)."""
    w, wd = transform.outwards(parent.w), transform.outwards(parent.wd)
    vd = transform.outwards(point(parent.U, parent.vd, transform.before))
    if axes:
        (angular_rate, linear_rate), (dw, dv) = combined(axes, rates), combined(axes, thdd)
        wd, vd = plus(wd, dw), plus(vd, dv)
        if not is_absent(angular_rate):
            wd = plus(wd, crossed(w, angular_rate))
        if not is_absent(linear_rate):
            vd = plus(vd, crossed(w, times(2, linear_rate)))
        w = plus(w, angular_rate)  # (3a)
    link = LinkMotion.of(w, wd, vd)
    return link if is_absent(transform.after) else LinkMotion(w, wd, point(link.U, vd, transform.after), link.K, link.U)


def newton_euler(body: Rigid, motion: LinkMotion) -> tuple[Three, Three]:
    """The inertial wrench of a link: (46a), (46b)."""
    if body is NO_BODY:
        return NONE, NONE
    f = point(motion.U, times(body.m, motion.vd), body.h)
    return plus(euler(body.inertia, motion.wd, motion.K, motion.U), crossed(body.h, motion.vd)), f


def euler(inertia: Six, wd: Three, K: Six, U: Rows) -> Three:
    """I ω̇ + ω × I ω, from the products in U: each off-diagonal entry of I is multiplied by both at once."""
    out = list[Scalar]()
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        diagonal = inertia[a] * wd[a] + (inertia[c] - inertia[b]) * K[3 + a]
        beside = inertia[3 + a] * (K[c] - K[b])
        out.append(diagonal + beside - inertia[3 + c] * U[c][a] + inertia[3 + b] * U[b][a])
    return (out[0], out[1], out[2])


def effort(axis: MotionAxis, n: Three, f: Three, armature: Scalar, thdd: Scalar) -> Scalar:
    """The force on one motion: Pᵀ w̃ of (25), and its rotor."""
    total = dot(axis.about, n) + dot(axis.along, f)
    return total if absent(armature) else total + armature * thdd


def inverse_dynamics(moving: Moving, sd: Array) -> Array:
    """τ of τ = M ṡ + c + g, one for each speed: the recursion of section 2.6 at the accelerations `sd`."""
    sweep, tau = outwards(moving, sd), zeros(moving.tree.n_speeds)
    for link, thdd, (n, f) in reversed(
        list(zip(moving.links, sweep.accelerations, subtree_wrenches(moving, sweep), strict=True))
    ):
        if link.speeds:
            driven = zip(link.constants.axes, link.constants.armature, thdd, strict=True)
            efforts = vector([effort(axis, n, f, armature, x) for axis, armature, x in driven])
            tau[list(link.speeds)] += link.G.T @ efforts
    return tau


def second_rates(link: MovingLink, sd: Array) -> Scalars:
    """θ̈ = G ṡ + drift."""
    return list(link.G @ sd[list(link.speeds)] + link.drift) if link.speeds else list(link.drift)


def world_motion(gravity: Array) -> LinkMotion:
    """The world, with gravity as a fictitious acceleration: (26)."""
    return LinkMotion.of(NONE, NONE, three(scaled(-1, gravity)))


@dataclass(frozen=True)
class Outwards:
    """One pass from the world to the tips: for every link its motion, its inertial wrench (n, f), and θ̈."""

    motions: list[LinkMotion]
    wrenches: list[tuple[Three, Three]]
    accelerations: list[Scalars]


def outwards(moving: Moving, sd: Array) -> Outwards:
    """All links at the accelerations `sd`: (22), (23), (46)."""
    accelerations = [second_rates(link, sd) for link in moving.links]
    world, motions = world_motion(moving.gravity), list[LinkMotion]()
    for link, thdd in zip(moving.links, accelerations, strict=True):
        parent = world if link.parent < 0 else motions[link.parent]
        motions.append(propagate(link.transform, link.constants.axes, link.rates, thdd, parent))
    wrenches = [newton_euler(link.constants.body, motion) for link, motion in zip(moving.links, motions, strict=True)]
    return Outwards(motions, wrenches, accelerations)


def subtree_wrenches(moving: Moving, sweep: Outwards) -> list[tuple[Three, Three]]:
    """w̃: the wrench of every link with its subtree, (24)."""
    out = list(sweep.wrenches)
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            n, f = link.transform.wrench_inwards(*out[index])
            n_j, f_j = out[link.parent]
            out[link.parent] = plus(n_j, n), plus(f_j, f)
    return out
