"""`dalembert equilibrium`: equilibria and steady motions, with holding forces and stability."""

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
    text = "fix this coordinate at its initial value; the holding force is computed; repeatable"
    parser.add_argument("--keep", metavar="NAME", action="append", default=[], help=text)
    text = (
        "solve for this parameter, or the rate of this coordinate, instead of one holding force of --keep; repeatable"
    )
    parser.add_argument("--seek", metavar="NAME", action="append", default=[], help=text)
    shared.add_values(parser, "--speed", "set the constant rate of an ignorable coordinate")
    shared.add_values(parser, "--start", "override an initial guess of a position")
    text = "number of additional random initial guesses (default: %(default)s)"
    parser.add_argument("--starts", metavar="N", type=shared.at_least(0), default=30, help=text)
    shared.add_parameters(parser)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the equilibria; the exit code is 1 if none is found."""
    model = shared.load(arguments)
    speeds = {
        name: model.number(x, f"--speed {name}") for name, x in shared.by_name(arguments.speed, "--speed").items()
    }
    found = dl.equilibrium(
        model, keep=arguments.keep, seek=arguments.seek, speeds=speeds or None, starts=arguments.starts
    )
    output.result(arguments.json, found.to_dict(), *(f"{table}\n" for table in found.tables()))
    return 0
