"""`dalembert prove`: prove that the equations of all formalisms are identical functions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.evidence.proof import ACCEPTED_STATUSES, ProofResult

_STYLE = {"proved": "green", "different": "bold red", "refused": "dim", "undecided": "yellow", "not used": "dim"}
_STYLE |= {"left out": "yellow"}


def run(arguments: Namespace) -> int:
    """Print the proof; return 1 if formalisms or identities differ or remain undecided."""
    model, wanted = shared.load(arguments), shared.parse_formalisms(["lagrange", *arguments.formalism])
    with output.progress_bar(f"proving {model.name}") as advance:
        proof = dl.prove(model, wanted if arguments.formalism else None, seed=arguments.seed, progress=advance)
    tables = (
        _table("formalism", proof.formalisms),
        _table("identity", proof.identities),
        _table("optimized = raw", proof.programs),
    )
    output.result(arguments.json, proof.to_dict(), *tables, proof.sentence, *(f"Note: {note}" for note in proof.notes))
    return 0 if all(claim.status in ACCEPTED_STATUSES for claim in proof.claims.values()) else 1


def _table(heading: str, claims: Mapping[str, ProofResult]) -> Table:
    reasons = any(claim.reason for claim in claims.values())
    table = output.table(heading, "status", *(["reason"] if reasons else []))
    for name, claim in claims.items():
        table.add_row(name, Text(claim.status, _STYLE[claim.status]), *([claim.reason or ""] if reasons else []))
    return table
