"""Laws that Numba has compiled, called from the machine code of the rates: no step of an explicit method comes back to Python.

A law law(t, q, qd, out) is one of the user's own functions; only then is Numba imported. Around it goes a text with the signature
of the rates, which copies the constants, lets the law write its inputs among them, and goes on to the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import Machine, as_record, call


class Sizes(NamedTuple):
    """What the rates take: coordinates, states in all, and constants."""

    positions: int
    states: int
    constants: int


class Head(NamedTuple):
    """What the text knows of a law, in front of its tables: the places of the inputs, then tables of velocities and rates."""

    law: int  # the address of a function of (q, q̇, t)
    rates: int  # that of the rates
    velocities: int  # that of q̇ from v, 0 where v are q̇
    inputs: int  # what the law gives
    velocity_tables: int  # where they begin
    rate_tables: int
    positions: int
    states: int
    constants: int


HEAD = len(Head._fields)


def with_law(
    law: Callable[..., Any], rows: Sequence[int], rates: Machine, velocities: Machine | None, sizes: Sizes
) -> Machine:
    """The rates with what a compiled law gives at `rows` of their constants; `velocities` make q̇ of v, None where v are q̇."""
    moves = Machine(0, np.zeros(0), np.zeros(0)) if velocities is None else velocities
    assert isinstance(rates.one, int)
    assert isinstance(moves.one, int)
    begin = HEAD + len(rows)
    head = Head(
        _law_address(law, sizes.positions, len(rows)), rates.one, moves.one, len(rows), begin, begin + len(moves.tables), *sizes
    )  # fmt: skip
    return rates._replace(one=_address(), tables=np.concatenate([head, rows, moves.tables, rates.tables, [0.0]]))


def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """The rates at one state, with the inputs of the law among the constants."""
    head = as_record(Head, tables)
    n = head.positions
    constants, qd, u = p[: head.constants].copy(), np.empty(n), np.zeros(head.inputs)
    if head.velocities:
        call(head.velocities, x, p, tables[head.velocity_tables :], qd)
    else:
        qd[:] = x[n : 2 * n]
    call(head.law, np.concatenate((x[:n], qd, x[head.states : head.states + 1])), p, tables, u)
    for i in range(head.inputs):
        constants[int(tables[HEAD + i])] = u[i]
    call(head.rates, x, constants, tables[head.rate_tables :], out)


@cache
def _address() -> int:
    from dalembert.codegen.llvm.loop_statements import c_functions

    return c_functions({one: ()})[0]


_COMPILED: list[object] = []  # code lives as long as the object that owns it


@lru_cache(maxsize=64)
def _law_address(law: Any, n: int, inputs: int) -> int:
    """The address of a law with the signature of programs, as a function of (q, q̇, t)."""
    import numba
    from numba import carray, types  # pyright: ignore[reportPrivateImportUsage]

    def asked(x: Any, p: Any, tables: Any, out: Any) -> None:
        state = carray(x, (2 * n + 1,))
        law(state[2 * n], state[:n], state[n : 2 * n], carray(out, (inputs,)))

    numbers = types.CPointer(types.float64)
    made = numba.cfunc(types.void(numbers, numbers, numbers, numbers), error_model="numpy")(asked)
    _COMPILED.append(made)
    assert made.address is not None
    return made.address
