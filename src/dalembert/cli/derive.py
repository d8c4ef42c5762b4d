"""`dalembert derive`: the equations of motion as text, LaTeX or JSON."""

from __future__ import annotations

import shutil
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from dalembert.cli import documents, files, output
from dalembert.cli.arguments import Subparsers, add_formalisms, add_model, command, keys, load

if TYPE_CHECKING:
    from dalembert.handles import Equations
    from dalembert.model import Elements

_PAGE = 100  # columns of text at most


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert derive cart-pendulum --formalism kane",
        "dalembert derive cart-pendulum --formalism lagrange,maggi --format latex --output equations.tex",
    )
    parser = command(subparsers, "derive", "derive the equations of motion and print them", *examples)
    add_model(parser)
    add_formalisms(parser, "lagrange")
    text = "text, latex or json (default: text)"
    parser.add_argument("--format", metavar="FORMAT", choices=list(_WRITE), default="text", help=text)
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of the screen")


def run(arguments: Namespace) -> int:
    """Derive, and print or write what was found."""
    path = None if arguments.output is None else files.target(arguments.output, "--output")
    wanted, model = keys(arguments.formalism) or ["lagrange"], load(arguments)
    from dalembert.show.files import complete

    found = _WRITE[arguments.format](_derive(model, wanted)).rstrip("\n")
    if path is not None:
        with complete(path) as part:
            part.write_text(found + "\n", encoding="utf-8")
    if path is None or arguments.format == "json":
        output.text(found)
        if not output.can_show(found):
            output.note("this terminal cannot show all signs of the equations. Try --format latex or --format json.")
    else:
        output.written(path)
    return 0


Derived = list[tuple["Equations", int]]  # equations to read, and the operations of one evaluation


def _derive(model: Elements, wanted: list[str]) -> Derived:
    """The equations over SymEngine, for reading; operations are counted as `compare` does, on the best engine."""
    from dalembert.handles import equations_of

    return [(equations_of(model, key, engine="portable"), equations_of(model, key).operations) for key in wanted]


def _text(found: Derived) -> str:
    from dalembert.show import latex

    width = min(_PAGE, shutil.get_terminal_size((_PAGE, 24)).columns)
    parts = []
    for equations, operations in found:
        sheet = latex.page(equations.symbolic, width)
        said = " ".join(sheet.split()).lower()
        notes = [f"Note: {note}." for note in equations.notes if note.lower() not in said]
        parts.append("\n".join([sheet, f"{operations} operations, the linear solve included", *notes]))
    return "\n\n\n".join(parts)


def _latex(found: Derived) -> str:
    """LaTeX, with the counts as a comment."""
    parts = []
    for equations, operations in found:
        counts = f"{equations.n_dynamic} dynamic, {equations.n_states} states, {operations} operations"
        head = [f"{equations.model.name} by {equations.formalism}: {counts}", *equations.notes]
        parts.append("\n".join([*(f"% {line}" for line in head), equations.latex()]))
    return "\n".join(parts)


def _json(found: Derived) -> str:
    """One document: the equations, or with several formalisms a list of them."""
    entries = [_entry(equations, operations) for equations, operations in found]
    return documents.to_json(entries[0] if len(entries) == 1 else {"model": entries[0]["model"], "equations": entries})


def _entry(equations: Equations, operations: int) -> dict[str, Any]:
    from dalembert.show import latex

    return {**latex.as_dict(equations.symbolic), "operations": operations, "notes": list(equations.notes)}


_WRITE = {"text": _text, "latex": _latex, "json": _json}
