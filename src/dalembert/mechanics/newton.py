"""Newton's method onto the constraints, the one that samples, assembly and integration share.

What is left of a constraint is measured by the size of its terms, Σ_j |A_ij| (|x_j| + scale_j) and the size that its row has by
nature, so that convergence has no unit.
A step is the smallest change, in a metric the caller gives, that removes what is left to first order. One that does not shrink
it well is damped, Aᵀ(A Aᵀ + |b|² 1)⁻¹ b, and halved: with redundant constraints the smallest singular values vanish
together with b, and an undamped step would leap along them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.codegen.linear_algebra import svd
from dalembert.mechanics import rank

ROUNDING = 1e-14  # what is left of a constraint by rounding, relative to the size of its terms
ACCEPTED = 1e-10  # what may be left where rounding cannot be reached
GOOD = 0.1  # a full step that leaves no more than this share needs no damping
_MOST_DAMPED = 1e-2
_HALVINGS = 12
_IDLE = 1e-2  # a round that shrinks what is left by a smaller share leads nowhere
_PATIENCE = 6

Look = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Root = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Projected:
    """Where Newton's method ended: x (K, n), the residual (K, r), and the residual by the size of its terms."""

    x: np.ndarray
    residual: np.ndarray
    share: np.ndarray

    @property
    def good(self) -> np.ndarray:
        """At which states the constraints are fulfilled, as far as rounding allows."""
        return np.asarray(np.isfinite(self.x).all(axis=1) & (self.share <= ACCEPTED).all(axis=1))


def onto(
    look: Look,
    x: np.ndarray,
    scale: np.ndarray,
    sizes: np.ndarray,
    root: Root | None = None,
    rounds: int = 60,
    *,
    looks: float = np.inf,
) -> Projected:
    """The x (K, n) near the given ones at which the residual vanishes; states at which it does not are not `good`.

    `look(x, which)` gives residual (k, r) and slope A (k, r, n) at the states `which`; `scale` is the unit of each entry of x,
    `sizes` of each entry of the residual. `root(x, A, which)` gives C (k, n, m): changes are as small as can be in the metric
    of (C Cᵀ)⁻¹; by default C is `scale`. `rounds` and `looks` bound the effort.

    >>> circle = lambda x, which: ((x**2).sum(axis=1, keepdims=True) - 1, 2 * x[:, None, :])
    >>> onto(circle, np.array([[3.0, 4.0]]), np.ones(2), np.ones(1)).x.round(12).tolist()
    [[0.6, 0.8]]
    """
    x = np.array(x, dtype=float)
    with np.errstate(all="ignore"):
        residual, A = look(x, np.arange(len(x)))
        now = _Now(look, scale, sizes, x, residual, A, _sizes(A, x, scale, sizes), looks)
        idle = np.zeros(len(x), dtype=int)
        for _ in range(rounds):
            work = now.unfinished(idle <= _PATIENCE)
            if not len(work) or now.looks <= 0:
                break
            before = now.violation(work, residual[work])
            metric = scale if root is None else root(x[work], A[work], work)
            stuck = now.damped(work, metric, now.full(work, metric))
            gain = 1 - now.violation(work, residual[work]) / before
            idle[work] = np.where(gain < _IDLE, idle[work] + 1, 0)
            idle[stuck] = _PATIENCE + 1  # a place where the violation is smallest, but not zero
    return Projected(x, residual, now.share)


