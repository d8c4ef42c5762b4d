"""`Trajectory`: a simulated motion with access by name, plots, files and animations.

The model is read like any model file, so an untrusted run file can do no more than an untrusted model file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import documented_class, validate_arguments
from dalembert.errors import DalembertError, InputError, suggest_name
from dalembert.io.files import checksum_fault
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.joint_reactions import JointForces, JointReaction
from dalembert.model.immutable import Frozen
from dalembert.model.values import WORLD
from dalembert.simulation.integrators.interpolant import Interpolant, Piece, Polynomial
from dalembert.simulation.trajectory_data import BodyMotion, EventRecord, Impulse, Segment, TrajectoryData, Work
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    import pandas
    import xarray

    from dalembert.display.plots.figure import Plot
    from dalembert.display.scene.scene_values import Scene
    from dalembert.display.video import Animation


Fields = dict[str, Any]  # fields of a trajectory by name


@documented_class
@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(TrajectoryData, Tabular):
    """A sampled motion: named arrays with coordinates on the first axis and samples on the last.

    Access, plots, saving and pickling do not derive or compile anything.

    Attributes
    ----------
    description, model : Description
        The declared model, and the same with contacts and quaternion norms as constraints.
    formalism, engine, integrator : str
        How the motion was computed.
    parameters : mapping of str to float
        Parameter values at the start.
    values : ndarray, shape (parameters,) or (parameters, samples)
        Values of all parameters in use; the second shape if they change.
    t : ndarray, shape (samples,)
        Times.
    q, qd, qdd : ndarray, shape (n, samples)
        Coordinates, their rates and accelerations.
    v, velocities_are_rates : ndarray, bool
        Velocity variables of the formalism, and whether they are q̇.
    speeds : ndarray, shape (d, samples)
        Quasi-velocities.
    speed_names, speed_formulas : tuple of str
        Their names and formulas.
    kinetic, potential, jacobi, balance : ndarray, shape (samples,)
        Kinetic and potential energy, Jacobi's function, and energy minus work, which is constant in an exact motion.
    work, powers : mapping of str to ndarray
        Work since the start and power of every element without a potential; `work.total` is the sum.
    momenta : ndarray, shape (n, samples)
        Generalized momenta ∂L/∂q̇.
    linear_momentum, angular_momentum : ndarray, shape (3, samples)
        In world axes; the angular momentum about the world origin.
    ignorable : tuple of int
        Indices of coordinates with constant momenta.
    constraint_names, servo : tuple of str
        Constraints, the rows of `multipliers`, and those with feedback.
    multipliers : ndarray, shape (constraints, samples)
        λ of M q̈ = h + C + Aᵀλ; the minimum norm if not unique.
    reactions, ideal_reactions : ndarray, shape (n, samples)
        Generalized reaction forces Aᵀλ + C, and the same if C were zero.
    violation, violation_names, position_rows : ndarray, tuple of str, int
        Violations of positions, then velocities, the names of the rows, and the number of position rows.
    inputs : mapping of str to ndarray
        Outputs of laws in Python by load, shape (samples,) or (3, samples).
    force_scale : float
        Unit of force of the model: mass × length / time².
    status, notes : str, tuple of str
        How the run ended, and remarks.
    steps, evaluations, cpu_seconds : int, int or None, float
        Cost of the integration.
    records, impulses, segments : tuple
        Events and switchings, impulses of rigid contacts, and parts with one choice of variables.
    dense : tuple
        The motion between samples; empty unless `simulate(dense=True)`.
    by_recursion : bool
        Whether a tree was integrated by recursion.
    bodies, joints, loads, efforts : optional
        Recorded motions of bodies, joint reactions, load forces and drive efforts; read them with the methods below.

    Examples
    --------
    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> run.q.shape, run.status
    ((1, 11), 'The simulation reached its end.')
    """

    @validate_arguments
    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """A quantity by name: a coordinate, dot(x), ddot(x), a speed, t, or any column of `to_dataframe`.

        With two names, a quantity of a body, a load or a joint: position, velocity, acceleration, rotation, orientation (a
        quaternion), angular_velocity, angular_acceleration, force or moment, in world axes and at the origin of the body.

        >>> import dalembert as dl
        >>> run = dl.simulate("simple-pendulum", 1.0, samples=11)
        >>> run["theta"].shape, bool((run["dot(theta)"] == run.qd[0]).all())
        ((11,), True)
        >>> run["bob", "position"].shape, run["bob", "force"].shape
        ((3, 11), (3, 11))
        """
        if isinstance(name, tuple):
            return self.of_element(*name)
        names = self.model.coordinate_names
        if name == "t":
            return self.t
        rows = dict(zip(names, self.q, strict=True)) | dict(zip((f"dot({x})" for x in names), self.qd, strict=True))
        rows |= dict(zip(self.speed_names, self.speeds, strict=True))
        if name not in rows:
            from dalembert.display import dataset

            rows |= {column.name: column.values for column in dataset.columns_of(dataset.to_dataset(self))}
        if name not in rows:
            raise InputError(f"the run has no quantity '{name}'. {suggest_name(name, rows)}")
        return rows[name]

    def to_xarray(self) -> xarray.Dataset:
        """The run as an xarray Dataset with named coordinates, units and descriptions.

        Returns
        -------
        xarray.Dataset
            One variable for each quantity over `time` and named axes.
        """
        from dalembert.display import dataset

        return dataset.to_dataset(self)

    def to_dataframe(self) -> pandas.DataFrame:
        """The run as a pandas DataFrame: one row per sample, one column per named quantity; units in `.attrs["units"]`.

        Returns
        -------
        pandas.DataFrame
            Samples in rows, indexed by time.

        Examples
        --------
        >>> import dalembert as dl
        >>> table = dl.simulate("simple-pendulum", 1.0, samples=11).to_dataframe()
        >>> len(table), table.attrs["units"]["dot(theta)"], list(table.columns[:3])
        (11, 'rad/s', ['theta', 'dot(theta)', 'ddot(theta)'])
        """
        from dalembert.display import dataset

        return dataset.frame_of(dataset.to_dataset(self))

    @validate_arguments
    def save(self, path: str | Path) -> Path:
        """Write the run to NetCDF (.nc), which `dalembert.load_run` reads without loss, or the samples to a table.

        Tables are .csv, .mat (MATLAB), and .parquet if pyarrow is installed. All contain coordinates, rates, accelerations,
        speeds, energies, work and powers, multipliers, reactions, load forces and joint reactions, with names and units. The
        file is written atomically.

        Parameters
        ----------
        path : str or Path
            File to write; its suffix selects the format.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the suffix is not supported, or the file cannot be written.

        Examples
        --------
        >>> import dalembert as dl, tempfile, pathlib
        >>> run = dl.simulate("cart-pendulum", 0.5, samples=6)
        >>> path = run.save(pathlib.Path(tempfile.mkdtemp()) / "run.nc")
        >>> bool((dl.load_run(path).q == run.q).all())
        True
        """
        from dalembert.display import dataset

        return dataset.save(self, Path(path), lambda: record_of(self))

    def plot(self, *what: str | Path, path: str | Path | None = None) -> Plot:
        """Plot the run.

        Parameters
        ----------
        *what : str or Path
            Panels: coordinates, velocities, energy, work, balance, violation (these are the default), momenta, multipliers,
            reactions, joints, drives, phase. A name that ends in .png, .pdf or .svg is the path.
        path : str or Path, optional
            Image to write (.png, .pdf or .svg).

        Returns
        -------
        Plot
            The figure, which notebooks display.

        Raises
        ------
        InputError
            If there is no such panel, or several paths are specified.

        Examples
        --------
        >>> import dalembert as dl
        >>> run = dl.simulate("cart-pendulum", 1.0, samples=11)
        >>> figure = run.plot("multipliers", "phase")
        >>> [axis.get_ylabel() for axis in figure.axes][:1]
        ['multipliers λ [N]']
        >>> run.plot("fase")
        Traceback (most recent call last):
            ...
        dalembert.errors.InputError: plot: there is no panel 'fase'. Did you mean 'phase'? Expected one of coordinates, ...
        """
        from dalembert.display.plots import plot as plots

        names = [each for each in what if not plots.is_image_path(each)]
        paths = [Path(each) for each in (*what, path) if each is not None and each not in names]
        if len(paths) > 1:
            raise InputError(f"plot: got {len(paths)} files, {', '.join(map(str, paths))}. Expected at most one.")
        return plots.trajectory(self, paths[0] if paths else None, [str(name) for name in names])

    def scene(self) -> Scene:
        """The scene of the run: shapes, motion, time histories and forces, for HTML pages and videos.

        Returns
        -------
        Scene
            The data that `animate` displays.
        """
        from dalembert.display.scene.scene_builder import scene_of

        return scene_of(self.description, self)

    @validate_arguments
    def animate(
        self,
        path: str | Path | None = None,
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        pixels: int = 480,
        frames: int = 4,
    ) -> Animation:
        """Create an animation of the run.

        The file is written atomically.

        Parameters
        ----------
        path : str or Path, optional
            A page with the viewer (.html), a video (.mp4, .gif), or snapshots side by side (.png, .pdf, .svg).

        Returns
        -------
        Animation
            The animation, which notebooks display.

        Raises
        ------
        InputError
            If the suffix is not supported or an option is not positive.

        Examples
        --------
        >>> import dalembert as dl, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = dl.simulate("simple-pendulum", 1.0, samples=11).animate(folder / "swing.png", frames=2)
        >>> (folder / "swing.png").read_bytes()[1:4]
        b'PNG'
        """
        from dalembert.display.video import Animation

        animation = Animation(self.scene(), fps=fps, speed=speed, pixels=pixels, frames=frames)
        if path is not None:
            animation.save(path)
        return animation

    def _repr_html_(self) -> str:
        """The tables, and the viewer below them if the model has bodies."""
        from dalembert.display.video import Animation

        tables = super()._repr_html_()
        drawn = Animation(self.scene())._repr_html_() if self.model.bodies else None
        return tables if drawn is None else f"{tables}\n{drawn}"

    def tables(self) -> tuple[Table, ...]:
        """Initial, final, minimum and maximum values of the coordinates, and the energy drift."""
        first, last = f"t = {self.t[0]:g}", f"t = {self.t[-1]:g}"
        rows = [
            (name, *(format_cell(float(x)) for x in (values[0], values[-1], values.min(), values.max())))
            for name, values in zip(self.model.coordinate_names, self.q, strict=True)
        ]
        title = f"{self.model.name} by {self.formalism}, {self.integrator}: {len(self.t)} samples. {self.status}"
        drift = f"Relative drift of the energy balance: {format_cell(float(self.energy_error))}."
        return (Table(("coordinate", first, last, "min", "max"), tuple(rows), title, (drift, *self.notes)),)

    def __repr__(self) -> str:
        return (
            f"<Trajectory of '{self.model.name}' by {self.formalism}, {self.integrator}: "
            f"{len(self.t)} samples from t = {self.t[0]:g} to {self.t[-1]:g}>"
        )


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
