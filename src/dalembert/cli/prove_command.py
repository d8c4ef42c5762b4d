"""`dalembert prove`: prove that the equations of all formalisms are identical functions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.evidence.proof import FINE, Claim

_STYLE = {"proved": "green", "different": "bold red", "refused": "dim", "undecided": "yellow", "not used": "dim"}
_STYLE |= {"left out": "yellow"}


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = "dalembert prove cart-pendulum", "dalembert prove my-model.toml --formalism kane --json"
    parser = shared.command(subparsers, "prove", *examples)
    shared.add_model(parser)
    shared.add_formalisms(parser, "all that apply, each compared with Lagrange's equations")
    text = "seed of the random evaluation points, to repeat a proof (default: a random one, which is printed)"
    parser.add_argument("--seed", metavar="N", type=shared.at_least(0), help=text)
    shared.add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the proof; return 1 if formalisms or identities differ or remain undecided."""
    model, wanted = shared.load(arguments), shared.keys(["lagrange", *arguments.formalism])
    with output.bar(f"proving {model.name}") as advance:
        proof = dl.prove(model, wanted if arguments.formalism else None, seed=arguments.seed, progress=advance)
    tables = (
        _table("formalism", proof.formalisms),
        _table("identity", proof.identities),
        _table("shortened = raw", proof.programs),
    )
    output.result(arguments.json, proof.to_dict(), *tables, proof.sentence, *(f"Note: {note}" for note in proof.notes))
    return 0 if all(claim.status in FINE for claim in proof.claims.values()) else 1


def _table(heading: str, claims: Mapping[str, Claim]) -> Table:
    reasons = any(claim.reason for claim in claims.values())
    table = output.table(heading, "status", *(["reason"] if reasons else []))
    for name, claim in claims.items():
        table.add_row(name, Text(claim.status, _STYLE[claim.status]), *([claim.reason or ""] if reasons else []))
    return table
