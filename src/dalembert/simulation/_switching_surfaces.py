"""The surfaces at which a run changes its mode, as compiled functions: switches, lines of tables, and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.codegen.function import Function
from dalembert.mechanics.system import System
from dalembert.model.discontinuities import Held, kinematic_names
from dalembert.model.elements import Event
from dalembert.simulation._crossings import perturbed_states
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Scalar, vector

SAME_INSTANT = 1e-13  # of the time, or of the time of the model: crossings as close as this are at one instant
_LATER = 4 * SAME_INSTANT  # how much later surfaces of time alone are evaluated, to know the side behind an instant
_ZERO = 1e-15  # of a state and its scale: what this changes a surface by is zero


@dataclass
class SwitchingSurfaces:
    """The functions g(q, q̇, t) of a model whose zeros change the mode of a run."""

    space: Workspace  # in the coordinates in use: other angles may take the place of the user's
    held: Held
    events: Sequence[Event]
    duration: float
    _functions: dict[tuple[str, Workspace], Function] = field(default_factory=dict[tuple[str, Workspace], Function])

    def _compiled(self, formulas: Callable[[System], list[Scalar]]) -> Function:
        """Formulas as a function of (q, q̇, t) in the coordinates in use, compiled once."""
        key, space = (formulas.__name__, self.space), self.space
        if key not in self._functions:
            self._functions[key] = space.compiled(vector(formulas(space.system)), space.system.q, space.system.qd)
        return self._functions[key]

    def at(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """g of switches, arguments of tables, and the formulas of events, at (q, q̇, t)."""
        return self._compiled(self._surface_formulas)(states, values)

    def _surface_formulas(self, system: System) -> list[Scalar]:
        motion = system.motion
        return [one.at(motion) for one in self.held.surfaces] + [motion.lower(event.when) for event in self.events]

    def changes(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values that events set parameters and rates to, one after the other, at (q, q̇, t)."""
        return self._compiled(self._change_formulas)(state, values)

    def _change_formulas(self, system: System) -> list[Scalar]:
        formulas = [f for event in self.events for f in (*event.set.values(), *event.reset.values())]
        return [system.motion.lower(formula) for formula in formulas]

    def grips(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The least and the greatest mixture of each switch at which it sticks, one after the other."""
        return self._compiled(self._grip_formulas)(state, values)

    def _grip_formulas(self, system: System) -> list[Scalar]:
        sides = [one.grip or (se.Integer(0), se.Integer(1)) for one in self.held.switches]
        return [system.motion.lower(side) for both in sides for side in both]

    @cached_property
    def kinematic(self) -> frozenset[str]:
        """The parameters that joints, constraints and energies name."""
        return kinematic_names(self.held.description)

    @cached_property
    def timed(self) -> np.ndarray:
        """Which surfaces belong to prescribed motions and depend on time alone."""
        return np.array([one.kinematic and one.timed for one in self.held.surfaces], dtype=bool)

    def instant(self, t: float) -> float:
        """The scale of small differences of time."""
        return self.space.facts.scales.instant(t, self.duration)

    def noise(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """How much rounding changes each surface: of the state, of the scales of the model, and of the time."""
        scales, state, instant = self.space.facts.scales, np.concatenate([q, qd]), self.instant(t)
        moved = np.concatenate([np.abs(qd) * instant, scales.velocities * (instant / scales.time)])
        size = np.abs(state) + np.concatenate([scales.positions, scales.velocities]) + moved
        here, off = (np.array([t]), state[:, None]), (np.array([_ZERO * instant]), _ZERO * size[:, None])
        times, states, _ = perturbed_states(*here, *off)
        g = self.at(np.concatenate([states, times[None]]), values)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.abs(g - g[:, :1]).max(axis=1), nan=0.0, posinf=0.0)

    def just_after(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The functions of all surfaces, those of prescribed motions in time alone a little later."""
        now, later = (np.concatenate([q, qd, [x]]) for x in (t, t + _LATER * self.instant(t)))
        g = self.at(now, values)
        if (rows := self.timed).any():
            g[: len(rows)] = np.where(rows, self.at(later, values)[: len(rows)], g[: len(rows)])
        return g

    def just_passed(self, g: np.ndarray, after: np.ndarray) -> set[tuple[int, float]]:
        """The rows and offsets of the surfaces of time alone that lie at t, where only a later return counts."""
        count, out = len(self.held.switches), set[tuple[int, float]]()
        for i in np.flatnonzero(self.timed).tolist():
            near = 4 * abs(float(after[i] - g[i]))
            if i < count:
                out |= {(i, 0.0)} if abs(g[i]) <= near else set()
            else:
                times = self.held.tables[i - count].table.times
                out |= {(i, float(x)) for x in times[np.abs(times - g[i]) <= near]}
        return out
