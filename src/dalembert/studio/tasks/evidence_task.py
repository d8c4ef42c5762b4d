"""The tasks prove, verify and compare: results and their scope."""

from __future__ import annotations

from dataclasses import replace

import dalembert as dl
from dalembert.evidence.agreement import Agreement
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.about import FACTS
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks.describe_task import description_of
from dalembert.tables import Table, Tabular

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def prove(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Prove that the chosen formulations are identical functions."""
    tell(0.0, "deriving every formalism")
    found = dl.prove(
        description_of(given),
        given.words("formalisms", catalog.KEYS) or None,
        seed=given.whole("seed", 0, most=2**31) if "seed" in given else None,
        progress=tell,
    )
    point = "and parameters" if found.parameters == "all values" else "with the given values of the parameters"
    over = (
        "Accelerations and reactions of every formalism were evaluated exactly, in a field of about 2¹²⁷ numbers, at a random "
        f"point: positions, time, velocities that satisfy the constraints, {point}. Two different functions would agree there "
        f"with a probability of at most 2{str(found.exponent).translate(_SUPERSCRIPTS)}. The programs that runs integrate "
        f"were compared with the derived formulas. The point was drawn with the seed {found.seed}."
    )
    return {"holds": found.proved, "over": over, **_result(found)}


def verify(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Compare all formulations numerically at random consistent states."""
    tell(0.0, "deriving every formalism")
    found = dl.verify(
        description_of(given),
        states=given.whole("states", 60, least=1, most=2000),
        tolerance=given.number("tolerance", 1e-10, least=1e-15, most=1),
        everything=given.switch("everything"),
        progress=tell,
    )
    over = (
        f"All were evaluated at the same {found.states} random states that satisfy the constraints, on the engines "
        f"{', '.join(found.engines)}. The table has the largest relative difference of each from the first one, and "
        "of the programs that runs integrate."
    )
    return {"holds": found.agrees, "over": over, **_result(found, _lineages(found))}


def _lineages(found: Agreement) -> Table:
    """Return a table of the formulations by shared facts: those that share none are independent."""
    rows = tuple(
        ("; ".join(FACTS[fact] for fact in facts) or "no shared facts", ", ".join(names))
        for facts, names in found.lineages.items()
    )
    return Table(("shared facts", "formalisms"), rows, "Derivation lineages")


def compare(given: Given, folder: Folder, tell: Tell) -> Answer:
    """Compare the chosen formulations over one simulation each."""
    tell(0.0, "deriving and simulating")
    found = dl.compare(
        description_of(given),
        given.words("formalisms", catalog.KEYS) or None,
        duration=given.number("duration", least=1e-9, most=1e6) if "duration" in given else None,
        integrator=given.text("integrator", most=40) if "integrator" in given else None,
        samples=given.whole("samples", 101, least=2, most=100_000),
        progress=tell,
    )
    over = (
        f"Each was simulated over {found.duration:g} s from the same initial state, without drift correction. Errors are "
        "norms over all samples: of the relative drift of the energy balance, of the violation of the constraints on velocity "
        "level, and of the relative drift of the first ignorable momentum."
    )
    return {"holds": None, "over": over, **_result(found)}


def _result(found: Tabular, *more: Table) -> dict[str, str]:
    """Return the title of the first table separately, and all tables."""
    first, *rest = found.tables()
    tables = (replace(first, title=""), *rest, *more)
    return {"sentence": first.title, "tables": "\n".join(table.html() for table in tables)}
