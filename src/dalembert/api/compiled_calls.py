"""Functions of the dynamics, compiled: arrays of doubles in, arrays of doubles out, with as little between as can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.arguments import is_whole, numbers_given, shown
from dalembert.codegen.disk_cache import Plain, plain_program, program_again
from dalembert.codegen.function import Function
from dalembert.errors import InputError
from dalembert.model.description import Description
from dalembert.model.frozen import Value
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.execution import choose_execution, held_function, kept_record, running, text_for
from dalembert.recursive.plan import Plan, State, plan_of, read_array, read_speed_rates, read_state
from dalembert.recursive.rolled_sweeps import Loops
from dalembert.recursive.traced import TASKS, Detail, names_of

_DOUBLE = np.dtype(float)
Numbers = npt.ArrayLike
Out = np.ndarray | None


class Call:
    """One function of rows q, s, ... and t, whose last output is an alarm."""

    def __init__(self, function: Function, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
        self.function, self.sizes, self.shape = function, tuple(sizes), shape
        self._rows = math.prod(shape)

    @cached_property
    def quick(self) -> Quick | None:
        """The call at one state in machine code, `quick(q, s, ..., t)`, where there is one; see `llvm/quick`."""
        return _quick_of(self.function, self.sizes, self.shape)

    def one(self, given: Sequence[object], t: float, out: np.ndarray | None = None) -> np.ndarray | None:
        """The result at one state; None where arrays are not doubles of the right shape, or where the alarm is raised."""
        if self.quick is not None and (out is None or out.flags.c_contiguous):
            return self.quick(*given, t) if out is None else self.quick(*given, t, out)
        arrays = [a for a in given if isinstance(a, np.ndarray) and a.dtype == _DOUBLE]
        if [a.shape for a in arrays] != [(n,) for n in self.sizes]:
            return None
        found = self.function(np.concatenate([*arrays, [t]]), np.zeros(0))
        result = np.empty(self.shape) if out is None else out
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


def _quick_of(function: Function, sizes: tuple[int, ...], shape: tuple[int, ...]) -> Quick | None:
    """The call in machine code; None on other engines, and where its numbers need too much memory on the stack."""
    if function.n_outputs + sum(sizes) > _ROOM or (code := function.native) is None:
        return None
    from dalembert.codegen.llvm.native_entry import is_possible, quick_function

    return quick_function(code, sizes, shape) if is_possible() else None


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


class Facts(NamedTuple):
    """What calls have to know of a sound model."""

    constrained: bool  # something besides the joints holds the bodies
    n_speeds: int


class Calls(dict[Key, Call]):
    """The functions of one model on one engine by task, friction and detail, each compiled at first use.

    What is on disk is taken from there; then the model is not even planned.
    """

    def __init__(self, model: Description, engine: str, execution: str | None) -> None:
        super().__init__()
        self.model, self.engine, self.execution = model, engine, execution

    @cached_property
    def plan(self) -> Plan:
        """The tree of the model and what is known of it."""
        return plan_of(self.model)

    @cached_property
    def facts(self) -> Facts:
        """Facts of the model; raises where it is not sound, or cannot run by this execution."""

        def found() -> Plain:
            choose_execution(self.plan, "forward", self.execution, self.engine)
            return self.plan.constrained, self.plan.tree.n_speeds

        return Facts(*kept_record(self.model, ("facts", self.engine, self.execution), found))

    def __missing__(self, key: Key) -> Call:
        task, friction, detail = key if len(key) == 3 else (*key, Detail())
        asked = (task, friction, detail, self.engine, self.execution)
        made = kept_record(self.model, asked, partial(self._record, task, friction, detail))
        sizes, shape, rolled, text = made
        function = running(Loops.again(text) if rolled else program_again(text), self.engine)
        if task == "forward" and self.facts.constrained:
            function = held_function(self.plan, function, rolled=rolled)
        self[key] = found = Call(function, sizes, shape)
        return found

    def _record(self, task: str, friction: bool, detail: Detail) -> Plain:
        """The sizes of what a task takes, the shape of what it gives, and its text."""
        names, known = names_of(self.plan, detail.named), TASKS[task]
        sizes = tuple(len(getattr(names, group)) for group in (*known.groups, *(["named"] if detail.named else [])))
        told = {"friction": friction, "detail": detail, "engine": self.engine, "execution": self.execution}
        text = text_for(self.plan, task, **told)
        rolled = isinstance(text, Loops)
        return sizes, known.shape(names, detail), rolled, text.plain() if rolled else plain_program(text)


class Alone(dict[tuple[str, bool], Quick]):
    """The calls at one state by task and friction: None where arguments are not plain arrays of one state, or something is amiss.

    What stands here first waits for one state and then makes room for machine code, so that batches do not compile it.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def __missing__(self, key: tuple[str, bool]) -> Quick:
        def waiting(*given: object) -> np.ndarray | None:
            if getattr(given[0], "ndim", 0) == 1:
                self[key] = self._calls[key].quick or _never
            return None

        walked = key[0] in ("inverse", "forward_slopes") and self._calls.facts.constrained  # elsewhere, or refused
        found = self[key] = _never if walked else waiting
        return found


