"""Where a model rests or goes on steadily, how it moves near there, and the motion of one mode."""

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
from dalembert.tables import Table, short

_MOST_STARTS = 2_000
_MOST_SHOWN = 100
_MOST_MODES = 400
_DIGITS = 12  # behind the point, in the table of reactions


def equilibria(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Equilibria or steady motions, the nearest to the start first, each with its forces."""
    model = valued(given)
    names, parameters = model.coordinate_names, list(model.parameter_values)
    tell(0.0, "looking for positions of rest")
    found = dl.equilibrium(
        model,
        keep=given.words("keep", names),
        at=_at(given),
        starts=given.whole("starts", 30, most=_MOST_STARTS),
        speeds=given.numbers("speeds") or None,
        seek=given.words("seek", [*names, *parameters]),
    )
    return {
        "found": [_shown(each) for each in found[:_MOST_SHOWN]],
        "left_out": max(0, len(found) - _MOST_SHOWN),
        "scene": _scene(model, found[:_MOST_SHOWN]).to_dict() if model.bodies else None,
    }


def _scene(model: Description, found: Sequence[Equilibrium]) -> Scene:
    """The model to be moved by hand, seen so that all that was found is in view."""
    q, t = np.array([each.q for each in found]).T, np.arange(float(len(found)))
    still = np.zeros_like(q)
    return replace(scene_of(model, motion=Recorded("rest", t, q, still, still, (), ())), run=None)


def _at(given: Given) -> At:
    """A position, or a position and rates; None for the start of the model."""
    q, qd = given.numbers("start"), given.numbers("rate")
    if not q and not qd:
        return None
    return (q or None, qd) if qd else q


def _shown(found: Equilibrium) -> Answer:
    """What was found as plain data, with tables of its state, its forces and what its joints carry."""
    tables = list(found.tables())
    if found.model.bodies:
        tables.append(_reactions(found))
    return {**found.to_dict(), "tables": "\n".join(table.html() for table in tables)}


def _reactions(found: Equilibrium) -> Table:
    rows, reactions = [], found.joint_reactions()
    for name, each in reactions.items():
        force, moment = (np.round(np.asarray(x, dtype=float).ravel(), _DIGITS) + 0.0 for x in (each.force, each.moment))
        sizes = [short(float(np.linalg.norm(x))) for x in (force, moment)]
        parts = [", ".join(short(float(x)) for x in vector) for vector in (force, moment)]
        rows.append((name, sizes[0], parts[0], sizes[1], parts[1]))
    return Table(
        ("joint", "|F|", "F in the world", "|M|", "M in the world"),
        tuple(rows),
        "What the joints carry",
        reactions.notes,
    )


def modes(given: Given, folder: Folder, tell: Tell) -> Answer:
    """The modes about a state: eigenvalues, frequencies and damping."""
    tell(0.0, "linearising")
    linear = _linear(given)
    found = linear.modes()
    words = found.tables()[0].rows
    return {
        "kind": linear.kind,
        "reason": linear.reason,
        "stable": linear.stable,
        "followers": list(linear.followers),
        "modes": [{**data, "moves": row[-1]} for data, row in zip(found.to_dict()[:_MOST_MODES], words, strict=False)],
    }


def mode(given: Given, folder: Folder, tell: Tell) -> Answer:
    """One period of a mode, as a scene that plays."""
    found = _linear(given).modes()
    if not found.model.bodies:
        raise InputError("this model is given by its energies, so there is no shape to be shown. Read the table.")
    index = given.whole("mode", most=_MOST_MODES)
    return {"scene": found.scene(index, given.number("size", 0.3, least=1e-6, most=10.0)).to_dict()}


def _linear(given: Given) -> Linearization:
    return dl.linearize(valued(given), _at(given), moving=given.switch("moving", False))
