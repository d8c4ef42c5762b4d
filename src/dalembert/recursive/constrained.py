"""Batches of states that constraints hold: which motions they admit, which forces give them, and what to say where none do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import InconsistentStateError, InputError, SingularError, nearest
from dalembert.model.loads import JointTorque
from dalembert.recursive import null_space
from dalembert.recursive.plan import Plan
from dalembert.recursive.rows import Rows
from dalembert.recursive.state import TOLERANCE, State


def require_fulfilled(state: State, held: Rows, sd: np.ndarray) -> None:
    """Position, velocity and acceleration fulfil the constraints; servo constraints have to on the last level only."""
    A, h = np.abs(held.A), len(held.phi)
    kept = np.array([not servo for servo in held.servo], dtype=bool)
    bent = np.einsum("knK,nK->kK", held.A, sd) - held.beta
    levels = (
        ("position", held.phi, A[:h].sum(axis=1), kept[:h]),
        ("velocity", held.velocity, np.einsum("knK,nK->kK", A, np.abs(state.s)), kept),
        ("acceleration", bent, np.einsum("knK,nK->kK", A, np.abs(sd)) + np.abs(held.beta), np.ones_like(kept)),
    )
    for level, values, size, asked in levels:
        excess = np.where(asked[:, None], np.abs(values) / (TOLERANCE * np.maximum(1.0, size)), 0.0)
        excess = np.where(np.isnan(excess), np.inf, excess)
        if excess.max(initial=0.0) > 1:
            i, k = (int(x) for x in np.unravel_index(int(np.argmax(excess)), excess.shape))
            raise InconsistentStateError(
                f"inverse dynamics of '{state.plan.tree.model.name}': the motion does not fulfil the constraints on {level} "
                f"level{state.where(k)}: '{held.names[i]}' is {values[i, k]:.6g}. Expected 0. Give a motion that fulfils "
                "them: dl.assemble finds positions and velocities, dl.forward_dynamics accelerations."
            )


def efforts(state: State, held: Rows, chosen: list[int], need: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """τ along the chosen speeds that, together with the constraints, does what is needed; `usual` is the size of forces here."""
    S = np.eye(len(need))[:, chosen]
    out = np.zeros_like(need)
    for k in range(state.K):
        found, left = null_space.efforts(held.A[:, :, k], S, need[:, k])
        if left > TOLERANCE * float(np.linalg.norm(usual[:, k])):
            names = ", ".join(state.plan.tree.speed_names[i] for i in chosen)
            along = f"forces along {names}" if chosen else "no forces at all"
            raise InputError(
                f"inverse dynamics of '{state.plan.tree.model.name}': {along} cannot produce the motion{state.where(k)}; a "
                f"generalized force of size {left:.6g} is left over. Name more coordinates in `actuated`, or give a motion "
                "that these can produce."
            )
        out[chosen, k] = found
    return out


def accelerations(state: State, M: np.ndarray, h: np.ndarray, held: Rows) -> np.ndarray:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β at every state."""
    name = f"model '{state.plan.tree.model.name}'"
    out = np.zeros_like(h)
    for k in range(state.K):
        A, beta = held.A[:, :, k], held.beta[:, k]
        if not all(np.isfinite(x).all() for x in (M[:, :, k], h[:, k], A, beta)):
            raise SingularError(
                f"{name}: a load, a joint or a constraint has no value{state.where(k)}. Expected numbers. "
                "Leave the singular position."
            )
        try:
            out[:, k], left = null_space.accelerations(M[:, :, k], h[:, k], A, beta)
        except SingularError as error:
            raise SingularError(
                f"{name}: {error}{state.where(k)}. Expected inertia along every free motion. "
                "Give the bodies mass or inertia, or leave the singular position."
            ) from None
        allowed = TOLERANCE * np.maximum(1.0, np.abs(A) @ np.abs(out[:, k]) + np.abs(beta))
        i = int(np.argmax(np.abs(left) / allowed))
        if abs(left[i]) > allowed[i]:
            raise SingularError(
                f"{name}: no acceleration fulfils all constraints{state.where(k)}; the nearest leaves '{held.names[i]}' at "
                f"{left[i]:.6g}. Expected 0. Give a state that fulfils them on position and velocity level."
            )
    return out


def driven_speeds(plan: Plan, names: Sequence[str] | None) -> list[int] | None:
    """The speeds that are driven: by names of coordinates or speeds, or else by the torques in the model's joints, if any."""
    tree = plan.tree
    if names is None:
        driven = [load for load in tree.model.loads if isinstance(load, JointTorque)]
        values = [tree.places[load.body, load.joint].values[load.motion] for load in driven]
        chosen = {j for value in values for i, _ in value.slopes for j in _speeds_of(plan, i)}
        return sorted(chosen) or None
    places = {name: _speeds_of(plan, i) for i, name in enumerate(tree.model.coordinate_names)}
    places |= {name: [i] for i, name in enumerate(tree.speed_names)}
    chosen = set()
    for name in [names] if isinstance(names, str) else names:
        if name not in places:
            raise InputError(f"actuated: there is no coordinate or speed '{name}'. {nearest(str(name), places)}")
        chosen |= set(places[name])
    return sorted(chosen)


def _speeds_of(plan: Plan, coordinate: int) -> list[int]:
    """The speeds of a coordinate: its rate, or all three of its quaternion."""
    column = plan.tree.columns[coordinate]
    if column is not None:
        return [column]
    attitude = next(a for a in plan.tree.attitudes if coordinate in a.parts)
    return [attitude.first, attitude.first + 1, attitude.first + 2]
