"""Compiled functions of the dynamics: arrays of doubles in and out, with low call overhead."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array, is_integer
from dalembert.codegen.disk_cache import Tuples, program_from_tuples, program_to_tuples
from dalembert.codegen.function import CompiledFunction
from dalembert.errors import InputError, short_repr
from dalembert.model.description import Description
from dalembert.model.immutable import FrozenValue
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.constraint_batch import driven_speeds
from dalembert.recursive.execution import (
    cached_record,
    choose_execution,
    compile_task,
    constrained_forward_function,
    substitutes_ties,
    traced_task,
)
from dalembert.recursive.load_forces import ExternalWrenches, WrenchFrame, read_wrenches
from dalembert.recursive.plan import TreePlan, TreeState, plan_of, read_array, read_speed_rates, read_state
from dalembert.recursive.rolled_sweeps import Loops
from dalembert.recursive.traced import TASKS, Detail, names_of

_DOUBLE = np.dtype(float)
Numbers = npt.ArrayLike
Out = np.ndarray | None


class Call:
    """One function of rows q, s, ... and t, whose last output is a validity flag: at most 1 in size if valid."""

    def __init__(self, function: CompiledFunction, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
        self.function, self.sizes, self.shape = function, tuple(sizes), shape
        self._rows = math.prod(shape)

    @cached_property
    def single_state(self) -> FastCall | None:
        """The compiled call for one state, `single_state(q, s, ..., t)`, or None; see `codegen/llvm/native_entry`."""
        return _fast_call_of(self.function, self.sizes, self.shape)

    @cached_property
    def batch(self) -> FastCall:
        """The compiled call for a batch, `batch(q, s, ..., t)` or with a result array; it returns None for what it cannot do."""
        code = self.function.native_batch
        if code is None:
            return _always_none
        from dalembert.codegen.llvm.native_entry import batch_call, is_possible

        return batch_call(code, self.sizes, self.shape) if is_possible() else _always_none

    def evaluate_one(self, arguments: Sequence[object], t: float, out: np.ndarray | None = None) -> np.ndarray | None:
        """The result at one state; None if arrays are not doubles of the right shape, or the result is flagged."""
        if self.single_state is not None and (out is None or out.flags.c_contiguous):
            return self.single_state(*arguments, t) if out is None else self.single_state(*arguments, t, out)
        arrays = [a for a in arguments if isinstance(a, np.ndarray) and a.dtype == _DOUBLE]
        if [a.shape for a in arrays] != [(n,) for n in self.sizes]:
            return None
        found = self.function(np.concatenate([*arrays, [t]]), np.zeros(0))
        result = np.empty(self.shape) if out is None else out
        result[...] = found[:-1].reshape(self.shape)
        return result if abs(found[-1]) <= 1 else None

    def batch_arrays(self, arguments: Sequence[object]) -> list[np.ndarray] | None:
        """The arrays of a batch; None unless all are doubles with the same number of states."""
        if not isinstance(arguments[0], np.ndarray) or arguments[0].ndim != 2:
            return None
        count = arguments[0].shape[1]
        arrays = [a for a in arguments if isinstance(a, np.ndarray) and a.dtype == _DOUBLE]
        return arrays if [a.shape for a in arrays] == [(n, count) for n in self.sizes] else None

    def evaluate_batch(
        self, arguments: Sequence[np.ndarray], t: np.ndarray | float, out: np.ndarray | None, threads: int
    ) -> tuple[np.ndarray, bool]:
        """The results at many states, and whether all of them are valid."""
        if threads == 1 and isinstance(t, float):
            found = self.batch(*arguments, t) if out is None else self.batch(*arguments, t, out)
            if found is not None:
                return found, True
        count = arguments[0].shape[1]
        found = np.empty((*self.shape, count)) if out is None else out
        direct = found if found.flags.c_contiguous else np.empty(found.shape)
        time = np.reshape(t, (1, count)) if isinstance(t, np.ndarray) else _row(t, count)
        valid = self.function.spread_checked([*arguments, time], direct.reshape(self._rows, count), threads)
        if direct is not found:
            found[...] = direct
        return found, valid


@lru_cache(maxsize=2)
def _row(t: float, count: int) -> np.ndarray:
    """A read-only row of one time, cached for calls with the same number of states."""
    row = np.full((1, count), t)
    row.flags.writeable = False
    return row


_MAX_STACK_NUMBERS = 2**12
FastCall = Callable[..., np.ndarray | None]


def _fast_call_of(function: CompiledFunction, sizes: tuple[int, ...], shape: tuple[int, ...]) -> FastCall | None:
    """The call in machine code; None on other engines, and if it needs too much memory on the stack."""
    if function.n_outputs + sum(sizes) > _MAX_STACK_NUMBERS or (code := function.native) is None:
        return None
    from dalembert.codegen.llvm.native_entry import fast_call, is_possible

    return fast_call(code, sizes, shape) if is_possible() else None


def require_out(out: np.ndarray | None, shape: tuple[int, ...], arguments: Sequence[np.ndarray] = ()) -> None:
    """Raise unless results can be written to `out`."""
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != _DOUBLE or not out.flags.writeable:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {got}. Expected a writable float64 array of shape {shape}.")
    if any(np.may_share_memory(out, array) for array in arguments):
        raise InputError("`out` overlaps an input array. Expected a separate array.")


Key = tuple[str, bool] | tuple[str, bool, Detail]


class CallFacts(NamedTuple):
    """Properties of a valid model that the calls need."""

    constrained: bool  # there are constraints besides the joints that are not substituted
    n_speeds: int
    tied: bool  # there are constraints, which are substituted
    driven: tuple[int, ...] | None  # with constraints, the speeds along which forces act by default; None: all of them


class Calls(dict[Key, Call]):
    """The functions of one model on one engine by task, friction and detail, each compiled at first use.

    Functions in the disk cache are loaded from there, without planning the model.
    """

    def __init__(self, model: Description, engine: str, execution: str | None) -> None:
        super().__init__()
        self.model, self.engine, self.execution = model, engine, execution

    @cached_property
    def plan(self) -> TreePlan:
        """The kinematic tree of the model and its data."""
        return plan_of(self.model)

    @cached_property
    def facts(self) -> CallFacts:
        """Properties of the model; raises if it is invalid, or does not support this execution."""

        def found() -> Tuples:
            choose_execution(self.plan, "forward", self.execution, self.engine)
            plan, tied = self.plan, substitutes_ties(self.plan, self.execution, self.engine)
            driven = driven_speeds(plan, None) if plan.constrained else None
            chosen = None if driven is None else tuple(driven)
            return plan.constrained and not tied, plan.tree.n_speeds, tied, chosen

        return CallFacts(*cached_record(self.model, ("facts", self.engine, self.execution), found))

    def __missing__(self, key: Key) -> Call:
        task, friction, detail = key if len(key) == 3 else (*key, Detail())
        key_on_disk = (task, friction, detail, self.engine, self.execution)
        record = cached_record(self.model, key_on_disk, partial(self._record, task, friction, detail))
        sizes, shape, rolled, source = record
        function = compile_task(Loops.from_tuples(source) if rolled else program_from_tuples(source), self.engine)
        if task == "forward" and self.facts.constrained:
            function = constrained_forward_function(self.plan, function, rolled=rolled)
        self[key] = found = Call(function, sizes, shape)
        return found

    def _record(self, task: str, friction: bool, detail: Detail) -> Tuples:
        """The sizes of the inputs of a task, the shape of its result, and its program."""
        names, known = names_of(self.plan, detail), TASKS[task]
        more = [group for group in ("wrenches", "named") if getattr(detail, group)]
        sizes = tuple(len(getattr(names, group)) for group in (*known.groups, *more))
        options = {"friction": friction, "detail": detail, "engine": self.engine, "execution": self.execution}
        program = traced_task(self.plan, task, **options)
        rolled = isinstance(program, Loops)
        return sizes, known.shape(names, detail), rolled, program.to_tuples() if rolled else program_to_tuples(program)


SingleKey = tuple[str, bool] | tuple[str, bool, tuple[str, ...], WrenchFrame]


class SingleStateCalls(dict[SingleKey, FastCall]):
    """Calls for one state by task, friction, and bodies and frame of external wrenches, if any.

    They return None for other arguments, and if the result is flagged. The call is compiled at the first call with a single
    state, so that batches do not compile it.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def __missing__(self, key: SingleKey) -> FastCall:
        call_key = key if len(key) == 2 else (*key[:2], Detail(wrenches=key[2], frame=key[3]))

        def compile_on_demand(*arguments: object) -> np.ndarray | None:
            if getattr(arguments[0], "ndim", 0) == 1:
                if len(key) == 4:
                    read_wrenches(self._calls.model, dict.fromkeys(key[2], np.zeros(6)), key[3], ())
                self[key] = self._calls[call_key].single_state or _always_none
            return None

        facts = self._calls.facts
        unsupported = facts.driven is not None if key[0] == "inverse" else facts.constrained
        unsupported = unsupported and key[0] in ("inverse", "forward_derivatives")
        found = self[key] = _always_none if unsupported else compile_on_demand
        return found

    def with_wrenches(
        self, task: str, friction: bool, fext: ExternalWrenches, frame: WrenchFrame, *arguments: object
    ) -> np.ndarray | None:
        """The result of a task with external wrenches at one state; `arguments` end with the time."""
        wrenches = list(fext.values()) if type(fext) is dict else []
        if not wrenches or any(type(wrench) is not np.ndarray or wrench.shape != (6,) for wrench in wrenches):
            return None
        values = wrenches[0] if len(wrenches) == 1 else np.concatenate(wrenches)
        return self[task, friction, tuple(fext), frame](*arguments[:-1], values, arguments[-1])


