"""Laws that Numba has compiled, called from the machine code of the rates: no step of an explicit method comes back to Python.

A law law(t, q, qd, out) becomes a function with the signature of the rates, which copies the constants, lets the law write its
inputs among them, and goes on to the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import Machine, call
from dalembert.codegen.numba_code import array_at, c_address, tell_of_addresses


class Sizes(NamedTuple):
    """What the rates take: coordinates, states in all, and constants."""

    positions: int
    states: int
    constants: int


def with_law(
    law: Callable[..., Any], rows: Sequence[int], rates: Machine, velocities: Machine | None, sizes: Sizes
) -> Machine:
    """The rates with what a compiled law gives at `rows` of their constants; `velocities` make q̇ of v, None where v are q̇."""
    moves = None if velocities is None else (velocities.one, tuple(velocities.tables.tolist()))
    return rates._replace(one=_address(law, tuple(rows), rates.one, moves, sizes))


@lru_cache(maxsize=64)
def _address(
    law: Any, rows: tuple[int, ...], rates: Any, moves: tuple[Any, tuple[float, ...]] | None, sizes: Sizes
) -> int:
    tell_of_addresses()
    n, states, constants = sizes
    places, given, apart = np.array(rows), len(rows), moves is not None
    to_rates, tables_of = (0, np.zeros(1)) if moves is None else (moves[0], np.array([*moves[1], 0.0]))

    def one(x_at: Any, p_at: Any, tables_at: Any, out_at: Any) -> None:
        x, p = array_at(x_at, (states + 1,), np.float64), array_at(p_at, (constants,), np.float64).copy()
        tables, out = array_at(tables_at, (1,), np.float64), array_at(out_at, (1,), np.float64)
        u, qd = np.zeros(given), np.empty(n)
        if apart:
            call(to_rates, x, p, tables_of, qd)
        else:
            qd[:] = x[n : 2 * n]
        law(x[states], x[:n].copy(), qd, u)
        for i in range(given):
            p[places[i]] = u[i]
        call(rates, x, p, tables, out)

    return c_address(one, "void(voidptr, voidptr, voidptr, voidptr)")
