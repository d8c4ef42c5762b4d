"""`dalembert verify`: do the formalisms agree?"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from dalembert.cli import documents, output, progress
from dalembert.cli.arguments import Subparsers, add_json, add_model, command, load
from dalembert.cli.values import at_least, positive

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.evidence.agreement import Agreement

_STYLE = {"agrees": "green", "differs": "bold red", "refused": "dim", "left out": "yellow"}


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    summary = "compare accelerations and reactions of every formalism at random states"
    parser = command(subparsers, "verify", summary, "dalembert verify cart-pendulum --states 500")
    add_model(parser)
    text = "number of random states that fulfil the constraints (default: %(default)s)"
    parser.add_argument("--states", metavar="N", type=at_least(1), default=200, help=text)
    text = "largest relative difference that counts as agreement (default: %(default)s)"
    parser.add_argument("--tolerance", metavar="X", type=positive, default=1e-10, help=text)
    text = "heyoka or portable; repeatable (default: all that are installed)"
    parser.add_argument("--engine", metavar="NAME", action="append", help=text)
    text = "also the formalisms that take minutes to compile for a large model"
    parser.add_argument("--all", action="store_true", help=text)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the findings; 1 when formalisms differ."""
    from dalembert import pipeline

    model = load(arguments)
    with progress.bar(f"verifying {model.name}") as advance:
        agreement = pipeline.verify(
            model,
            states=arguments.states,
            tolerance=arguments.tolerance,
            engines=arguments.engine,
            everything=arguments.all,
            progress=advance,
        )
    if arguments.json:
        documents.show(agreement.to_dict())
    else:
        output.show(_table(agreement), _sentence(agreement), *(f"Note: {note}" for note in agreement.notes))
    return 0 if agreement.agrees else 1


def _table(agreement: Agreement) -> Table:
    from rich.text import Text

    columns = ["formalism", "status", "accelerations", "reactions"]
    verdicts = dict(agreement.formalisms)
    if agreement.recursion is not None:
        verdicts["recursion, O(n)"] = agreement.recursion
    if agreement.principle is not None:
        verdicts["the principle"] = agreement.principle
    refused = any(verdict.reason for verdict in verdicts.values())
    table = output.table(*columns, *(["reason"] if refused else []), numbers=columns[2:])
    for key, verdict in verdicts.items():
        found = verdict.acceleration_difference, verdict.reaction_difference
        status = Text(verdict.status, _STYLE[verdict.status])
        table.add_row(key, status, *map(output.small, found), *([verdict.reason or ""] if refused else []))
    return table


def _sentence(agreement: Agreement) -> str:
    applied = [verdict for verdict in agreement.formalisms.values() if verdict.status in ("agrees", "differs")]
    differing = [key for key, verdict in agreement.formalisms.items() if verdict.status == "differs"]
    if agreement.recursion is not None and agreement.recursion.status == "differs":
        differing.append("recursion")
    if agreement.principle is not None and agreement.principle.status == "differs":
        differing.append("the principle")
    if not differing:
        begin = f"{len(applied)} formalisms agree on '{agreement.model}'"
    else:
        begin = f"The formalisms differ on '{agreement.model}' ({', '.join(differing)})"
    return (
        f"{begin}: the largest relative difference is {agreement.max_difference:.2e} (tolerance "
        f"{agreement.tolerance:g}), at {agreement.states} states, engines {', '.join(agreement.engines)}."
    )
