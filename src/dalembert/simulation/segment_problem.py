"""The initial value problem of each segment of a run.

A segment ends at an event, a mode change or a repartition. Data that do not depend on the segment, such as the
 magnitudes of the states and the records of the monitors, are reused in the next.
"""

from __future__ import annotations

import numpy as np

from dalembert.mechanics.facts import may_become_singular
from dalembert.model.python_laws import Inputs
from dalembert.simulation._branch_points import BranchPoints, SingularInertia
from dalembert.simulation._control_laws import Sampling
from dalembert.simulation._crossings import Crossings
from dalembert.simulation._sliding_mode import SlidingKernel
from dalembert.simulation._zero_lengths import ZeroLengths
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import ClosedContactManifold
from dalembert.simulation.integrators.base import (
    CompiledRates,
    CompiledSeries,
    FirstOrderSystem,
    InitialValueProblem,
    Rates,
    Solution,
    StepMonitor,
    StepParts,
)
from dalembert.simulation.mode_changes import ModeManager
from dalembert.simulation.partition import Partition
from dalembert.simulation.right_hand_side import DaeFunctions, RightHandSide, UnreducedFunctions
from dalembert.simulation.step_monitors import StateMechanics
from dalembert.symbolic.symbols import SymbolKind

_AWAY = 0.3  # distance from the start, in scales of the coordinates, at which state magnitudes are measured again


