"""Convert a run to an xarray Dataset and a table, and save it as NetCDF, CSV, MATLAB and Parquet files."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dalembert import __version__
from dalembert.display.units import speed_units, units_of
from dalembert.errors import EngineError
from dalembert.io import files
from dalembert.io.files import with_checksum
from dalembert.symbolic.symbols import SymbolKind

if TYPE_CHECKING:
    import pandas
    import xarray

    from dalembert.simulation.trajectory_data import TrajectoryData

FORMATS = (".nc", ".csv", ".mat", ".parquet")
Record = tuple[dict[str, str], dict[str, tuple[tuple[str, ...], np.ndarray]]]


@dataclass(frozen=True)
class Series:
    """One series of a run: its dimensions besides time, column name, description and unit.

    If every entry has its own unit, `unit` is the name of the coordinate with the units.
    """

    dimensions: tuple[str, ...]
    column: str
    description: str
    unit: str = ""


_Q, _XYZ, _IN_JOINT = ("coordinate",), ("axis",), ("joint", "axis")
_SERIES = {
    "q": Series(_Q, "{}", "generalized coordinates", "coordinate_unit"),
    "qd": Series(_Q, SymbolKind.RATE.of("{}"), "rates of the coordinates", "rate_unit"),
    "qdd": Series(_Q, SymbolKind.ACCELERATION.of("{}"), "second rates of the coordinates", "acceleration_unit"),
    "speeds": Series(("speed",), "{}", "quasi-velocities u", "speed_unit"),
    "kinetic": Series((), "kinetic", "kinetic energy T", "J"),
    "potential": Series((), "potential", "potential energy V", "J"),
    "energy": Series((), "energy", "total energy T + V", "J"),
    "work": Series((), "work", "work of all forces without potential, from the start", "J"),
    "work_of": Series(("working",), SymbolKind.WORK.of("{}"), "work of loads, forces and constraints by name", "J"),
    "power_of": Series(("working",), "power({})", "power of each of them", "W"),
    "balance": Series((), "balance", "energy minus work, constant in an exact motion", "J"),
    "momenta": Series(_Q, SymbolKind.MOMENTUM.of("{}"), "generalized momenta ∂L/∂q̇", "momentum_unit"),
    "linear_momentum": Series(_XYZ, "linear_momentum_{}", "linear momentum, world axes", "kg·m/s"),
    "angular_momentum": Series(_XYZ, "angular_momentum_{}", "about the world origin", "kg·m²/s"),
    "multipliers": Series(("constraint",), SymbolKind.MULTIPLIER.of("{}"), "λ of M q̈ = h + C + Aᵀλ", "constraint_unit"),
    "reactions": Series(_Q, "reaction({})", "generalized reaction forces Aᵀλ + C", "force_unit"),
    "ideal_reactions": Series(_Q, "ideal_reaction({})", "reactions if C were zero", "force_unit"),
    "non_ideal_reactions": Series(_Q, "non_ideal_reaction({})", "part of the reactions due to C", "force_unit"),
    "load_force": Series(
        ("load",), "load({})", "forces and torques of loads, world axes or along a joint", "load_unit"
    ),
    "inputs": Series(("input",), SymbolKind.INPUT.of("{}"), "inputs of loads from Python functions", "input_unit"),
    "joint_force": Series(_IN_JOINT, "joint_force_{1}({0})", "force of the parent on the child, world axes", "N"),
    "joint_moment": Series(_IN_JOINT, "joint_moment_{1}({0})", "moment of the parent on the child, world axes", "N·m"),
    "violation": Series(("violation_of",), "violation({})", "φ, then φ̇ and ψ", "violation_unit"),
}


def to_dataset(run: TrajectoryData) -> xarray.Dataset:
    """Return the run as a Dataset over time, coordinates, speeds, constraints, loads and joints, with units and descriptions.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("cart-pendulum"), "kane").simulate(1.0, samples=11)
    >>> data = to_dataset(run)
    >>> dict(data.sizes)["time"], float(data.q.sel(coordinate="x")[0])
    (11, 4.0)
    """
    import xarray

    coordinates = _coordinates(run)
    apart = {"work", "work_of", "power_of", "load_force", "inputs", "joint_force", "joint_moment"}
    apart |= set() if run.model.non_ideal_forces else {"ideal_reactions", "non_ideal_reactions"}
    values = {name: getattr(run, name) for name in _SERIES if name not in apart}
    inputs = {name: np.atleast_2d(found) for name, found in run.inputs.items()}
    loads = _by_component(run, "load", "load_force", run.loads or {})
    for more, of in (_work(run), loads, _by_component(run, "input", "inputs", inputs), _joints(run)):
        values, coordinates = values | more, coordinates | of
    label = units_of(run).label
    series = {
        name: (
            (*each.dimensions, "time"),
            values[name],
            _about(each.description, "" if each.unit in coordinates else label(each.unit)),
        )
        for name, each in _SERIES.items()
        if name in values
    }
    return xarray.Dataset(series, coordinates, _attributes(run))


Coordinates = dict[str, tuple[str, np.ndarray] | tuple[str, np.ndarray, dict[str, str]]]


def _coordinates(run: TrajectoryData) -> Coordinates:
    """Return the names along every dimension, with units and descriptions."""
    model, units = run.model, units_of(run)
    names, descriptions = model.coordinate_names, {speed.name: speed.description for speed in model.generalized_speeds}
    of_each = {"rate": units.rate, "acceleration": units.acceleration, "momentum": units.momentum, "force": units.force}
    return {
        "time": ("time", run.t, _about("time", "s")),
        "coordinate": ("coordinate", _strings(names)),
        "speed": ("speed", _strings(run.speed_names)),
        "constraint": ("constraint", _strings(run.constraint_names)),
        "violation_of": ("violation_of", _strings(run.violation_names)),
        "axis": ("axis", _strings("xyz")),
        "coordinate_unit": ("coordinate", _strings(c.unit for c in model.generalized_coordinates)),
        **{f"{what}_unit": ("coordinate", _strings(units.label(of(x)) for x in names)) for what, of in of_each.items()},
        "constraint_unit": ("constraint", _strings(units.label(units.multiplier(x)) for x in run.constraint_names)),
        "violation_unit": ("violation_of", _strings(units.label(units.violation(x)) for x in run.violation_names)),
        "coordinate_description": ("coordinate", _strings(c.description for c in model.generalized_coordinates)),
        "speed_unit": ("speed", _strings(map(units.label, speed_units(run)))),
        "speed_formula": ("speed", _strings(run.speed_formulas)),
        "speed_description": ("speed", _strings(descriptions.get(name, "") for name in run.speed_names)),
    }


def _work(run: TrajectoryData) -> tuple[dict[str, np.ndarray], Coordinates]:
    """Return the total work, the work of each source, and the powers."""
    done = run.work
    if not done:
        return {"work": done.total}, {}
    found = {"work_of": np.stack(list(done.values())), "power_of": np.stack([run.power(name) for name in done])}
    return {"work": done.total, **found}, {"working": ("working", _strings(done))}


def _by_component(
    run: TrajectoryData, dimension: str, key: str, found: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], Coordinates]:
    """Return values of loads with one or three components each, under a key along a dimension."""
    units = units_of(run)
    if not found:
        return {}, {}
    parts = [(name, end) for name, force in found.items() for end in (("",) if len(force) == 1 else ("_x", "_y", "_z"))]
    coordinates: Coordinates = {
        dimension: (dimension, _strings(f"{name}{end}" for name, end in parts)),
        f"{dimension}_unit": (dimension, _strings(units.label(units.load(name)) for name, _ in parts)),
    }
    return {key: np.concatenate(list(found.values()))}, coordinates


def _joints(run: TrajectoryData) -> tuple[dict[str, np.ndarray], Coordinates]:
    """Return the forces and moments in the joints, loops included, if they are determined."""
    if not (found := run.joints):
        return {}, {}
    coordinates: Coordinates = {
        "joint": ("joint", _strings(found)),
        "joint_child": ("joint", _strings(each.body for each in found.values())),
        "joint_parent": ("joint", _strings(each.parent for each in found.values())),
    }
    force, moment = (np.stack([getattr(each, part) for each in found.values()]) for part in ("force", "moment"))
    return {"joint_force": force, "joint_moment": moment}, coordinates


class Column(NamedTuple):
    """One time series."""

    name: str
    values: np.ndarray
    unit: str

    @property
    def title(self) -> str:
        """Name with unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def columns_of(data: xarray.Dataset) -> list[Column]:
    """Return the content of a Dataset of a run as columns over time, with unique names.

    >>> import dalembert as dl
    >>> data = to_dataset(dl.simulate("simple-pendulum", 1.0, samples=11))
    >>> [column.title for column in columns_of(data)][:4]
    ['time [s]', 'theta [rad]', 'dot(theta) [rad/s]', 'ddot(theta) [rad/s²]']
    """
    out = {"time": Column("time", data.time.to_numpy(), "s")}
    for key, series in _SERIES.items():
        if key not in data:
            continue
        values = data[key].to_numpy()
        for index in np.ndindex(values.shape[:-1]):
            labels = [data[dimension].to_numpy()[i] for dimension, i in zip(series.dimensions, index, strict=True)]
            own = series.unit in data.coords
            unit = data[series.unit].to_numpy()[index[0]] if own else data[key].attrs.get("units", "")
            name = series.column.format(*labels)
            if name in out and key == "speeds":  # some speeds are rates, which are columns already
                continue
            name = f"{name} ({key})" if name in out else name
            out[name] = Column(name, values[index], str(unit))
    return list(out.values())


