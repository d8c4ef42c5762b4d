"""`dalembert verify`: compare the formalisms at random states."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table
from rich.text import Text

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.evidence.agreement import Agreement
from dalembert.formalisms.shared.about import grouped

_STYLE = {"agrees": "green", "differs": "bold red", "refused": "dim", "left out": "yellow"}
_STYLE |= {"not installed": "yellow", "not used": "dim"}


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    parser = shared.command(subparsers, "verify", "dalembert verify cart-pendulum --states 500")
    shared.add_model(parser)
    text = "number of random states that satisfy the constraints (default: %(default)s)"
    parser.add_argument("--states", metavar="N", type=shared.at_least(1), default=200, help=text)
    text = "maximum relative difference that counts as agreement (default: %(default)s)"
    parser.add_argument("--tolerance", metavar="X", type=shared.positive, default=1e-10, help=text)
    text = "engine: native or python; repeatable (default: all installed engines)"
    parser.add_argument("--engine", metavar="NAME", action="append", help=text)
    text = "include formalisms that take minutes to compile for a large model"
    parser.add_argument("--all", action="store_true", help=text)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the comparison; return 1 if formalisms differ."""
    model = shared.load(arguments)
    with output.bar(f"verifying {model.name}") as advance:
        agreement = dl.verify(
            model,
            states=arguments.states,
            tolerance=arguments.tolerance,
            engines=arguments.engine,
            everything=arguments.all,
            progress=advance,
        )
    parts = _table(agreement), agreement.sentence, *(f"Note: {note}" for note in agreement.notes)
    output.result(arguments.json, agreement.to_dict(), *parts)
    return 0 if agreement.agrees else 1


def _table(agreement: Agreement) -> Table:
    columns = ["formalism", "status", "accelerations", "reactions"]
    verdicts = agreement.verdicts
    refused = any(verdict.reason for verdict in verdicts.values())
    table = output.table(*columns, "derived from", *(["reason"] if refused else []), numbers=columns[2:])
    derivations = {**agreement.formalisms, **agreement.others}
    groups = [
        *grouped({name: verdict.lineage for name, verdict in derivations.items()}).items(),
        ((), list(agreement.programs)),
    ]
    for lineage, names in groups:
        table.add_section()
        for name in names:
            verdict = verdicts[name]
            found = map(output.small, (verdict.acceleration_difference, verdict.reaction_difference))
            status, facts = Text(verdict.status, _STYLE[verdict.status]), ", ".join(lineage)
            table.add_row(name, status, *found, facts, *([verdict.reason or ""] if refused else []))
    return table