class SegmentSystem(FirstOrderSystem):
    """The compiled equations of one segment, as integrators use them."""

    def __init__(self, equations: BoundEquations, mechanics: StateMechanics) -> None:
        self._equations, self._mechanics = equations, mechanics
        self._kernel, self.constants, self.positions = mechanics.kernel, mechanics.constants, mechanics.positions
        self._has_continuous_laws = mechanics.inputs is not None

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ at one state."""
        return self._mechanics.rates(t, y)

    def check(self, t: float, y: np.ndarray) -> None:
        """Raise if a continuous law returns values that are not finite."""
        self._mechanics.constants_at(t, y)

    def jacobian(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """∂ẏ/∂y if the rates are formulas."""
        if not self._kernel.fused or self._has_continuous_laws:
            return None
        return self._kernel.state_slopes(y, t, self._mechanics.constants)

    def machine_code(self) -> CompiledRates | None:
        """The rates, and the constraints to project onto."""
        return self._mechanics.machine

    def taylor(self) -> CompiledSeries | None:
        """The Taylor series of the rates, and the constraints to project onto."""
        if not has_series(self._equations):
            return None
        return CompiledSeries(self._kernel.series, self._mechanics.constants, self._mechanics.projection_data)

    def residuals(self) -> DaeFunctions | None:
        """The equations with multipliers."""
        slides = isinstance(self._kernel, SlidingKernel)
        if self._equations.form.extra_unknowns is not None or slides or self._has_continuous_laws:
            return None
        return DaeFunctions(self._kernel, self._mechanics.constants)

    def unreduced(self) -> UnreducedFunctions:
        """The equations with constraints on positions and velocities."""
        return UnreducedFunctions(self._kernel, self._mechanics.constants)


class SegmentProblems:
    """The problems of all segments of a run, with the monitors of the entire run."""

    def __init__(self, project: bool, modes: ModeManager | None, inputs: Inputs, sampling: Sampling | None) -> None:
        self._project, self._modes = project, modes
        self.inputs, self.sampling = inputs, sampling
        self._monitors: tuple[ZeroLengths | BranchPoints | SingularInertia, ...] = ()
        self._inertia: tuple[SingularInertia, ...] = ()
        self._crossings: Crossings | None = None
        self._kernel: RightHandSide | None = None

    def start(
        self, equations: BoundEquations, t: float, q: np.ndarray, qd: np.ndarray
    ) -> tuple[StateMechanics, np.ndarray, np.ndarray]:
        """The equations of a segment, its first state y and its constants."""
        kernel = self._kernel = equations.kernel if self._modes is None else self._modes.kernel(equations.kernel)
        v, constants_of_motion = kernel.start(q, qd, t, equations.values)
        constants = np.concatenate([equations.values, constants_of_motion])
        closed_contacts = None if self._modes is None else self._modes.contacts.closed_manifold
        mechanics = mechanics_of(equations, kernel, constants, self.inputs, closed_contacts)
        return mechanics, np.concatenate([q, v, np.zeros(len(kernel.working))]), constants

    def problem(
        self, partition: Partition, t: float, q: np.ndarray, qd: np.ndarray
    ) -> tuple[InitialValueProblem, np.ndarray]:
        """The problem of the segment that begins at a state, and its constants."""
        equations = partition.equations
        mechanics, y, constants = self.start(equations, t, q, qd)
        kernel, n = mechanics.kernel, len(q)
        if kernel.phase is not None:
            kernel.phase.require_on(y[: equations.n_states], t, equations.values)
        partition.use(mechanics)
        if self.sampling is not None:
            self.sampling.use(constants, lambda t, y: (y[:n], mechanics.velocities(t, y)))
        names = (*equations.model.coordinate_names, *equations.velocity_names, *map(SymbolKind.WORK.of, kernel.working))
        by_mechanics = self._project and kernel.phase is None and mechanics.drifts
        parts = StepParts(
            projection=_projection(equations, mechanics) if self._project else None,
            project_samples=mechanics.project if by_mechanics else None,
            monitors=((partition,) if partition.may_repartition else ()) + self._monitors_of_segment(mechanics),
            repartition=partition.repartition_at if partition.may_repartition else None,
            clock=self.sampling,
        )
        system = SegmentSystem(equations, mechanics)
        return InitialValueProblem(names, t, y, system, self._state_sizes(equations), parts), constants

    def _monitors_of_segment(self, mechanics: StateMechanics) -> tuple[StepMonitor, ...]:
        """The monitors with the equations of this segment; without projection branch points are only reported."""
        if not self._monitors:
            meetings = (ZeroLengths(mechanics),) if mechanics.lengths.spans else ()
            branches = (BranchPoints(mechanics, lead=self._project),) if mechanics.manifold.rows else ()
            model = mechanics.manifold.system.model.description
            if may_become_singular(model) and not model.canonical_constraints:
                self._inertia = (SingularInertia(mechanics, model.coordinate_names),)
            self._monitors = meetings + branches + self._inertia
        for monitor in self._monitors:
            monitor.mechanics = mechanics
        if self._modes is None:
            return self._monitors
        self._crossings = self._modes.monitor(mechanics)
        return (*self._monitors, self._crossings)

    def _state_sizes(self, equations: BoundEquations) -> np.ndarray:
        """The magnitudes of the states, shared by all segments with the same variables."""
        cache, values = equations.kernel.cache, equations.values.tobytes()
        if cache.get("values of sizes") != values:
            cache["sizes"], cache["values of sizes"] = typical_sizes(equations), values
        return cache["sizes"]

    def review(self, solution: Solution) -> None:
        """Check the samples of a finished segment."""
        for monitor in self._inertia:
            monitor.review(solution.t, solution.y)

    def reset_reference(self) -> None:
        """Reset the measurements of monitors after a change of parameters."""
        for monitor in self._monitors:
            if isinstance(monitor, BranchPoints):
                monitor.reset_reference()

    def constants_along(self, solution: Solution, constants: np.ndarray) -> np.ndarray:
        """The constants of a segment, at each sample if laws or sliding modes change them along it."""
        kernel, t, y = self._kernel, solution.t, solution.y
        assert kernel is not None
        if not isinstance(kernel, SlidingKernel) and not self.inputs.controllers:
            return constants
        along = np.repeat(constants[:, None], len(t), axis=1)
        if self.sampling is not None:
            rows, outputs = self.sampling.along(t)
            along[rows] = outputs
        if self.inputs.continuous:
            n = len(self.inputs.coordinates)
            along = self.inputs.filled(t, y[:n], kernel.velocities(y, t, along), along)
        if isinstance(kernel, SlidingKernel):
            along[kernel.rows] = kernel.parameter_values(y, t, along)
        return along

    def law_values(self, t: float, q: np.ndarray, qd: np.ndarray, constants: np.ndarray) -> dict[str, float]:
        """The outputs of laws in Python at a state, by the names of the parameters."""
        inputs = self.inputs
        values = inputs.filled(t, q, qd, constants) if inputs.continuous else constants
        names = [name for controller in inputs.controllers for name in controller.inputs]
        return dict(zip(names, values[inputs.rows(names)].tolist(), strict=True)) if names else {}

    @property
    def crossings(self) -> Crossings:
        """The crossings of the present segment."""
        assert self._crossings is not None
        return self._crossings

    @property
    def notes(self) -> tuple[str, ...]:
        """What the monitors report."""
        return tuple(note for monitor in reversed(self._monitors) for note in monitor.notes)


def has_series(equations: BoundEquations) -> bool:
    """True if the rates have Taylor series: laws in Python and numerical solutions have none."""
    return equations.kernel.fused and not equations.model.inputs.continuous


def mechanics_of(
    equations: BoundEquations,
    kernel: RightHandSide,
    constants: np.ndarray,
    inputs: Inputs,
    closed_contacts: ClosedContactManifold | None = None,
) -> StateMechanics:
    """The equations as the monitors evaluate them."""
    space, values = equations.workspace, equations.values

    def energy(t: float, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        found = space.observables.along(np.array([t]), q[:, None], qd[:, None], values)
        return float(found.jacobi[0]), float(np.abs(found.kinetic[0]) + np.abs(found.potential[0]))

    laws = inputs if inputs.continuous else None
    return StateMechanics(kernel, space.manifold, space.lengths, energy, values, constants, laws, closed_contacts)


def _projection(equations: BoundEquations, mechanics: StateMechanics) -> Rates | None:
    """The function that projects a state onto the constraints; None if steps do not drift."""
    size, values = equations.n_states, equations.values
    if (phase := equations.kernel.phase) is not None:
        return lambda t, y: np.concatenate([phase.project(y[:size], t, values), y[size:]])
    return mechanics.project if mechanics.drifts else None


def typical_sizes(equations: BoundEquations) -> np.ndarray:
    """The typical magnitudes of the states (q, v, work), rounded to powers of two so that division is exact."""
    return sizes_by_values(equations, equations.values[:, None])[:, 0]


def sizes_by_values(equations: BoundEquations, values: np.ndarray) -> np.ndarray:
    """The magnitudes (states, K) for K columns of parameters.

    Coordinates have the scales of the model. The magnitude of a velocity variable (q̇, quasi-velocity or momentum) follows from
    the velocity scales of the model, at the start and near it; that of the work is mass × length² / time².
    """
    kernel, model, scales = equations.kernel, equations.model, equations.workspace.facts.scales
    n, K = len(scales.q), values.shape[1]
    q0, qd0 = model.initial
    away = q0 + _AWAY * scales.positions * np.cos(np.arange(n))
    speeds = np.zeros((kernel.form.n_states - n, K))
    moves = np.concatenate([np.zeros((n, 1)), np.diag(scales.velocities)], axis=1)
    columns = np.repeat(values, n + 1, axis=1)
    for q in (q0, away):
        positions, rates = np.repeat(q[:, None], K * (n + 1), axis=1), np.tile(qd0[:, None] + moves, (1, K))
        with np.errstate(all="ignore"):
            found = kernel.start(positions, rates, 0.0, columns)[0].reshape(len(speeds), K, n + 1)
            v = np.nan_to_num(np.abs(found[..., 1:] - found[..., :1]), nan=0.0, posinf=0.0)
        speeds = np.maximum(speeds, v.max(axis=2, initial=0.0))
    work = np.full((len(kernel.working), K), scales.mass * (scales.length / scales.time) ** 2)
    sizes = np.concatenate([np.repeat(scales.positions[:, None], K, axis=1), np.where(speeds > 0, speeds, 1.0), work])
    return np.exp2(np.round(np.log2(sizes)))
