"""Functions of the dynamics, compiled: arrays of doubles in, arrays of doubles out, with as little between as can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from threading import local
from typing import Any

import numpy as np

from dalembert.errors import InputError
from dalembert.model import Description
from dalembert.programs import Function
from dalembert.programs.function import Alone
from dalembert.recursive import plan_of
from dalembert.recursive.execution import function_for
from dalembert.recursive.traced import TASKS, Detail, names_of

_DOUBLE = np.dtype(float)


class Call:
    """One function of rows q, s, ... and t, whose last output is an alarm."""

    def __init__(self, function: Function, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
        self._function, self.sizes, self.shape = function, tuple(sizes), shape
        self._rows = math.prod(shape)
        self._shapes = tuple((n,) for n in sizes)
        self._own = local()

    def one(self, given: Sequence[Any], t: float, out: np.ndarray | None = None) -> np.ndarray | None:
        """The result at one state; None where arrays are not doubles of the right shape, or where the alarm is raised."""
        try:
            mine = self._own.buffers
        except AttributeError:
            mine = self._own.buffers = _Buffers(self._function.alone(), self.sizes, self.shape)
        for array, shape, place in zip(given, self._shapes, mine.places):  # noqa: B905 (their number is known)
            if array.__class__ is not np.ndarray or array.shape != shape or array.dtype is not _DOUBLE:
                return None
            place[...] = array
        mine.x[-1] = t
        mine.run()
        if not -1 <= mine.alarm.item() <= 1:
            return None
        if out is None:
            return mine.result.copy()
        out[...] = mine.result
        return out

    def batch(self, given: Sequence[object]) -> list[np.ndarray] | None:
        """The arrays of a batch; None unless they are doubles for one number of states."""
        arrays = [a for a in given if isinstance(a, np.ndarray) and a.ndim == 2 and a.dtype == _DOUBLE]
        fit = len(arrays) == len(given) and all(
            a.shape == (n, arrays[0].shape[1]) for a, n in zip(arrays, self.sizes, strict=True)
        )
        return arrays if fit else None

    def many(
        self, given: Sequence[np.ndarray], t: np.ndarray | float, out: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, bool]:
        """The results at many states, and whether the alarm is silent at all of them."""
        count = given[0].shape[1]
        found = np.empty((*self.shape, count)) if out is None else out
        direct = found if found.flags.c_contiguous else np.empty(found.shape)
        alarm, time = np.empty((1, count)), np.empty((1, count))
        time[...] = t
        self._function.spread([*given, time], [direct.reshape(self._rows, count), alarm], threads)
        if direct is not found:
            found[...] = direct
        return found, bool((np.abs(alarm) <= 1).all())


class _Buffers:
    """What one thread writes to and reads from: parts of the arrays whose addresses the machine code knows."""

    def __init__(self, alone: Alone, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
        self.x, self.run, self._alone = alone.x, alone.run, alone
        ends = np.cumsum(sizes)
        self.places = [alone.x[end - n : end] for n, end in zip(sizes, ends, strict=True)]
        self.result, self.alarm = alone.out[:-1].reshape(shape), alone.out[-1:]


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
        self._plan, self._engine, self._execution = plan_of(model), engine, execution

    def __missing__(self, key: Key) -> Call:
        task, friction, detail = key if len(key) == 3 else (*key, Detail())
        names, known = names_of(self._plan, detail.named), TASKS[task]
        function = function_for(
            self._plan, task, friction=friction, detail=detail, engine=self._engine, execution=self._execution
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
