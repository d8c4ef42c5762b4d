"""How independent constraints are along a run: one number without dimensions, and the rows that spoil it."""

from __future__ import annotations

import numpy as np

from dalembert.mechanics.rank import singular_value


class Independence:
    """The smallest singular value that should not vanish, of constraint rows without dimensions.

    Columns are scaled by diag(M)^(-1/2), rows by the largest length they have had. A row's own length at a state would hide
    rows that vanish as a whole, as those of a parallelogram do where it lies flat.

    >>> rows, M = np.array([[1.0, 0.0], [1.0, 1.0]])[..., None], np.eye(2)[..., None]
    >>> kept = Independence(2)
    >>> float(kept.measure(rows, M)[0]) > 0.5, float(kept.measure(rows * [[[1e-3]], [[1.0]]], M)[0]) < 1e-2
    (True, True)
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.usual = 0.0  # the largest value on the way, kept by whoever measures
        self._longest = np.zeros(1)

    def scaled(self, A: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Rows without dimensions; A is (r, n, K), M is (n, n, K), the result (K, r, n)."""
        diagonal = np.sqrt(np.maximum(np.einsum("iik->ik", M), 0.0))
        largest = diagonal.max(axis=0, initial=0.0)
        weights = 1 / np.maximum(diagonal, 1e-8 * np.where(largest > 0, largest, 1.0))
        rows = np.moveaxis(A * weights[None], -1, 0)
        lengths = np.linalg.norm(rows, axis=2).max(axis=0)
        self._longest = np.maximum(self._longest, lengths)
        return rows / np.where(self._longest > 0, self._longest, 1.0)[:, None]

    def measure(self, A: np.ndarray, M: np.ndarray) -> np.ndarray:
        """The value at every state."""
        return singular_value(self.scaled(A, M), self.rank - 1)

    def missed(self, A: np.ndarray, M: np.ndarray, phi: np.ndarray, below: float) -> float:
        """φ in the directions of small singular values, by the lengths of rows: how far from a crossing the branches are."""
        left, small = self._small(A, M, below)
        return float(np.linalg.norm(left[:, small].T @ (phi / np.where(self._longest > 0, self._longest, 1.0))))

    def spoilers(self, A: np.ndarray, M: np.ndarray, below: float) -> list[int]:
        """The rows that are dependent on others, or vanish, at one state: those with a share in small singular values."""
        left, small = self._small(A, M, below)
        share = np.linalg.norm(left[:, small], axis=1)
        return [int(i) for i in np.flatnonzero(share > 0.3 * share.max())]

    def _small(self, A: np.ndarray, M: np.ndarray, below: float) -> tuple[np.ndarray, list[int]]:
        """Left singular vectors at one state, and which of them belong to small singular values."""
        left, sizes, _ = np.linalg.svd(self.scaled(A[..., None], M[..., None])[0])
        return left, [i for i in range(self.rank) if sizes[i] <= below * self.usual] or [self.rank - 1]
