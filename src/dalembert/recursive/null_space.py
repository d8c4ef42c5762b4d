"""One state with constraints of any rank, in numbers: M ṡ − h = Aᵀλ + S τ, A ṡ = β.

Both directions work along a basis N of the motions that the constraints leave free, A N = 0, where Nᵀ Aᵀ λ vanishes.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import SingularError

_DEPENDENT = 1e-6  # rows count as dependent below this; states may be off the constraints by as much
_SINGULAR = 1e-12


def split(A: np.ndarray, scale: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A⁺ and an orthonormal basis N of the null space of A (k×n), dependent rows left out.

    With `scale` they belong to A with its columns scaled, but which rows are dependent is seen before.

    >>> pseudo, N = split(np.array([[1.0, 0.0], [2.0, 0.0]]))
    >>> pseudo.shape, np.abs(N).tolist()
    ((2, 2), [[0.0], [1.0]])
    """
    sigma = np.linalg.svd(_leveled(A)[0], compute_uv=False)
    rank = int((sigma > _DEPENDENT * sigma.max(initial=1e-300)).sum())
    rows, sizes = _leveled(A if scale is None else A * scale)
    U, sigma, Vt = np.linalg.svd(rows)
    return Vt[:rank].T @ ((U[:, :rank] / sigma[:rank]).T / sizes), Vt[rank:].T


def _leveled(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A with rows of length one, and their lengths; rows of zeros stay."""
    sizes = np.linalg.norm(A, axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return A / sizes[:, None], sizes


def efforts(A: np.ndarray, S: np.ndarray, need: np.ndarray) -> tuple[np.ndarray, float]:
    """The smallest τ of Nᵀ S τ = Nᵀ need, and the size of what no τ can do."""
    _, N = split(A)
    wanted, able = N.T @ need, N.T @ S
    tau = np.linalg.pinv(able, rcond=1e-9) @ wanted if able.size else np.zeros(S.shape[1])
    return tau, float(np.linalg.norm(wanted - able @ tau))


def accelerations(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β, and what is left of A ṡ − β when the rows contradict each other."""
    # speeds are measured so that the diagonal of M is one: heavy and light bodies may stand side by side
    diagonal = np.diag(M)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    pseudo, N = split(A, scale)
    M, h, A = M * np.outer(scale, scale), h * scale, A * scale
    sd = pseudo @ beta
    free = N.T @ M @ N
    if free.size:
        if np.linalg.eigvalsh(free)[0] <= _SINGULAR:
            raise SingularError("there is a motion that the constraints leave free and that has no inertia")
        sd = sd + N @ np.linalg.solve(free, N.T @ (h - M @ sd))
    return sd * scale, A @ sd - beta
