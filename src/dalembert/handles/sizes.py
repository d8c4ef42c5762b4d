"""How large each state of a simulation usually is, so that errors of metres, radians and joules can be weighed alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

_AWAY = 0.3  # how far from the start a second look is taken, in scales of the coordinates


def usual_sizes(equations: Equations) -> np.ndarray:
    """The sizes of the states (q, v[, work]), rounded to powers of two so that dividing by them is exact.

    Coordinates have the scales of the model. Each velocity variable, be it q̇, a quasi-velocity or a momentum, is as large as
    the velocities of the model's scale make it, at the start and next to it; the work is measured by mass × length² / time².
    """
    kernel, model, scales = equations.kernel, equations.model, equations.workspace.facts.scales
    n = len(scales.q)
    q0, qd0 = model.initial
    away = q0 + _AWAY * scales.positions * np.cos(np.arange(n))
    v = np.zeros((kernel.form.n_states - n, 0))
    for q in (q0, away):
        moves = np.concatenate([np.zeros((n, 1)), np.diag(scales.velocities)], axis=1)
        places, values = np.repeat(q[:, None], n + 1, axis=1), np.repeat(equations.values[:, None], n + 1, axis=1)
        with np.errstate(all="ignore"):
            found, _ = kernel.start(places, qd0[:, None] + moves, 0.0, values)
        v = np.concatenate([v, found[:, 1:] - found[:, :1]], axis=1)
    speeds = np.nan_to_num(np.abs(v), nan=0.0, posinf=0.0).max(axis=1, initial=0.0)
    work = [scales.mass * (scales.length / scales.time) ** 2] if kernel.has_work else []
    sizes = np.concatenate([scales.positions, np.where(speeds > 0, speeds, 1.0), work])
    return np.exp2(np.round(np.log2(sizes)))
