"""Gradients of a cost by the adjoint equations: one backward integration for any number of parameters.

For J = Φ(y(T); p) + ∫ L(y, t; p) dt along ẏ = F(y, t; p) the adjoint variables obey λ˙ = −F_yᵀλ − L_y, λ(T) = Φ_y, and

    J′ = Φ_p p′ + λ(0)ᵀ y₀′ + ∫ (λᵀF_p + L_p) p′ dt.

F preserves the constraints and y₀′ is tangent to them, so constrained systems need no additional terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis._directional_derivatives import Directions, directions_of, initial_state_of
from dalembert.analysis._variational_equations import rates_program
from dalembert.analysis.sensitivity import program_by_name, require_differentiable
from dalembert.api.derive import equations_of
from dalembert.api.load import accepts_source
from dalembert.api.simulate import recording_of
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.function import CompiledFunction, function_of
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.codegen.program_derivatives import vector_jacobian
from dalembert.errors import InputError, NotApplicableError
from dalembert.model.description import Elements
from dalembert.model.evaluation import Start
from dalembert.model.immutable import FrozenValue
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.integrators.base import InitialValueProblem, Settings, SimpleSystem
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.interpolant import Piece
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.main_loop import RunOptions, Segments, integrate_segments
from dalembert.simulation.partition import RunSegment
from dalembert.tables import Table, Tabular, format_cell

_TOLERANCE = 1e-11


@dataclass(frozen=True, repr=False)
class Gradient(FrozenValue, Tabular):
    """The value of a cost and its derivatives."""

    value: float
    of: tuple[str, ...]
    slopes: np.ndarray  # (directions,)
    run: Trajectory

    def __getitem__(self, name: str) -> float:
        if name not in self.of:
            raise InputError(
                f"gradient: the cost was not differentiated by '{name}'. Expected one of {', '.join(self.of)}."
            )
        return float(self.slopes[self.of.index(name)])

    def tables(self) -> tuple[Table, ...]:
        """The derivatives, one row for each differentiation variable."""
        rows = tuple((name, format_cell(float(x))) for name, x in zip(self.of, self.slopes, strict=True))
        return (Table(("by", "derivative of the cost"), rows, f"cost {self.value:.9g}"),)

    def __repr__(self) -> str:
        return f"<Gradient of a cost {self.value:.9g} by {', '.join(self.of)}>"


@accepts_source
def gradient(
    model: Elements,
    duration: float | None = None,
    *,
    of: Sequence[Any] | str,
    final: str | None = None,
    integral: str | None = None,
    formalism: str = "lagrange",
    q0: Start = None,
    qd0: Start = None,
    t0: float = 0.0,
    fixed: Sequence[str] = (),
    integrator: str | None = None,
    parameters: Mapping[str, float] | None = None,
) -> Gradient:
    """The gradient of a cost with respect to parameters and initial values, by the adjoint equations.

    The cost is the sum of `final` and the time integral of `integral`; one of them may be omitted. Its run time hardly depends on
    the number of names in `of`.

    Parameters
    ----------
    of : sequence of str
        Parameters `l`, initial coordinates `theta(0)` and initial rates `dot(theta)(0)`.
    final : str, optional
        A formula of the final state, as in `Sensitivity.observe`.
    integral : str, optional
        A formula that is integrated over time.

    Returns
    -------
    Gradient
        The cost `value`, its derivatives `slopes` in the order of `of`, and the run.

    Raises
    ------
    InputError
        If neither cost is defined, or a name or formula is unknown.
    NotApplicableError
        If the model cannot be differentiated.

    See Also
    --------
    sensitivity : Derivatives of the whole motion.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("oscillator").parameters(m=1.0, k=4.0).coordinates("x").start([1.0], [0.0])
    >>> _ = model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))
    >>> found = gradient(model, 1.0, of=["x(0)", "k"], final="x")
    >>> bool(np.allclose(found.slopes, [np.cos(2), -np.sin(2) / 4])), round(found.value, 9)
    (True, -0.416146837)
    """
    if final is None and integral is None:
        raise InputError("gradient: no cost is defined. Give `final` or `integral`, such as final='x**2'.")
    equations = equations_of(model, formalism)
    equations = equations.with_parameters(parameters) if parameters else equations
    require_differentiable(equations, "gradient")
    directions = directions_of(equations.model, of, "gradient")
    equations.derivation.require_differentiable_by(directions.parameters, "gradient")
    y = initial_state_of(equations, directions, q0, qd0, t0, fixed).at(equations, {}, 1)
    n = directions.coordinates
    settings = Settings(dense=True)
    found = integrate_segments(
        equations, RunOptions(duration, y.value[:n], y.value[n:], t0, integrator, 2, None, True, settings, False)
    )
    _require_smooth(found, equations)
    value, weights, by_parameters = _cost_at_end(found.parts[-1], directions, final)
    slopes = directions.parameter_directions.T @ by_parameters
    end = float(found.parts[-1].solution.t[-1])
    for part in reversed(found.parts):
        weights, more, by_parameters = _Backwards(part, directions, integral).run(weights, end)
        value, slopes = value + more, slopes + directions.parameter_directions.T @ by_parameters
        end = float(part.solution.t[0])
    return Gradient(value, directions.names, slopes + weights @ y.first, recording_of(equations, found).trajectory())


def _require_smooth(found: Segments, equations: BoundEquations) -> None:
    acting = {event.name for event in equations.derivation.setup.declared.events if event.acts}
    events = [each for each in found.events if each.switching or each.name in acting]
    if any(part.constants.ndim == 2 for part in found.parts) or events:
        what = events[0] if events else None
        raise NotApplicableError(
            f"gradient: {'the motion slides' if what is None else f'{what.name} occurs at t = {what.t:.9g}'}; the adjoint "
            "equations are available for smooth motions only. Use `dl.sensitivity`, or end the run before."
        )


def _cost(equations: BoundEquations, name: str | None, others: Program | None = None) -> Program:
    """A cost of (q, q̇, t) appended to other outputs; no output without a cost."""
    cost = None if name is None else program_by_name(equations, name)
    if cost is not None and len(cost.outputs) != 1:
        raise InputError(f"gradient: '{name}' has {len(cost.outputs)} rows. Expected a scalar, such as a formula.")
    inputs = rates_program(equations.kernel) if others is None else others
    outputs = ([] if others is None else nodes_of(others)) + ([] if cost is None else nodes_of(cost))
    return program_of(outputs, inputs.inputs, inputs.parameters)


def _cost_at_end(part: RunSegment, directions: Directions, cost: str | None) -> tuple[float, np.ndarray, np.ndarray]:
    """The cost at the final state of a segment, and its derivatives by the state and by the parameters."""
    size = part.equations.n_states
    if cost is None:
        return 0.0, np.zeros(size), np.zeros(len(directions.parameters))
    program = _cost(part.equations, cost)
    by = [*program.inputs[:-1], *directions.parameters]
    engine = part.equations.workspace.engine
    x = np.append(part.solution.y[:size, -1], part.solution.t[-1])
    slopes = function_of(vector_jacobian(program, by), engine)(np.append(x, 1.0), part.constants)
    value = function_of(program, engine)(x, part.constants)
    return float(value[0]), slopes[:size], slopes[size:]


@dataclass(frozen=True)
class _Backwards:
    """The adjoint equations along one trajectory segment."""

    part: RunSegment
    directions: Directions
    integral: str | None

    def _functions(self) -> tuple[CompiledFunction, CompiledFunction | None]:
        """(F_yᵀw, F_pᵀw) with the cost among the outputs, and the cost itself."""
        equations, engine = self.part.equations, self.part.equations.workspace.engine
        program = _cost(equations, self.integral, rates_program(equations.kernel))
        by = [*program.inputs[:-1], *self.directions.parameters]
        cost = None if self.integral is None else function_of(_cost(equations, self.integral), engine)
        return function_of(vector_jacobian(program, by), engine), cost

    def run(self, weights: np.ndarray, end: float) -> tuple[np.ndarray, float, np.ndarray]:
        """λ at the start of the segment from λ at its end, the integral of the cost, and that of λᵀF_p + L_p."""
        slopes, cost = self._functions()
        size, count = len(weights), len(self.directions.parameters)
        state, constants, one = _motion(self.part), self.part.constants, [] if cost is None else [1.0]

        def rates(s: float, z: np.ndarray) -> np.ndarray:
            x = np.append(state(end - s)[:size], end - s)
            found = slopes(np.concatenate([x, z[:size], one]), constants)
            return np.concatenate([found, [0.0] if cost is None else cost(x, constants)])

        start = np.concatenate([weights, np.zeros(count + 1)])
        sizes = np.maximum(np.abs(start), max(float(np.abs(weights).max()), 1.0))
        names = tuple(f"adjoint {i}" for i in range(len(start)))
        problem = InitialValueProblem(names, 0.0, start, SimpleSystem(rates), sizes)
        settings = Settings(rtol=_TOLERANCE)
        span = end - float(self.part.solution.t[0])
        stepper = find("dop853")(problem, settings, span)
        z = integrate(problem, stepper, np.array([0.0, span]), settings).y[:, -1]
        return z[:size], float(z[-1]), z[size:-1]


def _motion(part: RunSegment) -> Callable[[float], np.ndarray]:
    """The state as a function of time within a segment."""
    pieces: Sequence[Piece] = part.solution.dense
    starts = np.array([piece.t0 for piece in pieces])

    def state(t: float) -> np.ndarray:
        return pieces[max(0, int(np.searchsorted(starts, t, side="right")) - 1)](t)

    return state