def _always_none(*arguments: object) -> None:
    return None


@lru_cache(maxsize=64)
def calls_of(model: Description, engine: str, execution: str | None) -> Calls:
    """The functions of a model, cached by its content; the cache drops the oldest models."""
    return Calls(model, engine, execution)


def clear_cache() -> None:
    """Clear the cache of compiled functions."""
    calls_of.cache_clear()


@dataclass(frozen=True, repr=False)
class CompiledModel(FrozenValue):
    """A model on an engine; compiled functions are cached by content.

    Attributes
    ----------
    model : Description
        The model.
    engine : {'native', 'python'}
        How functions are evaluated: machine code or NumPy.
    execution : {'unrolled', 'rolled'} or None
        Straight-line code, or loops over a table of links; None if it is chosen automatically.
    """

    model: Description
    engine: str
    execution: str | None = None  # rolled or unrolled recursion; None: chosen automatically

    _result_names: ClassVar[dict[str, str]] = {}  # names of the results of tasks, for messages

    @cached_property
    def plan(self) -> TreePlan:
        """The kinematic tree of the model and its data."""
        return plan_of(self.model)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """The names of the entries of velocities, forces and accelerations."""
        return self.plan.tree.speed_names

    @cached_property
    def _calls(self) -> Calls:
        return calls_of(self.model, self.engine, self.execution)

    def _run(
        self,
        task: str,
        arguments: tuple[Numbers, ...],
        t: Numbers,
        friction: bool,
        out: Out,
        threads: int,
        detail: Detail | None = None,
    ) -> np.ndarray:
        call = self._calls[task, friction] if detail is None else self._calls[task, friction, detail]
        if isinstance(t, float) and math.isfinite(t):
            if getattr(arguments[0], "ndim", 0) == 1:
                if threads != 1:
                    require_threads(threads)
                if out is not None:
                    require_out(out, call.shape)
                if (fast_result := call.evaluate_one(arguments, t, out)) is not None:
                    return fast_result
            elif (
                type(threads) is int
                and threads == 1
                and (
                    (fast_result := call.batch(*arguments, t) if out is None else call.batch(*arguments, t, out))
                    is not None
                )
            ):
                return fast_result
            elif (arrays := call.batch_arrays(arguments)) is not None:
                require_out(out, (*call.shape, arrays[0].shape[1]), arrays)
                found, valid = call.evaluate_batch(arrays, t, out, require_threads(threads))
                if valid:
                    return found
        return write_to_out(self._read(call, task, arguments, t, friction, threads, detail), out)

    def _read(
        self,
        call: Call,
        task: str,
        arguments: tuple[Numbers, ...],
        t: Numbers,
        friction: bool,
        threads: int,
        detail: Detail | None,
    ) -> np.ndarray:
        """The result for any array-like arguments, after checking them."""
        groups = TASKS[task].groups
        state = read_state(self.plan, arguments[0], arguments[1] if "s" in groups else None, t)
        arrays = [state.q, *([state.s] if "s" in groups else []), *self._second_order_inputs(state, groups, arguments)]
        arrays += [
            np.asarray(x).reshape(-1, state.K) for x in arguments[len(arrays) :]
        ]  # wrenches, parameters, a point
        found, valid = call.evaluate_batch(arrays, state.t, None, require_threads(threads))
        if not valid:
            if (recomputed := self._by_checked_recursion(task, arguments, t, friction, detail)) is not None:
                return recomputed
            walk.require_finite(state, found, self._result_names[task])
        if task == "forward":
            found = state.second_rates(found)
        return state.shaped(found)

    def _by_checked_recursion(
        self, task: str, arguments: tuple[Numbers, ...], t: Numbers, friction: bool, detail: Detail | None
    ) -> np.ndarray | None:
        """The result of the checked recursion in floats, which raises with the reason; None for other tasks."""
        return None

    def _second_order_inputs(
        self, state: TreeState, groups: tuple[str, ...], arguments: tuple[Numbers, ...]
    ) -> list[np.ndarray]:
        """The accelerations, forces or both of a task."""
        out = [read_speed_rates(state, arguments[2])] if "sd" in groups else []
        if "tau" in groups:
            batch = () if state.single else (state.K,)
            out.append(read_array(self.plan, "tau", arguments[2 + len(out)], batch, speeds_only=True))
        return out


def require_threads(threads: int) -> int:
    """Check a number of threads."""
    if not is_integer(threads) or threads < 1:
        raise InputError(f"threads: got {short_repr(threads)}. Expected an int >= 1.")
    return threads


def write_to_out(found: np.ndarray, out: Out) -> np.ndarray:
    """Return the result, copied to `out` unless that is None."""
    require_out(out, found.shape)
    if out is None:
        return found
    out[...] = found
    return out


def repeat_for_batch(values: np.ndarray, q: Numbers) -> np.ndarray:
    """Repeat values for every state of a batch."""
    batch = batch_of(q)
    return values if batch is None else np.repeat(values[:, None], batch, axis=1)


def batch_of(q: Numbers) -> int | None:
    """The number of states in q; None for a single state."""
    shape = q.shape if isinstance(q, np.ndarray) else as_finite_array(q, "q").shape
    return shape[1] if len(shape) > 1 else None
