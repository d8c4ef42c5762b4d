"""Motions of all bodies at the samples of a run: the forward recursion over the links, in NumPy, samples on the last axis.

With r from the origin of the parent j to that of link i, and ω', v' what the joint adds, all in world axes:

    ω_i = ω_j + ω'                       v_i = v_j + ω_j × r + v'
    α_i = α_j + ω_j × ω' + Ω θ̈           a_i = a_j + α_j × r + ω_j × (ω_j × r + v') + ω_i × v' + L θ̈

Ω and L are constant in axes of the link: (36b) of papers/denoc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.recursive.joint_speeds import to_speed_rates, to_speeds, with_unit_quaternions
from dalembert.recursive.link_states import moving
from dalembert.recursive.plan import Plan, plan_of
from dalembert.simulation.trajectory_data import BodyMotion
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations


class Samples(NamedTuple):
    """States of a run: t (samples,), and q, q̇ and q̈ (n, samples), by equations."""

    equations: BoundEquations
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def body_motion(pieces: Sequence[Samples]) -> BodyMotion:
    """The motions of all bodies along pieces of a run."""
    names = tuple(body.name for body in pieces[0].equations.model.bodies)
    found = [_along(piece, names) for piece in pieces]
    return BodyMotion(names, *(np.concatenate(each, axis=-1) for each in zip(*found, strict=True)))


def _along(piece: Samples, names: Sequence[str]) -> tuple[np.ndarray, ...]:
    """Rotations, positions, velocities and accelerations of bodies, (bodies, ..., samples)."""
    declared, changes = piece.equations.derivation.setup.declared, piece.equations.changes
    plan = plan_of(declared.without_laws().with_parameters(changes) if changes else declared.without_laws())
    links = dict(zip((link.body and link.body.name for link in plan.tree.links), _links(plan, piece), strict=True))
    return tuple(np.stack(each) for each in zip(*(links[name] for name in names), strict=True))


def _links(plan: Plan, piece: Samples) -> list[tuple[np.ndarray, ...]]:
    """R (3, 3, K), p (3, K), velocity and acceleration (6, K) of the links."""
    tree, count, (_, t, q, qd, qdd) = plan.tree, len(piece.t), piece
    s, sd = list(qd), list(qdd)
    if tree.attitudes:  # quaternions that drift are taken as the rotations they stand for
        s = list(to_speeds(tree, FLOATS, list(q), list(qd)))
        sd = list(to_speed_rates(tree, FLOATS, list(q), list(qd), list(qdd)))
        q = with_unit_quaternions(tree, q)
    out: list[tuple[np.ndarray, ...]] = []
    at_rest = np.repeat(np.eye(3)[:, :, None], count, axis=2), np.zeros((3, count)), *np.zeros((2, 6, count))
    for link in moving(tree, FLOATS, t, list(q), s, plan.parameters).links:
        R_j, p_j, velocity, acceleration = at_rest if link.parent < 0 else out[link.parent]
        (v_j, w_j), (a_j, alpha_j) = np.split(velocity, 2), np.split(acceleration, 2)
        r = _times(R_j, numbers(link.way.p, count))
        R = np.einsum("xyk,yzk->xzk", R_j, numbers(link.way.R.ravel(), count).reshape(3, 3, count))
        second = link.drift + link.G @ vector([sd[i] for i in link.speeds]) if link.speeds else link.drift
        (w, v), (turn, slide) = (
            [_times(R, numbers(axes @ rates, count) if len(rates) else at_rest[1]) for axes in (link.about, link.along)]
            for rates in (link.rates, second)
        )
        moved = _cross(w_j, r) + v
        a = a_j + _cross(alpha_j, r) + _cross(w_j, moved) + _cross(w_j + w, v) + slide
        alpha = alpha_j + _cross(w_j, w) + turn
        out.append((R, p_j + r, np.concatenate([v_j + moved, w_j + w]), np.concatenate([a, alpha])))
    return out


def _times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("xyk,yk->xk", R, x)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b of (3, K)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
