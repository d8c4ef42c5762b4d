"""Where a motion starts, as a function of parameters and named starts, with its derivatives.

Where constraints depend on parameters, a start on them has to move with these. Named starts stay at their values, and the other
coordinates follow along N = M⁻¹Aᵀ of the start itself, the way of least motion in the metric of the masses, until the constraints
hold. To first order that is what `dl.assemble` does with the named ones in `keep`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analysis.constrained_sensitivity import Constrained, Ways
from dalembert.analysis.directional_derivatives import Differentials, Varied
from dalembert.analysis.sensitivity_directions import Directions
from dalembert.codegen.function import nodes
from dalembert.codegen.program import program_of
from dalembert.errors import InputError, nearest
from dalembert.model.initial_state import Start, coordinate_name, start_state
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.symbolic.algebra_base import vector


@dataclass(frozen=True)
class Origin:
    """The start as a function of what is differentiated by."""

    directions: Directions
    t: float
    given: Differentials  # (q, q̇) before the constraints are asked, of the parameters
    ways: Ways | None  # along which the constraints are fulfilled; None where there are none

    def at(self, equations: BoundEquations, starts: Mapping[str, float], order: int) -> Varied:
        """The start and its derivatives, with the parameters of the equations and values of named starts."""
        k = len(self.directions)
        nothing = Varied(np.zeros(0), np.zeros((0, k)), np.zeros((0, k, k)))
        count = len(self.given.program.parameters)
        y = self.given(nothing, equations.values[:count], self.directions.moved)
        value = y.value.copy()
        for name, place in zip(self.directions.names, self.directions.places, strict=True):
            if place is not None and name in starts:
                value[place] = starts[name]
        found = Varied(value, y.first + self.directions.started, y.second if order == 2 else None)
        if self.ways is None:
            return found
        constrained = Constrained(equations, self.directions)
        placed = constrained.placed(found.value, self.t, self.ways)
        return constrained.tangent(Varied(placed, found.first, found.second), self.t, self.ways)


def origin_of(
    equations: BoundEquations, directions: Directions, q0: Start, qd0: Start, t0: float, keep: Sequence[str]
) -> Origin:
    """The start of equations; those in `keep` stay where they are, as named starts do."""
    model = equations.model
    for name in keep:
        if name not in model.coordinate_names:
            raise InputError(
                f"sensitivity, keep: there is no coordinate '{name}'. {nearest(name, model.coordinate_names)}"
            )
    given = _given(equations, directions, q0, qd0)
    constrained = Constrained(equations, directions)
    if not constrained.any:
        return Origin(directions, t0, given, None)
    y = np.concatenate(start_state(model.with_parameters(_changed(equations)), q0, qd0))
    kept = directions.kept | {model.coordinate_names.index(name) for name in keep}
    return Origin(directions, t0, given, constrained.ways(y, t0, constrained.free(y, t0, kept)))


def _changed(equations: BoundEquations) -> dict[str, float]:
    names = equations.model.parameter_values
    return {name: value for name, value in equations.changes.items() if name in names and "(" not in name}


def _given(equations: BoundEquations, directions: Directions, q0: Start, qd0: Start) -> Differentials:
    """(q, q̇) as they are given, numbers or formulas of parameters, as functions of the parameters."""
    model, system = equations.model, equations.workspace.system
    names = model.coordinate_names
    formulas = []
    for start, usual, where in ((q0, model.initial[0], "q0"), (qd0, model.initial[1], "qd0")):
        written = {} if not isinstance(start, Mapping) else {coordinate_name(key): x for key, x in start.items()}
        plain = start_state(model, start, None)[0] if where == "q0" else start_state(model, None, start)[1]
        for name, value in zip(names, plain if start is not None else usual, strict=True):
            text = written.get(name)
            formula = model.formula(text, f"sensitivity, {where}", constant=True) if isinstance(text, str) else None
            formulas.append(float(value) if formula is None else system.motion.lower(formula))
    program = program_of(nodes(system.algebra, vector(formulas)), [], list(model.parameter_values))
    return Differentials(program, directions.parameters, "python")
