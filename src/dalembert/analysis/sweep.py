"""Results of a sweep in memory and on disk, the xarray Dataset, and statistics of Monte Carlo runs."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis._evaluate_chunk import ChunkResult
from dalembert.analysis._sweep_lanes import reason_to_run_alone
from dalembert.analysis.sweep_spec import REDUCTIONS, Observable, Points, SweepSpec, observables_of, variation_of
from dalembert.analysis.worker_pool import chunk_results
from dalembert.api.derive import equations_of
from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.arguments import is_integer, validate_arguments
from dalembert.display import dataset
from dalembert.errors import ComputationError, InputError, short_repr
from dalembert.io import files
from dalembert.io.files import write_text
from dalembert.model.description import Elements
from dalembert.model.integrator_names import AUTO, require_method
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import RunOptions

if TYPE_CHECKING:
    import xarray


RUN, REASON, NOTES = "run", "reason", "notes"
FORMATS = (".nc", ".csv", ".parquet")
_FORMAT = 2
_MANIFEST, _JOURNAL = "manifest.json", "journal.jsonl"


def dataset_of(spec: SweepSpec, store: MemoryStore) -> xarray.Dataset:
    """The observables of all runs: over the axes of a grid or over runs, and over time for sampled observables."""
    import xarray

    variation = spec.variation
    grid = variation.samples == "grid"
    dimensions = tuple(axis.name for axis in variation.axes) if grid else (RUN,)
    coordinates: dict[str, tuple[str, np.ndarray, dict[str, str]]] = {}
    points = None if grid else Points(variation)(0, variation.runs)
    for i, axis in enumerate(variation.axes):
        values = np.array(axis.values) if points is None else points[i]
        coordinates[axis.name] = (dimensions[i] if grid else RUN, values, {"units": axis.unit} if axis.unit else {})
    if any(each.reduction is None for each in spec.observables):
        coordinates["time"] = ("time", np.array(spec.times), {"units": "s"})
    series = {}
    for each in spec.observables:
        about = "along the run" if each.reduction is None else REDUCTIONS[each.reduction][0]
        along = () if each.reduction else ("time",)
        values = store.columns[each.name].reshape(*variation.shape, *spec.shape_of(each))
        series[each.name] = ((*dimensions, *along), values, {"description": f"{each.source}, {about}"})
    for name, messages, about in (
        (REASON, store.reasons, "error message of a failed run"),
        (NOTES, store.notes, "failed checks of energy, constraints and constant momenta at the end of a run"),
    ):
        texts = np.full(variation.runs, "", dtype=object)
        for run, message in messages.items():
            texts[run] = message
        series[name] = (dimensions, texts.reshape(variation.shape), {"description": about})
    return xarray.Dataset(series, coordinates, _about(spec, len(store.reasons), len(store.notes)))


def _about(spec: SweepSpec, failed: int, doubtful: int) -> dict[str, str | int]:
    eom = spec.equations
    return {
        "model": eom.model.name,
        "formalism": eom.formalism,
        "integrator": spec.integrator or "the best that can run",
        "lanes": spec.reason_without_lanes or "yes",
        "samples": spec.variation.samples,
        "seed": spec.variation.seed,
        "runs": spec.variation.runs,
        "failed": failed,
        "doubtful": doubtful,
        "fingerprint": spec.fingerprint,
    }


def require_writable(path: Path) -> None:
    """Raise if the result of a sweep cannot be written to such a file; call it also before the sweep."""
    files.require_suffix(path, FORMATS, "a sweep")
    dataset.require_writer(path.suffix.lower())


def save(found: xarray.Dataset, path: Path) -> Path:
    """Write the result of a sweep to NetCDF (.nc), or as a table (.csv, .parquet); the write is atomic."""
    require_writable(path)
    suffix = path.suffix.lower()
    with files.atomic_write(path) as part:
        if suffix == ".nc":
            dataset.write_netcdf(found, part)
        elif suffix == ".csv":
            found.to_dataframe().to_csv(part)
        else:
            found.to_dataframe().to_parquet(part, engine="pyarrow")
    return path


@validate_arguments
def sweep_summary(found: xarray.Dataset, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> xarray.Dataset:
    """Mean, standard deviation, standard error of the mean, minimum, maximum and quantiles over all successful runs.

    Parameters
    ----------
    found : xarray.Dataset
        The result of `sweep`.
    quantiles : sequence of float, optional
        Probabilities between 0 and 1.

    Returns
    -------
    xarray.Dataset
        The observables with the dimension `statistic` instead of the runs; the attribute `counted` is the number of runs.

    Raises
    ------
    InputError
        The Dataset is not the result of a sweep, a probability is outside 0 to 1, or all runs failed.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.sweep("simple-pendulum", {"l": (0.5, 2.0)}, observe="energy", samples="sobol", runs=16, times=3, workers=1)
    >>> summary = dl.sweep_summary(found)
    >>> summary["energy"].dims, summary["statistic"].values.tolist()[:3]
    (('statistic', 'time'), ['mean', 'std', 'error'])
    """
    import xarray

    if REASON not in found:
        raise InputError("sweep_summary: the Dataset has no `reason`. Expected the result of a sweep.")
    probabilities = [float(p) for p in quantiles]
    if not all(0 <= p <= 1 for p in probabilities):
        raise InputError(f"sweep_summary, quantiles: got {probabilities}. Expected probabilities between 0 and 1.")
    over, good = found[REASON].dims, found[REASON] == ""
    count = int(good.sum())
    if not count:
        raise InputError("sweep_summary: all runs failed. See `reason` for the error messages.")
    numbers = found.drop_vars([REASON, NOTES, *(name for name in found.coords if set(found[name].dims) & set(over))])
    std = numbers.std(over, ddof=1) if count > 1 else numbers.std(over)
    parts = {"mean": numbers.mean(over), "std": std, "error": std / np.sqrt(count), "min": numbers.min(over)}
    parts |= {"max": numbers.max(over)}
    parts |= {f"{p:g}": numbers.quantile(p, over).drop_vars("quantile") for p in probabilities}
    summary = xarray.concat(list(parts.values()), "statistic").assign_coords(statistic=list(parts))
    return summary.assign_attrs({**found.attrs, "counted": count})


class MemoryStore:
    """Results of chunks in memory."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        runs = spec.variation.runs
        self.columns = {each.name: np.empty((runs, *spec.shape_of(each))) for each in spec.observables}
        self.reasons: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        self.missing = list(range(spec.chunks))

    def store(self, chunk: int, found: ChunkResult) -> None:
        """Store the result of a chunk."""
        first, count = self._spec.runs_of(chunk)
        for name, values in found.columns.items():
            self.columns[name][first : first + count] = values
        self.reasons |= _shifted(found.reasons, first)
        self.notes |= _shifted(found.notes, first)

    def close(self) -> None:
        """Do nothing: there are no open files."""


