"""The text that solves a form at one state: from the parts in numbers to (q̇, v̇, powers) or (q̇, q̈, λ)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.codegen.compiled_loop import call
from dalembert.codegen.numba_code import array_at
from dalembert.formalisms.shared.linear_form import Numeric
from dalembert.mechanics.matrices import joined, product, scaled, solved, times, turned
from dalembert.simulation import numeric_solve
from dalembert.simulation.numeric_solve import Rules, Solution, independent

# what the text has to know of a form, in front of the tables of numbers
PLAN = np.dtype(
    [
        (name, np.int64)
        for name in (
            "one",  # the address of this text for one state
            "parts",  # that of the program of the parts
            "power",  # that of the powers, 0 where there is none
            "parts_tables",  # where their tables begin
            "power_tables",
            "inputs",
            "outputs",
            "n_parts",
            "n_q",
            "n_v",
            "n_x",  # unknowns: v̇ and what is behind it
            "n_rows",
            "n_lam",
            "n_work",  # powers
            "own",  # multipliers are among the unknowns, and move q
            "apart",  # J is not A
            "accelerations",  # q̇, q̈ and λ are asked for, not q̇, v̇ and the powers
            "solve",  # the address of one of `WAYS`
            "even",  # in units of equal energy
            "most",  # rows are combined, into no more than these; −1: they are taken as they are
        )
    ]
)
HEAD = len(PLAN.names or ())
Plan = Any  # a record of PLAN


def packed(values: Mapping[str, int]) -> np.ndarray:
    """A plan as numbers, which keep its bits."""
    return np.array([tuple(int(values.get(name, 0)) for name in PLAN.names or ())], dtype=PLAN).view(float)


def read(numbers: np.ndarray) -> Plan:
    """The plan in front of numbers."""
    return numbers[:HEAD].view(np.dtype((np.record, PLAN)))[0]


def unknowns(plan: Plan, solve: Any, numbers: np.ndarray, parts: np.ndarray) -> Solution:
    """x and λ of M x = h + Jᵀλ, A x = β; not a number where the parts are not finite."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    h = m * m
    rows = h + m
    beta = rows + r * m
    W = beta + r
    J = W + n * k
    for i in range(J + r * m if plan.apart else J):
        if not np.isfinite(parts[i]):
            return np.full(m, np.nan), np.full(r, np.nan)
    M, A = parts[:h].reshape((m, m)), parts[rows:beta].reshape((r, m))
    rules = Rules(plan.even == 1, plan.most, numbers[HEAD : HEAD + n], numbers[HEAD + n : HEAD + n + r])
    unit, T = independent(rules, M, A, parts[W:J].reshape((n, k)))
    start = J if plan.apart else rows
    directions = scaled(parts[start : start + r * m].reshape((r, m)), None, unit)
    # the system in these units and combinations, one part after the other
    given, found = np.empty(h + m + len(T) * (2 * m + 1)), np.empty(m + len(T))
    end = copied(scaled(M, unit, unit).ravel(), given, 0)
    end = copied(parts[h:rows] * unit, given, end)
    end = copied(product(T, scaled(A, None, unit)).ravel(), given, end)
    end = copied(times(T, parts[beta:W]), given, end)
    copied(product(T, directions).ravel(), given, end)
    call(solve, given, np.array([float(m), float(len(T))]), numbers, found)
    return found[:m] * unit, times(turned(T), found[m:])


def copied(values: np.ndarray, out: np.ndarray, begin: int) -> int:
    """Write values from a place on; the place behind them."""
    for i in range(len(values)):
        out[begin + i] = values[i]
    return begin + len(values)


