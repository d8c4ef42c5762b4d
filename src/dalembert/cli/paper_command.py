"""`dalembert paper`: reproduce the tables and figures of a paper, next to the printed values."""

from __future__ import annotations

from argparse import Namespace

from dalembert import papers
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.errors import InputError


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert paper volterra",
        "dalembert paper volterra --table 2 --table 3 --json",
        "dalembert paper volterra --output out/volterra",
        "dalembert paper volterra --figure 6 --output out",
    )
    parser = shared.command(subparsers, "paper", *examples)
    parser.add_argument("name", metavar="PAPER", help=f"name of the paper: {', '.join(papers.NAMES)}")
    text = "compute only this table or worked example; repeatable (default: all)"
    parser.add_argument("--table", metavar="N", action="append", help=text)
    parser.add_argument("--figure", metavar="N", action="append", help="only this figure; repeatable; needs --output")
    parser.add_argument("--list", action="store_true", help="list the tables and figures without computing them")
    text = "write the figures and a self-contained HTML page to this directory"
    parser.add_argument("--output", metavar="DIR", help=text)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Compute, print and write; return 1 if a printed value was not computed or deviates without explanation."""
    known = papers.choices(arguments.name)
    if arguments.list:
        _list(arguments.name, arguments.json)
        return 0
    folder = None if arguments.output is None else output_files.folder(arguments.output, "--output")
    if arguments.figure and folder is None:
        raise InputError(f"--figure {arguments.figure[0]}: figures are written to files. Expected --output DIR.")
    tables, figures = arguments.table, arguments.figure
    if folder is None and tables is None:  # figures are only written to files
        tables = list(known.tables)
    with output.bar(f"computing {arguments.name}") as advance:
        everything = arguments.table is None and arguments.figure is None
        found = papers.paper(arguments.name, tables=tables, figures=figures, claims=everything, progress=advance)
        written = [] if folder is None else found.write(folder)
    if arguments.json:
        output.text(output.to_json({**found.to_dict(), "files": [str(path) for path in written]}))
        return int(bool(found.unexplained))
    output.text(str(found))
    if folder is None and known.figures and arguments.table is None:
        output.text(f"\n{len(known.figures)} figures are written with --output DIR; --list lists them.")
    output.written(*written)
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
