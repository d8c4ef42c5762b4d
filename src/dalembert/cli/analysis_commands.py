"""Commands that analyze a model: `equilibrium`, `linearize`, `fit` and `sweep`."""

from __future__ import annotations

import shutil
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

import dalembert as dl
from dalembert.analysis import sweep as sweeps
from dalembert.analysis import worker_pool
from dalembert.analysis.fit import Fit
from dalembert.analysis.linearization import Linearization
from dalembert.cli import options as shared
from dalembert.cli import output
from dalembert.errors import InputError
from dalembert.model.description import Elements

if TYPE_CHECKING:
    import xarray


def equilibrium(arguments: Namespace) -> int:
    """Print the equilibria; the exit code is 1 if none is found."""
    model = shared.load(arguments)
    speeds = {
        name: model.number(x, f"--speed {name}")
        for name, x in shared.unique_by_name(arguments.speed, "--speed").items()
    }
    found = dl.equilibrium(
        model, fixed=arguments.fix, unknowns=arguments.solve_for, speeds=speeds or None, starts=arguments.guesses
    )
    output.result(arguments.json, found.to_dict(), *(f"{table}\n" for table in found.tables()))
    return 0


def linearize(arguments: Namespace) -> int:
    """Print the operating point and the modes."""
    animations = []
    if arguments.animate is not None:
        from dalembert.display import video

        animations = [output.output_file(arguments.animate, "--animate", video.SUFFIXES)]
    model = shared.load(arguments)
    at = dl.equilibrium(model) if arguments.equilibrium else None
    linear = dl.linearize(
        model, at, inputs=arguments.input, outputs=arguments.observe or None, any_state=arguments.any_state
    )
    for path in animations:
        linear.modes().animate(arguments.mode, path)
    parts = [f"{table}\n" for table in linear.tables()]
    data = {**linear.to_dict(), "files": [str(path) for path in animations]}
    output.result(arguments.json, data, *parts, *(_format_matrices(linear) if arguments.matrices else []))
    if not arguments.json:
        output.print_paths(*animations)
    return 0


def _format_matrices(linear: Linearization) -> list[str]:
    """A, B, C and D with the names of states, inputs and outputs."""
    out = [f"states: {', '.join(linear.states)}", f"inputs: {', '.join(linear.inputs) or 'none'}"]
    out.append(f"outputs: {', '.join(linear.outputs)}")
    for name in "ABCD":
        matrix = getattr(linear, name)
        if matrix.size:
            out.append(f"{name} =\n{np.array2string(matrix, max_line_width=150, precision=6, suppress_small=True)}\n")
    return out


def fit(arguments: Namespace) -> int:
    """Fit, and print the parameters with their uncertainties."""
    model = shared.load(arguments)
    names = [name.strip() for name in arguments.parameters.split(",")]
    observe = [name.strip() for text in arguments.observe for name in text.split(",")]
    sigma = {name: _sigma(name, text) for name, text in shared.unique_by_name(arguments.sigma, "--sigma").items()}
    found = dl.fit(
        model, arguments.data, names, observe=observe or None, sigma=sigma or None, integrator=arguments.integrator
    )
    first, second = found.tables()
    output.result(arguments.json, found.to_dict(), first.title, _parameter_table(found), str(second))
    return 0


def _sigma(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--sigma {name}: got '{text}'. Expected a positive number.") from None


def _parameter_table(found: Fit) -> Table:
    first, _ = found.tables()
    table = output.table(*first.columns, numbers=first.columns[1:])
    for row in first.rows:
        table.add_row(*row)
    return table


_MAX_REASONS = 5  # printed reasons of failed runs, and notes of doubtful ones


def sweep(arguments: Namespace) -> int:
    """Run the sweep, write the file and print the summary."""
    target = output.output_file(arguments.output, "--output", sweeps.FORMATS)
    sweeps.require_writable(target)
    figure = None
    if arguments.plot is not None:
        figure = output.output_file(arguments.plot, "--plot", output.figure_suffixes())
    model = shared.load(arguments)
    folder = Path(arguments.checkpoint or f"{target}.sweep")
    found = _run_sweep(model, arguments, folder)
    sweeps.save(found, target)
    written = [target]
    if figure is not None:
        dl.plot_sweep(found, figure)
        written.append(figure)
    summary = dl.sweep_summary(found) if found.attrs["failed"] < found.attrs["runs"] else None
    facts = {
        key: found.attrs[key] for key in ("model", "formalism", "integrator", "lanes", "runs", "failed", "doubtful")
    }
    reasons, notes = (
        sorted({str(text) for text in found[name].values.ravel() if text}) for name in ("reason", "notes")
    )
    if arguments.json:
        data = {
            **facts,
            "reasons": reasons,
            "notes": notes,
            "summary": _statistics(summary),
            "files": [str(path) for path in written],
        }
        output.print_text(output.to_json(data))
    else:
        head = f"{facts['model']}: {facts['runs']} runs by {facts['formalism']}, {facts['integrator']}"
        failed = [f"failed runs: {facts['failed']}", *reasons[:_MAX_REASONS]] if reasons else []
        failed += [f"doubtful runs: {facts['doubtful']}", *notes[:_MAX_REASONS]] if notes else []
        output.show(head, "", *([] if summary is None else [_statistics_table(summary)]), *failed)
        output.print_paths(*written)
    if arguments.checkpoint is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _run_sweep(model: Elements, arguments: Namespace, folder: Path) -> xarray.Dataset:
    names = ("runs", "seed", "duration", "formalism", "integrator", "rtol", "atol", "max_step", "workers", "engine")
    with (
        nullcontext() if arguments.cluster is None else worker_pool.dask_client(arguments.cluster) as client,
        output.progress_bar(f"sweeping {model.name}") as advance,
    ):
        return dl.sweep(
            model,
            shared.unique_by_name(arguments.vary, "--vary"),
            observe=_observed_formulas(arguments.observe),
            executor=client,
            checkpoint=folder,
            progress=advance,
            samples=arguments.sampling,
            times=arguments.samples,
            **{name: getattr(arguments, name) for name in names},
        )


def _observed_formulas(entries: list[str]) -> dict[str, str]:
    """Formulas by name; the default name is the formula itself."""
    pairs = []
    for text in entries:
        name, sign, formula = (part.strip() for part in text.partition("="))
        named = bool(sign) and name.isidentifier() and not formula.startswith("=")
        if not text.strip():
            raise InputError("--observe: got an empty str. Expected a formula, such as 'max(theta)'.")
        pairs.append((name, formula) if named else (text.strip(), text.strip()))
    return shared.unique_by_name(pairs, "--observe")


def _statistics(summary: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """The statistics of observed quantities with one number per run."""
    if summary is None:
        return {}
    names = summary["statistic"].values.tolist()
    return {
        str(name): dict(zip(names, summary[name].values.tolist(), strict=True))
        for name in summary.data_vars
        if summary[name].dims == ("statistic",)
    }


def _statistics_table(summary: xarray.Dataset) -> Table:
    names = [str(name) for name in summary["statistic"].values]
    table = output.table("observed", *names, numbers=names)
    for name, values in _statistics(summary).items():
        table.add_row(name, *(output.number(values[each], 6) for each in names))
    return table
