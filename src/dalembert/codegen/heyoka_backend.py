"""Programs as heyoka expressions, for its Taylor integrator."""

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

Compiled: TypeAlias = Any  # heyoka's integrators and functions, which are untyped
_MANY_LINES = 1000  # of a function: above this count the compact mode compiles faster
_RELATIONS = {"less": "lt", "less_equal": "lte"}


def is_installed() -> bool:
    """True if heyoka is installed."""
    return importlib.util.find_spec("heyoka") is not None


def expressions(program: Program, symbols: list[hy.expression]) -> list[hy.expression]:
    """The outputs, with heyoka expressions for inputs and parameters."""
    import heyoka as hy

    if program.tables:
        raise EngineError("Taylor integration does not support long tables. Use integrator='dop853' for this model.")
    values: list[Any] = [*symbols, *program.numbers]
    for name, operands_at in program.lines:
        operation = OPERATIONS[name]
        arguments = [values[a] for a in operands_at]
        if name in ("and", "or"):
            values.append((hy.logical_and if name == "and" else hy.logical_or)(arguments))
            continue
        if name in _RELATIONS:  # of parameters: conditions are frozen in the equations that are integrated
            values.append(getattr(hy, _RELATIONS[name])(*arguments))
        elif (operation.llvm and name != "select") or name in BLOCKS:  # blocks are expanded
            values.append(operation.array(*arguments))
        else:
            operands = [hy.expression(x) if isinstance(x, float) else x for x in arguments]  # 2.0**x is not overloaded
            values.append(operands[0] ** operands[1] if name == "pow" else getattr(hy, name)(*operands))
    return [hy.expression(y) if isinstance(y := values[index], float) else y for index in program.outputs]


class TaylorMachine:
    """Creates integrators of ẏ = rates(y, t); machine code is compiled once per tolerance and set of sizes.

    The inputs of the program are the states that the rates depend on, followed by the time.
    """

    def __init__(self, rates: Program) -> None:
        self._rates = rates
        self._integrators: dict[tuple[float | None, tuple[float, ...]], Compiled] = {}
        self._lock = RLock()

    def make(self, tolerance: float | None, constants: np.ndarray, sizes: np.ndarray | None = None) -> Compiled:
        """A new integrator of y / sizes with its parameters set."""
        key = (tolerance, tuple(np.ones(len(self._rates.outputs)) if sizes is None else sizes))
        with self._lock:
            if key not in self._integrators:
                self._integrators[key] = self._compiled(*key)
            machine = copy.copy(self._integrators[key])
        machine.pars[:] = constants[: len(machine.pars)]
        return machine

    def function(self, sizes: np.ndarray) -> Compiled:
        """The right-hand sides of integrators of y / sizes, as a compiled function of states, parameters and time."""
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

        hy.set_logger_level_critical()  # heyoka logs to stdout, which is reserved for results
        # heyoka reserves names such as __x, which a user may choose
        states = [hy.expression(f"y{i}") for i in range(len(sizes))]
        inputs = [x if s == 1.0 else s * x for x, s in zip(states, sizes, strict=True)]
        inputs = [*inputs[: len(self._rates.inputs) - 1], hy.time]
        rates = expressions(self._rates, inputs + [hy.par[i] for i in range(len(self._rates.parameters))])
        rates = [rate if size == 1.0 else rate * (1 / size) for rate, size in zip(rates, sizes, strict=True)]
        return list(zip(states, rates, strict=True))
