"""Numerical solution of the linear equations at every state, as one function: evaluate M, f, A, β, then solve for v̇ and λ.

The solver is compiled once for all models. The layout of a form (`FormLayout`) precedes its numeric tables, so that the solver
has the signature of every program, `one(x, p, tables, out)`. With the engine `python` the same functions run as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CompiledSolver, as_record, call
from dalembert.codegen.function import Code, CompiledFunction, MachineFunction
from dalembert.codegen.linear_algebra import bordered, cholesky, inverse, qr, solve, svd
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearForm, Numeric
from dalembert.mechanics import rank
from dalembert.mechanics.state_batch import dimensionless
from dalembert.symbolic.algebra_base import Array

Wanted = Literal["rates", "accelerations"]  # (q̇, v̇, powers) or (q̇, q̈, λ)


Solution = tuple[np.ndarray, np.ndarray]


Solver = Callable[..., Solution]  # of (M, h, A, β, J)


def parts_of(form: LinearForm) -> Array:
    """The matrices and vectors of a form, flattened and concatenated in the order in which the solver reads them."""
    linear, velocity, own = form.linear, form.velocity, form.own_multipliers
    parts = [linear.M, linear.push, linear.A, linear.beta, velocity.W]
    parts += [] if linear.J is None else [linear.J]
    parts += [velocity.qd, velocity.qdd_bias]
    parts += [] if own is None else [own.S, own.power]
    return np.concatenate([np.asarray(part, dtype=object).ravel() for part in parts])


@dataclass(frozen=True)
class AssembledForm:
    """A form with the compiled functions of its parts, and of its powers if they are functions of (q, q̇, q̈, t)."""

    form: LinearForm
    parts: CompiledFunction
    power: CompiledFunction | None
    n_work: int  # elements that do work
    wanted: Wanted

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        n, k = len(self.form.system.q), len(self.form.velocity.v)
        return n + k + self.n_work if self.wanted == "rates" else 2 * n + len(self.form.directions)

    @property
    def solver(self) -> Numeric:
        """The numerical solution method of the form."""
        return Numeric.FULL_SYSTEM if self.form.solver is None else self.form.solver.numeric

    @cached_property
    def function(self) -> CompiledFunction:
        """The function of (q, v, t), in machine code if its parts are machine code."""
        if isinstance(self.parts, MachineFunction):
            return AssembledCode(self, self.parts, self.power)
        return InterpretedSolver(self)

    def plan(self, **programs: int) -> FormLayout:
        """The layout of the form, as the solver reads it."""
        form, linear, known, max_rows = self.form, self.form.linear, self.form.system.facts, -1
        nearly = known.nearly_dependent and known.row_combinations is None and form.rows is AccelerationRows.INDEPENDENT
        if linear.constrained and (self.solver.takes_dependent_rows or nearly):
            max_rows = len(known.rows)
        nothing = dict.fromkeys(("parts", "power", "parts_tables", "power_tables"), 0)
        return FormLayout(
            inputs=self.parts.sizes[0],
            outputs=self.n_outputs,
            n_parts=self.parts.n_outputs,
            n_q=len(form.system.q),
            n_v=len(form.velocity.v),
            n_x=len(linear.f),
            n_rows=len(linear.beta),
            n_lam=len(form.directions),
            n_work=self.n_work,
            own_multipliers=form.own_multipliers is not None,
            separate_J=linear.J is not None,
            accelerations=self.wanted == "accelerations",
            equal_energy_units=form.solver is not None and form.extra_unknowns is None,
            max_rows=max_rows,
            **nothing | programs,
        )

    def numbers(self, plan: FormLayout) -> np.ndarray:
        """The plan, the scales of the coordinates and the magnitudes of the rows, as one array."""
        form, known = self.form, self.form.system.facts
        rows = range(len(known.levels.names)) if form.rows is AccelerationRows.ALL else known.rows
        sizes = [known.sizes[i] or 1.0 for i in rows] if plan.max_rows >= 0 else np.ones(plan.n_rows)
        return np.concatenate([plan, known.scales.positions, sizes])


class InterpretedSolver(CompiledFunction):
    """The solver in Python, state by state."""

    def __init__(self, assembly: AssembledForm) -> None:
        self.n_outputs, self.sizes = assembly.n_outputs, assembly.parts.sizes
        self._assembly, self._plan, self._solver = assembly, assembly.plan(), SOLVERS[assembly.solver]
        self._numbers = assembly.numbers(self._plan)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        if inputs.ndim == 1:
            return self(inputs[:, None], parameters, threads)[:, 0]
        parts = np.ascontiguousarray(self._assembly.parts(inputs, parameters, threads).T)
        out, plan = np.empty((self.n_outputs, inputs.shape[1])), self._plan
        power, moved = self._assembly.power, np.empty((2 * plan.n_q, inputs.shape[1]))
        for k in range(inputs.shape[1]):
            x, lam = unknowns(plan, self._solver, self._numbers, parts[k])
            motion(plan, parts[k], x, lam, moved[:, k], out[:, k])
        if power is not None and not plan.accelerations:
            n, k = plan.n_q, plan.n_v
            out[n + k :] = power(np.concatenate([inputs[:n], moved, inputs[n + k :]]), parameters, threads)
        return out


class AssembledCode(MachineFunction):
    """The solver in machine code, which calls the programs of the parts and of the powers."""

    def __init__(self, assembly: AssembledForm, parts: MachineFunction, power: CompiledFunction | None) -> None:
        super().__init__(*parts.sizes, assembly.n_outputs)
        self._assembly, self._parts = assembly, parts
        self._power = power if isinstance(power, MachineFunction) else None

    @cached_property
    def _tables(self) -> np.ndarray:
        parts, power = self._parts.native, None if self._power is None else self._power.native
        assert parts is not None
        own = len(self._assembly.numbers(self._assembly.plan()))
        plan = self._assembly.plan(
            parts=parts.address,
            power=0 if power is None else power.address,
            parts_tables=own,
            power_tables=own + len(parts.tables),
        )
        plan = plan._replace(inputs=self.sizes[0])
        numbers = self._assembly.numbers(plan)
        return np.concatenate([numbers, parts.tables, [] if power is None else power.tables, [0.0]])

    @cached_property
    def _one(self) -> Code:
        return compiled_solution(self._assembly.solver)

    @cached_property
    def _many(self) -> Code:
        return compiled_solution(self._assembly.solver)

    @cached_property
    def with_varying_parameters(self) -> AssembledCode:
        """The same function with the parameters among the inputs."""
        power = None if self._power is None else self._power.with_varying_parameters
        return AssembledCode(self._assembly, self._parts.with_varying_parameters, power)


@cache
def compiled_solution(method: Numeric) -> CompiledSolver:
    """The solver of one method in machine code."""
    return CompiledSolver(one, SOLVERS[method])


def solve_bordered(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x and λ of [M −Jᵀ; A 0] (x, λ) = (h, β)."""
    found = solve(bordered(M, J, A), np.concatenate((h, beta)))
    return found[: len(h)], found[len(h) :]


