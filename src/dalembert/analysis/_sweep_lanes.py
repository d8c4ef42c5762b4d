"""SIMD lanes: many runs of the same equations by `dop853` in one call of machine code (`simulation/integrators/lane_steps`).

A run in a lane is bit-identical to the run of `simulate`. Models that need more than steps and plain projections run in
`simulate`: `reason_to_run_alone` returns why a model cannot run in lanes, and `run_lanes` which runs did not finish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from symengine import sympify

from dalembert.api.equations import Equations
from dalembert.codegen.function import NativeFunction
from dalembert.mechanics.attitude_charts import attitude_varies, attitudes_of
from dalembert.simulation.chart_changes import NEAR, gimbal_locks
from dalembert.simulation.integrators import lane_steps
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.integrators.compiled_projection import FREE, ProjectionData
from dalembert.simulation.integrators.dop853 import DormandPrince853, first_steps
from dalembert.simulation.integrators.explicit import no_constraints
from dalembert.simulation.integrators.explicit_steps import HAIRER, Control, Scheme
from dalembert.simulation.integrators.lane_steps import BatchRates, LaneStates, Runs
from dalembert.simulation.main_loop import Accuracy
from dalembert.simulation.right_hand_side import stacked
from dalembert.simulation.segment_problem import mechanics_of, sizes_by_values
from dalembert.simulation.step_monitors import StateMechanics

WIDTH = 32  # lanes: their stages fit into the cache
_MAX_STEPS = 1_000_000  # of a run in a lane: one that needs more runs alone


@dataclass(frozen=True)
class Starts:
    """The initial states of runs: parameters, positions and velocities, a column for each run."""

    values: np.ndarray
    q: np.ndarray
    qd: np.ndarray

    def one(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parameters, positions and velocities of one run."""
        return self.values[:, i], self.q[:, i], self.qd[:, i]


class LaneRuns(NamedTuple):
    """Runs in lanes: their states (runs, samples, states), numbers of steps, and which finished; the others must run alone."""

    states: np.ndarray
    steps: np.ndarray
    finished: np.ndarray
    accuracy: Accuracy


def reason_to_run_alone(equations: Equations, integrator: str) -> str | None:
    """Why runs of these equations cannot share lanes; None if they can."""
    if integrator != DormandPrince853.name:
        return f"the integrator '{integrator}' does not run in lanes"
    model, space = equations.model, equations.workspace
    if type(equations) is not Equations:
        return "large trees are evaluated link by link"
    if model.controllers:
        return "Python laws are called run by run"
    if model.switching or model.events or model.rigid:
        return "events, rigid contacts and switching formulas are located run by run"
    if space.lengths.spans:
        return "springs and dampers of possibly zero length are monitored run by run"
    if equations.kernel.phase is not None:
        return "constraints on momenta are projected run by run"
    if not isinstance(equations.kernel.rates_function, NativeFunction):
        return "the equations are solved numerically at each state"
    facts, solver = space.facts, equations.form.solver
    chosen = equations.about.uses_speeds or (solver is not None and solver.trials is not None)
    if facts.dropped or any(facts.levels.servo) or (space.manifold.rows and chosen):
        return "the choice of speeds, trial vectors or independent constraints is monitored run by run"
    if any(attitude_varies(model, attitude) for attitude in attitudes_of(model)):
        return "rotation axes that depend on parameters are monitored run by run"
    return None


def keeps_structure(equations: Equations, name: str, values: np.ndarray) -> np.ndarray:
    """Which values of a parameter certainly leave the derived equations valid in a lane.

    If neither speeds nor constants of motion occur in the equations, only the set of independent constraints can change, and
    lanes check that. A change of sign, or an inertia that was zero, may make a model invalid.
    """
    derivation = equations.derivation
    default = derivation.setup.declared.parameter_values[name]
    in_speeds = equations.about.uses_speeds or derivation.machine.form.constants.symbols.size
    if in_speeds and name not in derivation.free_parameters and name in derivation.depends_on:
        return np.full(values.shape, False)
    return values * default > 0 if default or name in _inertial(equations) else np.isfinite(values)


def _inertial(equations: Equations) -> set[str]:
    """The parameters in masses and inertias."""
    model = equations.model
    bodies = [x for body in model.bodies for x in (body.mass, *(entry for row in body.inertia for entry in row))]
    formulas = [*bodies, *(rotor.inertia for rotor in model.rotors)]
    formulas += [] if model.energies is None else [model.energies.kinetic]
    return {str(symbol) for formula in formulas for symbol in sympify(formula).free_symbols}


