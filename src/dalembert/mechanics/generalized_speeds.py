"""Quasi-velocities: u = Y q̇ + Z and its inverse q̇ = W u + X, (3)–(5) of papers/volterra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import symengine as se

from dalembert.mechanics.motion import Motion
from dalembert.symbolic.algebra_base import Array, identity, matrix, stack, vector, zeros
from dalembert.symbolic.elimination import PivotOrder, lu_solve
from dalembert.symbolic.reserved_symbols import rate
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class Speeds:
    """The symbols u and the maps between u and q̇."""

    u: Array
    Y: Array
    Z: Array
    W: Array
    X: Array
    named: tuple[tuple[Array, Array], ...] = ()  # names in W and X that stand for functions of q, and their rates

    @property
    def qd(self) -> Array:
        """q̇ = W u + X."""
        return self.W @ self.u + self.X


def speed_map(motion: Motion, formulas: Sequence[Formula]) -> tuple[Array, Array]:
    """Y and Z of the speeds u = Y q̇ + Z given as formulas: (3)."""
    names = motion.model.coordinate_names
    rest = {rate(name): 0 for name in names}
    if not formulas:
        return zeros(0, motion.n), zeros(0)
    Y = matrix([[motion.lower(se.diff(u, rate(name))) for name in names] for u in formulas])
    return Y, vector([motion.lower(se.sympify(u).subs(rest)) for u in formulas])


def invert(
    motion: Motion, u: Array, Y: Array, Z: Array, rows: Sequence[tuple[Array, Array]], order: PivotOrder
) -> Speeds:
    """q̇ = W u + X from the speeds stacked on rows (a, b) of constraints a q̇ + b = 0: (4)(5), and (44)."""
    d = len(u)
    S = stack(Y, *(a for a, _ in rows))
    bias = stack(Z, *(b for _, b in rows))
    right = zeros(motion.n, d + 1)
    right[:, :d] = identity(motion.n)[:, :d]
    right[:, d] = -bias
    solved = lu_solve(motion.algebra, S, right, order)
    return Speeds(u, Y, Z, solved[:, :d], solved[:, d])
