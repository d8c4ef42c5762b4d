"""Accelerations of models with constraints as one function: M, h, A and β by a program, then ṡ from them in numbers.

    M ṡ = h + Aᵀλ,  A ṡ = β        rows of any rank

The text is compiled once for all models and calls the program of the parts by its address. What it has to know of a model stands
in front of its tables of numbers. On the engine `python` it runs as it stands. Its last output is an alarm as in `traced`: below
1 where the parts are finite, the rows agree, and every free motion has inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CompiledText, as_record, call
from dalembert.codegen.function import Code, Function, MachineFunction
from dalembert.codegen.linear_algebra import cholesky, svd
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_rows import dimensionless
from dalembert.recursive import null_space_solve
from dalembert.recursive.plan import TOLERANCE, Plan

DOUBTFUL = 1e-3  # rows less independent than this may be redundant ones at a state a little off the constraints
WEAK = 1e-10  # a free motion whose inertia is below this share of its terms is looked at closely
AMISS = 2.0  # the alarm
Solver = Callable[..., tuple[np.ndarray, np.ndarray]]


class Head(NamedTuple):
    """What the text knows of a model, in front of its units and the sizes of its rows."""

    inputs: int
    outputs: int
    parts: int  # the address of the program of the parts
    n: int  # speeds
    rows: int
    usual: int  # the rank of the constraints at most states; −1 where it is not known
    time: float  # the time scale


LENGTH = len(Head._fields)


# the text


def one(solve: Solver, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """Write ṡ and the alarm at one state, with the signature of programs behind the solver."""
    head = as_record(Head, tables)
    n, r = head.n, head.rows
    parts = np.empty(n * n + n + r * n + r + 1)
    call(head.parts, x, p, tables[LENGTH + n + r :], parts)
    accelerations(head, solve, tables, parts, out)


def accelerations(head: Head, solve: Solver, numbers: np.ndarray, parts: np.ndarray, out: np.ndarray) -> None:
    """Write ṡ and the alarm, from the parts at one state."""
    n, r = head.n, head.rows
    unit, sizes = numbers[LENGTH : LENGTH + n], numbers[LENGTH + n : LENGTH + n + r]
    if not np.isfinite(parts).all():
        out[n] = AMISS
        return
    h = n * n
    begin = h + n
    beta = begin + r * n
    M = parts[:h].reshape((n, n))
    A = dimensionless(parts[begin:beta].reshape((r, n)), unit, sizes)
    b = parts[beta : beta + r] / np.where(sizes > 0, sizes, 1.0)
    sd, free = solve(M, parts[h:begin], A, b, counted(A, unit, head.usual))
    out[n] = abs(parts[beta + r])  # that of the parts
    for i in range(n):
        out[i] = sd[i]
        if not np.isfinite(sd[i]):
            out[n] = AMISS
    for i in range(r):
        left, terms = -b[i], abs(b[i]) + 1 / head.time**2
        for j in range(n):
            left += A[i, j] * sd[j]
            terms += abs(A[i, j] * sd[j])
        out[n] = max(out[n], abs(left) / (TOLERANCE * terms))
    if not has_inertia(free):
        out[n] = AMISS


def counted(A: np.ndarray, unit: np.ndarray, usual: int) -> int:
    """The rank of the rows; where it is in doubt, no more than it is at most states of the model."""
    sigma = svd(rank.leveled(A, unit)[0])[1]
    found = int(np.count_nonzero(rank.above(sigma, rank.TOLERANCE)))
    if found > usual >= 0 and sigma[found - 1] < DOUBTFUL * sigma[0]:
        return usual
    return found


def has_inertia(free: np.ndarray) -> bool:
    """True when the inertia of free motions is well definite, whatever their units."""
    pivots = np.diagonal(cholesky(free))
    return bool((pivots * pivots > WEAK * np.diagonal(free)).all())


# functions of models


@dataclass(frozen=True, eq=False)
class ConstrainedForward:
    """What is known of a model with constraints, and its parts (M, h, A, β) as a compiled function."""

    plan: Plan
    parts: Function
    usual: int | None  # the rank of the constraints at most states

    @property
    def function(self) -> Function:
        """ṡ and the alarm, in machine code where the parts are."""
        if isinstance(self.parts, MachineFunction):
            return CompiledForward(self, self.parts)
        return InterpretedForward(self)

    def head(self, inputs: int, parts: int) -> Head:
        """What the text knows of the model."""
        n, usual = self.plan.tree.n_speeds, -1 if self.usual is None else self.usual
        return Head(inputs, n + 1, parts, n, len(self.plan.sizes), usual, self.plan.scales.time)

    def numbers(self, head: Head) -> np.ndarray:
        """The same as numbers, with the units of the speeds and the sizes of the rows."""
        return np.concatenate([head, self.plan.units, self.plan.sizes])


class InterpretedForward(Function):
    """The text as it stands, state by state."""

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
            accelerations(self._head, null_space_solve.solution, self._numbers, parts[k], out[k])
        return out.T


class CompiledForward(MachineFunction):
    """The text as machine code, which calls the program of the parts."""

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
    def varied(self) -> CompiledForward:
        """The same: there are no parameters."""
        return CompiledForward(self._forward, self._parts.varied)


@cache
def _compiled() -> CompiledText:
    """The text as machine code."""
    return CompiledText(one, null_space_solve.solution)
