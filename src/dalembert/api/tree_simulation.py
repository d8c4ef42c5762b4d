"""Motions of trees of any size on the recursion: the cost of a step is linear in the number of links.

Rolled and without loads, the rates are loops over links that the compiled integrators step on; else Python stands between the
stages of a step and what is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.api.compiled_calls import Calls
from dalembert.api.recording import Recording
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.compiled_loop import Machine
from dalembert.codegen.function import Function, function_of
from dalembert.errors import InputError
from dalembert.mechanics.singular_inertia import reciprocal_condition
from dalembert.model.initial_state import start_state
from dalembert.model.integrator_names import require_method
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.execution import choose_execution
from dalembert.recursive.joint_speeds import to_momenta, to_rates, to_second_rates, with_unit_quaternions
from dalembert.recursive.link_states import moving
from dalembert.recursive.load_forces import working_loads
from dalembert.recursive.plan import Plan
from dalembert.recursive.rolled_sweeps import rolled_function
from dalembert.recursive.traced import task_program
from dalembert.recursive.tree_energies import energies_of, momenta_of
from dalembert.recursive.tree_state import read_state
from dalembert.simulation.chart_changes import SINGULAR, Charts
from dalembert.simulation.integrators.integrate import InitialValueProblem, MachineCode, integrate
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.main_loop import Task
from dalembert.simulation.observables import Observed
from dalembert.simulation.partition import Part
from dalembert.simulation.trajectory_data import Segment
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.reserved_symbols import Kind

if TYPE_CHECKING:
    from dalembert.api.tree_equations import TreeEquations

METHODS = ("dop853", "rk45", "rk4")
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Rates:
    """ẏ of states y = (q, s, work) of a tree."""

    calls: Calls
    friction: bool

    @property
    def plan(self) -> Plan:
        """The tree."""
        return self.calls.plan

    @cached_property
    def working(self) -> tuple[str, ...]:
        """The loads besides gravity, whose work are states."""
        return working_loads(self.plan.model if self.friction else self.plan.frictionless)

    @cached_property
    def _loops(self) -> Function | None:
        """(q̇, ṡ) as loops over the links, which know of no loads."""
        calls = self.calls
        if self.working or choose_execution(self.plan, "forward", calls.execution, calls.engine) != "rolled":
            return None
        return rolled_function(self.plan, "rates")

    @cached_property
    def _powers(self) -> Function:
        return function_of(task_program(self.plan, "powers", friction=self.friction), self.calls.engine)

    @property
    def machine(self) -> MachineCode | None:
        """The rates in machine code, where loops are all there is."""
        if self._loops is None or (native := self._loops.native) is None:
            return None
        size = self.plan.tree.n + self.plan.tree.n_speeds
        return MachineCode(Machine(native.address, _NONE, np.array(native.tables, dtype=float)), size, None)

    def __call__(self, t: float | np.ndarray, y: np.ndarray, threads: int = 1) -> np.ndarray:
        """ẏ at one state (states,) or many (states, K), which `threads` share."""
        n, m = self.plan.tree.n, self.plan.tree.n_speeds
        q, s = with_unit_quaternions(self.plan.tree, y)[:n], y[n : n + m]
        time = np.broadcast_to(np.asarray(t, dtype=float), y.shape[1:])[None]
        if self._loops is not None:
            return self._loops(np.concatenate([q, s, time]), _NONE, threads)
        found = self.calls["forward", self.friction].function(np.concatenate([q, s, 0 * s, time]), _NONE, threads)
        if not (np.abs(found[-1]) <= 1).all() and np.isfinite(y).all():
            walk.forward_dynamics(self.plan.tree.model, q, s, None, t, friction=self.friction)  # says what is wrong
        rates = [self._rates(q, s), found[:-1]]
        if self.working:
            rates.append(self._powers(np.concatenate([q, s, time]), _NONE, threads)[:-1])
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
        work = [scales.mass * (scales.length / scales.time) ** 2] * len(self.working)
        return np.concatenate([scales.positions, speeds, work])


@dataclass(frozen=True, repr=False)
class TreeRecording(Recording):
    """What is evaluated along a motion of a tree: `v` are its speeds, which are q̇ but for quaternions.

    Potential energy is that of gravity; `work` is what all other loads have done since the start, springs included. The energy
    balance is not compared with the tolerance at the end of the run, as it is for equations that are written out.
    """

    equations: TreeEquations

    @property
    def by_recursion(self) -> bool:
        """True."""
        return True

    @property
    def _plan(self) -> Plan:
        return self.equations.plan

    @property
    def _states(self) -> np.ndarray:
        (part,) = self.parts
        return part.solution.y

    @property
    def v(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride] (both are read only)
        """The speeds."""
        return self._states[len(self.q) : self.equations.n_states]

    @cached_property
    def _derivatives(self) -> np.ndarray:
        """ẏ at the samples."""
        return self.equations.rates(self.t, self._states)

    @cached_property
    def _rates(self) -> np.ndarray:
        """q̇ and q̈, (2, n, samples)."""
        tree, q, s, found = self._plan.tree, list(self.q), list(self.v), self._derivatives
        second = to_second_rates(tree, FLOATS, q, s, list(found[tree.n : self.equations.n_states]))
        return np.stack([found[: tree.n], numbers(second, len(self.t))])

    @property
    def qd(self) -> np.ndarray:
        """q̇."""
        return self._rates[0] if self._plan.tree.attitudes else self.v

    @property
    def _regular_positions(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.q

    def _has_own_variables(self, part: Part) -> bool:
        return True

    def _segment(self, part: Part) -> Segment:
        return Segment(float(self.t[0]), part.jumps, self.speed_formulas, ())

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta and speeds, by recursions over the links."""
        plan, count = self._plan, len(self.t)
        links = moving(plan.tree, FLOATS, self.t, list(self.q), list(self.v), plan.parameters, plan.fixtures)
        kinetic, potential = ((np.zeros(count) + energy).astype(float) for energy in energies_of(links))
        by_speed, linear, angular = momenta_of(links)
        by_rate = to_momenta(plan.tree, FLOATS, list(self.q), list(by_speed))
        p, P, H = (numbers(x, count) for x in (by_rate, vector(linear), vector(angular)))
        none = np.zeros((0, count))
        return Observed(kinetic, potential, kinetic + potential, p, P, H, self.v, none, none)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """What the rows of `speeds` are."""
        return self._plan.tree.speed_names

    @property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas of the velocities: those that are rates."""
        return self._plan.tree.speed_names

    @property
    def ignorable(self) -> tuple[int, ...]:
        """Not looked for."""
        return ()

    @property
    def force_scale(self) -> float:
        """Mass × length / time² of the model."""
        scales = self._plan.scales
        return scales.mass * scales.length / scales.time**2

    @property
    def _carried_along(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return None

    def _powers(self, part: Part) -> np.ndarray:
        return self._derivatives[self.equations.n_states :]

    # no constraints, no reactions

    @property
    def servo(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def violation(self) -> tuple[np.ndarray, tuple[str, ...], int]:
        """None."""
        return np.zeros((0, len(self.t))), (), 0

    @property
    def multipliers(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None."""
        return np.zeros((0, len(self.t)))

    @property
    def reactions(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Zero."""
        return np.zeros(self.q.shape)

    @property
    def ideal_reactions(self) -> np.ndarray:
        """Zero."""
        return np.zeros(self.q.shape)

    @property
    def joints(self) -> None:
        """None: forces in joints are not found link by link."""
        return None


def run_tree(equations: TreeEquations, task: Task) -> Trajectory:
    """The motion of a tree; see `TreeEquations`."""
    rates, settings, plan = equations.rates, task.settings, equations.plan
    tree, model = plan.tree, plan.tree.model.description
    name = _method(task.integrator, model.integrator)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    grid = task.grid(model)
    start = read_state(plan, *start_state(model, task.q0, task.qd0), float(grid[0]))
    names = (*model.coordinate_names, *tree.speed_names, *map(Kind.WORK.of, rates.working))
    problem = InitialValueProblem(
        names,
        float(grid[0]),
        np.concatenate([start.q[:, 0], start.s[:, 0], np.zeros(len(rates.working))]),
        rates,
        project=_projection(rates) if task.project else None,
        positions=tree.n,
        sizes=rates.sizes,
        machine=rates.machine,
        turn=_gimbal_stop(equations, float(grid[0]), start.q[:, 0]),
    )
    stepper = find(name)(problem, settings, float(grid[-1]))  # compiles what it needs
    begun = time.process_time()
    found = integrate(problem, stepper, grid, settings)
    used = time.process_time() - begun
    return TreeRecording(equations, (Part(equations, found, _NONE),), name, used).trajectory()


def _gimbal_stop(
    equations: TreeEquations, t0: float, q0: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], int | None] | None:
    """What ends a run at gimbal lock of its angles; None where there are none."""
    charts = Charts(equations, "trees that are run link by link keep their angles")
    if not charts.attitudes:
        return None

    def singular(t: float, q: np.ndarray) -> bool:
        M = walk.mass_matrix(equations.plan.model, q, t)
        return reciprocal_condition(M, np.zeros((0, len(M))))[0] < SINGULAR

    def turn(t: np.ndarray, y: np.ndarray) -> int | None:
        return charts.poor(t, y, lambda k: singular(float(t[k]), y[: len(q0), k]))

    charts.begin(t0, q0, lambda _: singular(t0, q0))
    return turn


def _projection(rates: Rates) -> Callable[[float, np.ndarray], np.ndarray] | None:
    tree = rates.plan.tree
    return (lambda _, y: with_unit_quaternions(tree, y)) if tree.attitudes else None


def _method(asked: str | None, usual: str | None) -> str:
    if asked is not None:
        require_method(asked)
        if asked not in METHODS:
            raise InputError(
                f"simulate: got integrator '{asked}'. Expected one that is explicit, {', '.join(METHODS)}: a tree that is run "
                "link by link has neither a series nor the slopes of its rates, which implicit methods need. "
                "Where the model is small enough, `dl.simulate` derives its equations and takes all integrators."
            )
        return asked
    return usual if usual in METHODS else METHODS[0]
