"""The equations of a model by one formalism: its page, or its own steps; HTML to be read and LaTeX to be copied."""

from __future__ import annotations

from functools import lru_cache

import dalembert as dl
from dalembert.api.equation_reader import Reading
from dalembert.display.math import html, latex
from dalembert.display.math.line_breaking import LINE
from dalembert.display.math.short_forms import BUDGET
from dalembert.formalisms import catalogue
from dalembert.model.frozen import Frozen
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks.describe_task import description_of
from dalembert.studio.tasks.help import named


def equations(given: Given, folder: Folder, tell: Tell) -> Answer:
    """The page of a formalism, or its steps: `view`; with numbers for parameters, and lines of so many points: `line`."""
    key = given.choice("formalism", catalogue.KEYS)
    view = given.choice("view", ("page", "steps"), "page")
    line = given.number("line", LINE, least=80, most=2 * LINE)
    budget = given.number("budget", BUDGET, least=0, most=600)
    tell(0.0, f"deriving by {key}")
    reading = _reading(given.text("text"), key, given.switch("numbers"), budget)
    reading.shortening.watched(lambda share: tell(share, "looking for short forms"))
    about = catalogue.find(key).ABOUT
    written = _page(reading, line) if view == "page" else _steps(reading, line)
    return {"title": about.title, "source": named(about.source), **written, "unfinished": reading.unfinished}


@lru_cache(maxsize=6)
def _reading(text: str, key: str, numbers: bool, budget: float) -> Reading:
    """Kept, so that other widths and views are quick."""
    model = description_of(Given({"text": text}))
    derivation = dl.derive(model, key).derivation
    return Reading(derivation, Frozen(model.parameter_values if numbers else {}), budget)


def _page(reading: Reading, line: float) -> Answer:
    """The equations that the formalism ends with, and what they are made of."""
    page, parts = reading.page, []
    for section in page.sections:
        heading, lines = latex.heading(page, section), latex.lines(page, section, line)
        said = latex.equations(heading, section.equation, latex.lines(page, section))
        kind = "law" if section.is_law else ""
        parts.append(_part(kind, html.equations(heading, section.equation, lines), said if lines else ""))
    notes = [html.sentence(f"{note[:1].upper()}{note[1:]}.") for note in page.notes]
    return {"counts": page.counts, "notes": notes, "parts": parts, "latex": latex.page(page)}


def _steps(reading: Reading, line: float) -> Answer:
    """The derivation step by step."""
    steps, parts = tuple(reading.steps()), []
    for step in steps:
        if len(step.blocks) > 1:
            parts.append(_part("heading", html.sentence(step.heading), ""))
        for found in step.blocks:
            heading, number = found.heading_in_latex, found.equation
            said = latex.equations(heading, number, found.lines())
            parts.append(_part("", html.equations(heading, number, found.lines(line)), said))
    return {"counts": "", "notes": [], "parts": parts, "latex": "\n\n".join(step.to_latex() for step in steps)}


def _part(kind: str, shown: str, tex: str) -> dict[str, str]:
    """Equations to be read, and to be copied where there are some; the kind is law, heading or nothing."""
    return {"kind": kind, "html": shown, "latex": tex}
