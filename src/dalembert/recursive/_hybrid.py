"""Hybrid dynamics: prescribed accelerations of some speeds, prescribed forces on the others. Section 2.7 of papers/denoc, O(n).

A link with prescribed acceleration is not an unknown: its subtree is passed to its parent without elimination,

    M̄_i = M̂_i,  η_i + M̂_i (c_i + P_i θ̈_i)      in place of (29), (31)
    τ_i = P_iᵀ (M̂_i ṫ_i + η_i)                  the required force, (25) for the complete subtree

so the sweeps of `forward` apply unchanged, with θ̈_i as for a joint that depends on time only.

It requires speeds that move one link each, and links prescribed with all their speeds. Otherwise the rows of I θ̈ = φ are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.recursive._transforms import plus
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.forward import run_sweeps
from dalembert.recursive.inverse import effort, inverse_dynamics, second_rates
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.symbolic.algebra_base import Array, vector, zeros
from dalembert.symbolic.elimination import ldl, ldl_apply


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
