"""`dalembert sweep`: many runs of a model, on all cores or on a cluster, as a file and a summary."""

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

_MOST = 1_000_000  # points of one axis
_MAX_REASONS = 5  # reasons


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
    text = "LOW:HIGH:COUNT or VALUE,VALUE,... for a grid, LOW:HIGH for sobol and random; a parameter, x or dot(x); repeatable"
    parser.add_argument("--vary", metavar="NAME=VALUES", type=varied, action="append", required=True, help=text)
    text = f"a formula, or one number of it: {', '.join(f'{word}(...)' for word in REDUCTIONS)}; or NAME=FORMULA; repeatable"
    parser.add_argument("--observe", metavar="FORMULA", action="append", required=True, help=text)
    parser.add_argument("--to", metavar="FILE", required=True, help="a .nc (NetCDF), .csv or .parquet file")
    parser.add_argument("--samples", choices=SAMPLES, default="grid", help="default: %(default)s")
    parser.add_argument("--runs", metavar="N", type=shared.at_least(1), help="the number of runs for sobol and random")
    parser.add_argument("--seed", metavar="N", type=shared.at_least(0), default=0, help="default: %(default)s")
    parser.add_argument("--formalism", metavar="KEY", default="lagrange", help="default: %(default)s")
    parser.add_argument(
        "--duration", metavar="SECONDS", type=shared.positive, help="length of a run (default: the model's)"
    )
    text = "number of samples along a run (default: the model's)"
    parser.add_argument("--times", metavar="N", type=shared.at_least(2), help=text)
    parser.add_argument("--integrator", metavar="NAME", help="default: dop853 in lanes, or the best for one run")
    for name, text in (("rtol", "relative tolerance"), ("atol", "absolute tolerance"), ("max-step", "largest step")):
        parser.add_argument(f"--{name}", metavar="X", type=shared.positive, help=text)
    shared.add_parameters(parser)
    shared.add_engine(parser)
    parser.add_argument("--workers", metavar="N", type=shared.at_least(1), help="worker processes (default: all cores)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="join the scheduler of Dask at this address")
    text = (
        "where finished chunks are kept until all are there (default: FILE.sweep); the same command goes on with them"
    )
    parser.add_argument("--checkpoint", metavar="FOLDER", help=text)
    parser.add_argument("--plot", metavar="PATH", help="write a plot to a .png, .pdf or .svg file")
    shared.add_json(parser)


def varied(text: str) -> tuple[str, Any]:
    """A name and its values.

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
        if not 1 <= int(number) <= _MOST:
            raise ValueError(number)
        return name, np.linspace(float(low), float(high), int(number)).tolist()
    except ValueError:
        raise ArgumentTypeError(
            f"got '{text}', expected NAME=LOW:HIGH:COUNT, NAME=LOW:HIGH or NAME=VALUE,VALUE"
        ) from None


def run(arguments: Namespace) -> int:
    """Run all, write the file, print the summary."""
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
    told = dl.sweep_summary(found) if found.attrs["failed"] < found.attrs["runs"] else None
    facts = {key: found.attrs[key] for key in ("model", "formalism", "integrator", "lanes", "runs", "failed")}
    reasons = sorted({str(reason) for reason in found["reason"].values.ravel() if reason})
    if arguments.json:
        data = {**facts, "reasons": reasons, "summary": _numbers(told), "files": [str(path) for path in written]}
        output.text(output.to_json(data))
    else:
        head = f"{facts['model']}: {facts['runs']} runs by {facts['formalism']}, {facts['integrator']}"
        failed = [f"runs without numbers: {facts['failed']}", *reasons[:_MAX_REASONS]] if reasons else []
        output.show(head, "", *([] if told is None else [_table(told)]), *failed)
        output.written(*written)
    if arguments.checkpoint is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _sweep(model: Elements, arguments: Namespace, folder: Path) -> xarray.Dataset:
    options = {
        name: getattr(arguments, name) for name in ("integrator", "rtol", "atol", "max_step", "workers", "engine")
    }
    asked = {name: getattr(arguments, name) for name in ("samples", "runs", "seed", "duration", "times", "formalism")}
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
            **asked,
            **options,
        )


def _observed(given: list[str]) -> dict[str, str]:
    """Formulas by their names, which are themselves unless others are given."""
    pairs = []
    for text in given:
        name, sign, formula = (part.strip() for part in text.partition("="))
        named = bool(sign) and name.isidentifier() and not formula.startswith("=")
        if not text.strip():
            raise InputError("--observe: got an empty text. Expected a formula, such as 'max(theta)'.")
        pairs.append((name, formula) if named else (text.strip(), text.strip()))
    return shared.by_name(pairs, "--observe")


def _numbers(told: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """The statistics of what is one number for each run."""
    if told is None:
        return {}
    names = told["statistic"].values.tolist()
    return {
        str(name): dict(zip(names, told[name].values.tolist(), strict=True))
        for name in told.data_vars
        if told[name].dims == ("statistic",)
    }


def _table(told: xarray.Dataset) -> Table:
    names = [str(name) for name in told["statistic"].values]
    shown = output.table("observed", *names, numbers=names)
    for name, values in _numbers(told).items():
        shown.add_row(name, *(output.number(values[each], 6) for each in names))
    return shown
