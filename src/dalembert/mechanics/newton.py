"""Newton projection onto the constraints, shared by random states, assembly and integration.

A residual is measured relative to the size of its terms, Σ_j |A_ij| (|x_j| + scale_j) plus the characteristic size of its row,
so that the convergence criterion is dimensionless.
A step is the minimum-norm change, in a metric set by the caller, that removes the residual to first order. A step that does not
reduce it well is damped, Aᵀ(A Aᵀ + |b|² 1)⁻¹ b, and halved: with redundant constraints the smallest singular values vanish
together with b, and an undamped step would diverge along them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.codegen.linear_algebra import svd
from dalembert.mechanics import rank

ROUNDING = 1e-14  # rounding level of a residual, relative to the size of its terms
ACCEPTED = 1e-10  # accepted relative residual if the rounding level cannot be reached
FULL_STEP_REDUCTION = 0.1  # a full step that leaves at most this fraction of the residual needs no damping
_MAX_DAMPING = 1e-2
_MAX_HALVINGS = 12
_MIN_REDUCTION = 1e-2  # an iteration that reduces the residual by a smaller fraction is stalled
_MAX_STALLED = 6

Evaluation = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Root = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Projected:
    """Result of Newton's method: x (K, n), the residual (K, r), and the residual relative to the size of its terms."""

    x: np.ndarray
    residual: np.ndarray
    relative_residual: np.ndarray

    @property
    def converged(self) -> np.ndarray:
        """The states at which the constraints are satisfied to rounding."""
        return np.asarray(np.isfinite(self.x).all(axis=1) & (self.relative_residual <= ACCEPTED).all(axis=1))


def project(
    evaluate: Evaluation,
    x: np.ndarray,
    scale: np.ndarray,
    sizes: np.ndarray,
    root: Root | None = None,
    max_iterations: int = 60,
    *,
    max_evaluations: float = np.inf,
) -> Projected:
    """The nearest x (K, n) at which the residual vanishes; states that do not converge are not `converged`.

    `evaluate(x, which)` returns the residual (k, r) and its Jacobian A (k, r, n) at the states `which`; `scale` is the unit of
    each entry of x, `sizes` of each entry of the residual. `root(x, A, which)` returns C (k, n, m): changes are minimal in the
    metric (C Cᵀ)⁻¹; by default C is `scale`. `max_iterations` and `max_evaluations` limit the number of iterations and
    evaluations.

    >>> circle = lambda x, which: ((x**2).sum(axis=1, keepdims=True) - 1, 2 * x[:, None, :])
    >>> project(circle, np.array([[3.0, 4.0]]), np.ones(2), np.ones(1)).x.round(12).tolist()
    [[0.6, 0.8]]
    """
    x = np.array(x, dtype=float)
    with np.errstate(all="ignore"):
        residual, A = evaluate(x, np.arange(len(x)))
        now = _Iteration(evaluate, scale, sizes, x, residual, A, _sizes(A, x, scale, sizes), max_evaluations)
        stalled = np.zeros(len(x), dtype=int)
        for _ in range(max_iterations):
            work = now.unfinished(stalled <= _MAX_STALLED)
            if not len(work) or now.evaluations_left <= 0:
                break
            before = now.violation(work, residual[work])
            metric = scale if root is None else root(x[work], A[work], work)
            stuck = now.damped(work, metric, now.full(work, metric))
            gain = 1 - now.violation(work, residual[work]) / before
            stalled[work] = np.where(gain < _MIN_REDUCTION, stalled[work] + 1, 0)
            stalled[stuck] = _MAX_STALLED + 1  # a local minimum of the violation that is not zero
    return Projected(x, residual, now.relative_residual)


