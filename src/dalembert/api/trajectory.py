"""`Trajectory`: a simulated motion with access by name, plots, files and animations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import documented_class, validate_arguments
from dalembert.errors import InputError, suggest_name
from dalembert.simulation.trajectory_data import TrajectoryData
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
        from dalembert.api.saved_runs import record_of
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
