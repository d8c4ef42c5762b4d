"""The answers of a sweep in memory and on disk, its result as an xarray Dataset, and statistics of Monte Carlo runs."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweeps._evaluate_chunk import Answer
from dalembert.analysis.sweeps.sweep_spec import REDUCTIONS, Points, SweepSpec
from dalembert.arguments import checked
from dalembert.display import dataset
from dalembert.errors import InputError, WorkError
from dalembert.io import files
from dalembert.io.files import write_text

if TYPE_CHECKING:
    import xarray


RUN, REASON = "run", "reason"
FORMATS = (".nc", ".csv", ".parquet")
_FORMAT = 1
_MANIFEST, _JOURNAL = "manifest.json", "journal.jsonl"


def dataset_of(spec: SweepSpec, columns: Mapping[str, np.ndarray], reasons: Mapping[int, str]) -> xarray.Dataset:
    """What was recorded of all runs: over the axes of a grid, else over runs, and over time for sampled observables."""
    import xarray

    variation = spec.variation
    grid = variation.samples == "grid"
    places = tuple(axis.name for axis in variation.axes) if grid else (RUN,)
    coordinates: dict[str, tuple[str, np.ndarray, dict[str, str]]] = {}
    points = None if grid else Points(variation)(0, variation.runs)
    for i, axis in enumerate(variation.axes):
        values = np.array(axis.values) if points is None else points[i]
        coordinates[axis.name] = (places[i] if grid else RUN, values, {"units": axis.unit} if axis.unit else {})
    if any(each.reduction is None for each in spec.observables):
        coordinates["time"] = ("time", np.array(spec.times), {"units": "s"})
    series = {}
    for each in spec.observables:
        about = "along the run" if each.reduction is None else REDUCTIONS[each.reduction][0]
        along = () if each.reduction else ("time",)
        values = columns[each.name].reshape(*variation.shape, *spec.shape_of(each))
        series[each.name] = ((*places, *along), values, {"description": f"{each.text}, {about}"})
    words = np.full(variation.runs, "", dtype=object)
    for run, reason in reasons.items():
        words[run] = reason
    series[REASON] = (places, words.reshape(variation.shape), {"description": "why a run has no numbers"})
    return xarray.Dataset(series, coordinates, _about(spec, len(reasons)))


def _about(spec: SweepSpec, failed: int) -> dict[str, str | int]:
    eom = spec.equations
    return {
        "model": eom.model.name,
        "formalism": eom.formalism,
        "integrator": spec.integrator or "the best that can run",
        "lanes": spec.alone or "yes",
        "samples": spec.variation.samples,
        "seed": spec.variation.seed,
        "runs": spec.variation.runs,
        "failed": failed,
        "fingerprint": spec.fingerprint,
    }


def require_writable(path: Path) -> None:
    """Raise where the result of a sweep cannot be written to such a file: to be called before the work, too."""
    files.require_suffix(path, FORMATS, "a sweep")
    dataset.require_writer(path.suffix.lower())


def save(found: xarray.Dataset, path: Path) -> Path:
    """Write the result of a sweep to NetCDF (.nc), or as a table (.csv, .parquet); the file appears only when it is complete."""
    require_writable(path)
    suffix = path.suffix.lower()
    with files.complete(path) as part:
        if suffix == ".nc":
            dataset.write_netcdf(found, part)
        elif suffix == ".csv":
            found.to_dataframe().to_csv(part)
        else:
            found.to_dataframe().to_parquet(part, engine="pyarrow")
    return path


@checked
def sweep_summary(found: xarray.Dataset, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> xarray.Dataset:
    """Mean, standard deviation, standard error of the mean, least, largest and quantiles over all runs that have numbers.

    >>> import dalembert as dl
    >>> found = dl.sweep("simple-pendulum", {"l": (0.5, 2.0)}, observe="energy", samples="sobol", runs=16, times=3, workers=1)
    >>> told = dl.sweep_summary(found)
    >>> told["energy"].dims, told["statistic"].values.tolist()[:3]
    (('statistic', 'time'), ['mean', 'std', 'error'])
    """
    import xarray

    if REASON not in found:
        raise InputError("sweep_summary: the Dataset has no `reason`. Expected the result of a sweep.")
    shares = [float(share) for share in quantiles]
    if not all(0 <= share <= 1 for share in shares):
        raise InputError(f"sweep_summary, quantiles: got {shares}. Expected shares between 0 and 1.")
    over, good = found[REASON].dims, found[REASON] == ""
    count = int(good.sum())
    if not count:
        raise InputError("sweep_summary: no run has numbers. Look at `reason`.")
    numbers = found.drop_vars([REASON, *(name for name in found.coords if set(found[name].dims) & set(over))])
    std = numbers.std(over, ddof=1) if count > 1 else numbers.std(over)
    parts = {"mean": numbers.mean(over), "std": std, "error": std / np.sqrt(count), "min": numbers.min(over)}
    parts |= {"max": numbers.max(over)}
    parts |= {f"{share:g}": numbers.quantile(share, over).drop_vars("quantile") for share in shares}
    whole = xarray.concat(list(parts.values()), "statistic").assign_coords(statistic=list(parts))
    return whole.assign_attrs({**found.attrs, "counted": count})


class Memory:
    """Answers in memory."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        runs = spec.variation.runs
        self.columns = {each.name: np.empty((runs, *spec.shape_of(each))) for each in spec.observables}
        self.reasons: dict[int, str] = {}
        self.missing = list(range(spec.chunks))

    def keep(self, chunk: int, found: Answer) -> None:
        """Put an answer in its place."""
        first, count = self._spec.runs_of(chunk)
        for name, values in found.columns.items():
            self.columns[name][first : first + count] = values
        self.reasons |= {first + i: reason for i, reason in found.reasons.items()}

    def close(self) -> None:
        """Nothing is open."""


