"""HTML report of a run: its model, equations, evidence and sources on one page."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dalembert import __version__
from dalembert.analysis.model_summary import ModelSummary, summarize
from dalembert.api.derive import equations_of
from dalembert.api.equation_display import DerivationDisplay
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import validate_arguments
from dalembert.display import video
from dalembert.display.diagram import tree_in_svg
from dalembert.display.math import html
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.units import units_of
from dalembert.display.video import PageTab, markdown
from dalembert.errors import InputError
from dalembert.evidence.agreement import Agreement
from dalembert.evidence.comparison import Comparison, compare
from dalembert.evidence.verification import verify
from dalembert.formalisms.catalog import citation, find
from dalembert.io import gallery
from dalembert.io.files import require_suffix, write_text
from dalembert.model.description import Elements, tables_of
from dalembert.symbolic.formula_writer import formula_string
from dalembert.tables import Table, format_cell

_PACKAGES = ("numpy", "scipy", "symengine", "llvmlite")
Progress = Callable[[float], object]
_N_STATES = 60  # random states at which the formulations are compared
_MAX_DURATION = 10.0  # s, simulated with every formulation
_MAX_COORDINATES = 10  # up to which all formulations are simulated


@dataclass(frozen=True)
class Report:
    """A run, its model, its equations and the evidence as one page that works offline."""

    contents: Contents
    command: str = ""

    @cached_property
    def html(self) -> str:
        """The page as a str."""
        run, name = self.contents.run, self.contents.model.name
        keys = [reading.derivation.formalism for reading in self.contents.readings]
        command = self.command or f"dl.report(run, formalisms={keys})  # a run of '{name}' by {run.formalism}"
        return video.page(run.scene(), tabs=tabs_of(self.contents, command), title=name)

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        target = Path(path)
        require_suffix(target, (".html",), "a report")
        write_text(target, self.html)
        return target

    def __repr__(self) -> str:
        return f"<Report of '{self.contents.model.name}' by {self.contents.run.formalism}>"


@validate_arguments
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
    """Create a self-contained HTML report of a run: animation, equations, time histories and evidence.

    Parameters
    ----------
    run : Trajectory
        A run, as returned by `Equations.simulate`.
    path : str or Path, optional
        File to write; it must end in `.html`.
    formalisms : sequence of str
        Formulations whose equations are displayed, by default that of the run.
    evidence : bool
        Compare all applicable formulations at random states and over the first seconds of the run; slow for a large model.
    budget : float
        CPU time in s for the short forms of each formulation.
    command : str
        The command to print under Sources, by default the call of this function.
    progress : callable, optional
        Called with the completed fraction, from 0 to 1.

    Returns
    -------
    Report
        The page; `Report.html` is its source, `Report.save` writes it.

    Raises
    ------
    InputError
        `run` is not a run, the path has another suffix, or a formulation does not apply to the model.

    Examples
    --------
    >>> import dalembert as dl
    >>> run = dl.simulate("simple-pendulum", 1.0, samples=11)
    >>> dl.report(run, formalisms=["lagrange", "kane"], evidence=False)
    <Report of 'simple-pendulum' by lagrange>
    """
    if not isinstance(run, Trajectory):
        raise InputError(
            f"report: got a value of type {type(run).__name__}. Expected a run, as returned by eom.simulate()."
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
    """Return the versions of Python and of the packages used; packages that are not installed are omitted.

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


def tabs_of(contents: Contents, command: str) -> tuple[PageTab, ...]:
    """Return the tabs in this order: Overview, Equations, Evidence, Model and Sources."""
    found = {
        "Overview": _overview(contents),
        "Equations": (html.page(reading.page) for reading in contents.readings),
        "Evidence": _evidence(contents),
        "Model": _model(contents),
        "Sources": _sources(contents, command),
    }
    return tuple(PageTab(title, "\n".join(parts)) for title, parts in found.items())


