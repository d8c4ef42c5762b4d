"""A run across switchings and events: what is held between them, and what happens at each.

The equations of a run hold every condition (see `model/switches`), so that they are smooth between two crossings. At a crossing
the condition is turned over, or a table goes on with its next line, and the run goes on from the same state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import vector
from dalembert.errors import SimulationError
from dalembert.integrators.base import Halt
from dalembert.integrators.crossings import Crossings, Watched
from dalembert.integrators.mechanics import Mechanics
from dalembert.model.switches import held

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

_SAME = 1e-13  # of the time: crossings as close as this are at one instant


class Switchboard:
    """What holds the equations of a run, and the surfaces at which it changes."""

    def __init__(self, equations: Equations) -> None:
        derivation = equations.derivation
        self._held = held(derivation.setup.declared)
        setup = replace(derivation.setup, declared=self._held.description)
        self._equations = replace(equations, derivation=replace(derivation, setup=setup, known=equations.workspace.facts))
        space = self._equations.workspace
        lower = space.system.motion.lower
        surfaces = vector([lower(formula) for formula in self._held.formulas])
        self._surfaces = space.compiled(surfaces, space.system.q, space.system.qd)
        self._modes = np.zeros(len(self._held.switches))
        self._lines = np.zeros(len(self._held.tables), dtype=np.intp)
        self._fresh: int | None = None  # what was crossed at the start of the present stretch
        self._turned: dict[int, float] = {}  # when each switch was last turned over
        self._watched: list[Watched] = []

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> Equations:
        """The equations that hold at the start of a run."""
        g = self._at(t, q, qd)
        count = len(self._modes)
        self._modes = (g[:count] > 0).astype(float)
        self._lines = np.array(
            [np.searchsorted(one.table.times, x, side="right") for one, x in zip(self._held.tables, g[count:], strict=True)],
            dtype=np.intp,
        )
        return self._now(self._equations)

    def _at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self._surfaces(np.concatenate([q, qd, [t]]), self._equations.values)

    def _now(self, equations: Equations) -> Equations:
        """The equations with what holds now."""
        held = {one.parameter: float(mode) for one, mode in zip(self._held.switches, self._modes, strict=True)}
        for one, k in zip(self._held.tables, self._lines, strict=True):
            held |= dict(zip(one.parameters, one.line(int(k)), strict=True))
        return replace(equations, changes=equations.changes | held)

    def guide(self, mechanics: Mechanics) -> Crossings:
        """What looks for the next crossing."""
        n, values = mechanics.positions, mechanics.values

        def surfaces(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            return self._surfaces(np.concatenate([y[:n], mechanics.velocities(t, y), t[None]]), values)

        watched = [Watched(i, 1.0 if mode > 0 else -1.0) for i, mode in enumerate(self._modes)]
        for i, (one, k) in enumerate(zip(self._held.tables, self._lines, strict=True), start=len(self._modes)):
            low, high = one.ends(int(k))
            watched += [Watched(i, 1.0, low), Watched(i, -1.0, high)]
        if self._fresh is not None:
            watched[self._fresh] = replace(watched[self._fresh], fresh=True)
        self._watched = watched
        return Crossings(surfaces, watched)

    def cross(self, halt: Halt, equations: Equations) -> Equations:
        """The equations behind a crossing."""
        row, count = self._watched[halt.which].row, len(self._modes)
        self._fresh = halt.which
        if row < count:
            self._turn(row, halt.t)
        else:
            up = self._watched[halt.which].sign < 0
            self._lines[row - count] += 1 if up else -1
            self._fresh += -1 if up else 1  # the other end of the next line is where the run is
        return self._now(equations)

    def _turn(self, k: int, t: float) -> None:
        last = self._turned.get(k, -np.inf)
        if abs(t - last) <= _SAME * max(1.0, abs(t)):
            raise SimulationError(
                f"at t = {t:.9g} the motion cannot leave {self._held.switches[k].title}: the forces on both sides push it there."
            )
        self._turned[k] = t
        self._modes[k] = 1.0 - self._modes[k]