class Folder(Memory):
    """Answers in a folder: arrays for all runs, and a journal that says which chunks are in them.

    A chunk counts when its line stands in the journal, which is written after the numbers: whenever the process ends, what the
    journal names is complete, and the rest is made again. A folder with the fingerprint of another sweep is refused.
    """

    def __init__(self, spec: SweepSpec, path: Path) -> None:
        self._spec, self._path = spec, path
        self.columns: dict[str, np.ndarray] = {}
        self.reasons: dict[int, str] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._open()
            done = self._read_journal()
            self._journal = os.open(path / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise WorkError(
                f"sweep, checkpoint {path}: {error.strerror or error}. Choose another place or free some."
            ) from error
        self.missing = [chunk for chunk in range(spec.chunks) if chunk not in done]

    def _open(self) -> None:
        spec, manifest = self._spec, self._path / _MANIFEST
        wanted = {
            "format": _FORMAT,
            "fingerprint": spec.fingerprint,
            "model": spec.equations.model.name,
            "runs": spec.variation.runs,
            "chunk": spec.chunk,
            "observed": [each.name for each in spec.observables],
        }
        fresh = not manifest.exists()
        if fresh and any(self._path.iterdir()) and not (self._path / "0.npy").exists():
            raise InputError(f"sweep, checkpoint {self._path}: the folder holds other files. Choose an empty one.")
        if not fresh:
            self._require_same(_manifest(manifest), wanted)
        for i, each in enumerate(spec.observables):
            file = self._path / f"{i}.npy"
            if fresh:
                shape = (spec.variation.runs, *spec.shape_of(each))
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="w+", dtype=float, shape=shape)
                _reserve(file)
            else:
                self.columns[each.name] = np.lib.format.open_memmap(file, mode="r+")
        if fresh:
            write_text(manifest, json.dumps(wanted, indent=2) + "\n")

    def _require_same(self, found: Mapping[str, object], wanted: Mapping[str, object]) -> None:
        other = [key for key in wanted if found.get(key) != wanted[key]]
        if other:
            told = "; ".join(f"{key} is {found.get(key)!r} there and {wanted[key]!r} here" for key in other)
            raise InputError(
                f"sweep, checkpoint {self._path}: it belongs to another sweep: {told}. Ask the same question to go on, or "
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

    def keep(self, chunk: int, found: Answer) -> None:
        """Write an answer into its place, then its line."""
        super().keep(chunk, found)
        first, _ = self._spec.runs_of(chunk)
        reasons = {str(first + i): reason for i, reason in found.reasons.items()}
        line = json.dumps({"chunk": chunk, "sum": self._sum(chunk), "reasons": reasons}) + "\n"
        try:
            os.write(self._journal, line.encode())
        except OSError as error:
            raise WorkError(
                f"sweep, checkpoint {self._path}: {error.strerror}. Free some space and start again."
            ) from error

    def close(self) -> None:
        """Let everything reach the disk."""
        for column in self.columns.values():
            assert isinstance(column, np.memmap)
            column.flush()
        os.fsync(self._journal)
        os.close(self._journal)


def _reserve(file: Path) -> None:
    """Reserve the disk space now: a file with holes would end the process when the disk is full."""
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
    return found if isinstance(found, dict) and {"chunk", "sum", "reasons"} <= set(found) else None
