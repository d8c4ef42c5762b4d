"""What a guide across singular positions has to know of the equations in use."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Mechanics(Protocol):
    """What has to be known of the equations in use."""

    names: tuple[str, ...]  # of the rows of `rows`
    positions: int

    def rows(self, t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constraint rows (r, n, K) and mass matrices (n, n, K) at K states."""
        ...

    def violation(self, t: float, y: np.ndarray) -> np.ndarray:
        """φ of the same rows at one state; zero for those without."""
        ...

    def settled(self, t: float, y: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """The state on the constraints nearest to y with velocities q̇, and how much of the motion had to be corrected."""
        ...

    def velocities(self, t: float, y: np.ndarray) -> np.ndarray:
        """q̇."""
        ...

    def balance(self, t: float, y: np.ndarray) -> tuple[float, float]:
        """Energy less the work put in, and the size of the energies."""
        ...
