"""Programs as heyoka's expressions: what its Taylor integrator is made of."""

from __future__ import annotations

import copy
import importlib.util
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dalembert.codegen.program import Program
from dalembert.errors import EngineError
from dalembert.symbolic.operations import BLOCKS, OPERATIONS

if TYPE_CHECKING:
    import heyoka as hy

Compiled: TypeAlias = Any  # heyoka's integrators and functions, which have no types
_MANY_LINES = 1000  # of a function: beyond them the compact mode compiles sooner
_RELATIONS = {"less": "lt", "less_equal": "lte"}


def is_installed() -> bool:
    """True where heyoka is installed."""
    return importlib.util.find_spec("heyoka") is not None


def expressions(program: Program, symbols: list[hy.expression]) -> list[hy.expression]:
    """The outputs over heyoka's expressions in the place of inputs and parameters."""
    import heyoka as hy

    if program.tables:
        raise EngineError("a long table has no Taylor series. Use integrator='dop853' for this model.")
    values: list[Any] = [*symbols, *program.numbers]
    for name, places in program.lines:
        known = OPERATIONS[name]
        arguments = [values[a] for a in places]
        if name in ("and", "or"):
            values.append((hy.logical_and if name == "and" else hy.logical_or)(arguments))
            continue
        if name in _RELATIONS:  # of parameters: equations that are integrated hold their conditions
            values.append(getattr(hy, _RELATIONS[name])(*arguments))
        elif (known.llvm and name != "select") or name in BLOCKS:  # blocks are written out
            values.append(known.array(*arguments))
        else:
            operands = [hy.expression(x) if isinstance(x, float) else x for x in arguments]  # 2.0**x is not overloaded
            values.append(operands[0] ** operands[1] if name == "pow" else getattr(hy, name)(*operands))
    return [hy.expression(y) if isinstance(y := values[place], float) else y for place in program.outputs]


class TaylorMachine:
    """Makes integrators of ẏ = rates(y, t); the machine code of one tolerance and one set of sizes is made once.

    The inputs of the program are the states that rates depend on, and time behind them.
    """

    def __init__(self, rates: Program) -> None:
        self._rates = rates
        self._made: dict[tuple[float | None, tuple[float, ...]], Compiled] = {}
        self._making = RLock()

    def make(self, tolerance: float | None, constants: np.ndarray, sizes: np.ndarray | None = None) -> Compiled:
        """A fresh integrator of y / sizes with its parameters set."""
        key = (tolerance, tuple(np.ones(len(self._rates.outputs)) if sizes is None else sizes))
        with self._making:
            if key not in self._made:
                self._made[key] = self._compiled(*key)
            machine = copy.copy(self._made[key])
        machine.pars[:] = constants[: len(machine.pars)]
        return machine

    def function(self, sizes: np.ndarray) -> Compiled:
        """The right-hand sides that integrators of y / sizes are made of, as a compiled function of states, pars and time."""
        import heyoka as hy

        system, compact = self._system(tuple(sizes)), len(self._rates.lines) > _MANY_LINES
        return hy.cfunc([rate for _, rate in system], [state for state, _ in system], compact_mode=compact, opt_level=1)

    def _compiled(self, tolerance: float | None, sizes: tuple[float, ...]) -> Compiled:
        import heyoka as hy

        options = {} if tolerance is None else {"tol": tolerance}
        return hy.taylor_adaptive(self._system(sizes), [0.0] * len(sizes), compact_mode=True, opt_level=1, **options)

    def _system(self, sizes: tuple[float, ...]) -> list[tuple[hy.expression, hy.expression]]:
        """Each state and its rate."""
        import heyoka as hy

        hy.set_logger_level_critical()  # heyoka logs to stdout, which belongs to the result
        # heyoka keeps names to itself, such as __x, that a user may choose
        states = [hy.expression(f"y{i}") for i in range(len(sizes))]
        inputs = [x if s == 1.0 else s * x for x, s in zip(states, sizes, strict=True)]
        inputs = [*inputs[: len(self._rates.inputs) - 1], hy.time]
        rates = expressions(self._rates, inputs + [hy.par[i] for i in range(len(self._rates.parameters))])
        rates = [rate if size == 1.0 else rate * (1 / size) for rate, size in zip(rates, sizes, strict=True)]
        return list(zip(states, rates, strict=True))
