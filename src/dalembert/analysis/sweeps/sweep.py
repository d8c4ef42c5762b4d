"""`dl.sweep`: parameter sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweeps._sweep_lanes import reason_to_run_alone
from dalembert.analysis.sweeps.sweep_result import NOTES, REASON, RUN, CheckpointStore, MemoryStore, dataset_of
from dalembert.analysis.sweeps.sweep_spec import Observable, SweepSpec, observables_of, variation_of
from dalembert.analysis.sweeps.worker_pool import chunk_results
from dalembert.api.derive import equations_of
from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.arguments import is_integer
from dalembert.errors import InputError, short_repr
from dalembert.model.description import Elements
from dalembert.model.integrator_names import AUTO, require_method
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import RunOptions

if TYPE_CHECKING:
    import xarray

_LANES = "dop853"


@accepts_source
def sweep(
    model: Elements,
    vary: Mapping[str, Any],
    *,
    observe: str | Sequence[str] | Mapping[str, str],
    samples: str = "grid",
    runs: int | None = None,
    seed: int = 0,
    duration: float | None = None,
    times: int | Sequence[float] | np.ndarray | None = None,
    formalism: str = "lagrange",
    engine: str | None = None,
    integrator: str | None = None,
    project: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    step: float | None = None,
    executor: object = None,
    workers: int | None = None,
    chunk: int | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[[float], Any] | None = None,
) -> xarray.Dataset:
    """Simulate a model for many values of its parameters and initial values.

    The results are bit-identical for any number of workers. A failed run is a row of NaN, with the error message in `reason`.

    Parameters
    ----------
    vary : mapping of str to sequence or distribution
        Values of parameters, initial coordinates x and initial rates dot(x). With samples="grid" a list of values each, and all
        combinations are run; otherwise a range (low, high) or a distribution such as scipy.stats.norm(1, 0.1).
    observe : str, sequence of str, or mapping of str to str
        Formulas of coordinates, velocities, parameters, t, energy, kinetic and potential, or any column of a run, at all samples
        or reduced to a scalar: initial(x), final(x), max(x), min(x), mean(x), rms(x), drift(x).
    samples : {'grid', 'sobol', 'random'}
        How points are chosen.
    runs : int, optional
        Number of points, with 'sobol' and 'random'.
    seed : int, default 0
        Seed of the points.
    times : int or array_like, shape (K,), optional
        Number of sample times, or the times themselves.
    executor : object, optional
        A Dask client or an executor of concurrent.futures.
    workers : int, optional
        Number of processes; all cores if None.
    chunk : int, optional
        Runs per task; chosen automatically if None.
    checkpoint : str or Path, optional
        Folder for intermediate results: rerun the same call to resume an interrupted sweep.

    Returns
    -------
    xarray.Dataset
        The observed quantities over the varied names (grid) or over `run`, over `time` unless reduced, `reason`, and `notes`:
        the failed checks of energy, constraints and constant momenta at the end of each run.

    Raises
    ------
    InputError
        If a name or formula is unknown, or an option is invalid.
    NotApplicableError
        If the formalism does not apply to the model.

    See Also
    --------
    sweep_summary : Statistics of the result.
    plot_sweep : Plot the result.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.sweep("simple-pendulum", {"l": [0.5, 1.0, 2.0]}, observe="max(energy)", duration=1.0, workers=1)
    >>> found["max(energy)"].dims, bool((found["reason"] == "").all())
    (('l',), True)
    """
    equations = equations_of(model, formalism, engine=engine)
    settings = Settings(rtol, atol, max_step, step)
    variation = variation_of(equations.model, vary, samples, runs, seed)
    name = _integrator(equations, integrator, settings)
    grid = _grid(equations, duration, times)
    for option, value in (("workers", workers), ("chunk", chunk)):
        if value is not None and (not is_integer(value) or value < 1):
            raise InputError(f"sweep, {option}: got {short_repr(value)}. Expected an int >= 1.")
    observed = observables_of(equations, observe, lambda: equations.simulate(times=grid[:2].tolist(), integrator=name))
    _require_unused_names(observed, {axis.name for axis in variation.axes} | {RUN, REASON, NOTES, "time"})
    sampled = tuple(grid.tolist())
    if all(each.reduction in ("initial", "final") for each in observed):
        sampled = (sampled[0], sampled[-1])  # no sample in between is needed
    spec = SweepSpec(equations, variation, observed, sampled, name, settings, project, chunk)
    return _evaluated(spec, executor, workers, checkpoint, progress)


def _require_unused_names(observed: Sequence[Observable], used: set[str]) -> None:
    """Raise if an observable has the name of another variable of the result."""
    if clash := [each.name for each in observed if each.name in used]:
        raise InputError(
            f"sweep, observe: '{clash[0]}' is the name of another variable of the result. Give the observable another name, such "
            f"as observe={{'{clash[0]}_observed': '{clash[0]}'}}."
        )


def _evaluated(
    spec: SweepSpec,
    executor: object,
    workers: int | None,
    checkpoint: str | Path | None,
    progress: Callable[[float], Any] | None,
) -> xarray.Dataset:
    _require_memory(spec, on_disk=checkpoint is not None)
    store = MemoryStore(spec) if checkpoint is None else CheckpointStore(spec, Path(checkpoint))
    done = spec.chunks - len(store.missing)
    try:
        for chunk, found in chunk_results(spec, store.missing, executor, workers):
            store.store(chunk, found)
            done += 1
            if progress is not None and progress(done / spec.chunks):
                raise InputError("sweep: stopped by `progress`. With `checkpoint`, rerun the same call to resume.")
    finally:
        store.close()
    return dataset_of(spec, store)


def _integrator(equations: Equations, requested: str | None, settings: Settings) -> str | None:
    """The requested integrator or that of the model; otherwise that of lanes if runs can share them, None if not."""
    name = requested or equations.model.integrator
    if name is not None and name != AUTO:
        require_method(name, step=settings.step)
        return name
    return _LANES if reason_to_run_alone(equations, _LANES) is None else None


def _grid(equations: Equations, duration: float | None, times: int | Sequence[float] | np.ndarray | None) -> np.ndarray:
    if times is None or is_integer(times):
        return RunOptions(duration, samples=times).grid(equations.model)  # type: ignore[arg-type]
    if duration is not None:
        raise InputError("sweep: got both `duration` and an array of `times`. Give one of them.")
    return RunOptions(times=times).grid(equations.model)  # type: ignore[arg-type]


def _require_memory(spec: SweepSpec, *, on_disk: bool) -> None:
    """Raise if the result exceeds the memory: reasons, the values of points, and observables that are not on disk."""
    variation, limit = spec.variation, _memory() // 2
    values = 0 if variation.samples == "grid" else len(variation.axes)
    size = 8 * (1 + values + (0 if on_disk else spec.numbers)) * variation.runs
    if size > limit:
        what, cure = f"{spec.numbers} numbers each", "Give `checkpoint`, a folder that stores them on disk, or "
        cure += "observe less, such as final(x) or max(x) instead of x."
        if on_disk:
            what, cure = "their values and reasons", "Split it into several sweeps."
        raise InputError(
            f"sweep: {variation.runs} runs with {what} need {size / 2**30:.3g} GB. Expected at most half of the memory, "
            f"{limit / 2**30:.3g} GB. {cure}"
        )


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # unknown on this system
        return 2**33
