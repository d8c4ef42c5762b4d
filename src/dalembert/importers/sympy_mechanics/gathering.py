"""What a system of SymPy is made of, whichever of its classes says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.errors import InputError, NotApplicableError

CLASSES = ("System", "KanesMethod", "LagrangesMethod")
Expression = Any  # SymPy has no types to lean on


@dataclass(frozen=True)
class Mechanics:
    """Bodies, loads and constraints over coordinates q and their rates; speeds are eliminated where they are used."""

    frame: Expression  # the inertial frame
    q: list[Expression]
    speeds: dict[Expression, Expression]  # each speed as a function of q and q̇
    bodies: list[Expression]
    loads: list[tuple[Expression, Expression]]  # a point or a frame, and a vector
    holonomic: list[Expression]
    velocity: list[Expression]  # all constraints of velocities, those that follow from `holonomic` among them
    lagrangian: Expression | None = None  # in place of the energies of the bodies


def gathered(system: Expression) -> Mechanics:
    """The parts of a System, a KanesMethod or a LagrangesMethod."""
    kind = type(system).__name__
    if kind == "System" and type(system.eom_method).__name__ != "LagrangesMethod":
        return _of_system(system)
    if kind == "System":
        system, kind = system.eom_method, "LagrangesMethod"
    if kind == "LagrangesMethod":
        hol = list(system._hol_coneqs)
        loads = [(each[0], each[1]) for each in system.forcelist or ()]
        if loads and system.inertial is None:
            raise InputError("LagrangesMethod with forces: there is no inertial frame. Give it as `frame`.")
        return Mechanics(system.inertial, list(system.q), {}, [], loads, hol, list(system.coneqs), system._L[0])
    _refuse_auxiliary(system._uaux)
    # f_nh + k_nh u = 0
    velocity = list(system._f_nh + system._k_nh * system.u) if len(system._f_nh) else []
    kinematic = [rate - value for rate, value in system.kindiffdict().items()]
    loads = [(each[0], each[1]) for each in system.forcelist or ()]
    q, bodies = list(system.q), list(system.bodies or ())
    return Mechanics(
        system._inertial, q, _solved(kinematic, q, list(system.u)), bodies, loads, list(system._f_h), velocity
    )


def _of_system(system: Expression) -> Mechanics:
    _refuse_auxiliary(system.u_aux)
    for body in system.bodies:
        if body.potential_energy != 0:
            raise NotApplicableError(
                f"body '{body.name}' has a potential energy, which Kane's method leaves out. Apply the force itself, or call "
                "system.form_eoms(LagrangesMethod) before."
            )
    loads = [*system.loads, *(load for actuator in system.actuators for load in actuator.to_loads())]
    q = list(system.q)
    return Mechanics(
        system.frame,
        q,
        _solved(list(system.kdes), q, list(system.u)),
        list(system.bodies),
        [(each[0], each[1]) for each in loads],
        list(system.holonomic_constraints),
        list(system.velocity_constraints),
    )


def _refuse_auxiliary(speeds: Sequence[Expression]) -> None:
    if len(speeds):
        raise NotApplicableError(
            f"the system has auxiliary speeds ({', '.join(map(str, speeds))}). Leave them out: a constraint has its "
            "reaction from its multiplier."
        )


def _solved(kinematic: list[Expression], q: list[Expression], u: list[Expression]) -> dict[Expression, Expression]:
    """u as functions of q and q̇, from the kinematic differential equations."""
    import sympy

    if len(u) != len(q) or len(kinematic) != len(q):
        raise NotApplicableError(
            f"the system has {len(q)} coordinates, {len(u)} speeds and {len(kinematic)} kinematic equations. Expected "
            "as many of each: give every coordinate a speed, and say which of them depend on others by velocity constraints."
        )
    matrix, right = sympy.linear_eq_to_matrix(kinematic, u)
    if sympy.Matrix(matrix).is_diagonal():
        values = [right[i] / matrix[i, i] for i in range(len(u))]
    else:
        values = list(matrix.LUsolve(right))
    return dict(zip(u, values, strict=True))
