"""`dalembert check`: what was understood of a model, or everything that is wrong with it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dalembert.cli import documents, output
from dalembert.cli.arguments import Subparsers, add_json, add_model, command, load

if TYPE_CHECKING:
    from rich.table import Table


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    summary = "say what was understood of a model, or list all its problems at once"
    parser = command(subparsers, "check", summary, "dalembert check cart-pendulum", "dalembert check robot.toml --json")
    add_model(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print what was understood; a model with problems raises all of them."""
    from dalembert.cli.understood import understood

    found = understood(load(arguments))
    if arguments.json:
        documents.show(found)
        return 0
    head = f"{found['model']}: {found['description'] or 'no description'}"
    output.show(head, "", *_tables(found), output.facts(_summary(found)), "The model is sound.")
    return 0


# what a table shows: its title, its headings, and the key of each column
_TABLES = {
    "parameters": {"parameter": "name", "value": "value", "unit": "unit", "meaning": "description"},
    "coordinates": {
        "coordinate": "name",
        "start": "start",
        "rate": "rate",
        "unit": "unit",
        "ignorable": "ignorable_text",
        "meaning": "description",
    },
    "bodies": {"body": "name", "carried by": "parent", "mass": "mass_text", "joints": "joints_text"},
    "loads": {"load": "name", "kind": "kind", "acts on": "on", "law": "law"},
    "constraints": {
        "constraint": "name",
        "kind": "kind",
        "formula (= 0)": "formula",
        "feedback": "feedback_text",
        "meaning": "description",
    },
    "speeds": {"speed": "name", "formula": "formula", "meaning": "description"},
}
_NUMBERS = ("value", "start", "rate")


def _tables(found: dict[str, Any]) -> Iterator[Table]:
    for section, columns in _TABLES.items():
        rows = [_readable(row) for row in found[section]]
        if rows:
            kept = {heading: key for heading, key in columns.items() if any(row[key] for row in rows)}
            table = output.table(*kept, numbers=_NUMBERS)
            for row in rows:
                table.add_row(*(row[key] for key in kept.values()))
            yield table


def _readable(row: dict[str, Any]) -> dict[str, str]:
    """A row as text, with the columns that are put together from several entries."""
    out = {key: output.number(each, 6) if isinstance(each, float) else str(each) for key, each in row.items()}
    if "feedback" in row:
        out["feedback_text"] = ", ".join(row["feedback"])
    if "ignorable" in row:
        out["ignorable_text"] = "yes" if row["ignorable"] else f"no: {row['reason']}"
    if "joints" in row:
        out["joints_text"] = ", ".join(f"{j['kind']}({j['value']})" if j["value"] else j["kind"] for j in row["joints"])
        same = out["mass"] == out["mass_value"]
        out["mass_text"] = out["mass"] if same else f"{out['mass']} = {out['mass_value']}"
    return out


def _summary(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "gravity", f"({', '.join(found['gravity'])})"
    if found["energies"]:
        yield "kinetic energy", found["energies"]["kinetic"]
        yield "potential energy", found["energies"]["potential"]
        yield "forces", ", ".join(found["energies"]["forces"])
    yield "degrees of freedom", str(found["degrees_of_freedom"])
    yield "ignorable coordinates", ", ".join(found["ignorable"]) or "none"
    if found["redundant"]:
        yield "redundant constraints", ", ".join(found["redundant"])
    if found["non_ideal"]:
        yield "non-ideal forces", ", ".join(f"{name}: {force}" for name, force in found["non_ideal"].items())
    for warning in found["warnings"]:
        yield "beware", warning
    if found["speeds_chosen"]:
        yield "speeds", "chosen by the program"
    yield "formalisms", ", ".join(found["formalisms"])
    for key, reason in found["refused"].items():
        yield f"not {key}", reason
    yield "simulation", f"{found['duration']:g} s, {found['samples']} samples"
