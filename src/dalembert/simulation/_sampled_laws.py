"""Sampled control laws along a run: sample times, delays and recorded outputs.

A law is evaluated at t0, t0 + period, ... in order, once each, at the accepted state of the run. Its output acts from the sample
time, or `delay` seconds later, until the next output replaces it (zero-order hold); before the first it is zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.model.python_laws import Controller, Inputs, State, StatefulLaw
from dalembert.simulation.integrators.base import Clock

_SAME = 1e-9  # of a period: closer instants are the same
Motion = tuple[np.ndarray, np.ndarray]  # q, q̇


class _Law:
    """One law: its present output, its delayed outputs, and its next sample time."""

    def __init__(self, controller: Controller, rows: list[int], t0: float) -> None:
        assert controller.period is not None
        self.controller, self.rows, self.period, self._t0 = controller, rows, controller.period, t0
        self.now = np.zeros(len(rows))
        self._count = 0
        self._waiting: list[tuple[float, np.ndarray]] = []

    @property
    def sampled_at(self) -> float:
        """The next sample time."""
        return self._t0 + self._count * self.period

    @property
    def next(self) -> float:
        """The next time at which it is evaluated or its output changes."""
        return min(self.sampled_at, self._waiting[0][0]) if self._waiting else self.sampled_at

    def tick(self, t: float, state: Callable[[], State]) -> None:
        """Evaluate the law and apply delayed outputs that are due."""
        due = t + _SAME * self.period
        if self.sampled_at <= due:
            output = self.controller.at(t, state())
            self._waiting.append((self.sampled_at + self.controller.delay, output.copy()))
            self._count += 1
        while self._waiting and self._waiting[0][0] <= due:
            self.now = self._waiting.pop(0)[1]


class Sampling(Clock):
    """All sampled laws of a run, across its segments."""

    def __init__(self, inputs: Inputs, t0: float, q: np.ndarray, qd: np.ndarray) -> None:
        self._inputs = inputs
        self._laws = [_Law(controller, rows, t0) for controller, rows in inputs.sampled]
        self._rows = [row for law in self._laws for row in law.rows]
        self._times: list[float] = []
        self._outputs: list[np.ndarray] = []
        self._constants = np.zeros(0)
        self._motion: Callable[[float, np.ndarray], Motion] | None = None
        for law in self._laws:
            if isinstance(law.controller.law, StatefulLaw):
                law.controller.law.reset(t0, State(inputs.indices, q, qd))

    def use(self, constants: np.ndarray, motion: Callable[[float, np.ndarray], Motion]) -> None:
        """Write outputs into these constants from now on; `motion` returns q and q̇ of a state."""
        self._constants, self._motion = constants, motion
        self._write()

    def _write(self) -> None:
        for law in self._laws:
            self._constants[law.rows] = law.now

    @property
    def next(self) -> float:
        """The next instant at which a law is evaluated or its output changes."""
        return min(law.next for law in self._laws)

    def tick(self, t: float, y: np.ndarray) -> None:
        """Evaluate the laws that are due at an accepted state, and write the present outputs."""
        motion, known = self._motion, list[State]()
        assert motion is not None

        def state() -> State:
            if not known:
                known.append(State(self._inputs.indices, *motion(t, y)))
            return known[0]

        for law in self._laws:
            law.tick(t, state)
        self._write()
        self._times.append(t)
        self._outputs.append(self._constants[self._rows])

    def along(self, t: np.ndarray) -> tuple[list[int], np.ndarray]:
        """The rows of the inputs among the constants, and their values at many times; at a switching instant the new values."""
        same = _SAME * min(law.period for law in self._laws)
        k = np.searchsorted(np.array(self._times) - same, t, side="right") - 1
        output = np.array(self._outputs).reshape(-1, len(self._rows))
        return self._rows, np.where(k < 0, 0.0, output[np.maximum(k, 0)].T) if len(output) else np.zeros(
            (len(self._rows), len(t))
        )
