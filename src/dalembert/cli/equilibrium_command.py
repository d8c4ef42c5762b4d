"""`dalembert equilibrium`: where a model rests or goes on steadily, what holds it there, and whether it stays."""

from __future__ import annotations

from argparse import Namespace

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert equilibrium double-pendulum",
        "dalembert equilibrium four-bar --keep q1 --start q1=0.3",
        "dalembert equilibrium top.toml --speed phi=150 --keep theta --seek psi",
    )
    parser = shared.command(subparsers, "equilibrium", *examples)
    shared.add_model(parser)
    text = "a coordinate that stays where it is, held by a force; repeatable"
    parser.add_argument("--keep", metavar="NAME", action="append", default=[], help=text)
    text = (
        "a parameter, or a coordinate for its rate, that is found in place of the force on one that is kept; repeatable"
    )
    parser.add_argument("--seek", metavar="NAME", action="append", default=[], help=text)
    shared.add_values(parser, "--speed", "constant rate of a coordinate that nothing depends on")
    shared.add_values(parser, "--start", "position to begin from")
    text = "random starts beside the first (default: %(default)s)"
    parser.add_argument("--starts", metavar="N", type=shared.at_least(0), default=30, help=text)
    shared.add_parameters(parser)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Print what was found; 1 where there is nothing."""
    model = shared.load(arguments)
    speeds = {
        name: model.number(x, f"--speed {name}") for name, x in shared.by_name(arguments.speed, "--speed").items()
    }
    found = dl.equilibrium(
        model, keep=arguments.keep, seek=arguments.seek, speeds=speeds or None, starts=arguments.starts
    )
    output.result(arguments.json, found.to_dict(), *(f"{table}\n" for table in found.tables()))
    return 0
