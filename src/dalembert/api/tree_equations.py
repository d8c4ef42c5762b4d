"""Recursive equations of trees of any size: accelerations and simulation in O(n)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dalembert.api.compiled_calls import Calls, calls_of
from dalembert.api.equations import Equations
from dalembert.api.recording import Recording
from dalembert.api.simulate import check_tree_run
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import is_integer, validate_arguments
from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.codegen.function import CompiledFunction, function_of
from dalembert.errors import InputError, short_repr
from dalembert.mechanics.facts import reciprocal_condition
from dalembert.model.description import Description, Elements, validated_parameters
from dalembert.model.evaluation import start_state
from dalembert.model.integrator_names import AUTO, require_method
from dalembert.recursive import tree_dynamics as walk
from dalembert.recursive.execution import MANY, choose_execution
from dalembert.recursive.joint_speeds import to_momenta, to_rates, to_second_rates, with_unit_quaternions
from dalembert.recursive.link_states import moving
from dalembert.recursive.load_forces import working_loads
from dalembert.recursive.plan import TreePlan, read_state
from dalembert.recursive.point_jacobians import energies_of, momenta_of
from dalembert.recursive.rolled_sweeps import rolled_function
from dalembert.recursive.traced import task_program
from dalembert.simulation.bound_equations import Derivation
from dalembert.simulation.chart_changes import SINGULAR, Charts
from dalembert.simulation.integrators.base import CompiledRates, InitialValueProblem, SimpleSystem, StepParts
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.main_loop import Accuracy, RunOptions, automatic
from dalembert.simulation.observables import Observed
from dalembert.simulation.partition import RunSegment
from dalembert.simulation.trajectory_data import Segment
from dalembert.simulation.workspace import Setup
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.symbols import SymbolKind

METHODS = (AUTO, "dop853", "rk45", "rk4")
_NONE = np.zeros(0)


@dataclass(frozen=True, repr=False)
class TreeEquations(Equations):
    """The DeNOC equations of a tree, I θ̈ + C θ̇ = τ, evaluated recursively without forming I and C.

    Quantities that require I, C or the facts of other formalisms are computed on demand, and only for small trees. `simulate`
    supports the integrators dop853 (auto, the default), rk45 and rk4; the cost of a step is linear in the number of links.
    Quaternions are normalized after each step unless `project` is False; `repartition` has no effect.

    >>> import dalembert as dl
    >>> eom = dl.derive(dl.load("rope", links=100), "denoc")
    >>> eom
    <Equations of 'rope' by denoc: 100 dynamic, 200 states>
    >>> eom.accelerations(np.zeros(100), np.zeros(100))[:2].round(6)
    array([-414.619386,  525.716316])
    >>> run = eom.simulate(0.1, samples=11)
    >>> run.q.shape, run.energy_error < 1e-9
    ((100, 11), True)
    """

    friction: bool = True  # False: no joint friction
    execution: str | None = None  # rolled or unrolled recursion; None: chosen automatically

    @cached_property
    def rates(self) -> Rates:
        """ẏ of states y = (q, s, work), compiled."""
        return rates_of(self.model.with_parameters(self.changes), self.engine, self.execution, self.friction)

    @property
    def plan(self) -> TreePlan:
        """The kinematic tree and its data."""
        return self.rates.plan

    @property
    def model(self) -> Description:
        """The model at the time of derivation."""
        return self.derivation.setup.declared

    @property
    def engine(self) -> str:
        """`native` or `python`."""
        return self.derivation.setup.engine

    @property
    def n_dynamic(self) -> int:
        """The number of dynamic equations: one for each speed."""
        return self.plan.tree.n_speeds

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return self.plan.tree.n + self.plan.tree.n_speeds

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Empty: a tree has no constraints besides its joints, and its quaternions are normalized."""
        return ()

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """The names of the speeds: coordinate rates, or ω for a quaternion."""
        return self.plan.tree.speed_names

    @property
    def work_sources(self) -> tuple[str, ...]:
        """The loads except gravity, including springs; the work of each is a state."""
        return self.rates.working

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about the derivation."""
        return ("evaluated recursively: the matrices of the equations are not formed",)

    def loaded_model(self, model: Elements) -> Elements:
        """The model with the loads that act."""
        return self.plan.model if self.friction else self.plan.frictionless

    @property
    def _explicit(self) -> Equations:
        """The same equations in explicit form."""
        n = self.plan.tree.n_speeds
        if n > MANY:
            raise InputError(
                f"the equations of '{self.model.name}' are evaluated recursively: {n} speeds are too many for an explicit form. "
                f"Expected at most {MANY}. Use accelerations, simulate or `dl.dynamics(model)`, which support any size; to read "
                "the equations, derive them for a smaller model of the same kind."
            )
        return Equations(self.derivation, self.changes)

    # evaluation and simulation

    @validate_arguments
    def with_parameters(self, values: Mapping[Any, float | str] | None = None, **more: float | str) -> TreeEquations:
        """The equations with other parameter values, by name or SymPy symbol."""
        changes = self.changes | validated_parameters(self.model, {**(values or {}), **more})
        self.model.with_parameters(changes).require_valid()
        return TreeEquations(self.derivation, changes, self.friction, self.execution)

    def accelerations(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, *, threads: int = 1
    ) -> np.ndarray:
        """q̈ at states (n,) or (n, batch), evaluated by `threads` threads; ṡ if `qd` are speeds."""
        if not is_integer(threads) or threads < 1:
            raise InputError(f"accelerations, threads: got {short_repr(threads)}. Expected an int >= 1.")
        state, n = read_state(self.plan, q, qd, t), self.plan.tree.n
        found = self.rates(state.t, np.concatenate([state.q, state.s]), threads)
        return state.shaped(state.second_rates(found[n : self.n_states]))

    def _stabilized_from(
        self, t: float, q: np.ndarray, qd: np.ndarray, gains: float | tuple[float, float]
    ) -> Equations:
        raise InputError(f"stabilization: got {short_repr(gains)}. A tree has no constraints to stabilize. Omit it.")

    def _run(self, task: RunOptions) -> Trajectory:
        return run_tree(self, task)


def _from_explicit(name: str) -> property:
    return property(lambda equations: getattr(equations._explicit, name), doc=getattr(Equations, name).__doc__)


for _name in ("form", "symbolic", "kernel", "operations", "ignorable", "reasons", "blocks", "_display"):
    setattr(TreeEquations, _name, _from_explicit(_name))  # properties that need the matrices


def equations_of_tree(model: Description, engine: str, execution: str | None, *, friction: bool) -> TreeEquations:
    """The equations of a tree of any size."""
    return TreeEquations(Derivation(Setup(model, engine), "denoc"), friction=friction, execution=execution)


@dataclass(frozen=True, eq=False)
class Rates:
    """ẏ of states y = (q, s, work) of a tree.

    Rolled and without loads, they are compiled loops over links that the compiled integrators call directly; otherwise Python
    calls compiled functions in each stage of a step.
    """

    calls: Calls
    friction: bool

    @property
    def plan(self) -> TreePlan:
        """The kinematic tree and its data."""
        return self.calls.plan

    @cached_property
    def working(self) -> tuple[str, ...]:
        """The loads except gravity; the work of each is a state."""
        return working_loads(self.plan.model if self.friction else self.plan.frictionless)

    @cached_property
    def _loops(self) -> CompiledFunction | None:
        """(q̇, ṡ) as compiled loops over the links; None with loads or unrolled execution."""
        calls = self.calls
        if self.working or choose_execution(self.plan, "forward", calls.execution, calls.engine) != "rolled":
            return None
        return rolled_function(self.plan, "rates")

    @cached_property
    def _powers(self) -> CompiledFunction:
        return function_of(task_program(self.plan, "powers", friction=self.friction), self.calls.engine)

    @property
    def machine(self) -> CompiledRates | None:
        """The rates in machine code; None unless they are compiled loops."""
        if self._loops is None or (native := self._loops.native) is None:
            return None
        size = self.plan.tree.n + self.plan.tree.n_speeds
        return CompiledRates(CallableProgram(native.address, _NONE, np.array(native.tables, dtype=float)), size, None)

    def __call__(self, t: float | np.ndarray, y: np.ndarray, threads: int = 1) -> np.ndarray:
        """ẏ at one state (states,) or many (states, K), evaluated by `threads` threads."""
        n, m = self.plan.tree.n, self.plan.tree.n_speeds
        q, s = with_unit_quaternions(self.plan.tree, y)[:n], y[n : n + m]
        time = np.broadcast_to(np.asarray(t, dtype=float), y.shape[1:])[None]
        if self._loops is not None:
            return self._loops(np.concatenate([q, s, time]), _NONE, threads)
        found = self.calls["forward", self.friction].function(np.concatenate([q, s, 0 * s, time]), _NONE, threads)
        if not (np.abs(found[-1]) <= 1).all() and np.isfinite(y).all():
            walk.forward_dynamics(self.plan.tree.model, q, s, None, t, friction=self.friction)  # raises with the reason
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
        """The scale of each state variable."""
        tree, scales = self.plan.tree, self.plan.scales
        speeds = self.plan.units / scales.time
        for i, column in enumerate(tree.columns):
            if column is not None:
                speeds[column] = scales.qd[i]
        work = [scales.mass * (scales.length / scales.time) ** 2] * len(self.working)
        return np.concatenate([scales.positions, speeds, work])


@lru_cache(maxsize=64)
def rates_of(model: Description, engine: str, execution: str | None, friction: bool) -> Rates:
    """The rates of a tree, shared by all equations of the same model."""
    return Rates(calls_of(model, engine, execution), friction)


@dataclass(frozen=True, repr=False)
class TreeRecording(Recording):
    """Recording of the motion of a tree: `v` are its speeds, which equal q̇ except for quaternions.

    The potential energy is that of gravity; `work` is the work of all other loads since the start, including springs.
    """

    equations: TreeEquations

    @property
    def by_recursion(self) -> bool:
        """True."""
        return True

    @property
    def _plan(self) -> TreePlan:
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

    def _has_own_variables(self, part: RunSegment) -> bool:
        return True

    def _segment(self, part: RunSegment) -> Segment:
        return Segment(float(self.t[0]), part.jumps, self.speed_formulas, ())

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta and speeds, computed recursively over the links."""
        plan, count = self._plan, len(self.t)
        links = moving(plan.tree, FLOATS, self.t, list(self.q), list(self.v), plan.parameters, plan.link_constants)
        kinetic, potential = ((np.zeros(count) + energy).astype(float) for energy in energies_of(links))
        by_speed, linear, angular = momenta_of(links)
        by_rate = to_momenta(plan.tree, FLOATS, list(self.q), list(by_speed))
        p, P, H = (numbers(x, count) for x in (by_rate, vector(linear), vector(angular)))
        none = np.zeros((0, count))
        return Observed(kinetic, potential, kinetic + potential, p, P, H, self.v, none, none)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """The names of the rows of `speeds`."""
        return self._plan.tree.speed_names

    @property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas: their names."""
        return self._plan.tree.speed_names

    @property
    def ignorable(self) -> tuple[int, ...]:
        """Empty: ignorable coordinates are not determined."""
        return ()

    @property
    def force_scale(self) -> float:
        """Mass × length / time² of the model."""
        scales = self._plan.scales
        return scales.mass * scales.length / scales.time**2

    @property
    def _rheonomic_energy_along(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return None

    def _powers(self, part: RunSegment) -> np.ndarray:
        return self._derivatives[self.equations.n_states :]

    # a tree has no constraints and no reactions

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
        """None: the recursion does not compute joint reactions."""
        return None


def run_tree(equations: TreeEquations, task: RunOptions) -> Trajectory:
    """Simulate a tree; see `TreeEquations`."""
    rates, settings, plan = equations.rates, task.settings, equations.plan
    tree, model = plan.tree, plan.tree.model.description
    name = _method(task.integrator, model.integrator)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    name, settings = automatic(name, settings)
    grid = task.grid(model)
    start = read_state(plan, *start_state(model, task.q0, task.qd0), float(grid[0]))
    names = (*model.coordinate_names, *tree.speed_names, *map(SymbolKind.WORK.of, rates.working))
    problem = InitialValueProblem(
        names,
        float(grid[0]),
        np.concatenate([start.q[:, 0], start.s[:, 0], np.zeros(len(rates.working))]),
        SimpleSystem(rates, positions=tree.n, machine=rates.machine),
        rates.sizes,
        StepParts(
            projection=_projection(rates) if task.project else None,
            repartition=_gimbal_stop(equations, float(grid[0]), start.q[:, 0]),
        ),
    )
    stepper = find(name)(problem, settings, float(grid[-1]))  # compiles the step functions
    begun = time.process_time()
    found = integrate(problem, stepper, grid, settings)
    used = time.process_time() - begun
    tolerance = stepper.tolerance if stepper.capabilities.adaptive else None
    recording = TreeRecording(equations, (RunSegment(equations, found, _NONE),), name, used)
    return recording.trajectory((*equations.notes, *check_tree_run(recording, Accuracy(tolerance, projected=True))))


def _gimbal_stop(
    equations: TreeEquations, t0: float, q0: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], int | None] | None:
    """The check that stops a run at gimbal lock; None for models without Euler angles."""
    charts = Charts(equations, "recursive tree runs cannot change their angles")
    if not charts.attitudes:
        return None

    def singular(t: float, q: np.ndarray) -> bool:
        M = walk.mass_matrix(equations.plan.model, q, t)
        return reciprocal_condition(M, np.zeros((0, len(M))))[0] < SINGULAR

    def turn(t: np.ndarray, y: np.ndarray) -> int | None:
        return charts.ill_conditioned_at(t, y, lambda k: singular(float(t[k]), y[: len(q0), k]))

    charts.begin(t0, q0, lambda _: singular(t0, q0))
    return turn


def _projection(rates: Rates) -> Callable[[float, np.ndarray], np.ndarray] | None:
    tree = rates.plan.tree
    return (lambda _, y: with_unit_quaternions(tree, y)) if tree.attitudes else None


def _method(integrator: str | None, default: str | None) -> str:
    if integrator is not None:
        require_method(integrator)
        if integrator not in METHODS:
            raise InputError(
                f"simulate: got integrator '{integrator}'. Expected an explicit method, {', '.join(METHODS)}: recursive tree "
                "equations provide neither Taylor series nor the derivatives that implicit methods need. "
                "For smaller models, `dl.simulate` derives explicit equations and supports all integrators."
            )
        return integrator
    return default if default in METHODS else METHODS[0]
