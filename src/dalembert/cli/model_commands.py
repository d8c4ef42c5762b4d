"""Commands about one model: `gallery`, `check`, `export` and `studio`."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

from rich.markdown import Markdown
from rich.table import Table

import dalembert as dl
from dalembert.analysis.model_summary import ModelSummary, summarize
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.errors import EngineError, InputError, model_error
from dalembert.io import gallery as examples
from dalembert.io.code.languages import TARGETS
from dalembert.io.files import write_text
from dalembert.io.toml_writer import to_toml
from dalembert.io.urdf.urdf_writer import to_urdf
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import value
from dalembert.model.joints.base import Joint
from dalembert.symbolic.formula_writer import formula_string

_MAX_COLUMNS = 100


def gallery(arguments: Namespace) -> int:
    """Print the list of examples, or the description of one."""
    if arguments.name is not None:
        _print_example(arguments)
    elif arguments.plot is not None:
        raise InputError(
            "gallery --plot: the name of an example is missing. Expected 'dalembert gallery NAME --plot PATH'."
        )
    else:
        _print_examples(arguments.json)
    return 0


def _print_examples(as_json: bool) -> None:
    models = [(name, examples.load(name)) for name in examples.names()]
    table = output.table("name", "coordinates", "constraints", "description", numbers=["coordinates", "constraints"])
    for name, model in models:
        table.add_row(name, str(len(model.coordinate_names)), str(len(_constraints(model)) or "-"), model.text)
    entries = {"models": [_example_data(name, model) for name, model in models]}
    output.result(as_json, entries, table, "Show an example with 'dalembert gallery NAME'.")


def _print_example(arguments: Namespace) -> None:
    name = arguments.name
    description, model = examples.read_description(name), examples.load(name)
    plots = [] if arguments.plot is None else [output.figure_path(arguments.plot, "--plot", name)]
    for path in plots:
        with output.progress_bar(f"simulating {model.name}") as advance:
            motion = dl.simulate(model, progress=advance)
        output.warn(motion.notes)
        motion.plot(path)
    if arguments.json:
        more = {"markdown": description, "expected": examples.expected(name), "files": [str(path) for path in plots]}
        output.print_text(output.to_json({**_example_data(name, model), **more}))
    else:
        output.show(Markdown(description, code_theme="bw"), width=_MAX_COLUMNS)
        output.print_paths(*plots)


def _example_data(name: str, model: Elements) -> dict[str, object]:
    return {
        "name": name,
        "description": model.text,
        "coordinates": list(model.coordinate_names),
        "constraints": _constraints(model),
    }


def _constraints(model: Elements) -> list[str]:
    """The names of all constraints, including those of contacts."""
    return list(with_contacts(model).constraint_names)


# columns of the table of each section: heading, or heading=key if the key of the data differs
_COLUMNS = {
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


def check(arguments: Namespace) -> int:
    """Print the summary of a model; raise `ModelError` with all problems of an invalid one."""
    model = shared.load(arguments, quiet=True)
    problems = model.check()
    if problems and not model.published:  # inconsistencies of published data are printed, not raised
        raise model_error(model.name, problems)
    found = summarize(model)
    data = {**found.to_dict(), "problems": [vars(problem) for problem in problems]}
    head = f"{model.name}: {model.text or 'no description'}"
    last = ["Published data, used unchanged:", *map(str, problems)] if problems else ["The model is valid."]
    output.result(
        arguments.json, data, head, "", *_model_tables(found), output.key_value_table(_model_summary(found)), *last
    )
    return 0


def _model_tables(found: ModelSummary) -> Iterator[Table]:
    sections = found.sections()
    for row in sections["coordinates"]:
        row["ignorable"] = row["reason"] if row["ignorable"] else f"no: {row['reason']}"
    for row, body in zip(sections["bodies"], found.model.bodies, strict=True):
        row |= {"mass": _mass(body, found), "joints": ", ".join(map(_joint, body.joints))}
    for section, columns in _COLUMNS.items():
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


def _model_summary(found: ModelSummary) -> Iterator[tuple[str, str]]:
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


_FORMATS = {"toml": to_toml, "urdf": to_urdf}
_SUFFIX_FORMATS = {f".{name}": name for name in _FORMATS} | {
    target.ending: name for name, target in TARGETS.items() if target.ending not in ("", ".py")
}


def export(arguments: Namespace) -> int:
    """Write the model or its equations to a file, or print the model."""
    path = None if arguments.output is None else _export_path(arguments)
    ending = ".toml" if path is None else path.suffix.lower()
    kind = arguments.format or _SUFFIX_FORMATS[ending]
    if kind in TARGETS:
        return _export_code(arguments, kind, path)
    if arguments.formalism is not None:
        raise InputError(
            f"--formalism {arguments.formalism}: a {kind} file has no equations. "
            "Omit it, or export source code, such as --format c."
        )
    model = shared.load(arguments)
    found = _FORMATS[kind](model)
    if path is not None:
        write_text(path, found)
    if arguments.json:
        _print_export(model, kind, None, [] if path is None else [path], found)
    elif path is None:
        output.print_text(found.rstrip("\n"))
    else:
        output.print_paths(path)
    return 0


def _print_export(model: Elements, kind: str, formalism: str | None, files: list[Path], source: str | None) -> None:
    """Print what was written, and the exported model itself (None for source code)."""
    data = {"model": model.name, "format": kind, "formalism": formalism, "files": [str(path) for path in files]}
    output.print_text(output.to_json({**data, "source": source}))


def _export_code(arguments: Namespace, target: str, path: Path | None) -> int:
    """Write the equations as source code."""
    if path is None:
        raise InputError(f"--format {target}: source code is not printed. Expected --output FILE.")
    model = shared.load(arguments)
    equations = dl.derive(model, arguments.formalism or "lagrange")
    files = list(dl.export(equations, target, path))
    if arguments.json:
        _print_export(model, target, equations.formalism, files, None)
    else:
        output.print_paths(*files)
    return 0


def _export_path(arguments: Namespace) -> Path:
    """The output path, checked before the computation starts."""
    if arguments.format in TARGETS and not TARGETS[arguments.format].ending:
        return output.output_directory(arguments.output, "--output")
    path = output.output_file(arguments.output, "--output", () if arguments.format else tuple(_SUFFIX_FORMATS))
    if path.exists() and Path(arguments.model).exists() and path.samefile(arguments.model):
        # overwriting the model file would delete its comments
        raise InputError(f"--output {path}: this is the input model file. Choose another file name.")
    return path


def studio(arguments: Namespace) -> int:
    """Run the server until it is interrupted."""
    missing = [name for name in ("starlette", "uvicorn", "websockets", "tomlkit") if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the studio requires {', '.join(missing)}, which is not installed. Run: pip install 'dalembert[studio]'."
        )
    for name, minimum in {"workers": 1, "memory": 0.5, "timeout": 1}.items():
        if not getattr(arguments, name) >= minimum:
            raise InputError(f"--{name}: got {getattr(arguments, name)}. Expected at least {minimum}.")
    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: got {arguments.port}. Expected an int from 0 to 65535; 0 selects any free port.")
    from dalembert.studio.app import Options
    from dalembert.studio.server import serve

    options = Options(arguments.workers, arguments.timeout, memory=int(arguments.memory * 2**30))
    serve(
        Path.cwd(),
        arguments.model,
        options,
        host=arguments.host,
        port=arguments.port,
        browser=not arguments.no_browser,
        as_json=arguments.json,
    )
    return 0
