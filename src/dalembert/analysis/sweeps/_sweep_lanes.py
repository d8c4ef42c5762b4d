"""Runs in lanes: many runs of the same equations by `dop853` in one call of machine code (`simulation/integrators/lane_steps`).

A run in a lane is the run that `simulate` makes, to the last bit. What needs more than steps and plain projections is left to
`simulate`: `reason_to_run_alone` says why a model cannot run in lanes, and `LaneRuns.settled` which runs could not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from symengine import sympify

from dalembert.api.equations import Equations
from dalembert.codegen.function import NativeFunction
from dalembert.mechanics.attitude_charts import attitude_varies, attitudes_of
from dalembert.simulation.chart_changes import NEAR, gimbal_locks
from dalembert.simulation.guides import Mechanics
from dalembert.simulation.integrators import lane_steps as text
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.integrators.dop853 import DormandPrince853, first_steps
from dalembert.simulation.integrators.explicit import unheld
from dalembert.simulation.integrators.explicit_steps import FREE, HAIRER, Control, Scheme, Surface
from dalembert.simulation.integrators.lane_steps import Crowd, Lanes, Runs
from dalembert.simulation.right_hand_side import stacked
from dalembert.simulation.segment_problem import mechanics_of, sizes_by_values

WIDTH = 32  # lanes: their stages fit into the nearest memory
_MOST = 1_000_000  # steps of a run: one that needs more is looked at alone


@dataclass(frozen=True)
class Starts:
    """Where runs begin: parameters, positions and velocities, a column for each run."""

    values: np.ndarray
    q: np.ndarray
    qd: np.ndarray

    def one(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of one run."""
        return self.values[:, i], self.q[:, i], self.qd[:, i]


def reason_to_run_alone(equations: Equations, integrator: str) -> str | None:
    """Why runs of these equations cannot share lanes, None where they can."""
    if integrator != DormandPrince853.name:
        return f"the integrator '{integrator}' takes one run at a time"
    model, space = equations.model, equations.workspace
    if type(equations) is not Equations:
        return "large trees run link by link"
    if model.controllers:
        return "laws in Python are asked run by run"
    if model.switching or model.events or model.rigid:
        return "events, rigid contacts and formulas that switch are crossed run by run"
    if space.lengths.spans:
        return "springs and dampers whose ends may meet are watched run by run"
    if equations.kernel.phase is not None:
        return "constraints on momenta are projected run by run"
    if not isinstance(equations.kernel.rates_function, NativeFunction):
        return "the equations are solved in numbers, state by state"
    facts, solver = space.facts, equations.form.solver
    chosen = equations.about.uses_speeds or (solver is not None and solver.trials is not None)
    if facts.dropped or any(facts.levels.servo) or (space.manifold.rows and chosen):
        return "the choice of speeds, trial vectors or independent constraints is watched run by run"
    if any(attitude_varies(model, attitude) for attitude in attitudes_of(model)):
        return "axes of turns that depend on parameters are watched run by run"
    return None


def keeps_structure(equations: Equations, name: str, values: np.ndarray) -> np.ndarray:
    """Which values of a parameter leave the derived equations true in a lane, for sure.

    Where neither speeds nor constants of the motion stand in the equations, all that could change is which constraints are
    independent, and lanes look at that themselves. A sign that changes, or an inertia that was none, may make a model unsound.
    """
    derivation = equations.derivation
    usual = derivation.setup.declared.parameter_values[name]
    in_speeds = equations.about.uses_speeds or derivation.machine.form.constants.symbols.size
    if in_speeds and name not in derivation.free_parameters and name in derivation.rests_on:
        return np.full(values.shape, False)
    return values * usual > 0 if usual or name in _inertial(equations) else np.isfinite(values)


def _inertial(equations: Equations) -> set[str]:
    """The parameters that masses and inertias name."""
    model = equations.model
    bodies = [x for body in model.bodies for x in (body.mass, *(entry for row in body.inertia for entry in row))]
    formulas = [*bodies, *(rotor.inertia for rotor in model.rotors)]
    formulas += [] if model.energies is None else [model.energies.kinetic]
    return {str(symbol) for formula in formulas for symbol in sympify(formula).free_symbols}


