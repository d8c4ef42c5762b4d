"""A run as an xarray Dataset, and as NetCDF and CSV files."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dalembert.errors import EngineError
from dalembert.exporters import files
from dalembert.expressions import Kind
from dalembert.show.units import speed_units, units_of

if TYPE_CHECKING:
    import xarray

    from dalembert.handles.trajectory import Trajectory

FORMATS = (".nc", ".csv")
Record = tuple[dict[str, str], dict[str, tuple[tuple[str, ...], np.ndarray]]]

# what is written of a run: its dimension besides time, what it is, and its unit
_SERIES = {
    "kinetic": ("", "kinetic energy T", "J"),
    "potential": ("", "potential energy V", "J"),
    "energy": ("", "total energy T + V", "J"),
    "work": ("", "work of the loads that have no potential, from the start", "J"),
    "balance": ("", "energy less work, constant in an exact motion", "J"),
    "q": ("coordinate", "generalized coordinates", ""),
    "qd": ("coordinate", "rates of the coordinates", ""),
    "momenta": ("coordinate", "generalized momenta ∂L/∂q̇", ""),
    "reactions": ("coordinate", "generalized reaction forces Aᵀλ + C", ""),
    "speeds": ("speed", "quasi-velocities u", ""),
    "linear_momentum": ("axis", "linear momentum, world axes", "kg·m/s"),
    "angular_momentum": ("axis", "about the world origin", "kg·m²/s"),
    "multipliers": ("constraint", "λ of M q̈ = h + C + Aᵀλ", ""),
    "ideal_reactions": ("coordinate", "reactions if C were zero", ""),
    "non_ideal_reactions": ("coordinate", "what C adds to the reactions", ""),
    "violation": ("violation_of", "φ, then φ̇ and ψ", ""),
}
_ONLY_NON_IDEAL = ("ideal_reactions", "non_ideal_reactions")


def from_trajectory(run: Trajectory) -> xarray.Dataset:
    """The run as a Dataset over time, coordinates, speeds and constraints, with units and descriptions.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("cart-pendulum"), "kane").simulate(1.0, samples=11)
    >>> data = from_trajectory(run)
    >>> dict(data.sizes)["time"], float(data.q.sel(coordinate="x")[0])
    (11, 4.0)
    """
    import xarray

    model = run.equations.model
    said = {speed.name: speed.description for speed in model.speed_list}
    series = {
        name: ((place, "time") if place else "time", getattr(run, name), _about(text, unit))
        for name, (place, text, unit) in _SERIES.items()
        if model.non_ideal_forces or name not in _ONLY_NON_IDEAL
    }
    places = {
        "time": ("time", run.t, _about("time", "s")),
        "coordinate": ("coordinate", _words(model.coordinate_names)),
        "speed": ("speed", _words(run.speed_names)),
        "constraint": ("constraint", _words(run.constraint_names)),
        "violation_of": ("violation_of", _words(run.violation_names)),
        "axis": ("axis", _words("xyz")),
        "coordinate_unit": ("coordinate", _words(c.unit for c in model.coordinate_list)),
        "coordinate_description": ("coordinate", _words(c.description for c in model.coordinate_list)),
        "speed_unit": ("speed", _words(map(units_of(run).shown, speed_units(run)))),
        "speed_formula": ("speed", _words(run.speed_formulas)),
        "speed_description": ("speed", _words(said.get(name, "") for name in run.speed_names)),
    }
    return xarray.Dataset(series, places, _attributes(run))


def save(run: Trajectory, path: Path, record: Callable[[], Record] | None = None) -> Path:
    """Write a run to NetCDF (.nc) or CSV (.csv); the file appears only when it is complete.

    `record` gives what else a NetCDF file is to hold: attributes and variables.

    >>> import dalembert as dl, tempfile
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(run, Path(folder) / "run.csv").read_text().splitlines()[0]
    'time,theta,dot(theta),u1,kinetic,potential,energy'
    """
    files.require_suffix(path, FORMATS, "a run")
    with files.complete(path) as part:
        if path.suffix.lower() == ".csv":
            _write_csv(run, part)
        else:
            _write_netcdf(run, part, record)
    return path


def _write_netcdf(run: Trajectory, path: Path, record: Callable[[], Record] | None) -> None:
    """The Dataset, made in memory first: on a full disk HDF5 ends the interpreter."""
    attributes, variables = record() if record else ({}, {})
    data = from_trajectory(run).assign_attrs(attributes).assign(variables)
    path.write_bytes(data.to_netcdf(engine=_engine()))


def _write_csv(run: Trajectory, path: Path) -> None:
    """One row for each sample: time, coordinates, rates, speeds, energies, violations."""
    names = run.equations.model.coordinate_names
    columns = {"time": run.t, **dict(zip(names, run.q, strict=True))}
    columns |= dict(zip(map(Kind.RATE.of, names), run.qd, strict=True))
    columns |= dict(zip(run.speed_names, run.speeds, strict=True))  # some may be rates themselves
    columns |= {"kinetic": run.kinetic, "potential": run.potential, "energy": run.energy}
    columns |= {f"violation({name})": row for name, row in zip(run.violation_names, run.violation, strict=True)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([repr(value) for value in row] for row in np.stack(list(columns.values()), axis=1).tolist())


def _attributes(run: Trajectory) -> dict[str, str | float]:
    return {
        "model": run.equations.model.name,
        "description": run.equations.model.text,
        "formalism": run.formalism,
        "integrator": run.integrator,
        "status": run.status,
        "cpu_seconds": run.cpu_seconds,
        "parameters": json.dumps(run.equations.parameters),
        "dalembert_version": _version(),
    }


def _about(description: str, unit: str = "") -> dict[str, str]:
    return {"description": description, **({"units": unit} if unit else {})}


def _words(words: Iterable[str]) -> np.ndarray:
    return np.array(list(words), dtype=object)


def _version() -> str:
    try:
        return metadata.version("dalembert")
    except metadata.PackageNotFoundError:
        return "not installed"


def _engine() -> Literal["h5netcdf", "netcdf4"]:
    """What writes NetCDF here; h5netcdf needs h5py, which it does not always bring along."""
    if all(importlib.util.find_spec(name) for name in ("h5netcdf", "h5py")):
        return "h5netcdf"
    if importlib.util.find_spec("netCDF4"):
        return "netcdf4"
    raise EngineError("nothing here writes NetCDF. Install h5netcdf and h5py, or netCDF4; or save the run as .csv.")
