"""Reproduction of papers/poincare: its results are identities, evaluated as printed at random states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np
from scipy.linalg import null_space

import dalembert as dl
from dalembert.api.equations import Equations
from dalembert.mechanics import state_batch
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.motion import move
from dalembert.model.description import Elements
from dalembert.papers.page import derivative, relative_difference
from dalembert.papers.printed_values import ClaimResult, Computed, Recipe, keyed_rows
from dalembert.symbolic.floats import FLOATS

_STATES = 20

FREE = ("heavy-top", "three-bodies")
IDEAL = ("cart-pendulum", "rolling-disk", "over-constrained")
_Value = TypeVar("_Value")


def recipe() -> Recipe:
    """Return the functions that evaluate the results; the states of a model are shared."""
    states = cache(lambda model: _at_states(model, _state))
    rough = [dl.load("rough-surface").with_parameters(change) for change in ({}, {"c": 0.0, "mu": 0.3})]
    ideal = [dl.load(name) for name in IDEAL]
    return Recipe(
        {
            "Section 2": _free,
            "Result 3.1": partial(_rows, "Result 3.1", ideal, states, (_constraints, _force, _compiled, _principle)),
            "Result 3.2": partial(_rows, "Result 3.2", ideal, states, (_gauss, _corollary)),
            "Result 3.3": partial(_rows, "Result 3.3", rough, states, (_constraints, _force, _principle)),
        },
        claims={
            "dependent-constraints": partial(_against_newton_euler, "over-constrained"),
            "non-ideal-constraints": partial(_against_newton_euler, "rough-surface"),
        },
    )


def _against_newton_euler(name: str) -> ClaimResult:
    """Compare accelerations with the Newton–Euler equations of the bodies at random states."""
    poincare, newton_euler = (dl.derive(name, key) for key in ("poincare", "newton_euler"))
    at = state_batch.consistent_states(poincare.model, _STATES)
    found, known = (each.accelerations(at.q, at.qd, at.t) for each in (poincare, newton_euler))
    gap, facts = relative_difference(found, known), poincare.workspace.facts
    sizes = f"{name}, {len(facts.levels.names)} constraints of rank {len(facts.rows)}"
    words = f"{sizes}: accelerations differ from newton_euler by {gap:.0e} at {_STATES} random states."
    return ClaimResult(gap < 1e-9, words)


@dataclass(frozen=True)
class QuasiVelocityState:
    """Quantities of one state in quasi-velocities s = G q̇, in the notation of the paper."""

    M_s: np.ndarray
    S: np.ndarray
    A_s: np.ndarray
    b_s: np.ndarray
    C_s: np.ndarray  # zero if the constraints are ideal
    reaction: np.ndarray  # Hᵀ Q_c of Lagrange's equations
    compiled: np.ndarray  # ṡ of the compiled equations

    @property
    def a_s(self) -> np.ndarray:
        """The quasi-acceleration of the free system."""
        return np.linalg.solve(self.M_s, self.S)  # (3.22)

    @property
    def S_c(self) -> np.ndarray:
        """The constraint force as printed, by matrix square roots and a Moore–Penrose inverse."""
        size, vectors = np.linalg.eigh(self.M_s)
        root, back = (vectors * size**power @ vectors.T for power in (0.5, -0.5))
        B_s = self.A_s @ back  # (3.27)
        B_plus = np.linalg.pinv(B_s, rcond=1e-10)
        ideal = root @ B_plus @ (self.b_s - self.A_s @ self.a_s)  # (3.25)
        return ideal + root @ (np.eye(len(size)) - B_plus @ B_s) @ back @ self.C_s  # (3.47)

    @property
    def rates(self) -> np.ndarray:
        """ṡ of the constrained system."""
        return self.a_s + np.linalg.solve(self.M_s, self.S_c)  # (3.35)

    @property
    def possible(self) -> np.ndarray:
        """Columns v with A_s v = 0."""
        return null_space(self.A_s, rcond=1e-10)

    def gaussian(self, rates: np.ndarray) -> float:
        """G of (3.37)."""
        return float((rates - self.a_s) @ self.M_s @ (rates - self.a_s))


def _at_states(model: Elements, evaluate: Callable[..., _Value]) -> list[_Value]:
    """Evaluate a function of both equations, q, q̇ and t at random consistent states."""
    found = state_batch.consistent_states(model, _STATES)
    equations = dl.derive(model, "poincare"), dl.derive(model, "lagrange")
    return [evaluate(*equations, *state) for state in zip(found.q.T, found.qd.T, found.t, strict=True)]


def _state(ours: Equations, lagrange: Equations, q: np.ndarray, qd: np.ndarray, t: float) -> QuasiVelocityState:
    """Return the quantities of the paper at a state, from Lagrange's M, A, q̈ and reactions, and from G."""
    _, _, A, M = lagrange.workspace.manifold.evaluate(q, qd, t, lagrange.values)
    qdd, Q_c = lagrange.accelerations(q, qd, t), lagrange.reactions(q, qd, t)

    G = _matrix(ours, q, t)
    H = np.linalg.inv(G)  # (2.3)
    g = derivative(lambda x: _matrix(ours, q + x * qd, t + x) @ qd)  # Ġ q̇ of (3.10)
    M_s, A_s = H.T @ M @ H, A @ H  # (2.13), (3.5)
    y = np.concatenate([q, G @ qd])
    C = non_ideal_forces(move(ours.model, FLOATS, t, q, qd, ours.model.parameter_values))  # (3.44)
    return QuasiVelocityState(
        M_s=M_s,
        S=H.T @ (M @ qdd - Q_c) + M_s @ g,  # (2.14) with ṡ = G q̈ + g
        A_s=A_s,
        b_s=A @ qdd + A_s @ g,
        C_s=np.zeros(len(q)) if C is None else H.T @ C.astype(float),  # (3.45)
        reaction=H.T @ Q_c,  # (3.8)
        compiled=ours.kernel.state_rates(y, t, ours.values)[len(q) : 2 * len(q)],
    )


