"""Does every formula have a finite value at the start, and the degree in the velocities that it needs?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem
from dalembert.model.checks.check_values import Table, at_start, is_affine, is_quadratic, value
from dalembert.model.keys import quote
from dalembert.symbolic.exact_numbers import written_out
from dalembert.symbolic.reserved_symbols import rate
from dalembert.symbolic.symbols import Formula, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body


def undefined(model: Elements) -> list[Problem]:
    """Formulas that divide by zero, take the root of a negative number, or grow beyond the numbers."""
    table = at_start(model)
    found = [_undefined(path, f, table) for path, f in with_paths(model) if not math.isfinite(value(f, table))]
    return _gravity(model, table) + found


def _gravity(model: Elements, table: Table) -> list[Problem]:
    """Gravity is read late, when all parameters are known, so its formulas can still be wrong here."""
    try:
        entries = list(_vector("gravity", model.gravity))
    except InputError as error:
        return [Problem("gravity", str(error))]
    return [_undefined(path, entry, table) for path, entry in entries if not math.isfinite(value(entry, table))]


def _undefined(path: str, formula: Formula, table: Table) -> Problem:
    symbols = sorted(s.name for s in formula.free_symbols)
    shown = ", ".join(f"{name} = {table[name]:g}" for name in symbols[:8])
    fact = f"{quote(written_out(formula))} has no finite value at the start" + (f", where {shown}." if shown else ".")
    return Problem(path, fact, "Change the formula, the parameters or the initial state.")


def with_paths(model: Elements) -> Iterator[tuple[str, Formula]]:
    """Every formula of the model with the path of its element."""
    for body in model.bodies:
        yield from _of_body(body)
    for load in model.loads:
        yield from load.numbers()
    for rotor in model.rotors:
        yield from ((f"{rotor.title}, {key}", getattr(rotor, key)) for key in ("inertia", "ratio"))
    for constraint in (*model.loops, *model.holonomic_list, *model.nonholonomic_list):
        yield from constraint.numbers()
    for contact in model.contacts:
        yield from contact.numbers()
    for speed in model.speed_list:
        yield f"speed '{speed.name}'", speed.value
    for event in model.events:
        yield f"{event.title}, when", event.when
    if model.energies is not None:
        yield "kinetic energy", model.energies.kinetic
        yield "potential energy", model.energies.potential
        for name, force in zip(model.coordinate_names, model.energies.forces, strict=True):
            yield f"force on '{name}'", force


def _of_body(body: Body) -> Iterator[tuple[str, Formula]]:
    path = f"body '{body.name}'"
    yield f"{path}, mass", body.mass
    yield from _vector(f"{path}, center", body.center)
    for i, row in enumerate(body.inertia):
        yield from _vector(f"{path}, inertia[{i}]", row)
    for i, joint in enumerate(body.joints):
        where = f"{path}, joint {i} ({joint.kind})"
        yield from _vector(f"{where}, position", joint.position)
        yield from _vector(f"{where}, rotation", joint.rotation)
        for motion, formula in zip(joint.motions, joint.values, strict=True):
            yield f"{where}, {motion}", formula


def _vector(path: str, entries: tuple[Formula, ...]) -> Iterator[tuple[str, Formula]]:
    for i, entry in enumerate(entries):
        yield f"{path}[{i}]", entry


def degrees(model: Elements) -> list[Problem]:
    """Kinetic energies that are not quadratic in the velocities, and speeds that are not linear in them."""
    velocities, start = {rate(name) for name in model.coordinate_names}, at_start(model)
    return _energies(model, velocities, start) + _speeds(model, velocities, start)


def _energies(model: Elements, velocities: set[Formula], start: Table) -> list[Problem]:
    """A kinetic energy that misses the velocity of a coordinate that no constraint contains, or is not T = ½ q̇ᵀM q̇ + q̇ᵀN + T₀."""
    if model.energies is None:
        return []
    found = []
    T = model.energies.kinetic
    tied = {symbol for each in model.formula_constraints for symbol in each.formula.free_symbols}
    for name in model.coordinate_names:
        if rate(name) not in T.free_symbols and not tied & {coordinate(name), rate(name)}:
            advice = (
                f"A coordinate without mass needs a constraint that determines it: add a term with dot({name})**2 or such a "
                f"constraint, or remove '{name}'."
            )
            found.append(Problem("kinetic energy", f"the velocity dot({name}) does not appear in it.", advice))
    if not is_quadratic(T, velocities, start):
        advice = "Expected terms with at most two velocities as factors, such as m*dot(x)**2/2."
        found.append(Problem("kinetic energy", "it is not quadratic in the velocities.", advice))
    return found


def _speeds(model: Elements, velocities: set[Formula], start: Table) -> list[Problem]:
    """Speeds that are not u = Y(q, t) q̇ + Z(q, t), or more of them than coordinates."""
    found = []
    for speed in model.speed_list:
        path = f"speed '{speed.name}'"
        if not speed.value.free_symbols & velocities:
            found.append(Problem(path, "it contains no velocity.", "Use dot(...) of at least one coordinate."))
        elif not is_affine(speed.value, velocities, start):
            advice = "Expected a sum of velocities with factors of coordinates and time, such as cos(x)*dot(y)."
            found.append(Problem(path, "it is not linear in the velocities.", advice))
    count, n = len(model.speed_list), len(model.coordinate_list)
    if count > n:
        fact = f"there are {count} speeds for {n} coordinates."
        found.append(Problem("speeds", fact, "Expected one for each degree of freedom; remove some."))
    return found
