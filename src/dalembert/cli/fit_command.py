"""`dalembert fit`: fit parameters and initial values of a model to measurements."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table

import dalembert as dl
from dalembert.analysis.fit import Fit
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.errors import InputError


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert fit simple-pendulum swing.csv --parameters 'l,theta(0)' --observe theta",
        "dalembert fit double-pendulum swing.csv --parameters l1,l2 --sigma theta1=0.01 --sigma theta2=0.01",
    )
    parser = shared.command(subparsers, "fit", *examples)
    shared.add_model(parser)
    parser.add_argument("data", metavar="DATA.csv", help="measurements: a column t, and one for each measured quantity")
    text = "what to fit, separated by commas: parameters, or initial values as theta(0) and dot(theta)(0)"
    parser.add_argument("--parameters", metavar="NAMES", required=True, help=text)
    text = "columns to use, repeatable or separated by commas (default: all)"
    parser.add_argument("--observe", metavar="NAMES", action="append", default=[], help=text)
    text = "standard deviation of a column; repeatable (default: estimated from the residuals)"
    parser.add_argument("--sigma", metavar="NAME=VALUE", type=shared.assignment, action="append", default=[], help=text)
    text = "integrator (default: chosen automatically)"
    parser.add_argument("--integrator", metavar="NAME", help=text)
    shared.add_parameters(parser)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Fit, and print the parameters with their uncertainties."""
    model = shared.load(arguments)
    names = [name.strip() for name in arguments.parameters.split(",")]
    observe = [name.strip() for text in arguments.observe for name in text.split(",")]
    sigma = {name: _number(name, text) for name, text in shared.by_name(arguments.sigma, "--sigma").items()}
    found = dl.fit(
        model, arguments.data, names, observe=observe or None, sigma=sigma or None, integrator=arguments.integrator
    )
    first, second = found.tables()
    output.result(arguments.json, found.to_dict(), first.title, _parameters(found), str(second))
    return 0


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--sigma {name}: got '{text}'. Expected a positive number.") from None


def _parameters(found: Fit) -> Table:
    first, _ = found.tables()
    table = output.table(*first.columns, numbers=first.columns[1:])
    for row in first.rows:
        table.add_row(*row)
    return table
