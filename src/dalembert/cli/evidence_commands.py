"""Commands that compare formulations: `prove`, `verify`, `compare`; `symmetries`; and the documents `report` and `paper`."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

import dalembert as dl
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.display.math.short_forms import BUDGET
from dalembert.errors import InputError
from dalembert.evidence.agreement import Agreement
from dalembert.evidence.comparison import Comparison
from dalembert.evidence.proof import ACCEPTED_STATUSES, ProofResult
from dalembert.formalisms.catalog import applicable
from dalembert.formalisms.shared.quantities import group_by_lineage
from dalembert.model.description import Elements
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.tables import format_cell

_PROOF_STYLES = {"proved": "green", "different": "bold red", "refused": "dim", "undecided": "yellow", "not used": "dim"}
_PROOF_STYLES |= {"left out": "yellow"}


def prove(arguments: Namespace) -> int:
    """Print the proof; return 1 if formalisms or identities differ or remain undecided."""
    model, wanted = shared.load(arguments), shared.parse_formalisms(["lagrange", *arguments.formalism])
    with output.progress_bar(f"proving {model.name}") as advance:
        proof = dl.prove(model, wanted if arguments.formalism else None, seed=arguments.seed, progress=advance)
    tables = (
        _proof_table("formalism", proof.formalisms),
        _proof_table("identity", proof.identities),
        _proof_table("optimized = raw", proof.programs),
    )
    output.result(arguments.json, proof.to_dict(), *tables, proof.sentence, *(f"Note: {note}" for note in proof.notes))
    return 0 if all(claim.status in ACCEPTED_STATUSES for claim in proof.claims.values()) else 1


def _proof_table(heading: str, claims: Mapping[str, ProofResult]) -> Table:
    reasons = any(claim.reason for claim in claims.values())
    table = output.table(heading, "status", *(["reason"] if reasons else []))
    for name, claim in claims.items():
        table.add_row(name, Text(claim.status, _PROOF_STYLES[claim.status]), *([claim.reason or ""] if reasons else []))
    return table


def symmetries(arguments: Namespace) -> int:
    """Print the generators, their momenta and the Lie algebra."""
    found = dl.symmetries(shared.load(arguments), seed=arguments.seed)
    output.result(arguments.json, found.to_dict(), str(found))
    return 0


_AGREEMENT_STYLES = {"agrees": "green", "differs": "bold red", "refused": "dim", "left out": "yellow"}
_AGREEMENT_STYLES |= {"not used": "dim"}


def verify(arguments: Namespace) -> int:
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
    parts = _agreement_table(agreement), agreement.sentence, *(f"Note: {note}" for note in agreement.notes)
    output.result(arguments.json, agreement.to_dict(), *parts)
    return 0 if agreement.agrees else 1


def _agreement_table(agreement: Agreement) -> Table:
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
            status, facts = Text(verdict.status, _AGREEMENT_STYLES[verdict.status]), ", ".join(lineage)
            table.add_row(name, status, *found, facts, *([verdict.reason or ""] if refused else []))
    return table


def compare(arguments: Namespace) -> int:
    """Simulate with every formulation and print the table; return 1 if a simulation failed."""
    from dalembert.display.plots import plot

    wanted, panels = shared.parse_formalisms(arguments.formalism), shared.panels(arguments, plot.FIGURES)
    model = shared.load(arguments)
    target = None if arguments.plot is None else output.figure_paths(arguments.plot, "--plot", model.name)
    with output.progress_bar(f"comparing {model.name}") as advance:
        comparison = dl.compare(
            model,
            wanted or None,
            duration=arguments.duration,
            engine=arguments.engine,
            progress=advance,
            **shared.simulation_options(arguments),
        )
    shared.note_ignored_tolerances(arguments, comparison.integrator)
    figures = [] if target is None or not comparison.runs else plot.comparison(comparison.runs, target, panels)
    for key, notes in comparison.checks.items():
        output.warn(notes, key)
    data = {**comparison.to_dict(), "files": [str(path) for path in figures]}
    output.result(arguments.json, data, comparison.title, _comparison_table(comparison), *comparison.notes)
    if not arguments.json:
        output.print_paths(*figures)
    if target is not None and not comparison.runs:
        output.note("nothing was plotted, because every simulation failed.")
    return 1 if comparison.failed else 0


def _comparison_table(comparison: Comparison) -> Table:
    numbers = "equations", "states", "operations", "CPU s", "energy\nerror", "constraint\nerror", "momentum\nerror"
    table = output.table("formalism", *numbers, numbers=numbers)
    for row in comparison:
        counts = (format_cell(count) for count in (row.n_dynamic, row.n_states, row.operations))
        seconds = "failed" if row.cpu_seconds is None else f"{row.cpu_seconds:.3f}"
        errors = row.energy_error, row.constraint_error, row.momentum_error
        table.add_row(row.formalism, *counts, seconds, *map(output.format_error, errors))
    return table


def report(arguments: Namespace) -> int:
    """Simulate, compare the formalisms and write the report."""
    model = shared.load(arguments)
    path = output.output_file(arguments.output or f"{output.file_name(model.name)}.html", "--output", (".html",))
    keys = shared.parse_formalisms(arguments.formalism) or [_default_formalism(model)]
    with output.progress_bar(f"simulating {model.name} by {keys[0]}") as advance:
        equations = dl.derive(model, keys[0])
        motion = equations.simulate(arguments.duration, progress=advance, **shared.simulation_options(arguments))
    shared.note_ignored_tolerances(arguments, motion.integrator)
    output.warn(motion.notes)
    with output.progress_bar(f"comparing the formalisms on {model.name}") as advance:
        found = dl.report(
            motion,
            path,
            formalisms=keys,
            evidence=not arguments.no_verification,
            budget=arguments.budget or BUDGET,
            command=shlex.join(["dalembert", *arguments.words]),
            progress=advance,
        )
    agreement = found.contents.agreement
    if arguments.json:
        data = {
            "model": model.name,
            "formalisms": keys,
            "status": motion.status,
            "agrees": None if agreement is None else agreement.agrees,
            "files": [str(path)],
        }
        output.print_text(output.to_json(data))
    else:
        if agreement is not None:
            output.print_text(agreement.sentence)
        output.print_paths(path)
    return 0 if agreement is None or agreement.agrees else 1


def _default_formalism(model: Elements) -> str:
    """lagrange, or the first formalism that applies to the model."""
    space = workspace_of(setup(model))  # cached, so that the run reuses it
    possible = applicable(space.model, space.facts)
    return "lagrange" if "lagrange" in possible or not possible else possible[0]


def paper(arguments: Namespace) -> int:
    """Compute, print and write; return 1 if a printed value was not computed or deviates without explanation."""
    from dalembert import papers

    known = papers.choices(arguments.name)
    if arguments.list:
        _print_contents(arguments.name, arguments.json)
        return 0
    folder = None if arguments.output is None else output.output_directory(arguments.output, "--output")
    if arguments.figure and folder is None:
        raise InputError(f"--figure {arguments.figure[0]}: figures are written to files. Expected --output DIR.")
    tables, figures = arguments.table, arguments.figure
    if folder is None and tables is None:  # figures are only written to files
        tables = list(known.tables)
    with output.progress_bar(f"computing {arguments.name}") as advance:
        everything = arguments.table is None and arguments.figure is None
        found = papers.paper(arguments.name, tables=tables, figures=figures, claims=everything, progress=advance)
        written = [] if folder is None else found.write(folder)
    if arguments.json:
        output.print_text(output.to_json({**found.to_dict(), "files": [str(path) for path in written]}))
        return int(bool(found.unexplained))
    output.print_text(str(found))
    if folder is None and known.figures and arguments.table is None:
        output.print_text(f"\n{len(known.figures)} figures are written with --output DIR; --list lists them.")
    output.print_paths(*written)
    return int(bool(found.unexplained))


def _print_contents(name: str, as_json: bool) -> None:
    """Print the tables and figures of a paper."""
    from dalembert import papers

    known = papers.choices(name)
    entries = [("table", number, each.caption) for number, each in known.tables.items()]
    entries += [("figure", number, each.caption) for number, each in known.figures.items()]
    table = output.table("kind", "number", "caption")
    for entry in entries:
        table.add_row(*entry)
    data = {
        "paper": name,
        "tables": {number: each.caption for number, each in known.tables.items()},
        "figures": {number: each.caption for number, each in known.figures.items()},
    }
    output.result(as_json, data, known.title, known.source, "", table)
