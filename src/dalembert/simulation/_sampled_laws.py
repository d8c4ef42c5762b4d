"""Sampled laws along a run: when each is asked, from when on its output acts, and what was given.

A law is asked at t0, t0 + period, ... in the order of time, once each, with the state that the run has settled on. What it gives
acts from the sample on, or `delay` seconds later, until the next takes its place; before the first it is zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.model.python_laws import Controller, Inputs, Remembering, State
from dalembert.simulation.integrators.base import Clock

_SAME = 1e-9  # of a period: instants as close as this are one
Place = tuple[np.ndarray, np.ndarray]  # q, q̇


class _Held:
    """One law: what it gives now, what waits to act, and when it is asked again."""

    def __init__(self, controller: Controller, rows: list[int], t0: float) -> None:
        assert controller.period is not None
        self.controller, self.rows, self.period, self._t0 = controller, rows, controller.period, t0
        self.now = np.zeros(len(rows))
        self._asked = 0
        self._waiting: list[tuple[float, np.ndarray]] = []

    @property
    def asked_at(self) -> float:
        """The next sample."""
        return self._t0 + self._asked * self.period

    @property
    def next(self) -> float:
        """When something happens to it."""
        return min(self.asked_at, self._waiting[0][0]) if self._waiting else self.asked_at

    def tick(self, t: float, state: Callable[[], State]) -> None:
        """Ask, and let act, what is due."""
        due = t + _SAME * self.period
        if self.asked_at <= due:
            given = self.controller.at(t, state())
            self._waiting.append((self.asked_at + self.controller.delay, given.copy()))
            self._asked += 1
        while self._waiting and self._waiting[0][0] <= due:
            self.now = self._waiting.pop(0)[1]


class Sampling(Clock):
    """All sampled laws of a run, whatever stretches it has."""

    def __init__(self, inputs: Inputs, t0: float, q: np.ndarray, qd: np.ndarray) -> None:
        self._inputs = inputs
        self._laws = [_Held(controller, rows, t0) for controller, rows in inputs.sampled]
        self._rows = [row for law in self._laws for row in law.rows]
        self._times: list[float] = []
        self._given: list[np.ndarray] = []
        self._constants = np.zeros(0)
        self._place: Callable[[float, np.ndarray], Place] | None = None
        for law in self._laws:
            if isinstance(law.controller.law, Remembering):
                law.controller.law.reset(t0, State(inputs.places, q, qd))

    def use(self, constants: np.ndarray, place: Callable[[float, np.ndarray], Place]) -> None:
        """Go on with these constants, which are written from now on; `place` gives q and q̇ of a state."""
        self._constants, self._place = constants, place
        self._write()

    def _write(self) -> None:
        for law in self._laws:
            self._constants[law.rows] = law.now

    @property
    def next(self) -> float:
        """The next instant at which a law is asked or its output acts."""
        return min(law.next for law in self._laws)

    def tick(self, t: float, y: np.ndarray) -> None:
        """Ask the laws that are due at a settled state, and write what acts now."""
        place, known = self._place, list[State]()
        assert place is not None

        def state() -> State:
            if not known:
                known.append(State(self._inputs.places, *place(t, y)))
            return known[0]

        for law in self._laws:
            law.tick(t, state)
        self._write()
        self._times.append(t)
        self._given.append(self._constants[self._rows])

    def along(self, t: np.ndarray) -> tuple[list[int], np.ndarray]:
        """The places of the inputs among the constants, and what acted at many times; at an instant what acts from it on."""
        same = _SAME * min(law.period for law in self._laws)
        k = np.searchsorted(np.array(self._times) - same, t, side="right") - 1
        given = np.array(self._given).reshape(-1, len(self._rows))
        return self._rows, np.where(k < 0, 0.0, given[np.maximum(k, 0)].T) if len(given) else np.zeros(
            (len(self._rows), len(t))
        )
