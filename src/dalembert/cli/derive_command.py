"""`dalembert derive`: the equations of motion as text, LaTeX, HTML or JSON."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dalembert.api.derive import equations_by
from dalembert.api.equation_reader import Reading, missing
from dalembert.api.equations import Equations
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display.math import html, latex, plain_text
from dalembert.display.math.quantity_blocks import Block, Step
from dalembert.errors import InputError
from dalembert.io.files import write_text
from dalembert.model.frozen import Frozen

_PAGE = 100  # columns of text at most


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert derive cart-pendulum --formalism kane",
        "dalembert derive cart-pendulum --formalism lagrange,maggi --format latex --output equations.tex",
        "dalembert derive double-pendulum --formalism hamilton --format html --output equations.html",
        "dalembert derive stanford-arm --formalism denoc --blocks N_l,N_d",
        "dalembert derive robot-2-link --formalism denoc --steps",
    )
    parser = shared.command(subparsers, "derive", *examples)
    shared.add_model(parser)
    shared.add_formalisms(parser, "lagrange")
    parser.add_argument("--steps", action="store_true", help="the derivation step by step, with its equation numbers")
    words = "some of the formalism's own quantities, by their keys: N_l,N_d; all of them: all"
    parser.add_argument("--blocks", metavar="KEYS", help=words)
    words = "numbers in place of parameters, such as l=0.5,m=1; repeatable"
    parser.add_argument("--set", metavar="NAME=VALUE", type=shared.assignments, action="append", default=[], help=words)
    shared.add_budget(parser)
    words = "text, latex, html or json (default: text)"
    parser.add_argument("--format", metavar="FORMAT", choices=list(_WRITE), default="text", help=words)
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    words = "with --format latex or html: without head and foot, to be put into a document of your own"
    parser.add_argument("--snippet", action="store_true", help=words)
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of the screen")


def run(arguments: Namespace) -> int:
    """Derive, and print or write what was found."""
    path = None if arguments.output is None else output_files.target(arguments.output, "--output")
    wanted = shared.keys(arguments.formalism) or ["lagrange"]
    arguments.set = [pair for pairs in arguments.set for pair in pairs]
    model = shared.load(arguments)
    numbers = {name: model.parameter_values[name] for name, _ in arguments.set}
    equations = equations_by(model, wanted)
    readings = [(each, Reading(each.derivation, Frozen(numbers), arguments.budget)) for each in equations]
    with _progress([reading for _, reading in readings]):
        if arguments.steps or arguments.blocks is not None:
            parts = _WRITE_PARTS[arguments.format]([_chosen(reading, arguments) for _, reading in readings])
        else:
            parts = _WRITE[arguments.format](readings)
    found = _document(parts, model.name, arguments).rstrip("\n")
    if path is not None:
        write_text(path, found + "\n")
    if path is None or arguments.format == "json":
        output.text(found)
        if not output.can_show(found):
            output.note("this terminal cannot show all signs of the equations. Try --format latex or --format json.")
    else:
        output.written(path)
    return 0


@contextmanager
def _progress(readings: Sequence[Reading]) -> Iterator[None]:
    """A bar of the time that short forms take, and at the end the formalisms for which it was too short."""
    with output.bar("short forms, of the time they may take") as advance:
        for k, reading in enumerate(readings):
            reading.shortening.watched(lambda share, k=k: advance((k + share) / len(readings)))
        yield
    for reading in readings:
        if reading.shortening.late:
            output.note(f"{reading.derivation.formalism}: {reading.unfinished} Give more time by --budget SECONDS.")


def _document(parts: Sequence[str], title: str, arguments: Namespace) -> str:
    """What was written for each formalism in one: a document, or with --snippet the parts alone."""
    between = {"text": "\n\n\n", "latex": "\n", "html": "\n"}.get(arguments.format, "")
    if arguments.snippet or arguments.format not in ("latex", "html"):
        return between.join(parts)
    return latex.document(parts) if arguments.format == "latex" else html.document(title, parts)


def _width() -> int:
    return min(_PAGE, shutil.get_terminal_size((_PAGE, 24)).columns)


# all equations


def _text(found: Sequence[tuple[Equations, Reading]]) -> list[str]:
    parts = []
    for equations, reading in found:
        sheet = plain_text.page(reading.page, _width())
        said = " ".join(sheet.split()).lower()
        notes = [f"Note: {note}." for note in equations.notes if note.lower() not in said]
        parts.append("\n".join([sheet, f"{equations.operations} operations, the linear solve included", *notes]))
    return parts


def _latex(found: Sequence[tuple[Equations, Reading]]) -> list[str]:
    """LaTeX, with the counts as a comment."""
    parts = []
    for equations, reading in found:
        counts = f"{equations.n_dynamic} dynamic, {equations.n_states} states, {equations.operations} operations"
        head = [f"{equations.model.name} by {equations.formalism}: {counts}", *equations.notes]
        parts.append("\n".join([*(f"% {' '.join(line.split())}" for line in head), latex.page(reading.page)]))
    return parts


def _html(found: Sequence[tuple[Equations, Reading]]) -> list[str]:
    return [html.page(reading.page) for _, reading in found]


def _json(found: Sequence[tuple[Equations, Reading]]) -> list[str]:
    """One document: the equations, or with several formalisms a list of them."""
    entries = [
        {**plain_text.as_dict(reading.form), "operations": equations.operations, "notes": list(equations.notes)}
        for equations, reading in found
    ]
    return [output.to_json(entries[0] if len(entries) == 1 else {"model": entries[0]["model"], "equations": entries})]


_WRITE = {"text": _text, "latex": _latex, "html": _html, "json": _json}


# the formalism's own quantities


@dataclass(frozen=True)
class _Chosen:
    """The selected blocks or steps of one formalism."""

    model: str
    formalism: str
    title: str
    blocks: tuple[Block, ...]
    steps: tuple[Step, ...]

    @property
    def parts(self) -> tuple[Block | Step, ...]:
        return (*self.blocks, *self.steps)

    @property
    def as_steps(self) -> tuple[Step, ...]:
        return (*(Step(block.meaning, (block,)) for block in self.blocks), *self.steps)


def _chosen(reading: Reading, arguments: Namespace) -> _Chosen:
    about, model = reading.derivation.about, reading.derivation.workspace.model.name
    known, keys = reading.blocks, [key.strip() for key in (arguments.blocks or "").split(",") if key.strip()]
    keys = list(known) if keys == ["all"] else keys
    for key in keys:
        if key not in known:
            raise InputError(f"--blocks: {missing(reading.derivation, key, known)}")
    steps = tuple(reading.steps()) if arguments.steps else ()
    return _Chosen(model, about.key, about.title, tuple(known[key] for key in keys), steps)


def _parts_text(found: Sequence[_Chosen]) -> list[str]:
    return [
        "\n\n".join([f"{chosen.model}: {chosen.title}", *(part.text(_width()) for part in chosen.parts)])
        for chosen in found
    ]


def _parts_latex(found: Sequence[_Chosen]) -> list[str]:
    return [
        "\n\n".join(
            [
                rf"\textbf{{{latex.escape(chosen.model)}}} --- {latex.sentence(chosen.title)}.",
                *(step.to_latex() for step in chosen.as_steps),
            ]
        )
        for chosen in found
    ]


def _parts_html(found: Sequence[_Chosen]) -> list[str]:
    return [html.steps(f"{chosen.model} — {chosen.title}", chosen.as_steps) for chosen in found]


def _parts_json(found: Sequence[_Chosen]) -> list[str]:
    entries = [
        {
            "model": chosen.model,
            "formalism": chosen.formalism,
            "blocks": [block.to_dict() for block in chosen.blocks],
            "steps": [step.to_dict() for step in chosen.steps],
        }
        for chosen in found
    ]
    return [output.to_json(entries[0] if len(entries) == 1 else {"equations": entries})]


_WRITE_PARTS = {"text": _parts_text, "latex": _parts_latex, "html": _parts_html, "json": _parts_json}
