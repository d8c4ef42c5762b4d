"""Assembly: the nearest state that fulfils the constraints, positions first, then velocities, and what it moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import InconsistentStateError, InputError, nearest
from dalembert.kernels import Manifold

_ROUNDS = 60
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Assembly:
    """A consistent state and the way to it: `moved` and `moved_rates` say by how much each coordinate changed."""

    q: np.ndarray
    qd: np.ndarray
    moved: dict[str, float]
    moved_rates: dict[str, float]

    def __str__(self) -> str:
        changes = [f"{name} by {x:+.6g}" for name, x in self.moved.items() if abs(x) > 1e-12]
        rates = [f"{name} by {x:+.6g}" for name, x in self.moved_rates.items() if abs(x) > 1e-12]
        return f"positions moved: {', '.join(changes) or 'none'}; velocities changed: {', '.join(rates) or 'none'}"


def assemble(
    manifold: Manifold,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    parameters: np.ndarray,
    *,
    weights: Mapping[str, float] | None = None,
    keep: Sequence[str] = (),
) -> Assembly:
    """Mass-weighted projection; `weights` make coordinates heavier to move, those in `keep` do not move at all."""
    names = manifold.system.model.coordinate_names
    for name in (*keep, *(weights or {})):
        if name not in names:
            raise InputError(f"assemble: there is no coordinate '{name}'. {nearest(name, names)}")
    heavy = np.array([(weights or {}).get(name, 1.0) for name in names], dtype=float)
    if not (np.isfinite(heavy).all() and (heavy > 0).all()):
        raise InputError("assemble: weights must be positive numbers.")
    scale = np.sqrt(heavy)
    free = np.array([name not in keep for name in names])
    new_q = _positions(manifold, q, t, parameters, scale, free)
    new_qd = _velocities(manifold, new_q, qd, t, parameters, scale, free)
    pairs = zip(names, new_q - q, new_qd - qd, strict=True)
    moved = {name: (float(dq), float(dqd)) for name, dq, dqd in pairs}
    return Assembly(new_q, new_qd, {k: v[0] for k, v in moved.items()}, {k: v[1] for k, v in moved.items()})


def _step(M: np.ndarray, A: np.ndarray, residual: np.ndarray, scale: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The smallest change, in the weighted metric of M, that removes the residual to first order."""
    metric = scale[:, None] * M * scale[None, :]
    metric = metric[np.ix_(free, free)] + 1e-12 * np.trace(metric) / len(M) * np.eye(int(free.sum()))
    root = np.linalg.cholesky(metric)
    B = np.linalg.solve(root, A[:, free].T).T
    out = np.zeros(len(free))
    out[free] = np.linalg.solve(root.T, np.linalg.pinv(B, rcond=1e-10) @ residual)
    return out


def _positions(
    manifold: Manifold, q: np.ndarray, t: float, parameters: np.ndarray, scale: np.ndarray, free: np.ndarray
) -> np.ndarray:
    rows, still = manifold.holonomic, np.zeros_like(q)
    for _ in range(_ROUNDS if rows else 0):
        phi, _, A, M = manifold.evaluate(q, still, t, parameters)
        if np.max(np.abs(phi[rows])) <= _TOLERANCE:
            return q
        step = _step(M, A[rows], phi[rows], scale, free)
        # halve the step until the violation shrinks, so that a rough guess does not run away
        size = np.linalg.norm(phi[rows])
        for _ in range(30):
            trial, *_ = manifold.evaluate(q - step, still, t, parameters)
            if np.linalg.norm(trial[rows]) < size:
                break
            step = step / 2
        q = q - step
    if rows:
        phi, *_ = manifold.evaluate(q, still, t, parameters)
        _require(manifold, phi, rows, "position")
    return q


def _velocities(
    manifold: Manifold,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    parameters: np.ndarray,
    scale: np.ndarray,
    free: np.ndarray,
) -> np.ndarray:
    rows = manifold.rows
    for _ in range(_ROUNDS if rows else 0):
        _, residual, A, M = manifold.evaluate(q, qd, t, parameters)
        if np.max(np.abs(residual[rows])) <= _TOLERANCE:
            return qd
        qd = qd - _step(M, A[rows], residual[rows], scale, free)
    if rows:
        _, residual, *_ = manifold.evaluate(q, qd, t, parameters)
        _require(manifold, residual, rows, "velocity")
    return qd


def _require(manifold: Manifold, residual: np.ndarray, rows: list[int], level: str) -> None:
    worst = max(rows, key=lambda i: abs(residual[i]))
    if not abs(residual[worst]) <= 1e-9:
        name = manifold.system.structure.levels.names[worst]
        raise InconsistentStateError(
            f"assemble: no state near the given one fulfils the constraints at {level} level; the nearest that was found "
            f"leaves '{name}' at {residual[worst]:.6g}. Give another guess, or keep fewer coordinates."
        )
