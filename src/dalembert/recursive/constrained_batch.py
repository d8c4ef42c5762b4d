"""Batches of states that constraints hold: which motions they admit, which forces give them, and what to say where none do."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from dalembert.errors import InconsistentStateError, InputError, NotApplicableError, SingularError, nearest
from dalembert.mechanics import random_states, rank
from dalembert.mechanics.constraint_rows import dimensionless
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.model.loads.base import InJoint
from dalembert.recursive import null_space_solve
from dalembert.recursive.constrained_forward import DOUBTFUL
from dalembert.recursive.constraint_batch import Rows, rows_of
from dalembert.recursive.joint_speeds import to_speeds
from dalembert.recursive.plan import TOLERANCE, Plan, State
from dalembert.symbolic.floats import FLOATS, numbers

_STATES = 6


def require_tree(plan: Plan, what: str) -> None:
    """Nothing but joints holds the bodies."""
    if plan.constrained:
        raise NotApplicableError(
            f"model '{plan.tree.model.name}' has constraints: {', '.join(plan.levels.names[:5])}. Expected a tree of "
            f"bodies for {what}. Derive its equations and use `simulate`, or leave the constraints out."
        )


def require_fulfilled(state: State, held: Rows, sd: np.ndarray) -> None:
    """Position, velocity and acceleration fulfil the constraints; servo constraints have to on the last level only."""
    A, h = np.abs(held.A), len(held.phi)
    size, T = state.plan.sizes[:, None], state.plan.scales.time
    kept = np.array([not servo for servo in held.servo], dtype=bool)
    bent = np.einsum("knK,nK->kK", held.A, sd) - held.beta
    levels = (
        ("position", held.phi, size[:h], kept[:h]),
        ("velocity", held.velocity, _terms(A, state.s) + size / T, kept),
        ("acceleration", bent, _terms(A, sd) + np.abs(held.beta) + size / T**2, np.ones_like(kept)),
    )
    for level, values, terms, asked in levels:
        excess = np.where(asked[:, None], np.abs(values) / (TOLERANCE * np.where(terms > 0, terms, 1.0)), 0.0)
        excess = np.where(np.isnan(excess), np.inf, excess)
        if excess.max(initial=0.0) > 1:
            i, k = (int(x) for x in np.unravel_index(int(np.argmax(excess)), excess.shape))
            raise InconsistentStateError(
                f"inverse dynamics of '{state.plan.tree.model.name}': the motion does not fulfil the constraints on {level} "
                f"level{state.where(k)}: '{held.names[i]}' is {values[i, k]:.6g}. Expected 0. Give a motion that fulfils "
                "them: dl.assemble finds positions and velocities, dl.forward_dynamics accelerations."
            )


def _terms(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The size of the terms of A x; A (k, n, K), x (n, K)."""
    return np.einsum("knK,nK->kK", A, np.abs(x))


def _count(state: State, held: Rows, k: int) -> int:
    """The rank of the constraints at one state; where it is in doubt, no more than it is at most states of the model."""
    unit = state.plan.units
    A = dimensionless(held.A[:, :, k], unit, state.plan.sizes)
    found = int(rank.numeric_rank(A, unit))
    if found and rank.independence(A, unit, found) < DOUBTFUL and (usual := usual_rank(state.plan)) is not None:
        return min(found, usual)
    return found


_RANKS: weakref.WeakKeyDictionary[Plan, int | None] = weakref.WeakKeyDictionary()


def usual_rank(plan: Plan) -> int | None:
    """The rank of the constraints at most states of the model, None where no states can be found; found once."""
    if plan not in _RANKS:
        _RANKS[plan] = _usual_rank(plan)
    return _RANKS[plan]


def _usual_rank(plan: Plan) -> int | None:
    try:
        found = random_states.consistent(with_contacts(plan.tree.model), _STATES)
    except InconsistentStateError:
        return None
    s = numbers(to_speeds(plan.tree, FLOATS, list(found.q), list(found.qd)), _STATES)
    A = np.moveaxis(rows_of(plan, found.q, found.qd, s, found.t).A, -1, 0)
    return rank.usual_rank(dimensionless(A, plan.units, plan.sizes), plan.units)


