"""`dalembert sweep`: run a parameter sweep on all cores or on a cluster; write a file and print a summary."""

from __future__ import annotations

import shutil
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

import dalembert as dl
from dalembert.analysis.sweeps import sweep_result, worker_pool
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.errors import InputError
from dalembert.model.description import Elements

if TYPE_CHECKING:
    import xarray

_MAX_REASONS = 5  # printed reasons of failed runs


def run(arguments: Namespace) -> int:
    """Run the sweep, write the file and print the summary."""
    target = output_files.output_file(arguments.output, "--output", sweep_result.FORMATS)
    sweep_result.require_writable(target)
    figure = None
    if arguments.plot is not None:
        figure = output_files.output_file(arguments.plot, "--plot", output_files.FIGURE_SUFFIXES)
    model = shared.load(arguments)
    folder = Path(arguments.checkpoint or f"{target}.sweep")
    found = _sweep(model, arguments, folder)
    sweep_result.save(found, target)
    written = [target]
    if figure is not None:
        dl.plot_sweep(found, figure)
        written.append(figure)
    summary = dl.sweep_summary(found) if found.attrs["failed"] < found.attrs["runs"] else None
    facts = {key: found.attrs[key] for key in ("model", "formalism", "integrator", "lanes", "runs", "failed")}
    reasons = sorted({str(reason) for reason in found["reason"].values.ravel() if reason})
    if arguments.json:
        data = {**facts, "reasons": reasons, "summary": _numbers(summary), "files": [str(path) for path in written]}
        output.print_text(output.to_json(data))
    else:
        head = f"{facts['model']}: {facts['runs']} runs by {facts['formalism']}, {facts['integrator']}"
        failed = [f"failed runs: {facts['failed']}", *reasons[:_MAX_REASONS]] if reasons else []
        output.show(head, "", *([] if summary is None else [_table(summary)]), *failed)
        output.print_paths(*written)
    if arguments.checkpoint is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _sweep(model: Elements, arguments: Namespace, folder: Path) -> xarray.Dataset:
    names = ("runs", "seed", "duration", "formalism", "integrator", "rtol", "atol", "max_step", "workers", "engine")
    with (
        nullcontext() if arguments.cluster is None else worker_pool.dask_client(arguments.cluster) as client,
        output.progress_bar(f"sweeping {model.name}") as advance,
    ):
        return dl.sweep(
            model,
            shared.unique_by_name(arguments.vary, "--vary"),
            observe=_observed(arguments.observe),
            executor=client,
            checkpoint=folder,
            progress=advance,
            samples=arguments.sampling,
            times=arguments.samples,
            **{name: getattr(arguments, name) for name in names},
        )


def _observed(entries: list[str]) -> dict[str, str]:
    """Formulas by name; the default name is the formula itself."""
    pairs = []
    for text in entries:
        name, sign, formula = (part.strip() for part in text.partition("="))
        named = bool(sign) and name.isidentifier() and not formula.startswith("=")
        if not text.strip():
            raise InputError("--observe: got an empty str. Expected a formula, such as 'max(theta)'.")
        pairs.append((name, formula) if named else (text.strip(), text.strip()))
    return shared.unique_by_name(pairs, "--observe")


def _numbers(summary: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """The statistics of observed quantities with one number per run."""
    if summary is None:
        return {}
    names = summary["statistic"].values.tolist()
    return {
        str(name): dict(zip(names, summary[name].values.tolist(), strict=True))
        for name in summary.data_vars
        if summary[name].dims == ("statistic",)
    }


def _table(summary: xarray.Dataset) -> Table:
    names = [str(name) for name in summary["statistic"].values]
    table = output.table("observed", *names, numbers=names)
    for name, values in _numbers(summary).items():
        table.add_row(name, *(output.number(values[each], 6) for each in names))
    return table
