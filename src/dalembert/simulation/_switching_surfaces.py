"""The switching surfaces of a run as compiled functions: switches, table segments, and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.codegen.function import CompiledFunction
from dalembert.mechanics.system import System
from dalembert.model.discontinuities import FrozenModel, kinematic_names
from dalembert.model.elements import Event
from dalembert.simulation._crossings import perturbed_states
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Scalar, vector

SAME_INSTANT = 1e-13  # of the time, or of the time scale of the model: closer crossings are simultaneous
_LATER = 4 * SAME_INSTANT  # the delay at which surfaces of time alone are evaluated, for the side after an instant
_ZERO = 1e-15  # of a state and its scale: a smaller change of a surface is zero


@dataclass
class SwitchingSurfaces:
    """The functions g(q, q̇, t) of a model whose zeros change the mode of a run."""

    space: Workspace  # in the coordinates in use, which may have other angles than the user's
    conditions: FrozenModel
    events: Sequence[Event]
    duration: float
    _functions: dict[tuple[str, Workspace], CompiledFunction] = field(
        default_factory=dict[tuple[str, Workspace], CompiledFunction]
    )

    def _compiled(self, formulas: Callable[[System], list[Scalar]]) -> CompiledFunction:
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
        return [one.at(motion) for one in self.conditions.surfaces] + [
            motion.lower(event.when) for event in self.events
        ]

    def changes(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values to which events set parameters and rates, in order, at (q, q̇, t)."""
        return self._compiled(self._change_formulas)(state, values)

    def _change_formulas(self, system: System) -> list[Scalar]:
        formulas = [f for event in self.events for f in (*event.set.values(), *event.reset.values())]
        return [system.motion.lower(formula) for formula in formulas]

    def grips(self, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The minimum and the maximum mixture at which each switch sticks, in order."""
        return self._compiled(self._grip_formulas)(state, values)

    def _grip_formulas(self, system: System) -> list[Scalar]:
        sides = [one.grip or (se.Integer(0), se.Integer(1)) for one in self.conditions.switches]
        return [system.motion.lower(side) for both in sides for side in both]

    @cached_property
    def kinematic(self) -> frozenset[str]:
        """The parameters in joints, constraints and energies."""
        return kinematic_names(self.conditions.description)

    @cached_property
    def timed(self) -> np.ndarray:
        """True for surfaces of prescribed motions that depend on time alone."""
        return np.array([one.kinematic and one.timed for one in self.conditions.surfaces], dtype=bool)

    def instant(self, t: float) -> float:
        """The scale of small differences of time."""
        return self.space.facts.scales.instant(t, self.duration)

    def noise(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The change of each surface by rounding of the state, of the scales of the model, and of the time."""
        scales, state, instant = self.space.facts.scales, np.concatenate([q, qd]), self.instant(t)
        moved = np.concatenate([np.abs(qd) * instant, scales.velocities * (instant / scales.time)])
        size = np.abs(state) + np.concatenate([scales.positions, scales.velocities]) + moved
        here, off = (np.array([t]), state[:, None]), (np.array([_ZERO * instant]), _ZERO * size[:, None])
        times, states, _ = perturbed_states(*here, *off)
        g = self.at(np.concatenate([states, times[None]]), values)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.abs(g - g[:, :1]).max(axis=1), nan=0.0, posinf=0.0)

    def just_after(self, t: float, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The functions of all surfaces; those of prescribed motions in time alone slightly later."""
        now, later = (np.concatenate([q, qd, [x]]) for x in (t, t + _LATER * self.instant(t)))
        g = self.at(now, values)
        if (rows := self.timed).any():
            g[: len(rows)] = np.where(rows, self.at(later, values)[: len(rows)], g[: len(rows)])
        return g

    def just_passed(self, g: np.ndarray, after: np.ndarray) -> set[tuple[int, float]]:
        """The rows and offsets of surfaces of time alone that are zero at t, for which only a later return counts."""
        count, out = len(self.conditions.switches), set[tuple[int, float]]()
        for i in np.flatnonzero(self.timed).tolist():
            near = 4 * abs(float(after[i] - g[i]))
            if i < count:
                out |= {(i, 0.0)} if abs(g[i]) <= near else set()
            else:
                times = self.conditions.tables[i - count].table.times
                out |= {(i, float(x)) for x in times[np.abs(times - g[i]) <= near]}
        return out
