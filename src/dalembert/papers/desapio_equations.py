"""Equations of papers/desapio as printed and as corrected, evaluated at random states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import null_space

import dalembert as dl
from dalembert.api.constraint_space import ConstraintSpace
from dalembert.api.equations import Equations
from dalembert.api.load import Source
from dalembert.mechanics import state_batch
from dalembert.mechanics.motion import Motion
from dalembert.papers.page import derivative, evaluate_motion
from dalembert.papers.printed_values import Computed, printed

_STATES = 5
_STEP = 4e-3  # of finite differences in time, for a motion with unit rates
_ROUNDING = 1e-9
_TORQUES = (2.0, -3.0, 5.0)  # of the elbow motors of 3-rrr


@dataclass(frozen=True)
class LagrangeState:
    """A state of a model: q̈ and λ by Lagrange's equations, other quantities by d'Alembert's principle."""

    equations: Equations  # by dalembert
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    at: ConstraintSpace

    @property
    def push(self) -> np.ndarray:
        """τ − b − g."""
        return self.at.tau - self.at.b - self.at.g

    @cached_property
    def Phi_rate(self) -> np.ndarray:
        """Φ̇q̇."""
        return self.slope(lambda x: self.Phi(self.position(x)) @ self.qd)

    def position(self, x: float) -> np.ndarray:
        """Return q at the time x along the motion."""
        return self.q + x * self.qd + x**2 * self.qdd / 2

    def Phi(self, q: np.ndarray) -> np.ndarray:
        """Return Φ at another configuration."""
        return self._manifold(q, self.qd)[2]

    def M(self, q: np.ndarray) -> np.ndarray:
        """Return M at another configuration."""
        return self._manifold(q, self.qd)[3]

    @property
    def initial_violation(self) -> float:
        """The largest |φ| at the initial state of the model, in m."""
        return float(np.abs(self._manifold(*self.equations.model.initial)[0]).max())

    def _manifold(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.equations.workspace.manifold.evaluate(q, qd, np.array(0.0), self.equations.values)

    def moved(self, x: float) -> Motion:
        """Return the bodies at the time x along the motion."""
        return evaluate_motion(self.equations.model, self.position(x))

    def slope(self, f: Callable[[float], np.ndarray]) -> np.ndarray:
        """Return f′(0) along the motion by fourth-order central differences."""
        return derivative(f, _STEP / max(1.0, float(np.abs(self.qd).max()), float(np.sqrt(np.abs(self.qdd).max()))))


def residuals() -> Computed:
    """Compute the residual of every equation as printed, and as corrected if it has a misprint."""
    arm, gyro = _states("serial-arm"), _states("gyroscope")
    driven = dl.load("3-rrr").copy()
    for i, torque in enumerate(_TORQUES, start=1):
        driven.joint_torque(f"far{i}", torque)
    loops = _states(driven)
    pairs: list[tuple[list[LagrangeState], tuple[Callable[[LagrangeState], float], ...]]] = [
        (arm, (_particle, _particle_corrected)),
        (arm, (_bodies,)),
        (gyro, (lambda s: _gap(s.at.M @ s.qdd, s.push),)),
        (loops, (lambda s: _work(s, s.at.M @ s.q), lambda s: _work(s, s.at.M @ s.qdd))),  # (5.85), printed with Mq
        (loops, (lambda s: _gap(s.at.M @ s.qdd, s.push + s.at.Phi.T @ s.lam),)),
        (loops, (lambda s: _gap(s.at.Phi @ s.qdd, -s.Phi_rate),)),
        (loops, (_accelerations,)),
        # (5.93), printed with Φ instead of Φ̇
        (loops, (lambda s: _multipliers(s, s.at.H @ s.at.Phi @ s.qd), lambda s: _multipliers(s, s.at.H @ s.Phi_rate))),
        (loops, (lambda s: _gap(s.at.Phi @ s.at.Theta, 0 * s.at.Phi, s.at.Phi),)),
        # (5.145), as printed and with the sign of (5.86)
        (loops, tuple(lambda s, k=k: _gap(s.push, s.at.M @ s.qdd + k * (s.at.Phi.T @ s.lam)) for k in (1, -1))),
        (loops[:1], (lambda s: s.initial_violation,)),
        (loops, (_generalized,)),
        (gyro, (_momentum, _momentum_corrected)),
        (gyro, (_coriolis,)),
        (gyro, (lambda s: _energy(s, 1.0), lambda s: _energy(s, 0.5))),
        (loops, (_projected,)),
    ]
    found = [[max(map(check, states)) for check in checks] for states, checks in pairs]
    return {
        row: [values[0], *(0.0 if value < _ROUNDING else value for value in values[1:]), *[None] * (2 - len(values))]
        for row, values in zip(printed("desapio").tables["Equations"].rows, found, strict=True)
    }


def _states(model: Source) -> list[LagrangeState]:
    """Return random states that satisfy the constraints."""
    lagrange, dalembert = (dl.derive(model, key) for key in ("lagrange", "dalembert"))
    found = state_batch.consistent_states(dalembert.model, _STATES)
    states = []
    for q, qd in zip(found.q.T, found.qd.T, strict=True):
        qdd, lam = lagrange.accelerations(q, qd), lagrange.multipliers(q, qd)
        states.append(LagrangeState(dalembert, q, qd, qdd, lam, dalembert.constraint_space(q, qd)))
    return states


def _gap(left: np.ndarray, right: np.ndarray, size: np.ndarray | None = None) -> float:
    """Return the difference relative to the larger side."""
    sizes = [float(np.linalg.norm(side)) for side in (left, right, left if size is None else size)]
    return float(np.linalg.norm(left - right)) / max(sizes)


# d'Alembert's principle


def _jacobians(at: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Return Γ in world axes and Π in body axes of the last body."""
    body = at.bodies[-1]
    return np.asarray(body.B, dtype=float), np.asarray(body.D, dtype=float)


def _particle(s: LagrangeState) -> float:
    """(5.26) for the mass center of the last link."""
    velocity = s.slope(lambda x: _jacobians(s.moved(x))[0] @ (s.qd + x * s.qdd))
    return _gap(velocity, _jacobians(s.moved(0))[0] @ s.qdd)


def _particle_corrected(s: LagrangeState) -> float:
    acceleration = s.slope(lambda x: s.slope(lambda y: np.asarray(s.moved(x + y).bodies[-1].p_WG, dtype=float)))
    rate = s.slope(lambda x: _jacobians(s.moved(x))[0] @ s.qd)  # Γ̇q̇
    return _gap(acceleration, _jacobians(s.moved(0))[0] @ s.qdd + rate)


def _bodies(s: LagrangeState) -> float:
    """(5.54): a of the mass center and α of the last link."""
    gaps = [_particle_corrected(s)]
    alpha = s.slope(lambda x: _jacobians(s.moved(x))[1] @ (s.qd + x * s.qdd))
    rate = s.slope(lambda x: _jacobians(s.moved(x))[1] @ s.qd)  # Π̇q̇
    return max(*gaps, _gap(alpha, _jacobians(s.moved(0))[1] @ s.qdd + rate))


# constraints


def _work(s: LagrangeState, inertia: np.ndarray) -> float:
    """(5.85) for all δq with Φδq = 0."""
    return float(np.linalg.norm(null_space(s.at.Phi).T @ (inertia - s.push)) / np.linalg.norm(s.push))


def _accelerations(s: LagrangeState) -> float:
    """(5.92)."""
    free = np.linalg.solve(s.at.M, s.push)
    return _gap(s.qdd, -s.at.Phi_bar @ s.Phi_rate + s.at.Theta @ free)


def _multipliers(s: LagrangeState, more: np.ndarray) -> float:
    """(5.93) with its last term `more`."""
    return _gap(s.lam, -s.at.Phi_bar.T @ s.push - more)


def _generalized(s: LagrangeState) -> float:
    """(5.154)."""
    at = s.at
    return _gap(at.Theta.T @ at.tau, at.M @ s.qdd + at.b + at.g - at.Phi.T @ (at.alpha + at.rho), at.tau)


def _projected(s: LagrangeState) -> float:
    """(5.301)."""
    W = null_space(s.at.Phi)
    return _gap(W.T @ s.at.tau, W.T @ (s.at.M @ s.qdd + s.at.b + s.at.g), s.at.tau)


# least action


def _momentum(s: LagrangeState) -> float:
    """(5.199): d/dt of p = Mq̇ along the motion."""
    return _gap(s.slope(lambda x: s.M(s.position(x)) @ (s.qd + x * s.qdd)), s.at.M @ s.qdd)


def _momentum_corrected(s: LagrangeState) -> float:
    rate = s.slope(lambda x: s.M(s.position(x))) @ s.qd  # Ṁq̇ of (5.211)
    return _gap(s.slope(lambda x: s.M(s.position(x)) @ (s.qd + x * s.qdd)), s.at.M @ s.qdd + rate)


def _coriolis(s: LagrangeState) -> float:
    """b by (5.57) and by (5.217)."""
    rate = s.slope(lambda x: s.M(s.q + x * s.qd)) @ s.qd
    along = [s.slope(lambda x, e=e: s.qd @ s.M(s.q + x * e) @ s.qd) for e in np.eye(len(s.q))]
    return _gap(s.at.b, rate - np.array(along) / 2)


def _energy(s: LagrangeState, factor: float) -> float:
    """T of (5.254) with the factor of its terms in q̇₂ and q̇₃, compared with ½q̇ᵀMq̇; exact coefficients."""
    (v1, v2, v3), M = s.qd, s.at.M
    printed_sum = M[0, 0] * v1**2 / 2 + factor * (M[1, 1] * v2**2 + 2 * M[0, 2] * v1 * v3 + M[2, 2] * v3**2)
    return _gap(np.array([printed_sum]), np.array([s.qd @ M @ s.qd / 2]))
