"""Hybrid dynamics: some speeds have their acceleration given, the others the force on them. Section 2.7 of papers/denoc, O(n).

A link whose acceleration is given is no unknown: it passes what hangs on it through to its parent without elimination,

    M̄_i = M̂_i,  η_i + M̂_i (c_i + P_i θ̈_i)      in place of (29), (31)
    τ_i = P_iᵀ (M̂_i ṫ_i + η_i)                  the force it takes, (25) for all that hangs on it at once

so the sweeps of `forward` run as they stand, with θ̈_i where a joint moved by time alone has its own.

It needs speeds that move one link each, and links that are given as a whole. Else the rows of I θ̈ = φ are taken apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.recursive._transforms import plus
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.forward import swept
from dalembert.recursive.inverse import effort, inverse_dynamics, second_rates
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.symbolic.algebra_base import Array, vector, zeros
from dalembert.symbolic.elimination import ldl, ldl_apply


@dataclass(frozen=True)
class Hybrid:
    """ṡ and τ of all speeds, and the pivots of those that were eliminated; 0 for the others."""

    sd: Array
    tau: Array
    pivots: Array


def hybrid_dynamics(moving: Moving, prescribed: Sequence[int], sd: Array, tau: Array, loads: Array) -> Hybrid:
    """The accelerations and forces that are missing from M ṡ + c + g = τ + loads: ṡ of `prescribed` speeds is given, else τ.

    The other entries of `sd` and `tau` are not read.
    """
    chosen = set(prescribed)
    given = vector([x if i in chosen else 0 for i, x in enumerate(sd)])
    pushed = vector([0 if i in chosen else x + y for i, (x, y) in enumerate(zip(tau, loads, strict=True))])
    whole = all(len(chosen & {*link.speeds}) in (0, len(link.speeds)) for link in moving.links)
    solve = _by_sweeps if moving.tree.decoupled and whole else _by_rows
    found, pivots, needed = solve(moving, chosen, given, pushed)
    return Hybrid(_joined(chosen, given, found), _joined(chosen, needed - loads, tau), pivots)


def _by_sweeps(moving: Moving, chosen: set[int], given: Array, pushed: Array) -> tuple[Array, Array, Array]:
    """ṡ of the other speeds, their pivots, and τ of the chosen ones."""
    held = [_held(link, given) if chosen & {*link.speeds} else link for link in moving.links]
    found, needed = swept(replace(moving, links=tuple(held)), pushed), zeros(len(given))
    for link, moved, body, (wd, vd) in zip(moving.links, held, found.bodies, found.rates, strict=True):
        if moved is not link:
            n, f = body.M.wrench(wd, vd)
            n, f = plus(n, body.n), plus(f, body.f)
            driven = zip(link.fixture.axes, link.fixture.armature, moved.drift, strict=True)
            efforts = vector([effort(axis, n, f, armature, x) for axis, armature, x in driven])
            needed[list(link.speeds)] = link.G.T @ efforts
    return found.sd, found.pivots, needed


def _held(link: MovingLink, sd: Array) -> MovingLink:
    """A link whose motion no speed is left to decide."""
    still = replace(link.fixture, link=replace(link.fixture.link, speeds=()))
    return replace(link, fixture=still, drift=vector(list(second_rates(link, sd))))


def _joined(chosen: set[int], given: Array, found: Array) -> Array:
    """What is given of the chosen speeds, and what is found of the others."""
    return vector([x if i in chosen else y for i, (x, y) in enumerate(zip(given, found, strict=True))])


def _by_rows(moving: Moving, chosen: set[int], given: Array, pushed: Array) -> tuple[Array, Array, Array]:
    """The same: the rows of the forces that are given, solved for the accelerations that are not."""
    free = [i for i in range(moving.tree.n_speeds) if i not in chosen]
    sd, pivots = zeros(len(given)), zeros(len(given))
    if free:
        phi = pushed - inverse_dynamics(moving, given)
        L, D = ldl(moving.algebra, mass_matrix(moving)[free][:, free])
        sd[free], pivots[free] = ldl_apply(moving.algebra, L, D, phi[free]), D
    return sd, pivots, inverse_dynamics(moving, _joined(chosen, given, sd))
