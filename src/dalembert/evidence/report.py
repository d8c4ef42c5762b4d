"""A run and what is known of its model as one HTML page."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dalembert import __version__
from dalembert.analysis.model_summary import Understanding, understood
from dalembert.api.derive import equations_of
from dalembert.api.equation_reader import Reading
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import checked
from dalembert.display import webpage
from dalembert.display.diagram import tree_in_svg
from dalembert.display.math import html
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.units import units_of
from dalembert.display.webpage import Tab, markdown
from dalembert.errors import InputError
from dalembert.evidence.agreement import Agreement
from dalembert.evidence.comparison import Comparison, compare
from dalembert.evidence.verification import verify
from dalembert.formalisms.catalogue import citation, find
from dalembert.io import gallery
from dalembert.io.files import require_suffix, write_text
from dalembert.model.description import Elements, tables_of
from dalembert.symbolic.formula_writer import written_out
from dalembert.tables import Table, short

_PACKAGES = ("numpy", "scipy", "symengine", "llvmlite", "heyoka")
Progress = Callable[[float], object]
_STATES = 60  # random states at which the formalisms are compared
_LONGEST = 10.0  # seconds of the run that are run again by every formalism
_SMALL = 10  # coordinates up to which all formalisms are run


@dataclass(frozen=True)
class Report:
    """A run, its model, its equations and the evidence, as one page that opens without a network."""

    contents: Contents
    command: str = ""

    @cached_property
    def html(self) -> str:
        """The page as one text."""
        run, name = self.contents.run, self.contents.model.name
        keys = [reading.derivation.formalism for reading in self.contents.readings]
        command = self.command or f"dl.report(run, formalisms={keys})  # a run of '{name}' by {run.formalism}"
        return webpage.page(run.scene(), tabs=tabs_of(self.contents, command), title=name)

    def save(self, path: str | Path) -> Path:
        """Write the page, complete or not at all."""
        place = Path(path)
        require_suffix(place, (".html",), "a report")
        write_text(place, self.html)
        return place

    def __repr__(self) -> str:
        return f"<Report of '{self.contents.model.name}' by {self.contents.run.formalism}>"


@checked
def report(
    run: Trajectory,
    path: str | Path | None = None,
    *,
    formalisms: Sequence[str] = (),
    evidence: bool = True,
    budget: float = BUDGET,
    command: str = "",
    progress: Progress | None = None,
) -> Report:
    """A run as a page that needs nothing else: the moving mechanism, its equations, time histories and the evidence.

    `formalisms` are those whose equations are shown, that of the run by default; `budget` is the CPU time for the short forms of
    each. `evidence` compares all formalisms that apply at random states and over the first seconds of the run, which takes
    a while for a large model. Written where a path is given.

    >>> import dalembert as dl
    >>> run = dl.simulate("simple-pendulum", 1.0, samples=11)
    >>> dl.report(run, formalisms=["lagrange", "kane"], evidence=False)
    <Report of 'simple-pendulum' by lagrange>
    """
    if not isinstance(run, Trajectory):
        raise InputError(
            f"report: got a value of type {type(run).__name__}. Expected a run, as eom.simulate() gives one."
        )
    if isinstance(formalisms, str):
        formalisms = [formalisms]
    if path is not None:
        require_suffix(Path(path), (".html",), "a report")
    report = Report(contents_of(run, formalisms, evidence=evidence, budget=budget, progress=progress), command)
    if path is not None:
        report.save(path)
    return report


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that took part; those that are not installed are left out.

    >>> "python" in versions(), "numpy" in versions()
    (True, True)
    """
    found = {"python": platform.python_version(), "dalembert": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def tabs_of(contents: Contents, command: str) -> tuple[Tab, ...]:
    """Story, equations, evidence, model and sources, in this order."""
    found = {
        "Story": _story(contents),
        "Equations": (html.page(reading.page) for reading in contents.readings),
        "Evidence": _evidence(contents),
        "Model": _model(contents),
        "Sources": _sources(contents, command),
    }
    return tuple(Tab(title, "\n".join(parts)) for title, parts in found.items())


def _story(contents: Contents) -> Iterator[str]:
    """What it is about, and how the run went."""
    run, moves = contents.run, contents.known.moves
    yield markdown(contents.story)
    yield "<h2>The run</h2>"
    freedoms = _counted(moves.degrees_of_freedom, "degree of freedom", "degrees of freedom")
    coordinates = _counted(moves.coordinates, "coordinate", "coordinates")
    words = (
        f"{freedoms}, {coordinates}; {run.t[-1] - run.t[0]:g} s by {run.formalism} with {run.integrator}: {run.status}."
    )
    yield f"<p>{escape(words)}</p>"
    yield from (table.html() for table in run.tables())
    if run.notes:
        yield listed(run.notes)


def _evidence(contents: Contents) -> Iterator[str]:
    """What agrees, over what, and what was kept along the run."""
    yield "<h2>Kept along the run</h2>"
    run = contents.run
    kept = {
        "energy balance, largest relative error": run.energy_error,
        "constraints, largest violation": run.constraint_error,
        "momenta of ignorable coordinates, largest relative error": run.momentum_error,
    }
    rows = tuple((name, short(value)) for name, value in kept.items() if value is not None)
    yield Table(("quantity", "along the run"), rows).html()
    if run.work:
        yield "<h2>Work from the start</h2>"
        yield from (table.html() for table in run.work.tables())
    yield from _reactions(contents)
    if contents.agreement is not None:
        yield "<h2>Do the formalisms agree?</h2>"
        yield from (table.html() for table in contents.agreement.tables())
    if contents.comparison is not None:
        yield "<h2>The formalisms side by side</h2>"
        yield from (table.html() for table in contents.comparison.tables())
    yield from (f"<p>{escape(sentence)}</p>" for sentence in contents.left_out)


def _reactions(contents: Contents) -> Iterator[str]:
    """The largest force and moment in every joint, and which joints are not determined."""
    run = contents.run
    if not run.knows_joints:
        return
    reactions = run.joint_reactions()
    largest = {
        name: [float((x**2).sum(axis=0).max() ** 0.5) for x in (found.force, found.moment)]
        for name, found in reactions.items()
    }
    rows = tuple((name, short(force), short(moment)) for name, (force, moment) in largest.items())
    if rows or reactions.notes:
        known = units_of(run)
        heads = (
            f"largest {what}, {unit}".rstrip(", ")
            for what, unit in (("force", known.shown("N")), ("moment", known.shown("N·m")))
        )
        yield "<h2>Reactions in the joints</h2>"
        notes = tuple(f"{note[:1].upper()}{note[1:]}" for note in reactions.notes)
        yield Table(("joint", *heads), rows, "", notes).html()


def _model(contents: Contents) -> Iterator[str]:
    """The tree, what follows from the declarations, and the declarations."""
    model = contents.model
    for part in (*drawn(model), *followed(contents.known), *declared(model)):
        yield f"<h2>{part.title}</h2>\n{part.html}"


def _sources(contents: Contents, command: str) -> Iterator[str]:
    """What to cite, what it was made with, and how to make it again."""
    yield "<h2>Made by</h2>"
    yield f"<pre>{escape(command)}</pre>"
    yield Table(("package", "version"), tuple(versions().items())).html()
    yield "<h2>To cite</h2>"
    for reading in contents.readings:
        about = find(reading.derivation.formalism).ABOUT
        yield f"<p>{escape(about.title)}: {escape(about.source)}</p>"
        yield f"<pre>{escape(citation(about.key))}</pre>"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


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
    """Derive, verify and compare what a report contains; the arguments are those of `report`."""
    model, tell = run.description, progress or (lambda share: None)
    known = understood(model)
    keys = tuple(dict.fromkeys(formalisms)) or (run.formalism,)
    for key in keys:
        find(key)
        if key in known.refused:
            raise InputError(f"report, formalisms: {key} cannot treat '{model.name}': {known.refused[key]}")
    readings = tuple(Reading(equations_of(model, key).derivation, budget=budget) for key in keys)
    if not evidence:
        words = "The formalisms were not compared: the evidence was left out."
        return Contents(run, known, readings, left_out=(words,))
    if model.canonical_constraints:
        words = "The formalisms were not compared: constraints on momenta are treated by dirac alone."
        return Contents(run, known, readings, left_out=(words,))
    agreement = verify(model, states=_STATES, progress=lambda share: tell(0.6 * share))
    # the formalisms that are run: all that were verified for a small model, else those that are shown
    verified = [key for key in known.formalisms if agreement.formalisms[key].compared]
    small = len(known.model.coordinate_names) <= _SMALL
    wanted = verified if small else [key for key in verified if key in keys] or verified[:1]
    duration = min(float(run.t[-1] - run.t[0]), _LONGEST)
    comparison = compare(model, wanted, duration=duration, samples=101, progress=lambda share: tell(0.6 + 0.4 * share))
    skipped = ", ".join(key for key in verified if key not in wanted)
    words = f"Not run for the comparison, to save time with a model of this size: {skipped}."
    return Contents(run, known, readings, agreement, comparison, (words,) if skipped else ())


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
