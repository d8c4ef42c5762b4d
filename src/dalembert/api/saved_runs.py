"""Saved runs: named arrays and the model as TOML. Loading a run does not derive or compile anything.

The model is read like any model file, so an untrusted run file can do no more than an untrusted model file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.api.trajectory import Fields, Trajectory
from dalembert.arguments import validate_arguments
from dalembert.errors import DalembertError, InputError
from dalembert.io.files import checksum_fault
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.joint_reactions import JointForces, JointReaction
from dalembert.model.immutable import Frozen
from dalembert.model.values import WORLD
from dalembert.simulation.integrators.interpolant import Interpolant, Piece, Polynomial
from dalembert.simulation.run_records import BodyMotion, EventRecord, Impulse, Segment, Work

if TYPE_CHECKING:
    import xarray

_RECORD = "dalembert_run"
_EXPECTED = "Expected a .nc file that run.save(...) wrote."
_FORMAT = 5
Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
_STRINGS = ("formalism", "engine", "integrator", "status")
_NUMBERS = ("force_scale", "cpu_seconds", "steps", "evaluations", "position_rows")
_NUMBERS += ("velocities_are_rates", "by_recursion")
_NAMES = ("speed_names", "speed_formulas", "constraint_names", "servo", "violation_names", "notes")
# fields that are variables of the dataset, with the names along their dimension besides time
_ARRAYS = {
    **dict.fromkeys(("q", "qd", "qdd", "momenta", "reactions"), "coordinates"),
    **dict.fromkeys(("kinetic", "potential", "jacobi", "balance"), ""),
    **dict.fromkeys(("linear_momentum", "angular_momentum"), "axes"),
    "speeds": "speed_names",
    "multipliers": "constraint_names",
    "violation": "violation_names",
}
_BODIES = {"rotation": (3, 3), "position": (3,), "velocity": (6,), "acceleration": (6,)}


def record_of(run: Trajectory) -> tuple[dict[str, str], Variables]:
    """The data of a run that its dataset does not contain: an attribute, and variables."""
    try:
        model = to_toml(run.description)
    except InputError as error:  # only the samples are saved
        return {_RECORD: json.dumps({"format": _FORMAT, "problem": str(error)})}, {}
    record = {
        "format": _FORMAT,
        "model": model,
        "model_notes": run.description.notes,
        **{name: getattr(run, name) for name in (*_STRINGS, *_NUMBERS, *_NAMES)},
        "parameters": dict(run.parameters),
        "sizes": {name: len(getattr(run, name)) for name in ("values", "v")},
        "ignorable": [int(i) for i in run.ignorable],
        "working": list(run.work),
        "inputs": _rows(run.inputs),
        "loads": None if run.loads is None else _rows(run.loads),
        "efforts": None if run.efforts is None else list(run.efforts),
        "joints": None if run.joints is None else [[name, x.body, x.parent] for name, x in run.joints.items()],
        "undetermined": {} if run.joints is None else run.joints.undetermined,
        "bodies": None if run.bodies is None else run.bodies.names,
        "records": [
            {**vars(e), **{key: getattr(e, key).tolist() for key in ("q", "qd", "after")}} for e in run.records
        ],
        "impulses": [{**vars(each), "vector": each.vector.tolist()} for each in run.impulses],
        "segments": [{**vars(each), "jumps": dict(each.jumps)} for each in run.segments],
    }
    return {_RECORD: json.dumps(record)}, _variables(run)


def _variables(run: Trajectory) -> Variables:
    """The arrays of a run that its dataset does not contain."""
    found: Variables = {
        "values": (("parameter", "time")[: run.values.ndim], run.values),
        "v": (("velocity", "time"), run.v),
        "jacobi": (("time",), run.jacobi),
        "ideal_reactions": (("coordinate", "time"), run.ideal_reactions),
    }
    if run.efforts:
        found["efforts"] = (("drive", "time"), np.stack(list(run.efforts.values())))
    if run.bodies is not None:
        for name, shape in _BODIES.items():
            dims = ("body", *(f"row{k}" for k in shape[:1]), *(f"column{k}" for k in shape[1:]), "time")
            found[f"body_{name}"] = (dims, getattr(run.bodies, name))
    if run.dense:
        pieces = [x for x in run.dense if isinstance(x, Piece)]
        nodes = [x for x in run.dense if isinstance(x, Interpolant)]
        spans = [(x.t0, x.t1, x.unit) for x in pieces]
        found |= _stacked("dense", [x.polynomial.coefficients for x in pieces], spans)
        found |= _stacked("nodes", [x.values for x in nodes], [(x.t0, x.t1, 1.0) for x in nodes])
    return found


def _stacked(name: str, pieces: Sequence[np.ndarray], spans: Sequence[tuple[float, float, float]]) -> Variables:
    """Stack the arrays (states, orders) of steps, padded with zeros, and their time spans."""
    if not pieces:
        return {}
    out = np.zeros((len(pieces), *np.max([piece.shape for piece in pieces], axis=0)))
    for k, piece in enumerate(pieces):
        out[k, : piece.shape[0], : piece.shape[1]] = piece
    dims = (f"{name}_piece", f"{name}_state", f"{name}_order")
    return {name: (dims, out), f"{name}_spans": ((dims[0], "span"), np.array(spans))}


def _rows(found: Mapping[str, np.ndarray]) -> list[tuple[str, int]]:
    """Names with the number of their rows: 0 for an array over time alone."""
    return [(name, 0 if x.ndim == 1 else len(x)) for name, x in found.items()]


@validate_arguments
def load_run(path: str | Path) -> Trajectory:
    """Load a run that `Trajectory.save` wrote as NetCDF.

    Parameters
    ----------
    path : str or Path
        The .nc file.

    Returns
    -------
    Trajectory
        The run, with the same data as before saving.

    Raises
    ------
    InputError
        If the file is missing, damaged, or not a saved run.

    Examples
    --------
    >>> import dalembert as dl, tempfile
    >>> run = dl.simulate(dl.load("simple-pendulum"), 1.0, samples=11)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_run(run.save(Path(folder) / "run.nc"))
    >>> bool((again.q == run.q).all()), again.formalism, again.status
    (True, 'lagrange', 'The simulation reached its end.')
    """
    data = _dataset(Path(path))
    try:
        record = json.loads(data.attrs[_RECORD])
        if record["format"] != _FORMAT:
            raise InputError(f"'{path}' has format {record['format']}. This version reads format {_FORMAT}.")
        return _run(data, record)
    except DalembertError as error:
        raise InputError(f"'{path}': {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise InputError(f"'{path}' is not a valid saved run ({type(error).__name__}: {error}). {_EXPECTED}") from error


def _dataset(path: Path) -> xarray.Dataset:
    """Read a file after verifying its checksum."""
    import xarray

    try:
        fault = checksum_fault(path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be read as a run: {error}. {_EXPECTED}") from error
    if fault:
        raise InputError(f"'{path}' cannot be read as a run: it {fault}. {_EXPECTED}")
    try:
        return xarray.load_dataset(path)
    except Exception as error:
        raise InputError(f"'{path}' cannot be read as a run: {error}. {_EXPECTED}") from error


def _run(data: xarray.Dataset, record: Fields) -> Trajectory:
    if "problem" in record:
        raise InputError(f"the file contains only the samples of the run, because {record['problem']}")
    declared = loads_toml(record["model"]).replaced(notes=tuple(map(str, record["model_notes"]))).description
    model = declared if record["by_recursion"] else with_contacts(declared).description
    names = {name: tuple(map(str, record[name])) for name in _NAMES}
    read, count = _Reader(data), data.sizes["time"]
    rows = {"coordinates": model.coordinate_names, "axes": "xyz", **names}
    arrays = {name: read(name, *([len(rows[of])] if of else []), count) for name, of in _ARRAYS.items()}
    shape = [count] * (data["values"].ndim - 1) if "values" in data else []
    return Trajectory(
        description=declared,
        model=model,
        parameters=Frozen({str(name): float(value) for name, value in record["parameters"].items()}),
        values=read("values", int(record["sizes"]["values"]), *shape),
        t=read("time", None),
        v=read("v", int(record["sizes"]["v"]), count),
        ideal_reactions=read("ideal_reactions", len(model.coordinate_names), count),
        ignorable=tuple(int(i) for i in record["ignorable"]),
        **arrays,
        **names,
        **{name: str(record[name]) for name in _STRINGS},
        **{name: record[name] for name in _NUMBERS},
        **_forces(read, record, count),
        records=tuple(map(_read_event, record["records"])),
        impulses=tuple(map(_read_impulse, record["impulses"])),
        segments=tuple(map(_read_segment, record["segments"])),
        dense=_read_dense(read),
    )


def _forces(read: _Reader, record: Fields, count: int) -> Fields:
    """Work, inputs, loads, drives, joints and bodies."""
    working, found = [str(name) for name in record["working"]], Fields()
    done, power = (read(name, len(working), count) if working else () for name in ("work_of", "power_of"))
    found["work"] = Work(dict(zip(working, done, strict=True)), count)
    found["powers"] = Frozen(dict(zip(working, power, strict=True)))
    found["inputs"] = _read_rows(read, "inputs", record["inputs"], count)
    if record["loads"] is not None:
        found["loads"] = _read_rows(read, "load_force", record["loads"], count)
    if (drives := record["efforts"]) is not None:
        rows = read("efforts", len(drives), count) if drives else ()
        found["efforts"] = Frozen(dict(zip(map(str, drives), rows, strict=True)))
    if (joints := record["joints"]) is not None:
        both = [read(f"joint_{what}", len(joints), 3, count) if joints else () for what in ("force", "moment")]
        each = zip(joints, *both, strict=True)
        known = {str(name): JointReaction(str(body), str(on), WORLD, F, M) for (name, body, on), F, M in each}
        undetermined = {str(name): tuple(map(str, of)) for name, of in record["undetermined"].items()}
        found["joints"] = JointForces(known, undetermined)
    if (bodies := record["bodies"]) is not None:
        moved = (read(f"body_{name}", len(bodies), *shape, count) for name, shape in _BODIES.items())
        found["bodies"] = BodyMotion(tuple(map(str, bodies)), *moved)
    return found


def _read_rows(read: _Reader, name: str, rows: Sequence[tuple[str, int]], count: int) -> Frozen[str, np.ndarray]:
    """Split a variable into its concatenated arrays by name."""
    if not rows:
        return Frozen()
    sizes = [max(1, int(size)) for _, size in rows]
    parts = np.split(read(name, sum(sizes), count), np.cumsum(sizes)[:-1])
    return Frozen({str(name): x if size else x[0] for (name, size), x in zip(rows, parts, strict=True)})


def _read_event(record: Fields) -> EventRecord:
    q, qd, after = (np.array(record[key], dtype=float) for key in ("q", "qd", "after"))
    return EventRecord(str(record["name"]), float(record["t"]), q, qd, after, bool(record["switching"]))


def _read_impulse(record: Fields) -> Impulse:
    numbers = (float(record[key]) for key in ("approach", "departure", "energy"))
    return Impulse(str(record["name"]), float(record["t"]), np.array(record["vector"], dtype=float), *numbers)


def _read_segment(record: Fields) -> Segment:
    jumps = {str(name): float(energy) for name, energy in record["jumps"].items()}
    speeds, dependent = tuple(map(str, record["speeds"])), tuple(int(i) for i in record["dependent"])
    sequences = record["sequences"]
    known = None if sequences is None else tuple(None if each is None else str(each) for each in sequences)
    return Segment(float(record["t"]), Frozen(jumps), speeds, dependent, known)


def _read_dense(read: _Reader) -> tuple[Piece | Interpolant, ...]:
    """The interpolants of the steps in order of time."""
    found: list[Piece | Interpolant] = []
    for name in ("dense", "nodes"):
        if name in read.data:
            spans = read(f"{name}_spans", None, 3)
            for (t0, t1, unit), rows in zip(spans.tolist(), read(name, len(spans), None, None), strict=True):
                found.append(Piece(t0, t1, unit, Polynomial(rows)) if name == "dense" else Interpolant(t0, t1, rows))
    return tuple(sorted(found, key=lambda piece: piece.t0))


@dataclass(frozen=True)
class _Reader:
    """Reads arrays of a file; raises for missing variables and wrong types or shapes."""

    data: xarray.Dataset

    def __call__(self, name: str, *shape: int | None) -> np.ndarray:
        """The values of a variable; None in `shape` means any length."""
        if name not in self.data.variables:
            raise InputError(f"the variable '{name}' is missing. {_EXPECTED}")
        found = self.data[name].to_numpy()
        if not np.issubdtype(found.dtype, np.floating):
            raise InputError(f"the variable '{name}' has type {found.dtype}. Expected float64.")
        if len(shape) != found.ndim or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            expected = "×".join("n" if n is None else str(n) for n in shape) or "a single number"
            raise InputError(f"the variable '{name}' has shape {found.shape}. Expected {expected}.")
        return found.astype(float, copy=False)
