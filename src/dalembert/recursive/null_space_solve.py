"""One state with constraints of any rank, in numbers: M ṡ − h = Aᵀλ + S τ, A ṡ = β.

Both directions work along a basis N of the motions that the constraints leave free, A N = 0, where Nᵀ Aᵀ λ vanishes.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.linear_algebra import solve
from dalembert.errors import SingularError
from dalembert.mechanics import rank


def efforts(
    A: np.ndarray, S: np.ndarray, need: np.ndarray, scale: np.ndarray, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest τ of Nᵀ S τ = Nᵀ need, and the force that is left; `scale` are units of the speeds, `count` the rank of A."""
    _, N = rank.split(A, scale, count)
    wanted, able = N.T @ need, N.T @ S
    tau = rank.smallest_multipliers(able.T, wanted, np.ones(len(wanted)))
    return tau, (N / scale[:, None] ** 2) @ (wanted - able @ tau)


def accelerations(
    M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """ṡ of M ṡ = h + Aᵀλ, A ṡ = β, and what is left of A ṡ − β when the rows contradict each other; `count` is the rank of A."""
    sd, free = solution(M, h, A, beta, int(rank.numeric_rank(A)) if count is None else count)
    if free.size and not rank.definite(free):
        raise SingularError("there is a motion that the constraints leave free and that has no inertia")
    return sd, A @ sd - beta


def solution(
    M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """ṡ, and the inertia Nᵀ M N of the free motions, which has to be definite; machine code runs this text, too."""
    # speeds are measured so that the diagonal of M is one: heavy and light bodies may stand side by side
    pseudo, N = rank.split(A, rank.inertia_scale(M, A), count)
    sd = pseudo @ beta
    free = N.T @ (M @ N)
    if N.shape[1]:
        sd = sd + N @ solve(free, N.T @ (h - M @ sd))
    return sd, free