def run_lanes(equations: Equations, starts: Starts, times: np.ndarray, settings: Settings) -> LaneRuns:
    """Integrate all runs."""
    kernel, count = equations.kernel, starts.q.shape[1]
    v, moving = kernel.start(starts.q, starts.qd, float(times[0]), starts.values)
    constants = np.concatenate([starts.values, moving])
    y0 = np.concatenate([starts.q, v, np.zeros((len(kernel.working), count))])
    rtol = DormandPrince853.relative(settings)
    sizes = sizes_by_values(equations, starts.values)
    atol = DormandPrince853.absolute(settings, sizes)
    size, t0, span = kernel.form.n_states, float(times[0]), float(times[-1] - times[0])

    def rates(t: np.ndarray, y: np.ndarray) -> np.ndarray:
        return kernel.rates_function(stacked(y[:size], t), constants)

    largest = settings.max_step or np.inf
    h0 = first_steps(t0, y0, rates(np.full(count, t0), y0), rates, span, (atol, rtol, largest))
    samples = np.empty((count, len(times), len(y0)))
    rows = [np.ascontiguousarray(part.T) for part in (y0, constants, atol)]
    state = np.zeros((2, count), dtype=np.int64)
    runs = Runs(rows[0], rows[1], h0, rows[2], samples, state[0], state[1])
    control = Control(rows[2][0], rtol, largest, kind=HAIRER, start=t0, end=float(times[-1]), inputs=size)
    mechanics = mechanics_of(equations, kernel, constants[:, 0].copy(), equations.model.inputs)
    surface, guarded = _surface(mechanics), bool(mechanics.manifold.rows)
    scheme = DormandPrince853.scheme()
    lanes, batch = _lanes(kernel.rates_function, scheme, surface, runs, size, gimbal_locks(equations))
    with np.errstate(all="ignore"):
        lane_steps.compiled(scheme, control, batch, surface, guarded, runs, lanes, np.asarray(times), _MAX_STEPS)
    return LaneRuns(samples, runs.steps, runs.outcome == lane_steps.DONE, Accuracy(rtol, projected=True))


def _surface(mechanics: StateMechanics) -> ProjectionData:
    """The constraints with separate memory for the constants, which differ between lanes."""
    machine = mechanics.machine
    assert machine is not None
    found = machine.surface
    if found is None:
        found = mechanics.surface() if mechanics.manifold.rows else None
        if found is None:
            return no_constraints(FREE)
        found = found._replace(mode=FREE)
    parts = (found.constraints, found.velocities, found.start)
    names = ("constraints", "velocities", "start")
    own = {name: part._replace(p=part.p.copy()) for name, part in zip(names, parts, strict=True)}
    own["start"].p[len(mechanics.values) :] = 0.0
    return found._replace(**own)


def _lanes(
    rates: object, scheme: Scheme, surface: ProjectionData, runs: Runs, inputs: int, angles: Sequence[tuple[int, float]]
) -> tuple[LaneStates, BatchRates]:
    """Memory of the lanes, and the rates with the addresses they read and write; `angles` are those at gimbal lock."""
    assert isinstance(rates, NativeFunction)
    width = min(WIDTH, len(runs.h0))
    n, m, stages, orders = runs.y0.shape[1], runs.constants.shape[1], len(scheme.c), scheme.P.shape[1] + 1
    flat, rows = n * width, len(surface.rows_v)
    state, words = (lambda: np.zeros(flat)), (lambda: np.zeros(width, dtype=np.int64))
    lanes = LaneStates(
        y=state(),
        stage=state(),
        new=state(),
        fresh=state(),
        K=np.zeros((stages, flat)),
        atol=state(),
        powers=np.zeros((orders, flat)),
        p=np.zeros(m * width),
        clock=np.zeros(width),
        t=np.zeros(width),
        t1=np.zeros(width),
        h=np.zeros(width),
        sums=np.zeros((4, width)),
        error=np.zeros(width),
        run=words(),
        sample=words(),
        known=words(),
        failed=words(),
        row=np.zeros(n),
        point=np.zeros(2 * surface.n + 1),
        constraints=np.zeros(surface.n_phi + surface.n_rows * (surface.n + 1) + surface.n**2),
        rows=np.zeros((rows, surface.n)),
        longest=np.zeros((width, rows)),
        max_independence=np.zeros(width),
        before=np.zeros(width),
        seconds=np.array([k for k, _ in angles], dtype=np.int64),
        singular=np.array([x for _, x in angles], dtype=float),
        near=np.array([np.arcsin(NEAR)]),
    )
    many = rates.with_varying_parameters.many
    arguments = [(lanes.stage, inputs), (lanes.clock, 1), *([(lanes.p, m)] if m else [])]
    layout = np.array([part for a, k in arguments for part in (a.ctypes.data, 8 * width, k)], dtype=np.int64)
    out = np.array([(row.ctypes.data, 8 * width, n) for row in (*lanes.K, lanes.fresh)], dtype=np.int64)
    return lanes, BatchRates(many.address, np.zeros(0), many.tables, layout, out)