def _matrix(equations: Equations, q: np.ndarray, t: float) -> np.ndarray:
    """Return G of the quasi-velocities s = G q̇ (2.2)."""
    return np.stack([equations.kernel.start(q, unit, t, equations.values)[0] for unit in np.eye(len(q))], axis=1)


Lookup = Callable[[Elements], list[QuasiVelocityState]]


def _rows(
    number: str, models: Sequence[Elements], of: Lookup, checks: Sequence[Callable[[QuasiVelocityState], float]]
) -> Computed:
    """Compute the largest relative difference of each identity for each model."""
    return keyed_rows("poincare", number, ([max(map(check, of(model))) for model in models] for check in checks))


def _relative(difference: np.ndarray | float, *sizes: np.ndarray | float) -> float:
    return float(np.linalg.norm(difference) / (max(float(np.linalg.norm(size)) for size in sizes) or 1.0))


def _constraints(state: QuasiVelocityState) -> float:
    return _relative(state.A_s @ state.rates - state.b_s, state.A_s @ state.a_s, state.b_s)  # (3.5)


def _force(state: QuasiVelocityState) -> float:
    return _relative(state.S_c - state.reaction, state.reaction, state.S)


def _compiled(state: QuasiVelocityState) -> float:
    return _relative(state.rates - state.compiled, state.compiled)


def _principle(state: QuasiVelocityState) -> float:
    return _relative(state.possible.T @ (state.S_c - state.C_s), state.S_c, state.S)  # (3.19), (3.46)


def _gauss(state: QuasiVelocityState) -> float:
    u = state.possible @ np.ones(state.possible.shape[1]) * np.linalg.norm(state.rates)
    other, minimum = state.gaussian(state.rates + u), state.gaussian(state.rates)
    return _relative(other - minimum - u @ state.M_s @ u, other)  # (3.42)


def _corollary(state: QuasiVelocityState) -> float:
    minimum = state.gaussian(state.rates)
    return _relative(minimum - state.S_c @ np.linalg.solve(state.M_s, state.S_c), minimum)  # (3.43)


# section 2


def _free() -> Computed:
    """Compute the difference of (2.15) from M_s ṡ of Lagrange's equations, for systems without constraints."""
    return keyed_rows("poincare", "Section 2", [[max(_at_states(dl.load(name), _balance)) for name in FREE]])


def _balance(ours: Equations, lagrange: Equations, q: np.ndarray, qd: np.ndarray, t: float) -> float:
    """Return S by (2.15) minus M_s ṡ, relative; T has no terms of lower degree in these models, so μ = 0."""

    def G(position: np.ndarray) -> np.ndarray:
        return _matrix(ours, position, t)

    def M_s(position: np.ndarray) -> np.ndarray:
        H = np.linalg.inv(G(position))
        return H.T @ lagrange.workspace.manifold.evaluate(position, qd, t, lagrange.values)[3] @ H  # (2.13)

    s, units = G(q) @ qd, np.eye(len(q))
    qdd, at_rest = (lagrange.accelerations(q, v, t) for v in (qd, 0 * qd))
    Q = lagrange.workspace.manifold.evaluate(q, qd, t, lagrange.values)[3] @ at_rest  # no load depends on q̇ here
    P_dot = derivative(lambda x: G(q + x * qd).T)
    R_s = np.stack([derivative(lambda x, e=e: G(q + x * e) @ qd) for e in units])  # (2.7)
    T_q = np.array([derivative(lambda x, e=e: s @ M_s(q + x * e) @ s / 2) for e in units])  # ∂T_s/∂q
    momentum, back = M_s(q) @ s, np.linalg.inv(G(q)).T  # ∂T_s/∂s and P⁻¹
    S = back @ (Q - (P_dot - R_s) @ momentum + T_q) - derivative(lambda x: M_s(q + x * qd)) @ s  # (2.15)
    s_dot = G(q) @ qdd + P_dot.T @ qd  # (3.10)
    return _relative(S - M_s(q) @ s_dot, S, back @ Q)  # (2.14)
