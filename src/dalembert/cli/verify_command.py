"""`dalembert verify`: compare the formalisms at random states."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table
from rich.text import Text

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.evidence.agreement import Agreement
from dalembert.formalisms.shared.about import group_by_lineage

_STYLE = {"agrees": "green", "differs": "bold red", "refused": "dim", "left out": "yellow"}
_STYLE |= {"not installed": "yellow", "not used": "dim"}


def run(arguments: Namespace) -> int:
    """Print the comparison; return 1 if formalisms differ."""
    model = shared.load(arguments)
    with output.progress_bar(f"verifying {model.name}") as advance:
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
    derivations = {**agreement.formalisms, **agreement.other_methods}
    groups = [
        *group_by_lineage({name: verdict.lineage for name, verdict in derivations.items()}).items(),
        ((), list(agreement.programs)),
    ]
    for lineage, names in groups:
        table.add_section()
        for name in names:
            verdict = verdicts[name]
            found = map(output.format_error, (verdict.acceleration_difference, verdict.reaction_difference))
            status, facts = Text(verdict.status, _STYLE[verdict.status]), ", ".join(lineage)
            table.add_row(name, status, *found, facts, *([verdict.reason or ""] if refused else []))
    return table
