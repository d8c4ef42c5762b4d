"""The variational equations: derivatives of a motion, integrated with it.

With ẏ = F(y, t; p), y = (q, q̇), the derivatives along directions obey

    y′˙ = F_y y′ + F_p p′,    y″˙ = F_zz[z′, z′] + F_y y″,    z = (y, p).

Written out they are one program, for `taylor` and as machine code; where that would be long, a direction stands in each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dalembert.analysis.constrained_sensitivity import Constrained
from dalembert.analysis.directional_derivatives import Differentials, Directions, Varied, pairs, with_time
from dalembert.codegen import heyoka_backend
from dalembert.codegen.compiled_loop import Machine
from dalembert.codegen.function import Function, function_of
from dalembert.codegen.heyoka_backend import TaylorMachine
from dalembert.codegen.program import Program, nodes_of, program_of
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
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.segment_problem import usual_sizes
from dalembert.symbolic.algebra_base import stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import Kind

_SHORT = 1500  # lines of the written-out equations up to which taylor is taken by itself: heyoka needs two seconds
_LONGEST = 20_000  # lines up to which other methods take them as machine code, compiled in about two seconds


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
        made = self._kept(
            "lanes",
            lambda: Differentials(
                rates_program(self._kernel), self.directions.parameters, self.equations.workspace.engine
            ),
        )
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
