"""Linear systems as blocks: factors and solutions over any scalar type, as loops.

Machine code executes the same algorithms in loops over lanes (`codegen/llvm/_linear_solves`). A symmetric matrix is factored as
L D Lᵀ, a general one into orthogonal, not normalized columns and R. Neither needs pivots that depend on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from dalembert.symbolic.algebra_base import Operand

Rows = list[list[Operand]]


def order_of_symmetric(count: int) -> int:
    """The order of a symmetric matrix from the number of entries on and below its diagonal."""
    return (isqrt(8 * count + 1) - 1) // 2


def _dot(a: Sequence[Operand], b: Sequence[Operand]) -> Operand:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def symmetric_factor(*lower: Operand) -> Rows:
    """L below the diagonal and D on it, from the entries on and below the diagonal, row by row.

    >>> symmetric_factor(4.0, 2.0, 5.0)
    [[4.0], [0.5, 4.0]]
    """
    rows: Rows = []
    start = 0
    for i in range(order_of_symmetric(len(lower))):
        row = list(lower[start : start + i + 1])
        start += i + 1
        for j in range(1, i):
            row[j] = row[j] - _dot(row[:j], rows[j][:j])
        for j in range(i):
            scaled = row[j] / rows[j][j]
            row[i] = row[i] - row[j] * scaled
            row[j] = scaled
        rows.append(row)
    return rows


def symmetric_solve(rows: Rows, *b: Operand) -> list[Operand]:
    """(L D Lᵀ)⁻¹ b.

    >>> symmetric_solve(symmetric_factor(4.0, 2.0, 5.0), 8.0, 8.0)
    [1.5, 1.0]
    """
    x = list(b)
    for i in range(1, len(x)):
        x[i] = x[i] - _dot(rows[i][:i], x[:i])
    for i in range(len(x)):
        x[i] = x[i] / rows[i][i]
    for i in reversed(range(len(x))):
        for k in range(i):
            x[k] = x[k] - rows[i][k] * x[i]
    return x


def general_factor(*entries: Operand) -> tuple[Rows, Rows]:
    """The orthogonal columns of a square matrix, and R above its diagonal with their squared norms on it."""
    n = isqrt(len(entries))
    Q = [list(entries[j::n]) for j in range(n)]  # by columns
    R: Rows = [[0.0] * n for _ in range(n)]
    for k in range(n):
        R[k][k] = _dot(Q[k], Q[k])
        for j in range(k + 1, n):
            share = R[k][j] = _dot(Q[k], Q[j]) / R[k][k]
            Q[j] = [x - share * y for x, y in zip(Q[j], Q[k], strict=True)]
    return Q, R


def general_solve(factors: tuple[Rows, Rows], *b: Operand) -> list[Operand]:
    """A⁻¹ b.

    >>> general_solve(general_factor(0.0, 2.0, 1.0, 0.0), 4.0, 3.0)
    [3.0, 2.0]
    """
    (Q, R), rest, x = factors, list(b), list(b)
    n = len(b)
    for k in range(n):
        x[k] = _dot(Q[k], rest) / R[k][k]
        rest = [r - x[k] * y for r, y in zip(rest, Q[k], strict=True)]
    for k in reversed(range(n - 1)):
        x[k] = x[k] - _dot(R[k][k + 1 :], x[k + 1 :])
    return x


def entry(values: Sequence[Operand], i: float) -> Operand:
    """One entry of a solution."""
    return values[int(i)]


# operation counts, by the number of arguments


def symmetric_factor_cost(count: int) -> int:
    """Operation count of `symmetric_factor`."""
    n = order_of_symmetric(count)
    return sum(2 * j for i in range(n) for j in range(1, i)) + 3 * n * (n - 1) // 2


def symmetric_solve_cost(count: int) -> int:
    """Operation count of `symmetric_solve`."""
    n = count - 1
    return 2 * n * (n - 1) + n


def general_factor_cost(count: int) -> int:
    """Operation count of `general_factor`."""
    n = isqrt(count)
    return n * (2 * n - 1) + n * (n - 1) // 2 * (4 * n)


def general_solve_cost(count: int) -> int:
    """Operation count of `general_solve`."""
    n = count - 1
    return n * 4 * n + n * (n - 1)
