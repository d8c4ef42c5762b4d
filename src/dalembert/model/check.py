"""Validation of a model before equations are derived: all problems at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.model import integrator_names
from dalembert.model.check_elements import body_problems, load_problems, loop_problems
from dalembert.model.evaluation import Table, at_start, is_affine, is_quadratic, value
from dalembert.model.keys import quote
from dalembert.model.values import WORLD
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula, coordinate, rate

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body


def structure(model: Elements) -> list[Problem]:
    """Missing elements, duplicate descriptions, unknown parents, cycles of bodies and unused coordinates."""
    return [*_description(model), *_parents(model), *_cycles(model), *_unused(model), *_names(model), *_shapes(model)]


def _description(model: Elements) -> list[Problem]:
    path, found = f"model '{model.name}'", []
    if not model.generalized_coordinates:
        fact = "it is empty: there are no coordinates."
        found.append(Problem(path, fact, "Declare at least one coordinate and a body that moves with it."))
    if not model.bodies and model.energies is None:
        fact = "it has neither bodies nor energies."
        found.append(Problem(path, fact, "Add a body, or define the system by energies."))
    if model.bodies and model.energies is not None:
        fact = f"it has {len(model.bodies)} bodies and also energies."
        found.append(Problem(path, fact, "Expected one of the two; remove the bodies or the energies."))
    return found


def _parents(model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    return [
        Problem(f"body '{b.name}'", f"its parent '{b.parent}' does not exist.", suggest_name(b.parent, {WORLD, *names}))
        for b in model.bodies
        if b.parent != WORLD and b.parent not in names
    ]


def _cycles(model: Elements) -> list[Problem]:
    """Cycles in the tree of bodies; each cycle is reported once."""
    parents = {body.name: body.parent for body in model.bodies}
    visited: set[str] = set()
    found = []
    for name in parents:
        path: list[str] = []
        while name in parents and name not in visited:
            visited.add(name)
            path.append(name)
            name = parents[name]
        if name in path:
            cycle = [*path[path.index(name) :], name]
            advice = f"Expected every body to be connected to the world; give one of them the parent '{WORLD}'."
            found.append(Problem(f"body '{name}'", f"the parents form a cycle: {' on '.join(cycle)}.", advice))
    return found


def _unused(model: Elements) -> list[Problem]:
    """Coordinates that no joint uses."""
    if not model.bodies:
        return []
    moved = {s for b in model.bodies for j in b.joints for value in j.values for s in value.free_symbols}
    return [
        Problem(f"coordinate '{name}'", "it appears in no joint.", "Use it in a joint, or remove it.")
        for name in model.coordinate_names
        if coordinate(name) not in moved
    ]


def _names(model: Elements) -> list[Problem]:
    return [
        Problem(f"constraint '{name}'", f"the name is used {count} times.", "Give each constraint a unique name.")
        for name, count in Counter((*model.constraint_names, *(c.name for c in model.canonical_constraints))).items()
        if count > 1
    ]


def _shapes(model: Elements) -> list[Problem]:
    names = {WORLD, *(body.name for body in model.bodies)}
    return [
        Problem(f"shape of '{shape.body}'", "there is no such body.", suggest_name(shape.body, names))
        for shape in model.shapes
        if shape.body not in names
    ]


def undefined(model: Elements) -> list[Problem]:
    """Formulas without a finite value: division by zero, root of a negative number, overflow."""
    table = at_start(model)
    found = [_undefined(path, f, table) for path, f in with_paths(model) if not math.isfinite(value(f, table))]
    return _gravity(model, table) + found


def _gravity(model: Elements, table: Table) -> list[Problem]:
    """Problems of gravity, whose formulas are read only when all parameters are declared."""
    try:
        entries = list(_vector("gravity", model.gravity))
    except InputError as error:
        return [Problem("gravity", str(error))]
    return [_undefined(path, entry, table) for path, entry in entries if not math.isfinite(value(entry, table))]


def _undefined(path: str, formula: Formula, table: Table) -> Problem:
    symbols = sorted(s.name for s in formula.free_symbols)
    values = ", ".join(f"{name} = {table[name]:g}" for name in symbols[:8])
    fact = f"{quote(formula_string(formula))} has no finite value at the start" + (
        f", where {values}." if values else "."
    )
    return Problem(path, fact, "Change the formula, the parameters or the initial state.")


def with_paths(model: Elements) -> Iterator[tuple[str, Formula]]:
    """Iterate over all formulas of the model with the paths of their elements."""
    for body in model.bodies:
        yield from _of_body(body)
    for load in model.loads:
        yield from load.numbers()
    for rotor in model.rotors:
        yield from ((f"{rotor.title}, {key}", getattr(rotor, key)) for key in ("inertia", "ratio"))
    for constraint in (*model.loops, *model.holonomic_constraints, *model.nonholonomic_constraints):
        yield from constraint.numbers()
    for contact in model.contacts:
        yield from contact.numbers()
    for speed in model.generalized_speeds:
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
    """A kinetic energy that is not T = ½ q̇ᵀM q̇ + q̇ᵀN + T₀, or lacks the velocity of an unconstrained coordinate."""
    if model.energies is None:
        return []
    found = []
    T = model.energies.kinetic
    constrained = {symbol for each in model.formula_constraints for symbol in each.formula.free_symbols}
    for name in model.coordinate_names:
        if rate(name) not in T.free_symbols and not constrained & {coordinate(name), rate(name)}:
            advice = (
                f"A massless coordinate needs a constraint that determines it: add a term with dot({name})**2 or such a "
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
    for speed in model.generalized_speeds:
        path = f"speed '{speed.name}'"
        if not speed.value.free_symbols & velocities:
            found.append(Problem(path, "it contains no velocity.", "Use dot(...) of at least one coordinate."))
        elif not is_affine(speed.value, velocities, start):
            advice = "Expected a sum of velocities with factors of coordinates and time, such as cos(x)*dot(y)."
            found.append(Problem(path, "it is not linear in the velocities.", advice))
    count, n = len(model.generalized_speeds), len(model.generalized_coordinates)
    if count > n:
        fact = f"there are {count} speeds for {n} coordinates."
        found.append(Problem("speeds", fact, "Expected one for each degree of freedom; remove some."))
    return found


_PARTS = (
    structure,
    undefined,
    body_problems,
    load_problems,
    loop_problems,
    degrees,
    integrator_names.problems,
    lambda model: [problem for event in model.events for problem in event.problems(model)],
)


def problems(model: Elements) -> list[Problem]:
    """All problems of a model, each with its path, what is wrong and how to fix it; an empty list for a valid model.

    >>> from dalembert.model.model import Model
    >>> for problem in problems(Model("nothing").coordinates("x")):
    ...     print(problem)
    model 'nothing': it has neither bodies nor energies. Add a body, or define the system by energies.
    """
    return [problem for part in _PARTS for problem in part(model)]