def frame_of(data: xarray.Dataset) -> pandas.DataFrame:
    """Return the columns as a pandas DataFrame over time; `attrs` contain the units and the origin of the run."""
    import pandas

    time, *rest = columns_of(data)
    frame = pandas.DataFrame({column.name: column.values for column in rest}, pandas.Index(time.values, name="time"))
    frame.attrs.update({**data.attrs, "units": {column.name: column.unit for column in (time, *rest)}})
    return frame


def save(run: TrajectoryData, path: Path, record: Callable[[], Record] | None = None) -> Path:
    """Write a run to NetCDF (.nc), CSV (.csv), MATLAB (.mat) or Parquet (.parquet); the file is written completely or not at all.

    `record` returns further attributes and variables of a NetCDF file.

    >>> import dalembert as dl, tempfile
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(run, Path(folder) / "run.csv").read_text().splitlines()[0][:47]
    'time [s],theta [rad],dot(theta) [rad/s],ddot(th'
    """
    files.require_suffix(path, FORMATS, "a run")
    suffix = path.suffix.lower()
    require_writer(suffix)
    data = to_dataset(run)
    with files.atomic_write(path) as part:
        if suffix == ".nc" and record is not None:
            attributes, variables = record()
            content = netcdf_bytes(data.assign_attrs(attributes).assign(variables))
            part.write_bytes(with_checksum(content))
        else:
            _WRITERS[suffix](data, part)
    return path


