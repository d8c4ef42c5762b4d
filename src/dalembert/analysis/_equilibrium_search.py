"""Search for equilibria and steady motions: roots of the dynamics with q̈ = 0 on the constraints.

    r(q, q̇, 0, λ, t) = 0,     φ(q, t) = 0,     and for steady motions φ̇ = ψ = 0

Each start is tried with two methods. Levenberg's method finds roots of any stability. A damped descent, (M/h² + r_q) δq = −r
with growing h, finds stable roots, also from states outside the range of a force, such as above the ground.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.analysis._residuals import (
    OperatingPoint,
    Residuals,
    SolvedState,
    decoupled_coordinates,
    reduced,
    state_units,
)
from dalembert.mechanics import rank

_MAX_ITERATIONS, _MAX_DESCENT = 120, 300
_ROOT_TOLERANCE = 1e-9  # residuals, in scales of the model
_ROUNDING = 1e-14
_ZERO_POSITION = 1e-13
_SINGULAR = 1e-9  # singular values below this fraction are zero: the root is not isolated
_MAX_STEP = 0.5  # of the scale of a coordinate, in one descent step
_ZERO = 1e-9  # relative to the largest eigenvalue
_SYMMETRIC = 1e-9


@dataclass(frozen=True)
class Unknowns:
    """The indices of the unknown positions, rates and parameters, and of the equations to solve."""

    q: tuple[int, ...]
    qd: tuple[int, ...]
    parameters: tuple[int, ...]  # among all parameters, in the order of the derivatives
    rows: tuple[int, ...]  # of the dynamics
    steady: bool  # the velocity constraints are among the equations


@dataclass(frozen=True)
class Search:
    """The search for roots of one model."""

    residuals: Residuals
    unknowns: Unknowns

    @property
    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        """The scales of the unknowns and of the equations."""
        facts, unknowns, scales = self.residuals.system.facts, self.unknowns, self.residuals.system.facts.scales
        energy, sizes = scales.mass * scales.length**2 / scales.time**2, np.array(facts.sizes)
        force = energy / scales.positions
        columns = [scales.positions[list(unknowns.q)], scales.velocities[list(unknowns.qd)]]
        rows = [force[list(unknowns.rows)], sizes[: facts.levels.n_holonomic]]
        rows += [sizes / scales.time] if unknowns.steady else []
        return np.concatenate(columns), np.concatenate(rows)

    def _equations(self, point: OperatingPoint) -> np.ndarray:
        rows, found = self.residuals.row_slices, self.residuals.at(point)
        parts = [found[rows["dynamics"]][list(self.unknowns.rows)], found[rows["position"]]]
        return np.concatenate([*parts, *([found[rows["velocity"]]] if self.unknowns.steady else [])])

    def _jacobian(self, point: OperatingPoint) -> np.ndarray:
        """The Jacobian with respect to the unknowns, followed by λ."""
        unknowns, rows, jacobian = self.unknowns, self.residuals.row_slices, self.residuals.slopes(point)
        r = jacobian.rows(rows["dynamics"]).rows(list(unknowns.rows))
        blocks = [r, jacobian.rows(rows["position"])]
        blocks += [jacobian.rows(rows["velocity"])] if unknowns.steady else []
        columns = [(b.q[:, list(unknowns.q)], b.qd[:, list(unknowns.qd)], b.parameters, b.lam) for b in blocks]
        return np.concatenate([np.concatenate(each, axis=1) for each in columns])

    def _moved(self, point: OperatingPoint, step: np.ndarray) -> OperatingPoint:
        unknowns = self.unknowns
        a, b, c = np.cumsum([len(unknowns.q), len(unknowns.qd), len(unknowns.parameters)])
        q, qd, p = point.q.copy(), point.qd.copy(), point.parameters.copy()
        q[list(unknowns.q)] += step[:a]
        qd[list(unknowns.qd)] += step[a:b]
        p[list(unknowns.parameters)] += step[b:c]
        return replace(point, q=q, qd=qd, parameters=p, lam=point.lam + step[c:])

    def _step(self, point: OperatingPoint, damping: float) -> np.ndarray:
        """The smallest Newton step, shortened by damping; λ is never damped."""
        columns, rows = self._units
        J, f = self._jacobian(point) / rows[:, None], self._equations(point) / rows
        k = len(point.lam)
        J[:, J.shape[1] - k :] = self._multiplier_columns(J)
        unit = np.ones(J.shape[1])
        unit[: len(columns)] = columns
        count = len(unit) - k
        for j in range(len(columns), len(unit)):  # parameters and λ are scaled by their columns
            size = float(np.linalg.norm(J[:, j]))
            unit[j] = 1 / size if size > 0 else 1.0
        J = J * unit
        damped = np.sqrt(damping) * np.eye(count, len(unit))
        found = np.linalg.lstsq(np.concatenate([J, damped]), -np.concatenate([f, np.zeros(count)]), rcond=1e-13)[0]
        return found * unit

    def size(self, point: OperatingPoint) -> float:
        """The largest residual in scales of the model."""
        return float(np.abs(self._equations(point) / self._units[1]).max(initial=0.0))

    def with_multipliers(self, point: OperatingPoint) -> OperatingPoint:
        """The same state with the least-squares λ."""
        if not len(point.lam):
            return point
        free, rows = replace(point, lam=np.zeros_like(point.lam)), self._units[1]
        J, f = self._multiplier_columns(self._jacobian(free) / rows[:, None]), self._equations(free) / rows
        return replace(point, lam=np.linalg.lstsq(J, -f, rcond=1e-13)[0])

    def _multiplier_columns(self, J: np.ndarray) -> np.ndarray:
        """The columns of λ, truncated to the rank of the independent constraints.

        Redundant constraints appear independent if the constraints are satisfied only approximately; their differences, with
        huge λ, would balance any load.
        """
        facts = self.residuals.system.facts
        k, count = len(facts.levels.names), len(facts.rows)
        part = J[:, J.shape[1] - k :]
        if count == k:
            return part
        U, sigma, Vt = np.linalg.svd(part, full_matrices=False)
        return (U[:, :count] * sigma[:count]) @ Vt[:count]

    def family(self, point: OperatingPoint) -> int:
        """The dimension of the family of roots at a root; 0 if it is isolated."""
        J, k, count = self._jacobian(point) / self._units[1][:, None], len(point.lam), len(self._units[0])
        J[:, :count] *= self._units[0]
        columns = J[:, J.shape[1] - k :]
        if k:
            J = J - columns @ np.linalg.pinv(columns, rcond=1e-12) @ J
        rest = J[:, : J.shape[1] - k]
        sigma = np.linalg.svd(rest, compute_uv=False) if rest.size else np.zeros(0)
        return rest.shape[1] - int((sigma > _SINGULAR * sigma.max(initial=0.0)).sum())

    def root(self, start: OperatingPoint) -> OperatingPoint | None:
        """A root by Levenberg's method; None if it does not converge."""
        point, damping = self.with_multipliers(start), 1e-2
        residual = self.size(point)
        for _ in range(_MAX_ITERATIONS):
            if residual < _ROUNDING:
                break
            trial = self.with_multipliers(self._moved(point, self._step(point, damping)))
            new_residual = self.size(trial)
            if np.isfinite(new_residual) and new_residual < residual:
                damping = damping * 0.1 if damping > 1e-14 else 0.0
                finished = residual < _ROOT_TOLERANCE and new_residual > 0.5 * residual
                point, residual = trial, new_residual
                if finished:
                    break
            elif damping > 1e6 or (residual < _ROOT_TOLERANCE and damping == 0.0):
                break
            else:
                damping = max(10 * damping, 1e-12)
        return self._rounded(point) if residual < _ROOT_TOLERANCE else None

    def _rounded(self, point: OperatingPoint) -> OperatingPoint:
        """The same root with positions of the size of rounding errors set to zero."""
        scale = self.residuals.system.facts.scales.positions
        trial = self.with_multipliers(
            replace(point, q=np.where(np.abs(point.q) < _ZERO_POSITION * scale, 0.0, point.q))
        )
        return trial if self.size(trial) <= max(self.size(point), _ROUNDING) else point

    def descend(self, start: OperatingPoint) -> OperatingPoint:
        """The end of a damped descent along the forces; the number of steps is bounded."""
        facts, parts = self.residuals.system.facts, self.residuals.row_slices
        scales, n = facts.scales, len(start.q)
        point, h, last_residual = self.with_multipliers(start), scales.time, np.inf
        fixed = [i for i in range(n) if i not in self.unknowns.q]
        lock = np.eye(n)[fixed]
        for _ in range(_MAX_DESCENT):
            slopes, found = self.residuals.slopes(point), self.residuals.at(point)
            r, phi, A = slopes.rows(parts["dynamics"]), found[parts["position"]], slopes.rows(parts["velocity"]).qd
            rows = np.concatenate([A, lock])
            pseudo, N = (
                rank.pseudo_inverse_and_null_space(rows, scales.positions)
                if len(rows)
                else (np.zeros((n, 0)), np.diag(scales.positions))
            )
            force = -(found[parts["dynamics"]] + A.T @ point.lam) if len(A) else -found[parts["dynamics"]]
            residual = float(np.abs(N.T @ force).max(initial=0.0)) / (scales.mass * scales.length**2 / scales.time**2)
            if residual < _ROUNDING or not np.isfinite(residual) or not N.shape[1]:
                break
            h = h * (0.4 if residual > 2 * last_residual else 1.3 if residual > 0.5 * last_residual else 3.0)
            last_residual = residual
            correction = np.zeros(len(rows))
            correction[: len(phi)] = -phi
            projection = pseudo @ correction
            K = N.T @ (r.qdd / h**2 + r.q) @ N
            inner = np.linalg.lstsq(K, N.T @ (force - r.q @ projection), rcond=None)[0]
            if inner @ (N.T @ force) < 0:  # not a descent direction: step along the force in the mass metric
                inner = np.linalg.lstsq(N.T @ r.qdd @ N / h**2, N.T @ force, rcond=None)[0]
            step = projection + N @ inner
            relative_step = float(np.abs(step / scales.positions).max(initial=0.0))
            point = self.with_multipliers(
                replace(point, q=point.q + step * min(1.0, _MAX_STEP / max(relative_step, 1e-300)))
            )
        return point