def _overview(contents: Contents) -> Iterator[str]:
    """Yield the description of the model and the summary of the run."""
    run, moves = contents.run, contents.summary.mobility
    yield markdown(contents.description)
    yield "<h2>The run</h2>"
    freedoms = _counted(moves.degrees_of_freedom, "degree of freedom", "degrees of freedom")
    coordinates = _counted(moves.coordinates, "coordinate", "coordinates")
    words = (
        f"{freedoms}, {coordinates}; {run.t[-1] - run.t[0]:g} s by {run.formalism} with {run.integrator}: {run.status}."
    )
    yield f"<p>{escape(words)}</p>"
    yield from (table.html() for table in run.tables())
    if run.notes:
        yield html_list(run.notes)


def _evidence(contents: Contents) -> Iterator[str]:
    """Yield conserved quantities, work, reactions, agreement and comparison."""
    yield "<h2>Conserved quantities</h2>"
    run = contents.run
    errors = {
        "energy balance, largest relative error": run.energy_error,
        "constraints, largest violation": run.constraint_error,
        "momenta of ignorable coordinates, largest relative error": run.momentum_error,
    }
    rows = tuple((name, format_cell(value)) for name, value in errors.items() if value is not None)
    yield Table(("quantity", "during the run"), rows).html()
    if run.work:
        yield "<h2>Work since the start</h2>"
        yield from (table.html() for table in run.work.tables())
    yield from _reactions(contents)
    if contents.agreement is not None:
        yield "<h2>Agreement of the formalisms</h2>"
        yield from (table.html() for table in contents.agreement.tables())
    if contents.comparison is not None:
        yield "<h2>Comparison of the formalisms</h2>"
        yield from (table.html() for table in contents.comparison.tables())
    yield from (f"<p>{escape(sentence)}</p>" for sentence in contents.omitted)


def _reactions(contents: Contents) -> Iterator[str]:
    """Yield the largest force and moment of every joint, and the joints whose reactions are not determined."""
    run = contents.run
    if not run.knows_joints:
        return
    reactions = run.joint_reactions()
    largest = {
        name: [float((x**2).sum(axis=0).max() ** 0.5) for x in (found.force, found.moment)]
        for name, found in reactions.items()
    }
    rows = tuple((name, format_cell(force), format_cell(moment)) for name, (force, moment) in largest.items())
    if rows or reactions.notes:
        known = units_of(run)
        heads = (
            f"largest {what}, {unit}".rstrip(", ")
            for what, unit in (("force", known.label("N")), ("moment", known.label("N·m")))
        )
        yield "<h2>Joint reactions</h2>"
        notes = tuple(f"{note[:1].upper()}{note[1:]}" for note in reactions.notes)
        yield Table(("joint", *heads), rows, "", notes).html()


def _model(contents: Contents) -> Iterator[str]:
    """Yield the tree of bodies, the derived properties, and the declarations."""
    model = contents.model
    for part in (*tree_section(model), *properties_sections(contents.summary), *declaration_section(model)):
        yield f"<h2>{part.title}</h2>\n{part.html}"


def _sources(contents: Contents, command: str) -> Iterator[str]:
    """Yield the command, the package versions and the citations."""
    yield "<h2>Command and versions</h2>"
    yield f"<pre>{escape(command)}</pre>"
    yield Table(("package", "version"), tuple(versions().items())).html()
    yield "<h2>Citations</h2>"
    for reading in contents.readings:
        about = find(reading.derivation.formalism).ABOUT
        yield f"<p>{escape(about.title)}: {escape(about.source)}</p>"
        yield f"<pre>{escape(citation(about.key))}</pre>"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


