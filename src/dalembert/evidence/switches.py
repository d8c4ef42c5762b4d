"""Elements whose formulas switch: what the exact algebra proves branch by branch, and leaves to numbers where it switches."""

from __future__ import annotations

from collections.abc import Iterator

import symengine as se

from dalembert.algebra.tables import tables_in
from dalembert.expressions.formula import Formula
from dalembert.model import Elements


def switching_elements(model: Elements) -> dict[str, str]:
    """The elements with `abs`, `sign`, `min`, `max`, `piecewise` or tables, each with what is left to numbers.

    >>> from dalembert.model import Model
    >>> model = Model("bead").coordinates("x")
    >>> _ = model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> _ = model.force("bead", ("-200*max(x - 5, 0)", 0, 0), name="bumper")
    >>> list(switching_elements(model))
    ["force 'bumper'"]
    """
    formulas = [(path, se.sympify(formula)) for path, formula in _formulas(model)]
    found = {path for path, formula in formulas if formula.atoms(se.Piecewise) or tables_in(formula)}
    return dict.fromkeys(sorted(found), "it switches; proved on every branch, but not where it switches")


def _formulas(model: Elements) -> Iterator[tuple[str, Formula]]:
    for load in model.loads:
        yield from ((load.title, formula) for formula in load.formulas)
    for body in model.bodies:
        for joint in body.joints:
            yield from ((f"joint of '{body.name}'", value) for value in joint.values)
    yield from ((f"constraint '{c.name}'", c.phi) for c in model.holonomic_list)
    yield from ((f"constraint '{c.name}'", c.psi) for c in model.nonholonomic_list)
    yield from ((f"speed '{u.name}'", u.value) for u in model.speed_list)
    yield from ((f"non-ideal force on '{name}'", f) for name, f in model.non_ideal_forces.items())
    if model.energies is not None:
        yield "kinetic energy", model.energies.kinetic
        yield "potential energy", model.energies.potential
        yield from ((f"force {i + 1}", f) for i, f in enumerate(model.energies.forces))
