"""Commands about equations of motion: `derive` and `simulate`."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.table import Table

import dalembert as dl
from dalembert.api.derive import derive_all
from dalembert.api.equation_display import DerivationDisplay, unknown_block_message
from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.display import dataset, video
from dalembert.display.math import html, latex, plain_text
from dalembert.display.math.quantity_blocks import Block, DerivationStep
from dalembert.display.math.short_forms import BUDGET
from dalembert.display.plots import plot
from dalembert.errors import InputError
from dalembert.io.files import write_text
from dalembert.model.description import Elements
from dalembert.model.immutable import Frozen
from dalembert.simulation.integrators.base import listed

_MAX_COLUMNS = 100


def derive(arguments: Namespace) -> int:
    """Derive the equations, and print them or write them to a file."""
    path = None if arguments.output is None else output.output_file(arguments.output, "--output")
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


_MAX_ROWS = 40  # rows of the printed table; `--json` and files contain all coordinates


def simulate(arguments: Namespace) -> int:
    """Simulate, write the files and print a summary."""
    tables = [output.output_file(path, "--output", output.table_suffixes()) for path in arguments.output]
    for path in tables:
        dataset.require_writer(path.suffix.lower())
    panels, model = shared.panels(arguments, plot.PANELS), shared.load(arguments)
    name = f"{model.name}-{arguments.formalism}"
    pictures = [] if arguments.plot is None else [output.figure_path(arguments.plot, "--plot", name)]
    animations = [output.output_file(path, "--animate", video.SUFFIXES) for path in arguments.animate]
    motion = _simulate(model, arguments)
    shared.note_ignored_tolerances(arguments, motion.integrator)
    for path in tables:
        motion.save(path)
    for path in pictures:
        motion.plot(*panels, path=path)
    if animations:
        animation = motion.animate()
        for path in animations:
            animation.save(path)
    written, notes = [*tables, *pictures, *animations], [*motion.notes, *_beyond_limits(motion)]
    output.warn(motion.notes)
    if arguments.json:
        output.print_text(output.to_json({**_result(motion), "notes": notes, "files": [str(path) for path in written]}))
    else:
        _show(motion, notes)
        output.print_paths(*written)
    return 0


def _simulate(model: Elements, arguments: Namespace) -> Trajectory:
    equations = dl.derive(model, arguments.formalism, engine=arguments.engine)
    with output.progress_bar(f"simulating {model.name} by {arguments.formalism}") as advance:
        return equations.simulate(
            arguments.duration,
            project=not arguments.no_projection,
            stabilization=_gains(arguments),
            step=arguments.step,
            progress=advance,
            **shared.simulation_options(arguments),
        )


def _gains(arguments: Namespace) -> float | tuple[float, float] | None:
    """The gain α of first-order stabilization, (α, β) of Baumgarte, or None."""
    if arguments.baumgarte and arguments.stabilize:
        raise InputError("--baumgarte and --stabilize are alternatives. Specify only one of them.")
    if arguments.baumgarte:
        alpha, beta = arguments.baumgarte
        return alpha, beta
    return arguments.stabilize


def _result(motion: Trajectory) -> dict[str, object]:
    """The statistics and the final state of a simulation, for JSON."""
    names = motion.model.coordinate_names
    return {
        "model": motion.model.name,
        "formalism": motion.formalism,
        "engine": motion.engine,
        "integrator": motion.integrator,
        "status": motion.status,
        "samples": len(motion.t),
        "steps": motion.steps,
        "evaluations": motion.evaluations,
        "cpu_seconds": motion.cpu_seconds,
        "energy_error": motion.energy_error,
        "constraint_error": motion.constraint_error,
        "momentum_error": motion.momentum_error,
        "events": [{"name": each.name, "t": each.t} for each in motion.events],
        "switchings": len(motion.switchings),
        "final": {
            "t": float(motion.t[-1]),
            "q": dict(zip(names, motion.q[:, -1].tolist(), strict=True)),
            "qd": dict(zip(names, motion.qd[:, -1].tolist(), strict=True)),
        },
    }


def _beyond_limits(motion: Trajectory) -> list[str]:
    """Messages about exceeded limits of coordinates; limits are reported, not enforced."""
    names, found = motion.model.coordinate_names, []
    for name, limits in motion.model.limits.items():
        q, qd = (x[names.index(name)] for x in (motion.q, motion.qd))
        for what, values, lower, upper in (
            ("position", q, limits.lower, limits.upper),
            ("velocity", abs(qd), None, limits.velocity),
        ):
            if (lower is not None and values.min() < lower) or (upper is not None and values.max() > upper):
                found.append(f"{name} exceeds its {what} limits")
    return [f"{'; '.join(found[:6])}{f'; and {len(found) - 6} more' if len(found) > 6 else ''}"] if found else []


def _show(motion: Trajectory, notes: list[str]) -> None:
    pairs = [
        ("integrator", f"{motion.integrator}, engine {motion.engine}"),
        ("samples", f"{len(motion.t)} from {motion.t[0]:g} s to {motion.t[-1]:g} s"),
        ("steps", str(motion.steps)),
        ("CPU time", f"{output.number(motion.cpu_seconds)} s"),
        ("energy error", output.format_error(motion.energy_error)),
        ("constraint error", output.format_error(motion.constraint_error)),
        ("momentum error", output.format_error(motion.momentum_error)),
        *([("events", _events(motion))] if motion.events else []),
        *([("switchings", str(len(motion.switchings)))] if motion.switchings else []),
    ]
    head = f"{motion.model.name} by {motion.formalism}: {motion.status}"
    output.show(head, "", output.key_value_table(pairs), _final(motion), *(f"Note: {note}." for note in notes))


def _events(motion: Trajectory) -> str:
    """Each event with its times; long lists are shortened."""
    times: dict[str, list[float]] = {}
    for each in motion.events:
        times.setdefault(each.name, []).append(each.t)
    return "; ".join(f"{name} at t = {listed(found)}" for name, found in times.items())


def _final(motion: Trajectory) -> Table:
    columns = "coordinate", f"at {motion.t[-1]:g} s", "rate", "unit"
    table = output.table(*columns, numbers=columns[1:3])
    rows = list(zip(motion.model.generalized_coordinates, motion.q[:, -1], motion.qd[:, -1], strict=True))
    for k, (c, q, qd) in enumerate(rows):
        if len(rows) <= _MAX_ROWS or not _MAX_ROWS // 2 <= k < len(rows) - _MAX_ROWS // 2:
            table.add_row(c.name, output.number(q, 8), output.number(qd, 8), c.unit)
        elif k == _MAX_ROWS // 2:
            table.add_row(f"({len(rows) - _MAX_ROWS} more)", "", "", "")
    return table
