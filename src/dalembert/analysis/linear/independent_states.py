"""Linear equations in independent states: coordinates z and speeds u that the constraints leave free.

Near a state every motion has δq = T δz, with φ_q T = 0, and δq̇ = Q δz + W δu, so that velocities stay on the constraints. With
λ held at its value, Aᵀλ has no part along W; so

    WᵀM δq̈ = −Wᵀ(r_q δq + r_q̇ δq̇),     A δq̈ = −(a_q δq + a_q̇ δq̇)

where r = M q̈ − h − C − Aᵀλ, and a = A q̈ − β. A nonholonomic system has more z than u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analysis.linear.residuals import Partials
from dalembert.analysis.linear.state_solution import Solved
from dalembert.errors import SingularError
from dalembert.mechanics import rank


@dataclass(frozen=True)
class Reduced:
    """δq, δq̇, δq̈ and δλ of every independent state (columns), and the rates of these states."""

    chosen: tuple[int, ...]  # the coordinates z
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    A: np.ndarray  # ẋ = A x with x = (z, u)
    onto: np.ndarray  # x from (δq, δq̇)

    def seen(self, partials: Partials) -> np.ndarray:
        """The slopes of any functions by the states."""
        return partials.q @ self.q + partials.qd @ self.qd + partials.qdd @ self.qdd + partials.lam @ self.lam


@dataclass(frozen=True)
class Driven:
    """δq̈ and δλ that inputs (columns) bring about, and the rates of the states by them."""

    qdd: np.ndarray
    lam: np.ndarray
    B: np.ndarray


def reduced(found: Solved, chosen: tuple[int, ...] | None = None) -> Reduced:
    """The linear equations at a solved state, in the coordinates `chosen` or in those that serve best."""
    phi, velocity, u = (found.by_row[name] for name in ("position", "velocity", "speeds"))
    n, d, unit = len(found.point.q), found.facts.d, found.facts.scales.positions
    T = _tangent(phi.q, unit)
    z = rank.best_rows(rank.leveled(T / unit[:, None])[0], T.shape[1]) if chosen is None else chosen
    T = T @ np.linalg.inv(T[list(z)])
    S = np.concatenate([u.qd, velocity.qd])
    if int(rank.numeric_rank(S, unit, n)) < n:
        raise SingularError(
            f"the speeds {', '.join(found.facts.speed_names)} and the constraints do not determine the velocities at the given "
            "state. Expected [Y; A] to be invertible. Give the model other speeds."
        )
    inverse = rank.pseudo_inverse(S, unit, n)
    W, Q = inverse[:, :d], -inverse @ np.concatenate([u.q, velocity.q]) @ T
    q, qd = np.concatenate([T, np.zeros((n, d))], axis=1), np.concatenate([Q, W], axis=1)
    r, a, rates = (found.by_row[name] for name in ("dynamics", "acceleration", "speed_rates"))
    force = -(r.q @ q + r.qd @ qd)
    qdd = found.answer(force, -(a.q @ q + a.qd @ qd))
    lam = found.multipliers(found.M @ qdd - force)
    speeds = rates.q @ q + rates.qd @ qd + rates.qdd @ qdd
    pick = np.eye(n)[list(z)]
    onto = np.block([[pick, np.zeros((len(z), n))], [u.q, u.qd]])
    return Reduced(tuple(z), q, qd, qdd, lam, np.concatenate([qd[list(z)], speeds]), onto)


def driven(found: Solved, forces: np.ndarray, states: int) -> Driven:
    """What inputs bring about: each column of `forces` is a generalized force, or what a parameter does in place of one."""
    qdd = found.answer(forces, np.zeros((len(found.A), forces.shape[1])))
    lam = found.multipliers(found.M @ qdd - forces)
    speeds = found.by_row["speed_rates"].qdd @ qdd
    return Driven(qdd, lam, np.concatenate([np.zeros((states - len(speeds), forces.shape[1])), speeds]))


def _tangent(phi: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """A basis of the displacements that the constraints on positions leave free."""
    if not len(phi):
        return np.diag(unit)
    return rank.split(phi, unit)[1]
