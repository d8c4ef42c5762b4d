"""Parameter sweeps, local or on a cluster; the result is a file in the folder and lines to plot."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

import dalembert as dl
from dalembert.analysis import sweep as sweeps
from dalembert.analysis import worker_pool
from dalembert.analysis.sweep_spec import REDUCTIONS, SAMPLES
from dalembert.display.plots.plot import sweep_panels
from dalembert.errors import InputError
from dalembert.formalisms import catalog
from dalembert.model.description import Elements
from dalembert.model.evaluation import start_state
from dalembert.model.integrator_names import METHODS
from dalembert.model.model import Model
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress
from dalembert.studio.tasks.describe_task import description_of
from dalembert.studio.tasks.simulate_task import QUICK, changed_values, start_of
from dalembert.tables import Table, format_cell

if TYPE_CHECKING:
    import xarray

    from dalembert.display.plots.panels import Panel

_MAX_RUNS = 200_000  # for more, use the command line with its checkpoints
_MAX_VARIED = 6
_MAX_OBSERVED = 12
_MAX_POINTS = 2_000  # of a line on the page; the file contains all
_MAX_REASONS = 5


def sweep(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Run the sweep, write the file, and return lines to plot and tables."""
    model = _model(payload)
    samples = payload.choice("kind", SAMPLES, "grid")
    vary, runs = _varied(payload, samples)
    observe = [each.string("formula", max_length=1_000) for each in payload.rows("observe")]
    if not 1 <= len(observe) <= _MAX_OBSERVED:
        raise InputError(f"sweep: {len(observe)} formulas are observed. Expected 1 to {_MAX_OBSERVED}.")
    suffix = f".{payload.choice('format', ('csv', 'nc'), 'csv')}"
    address = payload.string("cluster", "", max_length=300)
    progress(0.0, f"connecting to the cluster at {address}" if address else "deriving and compiling")
    with worker_pool.dask_client(address) if address else nullcontext() as client:
        found = dl.sweep(
            model,
            vary,
            observe=observe,
            samples=samples,
            runs=None if samples == "grid" else runs,
            seed=payload.integer("seed", 0, maximum=2**31),
            duration=payload.number("duration", minimum=1e-9, maximum=1e6) if "duration" in payload else None,
            times=payload.integer("samples", minimum=2, maximum=100_000) if "samples" in payload else None,
            formalism=payload.choice("formalism", catalog.KEYS, "lagrange"),
            integrator=payload.choice("integrator", METHODS, model.integrator or QUICK),
            executor=client,
            progress=lambda fraction: progress(fraction),
        )
    path = sweeps.save(found, folder.free(f"{model.name}-sweep", suffix))
    files = [path.name]
    if payload.boolean("picture", False) and found.attrs["failed"] < found.attrs["runs"]:
        picture = folder.free(f"{model.name}-sweep", ".svg")
        dl.plot_sweep(found, picture)
        files.append(picture.name)
    return _answer(found, files)


def _model(payload: Payload) -> Elements:
    """Return the model with the requested values and initial state, assembled."""
    model = description_of(payload)
    values = changed_values(model, payload)
    model = model.with_parameters(values) if values else model
    q, qd, _ = start_of(model, payload, bool(values))
    return (
        model if q is None and qd is None else Model.of(model).start(*map(np.ndarray.tolist, start_state(model, q, qd)))
    )


def _varied(payload: Payload, samples: str) -> tuple[Answer, int]:
    """Return the varied names with their values, as for `dl.sweep`, and the number of runs."""
    rows = payload.rows("vary")
    if not 1 <= len(rows) <= _MAX_VARIED:
        raise InputError(f"sweep: {len(rows)} names are varied. Expected 1 to {_MAX_VARIED}.")
    vary: Answer = {}
    runs = 1 if samples == "grid" else payload.integer("runs", 256, minimum=1, maximum=_MAX_RUNS)
    for row in rows:
        name, low, high = row.string("name", max_length=200), row.number("low"), row.number("high")
        if name in vary:
            raise InputError(f"sweep: '{name}' is varied twice. Expected each name once.")
        count = row.integer("count", 11, minimum=1, maximum=_MAX_RUNS) if samples == "grid" else 1
        vary[name] = np.linspace(low, high, count).tolist() if samples == "grid" else (low, high)
        runs *= count
    if runs > _MAX_RUNS:
        raise InputError(
            f"sweep: these are {runs} runs. Expected at most {_MAX_RUNS} in the studio. Use fewer values, or use "
            "`dalembert sweep`, which has checkpoints and can be resumed."
        )
    return vary, runs


def _answer(found: xarray.Dataset, files: list[str]) -> Answer:
    failed, runs = int(found.attrs["failed"]), int(found.attrs["runs"])
    reasons = sorted({str(reason) for reason in found["reason"].values.ravel() if reason})
    return {
        "runs": runs,
        "failed": failed,
        "reasons": reasons[:_MAX_REASONS],
        "integrator": str(found.attrs["integrator"]),
        "files": files,
        "panels": [_panel_lines(each) for each in sweep_panels(found)] if failed < runs else [],
        "tables": _summary(found).html() if failed < runs else "",
    }


def _panel_lines(panel: Panel) -> Answer:
    """Return a panel as numbers, downsampled if there are too many points."""
    what, unit = panel.across or ("time", "s")
    lines = []
    for line in panel.lines:
        x = np.arange(len(line.y), dtype=float) if line.x is None else np.asarray(line.x, dtype=float)
        few = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MAX_POINTS)).astype(int))
        y = [float(value) if np.isfinite(value) else None for value in np.asarray(line.y, dtype=float)[few]]
        lines.append({"label": line.label, "x": x[few].tolist(), "y": y})
    return {"what": panel.what, "unit": panel.unit, "across": what, "across_unit": unit, "lines": lines}


def _summary(found: xarray.Dataset) -> Table:
    """Return the statistics of observations with one number per run."""
    summary = dl.sweep_summary(found)
    names = [str(name) for name in summary["statistic"].values]
    rows = [
        (str(name), *(format_cell(float(x)) for x in summary[name].values))
        for name in summary.data_vars
        if summary[name].dims == ("statistic",)
    ]
    notes = () if rows else (f"Statistics need one number per run, such as {', '.join(REDUCTIONS)} of a formula.",)
    return Table(("observed", *names), tuple(rows), "Statistics of all runs", notes)
