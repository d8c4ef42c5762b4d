"""The tabs of a report: HTML in which every word of a model is escaped, without styles of its own."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version

from dalembert.display.math import html
from dalembert.display.units import units_of
from dalembert.display.webpage import Tab, markdown
from dalembert.evidence.report.contents import Contents
from dalembert.formalisms.catalogue import citation, find
from dalembert.tables import Table, short

_PACKAGES = ("dalembert", "numpy", "scipy", "symengine", "llvmlite", "heyoka")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that took part; those that are not installed are left out.

    >>> "python" in versions(), "numpy" in versions()
    (True, True)
    """
    found = {"python": platform.python_version()}
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
        "Equations": _equations(contents),
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
        yield contents.listed(run.notes)


def _equations(contents: Contents) -> Iterator[str]:
    """The page of every formalism that was chosen."""
    for reading in contents.readings:
        yield html.page(reading.page)


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
    for part in (
        *contents.drawn(model),
        *contents.followed(contents.known),
        *contents.declared(model),
    ):
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