def smallest_force(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x = x₀ + M^(−1/2) B⁺(β − A x₀) with B = A M^(−1/2): (3.22)–(3.35) of papers/poincare, by the symmetric root of M."""
    V, values, _ = svd(M)  # M = V values Vᵀ, because M is symmetric and positive semidefinite
    if not rank.above(values, rank.DEFINITE).all():
        return where_mass_is_singular(M, h, A, beta, J)
    half = (V * (1 / np.sqrt(values))) @ V.T  # M^(−1/2)
    free = solve(M, h)  # (3.22)
    B_plus = rank.pseudo_inverse(A @ half, None, len(beta))  # (3.27)
    pull = B_plus @ (beta - A @ free)
    return free + half @ pull, B_plus.T @ pull  # (3.35)


def gauss_least_squares(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """min ‖Rᵀ(x − x₀)‖ over A x = β with M = R Rᵀ: (3.36)(3.37) of papers/poincare, by orthogonal factors of Aᵀ and RᵀN."""
    n, r = len(h), len(beta)
    R = cholesky(M)
    target = solve(R, h)  # Rᵀ x₀
    Q, S = qr(A.T)
    Y, N, S = Q[:, :r], Q[:, r:], S[:r]  # Aᵀ = Y S, A N = 0
    x = Y @ solve(S.T, beta)
    if r < n:
        P, L = qr(R.T @ N)
        gap = P.T @ (target - R.T @ x)
        x = x + N @ solve(L[: n - r], gap[: n - r])
    return x, solve(S, Y.T @ (M @ x - h))


def in_null_space(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x with an orthonormal basis N of the null space, and A⁺: (5.299)–(5.302) of papers/desapio."""
    A_plus, N = rank.pseudo_inverse_and_null_space(A, None, len(beta))  # (5.299)
    x = A_plus @ beta
    if N.shape[1]:
        z = solve(N.T @ (M @ N), N.T @ (h - M @ x))  # (5.302)
        x = x + N @ z
    return x, A_plus.T @ (M @ x - h)


def along_directions(M: np.ndarray, h: np.ndarray, G: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """[DᵀM; G] x = [Dᵀh; β], (2.7) of papers/phong: redundant rows removed in step 1, trial vectors chosen in step 2."""
    rows, D = free_directions(G)
    left = np.concatenate((D.T @ M, G[rows]))
    x = solve(left, np.concatenate((D.T @ h, beta[rows])))  # (2.7)
    Q, S = qr(G.T)
    return x, solve(S[: len(beta)], (Q.T @ (M @ x - h))[: len(beta)])


SOLVERS: dict[Numeric, Solver] = {
    Numeric.FULL_SYSTEM: solve_bordered,
    Numeric.MOORE_PENROSE: smallest_force,
    Numeric.LEAST_SQUARES: gauss_least_squares,
    Numeric.NULL_SPACE: in_null_space,
    Numeric.GRAM_SCHMIDT: along_directions,
}


class FormLayout(NamedTuple):
    """The layout of a form, which precedes the numeric tables."""

    inputs: int
    outputs: int
    parts: int  # the address of the program of the parts
    power: int  # the address of the program of the powers, 0 if there is none
    parts_tables: int  # the offsets of their tables
    power_tables: int
    n_parts: int
    n_q: int
    n_v: int
    n_x: int  # unknowns: v̇ and the additional ones
    n_rows: int
    n_lam: int
    n_work: int  # powers
    own_multipliers: int  # multipliers are among the unknowns, and contribute to q̇
    separate_J: int  # J differs from A
    accelerations: int  # the outputs are q̇, q̈ and λ, not q̇, v̇ and the powers
    equal_energy_units: int  # in units of equal energy
    max_rows: int  # the maximum number of combined rows; −1: rows are not combined


HEAD = len(FormLayout._fields)


def unknowns(plan: FormLayout, solver: Solver, numbers: np.ndarray, parts: np.ndarray) -> Solution:
    """x and λ of M x = h + Jᵀλ, A x = β; NaN where the parts are not finite."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    h = m * m
    rows = h + m
    beta = rows + r * m
    W = beta + r
    J = W + n * k
    if not np.isfinite(parts[: J + r * m if plan.separate_J else J]).all():
        return np.full(m, np.nan), np.full(r, np.nan)
    M, A = parts[:h].reshape((m, m)), parts[rows:beta].reshape((r, m))
    scaling = RowScaling(
        plan.equal_energy_units == 1,
        plan.max_rows,
        numbers[HEAD : HEAD + n],
        numbers[HEAD + n : HEAD + n + r],
    )
    unit, T = independent(scaling, M, A, parts[W:J].reshape((n, k)))
    start = J if plan.separate_J else rows
    directions = parts[start : start + r * m].reshape((r, m)) * unit
    M, push = M * unit[:, None] * unit, parts[h:rows] * unit
    if not len(T):
        return solve(M, push) * unit, np.zeros(r)
    x, lam = solver(M, push, T @ (A * unit), T @ parts[beta:W], T @ directions)
    return x * unit, T.T @ lam


def motion(
    plan: FormLayout, parts: np.ndarray, x: np.ndarray, lam: np.ndarray, moved: np.ndarray, out: np.ndarray
) -> None:
    """Write (q̇, q̈) and the outputs, except for powers that have a separate program."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    W = m * m + m + r * m + r
    qd = W + n * k + (r * m if plan.separate_J else 0)
    S = qd + 2 * n
    power = S + n * (m - k)
    for i in range(n):
        moved[i], moved[n + i] = parts[qd + i], parts[qd + n + i]
        for j in range(k):
            moved[n + i] += parts[W + i * k + j] * x[j]
        for j in range(k, m if plan.own_multipliers else k):
            moved[i] += parts[S + i * (m - k) + j - k] * x[j]
    for i in range(n):
        out[i] = moved[i]
    if plan.accelerations:
        for i in range(n):
            out[n + i] = moved[n + i]
        for i in range(plan.n_lam):
            out[2 * n + i] = x[k + i] if plan.own_multipliers else lam[i]
        return
    for j in range(k):
        out[n + j] = x[j]
    for i in range(plan.n_work if plan.own_multipliers else 0):
        row = power + i * (1 + m - k)
        out[n + k + i] = parts[row]
        for j in range(k, m):
            out[n + k + i] += parts[row + 1 + j - k] * x[j]


def one(solver: Solver, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """The outputs at one state, with the signature of a program after the solver."""
    plan = as_record(FormLayout, tables)
    n, k = plan.n_q, plan.n_v
    parts, moved = np.empty(plan.n_parts), np.empty(2 * n)
    call(plan.parts, x, p, tables[plan.parts_tables :], parts)
    unknown, lam = unknowns(plan, solver, tables, parts)
    motion(plan, parts, unknown, lam, moved, out)
    if plan.power and not plan.accelerations:
        state = np.concatenate((x[:n], moved, x[n + k : plan.inputs]))
        call(plan.power, state, p, tables[plan.power_tables :], out[n + k :])


class RowScaling(NamedTuple):
    """How the rows of a form are scaled and combined."""

    equal_energy_units: bool  # v is measured in units of equal energy
    max_rows: int  # the maximum number of combined rows; −1: rows are not combined
    positions: np.ndarray  # (n,) the scales of the coordinates
    sizes: np.ndarray  # (r,) the characteristic magnitudes of the rows


def independent(scaling: RowScaling, M: np.ndarray, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of v and the row combinations T in which M x = h + Jᵀλ, A x = β is solved; q̇ = W v.

    If a formalism has its own solution method, v is measured in M_ii^(−1/2). Square roots of M and orthogonal factors mix the
    velocities: with lengths in micrometers M has entries from 1e-12 to 1, and the small ones are lost in the rounding errors of
    the large ones. In units of equal energy the diagonal of M is 1.
    """
    unit = rank.inertia_scale(M, A) if scaling.equal_energy_units else np.ones(len(M))
    if scaling.max_rows < 0:
        return unit, np.eye(len(A))
    move = np.linalg.norm((W * unit).T * (1 / scaling.positions), axis=-1)
    step = inverse(move > 0, move, 1.0)  # of v: the changes that move the coordinates by their scales
    rows = dimensionless(A * unit, step, scaling.sizes)
    return unit, rank.combined(rows, step, scaling.max_rows) * (1 / scaling.sizes)


def where_mass_is_singular(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) h; β]: Udwadia and Phohomsiri (2006)."""
    A_plus = rank.pseudo_inverse(A, None, len(beta))
    P = np.eye(len(h)) - A_plus @ A
    x = rank.pseudo_inverse(np.concatenate((P @ M, A)), None, None) @ np.concatenate((P @ h, beta))
    return x, A_plus.T @ (M @ x - h)


def free_directions(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The independent rows, and D with orthonormal columns, at one state.

    >>> rows, D = free_directions(np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> rows.tolist(), D.shape
    ([0], (3, 2))
    """
    n, normalized = G.shape[1], rank.normalized_rows(G, None)[0]
    basis, rows, count = np.zeros((n, n)), np.zeros(len(G), dtype=np.int64), 0
    for i in range(len(G)):  # step 1
        b = orthogonal_component(basis, normalized[i])
        length = np.sqrt(np.sum(b * b))
        if length > rank.TOLERANCE and count < n:
            rows[count] = i
            basis[count] = b / length
            count += 1
    for k in range(count, n):  # step 2, with the unit vector farthest from the span of the basis
        rest = np.eye(n) - basis.T @ basis
        d = orthogonal_component(basis, rest[np.argmax(np.diagonal(rest))])
        basis[k] = d / np.sqrt(np.sum(d * d))
    return rows[:count], basis[count:].T


def orthogonal_component(basis: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The component of b orthogonal to orthonormal rows; projected twice because of rounding."""
    b = b - basis.T @ (basis @ b)
    return b - basis.T @ (basis @ b)
