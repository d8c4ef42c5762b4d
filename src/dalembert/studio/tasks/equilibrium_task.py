"""Equilibria, steady motions, linear modes, and the animation of one mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import dalembert as dl
from dalembert.analysis.equilibrium import Equilibrium
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.linearize import At
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.scene.scene_values import Recorded, Scene
from dalembert.errors import InputError
from dalembert.model.description import Description
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks.simulate_task import valued
from dalembert.tables import Table, format_cell

_MAX_STARTS = 2_000
_MAX_RESULTS = 100
_MAX_MODES = 400
_DIGITS = 12  # decimals in the table of reactions


def equilibria(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Return equilibria or steady motions with their forces, the nearest to the start first."""
    model = valued(given)
    names, parameters = model.coordinate_names, list(model.parameter_values)
    tell(0.0, "searching for equilibria")
    found = dl.equilibrium(
        model,
        fixed=given.words("keep", names),
        at=_at(given),
        starts=given.whole("starts", 30, most=_MAX_STARTS),
        speeds=given.numbers("speeds") or None,
        unknowns=given.words("seek", [*names, *parameters]),
    )
    return {
        "found": [_result(each) for each in found[:_MAX_RESULTS]],
        "left_out": max(0, len(found) - _MAX_RESULTS),
        "scene": _scene(model, found[:_MAX_RESULTS]).to_dict() if model.bodies else None,
    }


def _scene(model: Description, found: Sequence[Equilibrium]) -> Scene:
    """Return the interactive scene with a view that contains all results."""
    q, t = np.array([each.q for each in found]).T, np.arange(float(len(found)))
    zero = np.zeros_like(q)
    return replace(scene_of(model, motion=Recorded("rest", t, q, zero, zero, (), ())), run=None)


def _at(given: Given) -> At:
    """Return a position, or a position and rates; None for the initial state of the model."""
    q, qd = given.numbers("start"), given.numbers("rate")
    if not q and not qd:
        return None
    return (q or None, qd) if qd else q


def _result(found: Equilibrium) -> Answer:
    """Return a result as JSON data, with tables of its state, its forces and its joint reactions."""
    tables = list(found.tables())
    if found.model.bodies:
        tables.append(_reactions(found))
    return {**found.to_dict(), "tables": "\n".join(table.html() for table in tables)}


def _reactions(found: Equilibrium) -> Table:
    rows, reactions = [], found.joint_reactions()
    for name, each in reactions.items():
        force, moment = (np.round(np.asarray(x, dtype=float).ravel(), _DIGITS) + 0.0 for x in (each.force, each.moment))
        sizes = [format_cell(float(np.linalg.norm(x))) for x in (force, moment)]
        parts = [", ".join(format_cell(float(x)) for x in vector) for vector in (force, moment)]
        rows.append((name, sizes[0], parts[0], sizes[1], parts[1]))
    return Table(
        ("joint", "|F|", "F in the world", "|M|", "M in the world"),
        tuple(rows),
        "Joint reactions",
        reactions.notes,
    )


def modes(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Return the modes about a state: eigenvalues, frequencies and damping."""
    tell(0.0, "linearizing")
    linear = _linear(given)
    found = linear.modes()
    words = found.tables()[0].rows
    return {
        "kind": linear.kind,
        "reason": linear.reason,
        "stable": linear.stable,
        "followers": list(linear.decoupled_states),
        "modes": [{**data, "moves": row[-1]} for data, row in zip(found.to_dict()[:_MAX_MODES], words, strict=False)],
    }


def mode(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Return the animated scene of one period of a mode."""
    found = _linear(given).modes()
    if not found.model.bodies:
        raise InputError("this model is defined by its energies, so there is no mode shape to display. See the table.")
    index = given.whole("mode", most=_MAX_MODES)
    return {"scene": found.scene(index, given.number("size", 0.3, least=1e-6, most=10.0)).to_dict()}


def _linear(given: Given) -> Linearization:
    return dl.linearize(valued(given), _at(given), any_state=given.switch("moving", False))
