"""Sensitivity of a motion: the run first, then the variational equations along each of its stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from dalembert.analysis.constrained_sensitivity import Origin, origin_of
from dalembert.analysis.directional_derivatives import Directions, Varied, directions_of
from dalembert.analysis.sensitivity_run import Sensitivity
from dalembert.analysis.variational_equations import Crossing, Jumps, Variations
from dalembert.api.derive import equations_of
from dalembert.api.load import accepts_source
from dalembert.api.simulate import SimulationOptions, recording_of, takes_options, task_of
from dalembert.errors import InputError, NotApplicableError
from dalembert.model.description import Elements
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.main_loop import Stretches, Task, stretches_of


@accepts_source
@takes_options("of order formalism q0 qd0 t0 keep integrator samples times rtol atol max_step step progress parameters")
def sensitivity(
    model: Elements,
    duration: float | None = None,
    *,
    of: Sequence[Any] | str,
    order: int = 1,
    formalism: str = "lagrange",
    keep: Sequence[str] = (),
    **options: Unpack[SimulationOptions],
) -> Sensitivity:
    """A motion with its derivatives by parameters and starts, by variational equations of order 1 or 2.

    `of` names parameters (`l`), starts (`theta(0)`) and velocities of starts (`dot(theta)(0)`). A start on constraints moves with
    the parameters: named starts, and coordinates in `keep`, stay at their values, the others follow by the least motion in the
    metric of the masses. Starts may be given as formulas of parameters. Other options are those of `Equations.simulate`.

    >>> from dalembert.model.model import Model
    >>> model = Model("oscillator").parameters(m=1.0, k=4.0).coordinates("x").start([1.0], [0.0])
    >>> _ = model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))
    >>> run = sensitivity(model, 1.0, of=["k", "x(0)"], samples=3)
    >>> bool(np.allclose(run["x", "x(0)"], np.cos(2 * run.t))), bool(np.allclose(run["x", "k"], -run.t * np.sin(2 * run.t) / 4))
    (True, True)
    """
    if order not in (1, 2):
        raise InputError(f"sensitivity: order is {order}. Expected 1 or 2.")
    equations = equations_of(model, formalism)
    parameters, q0, qd0 = options.pop("parameters", None), options.pop("q0", None), options.pop("qd0", None)
    equations = equations.with_parameters(parameters) if parameters else equations
    require_differentiable(equations)
    directions = directions_of(equations.model, of)
    equations.derivation.require_differentiable_by(directions.parameters, "sensitivity")
    task = task_of(duration, change_charts=False, **options)
    first = float(task.grid(equations.model)[0])
    origin = origin_of(equations, directions, q0, qd0, first, keep)
    return Differentiated(equations, directions, origin, task, order).run({})


def require_differentiable(equations: BoundEquations, who: str = "sensitivity") -> None:
    """Raise where the equations cannot be differentiated by formulas."""
    equations.model.refuse_canonical(who)
    equations.model.refuse_laws(who, "Write the law as a formula.")
    equations.model.refuse_rigid(who)
    if not equations.about.velocities.are_rates or len(equations.form.constants.symbols):
        raise NotApplicableError(
            f"{who}: the velocity variables of '{equations.formalism}' are not q̇. Use a formalism in q̇, such as lagrange; "
            "derivatives of a motion are the same by every formalism."
        )
    if not equations.kernel.fused:
        raise NotApplicableError(
            f"{who}: the equations of '{equations.model.name}' by {equations.formalism} are solved in numbers at every step: "
            "constraints depend on each other, masses vanish or the engine is python. Expected equations that are formulas: use "
            "lagrange with engine='native', or remove what is redundant."
        )


@dataclass(frozen=True)
class Differentiated:
    """A motion as a function of what it is differentiated by."""

    equations: BoundEquations
    directions: Directions
    origin: Origin
    task: Task
    order: int = 1

    def run(self, values: Mapping[str, float]) -> Sensitivity:
        """The run with values of parameters and named starts; what is not given is as it was."""
        changes = {name: value for name, value in values.items() if name in self.directions.parameters}
        equations = self.equations.with_parameters(changes) if changes else self.equations
        y, n = self.origin.at(equations, values, self.order), self.directions.coordinates
        found = stretches_of(equations, replace(self.task, q0=y.value[:n], qd0=y.value[n:]))
        state, method, crossings = self._along(found, y, equations)
        run = recording_of(equations, found).trajectory()
        return Sensitivity(found.held or equations, run, self.directions, state, method, crossings)

    def _along(
        self, found: Stretches, y: Varied, equations: BoundEquations
    ) -> tuple[Varied, str, tuple[Crossing, ...]]:
        """State and derivatives at the samples, stretch by stretch, with what was crossed between them."""
        named = dict(zip(equations.model.parameter_values, equations.values, strict=False))
        values = self.directions.values_in(named, y.value)
        sizes = np.where(values == 0, 1.0, np.abs(values))
        jumps, pieces, crossed = Jumps(found, equations, self.directions, self.order), [], []
        method = self.task.integrator or Variations(found.parts[0].equations, self.directions, self.order).usual
        for i, (part, after) in enumerate(zip(found.parts, [*found.parts[1:], None], strict=True)):
            grid = part.solution.t
            times = grid if after is None or after.solution.t[0] <= grid[-1] else np.append(grid, after.solution.t[0])
            variations = Variations(part.equations, self.directions, self.order)
            along = y.samples(None)
            if len(times) > 1:
                along = variations.along(y, times, part.constants, method, self.task.settings, sizes)
            pieces.append(along.samples(slice(1 if i else 0, len(grid))))
            y, crossing = jumps.across(part, after, along.samples(-1))
            crossed += [] if crossing is None else [crossing]
        return _joined(pieces), method, tuple(crossed)


def _joined(pieces: Sequence[Varied]) -> Varied:
    """Pieces one behind the other."""
    second = [piece.second for piece in pieces if piece.second is not None]
    return Varied(
        np.concatenate([piece.value for piece in pieces], axis=-1),
        np.concatenate([piece.first for piece in pieces], axis=-1),
        np.concatenate(second, axis=-1) if second else None,
    )
