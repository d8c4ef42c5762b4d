"""Is a state on the constraints? Wrong states are errors, never silently repaired."""

from __future__ import annotations

import numpy as np

from dalembert.errors import InconsistentStateError
from dalembert.model.description import Elements
from dalembert.model.scales import Scales
from dalembert.simulation.constraint_manifold import Manifold

_TOLERANCE = 1e-8  # of a constraint, relative to the size of its terms
_SAME = 1e-7  # of a velocity, relative to the largest and to the scale of its own


def require_consistent(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> None:
    """Raise with every violated constraint, its size, time and state, unless all constraints hold."""
    known = manifold.system.facts
    if not known.levels.names:
        return
    phi, velocity, A, _ = manifold.evaluate(q, qd, t, parameters)
    names, servo, sizes = known.levels.names, known.levels.servo, np.array(known.sizes)
    scale = sizes + np.abs(A) @ np.abs(q), sizes / known.scales.time + np.abs(A) @ np.abs(qd)
    broken = [
        f"{level} of '{names[i]}' is {value:.6g}"
        for level, values, size in (("position", phi, scale[0]), ("velocity", velocity, scale[1]))
        for i, value in enumerate(values)
        if not servo[i] and not abs(value) <= _TOLERANCE * size[i]
    ]
    if broken:
        shown = ", ".join(
            f"{name} = {x:.6g} (rate {xd:.6g})"
            for name, x, xd in zip(manifold.system.model.coordinate_names, q, qd, strict=True)
        )
        raise InconsistentStateError(
            f"the state at t = {t:.9g} does not fulfil the constraints: {'; '.join(broken)}. Expected 0. "
            f"State: {shown}. Start from a state that fulfils them."
        )


def are_consistent(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """Which of many states (n, K) with parameters (m, K) `require_consistent` takes."""
    phi, velocity, A, _ = manifold.evaluate(q, qd, t, parameters)
    known, held = manifold.system.facts, len(phi)
    sizes, counts = np.array(known.sizes)[:, None], ~np.array(known.levels.servo, dtype=bool)
    scale = sizes + np.einsum("knb,nb->kb", np.abs(A), np.abs(q))
    pace = sizes / known.scales.time + np.einsum("knb,nb->kb", np.abs(A), np.abs(qd))
    fits = (np.abs(velocity) <= _TOLERANCE * pace)[counts].all(axis=0)
    return fits & (np.abs(phi) <= _TOLERANCE * scale[:held])[counts[:held]].all(axis=0)


def require_same_velocities(model: Elements, scales: Scales, given: np.ndarray, rebuilt: np.ndarray) -> None:
    """Raise when velocities that were rebuilt from quasi-velocities are not the given ones: those break a constraint."""
    unit = scales.velocities.reshape(-1, *(1 for _ in given.shape[1:]))
    gap, allowed = np.abs(given - rebuilt), _SAME * unit * (1 + np.abs(given / unit).max(axis=0))
    if (gap <= allowed).all():
        return
    worst = np.unravel_index(np.argmax(gap / allowed), gap.shape)
    i = int(worst[0])
    state = f"state {int(worst[1])} of the batch" if gap.ndim == 2 else "the state"
    raise InconsistentStateError(
        f"{state} does not fulfil the constraints at velocity level: the rate of '{model.coordinate_names[i]}' is "
        f"{given[worst]:.6g}, the constraints and the quasi-velocities give {rebuilt[worst]:.6g}. "
        "Give velocities that fulfil the constraints."
    )
