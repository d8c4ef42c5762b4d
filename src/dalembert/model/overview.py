"""A model in tables, as it was declared: nothing is worked out for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.symbolic.formula_writer import written_out
from dalembert.tables import Table, short

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_MOST = 60  # rows of a table


def tables_of(model: Elements) -> tuple[Table, ...]:
    """Coordinates, parameters, bodies, loads and constraints, each a table; without those that are empty.

    >>> from dalembert.model.model import Model
    >>> print(*tables_of(Model("slide").coordinates("x").parameters(m=2.0)), sep="\\n")
    slide
    coordinate  start  rate
    x           0      0
    parameter  value
    m          2
    """
    bodies = [
        (body.name, body.parent, ", ".join(joint.kind for joint in body.joints) or "fixed", written_out(body.mass))
        for body in model.bodies
    ]
    coordinates = [
        (c.name, short(float(c.start)), short(float(c.start_rate)), c.unit, c.description)
        for c in model.generalized_coordinates
    ]
    given = {name for controller in model.controllers for name in controller.inputs}
    given |= {name for known in model.rigid for name in known.parameters}
    parameters = [
        (p.name, short(float(p.value)), p.unit, p.description) for p in model.declared_parameters if p.name not in given
    ]
    constraints = [(name, kind) for kind, names in _constraints(model).items() for name in names]
    found = (
        _table("coordinate, start, rate, unit, meaning", coordinates),
        _table("parameter, value, unit, meaning", parameters),
        _table("body, carried by, joints, mass", bodies),
        _table("load, kind", [(load.name, load.kind) for load in model.loads]),
        _table("constraint, kind", constraints),
    )
    title = f"{model.name}: {model.text}" if model.text else model.name
    return (Table(title=title), *(table for table in found if table.rows))


def _constraints(model: Elements) -> dict[str, list[str]]:
    """The names of what holds the model, by kind."""
    return {
        "holonomic": [c.name for c in model.holonomic_constraints],
        "nonholonomic": [c.name for c in model.nonholonomic_constraints],
        "of momenta": [c.name for c in model.canonical_constraints],
        **{
            kind: [c.name for c in model.contacts if c.kind == kind]
            for kind in dict.fromkeys(c.kind for c in model.contacts)
        },
        "loop": [c.name for c in model.loops],
    }


def _table(headings: str, rows: list[tuple[str, ...]]) -> Table:
    """A table without columns in which nothing stands, and not longer than anybody reads."""
    columns = headings.split(", ")
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    notes = (f"and {len(rows) - _MOST} more",) if len(rows) > _MOST else ()
    body = tuple(tuple(row[i] for i in kept) for row in rows[:_MOST])
    return Table(tuple(columns[i] for i in kept), body, "", notes)