def _never(*given: object) -> None:
    return None


@lru_cache(maxsize=64)
def calls_of(model: Description, engine: str, execution: str | None) -> Calls:
    """The functions of a model, found once per process by its content; the oldest leave the store."""
    return Calls(model, engine, execution)


def forget_calls() -> None:
    """Empty the store; handles find or make what they need again."""
    calls_of.cache_clear()


@dataclass(frozen=True, repr=False)
class Compiled(Value):
    """A model on an engine; its compiled functions lie in a store by content."""

    declared: Description
    engine: str
    execution: str | None = None  # how the recursion is run; None: as suits the model

    said: ClassVar[dict[str, str]] = {}  # what messages call the results of tasks

    @cached_property
    def plan(self) -> Plan:
        """The tree of the model and what is known of it."""
        return plan_of(self.declared)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """What the entries of velocities, forces and accelerations are."""
        return self.plan.tree.speed_names

    @cached_property
    def _calls(self) -> Calls:
        return calls_of(self.declared, self.engine, self.execution)

    def _run(
        self,
        task: str,
        given: tuple[Numbers, ...],
        t: Numbers,
        friction: bool,
        out: Out,
        threads: int,
        detail: Detail | None = None,
    ) -> np.ndarray:
        call = self._calls[task, friction] if detail is None else self._calls[task, friction, detail]
        if isinstance(t, float):
            if getattr(given[0], "ndim", 0) == 1:
                if threads != 1:
                    counted(threads)
                if out is not None:
                    require_out(out, call.shape)
                if (quick := call.one(given, t, out)) is not None:
                    return quick
            elif (arrays := call.batch(given)) is not None:
                require_out(out, (*call.shape, arrays[0].shape[1]), arrays)
                found, quiet = call.many(arrays, t, out, counted(threads))
                if quiet:
                    return found
        return written(self._read(call, task, given, t, friction, threads, detail), out)

    def _read(
        self,
        call: Call,
        task: str,
        given: tuple[Numbers, ...],
        t: Numbers,
        friction: bool,
        threads: int,
        detail: Detail | None,
    ) -> np.ndarray:
        """The result for arguments of any kind."""
        groups = TASKS[task].groups
        state = read_state(self.plan, given[0], given[1] if "s" in groups else None, t)
        arrays = [state.q, *([state.s] if "s" in groups else []), *self._third(state, groups, given)]
        arrays += [np.asarray(x).reshape(-1, state.K) for x in given[len(arrays) :]]  # parameters, or a point
        found, quiet = call.many(arrays, state.t, None, counted(threads))
        if not quiet:
            if (walked := self._walked(task, given, t, friction, detail)) is not None:
                return walked
            walk.require_finite(state, found, self.said[task])
        if task == "forward":
            found = state.second_rates(found)
        return state.shaped(found)

    def _walked(
        self, task: str, given: tuple[Numbers, ...], t: Numbers, friction: bool, detail: Detail | None
    ) -> np.ndarray | None:
        """The result by a walk in floats, which says what is wrong; None for tasks that have none."""
        return None

    def _third(self, state: State, groups: tuple[str, ...], given: tuple[Numbers, ...]) -> list[np.ndarray]:
        """Accelerations, forces or both."""
        out = [read_speed_rates(state, given[2])] if "sd" in groups else []
        if "tau" in groups:
            batch = () if state.single else (state.K,)
            out.append(read_array(self.plan, "tau", given[2 + len(out)], batch, speeds_only=True))
        return out


def counted(threads: int) -> int:
    """A number of threads."""
    if not is_whole(threads) or threads < 1:
        raise InputError(f"threads: got {shown(threads)}. Expected a whole number of at least 1.")
    return threads


def written(found: np.ndarray, out: Out) -> np.ndarray:
    """What was found, in `out` where it is given."""
    require_out(out, found.shape)
    if out is None:
        return found
    out[...] = found
    return out


def beside(values: np.ndarray, q: Numbers) -> np.ndarray:
    """The same values for every state."""
    batch = batch_of(q)
    return values if batch is None else np.repeat(values[:, None], batch, axis=1)


def batch_of(q: Numbers) -> int | None:
    """How many states q holds; None for one."""
    shape = q.shape if isinstance(q, np.ndarray) else numbers_given(q, "q").shape
    return shape[1] if len(shape) > 1 else None
