"""`dalembert gallery`: list the bundled example models, or show the description of one."""

from __future__ import annotations

from argparse import Namespace

from rich.markdown import Markdown

import dalembert as dl
from dalembert.cli import output, output_files
from dalembert.errors import InputError
from dalembert.io import gallery
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.model.description import Elements

_MAX_COLUMNS = 100


def run(arguments: Namespace) -> int:
    """Print the list of examples, or the description of one."""
    if arguments.name is not None:
        _show(arguments)
    elif arguments.plot is not None:
        raise InputError(
            "gallery --plot: the name of an example is missing. Expected 'dalembert gallery NAME --plot PATH'."
        )
    else:
        _list(arguments.json)
    return 0


def _list(as_json: bool) -> None:
    models = [(name, gallery.load(name)) for name in gallery.names()]
    table = output.table("name", "coordinates", "constraints", "description", numbers=["coordinates", "constraints"])
    for name, model in models:
        table.add_row(name, str(len(model.coordinate_names)), str(len(_constraints(model)) or "-"), model.text)
    entries = {"models": [_entry(name, model) for name, model in models]}
    output.result(as_json, entries, table, "Show an example with 'dalembert gallery NAME'.")


def _show(arguments: Namespace) -> None:
    name = arguments.name
    story, model = gallery.read_description(name), gallery.load(name)
    plots = [] if arguments.plot is None else [output_files.figure_path(arguments.plot, "--plot", name)]
    for path in plots:
        with output.progress_bar(f"simulating {model.name}") as advance:
            motion = dl.simulate(model, progress=advance)
        output.warn(motion.notes)
        motion.plot(path)
    if arguments.json:
        more = {"story": story, "expected": gallery.expected(name), "files": [str(path) for path in plots]}
        output.print_text(output.to_json({**_entry(name, model), **more}))
    else:
        output.show(Markdown(story, code_theme="bw"), width=_MAX_COLUMNS)
        output.print_paths(*plots)


def _entry(name: str, model: Elements) -> dict[str, object]:
    return {
        "name": name,
        "description": model.text,
        "coordinates": list(model.coordinate_names),
        "constraints": _constraints(model),
    }


def _constraints(model: Elements) -> list[str]:
    """The names of all constraints, including those of contacts."""
    return list(with_contacts(model).constraint_names)