def efforts(state: State, held: Rows, chosen: list[int], need: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """τ along the chosen speeds that, together with the constraints, does what is needed; `usual` is the size of forces here."""
    S = np.eye(len(need))[:, chosen]
    out = np.zeros_like(need)
    unit, sizes = state.plan.units, state.plan.sizes
    for k in range(state.K):
        A = dimensionless(held.A[:, :, k], unit, sizes)
        found, rest = null_space_solve.efforts(A, S, need[:, k], unit, _count(state, held, k))
        if np.linalg.norm(unit * rest) > TOLERANCE * np.linalg.norm(unit * usual[:, k]):
            names = ", ".join(state.plan.tree.speed_names[i] for i in chosen)
            along = f"forces along {names}" if chosen else "no forces at all"
            raise InputError(
                f"inverse dynamics of '{state.plan.tree.model.name}': {along} cannot produce the motion{state.where(k)}; a "
                f"generalized force of size {np.linalg.norm(rest):.6g} is left over. Name more coordinates in `actuated`, or "
                "give a motion that these can produce."
            )
        out[chosen, k] = found
    return out


def accelerations(state: State, M: np.ndarray, h: np.ndarray, held: Rows) -> np.ndarray:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β at every state."""
    name = f"model '{state.plan.tree.model.name}'"
    out = np.zeros_like(h)
    for k in range(state.K):
        A = dimensionless(held.A[:, :, k], state.plan.units, state.plan.sizes)
        beta = held.beta[:, k] / np.where(state.plan.sizes > 0, state.plan.sizes, 1.0)
        if not all(np.isfinite(x).all() for x in (M[:, :, k], h[:, k], A, beta)):
            raise SingularError(
                f"{name}: a load, a joint or a constraint has no value{state.where(k)}. Expected numbers. "
                "Leave the singular position."
            )
        try:
            out[:, k], left = null_space_solve.accelerations(M[:, :, k], h[:, k], A, beta, _count(state, held, k))
        except SingularError as error:
            raise SingularError(
                f"{name}: {error}{state.where(k)}. Expected inertia along every free motion. "
                "Give the bodies mass or inertia, or leave the singular position."
            ) from None
        allowed = TOLERANCE * (np.abs(A) @ np.abs(out[:, k]) + np.abs(beta) + 1 / state.plan.scales.time**2)
        i = int(np.argmax(np.abs(left) / allowed))
        if abs(left[i]) > allowed[i]:
            raise SingularError(
                f"{name}: no acceleration fulfils all constraints{state.where(k)}; the nearest leaves '{held.names[i]}' at "
                f"{left[i] * (state.plan.sizes[i] or 1.0):.6g}. Expected 0. Give a state that fulfils them on position and "
                "velocity level."
            )
    return out


def driven_speeds(plan: Plan, names: Sequence[str] | None) -> list[int] | None:
    """The speeds that are driven: by names of coordinates or speeds, or else by the torques in the model's joints, if any."""
    tree = plan.tree
    if names is None:
        driven = [load for load in tree.model.loads if isinstance(load, InJoint) and load.drives]
        values = [tree.values[load.body, load.joint, load.motion] for load in driven]
        chosen = {j for value in values for i, _ in value.slopes for j in _speeds_of(plan, i)}
        return sorted(chosen) or None
    return named_speeds(plan, names, "actuated")


def named_speeds(plan: Plan, names: Sequence[str], argument: str) -> list[int]:
    """The speeds of coordinates or speeds by name; a part of a quaternion is for all three of its speeds."""
    tree = plan.tree
    places = {name: _speeds_of(plan, i) for i, name in enumerate(tree.model.coordinate_names)}
    places |= {name: [i] for i, name in enumerate(tree.speed_names)}
    chosen = set()
    for name in [names] if isinstance(names, str) else names:
        if name not in places:
            raise InputError(f"{argument}: there is no coordinate or speed '{name}'. {nearest(str(name), places)}")
        chosen |= set(places[name])
    return sorted(chosen)


def _speeds_of(plan: Plan, coordinate: int) -> list[int]:
    """The speeds of a coordinate: its rate, or all three of its quaternion."""
    column = plan.tree.columns[coordinate]
    if column is not None:
        return [column]
    attitude = next(a for a in plan.tree.attitudes if coordinate in a.parts)
    return [attitude.first, attitude.first + 1, attitude.first + 2]
