"""`dalembert report`: write a self-contained HTML report with an animation."""

from __future__ import annotations

import shlex
from argparse import Namespace

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.formalisms.catalogue import applicable
from dalembert.model.description import Elements
from dalembert.simulation.workspace import setup, workspace_of


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert report cart-pendulum",
        "dalembert report four-bar --formalism kane,lagrange --duration 3 -o four-bar.html",
        "dalembert report robot.urdf --no-evidence",
    )
    parser = shared.command(subparsers, "report", *examples)
    shared.add_model(parser)
    shared.add_formalisms(parser, "lagrange, or the first that applies; the first one is simulated")
    shared.add_run(parser)
    shared.add_values(parser, "--start", "override an initial position")
    shared.add_values(parser, "--rate", "override an initial velocity")
    text = "omit the comparison of the formalisms, which is slow for large models"
    parser.add_argument("--no-evidence", action="store_true", help=text)
    shared.add_budget(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="HTML file to write (default: name of the model, .html)")
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Simulate, compare the formalisms and write the report."""
    model = shared.load(arguments)
    path = output_files.target(arguments.output or f"{output_files.file_name(model.name)}.html", "--output", (".html",))
    keys = shared.keys(arguments.formalism) or [_default_formalism(model)]
    with output.bar(f"simulating {model.name} by {keys[0]}") as advance:
        equations = dl.derive(model, keys[0])
        motion = equations.simulate(arguments.duration, progress=advance, **shared.how_to_run(arguments))
    shared.note_unused(arguments, motion.integrator)
    output.warn(motion.notes)
    with output.bar(f"comparing the formalisms on {model.name}") as advance:
        found = dl.report(
            motion,
            path,
            formalisms=keys,
            evidence=not arguments.no_evidence,
            budget=arguments.budget,
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
        output.text(output.to_json(data))
    else:
        if agreement is not None:
            output.text(agreement.sentence)
        output.written(path)
    return 0 if agreement is None or agreement.agrees else 1


def _default_formalism(model: Elements) -> str:
    """lagrange, or the first formalism that applies to the model."""
    space = workspace_of(setup(model))  # cached, so that the run reuses it
    possible = applicable(space.model, space.facts)
    return "lagrange" if "lagrange" in possible or not possible else possible[0]
