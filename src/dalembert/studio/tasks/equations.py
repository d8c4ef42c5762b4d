"""The equations of a model by one formalism: its page, or its own steps; HTML to be read and LaTeX to be copied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dalembert import formalisms, pipeline
from dalembert.handles.reading import Reading
from dalembert.model.frozen import Frozen
from dalembert.show import html, latex
from dalembert.show.breaking import LINE
from dalembert.show.shortening import BUDGET
from dalembert.studio.folder import Folder
from dalembert.studio.given import Given, Tell
from dalembert.studio.tasks.help import named
from dalembert.studio.tasks.models import description_of

_Part = dict[str, str]


def equations(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """The page of a formalism, or its steps: `view`; with numbers for parameters, and lines of so many points: `line`."""
    key = given.choice("formalism", formalisms.KEYS)
    view = given.choice("view", ("page", "steps"), "page")
    line = given.number("line", LINE, least=80, most=2 * LINE)
    budget = given.number("budget", BUDGET, least=0, most=600)
    tell(0.0, f"deriving by {key}")
    reading = _reading(given.text("text"), key, given.switch("numbers"), budget)
    reading.shortening.watched(lambda share: tell(share, "looking for short forms"))
    parts = list(_page(reading, line) if view == "page" else _steps(reading, line))
    about = formalisms.find(key).ABOUT
    page = reading.page if view == "page" else None
    notes = [html.sentence(f"{note[:1].upper()}{note[1:]}.") for note in (page.notes if page else ())]
    whole = latex.page(page) if page else "\n\n".join(step.to_latex() for step in reading.steps())
    return {
        "title": about.title,
        "source": named(about.source),
        "counts": page.counts if page else "",
        "notes": notes,
        "parts": parts,
        "latex": whole,
        "unfinished": reading.unfinished,
    }


@lru_cache(maxsize=6)
def _reading(text: str, key: str, numbers: bool, budget: float) -> Reading:
    """Kept, so that other widths and views are quick."""
    model = description_of(Given({"text": text}))
    derivation = pipeline.derive(model, key).derivation
    return Reading(derivation, Frozen(model.parameter_values if numbers else {}), budget)


def _page(reading: Reading, line: float) -> Iterator[_Part]:
    page = reading.page
    for section in page.sections:
        heading, lines = latex.heading(page, section), latex.lines(page, section, line)
        yield {
            "kind": "law" if section.is_law else "",
            "html": html.equations(heading, section.equation, lines),
            "latex": latex.equations(heading, section.equation, latex.lines(page, section)) if lines else "",
        }


def _steps(reading: Reading, line: float) -> Iterator[_Part]:
    for step in reading.steps():
        if len(step.blocks) > 1:
            yield {"kind": "heading", "html": html.sentence(step.heading), "latex": ""}
        for part in step.blocks:
            heading, number = part.heading_in_latex, part.equation
            yield {
                "kind": "",
                "html": html.equations(heading, number, part.lines(line)),
                "latex": latex.equations(heading, number, part.lines()),
            }