@dataclass(frozen=True)
class Stability:
    """`stable`, `unstable`, `marginal` (largest nonzero eigenvalues on the imaginary axis) or `undecided`, with the reason."""

    verdict: str
    reason: str


def by_hessian(found: SolvedState, locked: tuple[int, ...]) -> Stability | None:
    """Stability at rest by the second variation of the constrained potential; None if the forces have no potential.

    If K is positive definite and the other forces dissipate energy or vanish, the equilibrium is stable (Lagrange, Dirichlet,
    Kelvin); if K has a negative eigenvalue, it is unstable.
    """
    from scipy import linalg

    r, N = found.by_row["dynamics"], found.split[1]
    if locked:
        N = N @ rank.pseudo_inverse_and_null_space(N[list(locked)])[1]
    if not N.shape[1]:
        return Stability("stable", "no degree of freedom is left")
    M, K, D = (N.T @ each @ N for each in (found.M, r.q, r.qd))
    size = np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max() > _SYMMETRIC * size:
        return None
    dissipation = linalg.eigvalsh((D + D.T) / 2, M)
    if dissipation[0] < -_ZERO * max(np.abs(dissipation).max(), np.sqrt(size / np.abs(M).max())):
        return None
    squares = linalg.eigvalsh((K + K.T) / 2, M)
    smallest, largest = squares[0], np.abs(squares).max()
    subject = "of the Hessian of the constrained potential, relative to the mass matrix, is"
    if smallest > _ZERO * largest:
        return Stability("stable", f"the smallest eigenvalue {subject} {smallest:.6g}")
    if smallest < -_ZERO * largest:
        return Stability("unstable", f"the smallest eigenvalue {subject} {smallest:.6g}")
    return Stability("undecided", "the Hessian of the constrained potential is singular")


