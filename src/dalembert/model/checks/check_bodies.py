"""Could such bodies exist? Masses, inertias, quaternions, and bodies that add nothing."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import Problem, nearest
from dalembert.model.checks.check_start import CLOSE
from dalembert.model.checks.check_values import Table, at_start, value
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body

_CLOSE = 1e-9
_ROUNDED = 0.1  # published inertias break the triangle inequality by this much; more is a mistake


def problems(model: Elements) -> list[Problem]:
    """Negative masses, inertias that no distribution of mass has, and bodies without mass that carry nothing."""
    table = at_start(model)
    used = {body.parent for body in model.bodies}
    used |= {name for element in (*model.loads, *model.contacts) for _, name in element.named}
    used |= {name for loop in model.loops for name in loop.bodies}
    found = []
    for body in model.bodies:
        mass = value(body.mass, table)
        if mass < 0:
            advice = "Expected at least 0; correct `mass` or the parameters in it."
            found.append(Problem(f"body '{body.name}', mass", f"the mass is {mass:g}.", advice))
        inertia = _matrix(body, table)
        found += _inertia(f"body '{body.name}', inertia", inertia, model.published)
        moves = any(joint.values for joint in body.joints)  # a body that is fixed on another may be a mere frame
        if moves and mass == 0 and not inertia.any() and body.name not in used:
            fact = "it has no mass, carries no other body and no load acts on it."
            tied = bool(_symbols(body) & {s for c in model.holonomic_list for s in c.phi.free_symbols})
            tied = tied or any(body.name in loop.bodies for loop in model.loops)
            found.append(Problem(f"body '{body.name}'", fact, "Give it a `mass`, or remove it.", blocking=not tied))
    return found + _quaternions(model, table)


def unknown(path: str, name: str, known: Collection[str]) -> list[Problem]:
    """The problem of a body that is named but does not exist."""
    return [] if name in known else [Problem(path, f"there is no body '{name}'.", nearest(name, known))]


def _quaternions(model: Elements, table: Table) -> list[Problem]:
    """Quaternions that are no rotation at the start: none is of length 0, and a guess may have any other length."""
    found = []
    for body in model.bodies:
        for joint in (joint for joint in body.joints if joint.quaternion):
            parts = [value(part, table) for part in joint.values[-4:]]
            length = math.hypot(*parts)
            if length == 0 or (abs(length - 1) > CLOSE and not model.assemble_start):
                shown = ", ".join(f"{part:.10g}" for part in parts)
                fact = f"its quaternion is ({shown}) at the start, of length {length:.10g}."
                advice = "Start it at (1, 0, 0, 0), or at another quaternion (w, x, y, z) of length 1."
                found.append(Problem(f"body '{body.name}'", fact, advice, blocking=False))
    return found


def _symbols(body: Body) -> set[Formula]:
    return {s for joint in body.joints for formula in joint.values for s in formula.free_symbols}


def weightless(model: Elements) -> list[str]:
    """The bodies that move, have neither mass nor inertia, and carry no body that has.

    >>> from dalembert.model.model import Model
    >>> model = Model("knot").coordinates("x", "y")
    >>> _ = model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> weightless(model.body("knot", parent="cart", joint=model.prismatic((1, 0, 0), "y")))
    ['knot']
    """
    table, heavy = at_start(model), set()
    for body in reversed(model.bodies):
        if body.name in heavy or value(body.mass, table) != 0 or _matrix(body, table).any():
            heavy |= {body.name, body.parent}
    return [body.name for body in model.bodies if body.name not in heavy and any(j.values for j in body.joints)]


def _matrix(body: Body, table: Table) -> np.ndarray:
    return np.array([[value(entry, table) for entry in row] for row in body.inertia])


def _inertia(path: str, matrix: np.ndarray, published: bool) -> list[Problem]:
    """An inertia is symmetric, no principal moment is negative, and none exceeds the sum of the other two."""
    if not np.isfinite(matrix).all():
        return []  # told by `formulas`
    small = _CLOSE * float(np.abs(matrix).max())
    i, j = divmod(int(np.abs(matrix - matrix.T).argmax()), 3)
    if abs(matrix[i, j] - matrix[j, i]) > small:
        fact = f"the matrix is not symmetric: [{i}][{j}] is {matrix[i, j]:g} but [{j}][{i}] is {matrix[j, i]:g}."
        return [Problem(path, fact, "Make both entries equal.")]
    moments = np.linalg.eigvalsh(matrix)
    shown = ", ".join(f"{0.0 if abs(m) <= small else m:.6g}" for m in moments)
    if moments[0] < -small:
        fact = f"a principal moment is negative; they are {shown}."
        return [Problem(path, fact, "Expected moments of at least 0; check signs and the products of inertia.")]
    # a single moment is what planar models give: the others never enter
    if moments[1] > small and moments[2] > moments[0] + moments[1] + small:
        fact = f"the principal moments {shown} break the triangle inequality."
        advice = "No body has one moment larger than the sum of the others; take the inertia about the mass centre."
        gross = moments[2] > (1 + _ROUNDED) * (moments[0] + moments[1])
        return [Problem(path, fact, advice, blocking=bool(gross) and not published)]
    return []
