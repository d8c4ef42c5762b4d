"""What can be observed along a run, as formulas of (q, q̇, t) and the parameters that can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.arguments import shown
from dalembert.codegen.function import nodes
from dalembert.codegen.program import Program, program_of
from dalembert.errors import InputError, nearest
from dalembert.formalisms.shared.common_quantities import free_equations, jacobi
from dalembert.formalisms.shared.linear_form import fused
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.model.values import several
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.reserved_symbols import Kind

NAMED = ("kinetic", "potential", "energy", "jacobi", "multipliers", "reactions", "momenta")


def program_by_name(equations: BoundEquations, name: str) -> Program:
    """What a name or formula stands for, as a program: one of `NAMED`, ddot(x), or any formula of the model's names."""
    system, kernel = equations.workspace.system, equations.kernel
    names = equations.model.coordinate_names
    qdd = kernel.rates[len(names) : 2 * len(names)]
    if name in NAMED and name not in equations.model.parameter_values:
        return _program(equations, _named(equations, system, name, qdd))
    accelerations = [Kind.ACCELERATION.of(x) for x in names]
    if name in accelerations:
        return _program(equations, vector([qdd[accelerations.index(name)]]))
    try:
        formula = equations.model.formula(name, f"sensitivity of '{name}'")
    except InputError as problem:
        known = (*names, *map(Kind.RATE.of, names), *accelerations, *NAMED)
        raise InputError(
            f"{problem} {nearest(name, known)} Also any formula of coordinates, rates and parameters."
        ) from None
    return _program(equations, vector([system.lower(formula)]))


def _named(equations: BoundEquations, system: System, name: str, qdd: Array) -> Array:
    if name == "multipliers":
        if equations.workspace.facts.dropped:
            raise InputError(
                f"sensitivity of multipliers: some constraints of model '{system.model.name}' depend on others, so their "
                "multipliers are not unique. Ask for 'reactions'."
            )
        x, lam = fused(equations.form)
        return equations.form.multipliers(x[: len(equations.form.velocity.v)], lam)
    if name == "reactions":  # Aᵀλ + C = M q̈ − h
        M, h = free_equations(system)
        return equations.kernel.in_state(M @ system.qdd - h, qdd)
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    if name == "momenta":
        return system.algebra.gradient(T, system.qd)
    return vector([{"kinetic": T, "potential": V, "energy": T + V, "jacobi": jacobi(system)}[name]])


def program_of_point(equations: BoundEquations, body: str, point: Sequence[Any]) -> Program:
    """Where a point of a body is, in world axes, and its velocity: six numbers."""
    system = equations.workspace.system
    found = [each for each in system.motion.bodies if each.name == body]
    if not found:
        known = [each.name for each in system.motion.bodies]
        raise InputError(f"sensitivity of a path: there is no body '{body}'. {nearest(body, known)}")
    if not several(point, 3):
        raise InputError(f"sensitivity of a path: the point is {shown(point)}. Expected three numbers or formulas.")
    frame = found[0].frame
    place = vector([system.lower(equations.model.formula(x, f"point of '{body}'", constant=True)) for x in point])
    p = frame.p + frame.R @ place
    velocity = system.algebra.total_derivative(p, (system.q, system.qd), system.clock)
    return _program(equations, stack(p, velocity))


def _program(equations: BoundEquations, outputs: Array) -> Program:
    system = equations.workspace.system
    inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
    return program_of(
        nodes(system.algebra, np.asarray(outputs, dtype=object).ravel()), inputs, list(system.model.parameter_values)
    )
