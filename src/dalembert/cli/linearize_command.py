"""`dalembert linearize`: the linearized equations of a model about a state, and their modes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import dalembert as dl
from dalembert.analysis.linearization import Linearization
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.display.video import SUFFIXES
from dalembert.errors import InputError


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert linearize double-pendulum --equilibrium",
        "dalembert linearize simple-pendulum --start theta=0 --rate theta=0 --input theta --matrices",
        "dalembert linearize stewart-platform --equilibrium --film mode.html --mode 2",
    )
    parser = shared.command(subparsers, "linearize", *examples)
    shared.add_model(parser)
    text = "linearize about the equilibrium closest to the initial state instead of the initial state itself"
    parser.add_argument("--equilibrium", action="store_true", help=text)
    shared.add_values(parser, "--start", "override a position of the operating point")
    shared.add_values(parser, "--rate", "override a velocity of the operating point")
    text = "input: a coordinate (the force along it) or a parameter; repeatable"
    parser.add_argument("--input", metavar="NAME", action="append", default=[], help=text)
    text = "output: a formula, ddot(x), or the name of a constraint for its multiplier; repeatable (default: all coordinates)"
    parser.add_argument("--output", metavar="FORMULA", action="append", default=[], help=text)
    parser.add_argument("--moving", action="store_true", help="allow any state of motion as operating point")
    parser.add_argument("--matrices", action="store_true", help="also print the matrices A, B, C and D")
    parser.add_argument("--film", metavar="FILE", help=f"animate one period of a mode: {', '.join(SUFFIXES)}")
    parser.add_argument(
        "--mode", metavar="N", type=shared.at_least(0), default=0, help="index of the mode of --film (default: 0)"
    )
    shared.add_parameters(parser)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the operating point and the modes."""
    model = shared.load(arguments)
    if arguments.film is not None and not arguments.film.lower().endswith(SUFFIXES):
        raise InputError(f"--film {arguments.film}: expected a file name that ends in {', '.join(SUFFIXES)}.")
    at = dl.equilibrium(model) if arguments.equilibrium else None
    linear = dl.linearize(model, at, inputs=arguments.input, outputs=arguments.output or None, moving=arguments.moving)
    parts = [f"{table}\n" for table in linear.tables()]
    output.result(arguments.json, linear.to_dict(), *parts, *(_matrices(linear) if arguments.matrices else []))
    if arguments.film is not None:
        linear.modes().film(arguments.mode, arguments.film)
        if not arguments.json:
            output.text(f"animation: {arguments.film}")
    return 0


def _matrices(linear: Linearization) -> list[str]:
    """A, B, C and D with the names of states, inputs and outputs."""
    out = [f"states: {', '.join(linear.states)}", f"inputs: {', '.join(linear.inputs) or 'none'}"]
    out.append(f"outputs: {', '.join(linear.outputs)}")
    for name in "ABCD":
        matrix = getattr(linear, name)
        if matrix.size:
            out.append(f"{name} =\n{np.array2string(matrix, max_line_width=150, precision=6, suppress_small=True)}\n")
    return out
