"""Linear systems in a graph as single nodes: a factor, its solutions, and their entries.

Written out, the solution of n equations takes some n³ nodes; as a block it takes as many as it has numbers going in and coming
out. A factor is a node of its own, so the derivative of a solution, dx = A⁻¹(db − dA x), uses it again. Backwards, with the
derivatives x̄ by the solution, w of Aᵀw = x̄ is the derivative by b, and −w xᵀ that by A.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.nodes import ZERO, Node, add, again, constant, multiply, negative, node, subtract
from dalembert.symbolic.rolled_solve import order_of_symmetric

SOLUTIONS = frozenset(("symmetric_solve", "general_solve"))
_LARGE = 700  # products in a solution that is written out: larger ones become blocks

Solver = Callable[[Array], Array]


def solver(kind: str, A: Array) -> Solver:
    """A⁻¹ as a function of vectors or matrices of columns; `kind` is symmetric or general."""
    n = len(A)
    places = [(i, j) for i in range(n) for j in range(i + 1 if kind == "symmetric" else n)]
    factor = again(f"{kind}_factor", [node(A[place]) for place in places])

    def solved(b: Array) -> Array:
        columns = np.asarray(b, dtype=object).reshape(n, -1)
        out = np.empty(columns.shape, dtype=object)
        for j, column in enumerate(columns.T):
            known = [node(x) for x in column]
            if all(x is ZERO for x in known):
                out[:, j] = 0
                continue
            out[:, j] = vector(entries(again(f"{kind}_solve", [factor, *known])))
        return out.reshape(np.shape(b))

    return solved


def entries(solution: Node) -> list[Node]:
    """The numbers of a solution."""
    return [again("entry", [solution, constant(i)]) for i in range(len(solution.arguments) - 1)]


def slopes(solution: Node, moving: Mapping[Node, Mapping[int, Node]]) -> dict[int, Node]:
    """In every direction the solution dx of A dx = db − dA x."""
    factor, *b = solution.arguments
    x, n = entries(solution), len(b)
    right: dict[int, list[Node]] = {}

    def subtracted(i: int, change: Node, k: int) -> None:
        for j, dA in moving.get(change, {}).items():
            row = right.setdefault(j, [ZERO] * n)
            row[i] = subtract(row[i], multiply(dA, x[k]))

    for i, each in enumerate(b):
        for j, db in moving.get(each, {}).items():
            row = right.setdefault(j, [ZERO] * n)
            row[i] = add(row[i], db)
    for a, i, k in _entries_of_matrix(factor, n):
        subtracted(i, a, k)
    return {j: again(solution.operation, [factor, *rows]) for j, rows in right.items()}


def backwards(solution: Node, by: Mapping[Node, Mapping[int, Node]]) -> Iterator[tuple[Node, int, Node]]:
    """What derivatives by the entries of a solution add to those by A and b: node, output and term."""
    factor, *b = solution.arguments
    x, n = entries(solution), len(b)
    turned = factor
    if factor.operation == "general_factor":  # of the transposed matrix; a symmetric factor is its own
        turned = again(factor.operation, [a for k in range(n) for a in factor.arguments[k::n]])
    for j in dict.fromkeys(j for each in x for j in by.get(each, {})):
        w = entries(again(solution.operation, [turned, *(by.get(each, {}).get(j, ZERO) for each in x)]))
        yield from ((each, j, wi) for each, wi in zip(b, w, strict=True))
        yield from ((a, j, negative(multiply(w[i], x[k]))) for a, i, k in _entries_of_matrix(factor, n))


def _entries_of_matrix(factor: Node, n: int) -> Iterator[tuple[Node, int, int]]:
    """The entries of a factored matrix with row and column; of a symmetric one also those above the diagonal."""
    for place, a in enumerate(factor.arguments):
        if factor.operation == "general_factor":
            yield a, *divmod(place, n)
            continue
        i, k = lower_place(place)
        yield a, i, k
        if i != k:
            yield a, k, i


def lower_place(place: int) -> tuple[int, int]:
    """Row and column of an entry on or below a diagonal.

    >>> [lower_place(k) for k in range(4)]
    [(0, 0), (1, 0), (1, 1), (2, 0)]
    """
    i = order_of_symmetric(place + 1)
    i -= i * (i + 1) // 2 > place
    return i, place - i * (i + 1) // 2


def is_large(kind: str, pattern: np.ndarray, columns: int) -> bool:
    """True when a solution is too long to be written out: products of entries that are not zero, with those that fill in."""
    filled, products = np.array(pattern, dtype=bool), 0
    for k in range(len(filled)):
        below = filled[k + 1 :, k]
        many = int(below.sum())
        if kind == "symmetric":
            filled[k + 1 :, k + 1 :] |= np.outer(below, below)
            products += many * (many + 1) // 2 + 2 * many * columns
        else:
            products += len(filled) * (len(filled) - k + columns)
    return products > _LARGE
