"""Fixed-step integration of many states: each step, or each stage of a step, is one compiled call for all states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.api.compiled_calls import Calls
from dalembert.arguments import as_finite_array, is_integer
from dalembert.errors import InputError, SimulationError, short_repr, suggest_name
from dalembert.mechanics import newton
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.constraint_batch import require_fulfilled, rows_of
from dalembert.recursive.joint_speeds import to_rates, with_unit_quaternions
from dalembert.recursive.load_forces import Wrenches
from dalembert.recursive.plan import TreePlan, TreeState, read_array
from dalembert.recursive.traced import Detail
from dalembert.symbolic.floats import FLOATS, numbers

Method = Literal["rk4", "semi_implicit"]
METHODS: tuple[Method, ...] = ("rk4", "semi_implicit")
RK4 = ((1 / 6, 1 / 2), (1 / 3, 1 / 2), (1 / 3, 1.0), (1 / 6, 0.0))  # weights of the result and of the next stage
Forces = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class Rollout(NamedTuple):
    """Sampled states: t (samples,), q (n, samples) or (n, samples, batch), and speeds qd likewise."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray


def force_function(start: TreeState, tau: npt.ArrayLike | Forces | None) -> Forces:
    """The applied forces as a function of t, q and speeds; `tau` is constant, None or such a function."""
    n, K = start.plan.tree.n_speeds, start.K
    if callable(tau):

        def checked_forces(t: float, q: np.ndarray, s: np.ndarray) -> np.ndarray:
            found = np.ascontiguousarray(as_finite_array(tau(t, q, s), f"tau at t = {t:.6g}"))
            if found.shape != (n, K):
                raise InputError(f"tau returned shape {found.shape} at t = {t:.6g}. Expected ({n}, {K}).")
            return found

        return checked_forces
    batch = () if start.single else (K,)
    constant = np.zeros((n, K)) if tau is None else read_array(start.plan, "tau", tau, batch, speeds_only=True)
    return lambda t, q, s: constant


@dataclass(frozen=True)
class RolloutStepper:
    """Integration of K states of one model without constraints."""

    calls: Calls
    forces: Forces
    dt: float
    friction: bool
    threads: int
    wrenches: Wrenches | None = None  # constant, (6 × bodies, K)

    @property
    def plan(self) -> TreePlan:
        """The kinematic tree and its data."""
        return self.calls.plan

    def rollout(self, start: TreeState, t: float, steps: int, every: int, method: Method) -> Rollout:
        """Integrate; the result contains the initial states and those after each `every` steps."""
        if method not in METHODS:
            raise InputError(f"rollout: unknown method '{method}'. {suggest_name(str(method), METHODS)}")
        for name, count in (("steps", steps), ("every", every)):
            if not is_integer(count) or count < 1:
                raise InputError(f"rollout, {name}: got {short_repr(count)}. Expected an int >= 1.")
        self.require_start(start, t)
        x, n = np.concatenate([start.q, start.s]), self.plan.tree.n
        samples = [x, *(y for k, y in enumerate(self._states(x, t, steps, method), 1) if k % every == 0)]
        states = np.stack(samples, axis=1)
        times = t + self.dt * every * np.arange(len(samples))
        return Rollout(times, start.shaped(states[:n]), start.shaped(states[n:]))

    def require_start(self, start: TreeState, t: float) -> None:
        """Raise if initial states violate the constraints."""
        if self.plan.constrained:
            q = with_unit_quaternions(self.plan.tree, start.q)
            rows = rows_of(self.plan, start.q, start.qd, start.s, start.t)
            require_fulfilled(start, rows, self.accelerations(q, start.s, t))

    def accelerations(self, q: np.ndarray, s: np.ndarray, t: float) -> np.ndarray:
        """ṡ under the forces."""
        tau = self.forces(t, q, s)
        sd, valid = self._evaluated("forward", [q, s, tau], t)
        return sd if valid else self._checked(q, s, tau, t)

    def _evaluated(self, task: str, inputs: list[np.ndarray], t: float) -> tuple[np.ndarray, bool]:
        """The results of a task with the external wrenches, and whether all are valid."""
        if self.wrenches is None:
            return self.calls[task, self.friction].evaluate_batch(inputs, t, None, self.threads)
        detail = Detail(wrenches=self.wrenches.bodies, frame=self.wrenches.frame)
        call = self.calls[task, self.friction, detail]
        return call.evaluate_batch([*inputs, self.wrenches.values], t, None, self.threads)

    def _checked(self, q: np.ndarray, s: np.ndarray, tau: np.ndarray, t: float) -> np.ndarray:
        """ṡ by the checked recursion, which raises with the reason if states are invalid."""
        model, known = self.plan.tree.model, self.wrenches
        if known is None:
            return walk.forward_dynamics(model, q, s, tau, t, friction=self.friction)
        return walk.forward_dynamics(model, q, s, tau, t, friction=self.friction, fext=known.by_body, frame=known.frame)

    def _states(self, x: np.ndarray, t: float, steps: int, method: Method) -> Iterator[np.ndarray]:
        """Iterate over the states (q, s) after each step from x (n + n_speeds, K)."""
        step = self._runge_kutta if method == "rk4" else self._semi_implicit
        for k in range(steps):
            x = step(x, t + k * self.dt)
            yield x

    def _semi_implicit(self, x: np.ndarray, t: float) -> np.ndarray:
        n = self.plan.tree.n
        tau = self.forces(t, x[:n], x[n:])
        step = np.full((1, x.shape[1]), self.dt)
        found, valid = self._evaluated("semi_implicit", [x[:n], x[n:], tau, step], t)
        return found if valid else self._require_valid(found, x, tau, t)

    def _runge_kutta(self, base: np.ndarray, t: float) -> np.ndarray:
        n, size = self.plan.tree.n, len(base)
        x, total, now = base, base, t
        for weight, ahead in RK4:
            tau = self.forces(now, x[:n], x[n:])
            weights = np.repeat([[weight * self.dt], [ahead * self.dt]], x.shape[1], axis=1)
            found, valid = self._evaluated("stage", [x[:n], x[n:], tau, base, total, weights], now)
            if not valid:
                self._require_valid(found, x, tau, now)
            x, total, now = found[:size], found[size:], t + ahead * self.dt
        return with_unit_quaternions(self.plan.tree, total)

    def _require_valid(self, found: np.ndarray, x: np.ndarray, tau: np.ndarray, t: float) -> np.ndarray:
        """Recompute flagged states with the checked recursion, which raises with the reason if they are invalid."""
        n = self.plan.tree.n
        self._checked(x[:n], x[n:], tau, t)
        return found


