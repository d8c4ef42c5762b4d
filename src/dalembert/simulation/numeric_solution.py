"""The text that solves a form at one state: from the parts in numbers to (q̇, v̇, powers) or (q̇, q̈, λ)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import as_record, call
from dalembert.codegen.linear_algebra import solve
from dalembert.formalisms.shared.linear_form import Numeric
from dalembert.simulation import numeric_solve
from dalembert.simulation.numeric_solve import Rules, Solution, independent

Solver = Callable[..., Solution]  # of (M, h, A, β, J)
SOLVERS: dict[Numeric, Solver] = {
    Numeric.WHOLE: numeric_solve.whole,
    Numeric.MOORE_PENROSE: numeric_solve.smallest_force,
    Numeric.LEAST_SQUARES: numeric_solve.least_gaussian,
    Numeric.NULL_SPACE: numeric_solve.in_null_space,
    Numeric.GRAM_SCHMIDT: numeric_solve.along_directions,
}


class Plan(NamedTuple):
    """What the text has to know of a form, in front of the tables of numbers."""

    inputs: int
    outputs: int
    parts: int  # the address of the program of the parts
    power: int  # that of the powers, 0 where there is none
    parts_tables: int  # where their tables begin
    power_tables: int
    n_parts: int
    n_q: int
    n_v: int
    n_x: int  # unknowns: v̇ and what is behind it
    n_rows: int
    n_lam: int
    n_work: int  # powers
    own: int  # multipliers are among the unknowns, and move q
    apart: int  # J is not A
    accelerations: int  # q̇, q̈ and λ are asked for, not q̇, v̇ and the powers
    even: int  # in units of equal energy
    most: int  # rows are combined, into no more than these; −1: they are taken as they are


HEAD = len(Plan._fields)


def unknowns(plan: Plan, solver: Solver, numbers: np.ndarray, parts: np.ndarray) -> Solution:
    """x and λ of M x = h + Jᵀλ, A x = β; not a number where the parts are not finite."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    h = m * m
    rows = h + m
    beta = rows + r * m
    W = beta + r
    J = W + n * k
    if not np.isfinite(parts[: J + r * m if plan.apart else J]).all():
        return np.full(m, np.nan), np.full(r, np.nan)
    M, A = parts[:h].reshape((m, m)), parts[rows:beta].reshape((r, m))
    rules = Rules(plan.even == 1, plan.most, numbers[HEAD : HEAD + n], numbers[HEAD + n : HEAD + n + r])
    unit, T = independent(rules, M, A, parts[W:J].reshape((n, k)))
    start = J if plan.apart else rows
    directions = parts[start : start + r * m].reshape((r, m)) * unit
    M, push = M * unit[:, None] * unit, parts[h:rows] * unit
    if not len(T):
        return solve(M, push) * unit, np.zeros(r)
    x, lam = solver(M, push, T @ (A * unit), T @ parts[beta:W], T @ directions)
    return x * unit, T.T @ lam


def motion(plan: Plan, parts: np.ndarray, x: np.ndarray, lam: np.ndarray, moved: np.ndarray, out: np.ndarray) -> None:
    """Write (q̇, q̈), and what is asked for, but for powers that have a program of their own."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    W = m * m + m + r * m + r
    qd = W + n * k + (r * m if plan.apart else 0)
    S = qd + 2 * n
    power = S + n * (m - k)
    for i in range(n):
        moved[i], moved[n + i] = parts[qd + i], parts[qd + n + i]
        for j in range(k):
            moved[n + i] += parts[W + i * k + j] * x[j]
        for j in range(k, m if plan.own else k):
            moved[i] += parts[S + i * (m - k) + j - k] * x[j]
    for i in range(n):
        out[i] = moved[i]
    if plan.accelerations:
        for i in range(n):
            out[n + i] = moved[n + i]
        for i in range(plan.n_lam):
            out[2 * n + i] = x[k + i] if plan.own else lam[i]
        return
    for j in range(k):
        out[n + j] = x[j]
    for i in range(plan.n_work if plan.own else 0):
        row = power + i * (1 + m - k)
        out[n + k + i] = parts[row]
        for j in range(k, m):
            out[n + k + i] += parts[row + 1 + j - k] * x[j]


def one(solver: Solver, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """What is asked for at one state, with the signature of programs behind the solver."""
    plan = as_record(Plan, tables)
    n, k = plan.n_q, plan.n_v
    parts, moved = np.empty(plan.n_parts), np.empty(2 * n)
    call(plan.parts, x, p, tables[plan.parts_tables :], parts)
    unknown, lam = unknowns(plan, solver, tables, parts)
    motion(plan, parts, unknown, lam, moved, out)
    if plan.power and not plan.accelerations:
        state = np.concatenate((x[:n], moved, x[n + k : plan.inputs]))
        call(plan.power, state, p, tables[plan.power_tables :], out[n + k :])
