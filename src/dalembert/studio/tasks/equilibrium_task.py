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
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.simulate_task import model_with_values
from dalembert.tables import Table, format_cell

_MAX_STARTS = 2_000
_MAX_RESULTS = 100
_MAX_MODES = 400
_DIGITS = 12  # decimals in the table of reactions


def equilibria(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return equilibria or steady motions with their forces, the nearest to the start first."""
    model = model_with_values(payload)
    names, parameters = model.coordinate_names, list(model.parameter_values)
    progress(0.0, "searching for equilibria")
    found = dl.equilibrium(
        model,
        fixed=payload.choices("fixed", names),
        at=_at(payload),
        starts=payload.integer("starts", 30, maximum=_MAX_STARTS),
        speeds=payload.numbers("speeds") or None,
        unknowns=payload.choices("unknowns", [*names, *parameters]),
    )
    return {
        "equilibria": [_result(each) for each in found[:_MAX_RESULTS]],
        "omitted": max(0, len(found) - _MAX_RESULTS),
        "scene": _scene(model, found[:_MAX_RESULTS]).to_dict() if model.bodies else None,
    }


def _scene(model: Description, found: Sequence[Equilibrium]) -> Scene:
    """Return the interactive scene with a view that contains all results."""
    q, t = np.array([each.q for each in found]).T, np.arange(float(len(found)))
    zero = np.zeros_like(q)
    return replace(scene_of(model, motion=Recorded("rest", t, q, zero, zero, (), ())), run=None)


def _at(payload: Payload) -> At:
    """Return a position, or a position and rates; None for the initial state of the model."""
    q, qd = payload.numbers("start"), payload.numbers("rate")
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


def modes(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the modes about a state: eigenvalues, frequencies and damping."""
    progress(0.0, "linearizing")
    linear = _linear(payload)
    found = linear.modes()
    rows = found.tables()[0].rows
    return {
        "kind": linear.kind,
        "reason": linear.reason,
        "stable": linear.stable,
        "decoupled_states": list(linear.decoupled_states),
        "modes": [{**data, "moves": row[-1]} for data, row in zip(found.to_dict()[:_MAX_MODES], rows, strict=False)],
    }


def mode(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the animated scene of one period of a mode."""
    found = _linear(payload).modes()
    if not found.model.bodies:
        raise InputError("this model is defined by its energies, so there is no mode shape to display. See the table.")
    index = payload.integer("mode", maximum=_MAX_MODES)
    return {"scene": found.scene(index, payload.number("size", 0.3, minimum=1e-6, maximum=10.0)).to_dict()}


def _linear(payload: Payload) -> Linearization:
    return dl.linearize(model_with_values(payload), _at(payload), any_state=payload.boolean("moving", False))
