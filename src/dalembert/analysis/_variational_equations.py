"""The variational equations: derivatives of a motion, integrated with it.

With ẏ = F(y, t; p), y = (q, q̇), the derivatives along directions obey

    y′˙ = F_y y′ + F_p p′,    y″˙ = F_zz[z′, z′] + F_y y″,    z = (y, p).

Written out they are one program, for `taylor` and as machine code; where that would be long, a direction stands in each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.analysis._directional_derivatives import Constrained, Differentials, Directions, Varied, pairs, with_time
from dalembert.codegen import heyoka_backend
from dalembert.codegen.compiled_loop import Machine
from dalembert.codegen.function import Function, function_of, nodes
from dalembert.codegen.heyoka_backend import TaylorMachine
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.errors import NotApplicableError
from dalembert.model.discontinuities import Held, held
from dalembert.model.elements import Event
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import onto_positions, onto_velocities
from dalembert.simulation.integrators.base import (
    FirstOrderSystem,
    InitialValueProblem,
    MachineCode,
    Settings,
    StepParts,
    TaylorIntegrator,
)
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.main_loop import Stretches
from dalembert.simulation.partition import Part
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.segment_problem import usual_sizes
from dalembert.simulation.trajectory_data import EventRecord
from dalembert.symbolic.algebra_base import Scalar, stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import Kind

_SHORT = 1500  # lines of the written-out equations up to which taylor is taken by itself: heyoka needs two seconds
_LONGEST = 20_000  # lines up to which other methods take them as machine code, compiled in about two seconds
_SAME = 1e-13  # of the time, or of the time of the model: happenings as close as this are at one instant
_ALONG = 1e-6  # of the size of its parts: a rate of g below this is none
_ALIKE = 1e-9  # of the rates: what is less apart is the same


def rates_program(kernel: Kernel) -> Program:
    """(q̇, q̈) of (q, q̇, t) without the powers."""
    whole = kernel.program
    states = nodes_of(replace(whole, outputs=whole.outputs[: kernel.form.n_states]))
    return program_of(states, whole.inputs, whole.parameters)


@dataclass(frozen=True)
class Variations:
    """The variational equations of one set of equations along directions, of first or second order."""

    equations: BoundEquations
    directions: Directions
    order: int

    @property
    def _kernel(self) -> Kernel:
        return self.equations.kernel

    def _kept(self, what: str, make: Callable[[], object]) -> object:
        """What is made once for these equations and directions."""
        key = (what, self.directions, self.order)
        if key not in self._kernel.kept:
            self._kernel.kept[key] = make()
        return self._kernel.kept[key]

    @property
    def lanes(self) -> Differentials:
        """F with a direction in each lane."""
        engine, by = self.equations.workspace.engine, self.directions.parameters
        made = self._kept("lanes", lambda: Differentials(rates_program(self._kernel), by, engine))
        assert isinstance(made, Differentials)
        return made

    @property
    def written(self) -> Program:
        """ẏ, y′˙ and y″˙ of (y, y′, y″, t) as one program."""
        made = self._kept("written", self._written_out)
        assert isinstance(made, Program)
        return made

    @property
    def machine(self) -> TaylorMachine:
        """The maker of Taylor integrators."""
        made = self._kept("machine", lambda: TaylorMachine(self.written))
        assert isinstance(made, TaylorMachine)
        return made

    @property
    def has_series(self) -> bool:
        """True where `taylor` can step them."""
        return self._kernel.fused and heyoka_backend.is_installed()

    @property
    def usual(self) -> str:
        """The integrator that is taken by itself."""
        return "taylor" if self.has_series and self._few(_SHORT) else "dop853"

    def _few(self, most: int) -> bool:
        """True where the written-out equations have no more lines; long ones are not written out to be counted."""
        count = 1 + len(self.directions) + (len(pairs(len(self.directions))) if self.order == 2 else 0)
        return len(self._kernel.program.lines) * count <= most and len(self.written.lines) <= most

    def machine_code(self, constants: np.ndarray) -> MachineCode | None:
        """The written-out equations as machine code."""
        if not self._few(_LONGEST):
            return None
        made = self._kept("code", lambda: function_of(self.written, self.equations.workspace.engine))
        native = made.native if isinstance(made, Function) else None
        if native is None:
            return None
        tables = np.array(native.tables, dtype=float)
        return MachineCode(Machine(native.address, constants, tables), len(self.written.inputs) - 1, None)

    def _written_out(self) -> Program:
        program = rates_program(self._kernel)
        F, names, k = vector(nodes_of(program)), program.inputs[:-1], len(self.directions)
        y = GRAPH.symbols(names)
        first = [GRAPH.symbols([Kind.SLOPE.of(f"{x}, {i}") for x in names]) for i in range(k)]
        second = {(i, j): GRAPH.symbols([Kind.SLOPE.of(f"{x}, {i}, {j}") for x in names]) for i, j in pairs(k)}
        p = GRAPH.symbols(self.directions.parameters)
        along = [((y, first[i]), (p, vector([int(x) for x in self.directions.moved[:, i]]))) for i in range(k)]
        rates = [GRAPH.total_derivative(F, *along[i]) for i in range(k)]
        outputs, states = [F, *rates], [y, *first]
        if self.order == 2:
            outputs += [GRAPH.total_derivative(rates[i], *along[j], (first[i], c)) for (i, j), c in second.items()]
            states += list(second.values())
        inputs = [*(str(x) for x in stack(*states)), program.inputs[-1]]
        return program_of([node(x) for x in stack(*outputs)], inputs, program.parameters)

    # integrating

    def flat(self, y: Varied) -> np.ndarray:
        """The states of the integrator: y, then y′ direction by direction, then y″ pair by pair."""
        parts = [y.value, y.first.T.ravel()]
        if self.order == 2:
            assert y.second is not None
            i, j = np.array(pairs(len(self.directions))).T
            parts.append(y.second[:, i, j].T.ravel())
        return np.concatenate(parts)

    def varied(self, Y: np.ndarray) -> Varied:
        """The same as a state with its derivatives; samples on the last axis, if there are such."""
        k, ij = len(self.directions), pairs(len(self.directions))
        count = 1 + k + (len(ij) if self.order == 2 else 0)
        blocks = Y.reshape(count, -1, *Y.shape[1:])
        first = np.moveaxis(blocks[1 : 1 + k], 0, 1)
        if self.order == 1:
            return Varied(blocks[0], first)
        second = np.empty((blocks.shape[1], k, k, *Y.shape[1:]))
        i, j = np.array(ij).T
        second[:, i, j] = second[:, j, i] = np.moveaxis(blocks[1 + k :], 0, 1)
        return Varied(blocks[0], first, second)

    def rates(self, t: float, Y: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """The rates of the states, a direction in each lane."""
        return self.flat(self.lanes(with_time(self.varied(Y), t), constants, self.directions.moved))

    def _project(self, constrained: Constrained) -> Callable[[float, np.ndarray], np.ndarray] | None:
        """Brings state and derivatives back onto the constraints."""
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
        self, y: Varied, times: np.ndarray, constants: np.ndarray, method: str, settings: Settings, sizes: np.ndarray
    ) -> Varied:
        """State and derivatives at `times`, from the first of them on; `sizes` are those of the directions."""
        own = usual_sizes(self.equations)[: len(y.value)]
        ij = pairs(len(sizes)) if self.order == 2 else []
        scales = [own, *(own / s for s in sizes), *(own / (sizes[i] * sizes[j]) for i, j in ij)]
        names = self._kernel.program.inputs[:-1]
        problem = InitialValueProblem(
            (*names, *(f"slope {i}" for i in range(len(names) * (len(scales) - 1)))),
            float(times[0]),
            self.flat(y),
            _System(self, constants, len(names) // 2),
            np.exp2(np.round(np.log2(np.concatenate(scales)))),
            StepParts(projection=self._project(Constrained(self.equations, self.directions))),
        )
        stepper = find(method)(problem, settings, float(times[-1]))
        return self.varied(integrate(problem, stepper, times, settings).y)


class _System(FirstOrderSystem):
    """The variational equations with the constants of one segment."""

    def __init__(self, equations: Variations, constants: np.ndarray, positions: int) -> None:
        self._equations, self.constants, self._constants, self.positions = equations, constants, constants, positions

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """The rates of state and derivatives."""
        return self._equations.rates(t, y, self._constants)

    def machine_code(self) -> MachineCode | None:
        """The rates written out, where they are short."""
        return self._equations.machine_code(self._constants)

    def taylor(self, tolerance: float | None, sizes: np.ndarray) -> TaylorIntegrator | None:
        """heyoka's integrator of the rates written out."""
        if not self._equations.has_series:
            return None
        return self._equations.machine.make(tolerance, self._constants, sizes)


