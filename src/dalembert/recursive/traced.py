"""Programs of the recursions: traced once over the graph, with the numbers of the model folded in.

A program takes rows of numbers in this order: q, then s and ṡ or τ if needed, named parameters, t. Its last output is a validity
check, which is within −1 … 1 if all is valid. It is cheap and may report false alarms; then `tree_dynamics` examines the state.

    finite       Σ outputs, and inputs except t that affect no output, times 10⁻²⁰⁰; callers check t
    regular      pivots of the inertia matrix against 10⁻¹⁰ of its diagonal, evaluated at a few states
    unit norm    |q|² − 1 of quaternions, within the tolerance of states
    consistent   for forces along actuated speeds: φ, A s and A ṡ of tied coordinates, within that tolerance
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from dalembert.codegen.program import Program, program_of
from dalembert.mechanics.state_batch import random_guesses
from dalembert.model.description import Elements
from dalembert.recursive._derivatives import Symbols, forward_derivatives, inverse_derivatives
from dalembert.recursive._transforms import absent
from dalembert.recursive.composite_inertia import coriolis_matrix, diagonal, mass_matrix
from dalembert.recursive.constraint_batch import rows_over
from dalembert.recursive.forward import forward_dynamics, hybrid_dynamics
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import Moving, moving
from dalembert.recursive.load_forces import WrenchFrame, load_forces, load_powers, wrench_forces
from dalembert.recursive.plan import TOLERANCE, TreePlan
from dalembert.recursive.point_jacobians import (
    body_poses,
    mass_center,
    momentum_matrix,
    point_jacobian,
    point_velocity,
)
from dalembert.recursive.tied_speeds import tied_forward_dynamics
from dalembert.symbolic.algebra_base import Array, Parameters, Scalar, stack, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, node, ordered
from dalembert.symbolic.symbols import SymbolKind

TINY = 1e-200  # factor that makes a number negligible beside 1 unless it is infinite
_WEAK = 1e-10  # pivots below this fraction of the diagonal fail the validity check
_STATES = 8


@dataclass(frozen=True)
class Detail:
    """Options of a task: parameters that remain symbols, bodies, speeds, and bodies with external wrenches in a frame."""

    named: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    prescribed: tuple[int, ...] = ()  # speeds with prescribed accelerations
    actuated: tuple[int, ...] = ()  # speeds along which the forces act
    wrenches: tuple[str, ...] = ()
    frame: WrenchFrame = "world"


@dataclass(frozen=True)
class Names:
    """The symbols of a program, by group."""

    q: tuple[str, ...]
    s: tuple[str, ...]
    sd: tuple[str, ...]
    tau: tuple[str, ...]

    base: tuple[str, ...]  # of an integration step: coordinates and speeds at its start
    total: tuple[str, ...]  # accumulated coordinates and speeds at its end
    weights: tuple[str, ...] = ("weight(total)", "weight(next)")  # times the length of the step
    step: tuple[str, ...] = ("step()",)
    point: tuple[str, ...] = ("point(x)", "point(y)", "point(z)")  # of a body, in its axes
    wrenches: tuple[str, ...] = ()  # components of external wrenches
    named: tuple[str, ...] = ()  # parameters

    def of(self, groups: Sequence[str]) -> list[str]:
        """The inputs of a program with these groups, and the time."""
        return [*(name for group in groups for name in getattr(self, group)), *self.wrenches, *self.named, "t"]


def names_of(plan: TreePlan, detail: Detail) -> Names:
    """The symbols of a model: coordinates and speeds by name, the quantities of the speeds, and those of a task."""
    speeds = plan.tree.speed_names
    coordinates = tuple(plan.tree.model.coordinate_names)
    sd, tau = tuple(map(SymbolKind.TANGENT.of, speeds)), tuple(map(SymbolKind.FORCE.of, speeds))
    base, total = (tuple(f"{word}({x})" for x in (*coordinates, *speeds)) for word in ("base", "total"))
    wrenches = tuple(f"wrench({k} of {body})" for body in detail.wrenches for k in range(6))
    return Names(coordinates, speeds, sd, tau, base, total, wrenches=wrenches, named=detail.named)


@dataclass(frozen=True)
class Trace:
    """A tree in motion over symbols: the input of the functions below."""

    plan: TreePlan
    friction: bool
    parameters: Parameters
    at_rest: bool  # at s = 0
    detail: Detail

    @cached_property
    def names(self) -> Names:
        """The symbols."""
        return names_of(self.plan, self.detail)

    @cached_property
    def q(self) -> list[Scalar]:
        """The coordinates."""
        return list(GRAPH.symbols(self.names.q))

    @cached_property
    def s(self) -> list[Scalar]:
        """The speeds."""
        return [0] * len(self.names.s) if self.at_rest else list(GRAPH.symbols(self.names.s))

    @cached_property
    def t(self) -> Scalar:
        """The time."""
        return GRAPH.symbols(["t"])[0]

    @cached_property
    def moving(self) -> Moving:
        """The links, in optimized frames if all constants are numbers."""
        constants = None if self.detail.named else self.plan.link_constants
        return moving(self.plan.tree, GRAPH, self.t, self.q, self.s, self.parameters, constants)

    @cached_property
    def declared(self) -> Moving:
        """The links in the frames of the model."""
        return moving(self.plan.tree, GRAPH, self.t, self.q, self.s, self.parameters)

    @cached_property
    def loads(self) -> Array:
        """The generalized forces of the loads and external wrenches along the speeds."""
        loads = load_forces(self._loaded, self.moving, self.t, self.q, self.s, self.parameters)
        if not self.detail.wrenches:
            return loads
        values = list(GRAPH.symbols(self.names.wrenches))
        return loads + wrench_forces(self.declared, self.detail.wrenches, self.detail.frame, values)

    @cached_property
    def powers(self) -> Array:
        """The power of each load."""
        return load_powers(self._loaded, self.moving, self.t, self.q, self.s, self.parameters)

    @property
    def _loaded(self) -> Elements:
        return self.plan.model if self.friction else self.plan.frictionless

    @property
    def at(self) -> tuple[str, Array]:
        """The requested body, and a point in its axes."""
        (body,) = self.detail.bodies
        return body, GRAPH.symbols(self.names.point)

    def rate_of(self, found: Array, *more: tuple[Array, Array]) -> Array:
        """The total derivative of a function of (q, t); also of s, if its rate is passed as `more`."""
        qd = to_rates(self.plan.tree, GRAPH, self.q, self.s)
        return GRAPH.total_derivative(found, (vector(self.q), qd), (vector([self.t]), vector([1])), *more)


@dataclass(frozen=True)
class Outputs:
    """The outputs of a program, pivots that must be positive, 0 for a speed without pivot, and errors of at most 1 in size."""

    values: Array
    pivots: Array | None = None
    errors: Sequence[Scalar] = ()


def _inverse(trace: Trace) -> Outputs:
    """τ of the tree; or, with tied coordinates, forces along the actuated speeds that produce the same motion."""
    sd = GRAPH.symbols(trace.names.sd)
    tau, ties, chosen = inverse_dynamics(trace.moving, sd) - trace.loads, trace.plan.ties, trace.detail.actuated
    if ties is None or not chosen:
        return Outputs(tau)
    found, P = zeros(len(tau)), ties.force_map(chosen)
    assert P is not None
    for i, j in np.argwhere(P):
        found[i] = found[i] + float(P[i, j]) * tau[j]
    rows, sizes, T = rows_over(trace.plan, trace.declared, trace.q, trace.s), trace.plan.sizes, trace.plan.scales.time
    levels = (rows.phi, 1.0), (rows.velocity, T), (rows.A @ sd, T**2)
    errors = [
        x * (unit / (TOLERANCE * size))
        for level, unit in levels
        for x, size in zip(level, np.where(sizes > 0, sizes, 1.0), strict=True)
    ]
    return Outputs(found, None, errors)


def _accelerations(trace: Trace) -> tuple[Array, Array]:
    """ṡ under the forces τ and the loads, and pivots."""
    tau, ties = GRAPH.symbols(trace.names.tau) + trace.loads, trace.plan.ties
    return forward_dynamics(trace.moving, tau) if ties is None else tied_forward_dynamics(trace.moving, ties, tau)


def _hybrid(trace: Trace) -> Outputs:
    """ṡ above τ, both of all speeds."""
    sd, tau = (vector(list(GRAPH.symbols(names))) for names in (trace.names.sd, trace.names.tau))
    found = hybrid_dynamics(trace.moving, trace.detail.prescribed, sd, tau, trace.loads)
    return Outputs(np.stack([found.sd, found.tau]), found.pivots)


def _gravity(trace: Trace) -> Outputs:
    """Generalized forces that balance gravity, independent of the motion: (25), (26) at rest."""
    links = [replace(link, rates=0 * link.rates, drift=0 * link.drift) for link in trace.moving.links]
    return Outputs(inverse_dynamics(replace(trace.moving, links=tuple(links)), zeros(len(trace.s))))


def _constrained_terms(trace: Trace) -> Outputs:
    """M, h, A and β of M ṡ = h + Aᵀλ, A ṡ = β, concatenated."""
    M = mass_matrix(trace.moving)
    h = GRAPH.symbols(trace.names.tau) + trace.loads - inverse_dynamics(trace.moving, zeros(len(trace.s)))
    rows = rows_over(trace.plan, trace.declared, trace.q, trace.s)
    return Outputs(stack(M.ravel(), h, rows.A.ravel(), rows.beta))


def _rows(trace: Trace) -> Outputs:
    """A, β, the velocity level and φ of the constraints, concatenated."""
    rows = rows_over(trace.plan, trace.declared, trace.q, trace.s)
    return Outputs(stack(rows.A.ravel(), rows.beta, rows.velocity, rows.phi))


def _forward_derivatives(trace: Trace) -> Outputs:
    tau = GRAPH.symbols(trace.names.tau)
    return Outputs(*forward_derivatives(trace.moving, trace.loads, _symbols(trace), tau, trace.plan.ties))


def _symbols(trace: Trace) -> Symbols:
    names = trace.names
    return Symbols(*(GRAPH.symbols(group) for group in (names.q, names.s, names.sd, names.named)))


def _poses(trace: Trace) -> Outputs:
    """p_WB and the rows of R_WB of every requested body."""
    return Outputs(vector([x for p, R in body_poses(trace.declared, trace.detail.bodies) for x in (*p, *R.ravel())]))


def _position(trace: Trace) -> Outputs:
    ((p, R),) = body_poses(trace.declared, trace.detail.bodies)
    return Outputs(p + R @ GRAPH.symbols(trace.names.point))


def _acceleration(trace: Trace) -> Outputs:
    found = point_velocity(trace.declared, *trace.at)
    return Outputs(trace.rate_of(found, (vector(trace.s), GRAPH.symbols(trace.names.sd))))


def _centroidal(trace: Trace) -> Outputs:
    A = momentum_matrix(trace.moving)
    return Outputs(np.concatenate([A, (A @ vector(trace.s))[:, None]], axis=1))


def _semi_implicit(trace: Trace) -> Outputs:
    """One semi-implicit step: speeds first, then the coordinates with the new speeds."""
    dt = GRAPH.symbols(trace.names.step)[0]
    sd, pivots = _accelerations(trace)
    s = [x + dt * y for x, y in zip(trace.s, sd, strict=True)]
    rates = to_rates(trace.plan.tree, GRAPH, trace.q, s)
    q = vector([x + dt * xd for x, xd in zip(trace.q, rates, strict=True)])
    return Outputs(_consistent(trace, stack(q, vector(s))), pivots)


def _stage(trace: Trace) -> Outputs:
    """One stage of a Runge–Kutta step: the next evaluation point, base + c k, and the accumulated result, total + b k."""
    sd, pivots = _accelerations(trace)
    k = stack(to_rates(trace.plan.tree, GRAPH, trace.q, trace.s), sd)
    b, c = GRAPH.symbols(trace.names.weights)
    base, total = GRAPH.symbols(trace.names.base), GRAPH.symbols(trace.names.total)
    following = vector([x + c * y for x, y in zip(base, k, strict=True)])
    summed = _tied(trace, vector([x + b * y for x, y in zip(total, k, strict=True)]))
    return Outputs(stack(_consistent(trace, following), summed), pivots)


def _tied(trace: Trace, states: Array) -> Array:
    """States (q, s) with tied coordinates and speeds replaced by their functions of independent ones."""
    ties, n = trace.plan.ties, len(trace.q)
    return states if ties is None else stack(ties.substituted(states[:n]), ties.substituted_speeds(states[n:]))


def _consistent(trace: Trace, states: Array) -> Array:
    """States (q, s) that satisfy the ties, with normalized quaternions."""
    out = vector(list(_tied(trace, states)))
    for attitude in trace.plan.tree.attitudes:
        size = GRAPH.sqrt(sum(out[i] * out[i] for i in attitude.parts))
        for i in attitude.parts:
            out[i] = out[i] / size
    return out


@dataclass(frozen=True)
class DynamicsTask:
    """One function of the dynamics: its inputs, its tracing function, and the shape of its result for n speeds."""

    groups: tuple[str, ...]
    trace: Callable[[Trace], Outputs]
    shape: Callable[[Names, Detail], tuple[int, ...]] = lambda names, detail: (len(names.s),)


def _square(names: Names, detail: Detail) -> tuple[int, ...]:
    return len(names.s), len(names.s)


def _six_rows(names: Names, detail: Detail) -> tuple[int, ...]:
    return 6, len(names.s)


def _derivative_shape(names: Names, detail: Detail) -> tuple[int, ...]:
    return len(names.s), 3 * len(names.s) + len(names.named)


TASKS: dict[str, DynamicsTask] = {
    "inverse": DynamicsTask(("q", "s", "sd"), _inverse),
    "forward": DynamicsTask(("q", "s", "tau"), lambda x: Outputs(*_accelerations(x))),
    "constrained_terms": DynamicsTask(("q", "s", "tau"), _constrained_terms),
    "rows": DynamicsTask(("q", "s"), _rows),
    "hybrid": DynamicsTask(("q", "s", "sd", "tau"), _hybrid, lambda names, detail: (2, len(names.s))),
    "loads": DynamicsTask(("q", "s"), lambda x: Outputs(x.loads)),
    "powers": DynamicsTask(("q", "s"), lambda x: Outputs(x.powers)),
    "mass_matrix": DynamicsTask(("q",), lambda x: Outputs(mass_matrix(x.moving)), _square),
    "bias": DynamicsTask(("q", "s"), lambda x: Outputs(inverse_dynamics(x.moving, zeros(len(x.s))))),
    "gravity": DynamicsTask(("q",), _gravity),
    "coriolis": DynamicsTask(
        ("q", "s"), lambda x: Outputs(coriolis_matrix(x.moving, GRAPH, vector(x.q), vector(x.s), x.t)), _square
    ),
    "inverse_derivatives": DynamicsTask(
        ("q", "s", "sd"), lambda x: Outputs(inverse_derivatives(x.moving, x.loads, _symbols(x))), _derivative_shape
    ),
    "forward_derivatives": DynamicsTask(("q", "s", "tau"), _forward_derivatives, _derivative_shape),
    "poses": DynamicsTask(("q",), _poses, lambda names, detail: (12 * len(detail.bodies),)),
    "position": DynamicsTask(("q", "point"), _position, lambda names, detail: (3,)),
    "velocity": DynamicsTask(
        ("q", "s", "point"), lambda x: Outputs(point_velocity(x.declared, *x.at)), lambda names, detail: (6,)
    ),
    "acceleration": DynamicsTask(("q", "s", "sd", "point"), _acceleration, lambda names, detail: (6,)),
    "jacobian": DynamicsTask(("q", "point"), lambda x: Outputs(point_jacobian(x.declared, *x.at)), _six_rows),
    "jacobian_rate": DynamicsTask(
        ("q", "s", "point"), lambda x: Outputs(x.rate_of(point_jacobian(x.declared, *x.at))), _six_rows
    ),
    "center_of_mass": DynamicsTask(("q",), lambda x: Outputs(mass_center(x.moving)), lambda names, detail: (3,)),
    "centroidal": DynamicsTask(("q", "s"), _centroidal, lambda names, detail: (6, len(names.s) + 1)),
    "stage": DynamicsTask(
        ("q", "s", "tau", "base", "total", "weights"),
        _stage,
        lambda names, detail: (len(names.base) + len(names.total),),
    ),
    "semi_implicit": DynamicsTask(
        ("q", "s", "tau", "step"), _semi_implicit, lambda names, detail: (len(names.q) + len(names.s),)
    ),
}


def task_program(plan: TreePlan, task: str, *, friction: bool = False, detail: Detail = Detail()) -> Program:
    """The program of a task; named parameters remain symbols.

    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.plan import plan_of
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> task_program(plan_of(model), "forward").inputs
    ('x', 'dot(x)', 'force(dot(x))', 't')
    """
    task_spec, named = TASKS[task], detail.named
    parameters = plan.parameters | dict(zip(named, GRAPH.symbols(named), strict=True))
    trace = Trace(plan, friction, parameters, "s" not in task_spec.groups, detail)
    found = task_spec.trace(trace)
    inputs = trace.names.of(task_spec.groups)
    outputs = [node(y) for y in found.values.ravel()]
    return program_of([*outputs, _validity_check(trace, inputs, outputs, found)], inputs)


def _validity_check(trace: Trace, inputs: Sequence[str], outputs: Sequence[Node], found: Outputs) -> Node:
    used = {*ordered(outputs)}
    silent = [x for x in GRAPH.symbols(inputs[:-1]) if x not in used]
    total = sum([*outputs, *silent], start=node(0)) * TINY
    worst: Scalar = 0
    pivots = found.pivots
    for error in found.errors:
        worst = _larger(worst, error * error)
    for attitude in trace.plan.tree.attitudes:
        excess = (sum(trace.q[i] * trace.q[i] for i in attitude.parts) - 1) / (2 * TOLERANCE)
        worst = _larger(worst, excess * excess)
    if pivots is not None and not all(map(absent, pivots)):
        checked = [(D, size) for D, size in zip(pivots, usual_diagonal(trace.plan), strict=True) if not absent(D)]
        parts = [D / (_WEAK * size) if size > 0 else node(0) for D, size in checked]
        smallest = reduce(lambda a, b: GRAPH.select(GRAPH.less(a, b, or_equal=False), a, b), parts)
        worst = _larger(worst, 2 - smallest)
    return node(total + worst)


def _larger(a: Scalar, b: Scalar) -> Scalar:
    return GRAPH.select(GRAPH.less(a, b, or_equal=False), b, a)


def usual_diagonal(plan: TreePlan) -> np.ndarray:
    """The diagonal of the inertia matrix, or of Eᵀ I E for ties; the maximum over a few states, 0 where it is undefined."""
    states = random_guesses(plan.tree.model, np.random.default_rng(0), _STATES, plan.scales)
    q, t = states.q, states.t
    s = [np.zeros(len(t))] * plan.tree.n_speeds
    with np.errstate(all="ignore"):
        moved = moving(plan.tree, FLOATS, t, list(q), s, plan.parameters, plan.link_constants)
        ties = plan.ties
        entries = diagonal(moved) if ties is None else ties.reduced_matrix(mass_matrix(moved)).diagonal()
        found = numbers(entries, len(t))
    return np.max(np.where(np.isfinite(found), found, 0.0), axis=1, initial=0.0)
