"""Choices that are made again on the way: a run in parts, each with the speeds and constraints that serve there.

A velocity that is independent at the start of a closed mechanism can vanish later, as a rocker's does where it turns back; and of
redundant constraints those that were independent can become dependent. The run then goes on with others. Every choice
is derived and compiled once, however often it comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SimulationError
from dalembert.integrators import Solution
from dalembert.structure.facts import best_rows, best_speeds, independence, speed_rows

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

_WORN = 0.2  # a choice has served when it determines the motion five times worse than where it was made
_BETTER = 2.5  # and another is this much better
_POOR = 1e-3
_MOST = 2000
Choice = tuple[tuple[str, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Part:
    """A stretch of a run with one choice."""

    equations: Equations
    solution: Solution
    constants: np.ndarray


class Partition:
    """The parts of a run so far, and the equations it goes on with."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.parts: list[Part] = []
        known = equations.workspace.facts
        self._known: dict[Choice, Equations] = {_key(known.speeds, known.rows): equations}
        self._fresh: tuple[float, float] | None = None
        self._usual = 0.0
        self._again = 0  # how often the choice was made again
        self._in_speeds = equations.about.velocities in ("u", "u_NI", "s") or equations.formalism == "maggi"

    @property
    def choosable(self) -> bool:
        """True when positions are held and the formalism works in speeds or drops redundant constraints."""
        space = self.equations.workspace
        held = bool(space.manifold.holonomic) and self.equations.model.energies is None
        return held and (self._in_speeds or self._drops)

    @property
    def _drops(self) -> bool:
        about = self.equations.about
        return bool(self.equations.workspace.facts.dropped) and about.redundant == "drops"

    @property
    def notes(self) -> tuple[str, ...]:
        """How often the choice was made again."""
        times = self._again
        if not times:
            return ()
        what = "speeds" if self._in_speeds else "independent constraints"
        often = "once" if times == 1 else f"{times} times"
        return (f"the {what} were chosen again {often} on the way, among {len(self._known)} choices",)

    def keep(self, solution: Solution, constants: np.ndarray) -> None:
        """Remember a stretch."""
        self.parts.append(Part(self.equations, solution, constants))

    def begin(self, t: float, q: np.ndarray) -> None:
        """Look at the start: a choice that is poor there, such as a user's speed that vanishes, is made again at once."""
        if not self.choosable or (now := min(self._measures(t, q))) >= _POOR:
            return
        if min(self._measures(t, q, *self._best(t, q))) > _BETTER * now:
            self.rechoose(t, q)

    def worn(self, t: float, y: np.ndarray) -> bool:
        """True when the present choice has become poor."""
        now = self._measures(t, y[: len(self.equations.model.coordinate_names)])
        if self._fresh is None:
            self._fresh = now
            self._usual = self._held(t, y[: len(self.equations.model.coordinate_names)])
        if not any(a < _WORN * b for a, b in zip(now, self._fresh, strict=True)):
            return False
        # where the mechanism itself is singular no choice is better, and the run goes on with what it has
        q = y[: len(self.equations.model.coordinate_names)]
        if self._held(t, q) < _WORN * self._usual:
            return False
        return min(self._measures(t, q, *self._best(t, q))) > _BETTER * min(now)

    def state(self, t: float, y: np.ndarray, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """q, q̇ and the work done at the end of a stretch."""
        n, size = len(self.equations.model.coordinate_names), self.equations.n_states
        qd = self.equations.kernel.velocities(y[:size], t, constants)
        return y[:n].copy(), qd, float(y[-1]) if self.equations.kernel.has_work else 0.0

    def rechoose(self, t: float, q: np.ndarray) -> None:
        """Go on with the speeds and constraints that are best at this position."""
        self._again += 1
        if self._again > _MOST:
            raise SimulationError(
                f"at t = {t:.9g} speeds or constraints have been chosen again {_MOST} times. The mechanism stays close to a "
                "singular configuration. Derive with mode='assembled' and a formalism in velocities, such as lagrange."
            )
        speeds, rows = self._best(t, q)
        key = _key(speeds, rows)
        if key not in self._known:
            self._known[key] = self.equations.with_choice(speeds, rows)
        self.equations = self._known[key]
        self._fresh = self._measures(t, q)
        self._usual = self._held(t, q)

    def _held(self, t: float, q: np.ndarray) -> float:
        """How independent the constraints are among themselves, whatever is chosen of them."""
        rank = len(self.equations.workspace.facts.rows)
        return float(np.linalg.svd(_unit(self._constraints(t, q)), compute_uv=False)[rank - 1]) if rank else 1.0

    def _best(self, t: float, q: np.ndarray) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The speeds and independent constraints that serve best at a position."""
        known, A = self.equations.workspace.facts, self._constraints(t, q)
        rows = best_rows(_unit(A), len(known.rows)) if self._drops else known.rows
        speeds = best_speeds(self.equations.model, A[list(rows)], q, t) if self._in_speeds else known.speeds
        return speeds, rows

    def _measures(
        self, t: float, q: np.ndarray, speeds: tuple[Any, ...] | None = None, rows: tuple[int, ...] | None = None
    ) -> tuple[float, float]:
        """How well speeds complete the constraints, and how independent the kept constraints are; by default the present."""
        known, A = self.equations.workspace.facts, self._constraints(t, q)
        chosen = A[list(known.rows if rows is None else rows)]
        first = 1.0
        if self._in_speeds:
            formulas = known.speeds if speeds is None else speeds
            first = independence(speed_rows(self.equations.model, formulas, q, t), chosen)
        if not self._drops:
            return first, 1.0
        best = np.linalg.svd(_unit(A), compute_uv=False)[len(known.rows) - 1]
        return first, float(np.linalg.svd(_unit(chosen), compute_uv=False)[-1] / max(best, 1e-300))

    def _constraints(self, t: float, q: np.ndarray) -> np.ndarray:
        _, _, A, _ = self.equations.workspace.manifold.evaluate(q, np.zeros_like(q), t, self.equations._values)
        return A


def _key(speeds: tuple[Any, ...], rows: tuple[int, ...]) -> Choice:
    return tuple(sorted(map(str, speeds))), rows


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit length; those that are zero stay so."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300), rows / np.maximum(size, 1e-300), 0.0)
