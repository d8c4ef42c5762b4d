"""`dalembert check`: validate a model and print a summary, or all its problems."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from rich.table import Table

from dalembert.analysis.model_summary import ModelSummary, summarize
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.errors import model_error
from dalembert.model.elements import Body
from dalembert.model.evaluation import value
from dalembert.model.joints.base import Joint
from dalembert.symbolic.formula_writer import formula_string

# columns of the table of each section: heading, or heading=key if the key of the data differs
_TABLES = {
    "parameters": "parameter=name, value, unit, meaning=description",
    "coordinates": "coordinate=name, start, rate, unit, ignorable, meaning=description",
    "bodies": "body=name, parent, mass, joints",
    "loops": "loop=name, bodies, joint, constrained=rows, redundant, feedback, meaning=description",
    "loads": "load=name, kind, acts on=on, law",
    "rotors": "rotor=name, in=on, inertia, ratio",
    "constraints": "constraint=name, kind, formula (= 0)=formula, feedback, meaning=description",
    "speeds": "speed=name, formula, meaning=description",
    "limits": "limits of=coordinate, lower, upper, velocity, effort",
}
_NUMBERS = ("value", "start", "rate", "lower", "upper", "velocity", "effort")


def run(arguments: Namespace) -> int:
    """Print the summary of a model; raise `ModelError` with all problems of an invalid one."""
    model = shared.load(arguments, quiet=True)
    problems = model.check()
    if problems and not model.published:  # inconsistencies of published data are printed, not raised
        raise model_error(model.name, problems)
    found = summarize(model)
    data = {**found.to_dict(), "problems": [vars(problem) for problem in problems]}
    head = f"{model.name}: {model.text or 'no description'}"
    last = ["Published data, used unchanged:", *map(str, problems)] if problems else ["The model is valid."]
    output.result(arguments.json, data, head, "", *_tables(found), output.key_value_table(_summary(found)), *last)
    return 0


def _tables(found: ModelSummary) -> Iterator[Table]:
    sections = found.sections()
    for row in sections["coordinates"]:
        row["ignorable"] = row["reason"] if row["ignorable"] else f"no: {row['reason']}"
    for row, body in zip(sections["bodies"], found.model.bodies, strict=True):
        row |= {"mass": _mass(body, found), "joints": ", ".join(map(_joint, body.joints))}
    for section, columns in _TABLES.items():
        headings = [column.rpartition("=")[::2] for column in columns.split(", ")]
        rows = [[_cell(row[key]) for _, key in headings] for row in sections[section]]
        used = [i for i in range(len(headings)) if any(row[i] not in ("", "-") for row in rows)]
        if used:
            table = output.table(*(headings[i][0] or headings[i][1] for i in used), numbers=_NUMBERS)
            for row in rows:
                table.add_row(*(row[i] for i in used))
            yield table


def _cell(entry: object) -> str:
    if isinstance(entry, list):
        return ", ".join(map(str, entry))
    return output.number(entry, 6) if isinstance(entry, float | None) else str(entry)


def _mass(body: Body, found: ModelSummary) -> str:
    """The value of a mass, after its formula if that is more than a number."""
    formula, number = formula_string(body.mass), output.number(value(body.mass, found.model.parameter_values), 6)
    try:
        Fraction(formula)
    except ValueError:
        return f"{formula} = {number}"
    return number


def _joint(joint: Joint) -> str:
    """The type of a joint and its motions, with their names if there are several."""
    moves = [formula_string(formula) for formula in joint.values]
    if len(joint.motions) > 1:
        moves = [f"{name} {move}" for name, move in zip(joint.motions, moves, strict=True)]
    return f"{joint.kind}({', '.join(moves)})" if moves else joint.kind


def _summary(found: ModelSummary) -> Iterator[tuple[str, str]]:
    model, known = found.model, found.facts
    yield "gravity", f"({', '.join(map(formula_string, model.gravity))})"
    if model.energies is not None:
        yield "kinetic energy", formula_string(model.energies.kinetic)
        yield "potential energy", formula_string(model.energies.potential)
        yield "forces", ", ".join(map(formula_string, model.energies.forces))
    yield "degrees of freedom", _freedom(found)
    yield "ignorable coordinates", ", ".join(found.mobility.ignorable) or "none"
    if known.dropped:
        yield "redundant constraints", "; ".join(known.dropped)  # names of constraint rows contain commas
    if model.non_ideal_forces:
        forces = model.non_ideal_forces.items()
        yield "non-ideal forces", ", ".join(f"{name}: {formula_string(force)}" for name, force in forces)
    if model.shapes:
        kinds = Counter(shape.kind for shape in model.shapes)
        yield "shapes", f"{len(model.shapes)} ({', '.join(f'{kind} {count}' for kind, count in kinds.items())})"
    for sentence in model.notes:
        yield "note", sentence
    for warning in found.mobility.warnings:
        yield "warning", warning
    if known.chosen:
        yield "speeds", "chosen automatically"
    yield "formalisms", ", ".join(found.formalisms)
    for key, reason in found.refused.items():
        yield f"not {key}", reason
    guess = ", from the assembled initial state" if model.assemble_start else ""
    yield "simulation", f"{model.duration:g} s, {model.samples} samples{guess}"


def _freedom(found: ModelSummary) -> str:
    moves, rows = found.mobility, len(found.facts.levels.names)
    if not rows:
        return str(found.facts.d)
    return (
        f"{found.facts.d} ({moves.coordinates} coordinates, {len(moves.independent)} independent of {rows} constraints)"
    )
