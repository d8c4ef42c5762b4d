"""`dalembert derive`: the equations of motion as text, LaTeX or JSON."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Sequence

from dalembert.cli import arguments as shared
from dalembert.cli import files, output
from dalembert.exporters.files import write_text
from dalembert.handles import Equations, equations_by
from dalembert.show import text

_PAGE = 100  # columns of text at most


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert derive cart-pendulum --formalism kane",
        "dalembert derive cart-pendulum --formalism lagrange,maggi --format latex --output equations.tex",
    )
    parser = shared.command(subparsers, "derive", "derive the equations of motion and print them", *examples)
    shared.add_model(parser)
    shared.add_formalisms(parser, "lagrange")
    words = "text, latex or json (default: text)"
    parser.add_argument("--format", metavar="FORMAT", choices=list(_WRITE), default="text", help=words)
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of the screen")


def run(arguments: Namespace) -> int:
    """Derive, and print or write what was found."""
    path = None if arguments.output is None else files.target(arguments.output, "--output")
    wanted, model = shared.keys(arguments.formalism) or ["lagrange"], shared.load(arguments)
    found = _WRITE[arguments.format](equations_by(model, wanted)).rstrip("\n")
    if path is not None:
        write_text(path, found + "\n")
    if path is None or arguments.format == "json":
        output.text(found)
        if not output.can_show(found):
            output.note("this terminal cannot show all signs of the equations. Try --format latex or --format json.")
    else:
        output.written(path)
    return 0


def _text(found: Sequence[Equations]) -> str:
    width = min(_PAGE, shutil.get_terminal_size((_PAGE, 24)).columns)
    parts = []
    for equations in found:
        sheet = text.page(equations.symbolic, width)
        said = " ".join(sheet.split()).lower()
        notes = [f"Note: {note}." for note in equations.notes if note.lower() not in said]
        parts.append("\n".join([sheet, f"{equations.operations} operations, the linear solve included", *notes]))
    return "\n\n\n".join(parts)


def _latex(found: Sequence[Equations]) -> str:
    """LaTeX, with the counts as a comment."""
    parts = []
    for equations in found:
        counts = f"{equations.n_dynamic} dynamic, {equations.n_states} states, {equations.operations} operations"
        head = [f"{equations.model.name} by {equations.formalism}: {counts}", *equations.notes]
        parts.append("\n".join([*(f"% {line}" for line in head), equations.latex()]))
    return "\n".join(parts)


def _json(found: Sequence[Equations]) -> str:
    """One document: the equations, or with several formalisms a list of them."""
    entries = [
        {**text.as_dict(equations.symbolic), "operations": equations.operations, "notes": list(equations.notes)}
        for equations in found
    ]
    return output.to_json(entries[0] if len(entries) == 1 else {"model": entries[0]["model"], "equations": entries})


_WRITE = {"text": _text, "latex": _latex, "json": _json}
