"""A run as an xarray Dataset, and as NetCDF and CSV files."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import EngineError
from dalembert.expressions import Kind
from dalembert.show import files
from dalembert.show.run import Run, model_of, speed_units, structure_of

if TYPE_CHECKING:
    import xarray

FORMATS = (".nc", ".csv")
Record = tuple[dict[str, str], dict[str, tuple[tuple[str, ...], np.ndarray]]]

_SCALARS = {
    "kinetic": "kinetic energy T",
    "potential": "potential energy V",
    "energy": "total energy T + V",
    "work": "work of the loads that have no potential, from the start",
    "balance": "energy less work, constant in an exact motion",
}
_AXES = ("x", "y", "z")


def from_trajectory(run: Run) -> xarray.Dataset:
    """The run as a Dataset over time, coordinates, speeds and constraints, with units and descriptions.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("cart-pendulum"), "kane").simulate(1.0, samples=11)
    >>> data = from_trajectory(run)
    >>> dict(data.sizes)["time"], float(data.q.sel(coordinate="x")[0])
    (11, 4.0)
    """
    import xarray

    known = structure_of(run)
    variables = {
        **{name: ("time", getattr(run, name), _about(text, "J")) for name, text in _SCALARS.items()},
        "q": (("coordinate", "time"), run.q, _about("generalized coordinates")),
        "qd": (("coordinate", "time"), run.qd, _about("rates of the coordinates")),
        "momenta": (("coordinate", "time"), run.momenta, _about("generalized momenta ∂L/∂q̇")),
        "reactions": (("coordinate", "time"), run.reactions, _about("generalized reaction forces Aᵀλ + C")),
        "speeds": (("speed", "time"), run.speeds, _about("quasi-velocities u")),
        "linear_momentum": (("axis", "time"), run.linear_momentum, _about("linear momentum, world axes", "kg·m/s")),
        "angular_momentum": (("axis", "time"), run.angular_momentum, _about("about the world origin", "kg·m²/s")),
        "multipliers": (("constraint", "time"), run.multipliers, _about("λ of M q̈ = h + C + Aᵀλ")),
        **_reaction_parts(run),
        "violation": (("violation_of", "time"), run.violation, _about("φ, then φ̇ and ψ")),
    }
    places: dict[str, Any] = {
        "time": ("time", run.t, _about("time", "s")),
        "coordinate": ("coordinate", _words(model_of(run).coordinate_names)),
        "speed": ("speed", _words(known.speed_names)),
        "constraint": ("constraint", _words(run.constraint_names)),
        "violation_of": ("violation_of", _words(run.violation_names)),
        "axis": ("axis", _words(_AXES)),
        **_descriptions(run),
    }
    return xarray.Dataset(variables, places, _attributes(run))


def _reaction_parts(run: Run) -> dict[str, Any]:
    """The two parts of the reactions, where constraints are non-ideal."""
    if not model_of(run).non_ideal_forces:
        return {}
    where = ("coordinate", "time")
    return {
        "ideal_reactions": (where, run.ideal_reactions, _about("reactions if C were zero")),
        "non_ideal_reactions": (where, run.non_ideal_reactions, _about("what C adds to the reactions")),
    }


def save(run: Run, path: Path, record: Callable[[], Record] | None = None) -> Path:
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


def _write_netcdf(run: Run, path: Path, record: Callable[[], Record] | None) -> None:
    """The Dataset, made in memory first: on a full disk HDF5 ends the interpreter."""
    attributes, variables = record() if record else ({}, {})
    data = from_trajectory(run).assign_attrs(attributes).assign(variables)
    path.write_bytes(data.to_netcdf(engine=_engine()))


def _write_csv(run: Run, path: Path) -> None:
    """One row for each sample: time, coordinates, rates, speeds, energies, violations."""
    names = model_of(run).coordinate_names
    header = ["time", *names, *(Kind.RATE.of(name) for name in names), *structure_of(run).speed_names]
    header += ["kinetic", "potential", "energy", *(f"violation({name})" for name in run.violation_names)]
    energies = np.stack([run.kinetic, run.potential, run.energy])
    table = np.concatenate([run.t[None], run.q, run.qd, run.speeds, energies, run.violation], axis=0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([repr(value) for value in row] for row in table.T.tolist())


def _descriptions(run: Run) -> dict[str, Any]:
    """Units and descriptions of the coordinates and speeds, along their dimensions."""
    said = {speed.name: speed.description for speed in model_of(run).speed_list}
    known, coordinates = structure_of(run), model_of(run).coordinate_list
    return {
        "coordinate_unit": ("coordinate", _words(c.unit for c in coordinates)),
        "coordinate_description": ("coordinate", _words(c.description for c in coordinates)),
        "speed_unit": ("speed", _words(speed_units(run))),
        "speed_formula": ("speed", _words(str(formula) for formula in known.speeds)),
        "speed_description": ("speed", _words(said.get(name, "") for name in known.speed_names)),
    }


def _attributes(run: Run) -> dict[str, str | float]:
    return {
        "model": model_of(run).name,
        "description": model_of(run).text,
        "formalism": run.formalism,
        "integrator": run.integrator,
        "status": run.status,
        "cpu_seconds": run.cpu_seconds,
        "parameters": json.dumps(run.equations.parameters),
        "dalembert_version": _version(),
    }


def _about(description: str, unit: str = "") -> dict[str, str]:
    return {"description": description, **({"units": unit} if unit else {})}


def _words(words: Any) -> np.ndarray:
    return np.array(list(words), dtype=object)


def _version() -> str:
    try:
        return metadata.version("dalembert")
    except metadata.PackageNotFoundError:
        return "not installed"


def _engine() -> Any:
    """What writes NetCDF here; h5netcdf needs h5py, which it does not always bring along."""
    if all(importlib.util.find_spec(name) for name in ("h5netcdf", "h5py")):
        return "h5netcdf"
    if importlib.util.find_spec("netCDF4"):
        return "netcdf4"
    raise EngineError("nothing here writes NetCDF. Install h5netcdf and h5py, or netCDF4; or save the run as .csv.")
