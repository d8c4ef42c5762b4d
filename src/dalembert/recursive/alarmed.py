"""The rolled recursion as the handles call it: with the loads of the model, and with an alarm behind its results."""

from __future__ import annotations

import numpy as np

from dalembert.programs import Function, function_of
from dalembert.recursive.plan import Plan
from dalembert.recursive.rolled import rolled_function
from dalembert.recursive.state import TOLERANCE
from dalembert.recursive.traced import TINY, traced

ROLLED = ("inverse", "forward", "bias", "gravity")  # the tasks that have loops


class Alarmed(Function):
    """A task of `ROLLED` as a function of the rows that `traced` takes; its last output is an alarm as there.

    The alarm tells numbers that are not finite and quaternions that are not of norm 1. The loops keep their pivots to themselves:
    a pivot of 0 shows as an acceleration that is not finite, a pivot that only rounding keeps from 0 does not show.
    """

    def __init__(self, plan: Plan, task: str, *, friction: bool) -> None:
        self._task, self._tree = task, plan.tree
        self._loops = rolled_function(plan, "bias" if task == "gravity" else task)
        acting = (plan.model if friction else plan.frictionless).loads
        pushed = acting and task in ("inverse", "forward")
        self._loads = function_of(traced(plan, "loads", friction=friction), "native") if pushed else None
        self.n_outputs = plan.tree.n_speeds + 1
        self.sizes = self._loops.sizes[0] - (plan.tree.n_speeds if task == "gravity" else 0), 0

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        n, speeds, given = self._tree.n, self._tree.n_speeds, inputs
        if self._task == "gravity":
            given = np.concatenate([inputs[:n], np.zeros((speeds, *inputs.shape[1:])), inputs[n:]])  # at s = 0
        with np.errstate(all="ignore"):  # what is not finite raises the alarm
            loads = self._pushes(inputs, threads)
            if self._task == "forward":
                given = np.concatenate([inputs[: n + speeds], inputs[n + speeds : -1] + loads, inputs[-1:]])
            found = self._loops(given, parameters, threads)
            if self._task == "inverse":
                found = found - loads
            return np.concatenate([found, [self._alarm(inputs, found)]])

    def _pushes(self, inputs: np.ndarray, threads: int) -> np.ndarray | float:
        """The loads along the speeds."""
        if self._loads is None:
            return 0.0
        state = np.concatenate([inputs[: self._tree.n + self._tree.n_speeds], inputs[-1:]])
        return self._loads(state, np.zeros(0), threads)[:-1]

    def _alarm(self, inputs: np.ndarray, found: np.ndarray) -> np.ndarray:
        worst = (inputs.sum(axis=0) + found.sum(axis=0)) * TINY
        for attitude in self._tree.attitudes:
            excess = ((inputs[list(attitude.parts)] ** 2).sum(axis=0) - 1) / (2 * TOLERANCE)
            worst = worst + excess * excess
        return worst
