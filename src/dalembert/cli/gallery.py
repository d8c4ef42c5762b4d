"""`dalembert gallery`: the examples that come with the program, and the story of each."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli import documents, files, output, progress
from dalembert.cli.arguments import Subparsers, add_json, command
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.model import Elements

_PAGE = 100  # columns of running text


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    examples = "dalembert gallery", "dalembert gallery cart-pendulum --plot cart.png"
    parser = command(subparsers, "gallery", "list the example models, or tell the story of one", *examples)
    parser.add_argument("name", metavar="NAME", nargs="?", help="an example; all of them are listed without it")
    parser.add_argument("--plot", metavar="PATH", help="simulate the example and write its plot (.png, .pdf or .svg)")
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the list or a story."""
    if arguments.name is not None:
        return _one(arguments)
    if arguments.plot is not None:
        raise InputError(
            "gallery --plot: no example is named. Expected a NAME, as in 'dalembert gallery NAME --plot PATH'."
        )
    return _all(arguments.json)


def _all(json: bool) -> int:
    from dalembert import gallery

    models = [(name, gallery.load(name)) for name in gallery.names()]
    if json:
        documents.show({"models": [_entry(name, model) for name, model in models]})
        return 0
    table = output.table("name", "coordinates", "constraints", "description", numbers=["coordinates", "constraints"])
    for name, model in models:
        counts = str(len(model.coordinate_names)), str(len(_constraints(model)) or "-")
        table.add_row(name, *counts, model.text)
    output.show(table, "Read about one with 'dalembert gallery NAME'.")
    return 0


def _one(arguments: Namespace) -> int:
    from dalembert import gallery

    name = arguments.name
    story, model = gallery.story(name), gallery.load(name)
    plot = None if arguments.plot is None else files.picture(arguments.plot, "--plot", name)
    if plot is not None:
        _plot(model, plot)
    if arguments.json:
        written = [str(plot)] if plot else []
        documents.show({**_entry(name, model), "story": story, "expected": gallery.expected(name), "files": written})
        return 0
    from rich.markdown import Markdown

    output.show(Markdown(story, code_theme="bw"), width=_PAGE)
    if plot is not None:
        output.written(plot)
    return 0


def _plot(model: Elements, path: Path) -> None:
    from dalembert import pipeline

    with progress.bar(f"simulating {model.name}") as advance:
        motion = pipeline.simulate(model, progress=advance)
    motion.plot(path)


def _entry(name: str, model: Elements) -> dict[str, Any]:
    return {
        "name": name,
        "description": model.text,
        "coordinates": list(model.coordinate_names),
        "constraints": _constraints(model),
    }


def _constraints(model: Elements) -> list[str]:
    """The names of all constraints, those of contacts included."""
    from dalembert.kinematics.contacts import with_contacts

    return list(with_contacts(model).constraint_names)
