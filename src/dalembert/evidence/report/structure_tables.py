"""What a model is made of, and what follows from it, in parts that a report and the studio show: HTML with every word escaped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from dalembert.analysis.model_summary import Understanding
from dalembert.display.diagram import tree_in_svg
from dalembert.model.description import Elements
from dalembert.model.overview import tables_of
from dalembert.symbolic.exact_numbers import written_out
from dalembert.tables import Table


@dataclass(frozen=True)
class Part:
    """Some HTML under a title; the key says what it is about."""

    key: str
    title: str
    html: str


def drawn(model: Elements) -> Iterator[Part]:
    """The tree of bodies with its loops, where there are bodies."""
    if tree := tree_in_svg(model):
        yield Part("tree", "Bodies, joints and loops", f'<div class="wide">{tree}</div>')


def followed(known: Understanding) -> Iterator[Part]:
    """What follows from the declarations: mobility, and which coordinates are ignorable, with their reasons."""
    yield Part("mobility", "Mobility", "\n".join(table.html() for table in known.moves.tables()))
    rows = tuple(
        (name, "yes" if name in known.moves.ignorable else "no", reason) for name, reason in known.known.reasons.items()
    )
    yield Part("ignorable", "Ignorable coordinates", Table(("coordinate", "ignorable", "reason"), rows).html())


def declared(model: Elements) -> Iterator[Part]:
    """The model in tables, as it was declared."""
    title, *tables = tables_of(model)
    gravity = ", ".join(written_out(g) for g in model.gravity)
    lines = [f"<p>{escape(title.title)}</p>", f"<p>Gravity: ({escape(gravity)})</p>", *(t.html() for t in tables)]
    yield Part("declared", "As declared", "\n".join([*lines, *([listed(model.notes)] if model.notes else [])]))


def listed(sentences: tuple[str, ...]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>"
