"""Forces at the samples of a run: in joints, of loads and drives, and multipliers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.api.body_motion import Samples, body_motion
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.function import interpreting_long_programs
from dalembert.errors import InputError
from dalembert.mechanics import rank
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.joint_forces import JointForces, require_frame
from dalembert.model.description import Elements
from dalembert.model.frozen import Frozen
from dalembert.simulation.load_outputs import drive_names, joint_efforts, load_forces
from dalembert.simulation.mode_changes import Switchboard

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
        raise InputError(f"model '{model.name}' is given by its energies, so it has no joints. Describe it by bodies.")
    require_frame(frame)
    return equations.workspace.joint_reactions.along(*state, values, frame)


def smallest_multipliers(known: Facts, A: np.ndarray, reaction: np.ndarray) -> np.ndarray:
    """The smallest λ with Aᵀλ = reaction; A (k, n) or (k, n, batch), reaction (n,) or (n, batch)."""
    rows, force = np.moveaxis(A, (0, 1), (-2, -1)), np.moveaxis(reaction, 0, -1)
    finite = np.asarray(np.isfinite(rows).all(axis=(-2, -1)))[..., None]  # singular values need numbers
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
    """The efforts of drives at (t, q, q̇), some of which are rows of the multipliers."""
    return joint_efforts(model, named, *state) | {name: rows[name] for name in rows if name in drive_names(model)}


def with_bodies(equations: BoundEquations, run: Trajectory) -> Trajectory:
    """The run with motions of bodies, forces of loads and drives, and forces in joints; see `Equations.evaluate`."""
    if run.model != equations.model or run.formalism != equations.formalism:
        raise InputError(
            f"evaluate: the run is of '{run.model.name}' by {run.formalism}, the equations are of '{equations.model.name}' by "
            f"{equations.formalism}. Expected the equations that were simulated."
        )
    equations = equations.with_parameters(run.parameters) if equations.parameters != dict(run.parameters) else equations
    used = equations if len(run.values) == len(equations.values) else Switchboard(equations).equations
    named, state = dict(zip(used.model.parameter_values, run.values, strict=True)), (run.t, run.q, run.qd)
    found: dict[str, Any] = {}
    with interpreting_long_programs(), np.errstate(all="ignore"):
        if run.model.bodies:
            found["bodies"] = body_motion([Samples(equations, run.t, run.q, run.qd, run.qdd)])
        if run.model.bodies and not run.by_recursion and not run.model.canonical_constraints:
            at = (run.q, run.qd, run.qdd, run.t, run.multipliers)
            found["joints"] = joint_reactions(used, run.values, "world", at)
    rows = dict(zip(run.constraint_names, run.multipliers, strict=True))
    loads = load_forces(equations.loaded_model(used.model), named, *state)
    return replace(run, **found, loads=Frozen(loads), efforts=Frozen(drive_efforts(used.model, named, state, rows)))
