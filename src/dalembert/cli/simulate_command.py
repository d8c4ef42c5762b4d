"""`dalembert simulate`: simulate a model, print a summary, and write files and plots."""

from __future__ import annotations

from argparse import Namespace

from rich.table import Table

import dalembert as dl
from dalembert.api.trajectory import Trajectory
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.display import dataset, video
from dalembert.display.plots import plot
from dalembert.errors import InputError
from dalembert.model.description import Elements
from dalembert.simulation.integrators.base import listed

_MAX_ROWS = 40  # rows of the printed table; `--json` and files contain all coordinates


def simulate(arguments: Namespace) -> int:
    """Simulate, write the files and print a summary."""
    tables = [output_files.output_file(path, "--output", output_files.table_suffixes()) for path in arguments.output]
    for path in tables:
        dataset.require_writer(path.suffix.lower())
    panels, model = shared.panels(arguments, plot.PANELS), shared.load(arguments)
    name = f"{model.name}-{arguments.formalism}"
    pictures = [] if arguments.plot is None else [output_files.figure_path(arguments.plot, "--plot", name)]
    animations = [output_files.output_file(path, "--animate", video.SUFFIXES) for path in arguments.animate]
    motion = _simulate(model, arguments)
    shared.note_ignored_tolerances(arguments, motion.integrator)
    for path in tables:
        motion.save(path)
    for path in pictures:
        motion.plot(*panels, path=path)
    if animations:
        animation = motion.animate()
        for path in animations:
            animation.save(path)
    written, notes = [*tables, *pictures, *animations], [*motion.notes, *_beyond_limits(motion)]
    output.warn(motion.notes)
    if arguments.json:
        output.print_text(output.to_json({**_result(motion), "notes": notes, "files": [str(path) for path in written]}))
    else:
        _show(motion, notes)
        output.print_paths(*written)
    return 0


def _simulate(model: Elements, arguments: Namespace) -> Trajectory:
    equations = dl.derive(model, arguments.formalism, engine=arguments.engine)
    with output.progress_bar(f"simulating {model.name} by {arguments.formalism}") as advance:
        return equations.simulate(
            arguments.duration,
            project=not arguments.no_projection,
            stabilization=_gains(arguments),
            step=arguments.step,
            progress=advance,
            **shared.simulation_options(arguments),
        )


def _gains(arguments: Namespace) -> float | tuple[float, float] | None:
    """The gain α of first-order stabilization, (α, β) of Baumgarte, or None."""
    if arguments.baumgarte and arguments.stabilize:
        raise InputError("--baumgarte and --stabilize are alternatives. Specify only one of them.")
    if arguments.baumgarte:
        alpha, beta = arguments.baumgarte
        return alpha, beta
    return arguments.stabilize


def _result(motion: Trajectory) -> dict[str, object]:
    """The statistics and the final state of a simulation, for JSON."""
    names = motion.model.coordinate_names
    return {
        "model": motion.model.name,
        "formalism": motion.formalism,
        "engine": motion.engine,
        "integrator": motion.integrator,
        "status": motion.status,
        "samples": len(motion.t),
        "steps": motion.steps,
        "evaluations": motion.evaluations,
        "cpu_seconds": motion.cpu_seconds,
        "energy_error": motion.energy_error,
        "constraint_error": motion.constraint_error,
        "momentum_error": motion.momentum_error,
        "events": [{"name": each.name, "t": each.t} for each in motion.events],
        "switchings": len(motion.switchings),
        "final": {
            "t": float(motion.t[-1]),
            "q": dict(zip(names, motion.q[:, -1].tolist(), strict=True)),
            "qd": dict(zip(names, motion.qd[:, -1].tolist(), strict=True)),
        },
    }


def _beyond_limits(motion: Trajectory) -> list[str]:
    """Messages about exceeded limits of coordinates; limits are reported, not enforced."""
    names, found = motion.model.coordinate_names, []
    for name, limits in motion.model.limits.items():
        q, qd = (x[names.index(name)] for x in (motion.q, motion.qd))
        for what, values, lower, upper in (
            ("position", q, limits.lower, limits.upper),
            ("velocity", abs(qd), None, limits.velocity),
        ):
            if (lower is not None and values.min() < lower) or (upper is not None and values.max() > upper):
                found.append(f"{name} exceeds its {what} limits")
    return [f"{'; '.join(found[:6])}{f'; and {len(found) - 6} more' if len(found) > 6 else ''}"] if found else []


def _show(motion: Trajectory, notes: list[str]) -> None:
    pairs = [
        ("integrator", f"{motion.integrator}, engine {motion.engine}"),
        ("samples", f"{len(motion.t)} from {motion.t[0]:g} s to {motion.t[-1]:g} s"),
        ("steps", str(motion.steps)),
        ("CPU time", f"{output.number(motion.cpu_seconds)} s"),
        ("energy error", output.format_error(motion.energy_error)),
        ("constraint error", output.format_error(motion.constraint_error)),
        ("momentum error", output.format_error(motion.momentum_error)),
        *([("events", _events(motion))] if motion.events else []),
        *([("switchings", str(len(motion.switchings)))] if motion.switchings else []),
    ]
    head = f"{motion.model.name} by {motion.formalism}: {motion.status}"
    output.show(head, "", output.key_value_table(pairs), _final(motion), *(f"Note: {note}." for note in notes))


def _events(motion: Trajectory) -> str:
    """Each event with its times; long lists are shortened."""
    times: dict[str, list[float]] = {}
    for each in motion.events:
        times.setdefault(each.name, []).append(each.t)
    return "; ".join(f"{name} at t = {listed(found)}" for name, found in times.items())


def _final(motion: Trajectory) -> Table:
    columns = "coordinate", f"at {motion.t[-1]:g} s", "rate", "unit"
    table = output.table(*columns, numbers=columns[1:3])
    rows = list(zip(motion.model.generalized_coordinates, motion.q[:, -1], motion.qd[:, -1], strict=True))
    for k, (c, q, qd) in enumerate(rows):
        if len(rows) <= _MAX_ROWS or not _MAX_ROWS // 2 <= k < len(rows) - _MAX_ROWS // 2:
            table.add_row(c.name, output.number(q, 8), output.number(qd, 8), c.unit)
        elif k == _MAX_ROWS // 2:
            table.add_row(f"({len(rows) - _MAX_ROWS} more)", "", "", "")
    return table