class CheckpointStore(MemoryStore):
    """Results of chunks in a folder: arrays for all runs, and a journal of the complete chunks.

    A chunk is complete if its line is in the journal, which is written after the arrays: if the process is killed, the chunks in
    the journal are complete, and the others are evaluated again. A folder with the fingerprint of another sweep is rejected.
    """

    def __init__(self, spec: SweepSpec, path: Path) -> None:
        self._spec, self._path = spec, path
        self.columns: dict[str, np.ndarray] = {}
        self.reasons: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._open()
            done = self._read_journal()
            self._journal = os.open(path / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise ComputationError(
                f"sweep, checkpoint {path}: {error.strerror or error}. Choose another folder, or free disk space."
            ) from error
        self.missing = [chunk for chunk in range(spec.chunks) if chunk not in done]

    def _open(self) -> None:
        spec, manifest = self._spec, self._path / _MANIFEST
        expected = {
            "format": _FORMAT,
            "fingerprint": spec.fingerprint,
            "model": spec.equations.model.name,
            "runs": spec.variation.runs,
            "chunk": spec.chunk,
            "observed": [each.name for each in spec.observables],
        }
        new = not manifest.exists()
        if new and any(self._path.iterdir()) and not (self._path / "0.npy").exists():
            raise InputError(f"sweep, checkpoint {self._path}: the folder contains other files. Choose an empty one.")
        if not new:
            self._require_same(_manifest(manifest), expected)
        for i, each in enumerate(spec.observables):
            file = self._path / f"{i}.npy"
            if new:
                shape = (spec.variation.runs, *spec.shape_of(each))
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="w+", dtype=float, shape=shape)
                _reserve(file)
            else:
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="r+")
        if new:
            write_text(manifest, json.dumps(expected, indent=2) + "\n")

    def _require_same(self, found: Mapping[str, object], expected: Mapping[str, object]) -> None:
        other = [key for key in expected if found.get(key) != expected[key]]
        if other:
            differences = "; ".join(f"{key} is {found.get(key)!r} there and {expected[key]!r} here" for key in other)
            raise InputError(
                f"sweep, checkpoint {self._path}: it belongs to another sweep: {differences}. Rerun the same call to resume, or "
                "choose another folder."
            )

    def _read_journal(self) -> set[int]:
        """The complete chunks; an incomplete last line is removed."""
        file, done, good = self._path / _JOURNAL, set[int](), 0
        for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
            entry = _entry(line)
            if entry is None:
                break
            good += len(line)
            if self._sum(entry["chunk"]) == entry["sum"]:
                done.add(entry["chunk"])
                self.reasons |= {int(i): reason for i, reason in entry["reasons"].items()}
                self.notes |= {int(i): note for i, note in entry["notes"].items()}
        if file.exists():
            os.truncate(file, good)
        return done

    def _sum(self, chunk: int) -> int:
        """A checksum of the numbers of a chunk."""
        first, count = self._spec.runs_of(chunk)
        total = 0
        for column in self.columns.values():
            total = zlib.crc32(column[first : first + count].tobytes(), total)
        return total

    def store(self, chunk: int, found: ChunkResult) -> None:
        """Write the result of a chunk, then its line in the journal."""
        super().store(chunk, found)
        first, _ = self._spec.runs_of(chunk)
        texts = {"reasons": _shifted(found.reasons, first), "notes": _shifted(found.notes, first)}
        line = json.dumps({"chunk": chunk, "sum": self._sum(chunk), **texts}) + "\n"
        try:
            os.write(self._journal, line.encode())
        except OSError as error:
            raise ComputationError(
                f"sweep, checkpoint {self._path}: {error.strerror}. Free disk space and rerun the same call."
            ) from error

    def close(self) -> None:
        """Flush all files to disk."""
        for column in self.columns.values():
            assert isinstance(column, np.memmap)
            column.flush()
        os.fsync(self._journal)
        os.close(self._journal)


def _shifted(messages: Mapping[int, str], first: int) -> dict[int, str]:
    return {first + i: message for i, message in messages.items()}


def _reserve(file: Path) -> None:
    """Reserve the disk space now: writing to a sparse file on a full disk would kill the process."""
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as opened:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def _manifest(file: Path) -> dict[str, object]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"sweep, checkpoint: '{file}' cannot be read ({error}). Choose another folder.") from error
    return found if isinstance(found, dict) else {}


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"chunk", "sum", "reasons", "notes"} <= set(found) else None


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