@dataclass(frozen=True)
class Contents:
    """A run, the properties of its model, and the evidence."""

    run: Trajectory
    summary: ModelSummary
    readings: tuple[DerivationDisplay, ...]  # of the displayed formulations
    agreement: Agreement | None = None
    comparison: Comparison | None = None
    omitted: tuple[str, ...] = ()  # sentences about omitted comparisons

    @property
    def model(self) -> Elements:
        """The declared model."""
        return self.run.description

    @property
    def description(self) -> str:
        """Markdown description of a gallery model; otherwise the description in the model."""
        name = self.model.name
        if name in gallery.names() and gallery.load(name).description == self.model.description:
            return gallery.read_description(name)
        return self.model.text


def contents_of(
    run: Trajectory,
    formalisms: Sequence[str] = (),
    *,
    evidence: bool = True,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> Contents:
    """Derive, verify and compare the contents of a report; the arguments are those of `report`."""
    model, notify = run.description, progress or (lambda done: None)
    summary = summarize(model)
    keys = tuple(dict.fromkeys(formalisms)) or (run.formalism,)
    for key in keys:
        find(key)
        if key in summary.refused:
            raise InputError(f"report, formalisms: {key} does not apply to '{model.name}': {summary.refused[key]}")
    readings = tuple(DerivationDisplay(equations_of(model, key).derivation, budget=budget) for key in keys)
    if not evidence:
        words = "The formalisms were not compared: the report was created without evidence."
        return Contents(run, summary, readings, omitted=(words,))
    if model.canonical_constraints:
        words = "The formalisms were not compared: only dirac supports constraints on momenta."
        return Contents(run, summary, readings, omitted=(words,))
    agreement = verify(model, states=_N_STATES, progress=lambda done: notify(0.6 * done))
    # simulate all verified formulations of a small model, otherwise only the displayed ones
    verified = [key for key in summary.formalisms if agreement.formalisms[key].compared]
    small = len(summary.model.coordinate_names) <= _MAX_COORDINATES
    selected = verified if small else [key for key in verified if key in keys] or verified[:1]
    duration = min(float(run.t[-1] - run.t[0]), _MAX_DURATION)
    comparison = compare(
        model, selected, duration=duration, samples=101, progress=lambda done: notify(0.6 + 0.4 * done)
    )
    skipped = ", ".join(key for key in verified if key not in selected)
    words = f"Not simulated for the comparison, to save time with a model of this size: {skipped}."
    return Contents(run, summary, readings, agreement, comparison, (words,) if skipped else ())


@dataclass(frozen=True)
class ReportSection:
    """A section of HTML with a key and a title."""

    key: str
    title: str
    html: str


def tree_section(model: Elements) -> Iterator[ReportSection]:
    """Yield the tree of bodies with its loops, if there are bodies."""
    if tree := tree_in_svg(model):
        yield ReportSection("tree", "Bodies, joints and loops", f'<div class="wide">{tree}</div>')


def properties_sections(summary: ModelSummary) -> Iterator[ReportSection]:
    """Yield the derived properties: mobility, and which coordinates are ignorable, with reasons."""
    yield ReportSection("mobility", "Mobility", "\n".join(table.html() for table in summary.mobility.tables()))
    rows = tuple(
        (name, "yes" if name in summary.mobility.ignorable else "no", reason)
        for name, reason in summary.facts.reasons.items()
    )
    yield ReportSection("ignorable", "Ignorable coordinates", Table(("coordinate", "ignorable", "reason"), rows).html())


def declaration_section(model: Elements) -> Iterator[ReportSection]:
    """Yield the declared model in tables."""
    title, *tables = tables_of(model)
    gravity = ", ".join(formula_string(g) for g in model.gravity)
    lines = [f"<p>{escape(title.title)}</p>", f"<p>Gravity: ({escape(gravity)})</p>", *(t.html() for t in tables)]
    yield ReportSection(
        "declared", "As declared", "\n".join([*lines, *([html_list(model.notes)] if model.notes else [])])
    )


def html_list(sentences: tuple[str, ...]) -> str:
    """Return sentences as an HTML list."""
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>"
