"""Which coordinates are ignorable, and why the others are not: Definition 1 of papers/volterra."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import numbers, vector
from dalembert.kinematics.applied import generalized_forces, non_ideal_forces
from dalembert.kinematics.constraints import Levels
from dalembert.kinematics.energies import kinetic, potential
from dalembert.model import Model
from dalembert.structure.states import States, at

_NOTHING = 1e-11


def find_ignorable(
    model: Model, states: States, A: np.ndarray, facts: Levels
) -> tuple[tuple[int, ...], dict[str, str]]:
    """Definition 1 of papers/volterra: q_i absent from L, no column in a, no generalized force; else the reason."""
    slope, force = _lagrangian_slopes(model, states), _forces(model, states)
    ignorable, reasons = [], {}
    for i, name in enumerate(model.coordinate_names):
        touched = [facts.names[r] for r in range(A.shape[1]) if np.abs(A[:, r, i]).max() > _NOTHING]
        if slope[i] > _NOTHING:
            reasons[name] = f"the Lagrangian depends on {name}"
        elif touched:
            reasons[name] = f"the constraint '{touched[0]}' has a non-zero column for {name}"
        elif force[i] > _NOTHING:
            reasons[name] = f"the generalized force on {name} is not zero"
        else:
            ignorable.append(i)
    return tuple(ignorable), reasons


def _lagrangian_slopes(model: Model, states: States) -> np.ndarray:
    """The largest |∂L/∂q_i| over the states, relative to the size of L, by complex steps."""
    n, K = states.q.shape
    q = np.repeat(states.q[:, :, None], n, axis=2).astype(complex)
    q[np.arange(n), :, np.arange(n)] += 1e-30j
    spread = States(q.reshape(n, -1), np.repeat(states.qd, n, axis=1), np.repeat(states.t, n))
    motion = at(model, spread)
    with np.errstate(all="ignore"):
        T, V = kinetic(motion, motion.qd), potential(motion)
    size = np.maximum(1e-12, np.abs(numbers(vector([T, V]), K * n)).sum(axis=0))
    L = numbers(vector([T - V]), K * n)[0]
    return np.abs(np.imag(L) / 1e-30 / size).reshape(K, n).max(axis=0)


def _forces(model: Model, states: States) -> np.ndarray:
    """The largest generalized force on each coordinate over the states."""
    motion = at(model, states)
    size = np.abs(numbers(generalized_forces(motion), len(states))).max(axis=1)
    C = non_ideal_forces(motion)
    return np.maximum(size, np.abs(numbers(C, len(states))).max(axis=1)) if len(C) else size
