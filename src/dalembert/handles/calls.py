"""Functions of the dynamics, compiled: arrays of doubles in, arrays of doubles out, with as little between as can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dalembert.errors import InputError
from dalembert.model import Description
from dalembert.programs import Function
from dalembert.recursive import plan_of
from dalembert.recursive.execution import function_for
from dalembert.recursive.traced import TASKS, Detail, names_of

_DOUBLE = np.dtype(float)


class Call:
    """One function of rows q, s, ... and t, whose last output is an alarm."""

    def __init__(self, function: Function, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
        self.function, self.sizes, self.shape = function, tuple(sizes), shape
        self._rows = math.prod(shape)

    @cached_property
    def _quick(self) -> Quick | None:
        """The call in machine code, where there is one."""
        return _quick_of(self.function, self.sizes)

    def one(self, given: Sequence[Any], t: float, out: np.ndarray | None = None) -> np.ndarray | None:
        """The result at one state; None where arrays are not doubles of the right shape, or where the alarm is raised."""
        result = np.empty(self.shape) if out is None else out
        if self._quick is not None and (out is None or out.flags.c_contiguous):
            return self._quick(*given, t, result)
        arrays = [a for a in given if isinstance(a, np.ndarray) and a.dtype == _DOUBLE]
        if [a.shape for a in arrays] != [(n,) for n in self.sizes]:
            return None
        found = self.function(np.concatenate([*arrays, [t]]), np.zeros(0))
        result[...] = found[:-1].reshape(self.shape)
        return result if abs(found[-1]) <= 1 else None

    def batch(self, given: Sequence[object]) -> list[np.ndarray] | None:
        """The arrays of a batch; None unless they are doubles for one number of states."""
        if not isinstance(given[0], np.ndarray) or given[0].ndim != 2:
            return None
        count = given[0].shape[1]
        arrays = [a for a in given if isinstance(a, np.ndarray) and a.dtype == _DOUBLE]
        return arrays if [a.shape for a in arrays] == [(n, count) for n in self.sizes] else None

    def many(
        self, given: Sequence[np.ndarray], t: np.ndarray | float, out: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, bool]:
        """The results at many states, and whether the alarm is silent at all of them."""
        count = given[0].shape[1]
        found = np.empty((*self.shape, count)) if out is None else out
        direct = found if found.flags.c_contiguous else np.empty(found.shape)
        alarm, time = np.empty((1, count)), np.reshape(t, (1, count)) if isinstance(t, np.ndarray) else _same(t, count)
        self.function.spread([*given, time], [direct.reshape(self._rows, count), alarm], threads)
        if direct is not found:
            found[...] = direct
        highest, lowest = np.maximum.reduce(alarm[0], initial=0.0), np.minimum.reduce(alarm[0], initial=0.0)
        return found, bool(highest <= 1 and lowest >= -1)


@lru_cache(maxsize=2)
def _same(t: float, count: int) -> np.ndarray:
    """A row of one time, which calls with as many states share."""
    row = np.full((1, count), t)
    row.flags.writeable = False
    return row


_ROOM = 2**12  # numbers that are taken from the stack
Quick = Callable[..., np.ndarray | None]


def _quick_of(function: Function, sizes: tuple[int, ...]) -> Quick | None:
    """The whole call in machine code; None on other engines, and where its numbers need too much room."""
    if function.n_outputs + sum(sizes) > _ROOM or (code := function.native) is None:
        return None
    from dalembert.programs.llvm.quick import is_possible, quick_function

    return quick_function(code, sizes, function.n_outputs) if is_possible() else None


def require_out(out: np.ndarray | None, shape: tuple[int, ...], given: Sequence[np.ndarray] = ()) -> None:
    """An array that results can be written to."""
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != _DOUBLE or not out.flags.writeable:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {got}. Expected an array of float64 of shape {shape} that can be written.")
    if any(np.may_share_memory(out, array) for array in given):
        raise InputError("out lies in the memory of an argument. Expected an array of its own.")


Key = tuple[str, bool] | tuple[str, bool, Detail]


class Calls(dict[Key, Call]):
    """The functions of one model on one engine by task, friction and detail, each compiled when it is first asked for."""

    def __init__(self, model: Description, engine: str, execution: str | None) -> None:
        super().__init__()
        self.plan, self.engine, self.execution = plan_of(model), engine, execution

    def __missing__(self, key: Key) -> Call:
        task, friction, detail = key if len(key) == 3 else (*key, Detail())
        names, known = names_of(self.plan, detail.named), TASKS[task]
        function = function_for(
            self.plan, task, friction=friction, detail=detail, engine=self.engine, execution=self.execution
        )
        sizes = [len(getattr(names, group)) for group in (*known.groups, *(["named"] if detail.named else []))]
        self[key] = found = Call(function, sizes, known.shape(names))
        return found


@lru_cache(maxsize=64)
def calls_of(model: Description, engine: str, execution: str | None) -> Calls:
    """The functions of a model, found once per process by its content; the oldest leave the store."""
    return Calls(model, engine, execution)


def forget_calls() -> None:
    """Empty the store; handles find or make what they need again."""
    calls_of.cache_clear()