def by_spectrum(found: SolvedState) -> Stability:
    """Stability by the eigenvalues of the linear equations without the decoupled coordinates."""
    from scipy import linalg

    linear = reduced(found)
    decoupled = decoupled_coordinates(linear.A, state_units(found, linear.chosen), len(linear.chosen))
    rest = [i for i in range(len(linear.A)) if i not in decoupled]
    values = linalg.eigvals(linear.A[np.ix_(rest, rest)])
    size = np.abs(values).max(initial=0.0)
    # rounding splits a double zero by the square root of the machine precision
    nonzero = values[np.abs(values) > np.sqrt(_ZERO) * 1e-2 * size] if size else values[:0]
    zeros = len(values) - len(nonzero)
    largest = float(np.real(nonzero).max(initial=-np.inf))
    beside = f", besides {zeros} zero" if zeros else ""
    subject = f"the largest real part of the eigenvalues{beside} is"
    if not len(nonzero):
        return Stability("undecided", "all eigenvalues are zero")
    if largest > _ZERO * size:
        return Stability("unstable", f"{subject} {largest:.6g}")
    if largest < -_ZERO * size:
        return Stability("stable", f"{subject} {largest:.6g}")
    return Stability("marginal", f"the eigenvalue with the largest real part{beside} lies on the imaginary axis")
