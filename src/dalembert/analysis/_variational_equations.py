"""The variational equations: derivatives of a trajectory, integrated together with it.

With ẏ = F(y, t; p), y = (q, q̇), the derivatives along directions obey

    y′˙ = F_y y′ + F_p p′,    y″˙ = F_zz[z′, z′] + F_y y″,    z = (y, p).

Expanded, they are one program for `taylor` and for machine code; if that program would be long, each lane has one direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.analysis._directional_derivatives import (
    ConstraintDerivatives,
    Differentials,
    Directions,
    WithDerivatives,
    pairs,
    with_time,
)
from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.codegen.function import CompiledFunction, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.codegen.taylor_series import SeriesTable, series_table
from dalembert.errors import NotApplicableError
from dalembert.model.discontinuities import FrozenModel, freeze_conditions
from dalembert.model.elements import Event
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import onto_positions, onto_velocities
from dalembert.simulation.integrators.base import (
    CompiledRates,
    CompiledSeries,
    FirstOrderSystem,
    InitialValueProblem,
    Settings,
    StepParts,
)
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.main_loop import Segments
from dalembert.simulation.partition import RunSegment
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.simulation.segment_problem import typical_sizes
from dalembert.simulation.trajectory_data import EventRecord
from dalembert.symbolic.algebra_base import Scalar, stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import SymbolKind

_MAX_TAYLOR_LINES = 1500  # lines of the expanded equations up to which taylor is the default
_MAX_COMPILED_LINES = 20_000  # lines up to which other methods use them as machine code, compiled in about two seconds
_SIMULTANEOUS = 1e-13  # relative to the time or the time scale of the model: closer events are simultaneous
_TANGENTIAL = 1e-6  # relative to the sum of its terms: a rate of g below this is zero
_EQUAL = 1e-9  # relative difference below which rates are equal


def rates_program(kernel: RightHandSide) -> Program:
    """(q̇, q̈) of (q, q̇, t) without the powers."""
    program = kernel.program
    states = nodes_of(replace(program, outputs=program.outputs[: kernel.form.n_states]))
    return program_of(states, program.inputs, program.parameters)


@dataclass(frozen=True)
class Variations:
    """The variational equations of first or second order of one set of equations."""

    equations: BoundEquations
    directions: Directions
    order: int

    @property
    def _kernel(self) -> RightHandSide:
        return self.equations.kernel

    def _cached(self, what: str, make: Callable[[], object]) -> object:
        """A value that is computed once for these equations and directions."""
        key = (what, self.directions, self.order)
        if key not in self._kernel.cache:
            self._kernel.cache[key] = make()
        return self._kernel.cache[key]

    @property
    def lanes(self) -> Differentials:
        """F with one direction in each lane."""
        engine, by = self.equations.workspace.engine, self.directions.parameters
        cached = self._cached("lanes", lambda: Differentials(rates_program(self._kernel), by, engine))
        assert isinstance(cached, Differentials)
        return cached

    @property
    def expanded(self) -> Program:
        """ẏ, y′˙ and y″˙ of (y, y′, y″, t) as one program."""
        cached = self._cached("written", self._expanded)
        assert isinstance(cached, Program)
        return cached

    @property
    def series(self) -> SeriesTable:
        """The recurrences of the Taylor series of the expanded rates."""
        cached = self._cached("series", lambda: series_table(self.expanded))
        assert isinstance(cached, SeriesTable)
        return cached

    @property
    def has_series(self) -> bool:
        """True if `taylor` can integrate them."""
        return self._kernel.fused

    @property
    def default_integrator(self) -> str:
        """The default integrator."""
        return "taylor" if self.has_series and self._is_short(_MAX_TAYLOR_LINES) else "dop853"

    def _is_short(self, limit: int) -> bool:
        """True if the expanded equations have at most `limit` lines; long ones are not expanded to be counted."""
        count = 1 + len(self.directions) + (len(pairs(len(self.directions))) if self.order == 2 else 0)
        return len(self._kernel.program.lines) * count <= limit and len(self.expanded.lines) <= limit

    def machine_code(self, constants: np.ndarray) -> CompiledRates | None:
        """The expanded equations as machine code; None if they are too long."""
        if not self._is_short(_MAX_COMPILED_LINES):
            return None
        compiled = self._cached("code", lambda: function_of(self.expanded, self.equations.workspace.engine))
        native = compiled.native if isinstance(compiled, CompiledFunction) else None
        if native is None:
            return None
        tables = np.array(native.tables, dtype=float)
        return CompiledRates(CallableProgram(native.address, constants, tables), len(self.expanded.inputs) - 1, None)

    def _expanded(self) -> Program:
        program = rates_program(self._kernel)
        F, names, k = vector(nodes_of(program)), program.inputs[:-1], len(self.directions)
        y = GRAPH.symbols(names)
        first = [GRAPH.symbols([SymbolKind.TANGENT.of(f"{x}, {i}") for x in names]) for i in range(k)]
        second = {(i, j): GRAPH.symbols([SymbolKind.TANGENT.of(f"{x}, {i}, {j}") for x in names]) for i, j in pairs(k)}
        p = GRAPH.symbols(self.directions.parameters)
        along = [
            ((y, first[i]), (p, vector([int(x) for x in self.directions.parameter_directions[:, i]]))) for i in range(k)
        ]
        rates = [GRAPH.total_derivative(F, *along[i]) for i in range(k)]
        outputs, states = [F, *rates], [y, *first]
        if self.order == 2:
            outputs += [GRAPH.total_derivative(rates[i], *along[j], (first[i], c)) for (i, j), c in second.items()]
            states += list(second.values())
        inputs = [*(str(x) for x in stack(*states)), program.inputs[-1]]
        return program_of([node(x) for x in stack(*outputs)], inputs, program.parameters)

    # integration

    def flat(self, y: WithDerivatives) -> np.ndarray:
        """The state vector of the integrator: y, then y′ by directions, then y″ by pairs."""
        parts = [y.value, y.first.T.ravel()]
        if self.order == 2:
            assert y.second is not None
            i, j = np.array(pairs(len(self.directions))).T
            parts.append(y.second[:, i, j].T.ravel())
        return np.concatenate(parts)

    def varied(self, Y: np.ndarray) -> WithDerivatives:
        """The inverse of `flat`: a state with its derivatives; samples, if any, on the last axis."""
        k, ij = len(self.directions), pairs(len(self.directions))
        count = 1 + k + (len(ij) if self.order == 2 else 0)
        blocks = Y.reshape(count, -1, *Y.shape[1:])
        first = np.moveaxis(blocks[1 : 1 + k], 0, 1)
        if self.order == 1:
            return WithDerivatives(blocks[0], first)
        second = np.empty((blocks.shape[1], k, k, *Y.shape[1:]))
        i, j = np.array(ij).T
        second[:, i, j] = second[:, j, i] = np.moveaxis(blocks[1 + k :], 0, 1)
        return WithDerivatives(blocks[0], first, second)

    def rates(self, t: float, Y: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """The time derivatives of the state vector, one direction in each lane."""
        return self.flat(self.lanes(with_time(self.varied(Y), t), constants, self.directions.parameter_directions))

    def _project(self, constrained: ConstraintDerivatives) -> Callable[[float, np.ndarray], np.ndarray] | None:
        """The projection of state and derivatives onto the constraints; None without constraints."""
        if not constrained.any:
            return None
        manifold, values = self.equations.workspace.manifold, self.equations.values

        def project(t: float, Y: np.ndarray) -> np.ndarray:
            y = self.varied(Y)
            n = len(y.value) // 2
            q = onto_positions(manifold, y.value[:n], t, values)
            qd = onto_velocities(manifold, q, y.value[n:], t, values)
            return self.flat(constrained.tangent(replace(y, value=np.concatenate([q, qd])), t))

        return project

    def along(
        self,
        y: WithDerivatives,
        times: np.ndarray,
        constants: np.ndarray,
        method: str,
        settings: Settings,
        sizes: np.ndarray,
    ) -> WithDerivatives:
        """State and derivatives at `times`, starting at the first; `sizes` are the scales of the directions."""
        base = typical_sizes(self.equations)[: len(y.value)]
        ij = pairs(len(sizes)) if self.order == 2 else []
        scales = [base, *(base / s for s in sizes), *(base / (sizes[i] * sizes[j]) for i, j in ij)]
        names = self._kernel.program.inputs[:-1]
        problem = InitialValueProblem(
            (*names, *(f"slope {i}" for i in range(len(names) * (len(scales) - 1)))),
            float(times[0]),
            self.flat(y),
            _System(self, constants, len(names) // 2),
            np.exp2(np.round(np.log2(np.concatenate(scales)))),
            StepParts(projection=self._project(ConstraintDerivatives(self.equations, self.directions))),
        )
        stepper = find(method)(problem, settings, float(times[-1]))
        return self.varied(integrate(problem, stepper, times, settings).y)


class _System(FirstOrderSystem):
    """The variational equations with the constants of one trajectory segment."""

    def __init__(self, equations: Variations, constants: np.ndarray, positions: int) -> None:
        self._equations, self.constants, self._constants, self.positions = equations, constants, constants, positions

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """The time derivatives of state and derivatives."""
        return self._equations.rates(t, y, self._constants)

    def machine_code(self) -> CompiledRates | None:
        """The expanded rates as machine code, if they are short."""
        return self._equations.machine_code(self._constants)

    def taylor(self) -> CompiledSeries | None:
        """The Taylor series of the expanded rates."""
        equations = self._equations
        if not equations.has_series:
            return None
        return CompiledSeries(equations.series, self._constants)


@dataclass(frozen=True)
class Crossing:
    """An event or switching, its time, and the derivatives of that time along the directions."""

    name: str
    t: float
    first: np.ndarray  # (directions,)

    def __repr__(self) -> str:
        return f"<{self.name} at t = {self.t:.9g}, dt/dp = {np.array2string(self.first, precision=6)}>"


@dataclass(frozen=True)
class SaltationMatrices:
    """The jumps of derivatives at events and switchings, between the segments of a run.

    At a surface g(y, t; p) = 0 that is crossed with ġ ≠ 0, the event time has t′ = −(g_y y′ + g_p p′) / ġ. After the event, with
    y⁺ = R(y, t; p) if velocities are reset, the saltation matrix is applied to y′:

        y⁺′ = R_y (y′ + F⁻t′) + R_t t′ + R_p p′ − F⁺t′.

    If a trajectory touches a surface tangentially, slides along it, or crosses several at once, there is no derivative.
    """

    stretches: Segments
    equations: BoundEquations  # as declared
    directions: Directions
    order: int

    def __post_init__(self) -> None:
        for part in self.stretches.parts:
            if part.constants.ndim == 2:
                raise NotApplicableError(
                    f"sensitivity: from t = {part.solution.t[0]:.9g} the motion slides along a switching surface, as in "
                    "sticking friction; derivatives of sliding motions are not available. End the run before, or smooth the law."
                )

    @cached_property
    def _frozen_model(self) -> FrozenModel:
        return freeze_conditions(self.equations.derivation.setup.declared.replaced(events=()))

    def _instant(self, t: float) -> float:
        """The largest time difference of simultaneous events."""
        parts, scales = self.stretches.parts, self.equations.workspace.facts.scales
        return _SIMULTANEOUS * scales.instant(t, float(parts[-1].solution.t[-1] - parts[0].solution.t[0]))

    def across(
        self, before: RunSegment, after: RunSegment | None, y: WithDerivatives
    ) -> tuple[WithDerivatives, Crossing | None]:
        """State and derivatives after the end of a segment, which may be the end of the run."""
        t, start = _end(before, after)
        events = [each for each in self.stretches.events if abs(each.t - t) <= self._instant(t)]
        events = [each for each in events if each.switching or self._event(each).acts]
        if after is None and not events:
            return y, None
        self._require_no_impulse(events)
        rates = _rates(before, y.value, t)
        rates_after = rates if after is None else _rates(after, start, t)
        if not events:
            self._require_continuous(rates, rates_after, t)
            return y, None
        if len(events) > 1:
            names = " and ".join(each.name for each in events)
            raise NotApplicableError(
                f"sensitivity: {names} are simultaneous at t = {t:.9g}, and the derivatives depend on their order. Change the "
                "initial state, or end the run before."
            )
        if self.order == 2:
            raise NotApplicableError(
                f"sensitivity: {events[0].name} at t = {t:.9g} ends a smooth segment. Second derivatives are available for "
                "smooth motions only. Use order=1, or end the run before."
            )
        return self._saltation(events[0], before, y, t, rates, rates_after)

    def _require_no_impulse(self, events: list[EventRecord]) -> None:
        for each in events:
            if each.switching and not np.array_equal(each.qd, each.after):
                raise NotApplicableError(
                    f"sensitivity: {each.name} at t = {each.t:.9g} makes the velocities jump; derivatives across such a jump are "
                    "not available. Smooth the corner of the prescribed motion, or end the run before."
                )

    def _saltation(
        self,
        event: EventRecord,
        before: RunSegment,
        y: WithDerivatives,
        t: float,
        rates: np.ndarray,
        rates_after: np.ndarray,
    ) -> tuple[WithDerivatives, Crossing]:
        function, moved = self._function(event, before.equations), self.directions.parameter_directions
        values = before.constants
        here = function(with_time(y, t), values, moved)
        flow = WithDerivatives(np.append(y.value, t), np.append(rates, 1.0)[:, None])
        g_rate = function(flow, values, np.zeros((len(moved), 1))).first[0, 0]
        self._require_transversal(event, function, flow.value, values, rates, float(g_rate))
        dt = -here.first[0] / g_rate
        first = y.first + np.outer(rates, dt)
        at = function(WithDerivatives(flow.value, np.concatenate([first, dt[None]])), values, moved)
        return WithDerivatives(at.value[1:], at.first[1:] - np.outer(rates_after, dt)), Crossing(event.name, t, dt)

    def _function(self, record: EventRecord, equations: BoundEquations) -> Differentials:
        """g and the state after the event, as functions of (q, q̇, t)."""
        system = equations.workspace.system
        rates: list[Scalar] = list(system.qd)
        if record.switching:
            g = next(each for each in self._frozen_model.switches if each.title == record.name).at(system.motion)
        else:
            event = self._event(record)
            self._require_constant(event)
            g = system.motion.lower(event.when)
            for name, formula in event.reset.items():
                rates[equations.model.coordinate_names.index(name)] = system.motion.lower(formula)
        outputs = nodes(system.algebra, stack(vector([g]), system.q, vector(rates)))
        inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
        program = program_of(outputs, inputs, list(system.model.parameter_values))
        return Differentials(program, self.directions.parameters, equations.workspace.engine)

    def _event(self, record: EventRecord) -> Event:
        return next(event for event in self.equations.derivation.setup.declared.events if event.name == record.name)

    def _require_constant(self, event: Event) -> None:
        """Raise if an event sets a parameter that has derivatives."""
        for name, formula in event.set.items():
            if name in self.directions.parameters or formula.free_symbols:
                raise NotApplicableError(
                    f"sensitivity: event '{event.name}' sets the parameter '{name}' to {formula}; derivatives through parameters "
                    "that change during the run are not available. Set numbers, and differentiate by other parameters."
                )

    def _require_continuous(self, rates: np.ndarray, new: np.ndarray, t: float) -> None:
        if np.abs(new - rates).max() > _EQUAL * (1.0 + np.abs(rates).max()) or (
            self.order == 2 and self._frozen_model.tables
        ):
            raise NotApplicableError(
                f"sensitivity: at t = {t:.9g} a table of the model has a corner, where derivatives of this order do not exist. "
                "Use a smooth profile instead of the table, or end the run before."
            )

    def _require_transversal(
        self, event: EventRecord, g: Differentials, at: np.ndarray, values: np.ndarray, rates: np.ndarray, g_rate: float
    ) -> None:
        parts = g(
            WithDerivatives(at, np.diag(np.append(rates, 1.0))),
            values,
            np.zeros((len(self.directions.parameter_directions), len(at))),
        )
        if abs(g_rate) <= _TANGENTIAL * float(np.abs(parts.first[0]).sum()):
            raise NotApplicableError(
                f"sensitivity: at t = {event.t:.9g} the motion touches the surface of {event.name} tangentially (grazing), so "
                "there is no derivative. Change the initial state, or end the run before."
            )


def _end(before: RunSegment, after: RunSegment | None) -> tuple[float, np.ndarray]:
    """The end time of a segment, and the initial state (q, q̇) of the next."""
    part, k = (before, -1) if after is None else (after, 0)
    return float(part.solution.t[k]), part.solution.y[: part.equations.n_states, k]


def _rates(part: RunSegment, y: np.ndarray, t: float) -> np.ndarray:
    """(q̇, q̈) at a state by the equations of a segment."""
    return part.equations.kernel.state_rates(y, t, part.constants)[: len(y)]
