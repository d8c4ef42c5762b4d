"""The tasks prove, verify and compare: results and their scope."""

from __future__ import annotations

from dataclasses import replace

import dalembert as dl
from dalembert.evidence.agreement import Agreement
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import FACTS
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.describe_task import description_of
from dalembert.tables import Table, Tabular

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
    return {"passed": found.proved, "scope": scope, **_result(found)}


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
    return {"passed": found.agrees, "scope": scope, **_result(found, _lineages(found))}


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
    return {"passed": None, "scope": scope, **_result(found)}


def _result(found: Tabular, *more: Table) -> dict[str, str]:
    """Return the title of the first table separately, and all tables."""
    first, *rest = found.tables()
    tables = (replace(first, title=""), *rest, *more)
    return {"sentence": first.title, "tables": "\n".join(table.html() for table in tables)}
