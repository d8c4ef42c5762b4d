"""`dalembert paper`: reproduce the tables and figures of a paper, next to the printed values."""

from __future__ import annotations

from argparse import Namespace

from dalembert import papers
from dalembert.cli import output, output_files
from dalembert.errors import InputError


def run(arguments: Namespace) -> int:
    """Compute, print and write; return 1 if a printed value was not computed or deviates without explanation."""
    known = papers.choices(arguments.name)
    if arguments.list:
        _list(arguments.name, arguments.json)
        return 0
    folder = None if arguments.output is None else output_files.output_directory(arguments.output, "--output")
    if arguments.figure and folder is None:
        raise InputError(f"--figure {arguments.figure[0]}: figures are written to files. Expected --output DIR.")
    tables, figures = arguments.table, arguments.figure
    if folder is None and tables is None:  # figures are only written to files
        tables = list(known.tables)
    with output.progress_bar(f"computing {arguments.name}") as advance:
        everything = arguments.table is None and arguments.figure is None
        found = papers.paper(arguments.name, tables=tables, figures=figures, claims=everything, progress=advance)
        written = [] if folder is None else found.write(folder)
    if arguments.json:
        output.print_text(output.to_json({**found.to_dict(), "files": [str(path) for path in written]}))
        return int(bool(found.unexplained))
    output.print_text(str(found))
    if folder is None and known.figures and arguments.table is None:
        output.print_text(f"\n{len(known.figures)} figures are written with --output DIR; --list lists them.")
    output.print_paths(*written)
    return int(bool(found.unexplained))


def _list(name: str, as_json: bool) -> None:
    """Print the tables and figures of a paper."""
    known = papers.choices(name)
    entries = [("table", number, each.caption) for number, each in known.tables.items()]
    entries += [("figure", number, each.caption) for number, each in known.figures.items()]
    table = output.table("kind", "number", "caption")
    for entry in entries:
        table.add_row(*entry)
    data = {
        "paper": name,
        "tables": {number: each.caption for number, each in known.tables.items()},
        "figures": {number: each.caption for number, each in known.figures.items()},
    }
    output.result(as_json, data, known.title, known.source, "", table)
