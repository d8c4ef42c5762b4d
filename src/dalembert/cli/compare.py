"""`dalembert compare`: formalisms side by side."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from dalembert.cli import documents, files, output, progress
from dalembert.cli.arguments import (
    Subparsers,
    add_engine,
    add_formalisms,
    add_json,
    add_model,
    add_run,
    command,
    keys,
    load,
    note_unused,
)

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.evidence.comparison import Comparison


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert compare cart-pendulum --duration 50 --plot out/cart-pendulum",
        "dalembert compare cart-pendulum --formalism lagrange --formalism volterra_reduced --integrator rk45",
    )
    summary = "set formalisms side by side: equations, states, operations, CPU time and drift"
    parser = command(subparsers, "compare", summary, *examples)
    add_model(parser)
    add_formalisms(parser, "all that apply")
    add_run(parser)
    add_engine(parser)
    parser.add_argument(
        "--plot", metavar="DIR", help="write the figures to a directory, or all to one .png, .pdf or .svg file"
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Simulate by every formalism and print the table."""
    wanted, model = keys(arguments.formalism), load(arguments)
    place = None if arguments.plot is None else files.pictures(arguments.plot, "--plot", model.name)
    from dalembert import pipeline

    with progress.bar(f"comparing {model.name}") as advance:
        comparison = pipeline.compare(
            model,
            wanted or None,
            duration=arguments.duration,
            integrator=arguments.integrator,
            samples=arguments.samples,
            engine=arguments.engine,
            max_step=arguments.max_step,
            rtol=arguments.rtol,
            atol=arguments.atol,
            progress=advance,
        )
    note_unused(arguments, comparison.integrator)
    figures = []
    if place is not None:
        from dalembert.show import plots

        figures = plots.comparison(comparison.runs, place)
    if arguments.json:
        documents.show(comparison.to_dict())
        return 0
    output.show(
        f"{comparison.model}: {comparison.duration:g} s, integrator {comparison.integrator}, drift not corrected"
    )
    output.show(_table(comparison))
    for key, reason in comparison.refused.items():
        output.show(f"{key} does not apply: {reason}.")
    output.written(*figures, word="plots")
    return 0


def _table(comparison: Comparison) -> Table:
    columns = (
        "formalism",
        "equations",
        "states",
        "operations",
        "CPU s",
        "energy\nerror",
        "constraint\nerror",
        "momentum\nerror",
    )
    table = output.table(*columns, numbers=columns[1:])
    for row in comparison:
        counts = str(row.n_dynamic), str(row.n_states), str(row.operations)
        errors = row.energy_error, row.constraint_error, row.momentum_error
        table.add_row(row.formalism, *counts, f"{row.cpu_seconds:.3f}", *map(output.small, errors))
    return table
