"""The rolled recursion as the handles call it: with the loads of the model, and with an alarm behind its results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.programs import Function, function_of
from dalembert.recursive.plan import Plan
from dalembert.recursive.rolled import rolled_function
from dalembert.recursive.state import TOLERANCE
from dalembert.recursive.traced import TINY, task_program

ROLLED = ("inverse", "forward", "bias", "gravity")  # the tasks that have loops


class Alarmed(Function):
    """A task of `ROLLED` as a function of the rows that `traced` takes; its last output is an alarm as there.

    The alarm tells numbers that are not finite and quaternions that are not of norm 1. The loops keep their pivots to themselves:
    a pivot of 0 shows as an acceleration that is not finite, a pivot that only rounding keeps from 0 does not show.
    """

    def __init__(self, plan: Plan, task: str, *, friction: bool) -> None:
        self._task, self._tree = task, plan.tree
        self._loops = rolled_function(plan, "bias" if task == "gravity" else task)
        acting = plan.model if friction else plan.frictionless
        pushed = (acting.loads or acting.non_ideal_forces) and task in ("inverse", "forward")
        self._loads = function_of(task_program(plan, "loads", friction=friction), "native") if pushed else None
        self.n_outputs = plan.tree.n_speeds + 1
        self.sizes = self._loops.sizes[0] - (plan.tree.n_speeds if task == "gravity" else 0), 0

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        found = self._found(inputs, threads)
        return np.concatenate([found, [self._alarm(inputs, found)]])

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Write a batch; the alarm is the last of the outputs."""
        rows = np.concatenate(inputs)
        found, (result, alarm) = self._found(rows, threads), outputs
        result[...] = found
        alarm[0] = self._alarm(rows, found)

    def _found(self, inputs: np.ndarray, threads: int) -> np.ndarray:
        """What the loops give, with loads."""
        n, speeds, none = self._tree.n, self._tree.n_speeds, np.zeros(0)
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

    def _alarm(self, inputs: np.ndarray, found: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            worst = (inputs.sum(axis=0) + found.sum(axis=0)) * TINY
            for attitude in self._tree.attitudes:
                excess = ((inputs[list(attitude.parts)] ** 2).sum(axis=0) - 1) / (2 * TOLERANCE)
                worst = worst + excess * excess
        return worst
