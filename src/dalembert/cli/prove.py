"""`dalembert prove`: are the formalisms identical functions?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dalembert.cli import documents, output, progress
from dalembert.cli.arguments import Subparsers, add_json, add_model, command, load

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.evidence.proof import Claim, Proof

_STYLE = {"proved": "green", "different": "bold red", "refused": "dim", "undecided": "yellow"}


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    summary = "prove that all formalisms are identical functions of state and parameters"
    parser = command(
        subparsers,
        "prove",
        summary,
        "dalembert prove cart-pendulum",
        "dalembert prove my-model.toml --formalism kane --json",
    )
    add_model(parser)
    text = "a formalism to be compared with Lagrange's equations; repeatable (default: all that apply)"
    parser.add_argument("--formalism", metavar="KEY", action="append", help=text)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the proof; 1 when formalisms or identities are different functions, or could not be decided."""
    from dalembert import pipeline

    model = load(arguments)
    keys = None if arguments.formalism is None else list(dict.fromkeys(["lagrange", *arguments.formalism]))
    with progress.bar(f"proving {model.name}") as advance:
        proof = pipeline.prove(model, keys, progress=advance)
    if arguments.json:
        documents.show(proof.to_dict())
    else:
        output.show(_table("formalism", proof.formalisms), _table("identity", proof.identities), *_sentences(proof))
    claims = (*proof.formalisms.values(), *proof.identities.values())
    return 0 if all(claim.status in ("proved", "refused") for claim in claims) else 1


def _table(heading: str, claims: Mapping[str, Claim]) -> Table:
    from rich.text import Text

    reasons = any(claim.reason for claim in claims.values())
    table = output.table(heading, "status", *(["reason"] if reasons else []))
    for name, claim in claims.items():
        table.add_row(name, Text(claim.status, _STYLE[claim.status]), *([claim.reason or ""] if reasons else []))
    return table


def _sentences(proof: Proof) -> list[str]:
    return [str(proof), *(f"Note: {note}" for note in proof.notes)]
