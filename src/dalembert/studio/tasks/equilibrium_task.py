"""Equilibria and evidence: positions of rest with their modes, proofs, verification and comparison of formulations."""

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
from dalembert.evidence.agreement import Agreement
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import FACTS
from dalembert.model.description import Description
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.describe_task import description_of
from dalembert.studio.tasks.simulate_task import model_with_values
from dalembert.tables import Table, Tabular, format_cell

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


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def prove(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Prove that the chosen formulations are identical functions."""
    progress(0.0, "deriving every formalism")
    found = dl.prove(
        description_of(payload),
        payload.choices("formalisms", catalog.KEYS) or None,
        seed=payload.integer("seed", 0, maximum=2**31) if "seed" in payload else None,
        progress=progress,
    )
    point = "and parameters" if found.parameters == "all values" else "with the given values of the parameters"
    scope = (
        "Accelerations and reactions of every formalism were evaluated exactly, in a field of about 2¹²⁷ numbers, at a random "
        f"point: positions, time, velocities that satisfy the constraints, {point}. Two different functions would agree there "
        f"with a probability of at most 2{str(found.exponent).translate(_SUPERSCRIPTS)}. The programs that runs integrate "
        f"were compared with the derived formulas. The point was drawn with the seed {found.seed}."
    )
    return {"passed": found.proved, "scope": scope, **_evidence_result(found)}


def verify(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Compare all formulations numerically at random consistent states."""
    progress(0.0, "deriving every formalism")
    found = dl.verify(
        description_of(payload),
        states=payload.integer("states", 60, minimum=1, maximum=2000),
        tolerance=payload.number("tolerance", 1e-10, minimum=1e-15, maximum=1),
        everything=payload.boolean("everything"),
        progress=progress,
    )
    scope = (
        f"All were evaluated at the same {found.states} random states that satisfy the constraints, on the engines "
        f"{', '.join(found.engines)}. The table has the largest relative difference of each from the first one, and "
        "of the programs that runs integrate."
    )
    return {"passed": found.agrees, "scope": scope, **_evidence_result(found, _lineages(found))}


def _lineages(found: Agreement) -> Table:
    """Return a table of the formulations by shared facts: those that share none are independent."""
    rows = tuple(
        ("; ".join(FACTS[fact] for fact in facts) or "no shared facts", ", ".join(names))
        for facts, names in found.lineages.items()
    )
    return Table(("shared facts", "formalisms"), rows, "Derivation lineages")


def compare(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Compare the chosen formulations over one simulation each."""
    progress(0.0, "deriving and simulating")
    found = dl.compare(
        description_of(payload),
        payload.choices("formalisms", catalog.KEYS) or None,
        duration=payload.number("duration", minimum=1e-9, maximum=1e6) if "duration" in payload else None,
        integrator=payload.string("integrator", max_length=40) if "integrator" in payload else None,
        samples=payload.integer("samples", 101, minimum=2, maximum=100_000),
        progress=progress,
    )
    scope = (
        f"Each was simulated over {found.duration:g} s from the same initial state, without drift correction. Errors are "
        "norms over all samples: of the relative drift of the energy balance, of the violation of the constraints on velocity "
        "level, and of the relative drift of the first ignorable momentum."
    )
    return {"passed": None, "scope": scope, **_evidence_result(found)}


def _evidence_result(found: Tabular, *more: Table) -> dict[str, str]:
    """Return the title of the first table separately, and all tables."""
    first, *rest = found.tables()
    tables = (replace(first, title=""), *rest, *more)
    return {"sentence": first.title, "tables": "\n".join(table.html() for table in tables)}
