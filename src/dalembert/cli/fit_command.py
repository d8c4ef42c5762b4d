"""`dalembert fit`: fit parameters and initial values of a model to measurements."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table

import dalembert as dl
from dalembert.analysis.fit import Fit
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.errors import InputError


def run(arguments: Namespace) -> int:
    """Fit, and print the parameters with their uncertainties."""
    model = shared.load(arguments)
    names = [name.strip() for name in arguments.parameters.split(",")]
    observe = [name.strip() for text in arguments.observe for name in text.split(",")]
    sigma = {name: _number(name, text) for name, text in shared.unique_by_name(arguments.sigma, "--sigma").items()}
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
