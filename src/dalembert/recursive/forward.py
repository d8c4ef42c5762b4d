"""Recursive forward dynamics: accelerations from forces, by I = U D Uᵀ. Section 2.7 of papers/denoc for trees, O(n).

Reverse Gaussian elimination goes through the links from the tips to the world; the matrix itself is never formed.

    M̂_j = M_j + Σ A_ijᵀ M̄_i A_ij             (31)  articulated: the link with all that hangs on it, free to move
    Ψ̂_i = M̂_i N_i,  m̂_i = N_iᵀ Ψ̂_i            (30)  blocks of D, k×k for a joint of k speeds, rotors included
    M̄_i = M̂_i − Ψ̂_i m̂_i⁻¹ Ψ̂_iᵀ               (31)
    τ̂_i = φ_i − N_iᵀ η_i                       (28)  with η from the links that hang on i: (29)
    ṡ_i = m̂_i⁻¹ τ̂_i − Ψ_iᵀ μ_i                 (32), (33)

It needs speeds that move one link each. Where a speed moves several, the inertia matrix is formed and factored as L D Lᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra import Algebra, Array, zeros
from dalembert.algebra.linear import ldl, ldl_apply
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.links import Moving
from dalembert.recursive.mass import mass_matrix


@dataclass(frozen=True)
class Block:
    """One block of D, factored, and the columns of U beside it."""

    L: Array
    D: Array
    hat: Array  # Ψ̂: 6×k


def forward_dynamics(moving: Moving, tau: Array) -> tuple[Array, Array]:
    """ṡ of τ = M ṡ + c + g, and the pivots that M was eliminated by; a pivot of 0 means that M is singular.

    >>> from dalembert.algebra import FLOATS, vector
    >>> from dalembert.model import Model
    >>> from dalembert.recursive import moving, tree_of
    >>> model = Model("slider", gravity=(-10, 0, 0)).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> forward_dynamics(moving(tree_of(model), FLOATS, 0.0, [0.3], [0.0], {}), vector([23.0]))[0]
    array([1.5], dtype=object)
    """
    phi = tau - inverse_dynamics(moving, zeros(moving.tree.n_speeds))  # (27)
    if moving.tree.decoupled:
        return _eliminated(moving, phi)
    L, D = ldl(moving.algebra, mass_matrix(moving))
    return ldl_apply(moving.algebra, L, D, phi), D


def _eliminated(moving: Moving, phi: Array) -> tuple[Array, Array]:
    blocks = articulated(moving)
    reduced = _inwards(moving, blocks, phi)
    sd, pivots = _outwards(moving, blocks, reduced), zeros(len(phi))
    for link, block in zip(moving.links, blocks, strict=True):
        if block is not None:
            pivots[list(link.speeds)] = block.D
    return sd, pivots


def articulated(moving: Moving) -> list[Block | None]:
    """The blocks of D and U, link by link; None for a link that no speed moves."""
    algebra = moving.algebra
    inertias = [link.M for link in moving.links]
    blocks: list[Block | None] = [None] * len(inertias)
    for index in reversed(range(len(inertias))):
        link, M = moving.links[index], inertias[index]
        if link.speeds:
            hat = M @ link.N  # (30)
            L, D = ldl(algebra, link.N.T @ hat + link.rotors)
            blocks[index] = Block(L, D, hat)
            M = M - hat @ ldl_apply(algebra, L, D, hat.T) if link.parent >= 0 else M  # (31)
        if link.parent >= 0:
            inertias[link.parent] = inertias[link.parent] + link.A.T @ M @ link.A  # (31)
    return blocks


def _inwards(moving: Moving, blocks: list[Block | None], phi: Array) -> list[Array]:
    """m̂⁻¹ τ̂, link by link: steps 1 and 2."""
    algebra = moving.algebra
    eta = [zeros(6) for _ in blocks]
    out: list[Array] = [zeros(0)] * len(blocks)
    for index in reversed(range(len(blocks))):
        link, block = moving.links[index], blocks[index]
        if block is not None:
            rest = phi[list(link.speeds)] - link.N.T @ eta[index]  # (28)
            out[index] = _solved(algebra, block, rest)  # (32)
            eta[index] = eta[index] + block.hat @ out[index]  # (29)
        if link.parent >= 0:
            eta[link.parent] = eta[link.parent] + link.A.T @ eta[index]  # (29)
    return out


def _outwards(moving: Moving, blocks: list[Block | None], reduced: list[Array]) -> Array:
    """ṡ from the world to the tips: step 3."""
    sd = zeros(moving.tree.n_speeds)
    mu: list[Array] = []
    for link, block, value in zip(moving.links, blocks, reduced, strict=True):
        carried = link.A @ mu[link.parent] if link.parent >= 0 else zeros(6)
        if block is not None:
            accelerations = value - _solved(moving.algebra, block, block.hat.T @ carried)  # (33)
            sd[list(link.speeds)] = accelerations
            carried = carried + link.N @ accelerations
        mu.append(carried)
    return sd


def _solved(algebra: Algebra, block: Block, b: Array) -> Array:
    return ldl_apply(algebra, block.L, block.D, b)
