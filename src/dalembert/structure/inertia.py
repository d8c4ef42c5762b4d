"""How regular the inertia of the motions is that constraints leave free: where it is singular, coordinates have no accelerations."""

from __future__ import annotations

import numpy as np

from dalembert.structure import rank


def reciprocal_condition(M: np.ndarray, A: np.ndarray) -> tuple[float, np.ndarray]:
    """The least eigenvalue of M (n, n), by the largest, along the motions with A q̇ = 0, and its direction (n,).

    Coordinates are measured by their own inertia, so that units do not matter.
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    free = np.eye(len(M))
    if len(A):
        rows = A * scale
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        _, sizes, Vt = np.linalg.svd(rows)
        free = Vt[int((sizes > rank.TOLERANCE * sizes[0]).sum()) :].T
    if not free.shape[1]:
        return 1.0, np.zeros(len(M))
    values, vectors = np.linalg.eigh(free.T @ (M * np.outer(scale, scale)) @ free)
    return float(max(values[0], 0.0) / max(values[-1], 1e-300)), free @ vectors[:, 0]
