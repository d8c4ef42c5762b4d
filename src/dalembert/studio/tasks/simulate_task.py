"""Simulations and parameter sweeps: options, the run with its scene, values written back, and result files."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

import dalembert as dl
from dalembert.analysis import sweep as sweeps
from dalembert.analysis import worker_pool
from dalembert.analysis.sweep_spec import REDUCTIONS, SAMPLES
from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.display.math.symbol_names import for_text
from dalembert.display.plots.plot import sweep_panels
from dalembert.display.scene.recorded_motion import histories_of
from dalembert.display.scene.scene_values import FORMAT
from dalembert.errors import InputError
from dalembert.formalisms import catalog
from dalembert.model.description import Description, Elements
from dalembert.model.evaluation import Start, start_state
from dalembert.model.integrator_names import METHODS
from dalembert.model.model import Model
from dalembert.model.values import WORLD
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress, Toml
from dalembert.studio.tasks.describe_task import description_of, model_of
from dalembert.studio.tasks.form_edits import edit
from dalembert.tables import Table, format_cell

if TYPE_CHECKING:
    import xarray

    from dalembert.display.plots.panels import Panel


QUICK = "dop853"  # its compiled loop is reused for all parameter values
_FIXED_WEIGHT = 1e9  # assembly weight of a coordinate that the user has set
_MAX_EVENTS = 200
_MAX_PREPARED = 12  # coordinates of a model that is compiled in advance


def simulation_options(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the options of a simulation of the model and their defaults."""
    model = model_of(payload)
    q, qd = model.initial
    return {
        "formalisms": [{"key": m.ABOUT.key, "title": m.ABOUT.title} for m in catalog.FORMALISMS],
        "integrators": {name: sorted(settings) for name, settings in METHODS.items()},
        "integrator": model.integrator or QUICK,
        "duration": model.duration,
        "samples": model.samples,
        "coordinates": [
            {"name": each.name, "unit": each.unit, "text": each.description, "start": float(x), "rate": float(v)}
            for each, x, v in zip(model.generalized_coordinates, q, qd, strict=True)
        ],
        "parameters": _free_parameters(model.description, payload.string("text")),
    }


def _free_parameters(model: Description, text: str) -> list[Answer]:
    """Return the parameters that are numbers; those defined by formulas are omitted."""
    declared = _declared(text, "parameters")
    formulas = {name: each.get("value") if isinstance(each, Mapping) else each for name, each in declared.items()}
    return [
        {"name": each.name, "value": each.value, "unit": each.unit, "text": each.description}
        for each in model.declared_parameters
        if not isinstance(formulas.get(each.name), str)
    ]


