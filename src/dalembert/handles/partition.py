"""Speeds that are chosen again on the way: a run in parts, each with the speeds that serve there.

A velocity that is independent at the start of a closed mechanism can vanish later, as a rocker's does where it turns back.
Formalisms in speeds then go on with others. Every choice is derived and compiled once, however often it comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SimulationError
from dalembert.integrators import Solution
from dalembert.kinematics.structure import best_speeds, independence, speed_rows

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

_WORN = 0.2  # speeds have served when they determine the velocities five times worse than where they were chosen
_MOST = 2000


@dataclass(frozen=True)
class Part:
    """A stretch of a run with one choice of speeds."""

    equations: Equations
    solution: Solution
    constants: np.ndarray


class Partition:
    """The parts of a run so far, and the equations it goes on with."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.parts: list[Part] = []
        self._known: dict[tuple[str, ...], Equations] = {self._key(equations.workspace.structure.speeds): equations}
        self._fresh: float | None = None
        self._rows = equations.workspace.manifold.rows

    @property
    def choosable(self) -> bool:
        """True when the formalism works in speeds and constraints on positions can wear them out."""
        speeds = self.equations.about.velocities in ("u", "u_NI", "s") or self.equations.formalism == "maggi"
        return speeds and bool(self.equations.workspace.manifold.holonomic) and self.equations.model.energies is None

    @property
    def notes(self) -> tuple[str, ...]:
        """How often the speeds were chosen again."""
        times = len(self.parts) - 1
        if times < 1:
            return ()
        return (f"the speeds were chosen again {times} times on the way, among {len(self._known)} choices",)

    def keep(self, solution: Solution, constants: np.ndarray) -> None:
        """Remember a stretch."""
        self.parts.append(Part(self.equations, solution, constants))

    def worn(self, t: float, y: np.ndarray) -> bool:
        """True when the present speeds have become poor."""
        now = self._measure(t, y[: len(self.equations.model.coordinate_names)])
        if self._fresh is None:
            self._fresh = now
        return now < _WORN * self._fresh

    def state(self, t: float, y: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """q, q̇ and the work done at the end of a stretch."""
        n, size = len(self.equations.model.coordinate_names), self.equations.n_states
        qd = self.equations.kernel.velocities(y[:size], t, constants)
        return y[:n].copy(), qd, float(y[-1]) if self.equations.kernel.has_work else 0.0

    def rechoose(self, t: float, q: np.ndarray) -> None:
        """Go on with the speeds that are best at this position."""
        if len(self.parts) >= _MOST:
            raise SimulationError(
                f"at t = {t:.9g} the speeds have been chosen again {_MOST} times. The mechanism stays close to a singular "
                "configuration; use a formalism in velocities such as lagrange."
            )
        speeds = best_speeds(self.equations.model, self._constraints(t, q), q, t)
        key = self._key(speeds)
        if key not in self._known:
            self._known[key] = self.equations.with_speeds(speeds)
        self.equations = self._known[key]
        self._fresh = self._measure(t, q)

    def _measure(self, t: float, q: np.ndarray) -> float:
        known = self.equations.workspace.structure
        return independence(speed_rows(self.equations.model, known.speeds, q, t), self._constraints(t, q))

    def _constraints(self, t: float, q: np.ndarray) -> np.ndarray:
        _, _, A, _ = self.equations.workspace.manifold.evaluate(q, np.zeros_like(q), t, self.equations._values)
        return A[self._rows]

    def _key(self, speeds: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(sorted(map(str, speeds)))
