"""The programs that runs integrate, at given states: each gives ẏ = (q̇, v̇, powers) by the compiled object that runs use.

- the integrated right-hand side: the machine code for one state that the compiled steppers call, or the function in Python;
- SIMD lanes: the machine code with a state in each lane that sweeps step on, in full tiles and in partial ones;
- the Taylor program: heyoka's integrator itself; the Taylor coefficients of first order at a state are ẏ.

ẏ is compared with the velocities of the state, with the accelerations all formalisms are compared with, q̈ = W v̇ + b, and with the
powers that loads and constraints have at these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dalembert.api.equations import Equations
from dalembert.api.tree_equations import TreeEquations
from dalembert.codegen import heyoka_backend
from dalembert.codegen.function import NativeFunction
from dalembert.errors import EngineError
from dalembert.evidence.differences import (
    Reference,
    difference_of_accelerations,
    difference_of_momentum_rates,
    largest_ratio,
)
from dalembert.evidence.field_states import ExactState, Solved, form_symbols, nodes
from dalembert.formalisms.shared.power import powers_into
from dalembert.mechanics.state_batch import States
from dalembert.mechanics.system import System
from dalembert.recursive.plan import read_state
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.integrators.taylor import unusual_sizes
from dalembert.simulation.mode_changes import mode_manager_of
from dalembert.simulation.right_hand_side import Kernel, stacked
from dalembert.simulation.segment_problem import has_series, usual_sizes
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.nodes import Node
from dalembert.symbolic.prime_field import as_residues
from dalembert.symbolic.random_points import root_beyond

_INSTANT = 1e-300  # seconds of a step whose coefficients are wanted, and nothing else


SOLVED_IN_NUMBERS = "a run solves these equations in numbers at every step: there is no shortened program"


class NotRun(Exception):
    """No run uses such a program here; the message says why."""


class NotInstalled(NotRun):
    """The library that would run it is missing."""


@dataclass(frozen=True)
class Batch:
    """A batch of states y = (q, v) in the variables of the equations that a run integrates, with times and constants."""

    equations: BoundEquations
    y: np.ndarray
    t: np.ndarray
    values: (
        np.ndarray
    )  # of the parameters, (parameters, K): conditions are held by parameters and differ from state to state
    constants: np.ndarray  # the same with the constants of the motion
    first: bool = False  # the formalism that all are compared with

    @property
    def kernel(self) -> Kernel:
        """The compiled equations."""
        return self.equations.kernel

    @property
    def inputs(self) -> np.ndarray:
        """(q, v, t) of every state, (inputs, K)."""
        return stacked(self.y, self.t)


def batch_of(equations: BoundEquations, states: States, values: np.ndarray | None = None, first: bool = False) -> Batch:
    """The states in the variables of a formalism; `values` are what `held_values` found for another one."""
    run = run_equations(equations)
    values = held_values(equations, states) if values is None else values
    v, moving = run.kernel.start(states.q, states.qd, states.t, values)
    return Batch(run, np.concatenate([states.q, v]), states.t, values, np.concatenate([values, moving]), first)


def run_equations(equations: BoundEquations) -> BoundEquations:
    """The equations that a run integrates: with every condition held by a parameter where some switch."""
    board = mode_manager_of(equations)
    return equations if board is None else board.equations


def held_values(equations: BoundEquations, states: States) -> np.ndarray:
    """The values of the parameters of `run_equations` at every state, (parameters, K)."""
    board, model = mode_manager_of(equations), equations.model
    if board is None:
        return np.repeat(equations.values[:, None], len(states), axis=1)
    found = [board.settle(float(t), q, qd) for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True)]
    pressed = {name: model.parameter_values[name] for known in model.rigid for name in known.parameters}
    return np.stack([replace(each, changes=each.changes | pressed).values for each in found], axis=1)


def integrated_rates(given: Batch) -> np.ndarray:
    """ẏ (states, K), state by state, by the function whose machine code the steppers call."""
    function, columns = given.kernel.rates_function, zip(given.inputs.T, given.constants.T, strict=True)
    return np.stack([function(np.ascontiguousarray(x), np.ascontiguousarray(p)) for x, p in columns], axis=1)


def lane_rates(given: Batch) -> np.ndarray:
    """ẏ (states, K) by the machine code with a state in each lane: a full tile, partial ones of every size, then the rest."""
    function, x, p = given.kernel.rates_function, given.inputs, given.constants
    if not isinstance(function, NativeFunction):
        raise NotRun("solved in numbers, state by state: sweeps run them one by one")
    ends = np.minimum(np.cumsum([0, function.lanes, *range(1, function.lanes), len(x.T)]), len(x.T))
    return np.concatenate([function(x[:, a:b], p[:, a:b]) for a, b in pairwise(ends.tolist()) if b > a], axis=1)


def taylor_rates(given: Batch) -> np.ndarray:
    """ẏ (states, K) by heyoka: the right-hand sides that its integrator is made of, compiled as a function.

    Of the first formalism the integrator itself is asked: its Taylor coefficients of first order are ẏ.
    """
    if not heyoka_backend.is_installed():
        raise NotInstalled("heyoka is not installed: runs take dop853")
    if not has_series(given.equations):
        raise NotRun("solved in numbers, without a Taylor series: runs take dop853")
    sizes = unusual_sizes(usual_sizes(given.equations))
    y = np.concatenate([given.y, np.zeros((len(sizes) - len(given.y), len(given.t)))]) / sizes[:, None]
    try:
        return sizes[:, None] * (_coefficients if given.first else _right_hand_sides)(given, y, sizes)
    except EngineError as error:  # a long table
        raise NotRun(str(error)) from None


def _right_hand_sides(given: Batch, y: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    function = given.kernel.taylor.function(sizes)
    pars = np.ascontiguousarray(given.constants[: function.nparams])
    return function(np.ascontiguousarray(y), pars=pars, time=np.ascontiguousarray(given.t, dtype=float))


def _coefficients(given: Batch, y: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    machine = given.kernel.taylor.make(None, given.constants[:, 0], sizes)
    out = np.empty_like(y)
    for k, t in enumerate(given.t):
        machine.time = float(t)
        machine.pars[:] = given.constants[: len(machine.pars), k]
        machine.state[:] = y[:, k]
        machine.step(max_delta_t=_INSTANT, write_tc=True)
        out[:, k] = machine.tc[:, 1]
    return out


# by the names under which they are reported
PROGRAMS: Mapping[str, Callable[[Batch], np.ndarray]] = {
    "integrated right-hand side": integrated_rates,
    "SIMD lanes": lane_rates,
    "Taylor program": taylor_rates,
}


def _powers(system: System) -> Array:
    return powers_into(system)[1]


def difference_of_rates(rates: np.ndarray, given: Batch, states: States, known: Reference) -> float:
    """The largest relative difference of ẏ from velocities, accelerations and powers that are known."""
    kernel, space, n, size = given.kernel, given.equations.workspace, len(states.q), len(given.y)
    qdd = kernel.second_rates(given.y, given.t, given.constants, rates[n:size])
    speed = np.abs(states.qd / known.unit).max(axis=0, initial=0.0)
    pace = np.maximum(speed, 1 / space.facts.scales.time)
    same = np.abs(rates[:n] - states.qd) <= _inconsistency(given, states)
    qd = np.where(same, rates[:n], states.qd)
    if given.equations.about.velocities.are_momenta:
        pace = pace * known.magnification  # of q̇ = M⁻¹ p
        second = difference_of_momentum_rates(qdd, states.qd, known)
    else:
        second = difference_of_accelerations(qdd, known)
    found = [second, largest_ratio((rates[:n] - qd) / known.unit, pace)]
    if kernel.working:
        names, state = powers_into(space.system)[0], (states.q, qd, known.qdd)
        powers = dict(zip(names, space.evaluated(_powers, state, states.t, given.values), strict=True))
        for name, rate in zip(kernel.working, rates[size:], strict=True):
            power = powers.get(name, 0.0)  # dirac lists constraints whose power vanishes only where all of them hold
            found.append(largest_ratio((rate - power)[None], np.maximum(known.energy * pace, np.abs(power))))
    return max(found)


def _inconsistency(given: Batch, states: States) -> np.ndarray:
    """By how much given velocities may differ from those of the speeds: they fulfil the constraints to rounding only.

    Where constraints are nearly dependent, a small residual is a large change of velocities, |A⁺ (A q̇ + b)|.
    """
    space = given.equations.workspace
    rows = list(space.facts.rows)
    if not rows:
        return np.zeros(len(states))
    _, residual, A, _ = space.manifold.evaluate(states.q, states.qd, states.t, given.values)
    off = np.linalg.pinv(np.moveaxis(A[rows], -1, 0)) @ residual[rows].T[..., None]
    return 10 * np.linalg.norm(off[..., 0], axis=1)


def tree_difference(equations: TreeEquations, states: States, known: Reference) -> float:
    """The same for a large tree, whose recursion a run calls state by state."""
    plan, n = equations.plan, equations.plan.tree.n
    whole = read_state(plan, states.q, states.qd, states.t)
    y = np.concatenate([whole.q, whole.s, np.zeros((len(equations.working), len(states)))])
    rates = np.stack([equations.rates(float(t), y[:, k]) for k, t in enumerate(states.t)], axis=1)
    return difference_of_accelerations(whole.shaped(whole.second_rates(rates[n : equations.n_states])), known)


@dataclass(frozen=True)
class ShortenedRates:
    """The right-hand side of one formalism before and after shortening, as nodes of the graph."""

    kernel: Kernel
    raw: Array
    short: Array
    held: bool  # conditions are parameters here, and choices in the formalisms: accelerations cannot be compared

    @property
    def roots(self) -> list[Node]:
        """Everything that is evaluated."""
        velocity = self.kernel.form.velocity
        return [y for part in (self.raw, self.short, velocity.W, velocity.qdd_bias) for y in nodes(part)]

    def differences(self, state: ExactState, known: Solved) -> Iterator[str]:
        """What the shortened rates do not share with the raw ones, or with the accelerations that were proved."""
        form = self.kernel.form
        table = form_symbols(form, state)
        raw, short = (state.at(part, table, state.point.any_root) for part in (self.raw, self.short))
        names = [str(x) for x in self.kernel.state_symbols]
        if wrong := [name for name, a, b in zip(names, raw, short, strict=True) if a != b]:
            yield f"the shortened program has another rate of {', '.join(wrong)}"
        if self.held:
            return
        n, m = len(form.system.q), form.n_states
        short, W, bias = (
            state.at(part, table, root_beyond) for part in (self.short, form.velocity.W, form.velocity.qdd_bias)
        )
        qdd = W @ short[n:m] + bias
        if not (qdd == known.qdd).all():
            yield "the shortened program has other accelerations than were proved"
        if form.own_multipliers is None and not (short[:n] == as_residues(state.qd)).all():
            yield "the shortened program has other velocities"


def shortened_rates(equations: Equations) -> ShortenedRates | None:
    """The right-hand side that a run of the equations integrates; None where they are solved in numbers."""
    run = run_equations(equations)
    kernel = run.kernel
    if not kernel.fused:
        return None
    short = np.array(kernel.shortened_rates, dtype=object)
    return ShortenedRates(kernel, kernel.rates, short, held=run is not equations)