def simulate(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Simulate the model; `parameters` change values without a new derivation, `start` and `rate` the initial state.

    With `save` the run is saved to the folder for later tasks; without it, as while a slider is dragged, it is only displayed.
    """
    begun, model = time.perf_counter(), description_of(payload)
    key = payload.choice("formalism", catalog.KEYS, "lagrange")
    values = changed_values(model, payload)
    progress(0.0, f"deriving by {key}")
    equations = _equations(model, key, values)
    q0, qd0, moved = start_of(model.with_parameters(values) if values else model, payload, bool(values))
    progress(0.0, "simulating")
    run = equations.simulate(
        payload.number("duration", minimum=1e-9, maximum=1e6) if "duration" in payload else None,
        q0=q0,
        qd0=qd0,
        samples=payload.integer("samples", minimum=2, maximum=100_000) if "samples" in payload else None,
        integrator=payload.choice("integrator", METHODS, model.integrator or QUICK),
        project=payload.boolean("project", True),
        progress=lambda fraction: progress(fraction),
        rtol=_positive(payload, "rtol"),
        atol=_positive(payload, "atol"),
        max_step=_positive(payload, "max_step"),
        step=_positive(payload, "step"),
    )
    name = ""
    if payload.boolean("save", True):
        progress(1.0, "saving the run")
        name, path = folder.new_run()
        run.save(path)
    return {
        "run": name,
        "scene": run.scene().to_dict() if model.bodies else _bare_scene(run),
        **_run_summary(run, moved),
        "parameters": {**model.parameter_values, **values},
        "seconds": time.perf_counter() - begun,
    }


def _positive(payload: Payload, name: str) -> float | None:
    return payload.number(name, minimum=1e-300) if name in payload else None


def prepare(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Derive and compile a model in advance, so that its first simulation starts quickly."""
    model = description_of(payload)
    if len(model.coordinate_names) > _MAX_PREPARED:
        return {}
    key = payload.choice("formalism", catalog.KEYS, "lagrange")
    integrator = payload.choice("integrator", METHODS, model.integrator or QUICK)
    run = dl.derive(model, key).simulate(1e-3 * model.duration, samples=2, integrator=integrator)
    if model.bodies:
        run.scene().to_dict()
    run.to_xarray()
    if find_spec("h5netcdf"):
        import_module("h5netcdf")  # it writes the run
    return {}


def changed_values(model: Description, payload: Payload) -> dict[str, float]:
    """Return the parameters whose values differ from those of the model."""
    known = model.parameter_values
    return {name: value for name, value in payload.numbers("parameters").items() if known.get(name) != value}


def model_with_values(payload: Payload) -> Description:
    """Return the model with the requested parameter values."""
    model = description_of(payload)
    values = changed_values(model, payload)
    return model.with_parameters(values) if values else model


def _equations(model: Description, key: str, values: Mapping[str, float]) -> Equations:
    """Return the equations with other values; derived again only if these change facts of the derivation."""
    equations = dl.derive(model, key)
    try:
        return equations.with_parameters(values) if values else equations
    except InputError:
        return dl.derive(model.with_parameters(values), key)


def start_of(model: Description, payload: Payload, other_values: bool) -> tuple[Start, Start, str]:
    """Return the initial state, and a note if it was changed to satisfy the constraints; user values change least."""
    q0, qd0 = payload.numbers("start"), payload.numbers("rate")
    assemble = bool(q0 or qd0 or other_values) and payload.boolean("assemble", True)
    if not assemble or model.canonical_constraints or not model.constraint_names:
        return q0 or None, qd0 or None, ""
    weights = dict.fromkeys((*q0, *qd0), _FIXED_WEIGHT) if len(q0) < len(model.coordinate_names) else {}
    found = dl.assemble_state(model, q0 or None, qd0 or None, weights=weights)
    moved = any(found.moved.values()) or any(found.moved_rates.values())
    return found.q, found.qd, f"The initial state was projected onto the constraints: {found}." if moved else ""


def _run_summary(run: Trajectory, moved: str) -> Answer:
    """Return the summary of the run: status, notes, tables and events."""
    return {
        "status": run.status,
        "notes": [each for each in (moved, *run.notes) if each],
        "tables": "\n".join(table.html() for table in run.tables()),
        "events": [{"name": each.name, "t": each.t} for each in run.records[:_MAX_EVENTS]],
        "integrator": run.integrator,
        "formalism": run.formalism,
        "energy_error": _finite(run.energy_error),
        "constraint_error": _finite(run.constraint_error),
    }


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _bare_scene(run: Trajectory) -> Answer:
    """Return the scene of a model defined by its energies: time histories without bodies."""
    model, origin = run.model, [0.0, 0.0, 0.0]
    view = {
        "up": [0, 1, 0],
        "planar": True,
        "eye": [0, 0, 1],
        "target": origin,
        "size": 1.0,
        "unit": 1.0,
        "follow": None,
    }
    free = {"low": None, "high": None, "turns": False, "given": False}
    coordinates = [
        {"name": each.name, "label": for_text(each.name), "unit": each.unit, "start": float(x), **free}
        for each, x in zip(model.generalized_coordinates, run.q[:, 0], strict=True)
    ]
    nothing = {"inputs": len(coordinates) + 1, "numbers": [], "lines": [], "outputs": []}
    return {
        "format": FORMAT,
        "model": {"name": model.name, "description": model.text, "notes": []},
        "view": view,
        "coordinates": coordinates,
        "bodies": [{"name": WORLD, "shapes": []}],
        "kinematics": nothing,
        "closure": None,
        "run": histories_of(run).to_dict(),
        "trails": [],
        "tabs": [],
    }


# values that are written back to the source


def write_values(payload: Payload, folder: Folder | None, progress: ReportProgress) -> Answer:
    """Return the source with new `parameters`, `start` and `rate` values; comments are preserved."""
    text = payload.string("text")
    for table, key, values in (
        ("parameters", "value", payload.numbers("parameters")),
        ("coordinates", "start", payload.numbers("start")),
        ("coordinates", "rate", payload.numbers("rate")),
    ):
        for name, value in values.items():
            if name not in _declared(text, table):
                raise InputError(
                    f"the source has no entry '{name}' in [{table}], so {value:g} cannot be written there. Add the entry."
                )
            change = {"text": text, "action": "set", "key_path": [table, name, key], "value": repr(value)}
            text = str(edit(Payload(change), folder, progress)["text"])
    return {"text": text}


def _declared(text: str, table: str) -> Toml:
    """Return a top-level table of the source; empty if missing."""
    try:
        found = tomllib.loads(text).get(table)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the source is not valid TOML: {error}. Correct it first.") from None
    return found if isinstance(found, Mapping) else {}


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