def require_writer(suffix: str) -> None:
    """Raise if no installed package writes such files."""
    if suffix == ".nc":
        _engine()
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise EngineError("no installed package writes Parquet. Install pyarrow, or choose .csv or .nc.")


def write_netcdf(data: xarray.Dataset, path: Path) -> None:
    """Write the Dataset."""
    path.write_bytes(netcdf_bytes(data))


def netcdf_bytes(data: xarray.Dataset) -> bytes:
    """Return the content of a file, built in memory: on a full disk HDF5 terminates the interpreter."""
    return bytes(data.to_netcdf(engine=_engine()))


def _write_csv(data: xarray.Dataset, path: Path) -> None:
    """Write one row per sample; the first row contains the column names with units."""
    columns = columns_of(data)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(column.title for column in columns)
        rows = np.stack([column.values for column in columns], axis=1)
        writer.writerows([repr(value) for value in row] for row in rows.tolist())


def _write_mat(data: xarray.Dataset, path: Path) -> None:
    """Write the arrays of the Dataset under their names, samples last; strings as cell arrays, units and origin as structs."""
    from scipy.io import savemat

    values = {str(name): each.to_numpy() for name, each in data.variables.items()}
    units = {str(name): each.attrs["units"] for name, each in data.variables.items() if "units" in each.attrs}
    units |= {key: values[each.unit] for key, each in _SERIES.items() if key in values and each.unit in values}
    savemat(path, values | {"units": units, "about": dict(data.attrs)}, long_field_names=True, do_compression=True)


_WRITERS: dict[str, Callable[[xarray.Dataset, Path], None]] = {
    ".nc": write_netcdf,
    ".csv": _write_csv,
    ".mat": _write_mat,
    ".parquet": lambda data, path: frame_of(data).to_parquet(path, engine="pyarrow"),
}


def _attributes(run: TrajectoryData) -> dict[str, str | float]:
    return {
        "model": run.model.name,
        "description": run.model.text,
        "formalism": run.formalism,
        "integrator": run.integrator,
        "status": run.status,
        "cpu_seconds": run.cpu_seconds,
        "parameters": json.dumps(dict(run.parameters)),
        "dalembert_version": __version__,
    }


def _about(description: str, unit: str = "") -> dict[str, str]:
    return {"description": description, **({"units": unit} if unit else {})}


def _strings(words: Iterable[str]) -> np.ndarray:
    return np.array(list(words), dtype=object)


def _engine() -> Literal["h5netcdf", "netcdf4"]:
    """Return the installed NetCDF engine; h5netcdf needs h5py, which it does not always install."""
    if all(importlib.util.find_spec(name) for name in ("h5netcdf", "h5py")):
        return "h5netcdf"
    if importlib.util.find_spec("netCDF4"):
        return "netcdf4"
    raise EngineError("no installed package writes NetCDF. Install h5netcdf and h5py, or netCDF4; or save as .csv.")
