"""Explicit methods: tables of numbers that one compiled loop steps with (`native_steps`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import SimulationError
from dalembert.integrators import native_steps as text
from dalembert.integrators.base import Burst, InitialValueProblem, Runner, Settings, collapse, not_finite
from dalembert.integrators.native_steps import Control, Machine, Now, Scheme, Surface, Taken


class Explicit(Runner):
    """A Runge–Kutta method, stepping in machine code where the right-hand side is machine code."""

    kind: ClassVar[int]

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._problem, machine = problem, problem.machine
        self._burst = None if machine is None else compiled()
        self._scheme, n = self.scheme()._replace(positions=problem.positions), len(problem.y0)
        if machine is None or self._burst is None:
            self._burst, self._rates = text.burst, Machine(_as_machine(problem.rates), np.zeros(0), np.zeros(0))
            self._surface, inputs = unheld(text.FREE if problem.project is None else text.ASK), n
        else:
            self._rates, inputs = machine.rates, machine.inputs
            by_python = problem.project is not None and machine.surface is None
            self._surface = (
                machine.surface if machine.surface is not None else unheld(text.ASK if by_python else text.FREE)
            )
        if problem.project is None:
            self._surface = unheld(text.FREE)
        K = np.zeros((len(self._scheme.c), n))
        self._now = Now(problem.y0.astype(float), K, np.array([problem.t0, 0.0]), np.zeros(4, dtype=np.int64))
        if self._scheme.carried:
            K[0] = problem.rates(problem.t0, problem.y0)
            self._now.counts[text.CALLS] = self._now.counts[text.KNOWN] = 1
        keep = settings.dense or any(guide.looks_inside for guide in problem.guides)
        with np.errstate(all="ignore"):
            rule = self.rule(problem, settings, end)
        rule = {"rtol": 0.0, "atol": np.zeros(n), "largest": np.inf, "count": 0} | rule
        self._now.clock[text.H] = rule.pop("h")
        self._control = Control(kind=self.kind, start=problem.t0, end=end, inputs=inputs, keep=keep, **rule)
        self.tolerance = self._control.rtol

    @classmethod
    @abstractmethod
    def scheme(cls) -> Scheme:
        """The numbers of the method."""

    @abstractmethod
    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> dict[str, Any]:
        """The first step `h`, and what of `Control` the method uses."""

    def first_slope(self) -> np.ndarray:
        """ẏ at the start."""
        return self._now.K[0]

    def count(self, calls: int) -> None:
        """The rates were asked for outside the loop."""
        self._now.counts[text.CALLS] += calls

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        if not np.array_equal(y, self._now.y):
            self._now.y[:] = y
            self._now.counts[text.KNOWN] = 0

    def burst(self, times: np.ndarray, samples: np.ndarray, done: int, stop: float, most: int) -> Burst:
        """Up to `most` steps with their samples (times, states), of which `done` are there already."""
        n, orders, now = len(self._now.y), self._scheme.P.shape[1] + 1, self._now
        now.counts[text.SAMPLE] = done
        ends = [np.empty(most) for _ in range(3)]
        taken = Taken(
            *ends, np.empty((most, n)), np.empty((most, n)), np.empty((most, n, orders)), np.zeros(most, np.int64)
        )
        assert self._burst is not None
        with np.errstate(all="ignore"):  # what is not finite is told
            count, why = self._burst(
                self._scheme, self._control, self._rates, self._surface, now, taken, times, samples, stop, most
            )
        self.evaluations = int(now.counts[text.CALLS])
        parts = [part[:count] for part in taken]
        return Burst(*parts, int(now.counts[text.SAMPLE]), why == text.LEFT, self._failure(why, taken, count))

    def _failure(self, why: int, taken: Taken, count: int) -> SimulationError | None:
        """The error with which a burst ends, if it does."""
        problem, (t, h) = self._problem, self._now.clock.tolist()
        if why == text.COLLAPSED:
            return collapse(problem, t, h, self._now.y)
        return not_finite(problem, t, self._now.y, taken.y1[count]) if why == text.NOT_FINITE else None


class FixedStepper(Explicit):
    """Equal steps of size `step` (default: a thousandth of the run) that end exactly at the end."""

    fixed = True
    kind = text.FIXED

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> dict[str, Any]:
        """Their number."""
        span = end - problem.t0
        wanted = settings.step or min(settings.max_step or np.inf, span / 1000)
        count = max(1, int(np.ceil(span / wanted - 1e-9)))
        return {"count": count, "h": span / count}


def unheld(mode: int) -> Surface:
    """No constraints that machine code knows of."""
    none, number, rows = Machine(0, np.zeros(0), np.zeros(0)), np.zeros(0), np.zeros(0, dtype=np.int64)
    numbers = (rows, rows, number, number, number, number, np.zeros(4), 0)
    return Surface(mode, none, none, none, True, 0, 0, 0, 0, 0, *numbers)


def _as_machine(rates: Callable[[float, np.ndarray], np.ndarray]) -> Callable[..., None]:
    def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
        out[:] = rates(float(x[-1]), x[:-1])

    return one


@cache
def compiled() -> Callable[..., tuple[int, int]] | None:
    """The loop in machine code; None where Numba is missing."""
    try:
        import numba
    except ImportError:
        return None
    options = {"error_model": "numpy"}
    for name, part in vars(text).items():  # the functions that the loop calls
        if (
            callable(part)
            and getattr(part, "__module__", "") == text.__name__
            and name.startswith("_")
            and not isinstance(part, type)
        ):
            numba.extending.register_jitable(**options)(part)
    numba.extending.overload(text.call, jit_options=options)(_jump(numba))
    try:
        return numba.njit(cache=True, **options)(text.burst)
    except RuntimeError:  # no directory can be written to
        return numba.njit(**options)(text.burst)


def _jump(numba: Any) -> Callable[..., Any]:
    """What stands for `call` in machine code: a jump to the address."""
    from llvmlite import ir

    @numba.extending.intrinsic
    def jump(typing: Any, one: Any, x: Any, p: Any, tables: Any, out: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.DoubleType().as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [number] * 4).as_pointer()
            pointers = [
                context.make_array(array)(context, builder, value).data
                for array, value in zip(signature.args[1:], arguments[1:], strict=True)
            ]
            builder.call(builder.inttoptr(arguments[0], kind), pointers)
            return context.get_dummy_value()

        return numba.types.void(one, x, p, tables, out), code

    return lambda one, x, p, tables, out: lambda one, x, p, tables, out: jump(one, x, p, tables, out)
