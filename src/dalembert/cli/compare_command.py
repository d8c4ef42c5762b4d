"""`dalembert compare`: compare formalisms on one model."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display.plots import plot
from dalembert.evidence.comparison import Comparison
from dalembert.tables import short


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert compare cart-pendulum --duration 50 --plot out/cart-pendulum",
        "dalembert compare cart-pendulum --formalism lagrange --formalism volterra_reduced --integrator rk45",
    )
    parser = shared.command(subparsers, "compare", *examples)
    shared.add_model(parser)
    shared.add_formalisms(parser, "all that apply")
    shared.add_run(parser)
    shared.add_engine(parser)
    text = "write the figures to a directory, or all of them to one .png, .pdf or .svg file"
    parser.add_argument("--plot", metavar="PATH", help=text)
    shared.add_panels(parser, {name: side.text for name, side in plot.FIGURES.items()}, "all that apply to the model")
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Simulate with every formalism and print the table; return 1 if a simulation failed."""
    wanted, panels = shared.keys(arguments.formalism), shared.panels(arguments, plot.FIGURES)
    model = shared.load(arguments)
    target = None if arguments.plot is None else output_files.pictures(arguments.plot, "--plot", model.name)
    with output.bar(f"comparing {model.name}") as advance:
        comparison = dl.compare(
            model,
            wanted or None,
            duration=arguments.duration,
            engine=arguments.engine,
            progress=advance,
            **shared.how_to_run(arguments),
        )
    shared.note_unused(arguments, comparison.integrator)
    figures = [] if target is None or not comparison.runs else plot.comparison(comparison.runs, target, panels)
    for key, notes in comparison.checks.items():
        output.warn(notes, key)
    output.result(arguments.json, comparison.to_dict(), comparison.title, _table(comparison), *comparison.notes)
    if not arguments.json:
        output.written(*figures, word="plots")
    if target is not None and not comparison.runs:
        output.note("nothing was plotted, because every simulation failed.")
    return 1 if comparison.failed else 0


def _table(comparison: Comparison) -> Table:
    numbers = "equations", "states", "operations", "CPU s", "energy\nerror", "constraint\nerror", "momentum\nerror"
    table = output.table("formalism", *numbers, numbers=numbers)
    for row in comparison:
        counts = (short(count) for count in (row.n_dynamic, row.n_states, row.operations))
        seconds = "failed" if row.cpu_seconds is None else f"{row.cpu_seconds:.3f}"
        errors = row.energy_error, row.constraint_error, row.momentum_error
        table.add_row(row.formalism, *counts, seconds, *map(output.small, errors))
    return table