@dataclass
class _Now:
    """All states on their way: each step writes those that it brings nearer."""

    look: Look
    scale: np.ndarray
    sizes: np.ndarray
    x: np.ndarray
    residual: np.ndarray
    A: np.ndarray
    size: np.ndarray  # of the terms of every row
    looks: float  # that may still be taken

    @property
    def share(self) -> np.ndarray:
        return _share(self.residual, self.size)

    def violation(self, which: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """How far residuals are from zero, by the size of the terms here: far away terms are large, but nothing is gained."""
        return np.linalg.norm(_share(residual, self.size[which]), axis=1)

    def unfinished(self, going: np.ndarray) -> np.ndarray:
        """The states with something left to do."""
        return np.flatnonzero((self.share > ROUNDING).any(axis=1) & going & np.isfinite(self.x).all(axis=1))

    def full(self, work: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """Take Newton's step where it is good; True where it was taken."""
        rows, b = _rows(self.A[work], self.residual[work], metric)  # dependent rows are left out
        return self._take(work, _changed(metric, np.einsum("knr,kr->kn", rank.pseudo_inverse(rows), b)), GOOD)

    def damped(self, work: np.ndarray, metric: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Take a damped step, halved until it brings the state nearer; the states that nothing brings nearer."""
        left = work[~done]
        if not len(left):
            return left
        part = metric if metric.ndim == 1 else metric[~done]
        step = _damped(self.A[left], self.residual[left], part, self.scale)
        for _ in range(_HALVINGS):
            done = self._take(left, step, 1.0)
            left, step = left[~done], step[~done] / 2
            if not len(left) or self.looks <= 0:
                break
        return left

    def _take(self, which: np.ndarray, step: np.ndarray, enough: float) -> np.ndarray:
        """Take the step where it leaves less than `enough` of the violation; True where it was taken."""
        trial = self.x[which] - step
        residual, A = self.look(trial, which)
        self.looks -= 1
        size = _sizes(A, trial, self.scale, self.sizes)
        before, after = self.violation(which, self.residual[which]), self.violation(which, residual)
        taken = (after < enough * before) | (_share(residual, size) <= ROUNDING).all(axis=1)
        taken &= np.isfinite(trial).all(axis=1)
        put = which[taken]
        self.x[put], self.residual[put] = trial[taken], residual[taken]
        self.A[put], self.size[put] = A[taken], size[taken]
        return taken


def _sizes(A: np.ndarray, x: np.ndarray, scale: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The size of the terms of every row."""
    return np.einsum("krn,kn->kr", np.abs(A), np.abs(x) + scale) + sizes


def _share(residual: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The residual by the size of its terms; infinite where it has no value."""
    share = np.abs(residual) / np.where(size > 0, size, 1.0)
    share = np.where((size > 0) | (residual == 0), share, np.inf)
    return np.where(np.isfinite(residual) & np.isfinite(size), share, np.inf)


def _rows(A: np.ndarray, residual: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length one in the metric, and the residual with them; what has no value is left out."""
    A, residual = np.where(np.isfinite(A), A, 0.0), np.where(np.isfinite(residual), residual, 0.0)
    rows, size = rank.leveled(A * metric if metric.ndim == 1 else A @ metric)
    return rows, residual / size


def _changed(metric: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y * metric if metric.ndim == 1 else np.einsum("knm,km->kn", metric, y)


def _damped(A: np.ndarray, residual: np.ndarray, metric: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Aᵀ(A Aᵀ + μ 1)⁻¹ b: short where rows become dependent; μ is the square of the distance in the scales of x."""
    far = _rows(A, residual, scale)[1]
    mu = np.minimum(np.sum(far * far, axis=1), _MOST_DAMPED)
    rows, b = _rows(A, residual, metric)
    U, sigma, Vt = svd(rows)
    damped = sigma / np.maximum(sigma**2 + mu[:, None], 1e-30)
    return _changed(metric, np.einsum("krn,kr,ksr,ks->kn", Vt, damped, U, b))


def mass_root(M: np.ndarray, A: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """C (K, n, n) of the metric M = (C Cᵀ)⁻¹, coordinates made heavier by `weights`; M may be singular."""
    if not M.size:
        return np.zeros_like(M)
    unit = rank.inertia_scale(M, A)
    heavy = np.ones(M.shape[-1]) if weights is None else np.sqrt(weights)
    even = M * unit[:, :, None] * unit[:, None, :]
    root = np.linalg.inv(_factor(even))
    return (unit / heavy)[:, :, None] * root.mT


def _factor(even: np.ndarray) -> np.ndarray:
    """L of M = L Lᵀ for matrices with a unit diagonal; singular ones are lifted by as much as is needed."""
    with contextlib.suppress(np.linalg.LinAlgError):  # usually there is nothing to lift
        found = np.linalg.cholesky(even)
        if (np.einsum("kii->ki", found) ** 2).min() > rank.TOLERANCE:
            return found
    smallest = np.linalg.eigvalsh(even)[:, 0]
    lift = np.where(smallest > rank.TOLERANCE, 0.0, rank.TOLERANCE + np.maximum(-smallest, 0.0))
    return np.linalg.cholesky(even + lift[:, None, None] * np.eye(even.shape[-1]))
