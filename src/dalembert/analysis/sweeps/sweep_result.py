"""The result of a sweep as an xarray Dataset, and what Monte Carlo runs say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.analysis.sweeps.sweep_observables import REDUCTIONS
from dalembert.analysis.sweeps.sweep_spec import Points, SweepSpec
from dalembert.arguments import checked
from dalembert.display import dataset
from dalembert.errors import InputError
from dalembert.io import files

if TYPE_CHECKING:
    import xarray

RUN, REASON = "run", "reason"
FORMATS = (".nc", ".csv", ".parquet")


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
