"""`dalembert simulate`: the motion of a model, as numbers, files and plots."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli import documents, files, output, progress
from dalembert.cli.arguments import (
    Subparsers,
    add_engine,
    add_json,
    add_model,
    add_run,
    command,
    load,
    note_unused,
)
from dalembert.cli.values import assignment, positive
from dalembert.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.handles import Trajectory


def add(subparsers: Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert simulate cart-pendulum --duration 50 --output run.nc --plot run.png",
        "dalembert simulate double-pendulum --start theta1=pi/2 --rate theta2=1 --set m1=2",
    )
    parser = command(subparsers, "simulate", "compute a motion, and write it to files and plots", *examples)
    add_model(parser)
    parser.add_argument("--formalism", metavar="KEY", default="lagrange", help="default: %(default)s")
    add_run(parser)
    parser.add_argument("--step", metavar="SECONDS", type=positive, help="step of an integrator with fixed steps (rk4)")
    for option, what in (("--start", "position"), ("--rate", "velocity")):
        text = f"another initial {what} of a coordinate, a number or a formula; repeatable"
        parser.add_argument(option, metavar="NAME=VALUE", type=assignment, action="append", default=[], help=text)
    parser.add_argument("--no-projection", action="store_true", help="let the motion drift off its constraints")
    text = "integrate φ̈ + BETA φ̇ + ALPHA φ = 0 instead of projecting (Baumgarte)"
    parser.add_argument("--baumgarte", metavar=("ALPHA", "BETA"), nargs=2, type=positive, help=text)
    text = "integrate φ̇ + ALPHA φ = 0 instead of projecting; for dirac and hamilton"
    parser.add_argument("--stabilize", metavar="ALPHA", type=positive, help=text)
    add_engine(parser)
    text = "write the samples to a .csv or .nc (NetCDF) file; repeatable"
    parser.add_argument("--output", metavar="FILE", action="append", default=[], help=text)
    text = "write a plot to a .png, .pdf or .svg file, or to a directory"
    parser.add_argument("--plot", metavar="PATH", help=text)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Simulate, write, and print how it went."""
    tables = [files.target(path, "--output", files.TABLES) for path in arguments.output]
    model = load(arguments)
    name = f"{model.name}-{arguments.formalism}"
    plot = None if arguments.plot is None else files.picture(arguments.plot, "--plot", name)
    motion = _simulate(model, arguments)
    note_unused(arguments, motion.integrator)
    for path in tables:
        motion.save(path)
    if plot is not None:
        motion.plot(plot)
    written = [*tables, *([plot] if plot else [])]
    if arguments.json:
        documents.show({**_result(motion), "files": [str(path) for path in written]})
    else:
        _show(motion, written)
    return 0


def _simulate(model: Any, arguments: Namespace) -> Trajectory:
    from dalembert import pipeline

    equations = pipeline.derive(model, arguments.formalism, engine=arguments.engine)
    with progress.bar(f"simulating {model.name} by {arguments.formalism}") as advance:
        return equations.simulate(
            arguments.duration,
            integrator=arguments.integrator,
            samples=arguments.samples,
            project=not arguments.no_projection,
            stabilization=_gains(arguments),
            rtol=arguments.rtol,
            atol=arguments.atol,
            max_step=arguments.max_step,
            step=arguments.step,
            progress=advance,
        )


def _gains(arguments: Namespace) -> float | tuple[float, float] | None:
    """α of first order, Baumgarte's (α, β), or none."""
    if arguments.baumgarte and arguments.stabilize:
        raise InputError("--baumgarte and --stabilize are two ways to keep the constraints. Give one of them.")
    if arguments.baumgarte:
        alpha, beta = arguments.baumgarte
        return alpha, beta
    return arguments.stabilize


def _result(motion: Trajectory) -> dict[str, Any]:
    """How a simulation went and where it ended, as plain data."""
    names = motion.equations.model.coordinate_names
    return {
        "model": motion.equations.model.name,
        "formalism": motion.formalism,
        "engine": motion.equations.engine,
        "integrator": motion.integrator,
        "status": motion.status,
        "notes": [*motion.notes, *_beyond_limits(motion)],
        "samples": len(motion.t),
        "steps": motion.solution.steps,
        "evaluations": motion.solution.evaluations,
        "cpu_seconds": motion.cpu_seconds,
        "energy_error": motion.energy_error,
        "constraint_error": motion.constraint_error,
        "momentum_error": motion.momentum_error,
        "final": {
            "t": float(motion.t[-1]),
            "q": dict(zip(names, motion.q[:, -1].tolist(), strict=True)),
            "qd": dict(zip(names, motion.qd[:, -1].tolist(), strict=True)),
        },
    }


def _beyond_limits(motion: Trajectory) -> list[str]:
    """Which limits of the coordinates the motion went beyond; they are told, not enforced."""
    names, found = motion.equations.model.coordinate_names, []
    for name, limits in motion.equations.model.limits.items():
        q, qd = (x[names.index(name)] for x in (motion.q, motion.qd))
        for what, values, lower, upper in (
            ("position", q, limits.lower, limits.upper),
            ("velocity", abs(qd), None, limits.velocity),
        ):
            if (lower is not None and values.min() < lower) or (upper is not None and values.max() > upper):
                found.append(f"{name} leaves its {what} limits")
    return [f"{'; '.join(found[:6])}{f'; and {len(found) - 6} more' if len(found) > 6 else ''}"] if found else []


def _show(motion: Trajectory, written: list[Path]) -> None:
    found = _result(motion)
    pairs = [
        ("integrator", f"{found['integrator']}, engine {found['engine']}"),
        ("samples", f"{found['samples']} from {motion.t[0]:g} s to {motion.t[-1]:g} s"),
        ("steps", str(found["steps"])),
        ("CPU time", f"{output.number(found['cpu_seconds'])} s"),
        ("energy error", output.small(found["energy_error"])),
        ("constraint error", output.small(found["constraint_error"])),
        ("momentum error", output.small(found["momentum_error"])),
    ]
    head = f"{found['model']} by {found['formalism']}: {found['status']}"
    output.show(head, "", output.facts(pairs), _final(motion), *(f"Note: {note}." for note in found["notes"]))
    output.written(*written)


def _final(motion: Trajectory) -> Table:
    columns = "coordinate", f"at {motion.t[-1]:g} s", "rate", "unit"
    table = output.table(*columns, numbers=columns[1:3])
    for c, q, qd in zip(motion.equations.model.coordinate_list, motion.q[:, -1], motion.qd[:, -1], strict=True):
        table.add_row(c.name, output.number(q, 8), output.number(qd, 8), c.unit)
    return table
