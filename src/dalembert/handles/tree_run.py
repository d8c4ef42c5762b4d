"""Motions of trees of any size on the recursion: the cost of a step is linear in the number of links.

Rolled and without loads, the rates are loops over links that the compiled integrators step on; else Python stands between the
stages of a step and what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.algebra import FLOATS, numbers
from dalembert.analysis import dynamics as walk
from dalembert.analysis.observables import relative_drift
from dalembert.errors import InputError
from dalembert.handles.calls import Calls
from dalembert.handles.simulation import Task
from dalembert.integrators import InitialValueProblem, find, integrate
from dalembert.integrators.base import MachineCode
from dalembert.integrators.native_steps import Machine
from dalembert.model.methods import require_method
from dalembert.model.start import start_state
from dalembert.programs import Function, function_of
from dalembert.recursive import Plan, moving, read_state
from dalembert.recursive.energies import energies_of
from dalembert.recursive.execution import choose_execution
from dalembert.recursive.rolled import rolled_function
from dalembert.recursive.speeds import to_rates, with_unit_quaternions
from dalembert.recursive.traced import task_program

METHODS = ("dop853", "rk45", "rk4")
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class TreeRun:
    """A motion of a tree: entries on the first axis, samples on the last; velocities and accelerations are those of speeds.

    `potential` is that of gravity; `work` is what all other loads have done since the start, springs included.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    work: np.ndarray
    integrator: str
    steps: int
    status: str

    @property
    def energy(self) -> np.ndarray:
        """T + V along the run."""
        return self.kinetic + self.potential

    @property
    def balance(self) -> np.ndarray:
        """Energy less work: constant in an exact motion, unless joints are moved in time."""
        return self.energy - self.work

    @property
    def energy_error(self) -> float:
        """The 2-norm over the samples of the relative drift of the energy balance."""
        size = float(np.abs(self.kinetic).max() + np.abs(self.potential).max())
        return relative_drift(self.balance, size)

    def __repr__(self) -> str:
        return (
            f"<TreeRun of {len(self.q)} coordinates by {self.integrator}: {len(self.t)} samples from t = {self.t[0]:g} "
            f"to {self.t[-1]:g}>"
        )


@dataclass(frozen=True, eq=False)
class Rates:
    """ẏ of states y = (q, s[, work]) of a tree."""

    calls: Calls
    friction: bool

    @property
    def plan(self) -> Plan:
        """The tree."""
        return self.calls.plan

    @cached_property
    def loaded(self) -> bool:
        """True when loads besides gravity act, so that their work is a state."""
        return bool((self.plan.model if self.friction else self.plan.frictionless).loads)

    @cached_property
    def _loops(self) -> Function | None:
        """(q̇, ṡ) as loops over the links, which know of no loads."""
        calls = self.calls
        if self.loaded or choose_execution(self.plan, "forward", calls.execution, calls.engine) != "rolled":
            return None
        return rolled_function(self.plan, "rates")

    @cached_property
    def _pushes(self) -> Function:
        return function_of(task_program(self.plan, "loads", friction=self.friction), self.calls.engine)

    @property
    def machine(self) -> MachineCode | None:
        """The rates in machine code, where loops are all there is."""
        if self._loops is None or (native := self._loops.native) is None:
            return None
        size = self.plan.tree.n + self.plan.tree.n_speeds
        return MachineCode(Machine(native.address, _NONE, np.array(native.tables, dtype=float)), size, None)

    def __call__(self, t: float | np.ndarray, y: np.ndarray) -> np.ndarray:
        """ẏ at one state (states,) or many (states, K)."""
        n, m = self.plan.tree.n, self.plan.tree.n_speeds
        q, s = with_unit_quaternions(self.plan.tree, y)[:n], y[n : n + m]
        time = np.broadcast_to(np.asarray(t, dtype=float), y.shape[1:])[None]
        if self._loops is not None:
            return self._loops(np.concatenate([q, s, time]), _NONE)
        found = self.calls["forward", self.friction].function(np.concatenate([q, s, 0 * s, time]), _NONE)
        if not (np.abs(found[-1]) <= 1).all() and np.isfinite(y).all():
            walk.forward_dynamics(self.plan.tree.model, q, s, None, t, friction=self.friction)  # says what is wrong
        rates = [self._rates(q, s), found[:-1]]
        if self.loaded:
            pushes = self._pushes(np.concatenate([q, s, time]), _NONE)[:-1]
            rates.append((s * pushes).sum(axis=0)[None])
        return np.concatenate(rates)

    def _rates(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        tree = self.plan.tree
        if not tree.attitudes:
            return s
        entries = to_rates(tree, FLOATS, list(q), list(s))
        return numbers(entries, q.shape[1]) if q.ndim > 1 else numbers(entries, 1)[:, 0]

    @property
    def sizes(self) -> np.ndarray:
        """How large each state usually is."""
        tree, scales = self.plan.tree, self.plan.scales
        speeds = self.plan.units / scales.time
        for i, column in enumerate(tree.columns):
            if column is not None:
                speeds[column] = scales.qd[i]
        work = [scales.mass * (scales.length / scales.time) ** 2] if self.loaded else []
        return np.concatenate([scales.positions, speeds, work])


def run_tree(rates: Rates, task: Task) -> TreeRun:
    """The motion of a tree; see `Dynamics.simulate`."""
    plan, settings = rates.plan, task.settings
    tree, model = plan.tree, plan.tree.model.description
    name = _method(task.integrator, model.integrator)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    grid = task.grid(model)
    start = read_state(plan, *start_state(model, task.q0, task.qd0), float(grid[0]))
    names = (*model.coordinate_names, *tree.speed_names, *(["work"] if rates.loaded else []))
    problem = InitialValueProblem(
        names,
        float(grid[0]),
        np.concatenate([start.q[:, 0], start.s[:, 0], np.zeros(int(rates.loaded))]),
        rates,
        project=_projection(rates),
        smooth=model.smooth,
        positions=tree.n,
        sizes=rates.sizes,
        machine=rates.machine,
    )
    found = integrate(problem, find(name)(problem, settings, float(grid[-1])), grid, settings)
    n, last = tree.n, tree.n + tree.n_speeds
    q, s = found.y[:n], found.y[n:last]
    links = moving(tree, FLOATS, found.t, list(q), list(s), plan.parameters, plan.fixtures)
    kinetic, potential = (np.zeros(len(found.t)) + energy for energy in energies_of(links))
    work = found.y[last] if rates.loaded else np.zeros(len(found.t))
    qdd = rates(found.t, found.y)[n:last]
    return TreeRun(found.t, q, s, qdd, kinetic, potential, work, name, found.steps, found.status.value)


def _projection(rates: Rates) -> Callable[[float, np.ndarray], np.ndarray] | None:
    tree = rates.plan.tree
    return (lambda _, y: with_unit_quaternions(tree, y)) if tree.attitudes else None


def _method(asked: str | None, usual: str | None) -> str:
    if asked is not None:
        require_method(asked)
        if asked not in METHODS:
            raise InputError(
                f"simulate: got integrator '{asked}'. Expected one that is explicit, {', '.join(METHODS)}. "
                "Where the model is small enough, `dl.simulate` derives its equations and takes all integrators."
            )
        return asked
    return usual if usual in METHODS else METHODS[0]
