"""Numerical values of the quantities of chapter 5 of papers/desapio: M, b, g, the constraint space, minimal coordinates.

| symbol | name | equation |
|---|---|---|
| M, b, g, τ | `M`, `b`, `g`, `tau` | (5.56)–(5.59) from bodies; (5.210), (5.217), (5.214) from energies |
| Φ, Φ̇q̇ | `Phi`, `Phi_dot_qd` | (5.81), (5.89) |
| H, Φ̄, Θ | `H`, `Phi_bar`, `Theta` | (5.90), (5.91), (5.95) |
| α, ρ | `alpha`, `rho` | (5.152), (5.153) |
| W, M_p, b_p, g_p, τ_p | `W`, `M_p`, `b_p`, `g_p`, `tau_p` | (5.299), (5.303)–(5.306) |

Deviates: W is an orthonormal basis computed at each state, which is not smooth, so Ẇ q̇_p of (5.304) is replaced by Φ⁺(−Φ̇q̇), the
minimum-norm acceleration that satisfies the constraints: q̈ = W q̈_p + Φ⁺(−Φ̇q̇).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array
from dalembert.errors import InputError, SingularError
from dalembert.formalisms import dalembert
from dalembert.formalisms.shared import solvers
from dalembert.formalisms.shared.common_quantities import free_equations, free_parts
from dalembert.mechanics import rank
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.model.immutable import FrozenValue
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Array, stack, zeros

_CONSTRAINT_TOLERANCE = 1e-8  # of the residual A_s ŝ̇ − b_s, relative to its terms


@dataclass(frozen=True)
class ConstraintSpace(FrozenValue):
    """Θᵀ(τ + C) = M q̈ + b + g − Φᵀ(α + ρ), (5.154), at one state or many; the rows of Φ are the independent constraints.

    The batch is the last axis of every quantity.
    """

    M: np.ndarray
    b: np.ndarray
    g: np.ndarray
    tau: np.ndarray
    C: np.ndarray  # generalized forces of non-ideal constraints: (3.44) of papers/poincare
    Phi: np.ndarray
    Phi_dot_qd: np.ndarray  # of Φ q̈ = −Φ̇q̇, including explicit time dependence

    @cached_property
    def _space(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        try:
            found = solvers.constraint_space(_batch_first(self.M), _batch_first(self.Phi))
        except np.linalg.LinAlgError:
            raise SingularError(
                "constraint_space: M or Φ M⁻¹ Φᵀ is singular at a state, so H (5.90) does not exist. "
                "Use W, M_p, b_p and g_p, which need no inverse, or another state."
            ) from None
        return tuple(_batch_last(x, self.b) for x in found)  # pyright: ignore[reportReturnType]

    @property
    def H(self) -> np.ndarray:
        """The constraint space mass matrix (Φ M⁻¹ Φᵀ)⁻¹: (5.90)."""
        return self._space[0]

    @property
    def Phi_bar(self) -> np.ndarray:
        """The mass-weighted inverse M⁻¹ Φᵀ H of Φ: (5.91)."""
        return self._space[1]

    @property
    def Theta(self) -> np.ndarray:
        """The projection 1 − Φ̄ Φ onto the null space of Φ: (5.95)."""
        return self._space[2]

    @property
    def alpha(self) -> np.ndarray:
        """Φ̄ᵀ b − H Φ̇q̇, the centrifugal and Coriolis forces at the constraints: (5.152)."""
        return _times(_transposed(self.Phi_bar), self.b) - _times(self.H, self.Phi_dot_qd)

    @property
    def rho(self) -> np.ndarray:
        """Φ̄ᵀ g, gravity at the constraints: (5.153)."""
        return _times(_transposed(self.Phi_bar), self.g)

    @property
    def lam(self) -> np.ndarray:
        """λ = −Φ̄ᵀ(τ − b − g) − H Φ̇q̇: (5.93)."""
        return self.alpha + self.rho - _times(_transposed(self.Phi_bar), self.tau + self.C)

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray]:
        """Φ⁺, and an orthonormal basis of ker Φ."""
        if not len(self.Phi):
            n = len(self.b)
            shape = (n, n, *self.b.shape[1:])
            return np.zeros((n, 0, *self.b.shape[1:])), np.broadcast_to(_batch_last(np.eye(n)[None], self.b), shape)
        found = [rank.pseudo_inverse_and_null_space(Phi, None, len(Phi)) for Phi in _batch_first(self.Phi)]
        plus, W = (np.stack([pair[i] for pair in found]) for i in range(2))
        return _batch_last(plus, self.b), _batch_last(W, self.b)

    @property
    def W(self) -> np.ndarray:
        """An orthonormal basis of ker Φ, one column for each degree of freedom: (5.299). It is not smooth in q."""
        return self._split[1]

    @property
    def P(self) -> np.ndarray:
        """W Wᵀ, the kinematic projection onto the null space of Φ: (5.94)."""
        return _product(self.W, _transposed(self.W))

    @property
    def M_p(self) -> np.ndarray:
        """Wᵀ M W: (5.303)."""
        return _product(_transposed(self.W), _product(self.M, self.W))

    @property
    def b_p(self) -> np.ndarray:
        """Wᵀ b + Wᵀ M Ẇ q̇_p with Φ⁺(−Φ̇q̇) for Ẇ q̇_p: (5.304)."""
        drift = _times(self._split[0], -self.Phi_dot_qd)
        return _times(_transposed(self.W), self.b + _times(self.M, drift))

    @property
    def g_p(self) -> np.ndarray:
        """Wᵀ g: (5.305)."""
        return _times(_transposed(self.W), self.g)

    @property
    def tau_p(self) -> np.ndarray:
        """Wᵀ(τ + C): (5.306)."""
        return _times(_transposed(self.W), self.tau + self.C)


def parts(system: System) -> tuple[Array, Array, Array, Array]:
    """M, b, g and τ: sums over bodies (5.56)–(5.58), or from energies, (5.217)."""
    if system.model.energies is None:
        value = dalembert.derive(system).value
        return value("M"), value("b"), value("g"), value("tau")
    return free_equations(system)[0], *free_parts(system)


def constraint_space(
    workspace: Workspace, q: np.ndarray, qd: np.ndarray, t: np.ndarray, parameters: np.ndarray
) -> ConstraintSpace:
    """All quantities at one state or many, with one function that is compiled once."""
    n, r = len(q), len(workspace.facts.rows)
    out = workspace.evaluated(outputs, (q, qd), t, parameters)
    M, b, g, tau, C, Phi, beta = np.split(out, np.cumsum([n * n, n, n, n, n, r * n]))
    batch = q.shape[1:]
    return ConstraintSpace(M.reshape(n, n, *batch), b, g, tau, C, Phi.reshape(r, n, *batch), -beta)


def outputs(system: System) -> Array:
    """M, b, g, τ, C, Φ and β, concatenated."""
    M, b, g, tau = parts(system)
    C = non_ideal_forces(system.motion)
    return stack(M.ravel(), b, g, tau, zeros(len(b)) if C is None else C, system.A.ravel(), system.beta)


# the batch is the last axis for users, and the first for linear algebra


def _batch_first(x: np.ndarray) -> np.ndarray:
    return x[None] if x.ndim == 2 else np.moveaxis(x, -1, 0)


def _batch_last(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    return x[0] if like.ndim == 1 else np.moveaxis(x, 0, -1)


def _transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, 0, 1)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("ij...,j...->i...", A, x)


def _product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij...,jk...->ik...", A, B)


@dataclass(frozen=True)
class QuasiAccelerations(FrozenValue):
    """The quantities of Poincaré's equations at one state (q, s)."""

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
        """The actual quasi-acceleration: (3.35)."""
        return self.a_s + np.linalg.solve(self.M_s, self.S_c)

    def gaussian(self, sd: npt.ArrayLike | None = None) -> np.float64 | np.ndarray:
        """(ŝ̇ − a_s)ᵀ M_s (ŝ̇ − a_s), (3.37), of quasi-accelerations (n,) or (n, K) with A_s ŝ̇ = b_s; the default is ṡ."""
        chosen = self.sd if sd is None else self._require_admissible(sd, "gaussian, sd")
        gap = (chosen.T - self.a_s).T
        return np.einsum("n...,nm,m...->...", gap, self.M_s, gap)[()]

    def force_measure(self, S_c: npt.ArrayLike | None = None) -> np.float64 | np.ndarray:
        """Ŝ_cᵀ M_s⁻¹ Ŝ_c, (3.43), of forces (n,) or (n, K) that satisfy the constraints; the default is S_c."""
        force = self.S_c if S_c is None else as_finite_array(S_c, "measure, S_c")
        self._require_admissible((np.linalg.solve(self.M_s, force).T + self.a_s).T, "measure, S_c")
        return np.einsum("n...,n...->...", force, np.linalg.solve(self.M_s, force))[()]

    def random_admissible(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Random quasi-accelerations (n, count) that satisfy A_s ŝ̇ = b_s: (3.38)."""
        n = len(self.s)
        free = rank.pseudo_inverse_and_null_space(self.A_s, None, len(self.A_s))[1] if len(self.A_s) else np.eye(n)
        spread = 1 + np.linalg.norm(self.sd)
        moves = spread * np.random.default_rng(seed).normal(size=(free.shape[1], count))
        return self.sd[:, None] + free @ moves

    def _require_admissible(self, sd: npt.ArrayLike, where: str) -> np.ndarray:
        """Convert quasi-accelerations to an array; raise if they violate the constraints."""
        found, n = as_finite_array(sd, where), len(self.s)
        if found.ndim not in (1, 2) or found.shape[0] != n:
            raise InputError(f"{where} has shape {found.shape}. Expected ({n},) or ({n}, K).")
        residual = np.abs((self.A_s @ found).T - self.b_s)
        size = np.abs(self.A_s) @ np.abs(found)
        if (residual > _CONSTRAINT_TOLERANCE * (size.T + np.abs(self.b_s))).any():
            raise InputError(
                f"{where}: the constraints are violated, A_s ŝ̇ − b_s is {residual.max():.3g}. Expected A_s ŝ̇ = b_s; "
                "`random_admissible` returns such quasi-accelerations."
            )
        return found
