"""What a model is made of, and what follows from it: first what is declared, at once, then what has to be worked out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import symengine as se

from dalembert.analysis.model_summary import Understanding, understood
from dalembert.display.math import html, latex, line_breaking
from dalembert.evidence import report
from dalembert.evidence.report import Part
from dalembert.formalisms import catalogue
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Given, Tell
from dalembert.studio.tasks.tab_model import description_of
from dalembert.tables import Table

_MAP = f"${latex.words_in_latex('u = Y q̇ + Z')}$"


def declared(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """The tree and the declarations: nothing is worked out for them."""
    model = description_of(given)
    return {"parts": _data([*report.drawn(model), *report.declared(model)])}


def understand(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """Mobility, ignorable coordinates, speeds, and which formalisms apply; all formalisms with their reasons as data besides."""
    tell(0.0, "looking for what is independent and what is ignorable")
    known = _understood(given.text("text"))
    return {
        "parts": _data([*report.followed(known), *_speeds(known), _formalisms(known)]),
        "formalisms": [
            {"key": m.ABOUT.key, "title": m.ABOUT.title, "refused": known.refused.get(m.ABOUT.key, "")}
            for m in catalogue.FORMALISMS
        ],
    }


@lru_cache(maxsize=4)
def _understood(text: str) -> Understanding:
    model = description_of(Given({"text": text}))
    model.require_sound()
    return understood(model)


def _data(parts: list[Part]) -> list[dict[str, Any]]:
    return [asdict(part) for part in parts]


def _speeds(known: Understanding) -> Iterator[Part]:
    """The quasi-velocities as formulas, and who chose them."""
    facts = known.known
    if not facts.speeds:
        return
    if facts.chosen:
        words = "None are declared, so the program took velocities that determine all others best."
    elif facts.given < len(facts.speeds):
        words = f"The first {facts.given} are declared, the program added what was missing."
    else:
        words = "As they are declared."
    pairs = zip(facts.speed_names, facts.speeds, strict=True)
    lines = line_breaking.broken(
        [(latex.expression(se.Symbol(u)), latex.expression(formula)) for u, formula in pairs], 300
    )
    yield Part("speeds", "Speeds", f"<p>{words}</p>\n{html.equations(_MAP, '(3)', lines)}")


def _formalisms(known: Understanding) -> Part:
    """All formalisms with their number of equations, those that cannot treat the model with the reason."""
    n, d, s = len(known.model.coordinate_names), known.known.d, known.known.s
    counts = {"n": n, "d": d, "n − s": n - s, "d − s": d - s, "6N": 6 * len(known.model.bodies)}
    rows = []
    for about in (module.ABOUT for module in catalogue.FORMALISMS):
        why = known.refused.get(about.key)
        equations = "–" if why else f"{about.count} = {counts[about.count]}"
        rows.append((about.title, equations, about.velocities.value, f"does not apply: {why}" if why else "applies"))
    table = Table(("formalism", "equations", "variables", ""), tuple(rows))
    return Part("formalisms", "Formalisms", table.html())
