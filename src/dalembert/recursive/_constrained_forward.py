"""Accelerations of models with constraints as one function: M, h, A and β by a program, then a numerical solution for ṡ.

    M ṡ = h + Aᵀλ,  A ṡ = β        rows of any rank

The solver is compiled once for all models and calls the program of M, h, A and β by its address. The data of a model precede its
tables of numbers. With the engine `python` it runs as Python code. Its last output is a validity check as in `traced`: below 1 if
M, h, A and β are finite, the rows are consistent, and every allowed motion has inertia.

Large trees are solved by sweeps over the links, so that no n × n matrix is formed:

    ṡ = ṡ_free + X λ,   X = I⁻¹ Aᵀ            a column of X is one more sweep of `forward`, at rest and without gravity
    (A X) λ = β − A ṡ_free                     as many equations as there are independent rows

For m rows this costs O(n m). Redundant rows A are replaced by orthonormal combinations T A, as many as the rank of
`mechanics/rank`: (T A X Tᵀ) λ' = T (β − A ṡ_free), λ = Tᵀ λ'. The inertia matrix of the tree itself must be regular; otherwise
the validity check fails and `tree_dynamics` is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CompiledSolver, as_record, call
from dalembert.codegen.function import Code, CompiledFunction, MachineFunction, SweepFunction, function_of
from dalembert.codegen.linear_algebra import cholesky, inverse, solve, svd
from dalembert.mechanics import rank
from dalembert.mechanics.state_batch import dimensionless
from dalembert.recursive.constraint_batch import DOUBTFUL, generic_rank, null_space_solution
from dalembert.recursive.plan import TOLERANCE, TreePlan
from dalembert.recursive.rolled_sweeps import rolled_function
from dalembert.recursive.traced import task_program

WEAK = 1e-10  # an allowed motion whose inertia is below this fraction of its terms is checked in `tree_dynamics`
CHECK_FAILED = 2.0  # value of a failed validity check
Solver = Callable[..., tuple[np.ndarray, np.ndarray]]
_NONE = np.zeros(0)


class ModelDataHeader(NamedTuple):
    """Header of the model data, before its units and the sizes of its rows."""

    inputs: int
    outputs: int
    parts: int  # the address of the program of M, h, A and β
    n: int  # speeds
    rows: int
    usual: int  # the rank of the constraints at generic states; −1 if unknown
    time: float  # the time scale


LENGTH = len(ModelDataHeader._fields)


# compiled functions


def one(solve: Solver, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """Write ṡ and the validity check at one state, with the signature of programs after the solver."""
    head = as_record(ModelDataHeader, tables)
    n, r = head.n, head.rows
    parts = np.empty(n * n + n + r * n + r + 1)
    call(head.parts, x, p, tables[LENGTH + n + r :], parts)
    accelerations(head, solve, tables, parts, out)


def accelerations(
    head: ModelDataHeader, solve: Solver, numbers: np.ndarray, parts: np.ndarray, out: np.ndarray
) -> None:
    """Write ṡ and the validity check, from M, h, A and β at one state."""
    n, r = head.n, head.rows
    unit, sizes = numbers[LENGTH : LENGTH + n], numbers[LENGTH + n : LENGTH + n + r]
    if not np.isfinite(parts).all():
        out[n] = CHECK_FAILED
        return
    h = n * n
    begin = h + n
    beta = begin + r * n
    M = parts[:h].reshape((n, n))
    A = dimensionless(parts[begin:beta].reshape((r, n)), unit, sizes)
    b = parts[beta : beta + r] / np.where(sizes > 0, sizes, 1.0)
    sd, free = solve(M, parts[h:begin], A, b, constraint_rank(A, unit, head.usual))
    out[n] = abs(parts[beta + r])  # the validity check of the parts
    for i in range(n):
        out[i] = sd[i]
        if not np.isfinite(sd[i]):
            out[n] = CHECK_FAILED
    for i in range(r):
        left, terms = -b[i], abs(b[i]) + 1 / head.time**2
        for j in range(n):
            left += A[i, j] * sd[j]
            terms += abs(A[i, j] * sd[j])
        out[n] = max(out[n], abs(left) / (TOLERANCE * terms))
    if not has_inertia(free):
        out[n] = CHECK_FAILED


def constraint_rank(A: np.ndarray, unit: np.ndarray, usual: int) -> int:
    """The rank of the rows; in doubtful cases at most the rank at generic states of the model."""
    sigma = svd(rank.normalized_rows(A, unit)[0])[1]
    found = int(np.count_nonzero(rank.above(sigma, rank.TOLERANCE)))
    if found > usual >= 0 and sigma[found - 1] < DOUBTFUL * sigma[0]:
        return usual
    return found


def has_inertia(free: np.ndarray) -> bool:
    """True if the inertia of the allowed motions is well conditioned and positive definite, whatever their units."""
    pivots = np.diagonal(cholesky(free))
    return bool((pivots * pivots > WEAK * np.diagonal(free)).all())


# functions of models


@dataclass(frozen=True, eq=False)
class ConstrainedForward:
    """Data of a model with constraints, and its parts (M, h, A, β) as a compiled function."""

    plan: TreePlan
    parts: CompiledFunction
    usual: int | None  # the rank of the constraints at generic states

    @property
    def function(self) -> CompiledFunction:
        """ṡ and the validity check, in machine code if the parts are."""
        if isinstance(self.parts, MachineFunction):
            return CompiledForward(self, self.parts)
        return InterpretedForward(self)

    def head(self, inputs: int, parts: int) -> ModelDataHeader:
        """The header of the model data."""
        n, usual = self.plan.tree.n_speeds, -1 if self.usual is None else self.usual
        return ModelDataHeader(inputs, n + 1, parts, n, len(self.plan.sizes), usual, self.plan.scales.time)

    def numbers(self, head: ModelDataHeader) -> np.ndarray:
        """The model data as numbers, with the units of the speeds and the sizes of the rows."""
        return np.concatenate([head, self.plan.units, self.plan.sizes])


class InterpretedForward(CompiledFunction):
    """The solver as Python code, state by state."""

    def __init__(self, forward: ConstrainedForward) -> None:
        self.n_outputs, self.sizes = forward.plan.tree.n_speeds + 1, forward.parts.sizes
        self._parts, self._head = forward.parts, forward.head(forward.parts.sizes[0], 0)
        self._numbers = forward.numbers(self._head)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        parts = np.ascontiguousarray(self._parts(inputs, parameters, threads).T)
        out = np.empty((inputs.shape[1], self.n_outputs))
        for k in range(inputs.shape[1]):
            accelerations(self._head, null_space_solution, self._numbers, parts[k], out[k])
        return out.T


class CompiledForward(MachineFunction):
    """The solver as machine code, which calls the program of the parts."""

    def __init__(self, forward: ConstrainedForward, parts: MachineFunction) -> None:
        super().__init__(*parts.sizes, forward.plan.tree.n_speeds + 1)
        self._forward, self._parts = forward, parts

    @cached_property
    def _tables(self) -> np.ndarray:
        parts = self._parts.native
        assert parts is not None
        numbers = self._forward.numbers(self._forward.head(self.sizes[0], parts.address))
        return np.concatenate([numbers, parts.tables, [0.0]])

    @cached_property
    def _one(self) -> Code:
        return _compiled()

    @cached_property
    def _many(self) -> Code:
        return _compiled()

    @cached_property
    def with_varying_parameters(self) -> CompiledForward:
        """The function itself: there are no parameters."""
        return CompiledForward(self._forward, self._parts.with_varying_parameters)


@cache
def _compiled() -> CompiledSolver:
    """The solver as machine code."""
    return CompiledSolver(one, null_space_solution)


class ConstrainedSweeps(CompiledFunction):
    """Forward dynamics of a constrained tree, as a function of rows (q, s, τ, t); its last output is a validity check."""

    def __init__(self, plan: TreePlan, free: CompiledFunction) -> None:
        self._plan, self._tree, self._free = plan, plan.tree, free
        self.n_outputs, self.sizes = self._free.n_outputs, self._free.sizes

    @cached_property
    def _rows(self) -> CompiledFunction:
        return function_of(task_program(self._plan, "rows"), "native")

    @cached_property
    def _inverse(self) -> SweepFunction:
        """I⁻¹ τ at s = 0: the sweeps without gravity."""
        weightless = self._tree.model.replaced(gravity_input=(0, 0, 0))
        return rolled_function(replace(self._plan, tree=replace(self._tree, model=weightless)), "forward")

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """ṡ and the validity check of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        n, speeds, r = self._tree.n, self._tree.n_speeds, len(self._plan.sizes)
        found = self._free(inputs, _NONE, threads)
        rows = self._rows(np.concatenate([inputs[: n + speeds], inputs[-1:]]), _NONE, threads)
        A, beta = np.moveaxis(rows[: r * speeds].reshape(r, speeds, -1), -1, 0), rows[r * speeds : r * (speeds + 1)].T
        good = np.isfinite(found).all(axis=0) & np.isfinite(A).all(axis=(1, 2)) & np.isfinite(beta).all(axis=1)
        found[-1] = np.where(good, np.maximum(np.abs(found[-1]), np.abs(rows[-1])), CHECK_FAILED)
        if good.any():
            states = inputs[:n, good], found[:-1, good].T
            found[:-1, good], left = self._constrained(*states, A[good], beta[good], threads)
            found[-1, good] = np.maximum(found[-1, good], left)
        return found

    def _constrained(
        self, q: np.ndarray, free: np.ndarray, A: np.ndarray, beta: np.ndarray, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """ṡ (n, K) from the free accelerations (K, n), and a validity check: the residual of A ṡ = β."""
        units, sizes = self._plan.units, np.where(self._plan.sizes > 0, self._plan.sizes, 1.0)
        A, beta = dimensionless(A, units, self._plan.sizes), beta / sizes
        T, used = self._combinations(A)
        TA = T @ A
        X = self._solved(q, TA, threads)  # I⁻¹ Aᵀ Tᵀ: (K, n, combinations)
        inner = TA @ X
        indices = np.arange(inner.shape[-1])
        inner[:, indices, indices] += ~used  # unused combinations give λ = 0
        target = (T @ beta[..., None])[..., 0]
        sd = free
        for _ in range(2):  # the second iteration refines the first
            rest = target - (TA @ sd[..., None])[..., 0]
            sd = sd + (X @ solve(inner, rest)[..., None])[..., 0]
        left = np.abs((A @ sd[..., None])[..., 0] - beta)
        terms = (np.abs(A) @ np.abs(sd)[..., None])[..., 0] + np.abs(beta) + 1 / self._plan.scales.time**2
        check = (left / (TOLERANCE * terms)).max(axis=1, initial=0.0)
        return sd.T, np.where(np.isfinite(sd).all(axis=1), check, CHECK_FAILED)

    def _combinations(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T of orthonormal combinations T A (K, ·, r), zero for unused ones, and a mask of those in use."""
        rows, size = rank.normalized_rows(A, self._plan.units)
        U, sigma, _ = svd(rows)
        share = sigma / np.maximum(sigma[:, :1], 1e-300)
        count = (share > rank.TOLERANCE).sum(axis=1)
        last = np.take_along_axis(share, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0]
        doubtful = (last < DOUBTFUL) & (count > 0)  # possibly redundant rows at a state slightly off the constraints
        if doubtful.any() and (usual := generic_rank(self._plan)) is not None:
            count = np.where(doubtful, np.minimum(count, usual), count)
        used = np.arange(sigma.shape[1]) < count[:, None]
        return inverse(used, sigma, 0.0)[:, :, None] * np.swapaxes(U, 1, 2) / size[:, None, :], used

    def _solved(self, q: np.ndarray, rows: np.ndarray, threads: int) -> np.ndarray:
        """I⁻¹ of every row (K, r, n): all in one batch, with states and rows in the lanes."""
        K, r, n = rows.shape
        inputs = np.zeros((len(q) + 2 * n + 1, K * r))
        inputs[: len(q)] = np.repeat(q, r, axis=1)
        inputs[len(q) + n : -1] = rows.reshape(K * r, n).T
        return np.swapaxes(self._inverse(inputs, _NONE, threads).T.reshape(K, r, n), 1, 2)
