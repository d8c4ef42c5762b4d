"""The matrix of convective inertia C of C s = c: (17) of papers/denoc, link by link.

    C = Nᵀ (M Ṅ + Ω M E N)                   (17)
    C = Σ J_iᵀ (M_i J̇_i + B_i J_i)           link by link, J_i the rows of N for link i in axes of the link

Ω M E t of a link is B t with many matrices B. This one is skew,

    B = −[L× p×; p× 0],  (L, p) = M t        B t = (ω × L + v × p, ω × p)

so that İ − 2C is skew, too: q̇ᵀ(İ − 2C) q̇ = 0 is the balance of power, and holds for any vector in the place of q̇.
With the rates J̇_i = A_ij (Ψ̇_j − t_i × Ψ_j) of columns Ψ_j, as seen from the world, matrices add up from the tips to the world,

    M̃_j = M_j + Σ Aᵀ M̃_i A,   B̃_j = B_j − M_j t_j× + Σ Aᵀ B̃_i A,

and c_ij = Ψ_iᵀ (M̃ Ψ̇_j + B̃ Ψ_j) with those of the link that is farther out: O(n²) for a chain, as (21).
"""

from __future__ import annotations

import numpy as np

from dalembert.recursive.composite_inertia import composites
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import Moving, MovingLink, whole
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector, zeros
from dalembert.symbolic.rotations import skew


def coriolis_matrix(moving: Moving, algebra: DifferentialAlgebra, q: Array, s: Array, t: Scalar) -> Array:
    """C of C s = c for the speeds s, over symbols q and t; what prescribed motions add to c is not in it."""
    qd = to_rates(moving.tree, algebra, list(q), list(s))
    along = (q, qd), (vector([t]), vector([1]))
    twists = _twists(moving)
    rates = [
        algebra.total_derivative(link.N, *along) + _product(twist) @ link.N
        for link, twist in zip(moving.links, twists, strict=True)
    ]  # Ψ̇ of every link in its axes
    masses, turns = [whole(body) for body in composites(moving)], _turns(moving, twists)
    n = moving.tree.n_speeds
    total = zeros(n, n)
    for index, link in enumerate(moving.links):
        if not link.speeds:
            continue
        rows = list(link.speeds)
        M, B, N, Nd = masses[index], turns[index], link.N, rates[index]
        slopes = algebra.total_derivative(link.G, *along)
        total[np.ix_(rows, rows)] += N.T @ (M @ Nd + B @ N) + _rotors(link, slopes)
        column, mass, turn, at = M @ Nd + B @ N, M @ N, B.T @ N, link
        while at.parent >= 0:
            column, mass, turn = at.A.T @ column, at.A.T @ mass, at.A.T @ turn
            parent, at = at.parent, moving.links[at.parent]
            if at.speeds:
                others = list(at.speeds)
                total[np.ix_(others, rows)] += at.N.T @ column
                total[np.ix_(rows, others)] += mass.T @ rates[parent] + turn.T @ at.N
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


def _turns(moving: Moving, twists: list[Array]) -> list[Array]:
    """B̃ of every link with all that hangs on it."""
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


def _rotors(link: MovingLink, slopes: Array) -> Array:
    """What rotors add: Gᵀ diag(armature) Ġ."""
    weighted = [[a * x for x in row] for a, row in zip(link.fixture.armature, slopes, strict=True)]
    return link.G.T @ np.array(weighted, dtype=object).reshape(slopes.shape)