def run_lanes(
    equations: Equations, starts: Starts, times: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray]:
    """The states (runs, samples, states) of all runs, and which of them reached the end here; the others are to run alone."""
    kernel, count = equations.kernel, starts.q.shape[1]
    v, moving = kernel.start(starts.q, starts.qd, float(times[0]), starts.values)
    constants = np.concatenate([starts.values, moving])
    y0 = np.concatenate([starts.q, v, np.zeros((len(kernel.working), count))])
    rtol = DormandPrince853.relative(settings)
    sizes = sizes_by_values(equations, starts.values)
    atol = 1e-12 * sizes if settings.atol is None else np.full(sizes.shape, settings.atol)
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
    lanes, crowd = _lanes(
        kernel.rates_function, DormandPrince853.scheme(), surface, runs, size, gimbal_locks(equations)
    )
    with np.errstate(all="ignore"):
        text.compiled(
            DormandPrince853.scheme(), control, crowd, surface, guarded, runs, lanes, np.asarray(times), _MOST
        )
    return samples, runs.how == text.DONE


def _surface(mechanics: Mechanics) -> Surface:
    """The constraints with places of their own for the constants, which change from lane to lane."""
    machine = mechanics.machine
    assert machine is not None
    found = machine.surface
    if found is None:
        found = mechanics.surface() if mechanics.manifold.rows else None
        if found is None:
            return unheld(FREE)
        found = found._replace(mode=FREE)
    parts = (found.constraints, found.velocities, found.start)
    names = ("constraints", "velocities", "start")
    own = {name: part._replace(p=part.p.copy()) for name, part in zip(names, parts, strict=True)}
    own["start"].p[len(mechanics.values) :] = 0.0
    return found._replace(**own)


def _lanes(
    rates: object, scheme: Scheme, surface: Surface, runs: Runs, inputs: int, angles: Sequence[tuple[int, float]]
) -> tuple[Lanes, Crowd]:
    """Memory of the lanes, and the rates with the places they read and write; `angles` are those at gimbal lock."""
    assert isinstance(rates, NativeFunction)
    width = min(WIDTH, len(runs.h0))
    n, m, stages, orders = runs.y0.shape[1], runs.constants.shape[1], len(scheme.c), scheme.P.shape[1] + 1
    flat, rows = n * width, len(surface.rows_v)
    whole, words = (lambda: np.zeros(flat)), (lambda: np.zeros(width, dtype=np.int64))
    lanes = Lanes(
        y=whole(),
        stage=whole(),
        new=whole(),
        fresh=whole(),
        K=np.zeros((stages, flat)),
        atol=whole(),
        powers=np.zeros((orders, flat)),
        p=np.zeros(m * width),
        clock=np.zeros(width),
        t=np.zeros(width),
        t1=np.zeros(width),
        h=np.zeros(width),
        sums=np.zeros((4, width)),
        error=np.zeros(width),
        who=words(),
        sample=words(),
        known=words(),
        failed=words(),
        row=np.zeros(n),
        place=np.zeros(2 * surface.n + 1),
        there=np.zeros(surface.n_phi + surface.n_rows * (surface.n + 1) + surface.n**2),
        rows=np.zeros((rows, surface.n)),
        longest=np.zeros((width, rows)),
        usual=np.zeros(width),
        before=np.zeros(width),
        seconds=np.array([k for k, _ in angles], dtype=np.int64),
        singular=np.array([x for _, x in angles], dtype=float),
        near=np.array([np.arcsin(NEAR)]),
    )
    many = rates.varied.many
    given = [(lanes.stage, inputs), (lanes.clock, 1), *([(lanes.p, m)] if m else [])]
    places = np.array([part for a, k in given for part in (a.ctypes.data, 8 * width, k)], dtype=np.int64)
    out = np.array([(row.ctypes.data, 8 * width, n) for row in (*lanes.K, lanes.fresh)], dtype=np.int64)
    return lanes, Crowd(many.address, np.zeros(0), many.tables, places, out)