@dataclass(frozen=True)
class ConstraintRows:
    """The constraints of many states: φ, the velocity level and A."""

    plan: TreePlan
    function: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of rows q, s, t

    def at(self, q: np.ndarray, s: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φ (K, h), the velocity level (K, r) and A (K, r, n) at q and s (·, K), without servo constraints."""
        r, n = len(self.plan.sizes), self.plan.tree.n_speeds
        found = self.function(np.concatenate([q, s, np.full((1, q.shape[1]), t)]), np.zeros(0))[:-1]
        h, enforced = len(found) - r * (n + 2), self.initially_enforced
        A = np.moveaxis(found[: r * n].reshape(r, n, -1), -1, 0)[:, enforced]
        return found[r * (n + 2) :][enforced[:h]].T, found[r * (n + 1) : r * (n + 2)][enforced].T, A

    @property
    def initially_enforced(self) -> np.ndarray:
        """Mask of the rows that must be satisfied initially, all except servo constraints."""
        return ~np.array(self.plan.levels.servo, dtype=bool)


@dataclass(frozen=True)
class ConstrainedStepper(RolloutStepper):
    """Integration of states of a model with constraints."""

    def _slopes(self, x: np.ndarray, t: float) -> np.ndarray:
        """(q̇, ṡ) of states (q, s)."""
        tree = self.plan.tree
        q, s = with_unit_quaternions(tree, x)[: tree.n], x[tree.n :]
        return np.concatenate([self._rates(q, s), self.accelerations(q, s, t)])

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
        """Project states (q, s) onto the constraints with the smallest changes along the speeds."""
        plan, rows = self.plan, ConstraintRows(self.plan, self.calls["rows", False].function)
        n, sizes, unit = plan.tree.n, plan.sizes[rows.initially_enforced], plan.units
        x = with_unit_quaternions(plan.tree, x)
        q, s = x[:n], x[n:]

        def shifted(change: np.ndarray, which: np.ndarray) -> np.ndarray:
            return with_unit_quaternions(plan.tree, q[:, which] + self._rates(q[:, which], change.T))

        def positions(change: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            phi, _, A = rows.at(shifted(change, which), s[:, which], t)
            return phi, A[:, : phi.shape[1]]

        n_positions = sum(rows.initially_enforced[: plan.levels.n_holonomic])
        moved = newton.project(positions, np.zeros_like(s.T), unit, sizes[:n_positions])
        at = shifted(moved.x, np.arange(s.shape[1]))

        def velocities(speeds: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return rows.at(at[:, which], speeds.T, t)[1:]

        projected = newton.project(velocities, s.T, unit / plan.scales.time, sizes / plan.scales.time)
        if not (good := moved.converged & projected.converged).all():
            raise SimulationError(
                f"rollout of '{plan.tree.model.name}': state {int(np.argmin(good))} of the batch cannot be projected onto the "
                f"constraints at t = {t:.6g}. Expected a nearby state that satisfies them. Reduce dt, or check whether the "
                "motion reaches a singular configuration."
            )
        return np.concatenate([at, projected.x.T])