def system(x: Any, p: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """M, h, A, β and J, which stand one after the other."""
    sizes = array_at(p, 2, np.float64)
    m, r = int(sizes[0]), int(sizes[1])
    given = array_at(x, m * m + m + r * (2 * m + 1), np.float64)
    h = m * m
    A = h + m
    beta = A + r * m
    J = beta + r
    rows, directions = given[A:beta].reshape((r, m)), given[J:].reshape((r, m))
    return given[:h].reshape((m, m)), given[h:A], rows, given[beta:J], directions


def written(found: Solution, out: Any) -> None:
    """Write x and λ."""
    values = array_at(out, len(found[0]) + len(found[1]), np.float64)
    copied(found[1], values, copied(found[0], values, 0))


def whole(x: Any, p: Any, tables: Any, out: Any) -> None:
    """`numeric.whole` with the signature of programs; so are those below."""
    M, h, A, beta, J = system(x, p)
    written(numeric_solve.whole(M, h, A, beta, J) if len(beta) else (solved(M, h), beta), out)


def smallest_force(x: Any, p: Any, tables: Any, out: Any) -> None:
    """By the Moore–Penrose inverse."""
    M, h, A, beta, J = system(x, p)
    written(numeric_solve.smallest_force(M, h, A, beta, J) if len(beta) else (solved(M, h), beta), out)


def least_gaussian(x: Any, p: Any, tables: Any, out: Any) -> None:
    """By least squares."""
    M, h, A, beta, J = system(x, p)
    written(numeric_solve.least_gaussian(M, h, A, beta, J) if len(beta) else (solved(M, h), beta), out)


def in_null_space(x: Any, p: Any, tables: Any, out: Any) -> None:
    """By the null space."""
    M, h, A, beta, J = system(x, p)
    written(numeric_solve.in_null_space(M, h, A, beta, J) if len(beta) else (solved(M, h), beta), out)


def along_directions(x: Any, p: Any, tables: Any, out: Any) -> None:
    """By Gram and Schmidt."""
    M, h, A, beta, J = system(x, p)
    written(numeric_solve.along_directions(M, h, A, beta, J) if len(beta) else (solved(M, h), beta), out)


WAYS: dict[Numeric, Callable[..., None]] = {
    Numeric.WHOLE: whole,
    Numeric.MOORE_PENROSE: smallest_force,
    Numeric.LEAST_SQUARES: least_gaussian,
    Numeric.NULL_SPACE: in_null_space,
    Numeric.GRAM_SCHMIDT: along_directions,
}


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


# machine code


def one(x: Any, p: Any, tables: Any, out: Any) -> None:
    """What is asked for at one state, with the signature of programs."""
    plan = array_at(tables, 1, PLAN)[0]
    n, k = plan.n_q, plan.n_v
    state, result = array_at(x, plan.inputs, np.float64), array_at(out, plan.outputs, np.float64)
    numbers, constants = array_at(tables, plan.power_tables + 1, np.float64), array_at(p, 1, np.float64)
    parts, moved = np.empty(plan.n_parts), np.empty(2 * n)
    call(plan.parts, state, constants, numbers[plan.parts_tables :], parts)
    unknown, lam = unknowns(plan, plan.solve, numbers, parts)
    motion(plan, parts, unknown, lam, moved, result)
    if plan.power and not plan.accelerations:
        at = joined(state[:n], joined(moved, state[n + k :]))
        call(plan.power, at, constants, numbers[plan.power_tables :], result[n + k :])


def many(x: Any, p: Any, tables: Any, out: Any, begin: int, end: int, stride: int) -> None:
    """The same at many states."""
    plan = array_at(tables, 1, PLAN)[0]
    states, results = array_at(x, (plan.inputs, stride), np.float64), array_at(out, (plan.outputs, stride), np.float64)
    numbers, constants = array_at(tables, plan.power_tables + 1, np.float64), array_at(p, 1, np.float64)
    state, result = np.empty(plan.inputs), np.empty(plan.outputs)
    for k in range(begin, end):
        for i in range(plan.inputs):
            state[i] = states[i, k]
        call(plan.one, state, constants, numbers, result)
        for i in range(plan.outputs):
            results[i, k] = result[i]