@dataclass(frozen=True)
class Crossing:
    """An event or switching, when it happened, and how that instant moves with what is differentiated by."""

    name: str
    t: float
    first: np.ndarray  # (directions,)

    def __repr__(self) -> str:
        return f"<{self.name} at t = {self.t:.9g}, moves by {np.array2string(self.first, precision=6)}>"


@dataclass(frozen=True)
class Jumps:
    """What events and switchings do to derivatives, between the stretches of a run.

    At a surface g(y, t; p) = 0 that is crossed with ġ ≠ 0, the instant moves by t′ = −(g_y y′ + g_p p′) / ġ, and behind it, with
    y⁺ = R(y, t; p) where velocities are reset, the saltation matrix is applied to y′:

        y⁺′ = R_y (y′ + F⁻t′) + R_t t′ + R_p p′ − F⁺t′.

    Where a motion touches a surface, slides along it, or meets several at once, there is no derivative.
    """

    stretches: Stretches
    equations: BoundEquations  # as they were declared
    directions: Directions
    order: int

    def __post_init__(self) -> None:
        for part in self.stretches.parts:
            if part.constants.ndim == 2:
                raise NotApplicableError(
                    f"sensitivity: from t = {part.solution.t[0]:.9g} on the motion slides along a switching surface, as dry "
                    "friction sticks, and derivatives along such a stretch are not known. End the run before, or smooth the law."
                )

    @cached_property
    def _held(self) -> Held:
        return held(self.equations.derivation.setup.declared.replaced(events=()))

    def _instant(self, t: float) -> float:
        """How far apart happenings at one instant may be."""
        parts, scales = self.stretches.parts, self.equations.workspace.facts.scales
        return _SAME * scales.instant(t, float(parts[-1].solution.t[-1] - parts[0].solution.t[0]))

    def across(self, before: Part, after: Part | None, y: Varied) -> tuple[Varied, Crossing | None]:
        """State and derivatives behind the end of a stretch, where the run may end, too."""
        t, start = _end(before, after)
        happened = [each for each in self.stretches.happened if abs(each.t - t) <= self._instant(t)]
        happened = [each for each in happened if each.switching or self._event(each).acts]
        if after is None and not happened:
            return y, None
        self._require_no_impulse(happened)
        rates = _rates(before, y.value, t)
        new = rates if after is None else _rates(after, start, t)
        if not happened:
            self._require_alike(rates, new, t)
            return y, None
        if len(happened) > 1:
            names = " and ".join(each.name for each in happened)
            raise NotApplicableError(
                f"sensitivity: {names} happen at one instant, t = {t:.9g}, and derivatives depend on which comes first. Change "
                "the start, or end the run before."
            )
        if self.order == 2:
            raise NotApplicableError(
                f"sensitivity: {happened[0].name} at t = {t:.9g} ends a smooth stretch. Second derivatives are known along "
                "smooth motions only. Ask for order=1, or end the run before."
            )
        return self._saltation(happened[0], before, y, t, rates, new)

    def _require_no_impulse(self, happened: list[EventRecord]) -> None:
        for each in happened:
            if each.switching and not np.array_equal(each.qd, each.after):
                raise NotApplicableError(
                    f"sensitivity: {each.name} at t = {each.t:.9g} makes the velocities jump, and derivatives across such a jump "
                    "are not known. Round the kink of the prescribed motion off, or end the run before."
                )

    def _saltation(
        self, what: EventRecord, before: Part, y: Varied, t: float, rates: np.ndarray, new: np.ndarray
    ) -> tuple[Varied, Crossing]:
        function, moved = self._function(what, before.equations), self.directions.moved
        values = before.constants
        here = function(with_time(y, t), values, moved)
        flow = Varied(np.append(y.value, t), np.append(rates, 1.0)[:, None])
        slope = function(flow, values, np.zeros((len(moved), 1))).first[0, 0]
        self._require_transversal(what, function, flow.value, values, rates, float(slope))
        instant = -here.first[0] / slope
        first = y.first + np.outer(rates, instant)
        at = function(Varied(flow.value, np.concatenate([first, instant[None]])), values, moved)
        return Varied(at.value[1:], at.first[1:] - np.outer(new, instant)), Crossing(what.name, t, instant)

    def _function(self, what: EventRecord, equations: BoundEquations) -> Differentials:
        """g and the state behind, of (q, q̇, t)."""
        system = equations.workspace.system
        rates: list[Scalar] = list(system.qd)
        if what.switching:
            g = next(each for each in self._held.switches if each.title == what.name).at(system.motion)
        else:
            event = self._event(what)
            self._require_constant(event)
            g = system.motion.lower(event.when)
            for name, formula in event.reset.items():
                rates[equations.model.coordinate_names.index(name)] = system.motion.lower(formula)
        outputs = nodes(system.algebra, stack(vector([g]), system.q, vector(rates)))
        inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
        program = program_of(outputs, inputs, list(system.model.parameter_values))
        return Differentials(program, self.directions.parameters, equations.workspace.engine)

    def _event(self, what: EventRecord) -> Event:
        return next(event for event in self.equations.derivation.setup.declared.events if event.name == what.name)

    def _require_constant(self, event: Event) -> None:
        """Parameters that an event sets must not carry derivatives."""
        for name, formula in event.set.items():
            if name in self.directions.parameters or formula.free_symbols:
                raise NotApplicableError(
                    f"sensitivity: event '{event.name}' sets the parameter '{name}' to {formula}, and derivatives through "
                    "parameters that change on the way are not known. Set numbers, and differentiate by others."
                )

    def _require_alike(self, rates: np.ndarray, new: np.ndarray, t: float) -> None:
        if np.abs(new - rates).max() > _ALIKE * (1.0 + np.abs(rates).max()) or (self.order == 2 and self._held.tables):
            raise NotApplicableError(
                f"sensitivity: at t = {t:.9g} a table of the model has a corner that derivatives of this order do not pass. "
                "Use a smooth profile in place of the table, or end the run before."
            )

    def _require_transversal(
        self, what: EventRecord, g: Differentials, at: np.ndarray, values: np.ndarray, rates: np.ndarray, slope: float
    ) -> None:
        parts = g(Varied(at, np.diag(np.append(rates, 1.0))), values, np.zeros((len(self.directions.moved), len(at))))
        if abs(slope) <= _ALONG * float(np.abs(parts.first[0]).sum()):
            raise NotApplicableError(
                f"sensitivity: at t = {what.t:.9g} the motion only touches the surface of {what.name}, so the next motion "
                "would miss it, and there is no derivative. Change the start, or end the run before."
            )


def _end(before: Part, after: Part | None) -> tuple[float, np.ndarray]:
    """The end of a stretch, and the state (q, q̇) that the next begins with."""
    part, place = (before, -1) if after is None else (after, 0)
    return float(part.solution.t[place]), part.solution.y[: part.equations.n_states, place]


def _rates(part: Part, y: np.ndarray, t: float) -> np.ndarray:
    """(q̇, q̈) at a state by the equations of a stretch."""
    return part.equations.kernel.state_rates(y, t, part.constants)[: len(y)]
