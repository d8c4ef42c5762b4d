"""Does every formula have a finite value at the start, with the default parameters?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem
from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import written_out
from dalembert.model.checks.values import Table, at_start, value

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body


def problems(model: Elements) -> list[Problem]:
    """Formulas that divide by zero, take the root of a negative number, or grow beyond the numbers."""
    table = at_start(model)
    found = _gravity(model, table)
    for path, formula in formulas(model):
        if not math.isfinite(value(formula, table)):
            found.append(_undefined(path, formula, table))
    return found


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
    fact = f"'{_short(formula)}' has no finite value at the start" + (f", where {shown}." if shown else ".")
    return Problem(path, fact, "Change the formula, the parameters or the initial state.")


def formulas(model: Elements) -> Iterator[tuple[str, Formula]]:
    """Every formula of the model with the path of its element."""
    for body in model.bodies:
        yield from _of_body(body)
    for load in model.loads:
        yield from load.numbers()
    for rotor in model.rotors:
        yield f"rotor '{rotor.name}', inertia", rotor.inertia
        yield f"rotor '{rotor.name}', ratio", rotor.ratio
    for constraint in (*model.loops, *model.holonomic_list, *model.nonholonomic_list):
        yield from constraint.numbers()
    for speed in model.speed_list:
        yield f"speed '{speed.name}'", speed.value
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


def _short(formula: Formula) -> str:
    text = written_out(formula)
    return text if len(text) <= 60 else text[:57] + "..."
