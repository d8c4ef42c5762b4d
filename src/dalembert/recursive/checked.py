"""The rolled recursion as the handles call it: with the loads of the model, and with an alarm behind its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.codegen.function import Function, Native, SweptFunction, function_of
from dalembert.codegen.link_sweeps import Sweeps
from dalembert.codegen.program import Program
from dalembert.codegen.serialize import Plain, plain_program, plain_sweeps, program_again, sweeps_again
from dalembert.recursive.plan import Plan
from dalembert.recursive.rolled_sweeps import sweeps_and_table
from dalembert.recursive.traced import TINY, task_program
from dalembert.recursive.tree_state import TOLERANCE

ROLLED = ("inverse", "forward", "bias", "gravity")  # the tasks that have loops


@dataclass(frozen=True, eq=False)
class Loops:
    """A task of `ROLLED` as a value: sweeps over a table of links, and the program of the loads if any act."""

    task: str
    sweeps: Sweeps
    table: np.ndarray
    loads: Program | None
    n: int  # coordinates
    n_speeds: int
    attitudes: tuple[tuple[int, ...], ...]  # rows of quaternions

    def plain(self) -> Plain:
        """It as tuples; see `plain_form`."""
        loads = None if self.loads is None else plain_program(self.loads)
        return self.task, plain_sweeps(self.sweeps), self.table.tobytes(), loads, self.n, self.n_speeds, self.attitudes

    @classmethod
    def again(cls, plain: Plain) -> Loops:
        """What such tuples tell."""
        task, sweeps, table, loads, *rest = plain
        program = None if loads is None else program_again(loads)
        return cls(task, sweeps_again(sweeps), np.frombuffer(table), program, *rest)


def loops_of(plan: Plan, task: str, *, friction: bool) -> Loops:
    """The loops of a task, with the loads that act."""
    acting = plan.model if friction else plan.frictionless
    pushed = (acting.loads or acting.non_ideal_forces) and task in ("inverse", "forward")
    loads = task_program(plan, "loads", friction=friction) if pushed else None
    sweeps, table = sweeps_and_table(plan, "bias" if task == "gravity" else task)
    attitudes = tuple(tuple(attitude.parts) for attitude in plan.tree.attitudes)
    return Loops(task, sweeps, table, loads, plan.tree.n, plan.tree.n_speeds, attitudes)


class Alarmed(Function):
    """A task of `ROLLED` as a function of the rows that `traced` takes; its last output is an alarm as there.

    The alarm tells numbers that are not finite and quaternions that are not of norm 1. The loops keep their pivots to themselves:
    a pivot of 0 shows as an acceleration that is not finite, a pivot that only rounding keeps from 0 does not show.
    """

    def __init__(self, text: Loops) -> None:
        self._task, self._n, self._speeds, self._attitudes = text.task, text.n, text.n_speeds, text.attitudes
        inputs = text.n + (1 if text.task == "bias" or text.task == "gravity" else 2) * text.n_speeds + 1
        self._loops = SweptFunction(text.sweeps, text.table, inputs, text.n_speeds)
        self._loads = None if text.loads is None else function_of(text.loads, "native")
        self.n_outputs = text.n_speeds + 1
        self.sizes = inputs - (text.n_speeds if text.task == "gravity" else 0), 0

    @cached_property
    def native(self) -> Native | None:  # type: ignore[override]
        """One state in machine code from end to end."""
        from dalembert.codegen.llvm.checked_sweeps import Watch, watched_loops

        loops, loads = self._loops.native, None if self._loads is None else self._loads.native
        if loops is None:
            return None
        resting = self._task == "gravity"
        way = (
            "resting" if resting else "plain" if loads is None else "inverse" if self._task == "inverse" else "forward"
        )
        front = self._n + (0 if resting else self._speeds)
        parts = [i for parts in self._attitudes for i in parts]
        watch = Watch(way, self.sizes[0], front, self._speeds, parts, TINY, 2 * TOLERANCE)
        return watched_loops(watch, loops, loads)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        found = self._found(inputs, threads)
        return np.concatenate([found, [self._alarm([inputs], found)]])

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Write a batch; the alarm is the last of the outputs."""
        result, alarm = outputs
        if self._loads is None and self._task != "gravity":
            self._loops.spread(inputs, [result], threads)
            alarm[0] = self._alarm(inputs, result)
            return
        rows = np.concatenate(inputs)
        result[...] = self._found(rows, threads)
        alarm[0] = self._alarm([rows], result)

    def _found(self, inputs: np.ndarray, threads: int) -> np.ndarray:
        """What the loops give, with loads."""
        n, speeds, none = self._n, self._speeds, np.zeros(0)
        if self._task == "gravity":
            still = np.zeros((speeds, *inputs.shape[1:]))
            return self._loops(np.concatenate([inputs[:n], still, inputs[n:]]), none, threads)  # at s = 0
        if self._loads is None:
            return self._loops(inputs, none, threads)
        with np.errstate(all="ignore"):  # what is not finite raises the alarm
            loads = self._loads(np.concatenate([inputs[: n + speeds], inputs[-1:]]), none, threads)[:-1]
            if self._task == "inverse":
                return self._loops(inputs, none, threads) - loads
            pushed = inputs[n + speeds : -1] + loads
        return self._loops(np.concatenate([inputs[: n + speeds], pushed, inputs[-1:]]), none, threads)

    def _alarm(self, inputs: Sequence[np.ndarray], found: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            worst = found.sum(axis=0)
            for rows in inputs:
                worst = worst + rows.sum(axis=0)
            worst = worst * TINY
            for parts in self._attitudes:
                excess = ((inputs[0][list(parts)] ** 2).sum(axis=0) - 1) / (2 * TOLERANCE)
                worst = worst + excess * excess
        return worst
