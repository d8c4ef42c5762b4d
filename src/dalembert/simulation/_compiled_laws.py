"""Control laws compiled by Numba, called from the machine code of the rates: explicit steps never return to Python.

A law law(t, q, qd, out) is a function of the user; Numba is imported only for such laws. A wrapper with the signature of the
rates copies the constants, evaluates the law, writes its outputs into the constants, and calls the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram, as_record, call


class RateSizes(NamedTuple):
    """The numbers of coordinates, states and constants of the rates."""

    positions: int
    states: int
    constants: int


class LawTableHeader(NamedTuple):
    """The header of the tables of a law: input rows follow, then the tables of velocities and rates."""

    law: int  # the address of a function of (q, q̇, t)
    rates: int  # the address of the rates
    velocities: int  # the address of q̇ from v, 0 if v = q̇
    inputs: int  # the number of outputs of the law
    velocity_tables: int  # offset of these tables
    rate_tables: int
    positions: int
    states: int
    constants: int


HEAD = len(LawTableHeader._fields)


def with_law(
    law: Callable[..., Any],
    rows: Sequence[int],
    rates: CallableProgram,
    velocities: CallableProgram | None,
    sizes: RateSizes,
) -> CallableProgram:
    """The rates with the outputs of a compiled law at `rows` of the constants; `velocities` maps v to q̇, None if v = q̇."""
    moves = CallableProgram(0, np.zeros(0), np.zeros(0)) if velocities is None else velocities
    assert isinstance(rates.one, int)
    assert isinstance(moves.one, int)
    begin = HEAD + len(rows)
    head = LawTableHeader(
        _law_address(law, sizes.positions, len(rows)), rates.one, moves.one, len(rows), begin, begin + len(moves.tables), *sizes
    )  # fmt: skip
    return rates._replace(one=_address(), tables=np.concatenate([head, rows, moves.tables, rates.tables, [0.0]]))


def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """The rates at one state, with the outputs of the law among the constants."""
    head = as_record(LawTableHeader, tables)
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


_COMPILED: list[object] = []  # machine code is freed with the object that owns it


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
