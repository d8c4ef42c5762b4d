"""`dalembert check`: what was understood of a model, or everything that is wrong with it."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dalembert.cli import documents, output
from dalembert.cli.arguments import Subparsers, add_json, add_model, command, load
from dalembert.errors import unsound

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
    from dalembert.cli.understanding import understood

    model = load(arguments, quiet=True)
    problems = model.check()
    if problems and not model.published:  # a vendor's odd numbers are shown
        raise unsound(model.name, problems)
    found = {**understood(model), "problems": [vars(problem) for problem in problems]}
    if arguments.json:
        documents.show(found)
        return 0
    head = f"{found['model']}: {found['description'] or 'no description'}"
    last = ["Published data, taken as they are:", *map(str, problems)] if problems else ["The model is sound."]
    output.show(head, "", *_tables(found), output.facts(_summary(found)), *last)
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
    "loops": {
        "loop": "name",
        "joins": "bodies_text",
        "joint": "joint",
        "holds": "rows_text",
        "redundant": "redundant_text",
        "feedback": "feedback_text",
        "meaning": "description",
    },
    "loads": {"load": "name", "kind": "kind", "acts on": "on", "law": "law"},
    "rotors": {"rotor": "name", "in": "on", "inertia": "inertia", "ratio": "ratio"},
    "constraints": {
        "constraint": "name",
        "kind": "kind",
        "formula (= 0)": "formula",
        "feedback": "feedback_text",
        "meaning": "description",
    },
    "speeds": {"speed": "name", "formula": "formula", "meaning": "description"},
    "limits": {
        "limits of": "coordinate",
        "lower": "lower",
        "upper": "upper",
        "velocity": "velocity",
        "effort": "effort",
    },
}
_NUMBERS = ("value", "start", "rate", "lower", "upper", "velocity", "effort")


def _tables(found: dict[str, Any]) -> Iterator[Table]:
    for section, columns in _TABLES.items():
        rows = [_readable(row) for row in found[section]]
        if rows:
            kept = {heading: key for heading, key in columns.items() if any(row[key] not in ("", "-") for row in rows)}
            table = output.table(*kept, numbers=_NUMBERS)
            for row in rows:
                table.add_row(*(row[key] for key in kept.values()))
            yield table


def _readable(row: dict[str, Any]) -> dict[str, str]:
    """A row as text, with the columns that are put together from several entries."""
    out = {key: output.number(each, 6) if isinstance(each, float | None) else str(each) for key, each in row.items()}
    for key in ("feedback", "bodies", "rows"):
        if key in row:
            out[f"{key}_text"] = ", ".join(row[key])
    if "rows" in row:
        out["redundant_text"] = ", ".join(row["redundant"])
    if "ignorable" in row:
        out["ignorable_text"] = row["reason"] if row["ignorable"] else f"no: {row['reason']}"
    if "joints" in row:
        out["joints_text"] = ", ".join(map(_joint, row["joints"]))
        given = "" if _is_number(row["mass"]) else f"{out['mass']} = "
        out["mass_text"] = f"{given}{out['mass_value']}"
    return out


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def _joint(joint: dict[str, Any]) -> str:
    """The kind of a joint and its motions, which have names where there are several."""
    moves = [f"{move['name']} {move['formula']}" for move in joint["motions"]]
    inside = ", ".join(moves) if len(moves) > 1 else joint["value"]
    return f"{joint['kind']}({inside})" if moves else joint["kind"]


def _summary(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "gravity", f"({', '.join(found['gravity'])})"
    if found["energies"]:
        yield "kinetic energy", found["energies"]["kinetic"]
        yield "potential energy", found["energies"]["potential"]
        yield "forces", ", ".join(found["energies"]["forces"])
    yield "degrees of freedom", _freedom(found)
    yield "ignorable coordinates", ", ".join(found["ignorable"]) or "none"
    if found["redundant"]:
        yield "redundant constraints", "; ".join(found["redundant"])  # names of rows contain commas
    if found["non_ideal"]:
        yield "non-ideal forces", ", ".join(f"{name}: {force}" for name, force in found["non_ideal"].items())
    if found["shapes"]:
        kinds = Counter(shape["kind"] for shape in found["shapes"])
        yield "shapes", f"{len(found['shapes'])} ({', '.join(f'{kind} {count}' for kind, count in kinds.items())})"
    for sentence in found["notes"]:
        yield "note", sentence
    for warning in found["warnings"]:
        yield "beware", warning
    if found["speeds_chosen"]:
        yield "speeds", "chosen by the program"
    yield "formalisms", ", ".join(found["formalisms"])
    for key, reason in found["refused"].items():
        yield f"not {key}", reason
    guess = ", from the assembled initial state" if found["assemble"] else ""
    yield "simulation", f"{found['duration']:g} s, {found['samples']} samples{guess}"


def _freedom(found: dict[str, Any]) -> str:
    rows = found["constraint_rows"]
    if not rows:
        return str(found["degrees_of_freedom"])
    counted = (
        f"{len(found['coordinates'])} coordinates, {len(found['independent'])} independent of {len(rows)} constraints"
    )
    return f"{found['degrees_of_freedom']} ({counted})"
