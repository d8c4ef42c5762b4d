"""`dalembert derive`: print the equations of motion as plain text, LaTeX, HTML or JSON."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dalembert.api.derive import derive_all
from dalembert.api.equation_display import DerivationDisplay, unknown_block_message
from dalembert.api.equations import Equations
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display.math import html, latex, plain_text
from dalembert.display.math.quantity_blocks import Block, DerivationStep
from dalembert.display.math.short_forms import BUDGET
from dalembert.errors import InputError
from dalembert.io.files import write_text
from dalembert.model.immutable import Frozen

_MAX_COLUMNS = 100


def derive(arguments: Namespace) -> int:
    """Derive the equations, and print them or write them to a file."""
    path = None if arguments.output is None else output_files.output_file(arguments.output, "--output")
    wanted = shared.parse_formalisms(arguments.formalism) or ["lagrange"]
    model = shared.load(arguments)
    numbers = {name: model.parameter_values[name] for name, _ in arguments.set}
    equations = derive_all(model, wanted)
    readings = [
        (each, DerivationDisplay(each.derivation, Frozen(numbers), arguments.budget or BUDGET)) for each in equations
    ]
    with _progress([reading for _, reading in readings]):
        if arguments.steps or arguments.blocks is not None:
            parts = _WRITE_PARTS[arguments.format]([_chosen(reading, arguments) for _, reading in readings])
        else:
            parts = _WRITE[arguments.format](readings)
    found = _document(parts, model.name, arguments).rstrip("\n")
    if path is not None:
        write_text(path, found + "\n")
    if path is None or arguments.format == "json":
        output.print_text(found)
        if not output.can_encode(found):
            output.note("this terminal cannot display all characters. Use --format latex or --format json.")
    else:
        output.print_paths(path)
    return 0


@contextmanager
def _progress(readings: Sequence[DerivationDisplay]) -> Iterator[None]:
    """Show the progress of simplification; at the end report formalisms that exceeded the time budget."""
    with output.progress_bar("simplifying (share of the time budget)") as advance:
        for k, reading in enumerate(readings):
            reading.simplifier.report_progress(lambda share, k=k: advance((k + share) / len(readings)))
        yield
    for reading in readings:
        if reading.simplifier.unfinished:
            output.note(f"{reading.derivation.formalism}: {reading.budget_message} Increase --budget SECONDS.")


def _document(parts: Sequence[str], title: str, arguments: Namespace) -> str:
    """Join the parts of all formalisms: a complete document, or only the parts with --snippet."""
    separator = {"text": "\n\n\n", "latex": "\n", "html": "\n"}.get(arguments.format, "")
    if arguments.snippet or arguments.format not in ("latex", "html"):
        return separator.join(parts)
    return latex.document(parts) if arguments.format == "latex" else html.document(title, parts)


def _width() -> int:
    return min(_MAX_COLUMNS, shutil.get_terminal_size((_MAX_COLUMNS, 24)).columns)


# complete equations


def _text(found: Sequence[tuple[Equations, DerivationDisplay]]) -> list[str]:
    parts = []
    for equations, reading in found:
        sheet = plain_text.page(reading.page, _width())
        printed = " ".join(sheet.split()).lower()
        notes = [f"Note: {note}." for note in equations.notes if note.lower() not in printed]
        parts.append("\n".join([sheet, f"{equations.operations} operations, including the linear solve", *notes]))
    return parts


def _latex(found: Sequence[tuple[Equations, DerivationDisplay]]) -> list[str]:
    """LaTeX with the numbers of equations, states and operations in a comment."""
    parts = []
    for equations, reading in found:
        counts = f"{equations.n_dynamic} dynamic, {equations.n_states} states, {equations.operations} operations"
        head = [f"{equations.model.name} by {equations.formalism}: {counts}", *equations.notes]
        parts.append("\n".join([*(f"% {' '.join(line.split())}" for line in head), latex.page(reading.page)]))
    return parts


def _html(found: Sequence[tuple[Equations, DerivationDisplay]]) -> list[str]:
    return [html.page(reading.page) for _, reading in found]


def _json(found: Sequence[tuple[Equations, DerivationDisplay]]) -> list[str]:
    """One JSON document: the equations, or a list of them for several formalisms."""
    entries = [
        {**plain_text.as_dict(reading.form), "operations": equations.operations, "notes": list(equations.notes)}
        for equations, reading in found
    ]
    return [output.to_json(entries[0] if len(entries) == 1 else {"model": entries[0]["model"], "equations": entries})]


_WRITE = {"text": _text, "latex": _latex, "html": _html, "json": _json}


# selected quantities and steps of a formalism


@dataclass(frozen=True)
class _Chosen:
    """The selected blocks or steps of one formalism."""

    model: str
    formalism: str
    title: str
    blocks: tuple[Block, ...]
    steps: tuple[DerivationStep, ...]

    @property
    def parts(self) -> tuple[Block | DerivationStep, ...]:
        return (*self.blocks, *self.steps)

    @property
    def as_steps(self) -> tuple[DerivationStep, ...]:
        return (*(DerivationStep(block.meaning, (block,)) for block in self.blocks), *self.steps)


def _chosen(reading: DerivationDisplay, arguments: Namespace) -> _Chosen:
    about, model = reading.derivation.about, reading.derivation.workspace.model.name
    known, keys = reading.blocks, [key.strip() for key in (arguments.blocks or "").split(",") if key.strip()]
    keys = list(known) if keys == ["all"] else keys
    for key in keys:
        if key not in known:
            raise InputError(f"--blocks: {unknown_block_message(reading.derivation, key, known)}")
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
