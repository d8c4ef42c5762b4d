"""`dalembert sweep`: run a parameter sweep on all cores or on a cluster; write a file and print a summary."""

from __future__ import annotations

import shutil
from argparse import ArgumentTypeError, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import dalembert as dl
from dalembert.analysis.sweeps import sweep_result, worker_pool
from dalembert.analysis.sweeps.sweep_spec import REDUCTIONS, SAMPLES
from dalembert.cli import options as shared
from dalembert.cli import output, output_files
from dalembert.errors import InputError
from dalembert.model.description import Elements

if TYPE_CHECKING:
    import xarray

_MAX_POINTS = 1_000_000  # grid points of one parameter
_MAX_REASONS = 5  # printed reasons of failed runs


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = (
        "dalembert sweep simple-pendulum --vary l=0.5:1.5:11 --observe 'max(dot(theta))' --to lengths.nc",
        "dalembert sweep cart-pendulum --vary l=0.1:0.3 --vary m2=0.3:0.6 --samples sobol --runs 4096 "
        "--observe 'final(x)' --to spread.csv --plot spread.png",
        "dalembert sweep cart-pendulum --vary l=0.1:0.3:100 --observe energy --to all.nc --cluster tcp://10.0.0.1:8786",
    )
    parser = shared.command(subparsers, "sweep", *examples)
    shared.add_model(parser)
    text = "parameter, or initial x or dot(x): LOW:HIGH:COUNT or VALUE,VALUE for grid, LOW:HIGH otherwise; repeatable"
    parser.add_argument("--vary", metavar="NAME=VALUES", type=varied, action="append", required=True, help=text)
    text = f"quantity to record: a formula, its {', '.join(f'{word}(...)' for word in REDUCTIONS)}, or NAME=FORMULA; repeatable"
    parser.add_argument("--observe", metavar="FORMULA", action="append", required=True, help=text)
    parser.add_argument("--to", metavar="FILE", required=True, help="output file: .nc (NetCDF), .csv or .parquet")
    parser.add_argument("--samples", choices=SAMPLES, default="grid", help="sampling method (default: %(default)s)")
    parser.add_argument("--runs", metavar="N", type=shared.at_least(1), help="number of runs for sobol and random")
    parser.add_argument("--seed", metavar="N", type=shared.at_least(0), default=0, help="random seed (default: 0)")
    text = f"{shared.FORMALISMS} (default: lagrange)"
    parser.add_argument("--formalism", metavar="KEY", default="lagrange", help=text)
    text = "simulated time of each run (default: from the model)"
    parser.add_argument("--duration", metavar="SECONDS", type=shared.positive, help=text)
    text = "number of output samples of each run (default: from the model)"
    parser.add_argument("--times", metavar="N", type=shared.at_least(2), help=text)
    parser.add_argument("--integrator", metavar="NAME", help="default: dop853 for runs in lanes, else automatic")
    for name, text in (("rtol", "relative tolerance"), ("atol", "absolute tolerance"), ("max-step", "maximum step")):
        parser.add_argument(f"--{name}", metavar="X", type=shared.positive, help=text)
    shared.add_parameters(parser)
    shared.add_engine(parser)
    parser.add_argument("--workers", metavar="N", type=shared.at_least(1), help="worker processes (default: all cores)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="address of a running Dask scheduler")
    text = "checkpoint directory (default: FILE.sweep, deleted at the end); rerun the same command to resume"
    parser.add_argument("--checkpoint", metavar="DIR", help=text)
    parser.add_argument("--plot", metavar="PATH", help="write a plot to a .png, .pdf or .svg file")
    shared.add_json(parser)


def varied(text: str) -> tuple[str, Any]:
    """Parse the name and values of --vary.

    >>> varied("l=0.5:1.5:3"), varied("m=1,2"), varied("l=0.5:1.5")
    (('l', [0.5, 1.0, 1.5]), ('m', [1.0, 2.0]), ('l', (0.5, 1.5)))
    """
    name, values = shared.assignment(text)
    try:
        if ":" not in values:
            return name, [float(part) for part in values.split(",")]
        low, high, *count = values.split(":")
        if not count:
            return name, (float(low), float(high))
        (number,) = count
        if not 1 <= int(number) <= _MAX_POINTS:
            raise ValueError(number)
        return name, np.linspace(float(low), float(high), int(number)).tolist()
    except ValueError:
        raise ArgumentTypeError(
            f"got '{text}', expected NAME=LOW:HIGH:COUNT, NAME=LOW:HIGH or NAME=VALUE,VALUE"
        ) from None


def run(arguments: Namespace) -> int:
    """Run the sweep, write the file and print the summary."""
    target = output_files.target(arguments.to, "--to", sweep_result.FORMATS)
    sweep_result.require_writable(target)
    picture = None if arguments.plot is None else output_files.target(arguments.plot, "--plot", output_files.PICTURES)
    model = shared.load(arguments)
    folder = Path(arguments.checkpoint or f"{target}.sweep")
    found = _sweep(model, arguments, folder)
    sweep_result.save(found, target)
    written = [target]
    if picture is not None:
        dl.plot_sweep(found, picture)
        written.append(picture)
    summary = dl.sweep_summary(found) if found.attrs["failed"] < found.attrs["runs"] else None
    facts = {key: found.attrs[key] for key in ("model", "formalism", "integrator", "lanes", "runs", "failed")}
    reasons = sorted({str(reason) for reason in found["reason"].values.ravel() if reason})
    if arguments.json:
        data = {**facts, "reasons": reasons, "summary": _numbers(summary), "files": [str(path) for path in written]}
        output.text(output.to_json(data))
    else:
        head = f"{facts['model']}: {facts['runs']} runs by {facts['formalism']}, {facts['integrator']}"
        failed = [f"failed runs: {facts['failed']}", *reasons[:_MAX_REASONS]] if reasons else []
        output.show(head, "", *([] if summary is None else [_table(summary)]), *failed)
        output.written(*written)
    if arguments.checkpoint is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _sweep(model: Elements, arguments: Namespace, folder: Path) -> xarray.Dataset:
    options = {
        name: getattr(arguments, name) for name in ("integrator", "rtol", "atol", "max_step", "workers", "engine")
    }
    spec = {name: getattr(arguments, name) for name in ("samples", "runs", "seed", "duration", "times", "formalism")}
    with (
        nullcontext() if arguments.cluster is None else worker_pool.joined(arguments.cluster) as client,
        output.bar(f"sweeping {model.name}") as advance,
    ):
        return dl.sweep(
            model,
            shared.by_name(arguments.vary, "--vary"),
            observe=_observed(arguments.observe),
            executor=client,
            checkpoint=folder,
            progress=advance,
            **spec,
            **options,
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
    return shared.by_name(pairs, "--observe")


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
