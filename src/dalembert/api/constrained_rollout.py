"""Rollouts of closed mechanisms: steps of many states at once, each brought back onto the constraints, positions first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.api.rollout import RK4, Stepper
from dalembert.errors import SimulationError
from dalembert.mechanics import newton
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.constrained_batch import require_fulfilled
from dalembert.recursive.constraint_batch import rows_of
from dalembert.recursive.joint_speeds import to_rates, with_unit_quaternions
from dalembert.recursive.plan import Plan
from dalembert.recursive.tree_state import State
from dalembert.symbolic.floats import FLOATS, numbers


@dataclass(frozen=True)
class HeldRows:
    """The constraints of many states at once: φ, the velocity level and A."""

    plan: Plan
    function: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of rows q, s, t

    def at(self, q: np.ndarray, s: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ (K, h), the velocity level (K, r) and A (K, r, n) at q and s (·, K), without servo constraints."""
        r, n = len(self.plan.sizes), self.plan.tree.n_speeds
        found = self.function(np.concatenate([q, s, np.full((1, q.shape[1]), t)]), np.zeros(0))[:-1]
        h, kept = len(found) - r * (n + 2), self.kept
        A = np.moveaxis(found[: r * n].reshape(r, n, -1), -1, 0)[:, kept]
        return found[r * (n + 2) :][kept[:h]].T, found[r * (n + 1) : r * (n + 2)][kept].T, A

    @property
    def kept(self) -> np.ndarray:
        """Which rows hold from the start."""
        return ~np.array(self.plan.levels.servo, dtype=bool)


@dataclass(frozen=True)
class HeldStepper(Stepper):
    """Steps of a model with constraints."""

    def require_start(self, start: State, t: float) -> None:
        """The states fulfil the constraints where they begin."""
        sd = self._slopes(np.concatenate([start.q, start.s]), t)[len(start.q) :]
        require_fulfilled(start, rows_of(self.plan, start.q, start.qd, start.s, start.t), sd)

    def _slopes(self, x: np.ndarray, t: float) -> np.ndarray:
        """(q̇, ṡ) of states (q, s)."""
        tree = self.plan.tree
        q, s = with_unit_quaternions(tree, x)[: tree.n], x[tree.n :]
        tau = self.forces(t, q, s)
        sd, quiet = self.calls["forward", self.friction].many([q, s, tau], t, None, self.threads)
        if not quiet:
            sd = walk.forward_dynamics(tree.model, q, s, tau, t, friction=self.friction)
        return np.concatenate([self._rates(q, s), sd])

    def _rates(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        return numbers(to_rates(self.plan.tree, FLOATS, list(q), list(s)), q.shape[1])

    def _semi_implicit(self, x: np.ndarray, t: float) -> np.ndarray:
        n = self.plan.tree.n
        s = x[n:] + self.dt * self._slopes(x, t)[n:]
        q = x[:n] + self.dt * self._rates(x[:n], s)
        return self._projected(np.concatenate([q, s]), t + self.dt)

    def _runge_kutta(self, base: np.ndarray, t: float) -> np.ndarray:
        x, total, now = base, base, t
        for weight, ahead in RK4:
            slope = self._slopes(x, now)
            x, total, now = base + ahead * self.dt * slope, total + weight * self.dt * slope, t + ahead * self.dt
        return self._projected(total, t + self.dt)

    def _projected(self, x: np.ndarray, t: float) -> np.ndarray:
        """The states (q, s) on the constraints, by changes along the speeds that are as small as can be."""
        plan, rows = self.plan, HeldRows(self.plan, self.calls["rows", False].function)
        n, sizes, unit = plan.tree.n, plan.sizes[rows.kept], plan.units
        x = with_unit_quaternions(plan.tree, x)
        q, s = x[:n], x[n:]

        def shifted(change: np.ndarray, which: np.ndarray) -> np.ndarray:
            return with_unit_quaternions(plan.tree, q[:, which] + self._rates(q[:, which], change.T))

        def positions(change: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            phi, _, A = rows.at(shifted(change, which), s[:, which], t)
            return phi, A[:, : phi.shape[1]]

        held = sum(rows.kept[: plan.levels.held])
        placed = newton.onto(positions, np.zeros_like(s.T), unit, sizes[:held])
        at = shifted(placed.x, np.arange(s.shape[1]))

        def velocities(speeds: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return rows.at(at[:, which], speeds.T, t)[1:]

        kept = newton.onto(velocities, s.T, unit / plan.scales.time, sizes / plan.scales.time)
        if not (good := placed.good & kept.good).all():
            raise SimulationError(
                f"rollout of '{plan.tree.model.name}': state {int(np.argmin(good))} of the batch cannot be brought back onto "
                f"the constraints at t = {t:.6g}. Expected a state nearby that fulfils them. Take a smaller dt, or look whether "
                "the motion reaches a singular position."
            )
        return np.concatenate([at, kept.x.T])
