"""The generalized inertia matrix by composite bodies: section 2.5 of papers/denoc for trees, O(n²) for a chain of n links.

    M̃_j = M_j + Σ A_ijᵀ M̃_i A_ij            (20)  the link with its subtree as one rigid body: ten numbers
    I = N_dᵀ M̃ N_d                           (18)
    i_ij = P_iᵀ M̃_i A_ij P_j                 (21)  for every link j between link i and the world

N_i = P_i G_i are the columns of N_d for the speeds of link i. A speed may move several links; its entries are summed.

The matrix of convective inertia C of C s = c follows link by link, with the rows J_i of N for link i in axes of the link:

    C = Nᵀ (M Ṅ + Ω M E N)                   (17)

Ω M E t of a link is B t with many matrices B. This one is skew-symmetric,

    B = −[L× p×; p× 0],  (L, p) = M t        B t = (ω × L + v × p, ω × p)

so that İ − 2C is skew-symmetric: q̇ᵀ(İ − 2C) q̇ = 0 is the power balance, and holds for any vector instead of q̇.
With the rates J̇_i = A_ij (Ψ̇_j − t_i × Ψ_j) of columns Ψ_j, in the world, matrices are summed from the tips to the world,

    M̃_j = M_j + Σ Aᵀ M̃_i A,   B̃_j = B_j − M_j t_j× + Σ Aᵀ B̃_i A,

and c_ij = Ψ_iᵀ (M̃ Ψ̇_j + B̃ Ψ_j) with those of the link farther out: O(n²) for a chain, as (21).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dalembert.recursive._inertias import Rigid
from dalembert.recursive._transforms import Three, Transform, absent, dot
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import MotionAxis, Moving, MovingLink, mass_matrix_6x6
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector, zeros
from dalembert.symbolic.rotations import skew

Wrench = tuple[Three, Three]


def composites(moving: Moving) -> list[Rigid]:
    """M̃: the mass of every link with its subtree, in axes of the link: (20)."""
    out = [link.constants.body for link in moving.links]
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            out[link.parent] = out[link.parent] + out[index].inwards(link.transform)
    return out


def generalized_force(axis: MotionAxis, wrench: Wrench) -> Scalar:
    """Pᵀ w: the generalized force of a wrench along a motion."""
    return dot(axis.about, wrench[0]) + dot(axis.along, wrench[1])


def wrenches_to_parent(transform: Transform, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Aᵀ w: transform wrenches on a link to its parent."""
    return [transform.wrench_inwards(n, f) for n, f in wrenches]


def mass_matrix(moving: Moving) -> Array:
    """The inertia matrix of the speeds, including rotors: (21)."""
    n = moving.tree.n_speeds
    total = zeros(n, n)
    for link, composite in zip(moving.links, composites(moving), strict=True):
        if not link.speeds:
            continue
        composite_body, at = composite.articulated(), link
        wrenches = [composite_body.wrench(axis.about, axis.along) for axis in link.constants.axes]  # M̃ P
        _add_own(total, link, wrenches)
        while at.parent >= 0:
            wrenches, at = wrenches_to_parent(at.transform, wrenches), moving.links[at.parent]
            for j, axis in enumerate(at.constants.axes if at.speeds else ()):
                for k, wrench in enumerate(wrenches):
                    entry = generalized_force(axis, wrench)  # (21)
                    for row, column, term in _spread(link, k, at, j, entry):
                        total[row, column] = total[row, column] + term
                        total[column, row] = total[column, row] + term
    return total


def _spread(link: MovingLink, k: int, other: MovingLink, j: int, entry: Scalar) -> Iterator[tuple[int, int, Scalar]]:
    """The entry of two motions as entries of the speeds that move them: g entry g'."""
    for row, g in zip(link.speeds, link.G[k], strict=True):
        for column, h in zip(other.speeds, other.G[j], strict=True):
            if not absent(g) and not absent(h):
                yield row, column, g * entry * h


def _add_own(total: Array, link: MovingLink, wrenches: Sequence[Wrench]) -> None:
    """Add Gᵀ (Pᵀ M̃ P + rotors) G of one link."""
    for j, (axis, armature) in enumerate(zip(link.constants.axes, link.constants.armature, strict=True)):
        for k, wrench in enumerate(wrenches):
            entry = generalized_force(axis, wrench)
            for row, column, term in _spread(link, k, link, j, with_rotor(entry, armature) if j == k else entry):
                total[row, column] = total[row, column] + term


