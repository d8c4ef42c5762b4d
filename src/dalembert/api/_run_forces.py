"""Forces at the samples of a run: joint reactions, loads, drive efforts and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.api.trajectory import Fields, Trajectory
from dalembert.codegen.function import interpreting_long_programs
from dalembert.errors import InputError
from dalembert.mechanics import rank
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.joint_reactions import JointForces, require_frame
from dalembert.model.description import Elements
from dalembert.model.immutable import Frozen
from dalembert.recursive.joint_speeds import to_speed_rates, to_speeds, with_unit_quaternions
from dalembert.recursive.link_states import moving
from dalembert.recursive.plan import TreePlan, plan_of
from dalembert.simulation.mode_changes import ModeManager
from dalembert.simulation.observables import drive_names, joint_efforts, load_forces
from dalembert.simulation.trajectory_data import BodyMotion
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations


def joint_reactions(
    equations: BoundEquations,
    values: np.ndarray,
    frame: str,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> JointForces:
    """The joint reactions at (q, q̇, q̈, t, λ), one state or many."""
    model = equations.model
    if not model.bodies:
        raise InputError(
            f"model '{model.name}' is defined by energies, so it has no joints. Define it by bodies and joints."
        )
    require_frame(frame)
    return equations.workspace.joint_reactions.along(*state, values, frame)


def smallest_multipliers(known: Facts, A: np.ndarray, reaction: np.ndarray) -> np.ndarray:
    """The smallest λ with Aᵀλ = reaction; A (k, n) or (k, n, batch), reaction (n,) or (n, batch)."""
    rows, force = np.moveaxis(A, (0, 1), (-2, -1)), np.moveaxis(reaction, 0, -1)
    finite = np.asarray(np.isfinite(rows).all(axis=(-2, -1)))[..., None]  # singular values require finite entries
    found = rank.smallest_multipliers(
        np.where(finite[..., None], rows, 0.0), force, known.scales.positions, len(known.rows)
    )
    return np.moveaxis(np.where(finite, found, np.nan), -1, 0)


def drive_efforts(
    model: Elements,
    named: dict[str, Any],
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    rows: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The efforts of drives at (t, q, q̇); those of prescribed motions are multipliers."""
    return joint_efforts(model, named, *state) | {name: rows[name] for name in rows if name in drive_names(model)}


def with_bodies(equations: BoundEquations, run: Trajectory) -> Trajectory:
    """The run with body motions, load forces, drive efforts and joint reactions; see `Equations.evaluate`."""
    if run.model != equations.model or run.formalism != equations.formalism:
        raise InputError(
            f"evaluate: the run belongs to '{run.model.name}' by {run.formalism}, the equations to '{equations.model.name}' by "
            f"{equations.formalism}. Expected the equations that were simulated."
        )
    equations = equations.with_parameters(run.parameters) if equations.parameters != dict(run.parameters) else equations
    used = equations if len(run.values) == len(equations.values) else ModeManager(equations).equations
    named, state = dict(zip(used.model.parameter_values, run.values, strict=True)), (run.t, run.q, run.qd)
    found: Fields = {}
    with interpreting_long_programs(), np.errstate(all="ignore"):
        if run.model.bodies:
            found["bodies"] = body_motion([RunSamples(equations, run.t, run.q, run.qd, run.qdd)])
        if run.model.bodies and not run.by_recursion and not run.model.canonical_constraints:
            at = (run.q, run.qd, run.qdd, run.t, run.multipliers)
            found["joints"] = joint_reactions(used, run.values, "world", at)
    rows = dict(zip(run.constraint_names, run.multipliers, strict=True))
    loads = load_forces(equations.loaded_model(used.model), named, *state)
    return replace(run, **found, loads=Frozen(loads), efforts=Frozen(drive_efforts(used.model, named, state, rows)))


class RunSamples(NamedTuple):
    """Samples of a run and their equations: t (samples,), and q, q̇ and q̈ (n, samples)."""

    equations: BoundEquations
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def body_motion(pieces: Sequence[RunSamples]) -> BodyMotion:
    """The motions of all bodies along consecutive parts of a run."""
    names = tuple(body.name for body in pieces[0].equations.model.bodies)
    found = [_along(piece, names) for piece in pieces]
    return BodyMotion(names, *(np.concatenate(each, axis=-1) for each in zip(*found, strict=True)))


def _along(piece: RunSamples, names: Sequence[str]) -> tuple[np.ndarray, ...]:
    """Rotations, positions, velocities and accelerations of bodies, (bodies, ..., samples)."""
    declared, changes = piece.equations.derivation.setup.declared, piece.equations.changes
    plan = plan_of(
        declared.without_controllers().with_parameters(changes) if changes else declared.without_controllers()
    )
    links = dict(zip((link.body and link.body.name for link in plan.tree.links), _links(plan, piece), strict=True))
    return tuple(np.stack(each) for each in zip(*(links[name] for name in names), strict=True))


def _links(plan: TreePlan, piece: RunSamples) -> list[tuple[np.ndarray, ...]]:
    """R (3, 3, K), p (3, K), velocity and acceleration (6, K) of the links."""
    tree, count, (_, t, q, qd, qdd) = plan.tree, len(piece.t), piece
    s, sd = list(qd), list(qdd)
    if tree.attitudes:  # quaternions are normalized, and their rates converted to angular velocities
        s = list(to_speeds(tree, FLOATS, list(q), list(qd)))
        sd = list(to_speed_rates(tree, FLOATS, list(q), list(qd), list(qdd)))
        q = with_unit_quaternions(tree, q)
    out: list[tuple[np.ndarray, ...]] = []
    at_rest = np.repeat(np.eye(3)[:, :, None], count, axis=2), np.zeros((3, count)), *np.zeros((2, 6, count))
    for link in moving(tree, FLOATS, t, list(q), s, plan.parameters).links:
        R_j, p_j, velocity, acceleration = at_rest if link.parent < 0 else out[link.parent]
        (v_j, w_j), (a_j, alpha_j) = np.split(velocity, 2), np.split(acceleration, 2)
        r = _times(R_j, numbers(link.transform.p, count))
        R = np.einsum("xyk,yzk->xzk", R_j, numbers(link.transform.R.ravel(), count).reshape(3, 3, count))
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
