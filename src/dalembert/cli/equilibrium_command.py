"""`dalembert equilibrium`: equilibria and steady motions, with holding forces and stability."""

from __future__ import annotations

from argparse import Namespace

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output


def run(arguments: Namespace) -> int:
    """Print the equilibria; the exit code is 1 if none is found."""
    model = shared.load(arguments)
    speeds = {
        name: model.number(x, f"--speed {name}")
        for name, x in shared.unique_by_name(arguments.speed, "--speed").items()
    }
    found = dl.equilibrium(
        model, fixed=arguments.fix, unknowns=arguments.solve_for, speeds=speeds or None, starts=arguments.guesses
    )
    output.result(arguments.json, found.to_dict(), *(f"{table}\n" for table in found.tables()))
    return 0
