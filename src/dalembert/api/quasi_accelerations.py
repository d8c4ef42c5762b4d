"""Gauss's principle in quasi-accelerations, and the least force of constraint: Result 3.2 and Corollary 3.1 of papers/poincare.

| symbol | name | equation |
|---|---|---|
| s = G q̇ | `s` | quasi-velocities (2.2) |
| M_s, S | `M_s`, `S` | M_s ṡ = S without constraints (2.14) |
| A_s, b_s | `A_s`, `b_s` | A_s ṡ = b_s (3.5) |
| a_s | `a_s` | M_s⁻¹ S, free quasi-acceleration (3.22) |
| ṡ, S_c | `sd`, `S_c` | a_s + M_s⁻¹ S_c, and the force of constraint (3.25) |
| G(ŝ̇) | `gaussian` | (ŝ̇ − a_s)ᵀ M_s (ŝ̇ − a_s) (3.37) |
| Ŝ_cᵀ M_s⁻¹ Ŝ_c | `measure` | of any force that keeps the constraints (3.43) |

All of it is for ideal constraints. Where they are not, S holds the C_s that the mechanician prescribes: the principle speaks of
the force that is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dalembert.arguments import numbers_given
from dalembert.errors import InputError
from dalembert.mechanics import rank
from dalembert.model.frozen import Value

_KEPT = 1e-8  # of the size of A_s ŝ̇: what may be left of the constraints


@dataclass(frozen=True)
class QuasiAccelerations(Value):
    """What Poincaré's equations say at one state of (q, s)."""

    s: np.ndarray
    M_s: np.ndarray
    S: np.ndarray
    A_s: np.ndarray  # the independent rows
    b_s: np.ndarray

    @cached_property
    def a_s(self) -> np.ndarray:
        """The quasi-acceleration without constraints: (3.22)."""
        return np.linalg.solve(self.M_s, self.S)

    @cached_property
    def S_c(self) -> np.ndarray:
        """The force of ideal constraints, M_s^(1/2) (A_s M_s^(−1/2))⁺ (b_s − A_s a_s): (3.25)."""
        size, axes = np.linalg.eigh(self.M_s)
        root, back = (axes * np.sqrt(size)) @ axes.T, (axes / np.sqrt(size)) @ axes.T
        return root @ (np.linalg.pinv(self.A_s @ back) @ (self.b_s - self.A_s @ self.a_s))

    @property
    def sd(self) -> np.ndarray:
        """The quasi-acceleration that nature takes: (3.35)."""
        return self.a_s + np.linalg.solve(self.M_s, self.S_c)

    def gaussian(self, sd: npt.ArrayLike | None = None) -> float | np.ndarray:
        """(ŝ̇ − a_s)ᵀ M_s (ŝ̇ − a_s), (3.37), of quasi-accelerations (n,) or (n, K) with A_s ŝ̇ = b_s; by default of ṡ."""
        taken = self.sd if sd is None else self._possible(sd, "gaussian, sd")
        gap = (taken.T - self.a_s).T
        return np.einsum("n...,nm,m...->...", gap, self.M_s, gap)[()]

    def measure(self, S_c: npt.ArrayLike | None = None) -> float | np.ndarray:
        """Ŝ_cᵀ M_s⁻¹ Ŝ_c, (3.43), of forces (n,) or (n, K) under which the constraints are kept; by default of S_c itself."""
        force = self.S_c if S_c is None else numbers_given(S_c, "measure, S_c")
        self._possible((np.linalg.solve(self.M_s, force).T + self.a_s).T, "measure, S_c")
        return np.einsum("n...,n...->...", force, np.linalg.solve(self.M_s, force))[()]

    def possible(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Random quasi-accelerations (n, count) that fulfil A_s ŝ̇ = b_s: (3.38)."""
        n = len(self.s)
        if not len(self.A_s):
            free = np.eye(n)
        else:
            free = rank.split(self.A_s, None, len(self.A_s))[1]
        spread = 1 + np.linalg.norm(self.sd)
        moves = spread * np.random.default_rng(seed).normal(size=(free.shape[1], count))
        return self.sd[:, None] + free @ moves

    def _possible(self, sd: npt.ArrayLike, where: str) -> np.ndarray:
        """Quasi-accelerations that fulfil the constraints, or by how much they do not."""
        found, n = numbers_given(sd, where), len(self.s)
        if found.ndim not in (1, 2) or found.shape[0] != n:
            raise InputError(f"{where} has shape {found.shape}. Expected ({n},) or ({n}, K).")
        left = np.abs((self.A_s @ found).T - self.b_s)
        size = np.abs(self.A_s) @ np.abs(found)
        if (left > _KEPT * (size.T + np.abs(self.b_s))).any():
            raise InputError(
                f"{where}: the constraints are not kept, A_s ŝ̇ − b_s is {left.max():.3g}. Expected A_s ŝ̇ = b_s; "
                "`possible` gives such quasi-accelerations."
            )
        return found
