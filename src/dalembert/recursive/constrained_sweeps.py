"""Accelerations of trees with loops and other constraints by sweeps over the links: nothing of size n × n is formed.

    ṡ = ṡ_free + X λ,   X = I⁻¹ Aᵀ            a column of X is one more sweep of `forward`, at rest and without gravity
    (A X) λ = β − A ṡ_free                     as many equations as there are independent rows

For m rows that is O(n m). Rows may be redundant: the one rank of `mechanics/rank` says how many count, and their orthonormal
combinations T A take their place, as (T A X Tᵀ) λ' = T (β − A ṡ_free), λ = Tᵀ λ'. The inertia matrix of the tree itself
has to be regular; where it is not, the alarm is raised and the close look of `constrained` takes over.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from dalembert.codegen.function import Function, SweptFunction, function_of
from dalembert.codegen.linear_algebra import inverse, solve, svd
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_rows import dimensionless
from dalembert.recursive.constrained_batch import usual_rank
from dalembert.recursive.constrained_forward import AMISS, DOUBTFUL
from dalembert.recursive.plan import TOLERANCE, Plan
from dalembert.recursive.rolled_sweeps import rolled_function
from dalembert.recursive.traced import task_program

_NONE = np.zeros(0)


class Closed(Function):
    """Forward dynamics of a tree that constraints hold, as a function of rows (q, s, τ, t); its last output is an alarm."""

    def __init__(self, plan: Plan, free: Function) -> None:
        self._plan, self._tree, self._free = plan, plan.tree, free
        self.n_outputs, self.sizes = self._free.n_outputs, self._free.sizes

    @cached_property
    def _rows(self) -> Function:
        return function_of(task_program(self._plan, "rows"), "native")

    @cached_property
    def _inverse(self) -> SweptFunction:
        """I⁻¹ τ at s = 0: the sweeps without gravity."""
        weightless = self._tree.model.replaced(gravity_given=(0, 0, 0))
        return rolled_function(replace(self._plan, tree=replace(self._tree, model=weightless)), "forward")

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """ṡ and the alarm of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        n, speeds, r = self._tree.n, self._tree.n_speeds, len(self._plan.sizes)
        found = self._free(inputs, _NONE, threads)
        rows = self._rows(np.concatenate([inputs[: n + speeds], inputs[-1:]]), _NONE, threads)
        A, beta = np.moveaxis(rows[: r * speeds].reshape(r, speeds, -1), -1, 0), rows[r * speeds : r * (speeds + 1)].T
        good = np.isfinite(found).all(axis=0) & np.isfinite(A).all(axis=(1, 2)) & np.isfinite(beta).all(axis=1)
        found[-1] = np.where(good, np.maximum(np.abs(found[-1]), np.abs(rows[-1])), AMISS)
        if good.any():
            states = inputs[:n, good], found[:-1, good].T
            found[:-1, good], left = self._held(*states, A[good], beta[good], threads)
            found[-1, good] = np.maximum(found[-1, good], left)
        return found

    def _held(
        self, q: np.ndarray, free: np.ndarray, A: np.ndarray, beta: np.ndarray, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """ṡ (n, K) of the free accelerations (K, n), and an alarm: what is left of A ṡ = β."""
        units, sizes = self._plan.units, np.where(self._plan.sizes > 0, self._plan.sizes, 1.0)
        A, beta = dimensionless(A, units, self._plan.sizes), beta / sizes
        T, kept = self._combinations(A)
        TA = T @ A
        X = self._solved(q, TA, threads)  # I⁻¹ Aᵀ Tᵀ: (K, n, combinations)
        inner = TA @ X
        places = np.arange(inner.shape[-1])
        inner[:, places, places] += ~kept  # combinations that do not count ask for nothing
        wanted = (T @ beta[..., None])[..., 0]
        sd = free
        for _ in range(2):  # the second time for what rounding has left
            rest = wanted - (TA @ sd[..., None])[..., 0]
            sd = sd + (X @ solve(inner, rest)[..., None])[..., 0]
        left = np.abs((A @ sd[..., None])[..., 0] - beta)
        terms = (np.abs(A) @ np.abs(sd)[..., None])[..., 0] + np.abs(beta) + 1 / self._plan.scales.time**2
        alarm = (left / (TOLERANCE * terms)).max(axis=1, initial=0.0)
        return sd.T, np.where(np.isfinite(sd).all(axis=1), alarm, AMISS)

    def _combinations(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T of orthonormal combinations T A (K, ·, r), zero where they do not count, and which do."""
        rows, size = rank.leveled(A, self._plan.units)
        U, sigma, _ = svd(rows)
        share = sigma / np.maximum(sigma[:, :1], 1e-300)
        count = (share > rank.TOLERANCE).sum(axis=1)
        last = np.take_along_axis(share, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0]
        doubtful = (last < DOUBTFUL) & (count > 0)  # they may be redundant ones at a state a little off the constraints
        if doubtful.any() and (usual := usual_rank(self._plan)) is not None:
            count = np.where(doubtful, np.minimum(count, usual), count)
        kept = np.arange(sigma.shape[1]) < count[:, None]
        return inverse(kept, sigma, 0.0)[:, :, None] * np.swapaxes(U, 1, 2) / size[:, None, :], kept

    def _solved(self, q: np.ndarray, rows: np.ndarray, threads: int) -> np.ndarray:
        """I⁻¹ of every row (K, r, n): all in one batch, states and rows in the lanes."""
        K, r, n = rows.shape
        inputs = np.zeros((len(q) + 2 * n + 1, K * r))
        inputs[: len(q)] = np.repeat(q, r, axis=1)
        inputs[len(q) + n : -1] = rows.reshape(K * r, n).T
        return np.swapaxes(self._inverse(inputs, _NONE, threads).T.reshape(K, r, n), 1, 2)