def with_rotor(inertia: Scalar, armature: Scalar) -> Scalar:
    """The inertia of a motion including its rotor."""
    return inertia if absent(armature) else inertia + armature


def diagonal(moving: Moving) -> Array:
    """The diagonal of the inertia matrix; in O(n) if every speed moves one link."""
    if not moving.tree.decoupled:
        return mass_matrix(moving).diagonal()
    out = zeros(moving.tree.n_speeds)
    for link, composite in zip(moving.links, composites(moving), strict=True):
        for k, speed in enumerate(link.speeds):
            axis, g = link.constants.axes[k], link.G[k, k]
            own = generalized_force(axis, composite.articulated().wrench(axis.about, axis.along))
            out[speed] = g * with_rotor(own, link.constants.armature[k]) * g
    return out


def coriolis_matrix(moving: Moving, algebra: DifferentialAlgebra, q: Array, s: Array, t: Scalar) -> Array:
    """C of C s = c for the speeds s, over symbols q and t; the contribution of prescribed motions to c is not included."""
    qd = to_rates(moving.tree, algebra, list(q), list(s))
    along = (q, qd), (vector([t]), vector([1]))
    twists = _twists(moving)
    rates = [
        algebra.total_derivative(link.N, *along) + _product(twist) @ link.N
        for link, twist in zip(moving.links, twists, strict=True)
    ]  # Ψ̇ of every link in its axes
    masses, coriolis = [mass_matrix_6x6(body) for body in composites(moving)], _coriolis(moving, twists)
    n = moving.tree.n_speeds
    total = zeros(n, n)
    for index, link in enumerate(moving.links):
        if not link.speeds:
            continue
        rows = list(link.speeds)
        M, B, N, Nd = masses[index], coriolis[index], link.N, rates[index]
        G_rate = algebra.total_derivative(link.G, *along)
        total[np.ix_(rows, rows)] += N.T @ (M @ Nd + B @ N) + _rotors(link, G_rate)
        column, mass, coupling, at = M @ Nd + B @ N, M @ N, B.T @ N, link
        while at.parent >= 0:
            column, mass, coupling = at.A.T @ column, at.A.T @ mass, at.A.T @ coupling
            parent, at = at.parent, moving.links[at.parent]
            if at.speeds:
                others = list(at.speeds)
                total[np.ix_(others, rows)] += at.N.T @ column
                total[np.ix_(rows, others)] += mass.T @ rates[parent] + coupling.T @ at.N
    return total


def _twists(moving: Moving) -> list[Array]:
    """t of every link: (22)."""
    out: list[Array] = []
    for link in moving.links:
        own = np.concatenate([link.about, link.along]) @ link.rates if len(link.rates) else zeros(6)
        out.append(own if link.parent < 0 else link.A @ out[link.parent] + own)
    return out


def _product(twist: Array) -> Array:
    """t× on twists: [ω× 0; v× ω×]."""
    out = zeros(6, 6)
    out[:3, :3] = out[3:, 3:] = skew(twist[:3])
    out[3:, :3] = skew(twist[3:])
    return out


def _coriolis(moving: Moving, twists: list[Array]) -> list[Array]:
    """B̃ of every link with its subtree."""
    out = []
    for link, twist in zip(moving.links, twists, strict=True):
        momentum = link.M @ twist
        B = zeros(6, 6)
        B[:3, :3] = -skew(momentum[:3])
        B[:3, 3:] = B[3:, :3] = -skew(momentum[3:])
        out.append(B - link.M @ _product(twist))
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            out[link.parent] = out[link.parent] + link.A.T @ out[index] @ link.A
    return out


def _rotors(link: MovingLink, G_rate: Array) -> Array:
    """The contribution of rotors: Gᵀ diag(armature) Ġ."""
    weighted = [[a * x for x in row] for a, row in zip(link.constants.armature, G_rate, strict=True)]
    return link.G.T @ np.array(weighted, dtype=object).reshape(G_rate.shape)
