"""Conditioning of the inertia on the constraint null space: where it is singular, accelerations are not determined.

Bodies with inertia and one joint each are always regular. Angles at gimbal lock, polar coordinates at the pole and energies
given by formulas can be singular: the coordinates are singular there, not the motion.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dalembert.mechanics import rank
from dalembert.mechanics.attitude_charts import attitudes_of
from dalembert.mechanics.constraint_levels import Levels
from dalembert.mechanics.state_batch import Parameters, States, constraint_matrix, mass_matrices, one_state
from dalembert.model.description import Description, Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import at_start, value
from dalembert.model.scales import Scales

_ZERO_INERTIA = 1e-13  # fraction of the inertia at a neighboring state below which inertia counts as zero
_NEIGHBOR_STEP = 0.3  # distance of the neighboring states, in scales of a coordinate
_COMPONENT_TOLERANCE = 1e-6  # components of a direction below this fraction of the largest are ignored


def reciprocal_condition(M: np.ndarray, A: np.ndarray, sizes: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Ratio of the smallest to the largest eigenvalue of M (n, n) on A q̇ = 0, and the direction (n,) of the smallest.

    Coordinates are scaled by `sizes` of their inertia, by default the diagonal of M, so that the result has no units.

    >>> M = np.array([[2.0, 1.0], [1.0, 0.5 + 1e-6]])
    >>> least, direction = reciprocal_condition(M, np.zeros((0, 2)))
    >>> round(least * 1e6, 3), abs(direction).round(3).tolist()
    (0.5, [0.707, 0.707])
    >>> reciprocal_condition(M, np.array([[1.0, 0.0]]))[0]
    1.0
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(M) if sizes is None else sizes, 1e-300))
    free = np.eye(len(M))
    if len(A):
        rows = A * scale
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        _, found, Vt = np.linalg.svd(rows)
        free = Vt[int((found > rank.TOLERANCE * found[0]).sum()) :].T
    if not free.shape[1]:
        return 1.0, np.zeros(len(M))
    values, vectors = np.linalg.eigh(free.T @ (M * np.outer(scale, scale)) @ free)
    return float(max(values[0], 0.0) / max(values[-1], 1e-300)), free @ vectors[:, 0]


@lru_cache(maxsize=64)
def may_become_singular(model: Description) -> bool:
    """Can the inertia of a model vanish along a motion, other than at gimbal lock of an attitude?

    True for energies given by formulas, and for bodies without rotational inertia that rotate about several axes, or slide too.
    """
    if model.energies is not None:
        return True
    has_attitude = {attitude.body for attitude in attitudes_of(model)}
    return any(_may_become_singular(model, body, body.name in has_attitude) for body in model.bodies)


def _may_become_singular(model: Description, body: Body, has_attitude: bool) -> bool:
    motions = [step for joint in body.joints for step in joint.steps]
    n_rotations = sum(step.about is not None for step in motions)
    if n_rotations < 1 or len(motions) < 2 or any(joint.quaternion for joint in body.joints):
        return False
    if n_rotations > 3 or (n_rotations == 3 and not has_attitude):
        return True
    table = at_start(model)
    inertia = np.array([[value(entry, table) for entry in row] for row in body.inertia])
    return not np.linalg.eigvalsh((inertia + inertia.T) / 2)[0] > 0


def singular_coordinates(
    model: Elements, levels: Levels, scales: Scales, q: np.ndarray, t: float = 0.0, parameters: Parameters = None
) -> str | None:
    """Message that names the coordinates that are singular at a state, or None if they are regular.

    They are singular if a motion admitted by the constraints has zero inertia here but not at neighboring states.
    """
    unit, state = scales.positions, one_state(q, t=t)
    with np.errstate(all="ignore"):
        A = np.nan_to_num(constraint_matrix(model, levels, state, parameters)[0])
        M = np.nan_to_num(mass_matrices(model, state, parameters)[0])
        _, free = rank.pseudo_inverse_and_null_space(A, unit)
        if not free.size:
            return None
        energies, modes = np.linalg.eigh(free.T @ M @ free)
        direction = free @ modes[:, 0]
        neighbors = States(q[:, None] + _NEIGHBOR_STEP * np.diag(unit), np.zeros((len(q), len(q))), np.full(len(q), t))
        near = np.einsum("i,kij,j->k", direction, np.nan_to_num(mass_matrices(model, neighbors, parameters)), direction)
    causes = np.flatnonzero(near > 0)
    if not len(causes) or energies[0] > _ZERO_INERTIA * near.max():
        return None
    causes = np.flatnonzero(near > 1e-3 * near.max())
    involved = np.flatnonzero(np.abs(direction / unit) > _COMPONENT_TOLERANCE * np.abs(direction / unit).max())
    names = [model.coordinate_names[i] for i in sorted({*causes.tolist(), *involved.tolist()})]
    position = ", ".join(f"{model.coordinate_names[i]} = {q[i]:.6g}" for i in causes)
    many, are = ("coordinates", "are") if len(names) > 1 else ("coordinate", "is")
    rates = ", ".join(model.coordinate_names[i] for i in involved)
    return (
        f"the {many} {', '.join(names)} {are} singular at {position}: a rate of {rates} produces no motion there. Start near "
        "this state, or use coordinates that are regular there, such as Cartesian coordinates or a quaternion"
    )
