"""Control laws in Python along a run: continuous laws in machine code, and sampled laws.

A continuous law law(t, q, qd, out) that Numba compiles is called from the machine code of the rates, so that explicit steps never
return to Python; Numba is imported only for such laws. A wrapper with the signature of the rates copies the constants, evaluates
the law, writes its outputs into the constants, and calls the rates.

A sampled law is evaluated at t0, t0 + period, ... in order, once each, at the accepted state of the run. Its output acts from the
sample time, or `delay` seconds later, until the next output replaces it (zero-order hold); before the first it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram, as_record, call
from dalembert.model.python_laws import Controller, Inputs, State, StatefulLaw
from dalembert.simulation.integrators.base import Clock

_SAME = 1e-9  # of a period: closer instants are the same
Motion = tuple[np.ndarray, np.ndarray]  # q, q̇


# continuous laws


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
    from dalembert.codegen.compiled_loop import c_functions

    return c_functions({one: ()})[0]


_COMPILED: list[object] = []  # machine code is freed with the object that owns it


@lru_cache(maxsize=64)
def _law_address(law: Any, n: int, inputs: int) -> int:
    """The address of a law with the signature of programs, as a function of (q, q̇, t)."""
    import numba
    from numba import carray, types  # pyright: ignore[reportPrivateImportUsage]

    def law_program(x: Any, p: Any, tables: Any, out: Any) -> None:
        state = carray(x, (2 * n + 1,))
        law(state[2 * n], state[:n], state[n : 2 * n], carray(out, (inputs,)))

    numbers = types.CPointer(types.float64)
    compiled = numba.cfunc(types.void(numbers, numbers, numbers, numbers), error_model="numpy")(law_program)
    _COMPILED.append(compiled)
    assert compiled.address is not None
    return compiled.address


# sampled laws


class _Law:
    """One law: its present output, its delayed outputs, and its next sample time."""

    def __init__(self, controller: Controller, rows: list[int], t0: float) -> None:
        assert controller.period is not None
        self.controller, self.rows, self.period, self._t0 = controller, rows, controller.period, t0
        self.now = np.zeros(len(rows))
        self._count = 0
        self._waiting: list[tuple[float, np.ndarray]] = []

    @property
    def sampled_at(self) -> float:
        """The next sample time."""
        return self._t0 + self._count * self.period

    @property
    def next(self) -> float:
        """The next time at which it is evaluated or its output changes."""
        return min(self.sampled_at, self._waiting[0][0]) if self._waiting else self.sampled_at

    def tick(self, t: float, state: Callable[[], State]) -> None:
        """Evaluate the law and apply delayed outputs that are due."""
        due = t + _SAME * self.period
        if self.sampled_at <= due:
            output = self.controller.at(t, state())
            self._waiting.append((self.sampled_at + self.controller.delay, output.copy()))
            self._count += 1
        while self._waiting and self._waiting[0][0] <= due:
            self.now = self._waiting.pop(0)[1]


class Sampling(Clock):
    """All sampled laws of a run, across its segments."""

    def __init__(self, inputs: Inputs, t0: float, q: np.ndarray, qd: np.ndarray) -> None:
        self._inputs = inputs
        self._laws = [_Law(controller, rows, t0) for controller, rows in inputs.sampled]
        self._rows = [row for law in self._laws for row in law.rows]
        self._times: list[float] = []
        self._outputs: list[np.ndarray] = []
        self._constants = np.zeros(0)
        self._motion: Callable[[float, np.ndarray], Motion] | None = None
        for law in self._laws:
            if isinstance(law.controller.law, StatefulLaw):
                law.controller.law.reset(t0, State(inputs.indices, q, qd))

    def use(self, constants: np.ndarray, motion: Callable[[float, np.ndarray], Motion]) -> None:
        """Write outputs into these constants from now on; `motion` returns q and q̇ of a state."""
        self._constants, self._motion = constants, motion
        self._write()

    def _write(self) -> None:
        for law in self._laws:
            self._constants[law.rows] = law.now

    @property
    def next(self) -> float:
        """The next instant at which a law is evaluated or its output changes."""
        return min(law.next for law in self._laws)

    def tick(self, t: float, y: np.ndarray) -> None:
        """Evaluate the laws that are due at an accepted state, and write the present outputs."""
        motion, known = self._motion, list[State]()
        assert motion is not None

        def state() -> State:
            if not known:
                known.append(State(self._inputs.indices, *motion(t, y)))
            return known[0]

        for law in self._laws:
            law.tick(t, state)
        self._write()
        self._times.append(t)
        self._outputs.append(self._constants[self._rows])

    def along(self, t: np.ndarray) -> tuple[list[int], np.ndarray]:
        """The rows of the inputs among the constants, and their values at many times; at a switching instant the new values."""
        same = _SAME * min(law.period for law in self._laws)
        k = np.searchsorted(np.array(self._times) - same, t, side="right") - 1
        output = np.array(self._outputs).reshape(-1, len(self._rows))
        return self._rows, np.where(k < 0, 0.0, output[np.maximum(k, 0)].T) if len(output) else np.zeros(
            (len(self._rows), len(t))
        )
