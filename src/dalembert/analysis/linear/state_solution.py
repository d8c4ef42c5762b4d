"""Accelerations and multipliers at a state, from the slopes of the residuals, with redundant constraints as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.analysis.linear.residuals import Partials, Point, Residuals
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.mechanics import rank
from dalembert.mechanics.facts import Facts


@dataclass(frozen=True)
class Solved:
    """A state with its accelerations, and the slopes of the residuals there by rows: dynamics, acceleration and so on."""

    point: Point
    by_row: dict[str, Partials]
    facts: Facts

    @property
    def M(self) -> np.ndarray:
        """The mass matrix."""
        return self.by_row["dynamics"].qdd

    @property
    def A(self) -> np.ndarray:
        """A of A q̈ = β, all rows."""
        return self.by_row["acceleration"].qdd

    @cached_property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """A⁺, and N, a basis of the velocities that the constraints leave free."""
        return rank.split(self.A, self.facts.scales.positions, len(self.facts.rows))

    def answer(self, force: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The q̈ of M q̈ = force + Aᵀλ, A q̈ = beta, column by column."""
        pseudo, N = self.split
        first = pseudo @ beta
        return first + N @ np.linalg.solve(N.T @ self.M @ N, N.T @ (force - self.M @ first))

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """The smallest λ of Aᵀλ = force, column by column."""
        scale, most = self.facts.scales.positions, len(self.facts.rows)
        columns = force.reshape(len(force), -1).T
        out = [rank.smallest_multipliers(self.A, column, scale, most) for column in columns]
        return np.array(out).T.reshape(len(self.A), *force.shape[1:])


def solved_at(
    residuals: Residuals,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    parameters: np.ndarray,
    held: np.ndarray | None = None,
) -> Solved:
    """The accelerations at a state and the slopes there; `held` are generalized forces that act besides."""
    system, places = residuals.system, residuals.places
    n, k = len(q), len(system.facts.levels.names)
    point = Point(q, qd, np.zeros(n), np.zeros(k), t, parameters)
    rest = residuals.at(point)
    bare = _by_row(residuals, point, system.facts)
    _require_regular(system.model.name, bare)
    force = -rest[places["dynamics"]] + (0.0 if held is None else held)
    qdd = bare.answer(force, -rest[places["acceleration"]])
    lam = bare.multipliers(bare.M @ qdd - force) if k else np.zeros(0)
    return _by_row(residuals, replace(point, qdd=qdd, lam=lam), system.facts)


def require_on_constraints(residuals: Residuals, point: Point, who: str) -> None:
    """Raise where a state does not fulfil the constraints."""
    facts, found = residuals.system.facts, residuals.at(point)
    sizes, scales = np.array(facts.sizes), facts.scales
    levels = (("position", sizes[: facts.levels.held]), ("velocity", sizes / scales.time))
    for level, size in levels:
        off = np.abs(found[residuals.places[level]]) / size
        if off.size and off.max() > _OFF:
            i = int(np.argmax(off))
            raise InconsistentStateError(
                f"{who}: at the given state '{facts.levels.names[i]}' is off by {found[residuals.places[level]][i]:.6g} on "
                f"{level} level. Expected a state that fulfils the constraints. dl.assemble(model, q, qd) gives one."
            )


_OFF = 1e-8  # of the size of a constraint


def _by_row(residuals: Residuals, point: Point, facts: Facts) -> Solved:
    slopes = residuals.slopes(point)
    return Solved(point, {name: slopes.rows(where) for name, where in residuals.places.items()}, facts)


def _require_regular(name: str, found: Solved) -> None:
    count, unit = len(found.facts.rows), found.facts.scales.positions
    N = found.split[1]
    if (count and int(rank.numeric_rank(found.A, unit)) < count) or not rank.definite(N.T @ found.M @ N):
        raise SingularError(
            f"model '{name}': the position is singular: constraints that are independent elsewhere are not so there, or the "
            "masses are not positive definite. Expected a regular position. Take one beside it."
        )
