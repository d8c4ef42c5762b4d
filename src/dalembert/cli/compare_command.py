"""`dalembert compare`: compare formulations on one model."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display.plots import plot
from dalembert.evidence.comparison import Comparison
from dalembert.tables import format_cell


def run(arguments: Namespace) -> int:
    """Simulate with every formulation and print the table; return 1 if a simulation failed."""
    wanted, panels = shared.parse_formalisms(arguments.formalism), shared.panels(arguments, plot.FIGURES)
    model = shared.load(arguments)
    target = None if arguments.plot is None else output_files.figure_paths(arguments.plot, "--plot", model.name)
    with output.progress_bar(f"comparing {model.name}") as advance:
        comparison = dl.compare(
            model,
            wanted or None,
            duration=arguments.duration,
            engine=arguments.engine,
            progress=advance,
            **shared.simulation_options(arguments),
        )
    shared.note_ignored_tolerances(arguments, comparison.integrator)
    figures = [] if target is None or not comparison.runs else plot.comparison(comparison.runs, target, panels)
    for key, notes in comparison.checks.items():
        output.warn(notes, key)
    data = {**comparison.to_dict(), "files": [str(path) for path in figures]}
    output.result(arguments.json, data, comparison.title, _table(comparison), *comparison.notes)
    if not arguments.json:
        output.print_paths(*figures)
    if target is not None and not comparison.runs:
        output.note("nothing was plotted, because every simulation failed.")
    return 1 if comparison.failed else 0


def _table(comparison: Comparison) -> Table:
    numbers = "equations", "states", "operations", "CPU s", "energy\nerror", "constraint\nerror", "momentum\nerror"
    table = output.table("formalism", *numbers, numbers=numbers)
    for row in comparison:
        counts = (format_cell(count) for count in (row.n_dynamic, row.n_states, row.operations))
        seconds = "failed" if row.cpu_seconds is None else f"{row.cpu_seconds:.3f}"
        errors = row.energy_error, row.constraint_error, row.momentum_error
        table.add_row(row.formalism, *counts, seconds, *map(output.format_error, errors))
    return table
