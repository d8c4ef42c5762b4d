"""The text that solves a form at one state: from the parts in numbers to (q̇, v̇, power) or (q̇, q̈, λ)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.kernels.numeric import Rules, Solution, unknowns
from dalembert.programs.numba_code import array_at, call
from dalembert.structure.matrices import joined

# what the text has to know of a form, in front of the tables of numbers
PLAN = np.dtype(
    [
        (name, np.int64)
        for name in (
            "parts",  # the address of the program of the parts
            "power",  # that of the power, 0 where there is none
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
            "has_work",
            "own",  # multipliers are among the unknowns, and move q
            "apart",  # J is not A
            "accelerations",  # q̇, q̈ and λ are asked for, not q̇, v̇ and the power
            "way",  # the place among `Numeric`
            "even",  # in units of equal energy
            "most",  # rows are combined, into no more than these; −1: they are taken as they are
        )
    ]
)
HEAD = len(PLAN)
Plan = Any  # a record of PLAN


def packed(values: Mapping[str, int]) -> np.ndarray:
    """A plan as numbers, which keep its bits."""
    return np.array([tuple(int(values.get(name, 0)) for name in PLAN.names or ())], dtype=PLAN).view(float)


def read(numbers: np.ndarray) -> Plan:
    """The plan in front of numbers."""
    return numbers[:HEAD].view(np.dtype((np.record, PLAN)))[0]


def unknowns_of(plan: Plan, numbers: np.ndarray, parts: np.ndarray) -> Solution:
    """x and λ; not a number where the parts are not finite."""
    m, r, k, n = plan.n_x, plan.n_rows, plan.n_v, plan.n_q
    h = m * m
    A = h + m
    beta = A + r * m
    W = beta + r
    J = W + n * k
    end = J + r * m if plan.apart else J
    if not np.isfinite(parts[:end]).all():
        return nothing(plan)
    positions = numbers[HEAD : HEAD + n]
    sizes = numbers[HEAD + n : HEAD + n + r]
    rules = Rules(plan.way, plan.even == 1, plan.most, positions, sizes)
    directions = J if plan.apart else A
    return unknowns(
        rules,
        parts[:h].reshape((m, m)),
        parts[h:A],
        parts[A:beta].reshape((r, m)),
        parts[beta:W],
        parts[directions : directions + r * m].reshape((r, m)),
        parts[W:J].reshape((n, k)),
    )


def nothing(plan: Plan) -> Solution:
    """What is given where there is no solution."""
    return np.full(plan.n_x, np.nan), np.full(plan.n_rows, np.nan)


def motion(plan: Plan, parts: np.ndarray, x: np.ndarray, lam: np.ndarray, moved: np.ndarray, out: np.ndarray) -> None:
    """Write (q̇, q̈), and what is asked for, but for a power that has a program of its own."""
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
    if plan.has_work and plan.own:
        out[n + k] = parts[power]
        for j in range(k, m):
            out[n + k] += parts[power + 1 + j - k] * x[j]


# machine code


def one(x: Any, p: Any, tables: Any, out: Any) -> None:
    """The signature of programs for one state."""
    plan = array_at(tables, 1, PLAN)[0]
    state(plan, array_at(x, plan.inputs, np.float64), p, tables, array_at(out, plan.outputs, np.float64))


def many(x: Any, p: Any, tables: Any, out: Any, begin: int, end: int, stride: int) -> None:
    """The signature of programs for many states."""
    plan = array_at(tables, 1, PLAN)[0]
    states, results = array_at(x, (plan.inputs, stride), np.float64), array_at(out, (plan.outputs, stride), np.float64)
    here, found = np.empty(plan.inputs), np.empty(plan.outputs)
    for k in range(begin, end):
        for i in range(plan.inputs):
            here[i] = states[i, k]
        state(plan, here, p, tables, found)
        for i in range(plan.outputs):
            results[i, k] = found[i]


def state(plan: Plan, x: np.ndarray, p: Any, tables: Any, out: np.ndarray) -> None:
    """What is asked for at one state."""
    n, k = plan.n_q, plan.n_v
    numbers, constants = array_at(tables, plan.power_tables + 1, np.float64), array_at(p, 1, np.float64)
    parts, moved = np.empty(plan.n_parts), np.empty(2 * n)
    call(plan.parts, x, constants, numbers[plan.parts_tables :], parts)
    unknown, lam = unknowns_of(plan, numbers, parts)
    motion(plan, parts, unknown, lam, moved, out)
    if plan.power and not plan.accelerations:
        at = joined(x[:n], joined(moved, x[n + k :]))
        call(plan.power, at, constants, numbers[plan.power_tables :], out[n + k :])
