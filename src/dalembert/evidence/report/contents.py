"""What a report tells, gathered once: the run, the equations, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from dalembert.analysis.model_summary import Understanding, understood
from dalembert.api.derive import equations_of
from dalembert.api.equation_reader import Reading
from dalembert.api.trajectory import Trajectory
from dalembert.display.diagram import tree_in_svg
from dalembert.display.math.short_forms import BUDGET
from dalembert.errors import InputError
from dalembert.evidence.agreement import Agreement
from dalembert.evidence.comparison import Comparison, compare
from dalembert.evidence.verification import verify
from dalembert.formalisms.catalogue import find
from dalembert.io import gallery
from dalembert.model.description import Elements, tables_of
from dalembert.symbolic.formula_writer import written_out
from dalembert.tables import Table

Progress = Callable[[float], object]


_STATES = 60  # random states at which the formalisms are compared


_LONGEST = 10.0  # seconds of the run that are run again by every formalism


_SMALL = 10  # coordinates up to which all formalisms are run


@dataclass(frozen=True)
class Contents:
    """A run with what was found about its model."""

    run: Trajectory
    known: Understanding
    readings: tuple[Reading, ...]  # of the formalisms whose equations are shown
    agreement: Agreement | None = None
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = ()  # what was not done, in sentences

    @property
    def model(self) -> Elements:
        """The model as it was declared."""
        return self.run.description

    @property
    def story(self) -> str:
        """What the gallery tells of the model, in Markdown; its description where it is not of the gallery."""
        name = self.model.name
        if name in gallery.names() and gallery.load(name).description == self.model.description:
            return gallery.story(name)
        return self.model.text


def contents_of(
    run: Trajectory,
    formalisms: Sequence[str] = (),
    *,
    evidence: bool = True,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> Contents:
    """Derive, verify and compare what a report tells of a run.

    `formalisms` are those whose equations are shown, that of the run by default; `budget` is the CPU time for the short forms of
    each.
    """
    model, tell = run.description, progress or (lambda share: None)
    known = understood(model)
    keys = tuple(dict.fromkeys(formalisms)) or (run.formalism,)
    for key in keys:
        find(key)
        if key in known.refused:
            raise InputError(f"report, formalisms: {key} cannot treat '{model.name}': {known.refused[key]}")
    readings = tuple(Reading(equations_of(model, key).derivation, budget=budget) for key in keys)
    if not evidence:
        return Contents(
            run, known, readings, left_out=("The formalisms were not compared: the evidence was left out.",)
        )
    if model.canonical_constraints:
        words = "The formalisms were not compared: constraints on momenta are treated by dirac alone."
        return Contents(run, known, readings, left_out=(words,))
    agreement = verify(model, states=_STATES, progress=lambda share: tell(0.6 * share))
    wanted = _compared(known, agreement, keys)
    duration = min(float(run.t[-1] - run.t[0]), _LONGEST)
    comparison = compare(model, wanted, duration=duration, samples=101, progress=lambda share: tell(0.6 + 0.4 * share))
    return Contents(run, known, readings, agreement, comparison, _skipped(known, agreement, wanted))


def _compared(known: Understanding, agreement: Agreement, keys: Sequence[str]) -> list[str]:
    """The formalisms that are run: all that were verified for a small model, else those that are shown."""
    verified = [key for key in known.formalisms if agreement.formalisms[key].compared]
    small = len(known.model.coordinate_names) <= _SMALL
    return verified if small else [key for key in verified if key in keys] or verified[:1]


def _skipped(known: Understanding, agreement: Agreement, wanted: Sequence[str]) -> tuple[str, ...]:
    skipped = [key for key in known.formalisms if agreement.formalisms[key].compared and key not in wanted]
    if not skipped:
        return ()
    return (f"Not run for the comparison, to save time with a model of this size: {', '.join(skipped)}.",)


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
