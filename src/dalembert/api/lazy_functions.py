"""Functions of a model that are compiled when they are first called: how arguments reach them, and results come back.

Arrays as they should be go straight to the machine code; others are read, with a message for all that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dalembert.api.compiled_calls import Call, Calls, calls_of, require_out
from dalembert.arguments import is_whole, numbers_given, shown
from dalembert.errors import InputError
from dalembert.model.description import Description
from dalembert.model.frozen import Value
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.plan import Plan, plan_of
from dalembert.recursive.traced import TASKS, Detail
from dalembert.recursive.tree_state import State, read_array, read_speed_rates, read_state

Numbers = npt.ArrayLike
Out = np.ndarray | None


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
