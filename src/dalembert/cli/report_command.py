"""`dalembert report`: write a self-contained HTML report with an animation."""

from __future__ import annotations

import shlex
from argparse import Namespace

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display.math.short_forms import BUDGET
from dalembert.formalisms.catalog import applicable
from dalembert.model.description import Elements
from dalembert.simulation.workspace import setup, workspace_of


def run(arguments: Namespace) -> int:
    """Simulate, compare the formalisms and write the report."""
    model = shared.load(arguments)
    path = output_files.output_file(
        arguments.output or f"{output_files.file_name(model.name)}.html", "--output", (".html",)
    )
    keys = shared.parse_formalisms(arguments.formalism) or [_default_formalism(model)]
    with output.progress_bar(f"simulating {model.name} by {keys[0]}") as advance:
        equations = dl.derive(model, keys[0])
        motion = equations.simulate(arguments.duration, progress=advance, **shared.simulation_options(arguments))
    shared.note_ignored_tolerances(arguments, motion.integrator)
    output.warn(motion.notes)
    with output.progress_bar(f"comparing the formalisms on {model.name}") as advance:
        found = dl.report(
            motion,
            path,
            formalisms=keys,
            evidence=not arguments.no_verification,
            budget=arguments.budget or BUDGET,
            command=shlex.join(["dalembert", *arguments.words]),
            progress=advance,
        )
    agreement = found.contents.agreement
    if arguments.json:
        data = {
            "model": model.name,
            "formalisms": keys,
            "status": motion.status,
            "agrees": None if agreement is None else agreement.agrees,
            "files": [str(path)],
        }
        output.print_text(output.to_json(data))
    else:
        if agreement is not None:
            output.print_text(agreement.sentence)
        output.print_paths(path)
    return 0 if agreement is None or agreement.agrees else 1


def _default_formalism(model: Elements) -> str:
    """lagrange, or the first formalism that applies to the model."""
    space = workspace_of(setup(model))  # cached, so that the run reuses it
    possible = applicable(space.model, space.facts)
    return "lagrange" if "lagrange" in possible or not possible else possible[0]