@dataclass
class _Iteration:
    """The current iterates: each step overwrites the states whose violation it reduces."""

    evaluate: Evaluation
    scale: np.ndarray
    sizes: np.ndarray
    x: np.ndarray
    residual: np.ndarray
    A: np.ndarray
    size: np.ndarray  # of the terms of every row
    evaluations_left: float  # evaluations left

    @property
    def relative_residual(self) -> np.ndarray:
        return _relative_residual(self.residual, self.size)

    def violation(self, which: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Norm of the residuals relative to the size of the current terms: terms at the trial point may only be larger."""
        return np.linalg.norm(_relative_residual(residual, self.size[which]), axis=1)

    def unfinished(self, going: np.ndarray) -> np.ndarray:
        """The states that have not converged."""
        return np.flatnonzero((self.relative_residual > ROUNDING).any(axis=1) & going & np.isfinite(self.x).all(axis=1))

    def full(self, work: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """Accept the full Newton step where it reduces the violation well; True where accepted."""
        rows, b = _rows(self.A[work], self.residual[work], metric)  # dependent rows are ignored
        return self._accept(
            work, _changed(metric, np.einsum("knr,kr->kn", rank.pseudo_inverse(rows), b)), FULL_STEP_REDUCTION
        )

    def damped(self, work: np.ndarray, metric: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Accept a damped step, halved until it reduces the violation; returns the states where none does."""
        left = work[~done]
        if not len(left):
            return left
        part = metric if metric.ndim == 1 else metric[~done]
        step = _damped(self.A[left], self.residual[left], part, self.scale)
        for _ in range(_MAX_HALVINGS):
            done = self._accept(left, step, 1.0)
            left, step = left[~done], step[~done] / 2
            if not len(left) or self.evaluations_left <= 0:
                break
        return left

    def _accept(self, which: np.ndarray, step: np.ndarray, enough: float) -> np.ndarray:
        """Accept the step where it leaves less than `enough` of the violation; True where accepted."""
        trial = self.x[which] - step
        residual, A = self.evaluate(trial, which)
        self.evaluations_left -= 1
        size = _sizes(A, trial, self.scale, self.sizes)
        before, after = self.violation(which, self.residual[which]), self.violation(which, residual)
        accepted = (after < enough * before) | (_relative_residual(residual, size) <= ROUNDING).all(axis=1)
        accepted &= np.isfinite(trial).all(axis=1)
        changed = which[accepted]
        self.x[changed], self.residual[changed] = trial[accepted], residual[accepted]
        self.A[changed], self.size[changed] = A[accepted], size[accepted]
        return accepted


def _sizes(A: np.ndarray, x: np.ndarray, scale: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The size of the terms of every row."""
    return np.einsum("krn,kn->kr", np.abs(A), np.abs(x) + scale) + sizes


def _relative_residual(residual: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The residual relative to the size of its terms; infinite where it is not finite."""
    relative_residual = np.abs(residual) / np.where(size > 0, size, 1.0)
    relative_residual = np.where((size > 0) | (residual == 0), relative_residual, np.inf)
    return np.where(np.isfinite(residual) & np.isfinite(size), relative_residual, np.inf)


def _rows(A: np.ndarray, residual: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit norm in the metric, and the residual scaled with them; values that are not finite become zero."""
    A, residual = np.where(np.isfinite(A), A, 0.0), np.where(np.isfinite(residual), residual, 0.0)
    rows, size = rank.normalized_rows(A * metric if metric.ndim == 1 else A @ metric)
    return rows, residual / size


def _changed(metric: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y * metric if metric.ndim == 1 else np.einsum("knm,km->kn", metric, y)


def _damped(A: np.ndarray, residual: np.ndarray, metric: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Aᵀ(A Aᵀ + μ 1)⁻¹ b: bounded if rows become dependent; μ is the squared distance in the scales of x."""
    far = _rows(A, residual, scale)[1]
    mu = np.minimum(np.sum(far * far, axis=1), _MAX_DAMPING)
    rows, b = _rows(A, residual, metric)
    U, sigma, Vt = svd(rows)
    damped = sigma / np.maximum(sigma**2 + mu[:, None], 1e-30)
    return _changed(metric, np.einsum("krn,kr,ksr,ks->kn", Vt, damped, U, b))


def mass_root(M: np.ndarray, A: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """C (K, n, n) of the metric M = (C Cᵀ)⁻¹, with coordinates weighted by `weights`; M may be singular."""
    if not M.size:
        return np.zeros_like(M)
    unit = rank.inertia_scale(M, A)
    heavy = np.ones(M.shape[-1]) if weights is None else np.sqrt(weights)
    even = M * unit[:, :, None] * unit[:, None, :]
    root = np.linalg.inv(_factor(even))
    return (unit / heavy)[:, :, None] * root.mT


def _factor(even: np.ndarray) -> np.ndarray:
    """L of M = L Lᵀ for matrices with a unit diagonal; singular matrices are shifted as much as needed."""
    with contextlib.suppress(np.linalg.LinAlgError):  # usually no shift is needed
        found = np.linalg.cholesky(even)
        if (np.einsum("kii->ki", found) ** 2).min() > rank.TOLERANCE:
            return found
    smallest = np.linalg.eigvalsh(even)[:, 0]
    shift = np.where(smallest > rank.TOLERANCE, 0.0, rank.TOLERANCE + np.maximum(-smallest, 0.0))
    return np.linalg.cholesky(even + shift[:, None, None] * np.eye(even.shape[-1]))
