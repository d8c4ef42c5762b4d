"""A motion that was computed, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import Array, vector
from dalembert.analysis import observables
from dalembert.analysis.action import Variation
from dalembert.analysis.drives import drive_names, joint_efforts, load_forces
from dalembert.analysis.observables import Observed
from dalembert.analysis.reactions import JointReaction
from dalembert.analysis.work import Work
from dalembert.arguments import checked
from dalembert.equations.power import MOVING, carried_along
from dalembert.errors import InputError, nearest
from dalembert.handles.partition import Part, work_along
from dalembert.handles.run_places import Places, Samples, asked
from dalembert.handles.switching import Happening
from dalembert.integrators import Solution
from dalembert.kernels import Kernel
from dalembert.model import Elements
from dalembert.model.frozen import Value
from dalembert.structure import Facts, System, rank
from dalembert.tables import Table, Tabular, short

if TYPE_CHECKING:
    import pandas
    import xarray

    from dalembert.handles.equations import Equations
    from dalembert.show.animation import Animation
    from dalembert.show.plot_figure import Plot
    from dalembert.show.scene import Scene


def joint_reactions(
    equations: Equations,
    values: np.ndarray,
    frame: str,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> dict[str, JointReaction]:
    """The joint reactions at (q, q̇, q̈, t, λ), one state or many."""
    model = equations.model
    if not model.bodies:
        raise InputError(f"model '{model.name}' is given by its energies, so it has no joints. Describe it by bodies.")
    if frame not in ("world", "parent", "child"):
        raise InputError(f"joint_reactions: there is no frame '{frame}'. Expected 'world', 'parent' or 'child'.")
    return equations.workspace.joint_reactions.along(*state, values, frame)


def smallest_multipliers(known: Facts, A: np.ndarray, reaction: np.ndarray) -> np.ndarray:
    """The smallest λ with Aᵀλ = reaction; A (k, n) or (k, n, batch), reaction (n,) or (n, batch)."""
    rows, force = np.moveaxis(A, (0, 1), (-2, -1)), np.moveaxis(reaction, 0, -1)
    return np.moveaxis(rank.smallest_multipliers(rows, force, known.scales.positions, len(known.rows)), -1, 0)


def _joined(parts: Sequence[Part]) -> Solution:
    """The counts of all stretches; the states stay with them."""
    last = parts[-1].solution
    calls = [part.solution.evaluations for part in parts]
    total = None if None in calls else sum(c for c in calls if c is not None)
    steps = sum(part.solution.steps for part in parts)
    dense = tuple(piece for part in parts for piece in part.solution.dense)
    return replace(last, steps=steps, evaluations=total, dense=dense)


def _columns(part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, t and the constants along a stretch."""
    n, size, t = len(part.equations.model.coordinate_names), part.equations.n_states, part.solution.t
    y, known = part.solution.y, part.constants
    return y[:n], y[n:size], t, known if known.ndim == 2 else np.repeat(known[:, None], len(t), axis=1)


def _carried(system: System) -> Array:
    return vector([carried_along(system)])


def _carrying_rate(system: System) -> Array:
    return system.derivative(_carried(system))


@dataclass(frozen=True, repr=False)
class Trajectory(Places, Tabular, Value):
    """A sampled motion: coordinates on the first axis, samples on the last.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> run.q.shape, run.status
    ((1, 11), 'The simulation reached its end.')
    """

    equations: Equations
    parts: tuple[Part, ...]  # later ones begin with the state the earlier ended in
    integrator: str
    cpu_seconds: float
    notes: tuple[str, ...] = ()  # what was noticed on the way, in sentences
    happened: tuple[Happening, ...] = ()  # events and switchings
    held: Equations | None = None  # the equations with every condition held, where there are such

    @property
    def events(self) -> tuple[Happening, ...]:
        """The events along the run, each with its name, its time and the state on both sides: see `Model.event`."""
        return tuple(each for each in self.happened if not each.switching)

    @property
    def switchings(self) -> tuple[Happening, ...]:
        """Where formulas changed their branch along the run."""
        return tuple(each for each in self.happened if each.switching)

    @property
    def used(self) -> Equations:
        """The equations that were integrated, as they stand at the start: with every condition held."""
        return self.held or self.equations

    @cached_property
    def values(self) -> np.ndarray:
        """The values of the parameters of `used`: (parameters,), or (parameters, samples) where they change on the way."""
        if self.held is None and not self.equations.model.controllers:
            return self.equations.values
        count = len(self.used.values)
        return self._together(lambda part: _columns(part)[3][:count])

    @property
    def _named(self) -> dict[str, Any]:
        """The same by name."""
        return dict(zip(self.used.model.parameter_values, self.values, strict=True))

    @property
    def solution(self) -> Solution:
        """How the motion was reached."""
        return self.parts[-1].solution if len(self.parts) == 1 else _joined(self.parts)

    @cached_property
    def t(self) -> np.ndarray:
        """The times of the samples."""
        return self._together(lambda part: part.solution.t)

    @cached_property
    def q(self) -> np.ndarray:
        """The coordinates along the run, (n, samples)."""
        n = len(self.equations.model.coordinate_names)
        return self._together(lambda part: part.solution.y[:n])

    @cached_property
    def work(self) -> Work:
        """The work of everything that has no potential, from the start: arrays by name, and `total`; T + V grows by it.

        Loads and forces stand by their names, constraints that move with time or are servo constraints by theirs, C as
        "non-ideal constraints", and what moves bodies by a formula of time as "prescribed motion".

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> run = dl.simulate(model, 1.0, samples=11)
        >>> list(run.work), bool(abs(run.energy - run.energy[0] - run.work["bearing"]).max() < 1e-12)
        (['bearing'], True)
        """
        found, moved = self._put_in, self._carried_along
        if moved is not None:
            found = found | {MOVING: found.get(MOVING, 0.0) + moved - moved[0]}
        return Work(found, len(self.t))

    @checked
    def power(self, name: str) -> np.ndarray:
        """The power of one of `work` along the run: its rate, by the formulas that are integrated.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> run = dl.simulate(model, 1.0, samples=11)
        >>> bool(abs(run.power("bearing") + 0.1 * run.qd[0] ** 2).max() < 1e-12)
        True
        """
        if name not in self.work:
            raise InputError(f"power: {self.work.missing(name)}")
        return self._rates_of_work[name]

    @cached_property
    def _rates_of_work(self) -> dict[str, np.ndarray]:
        """The powers along the run; none where something does no work, or works at once."""
        along = [dict(zip(part.equations.working, self._powers(part), strict=True)) for part in self.parts]
        nothing = [np.zeros(len(part.solution.t)) for part in self.parts]
        found = {
            name: self._end_to_end([each.get(name, none) for each, none in zip(along, nothing, strict=True)])
            for name in self.work
        }
        if self._carried_along is not None:
            state, equations = (self.q, self._natural, self.qdd), self.equations
            found[MOVING] += equations.workspace.evaluated(_carrying_rate, state, self.t, equations.values)[0]
        return found

    def _powers(self, part: Part) -> np.ndarray:
        """The powers along a stretch."""
        _, _, t, constants = _columns(part)
        return part.equations.kernel.state_rates(part.solution.y, t, constants)[part.equations.n_states :]

    @cached_property
    def _put_in(self) -> dict[str, np.ndarray]:
        """What the Jacobi function grew by, by what put it in."""
        along = work_along(self.parts)
        return {name: self._end_to_end([found[name] for found in along]) for name in along[0]}

    @cached_property
    def _carried_along(self) -> np.ndarray | None:
        """What T + V exceeds the Jacobi function by along the run; None where bodies do not move explicitly with time."""
        space = self.equations.workspace
        if not space.carries:
            return None
        return space.evaluated(_carried, (self.q, self._natural), self.t, self.equations.values)[0]

    def _together(self, values: Callable[[Part], np.ndarray]) -> np.ndarray:
        return self._end_to_end([values(part) for part in self.parts])

    def _end_to_end(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """What there is along each part, over all samples."""
        return np.concatenate([each[..., i > 0 :] for i, each in enumerate(values)], axis=-1)

    def _evaluated(
        self, work: Callable[[Kernel, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What the compiled equations say of (q, v, t, constants) along the run."""
        return self._together(lambda part: work(part.equations.kernel, *_columns(part)))

    @cached_property
    def v(self) -> np.ndarray:
        """The velocity variables of the formalism along the run; with the speeds of the start, where they were chosen again."""
        choice = self.equations.derivation.setup.choice
        same = all(part.equations.derivation.setup.choice == choice for part in self.parts)
        if same or self.equations.about.velocities.are_rates:
            return self._together(lambda part: part.solution.y[len(self.q) : part.equations.n_states])
        start, values = self.equations.kernel.start, self.equations.values
        samples = zip(self.q.T, self._natural.T, self.t, strict=True)
        return np.stack([start(q, qd, t, values)[0] for q, qd, t in samples], axis=1)

    @checked
    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """What is known by name: a row, such as a coordinate, dot(x), ddot(x), a speed, t, or any column of `to_dataframe`.

        With two names, what is known of a body, a load or a joint: position, velocity, acceleration, rotation, orientation (a
        quaternion), angular_velocity, angular_acceleration, force or moment, in world axes and of the body's origin.

        >>> import dalembert as dl
        >>> run = dl.simulate("simple-pendulum", 1.0, samples=11)
        >>> run["theta"].shape, bool((run["dot(theta)"] == run.qd[0]).all())
        ((11,), True)
        >>> run["bob", "position"].shape, run["bob", "force"].shape
        ((3, 11), (3, 11))
        """
        if isinstance(name, tuple):
            return asked(self, *name)
        names = self.equations.model.coordinate_names
        if name == "t":
            return self.t
        rows = dict(zip(names, self.q, strict=True)) | dict(zip((f"dot({x})" for x in names), self.qd, strict=True))
        rows |= dict(zip(self.speed_names, self.speeds, strict=True))
        if name not in rows:
            from dalembert.show import dataset

            rows |= {column.name: column.values for column in dataset.columns_of(dataset.from_trajectory(self))}
        if name not in rows:
            raise InputError(f"the run has no '{name}'. {nearest(name, rows)}")
        return rows[name]

    @property
    def status(self) -> str:
        """How the simulation ended, as a sentence."""
        return self.solution.status.value

    @property
    def formalism(self) -> str:
        """The key of the formalism that was integrated."""
        return self.equations.formalism

    @checked
    def at(self, t: float) -> np.ndarray:
        """The state (q, v) at any time of the run; needs `simulate(dense=True)`."""
        if not self.solution.dense:
            raise InputError("this run kept only its samples. Simulate with dense=True to ask for other times.")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(f"t = {t:g} is outside the run. Expected {self.t[0]:g} to {self.t[-1]:g}.")
        later = [part for part in self.parts if part.solution.dense and part.solution.dense[0].t0 <= t]
        part = later[-1] if later else self.parts[0]
        starts = [piece.t0 for piece in part.solution.dense]
        index = max(0, int(np.searchsorted(starts, t, side="right")) - 1)
        y = part.solution.dense[index](t)[: part.equations.n_states]
        if part.equations.derivation.setup.choice == self.equations.derivation.setup.choice:
            return y
        n = len(self.q)
        qd = part.equations.kernel.velocities(
            y, t, part.constants if part.constants.ndim == 1 else part.constants[:, 0]
        )
        return np.concatenate([y[:n], self.equations.kernel.start(y[:n], qd, t, self.equations.values)[0]])

    @cached_property
    def _found(self) -> np.ndarray:
        """q̇ and q̈ along the run, (2, n, samples)."""
        return self._evaluated(lambda kernel, *state: np.stack(kernel.accelerations(*state)[:2]))

    @property
    def qd(self) -> np.ndarray:
        """q̇ along the run, (n, samples): the rate that is integrated, with the term of the multipliers that dirac has."""
        return self.v if self.equations.about.velocities.are_rates else self._found[0]

    @cached_property
    def _natural(self) -> np.ndarray:
        """The velocities that belong to the momenta, H_p: energies, momenta and violations are those of the state (q, p)."""
        if self.equations.form.own_multipliers is None:
            return self.qd
        return self._together(lambda part: part.equations.kernel.velocities(part.solution.y, *_columns(part)[2:]))

    @property
    def qdd(self) -> np.ndarray:
        """q̈ along the run, (n, samples)."""
        return self._found[1]

    @property
    def samples(self) -> Samples:
        """The states along the run."""
        return Samples(self.equations, self.t, self.q, self.qd, self.qdd)

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta, speeds and violations along the run."""
        return self.used.workspace.observables.along(self.t, self.q, self._natural, self.values)

    @property
    def speeds(self) -> np.ndarray:
        """The quasi-velocities u along the run, (d, samples)."""
        return self.observed.speeds

    @property
    def speed_names(self) -> tuple[str, ...]:
        """What the rows of `speeds` are."""
        return self.equations.workspace.facts.speed_names

    @property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas of the velocities."""
        return tuple(map(str, self.equations.workspace.facts.speeds))

    @property
    def kinetic(self) -> np.ndarray:
        """T along the run."""
        return self.observed.kinetic

    @property
    def potential(self) -> np.ndarray:
        """V along the run."""
        return self.observed.potential

    @property
    def energy(self) -> np.ndarray:
        """T + V along the run."""
        return self.observed.total

    @property
    def balance(self) -> np.ndarray:
        """Energy less the work that was put in, constant in an exact motion: (80) of papers/volterra.

        Where bodies or constraints move explicitly with time, the Jacobi function stands for the energy.
        """
        return self.observed.jacobi - sum(self._put_in.values())

    @property
    def momenta(self) -> np.ndarray:
        """The generalized momenta ∂L/∂q̇ along the run, (n, samples)."""
        return self.observed.momenta

    @property
    def linear_momentum(self) -> np.ndarray:
        """Σ m V_G in world axes, (3, samples)."""
        return self.observed.linear_momentum

    @property
    def angular_momentum(self) -> np.ndarray:
        """The angular momentum about the world origin in world axes, (3, samples)."""
        return self.observed.angular_momentum

    @property
    def violation(self) -> np.ndarray:
        """The violation of every constraint: positions φ first, then velocities φ̇ and ψ; see `violation_names`.

        With constraints on momenta it is that of all constraints in phase space.
        """
        if self._canonical_violation is not None:
            return self._canonical_violation
        return np.concatenate([self.observed.position_violation, self.observed.velocity_violation], axis=0)

    @cached_property
    def _canonical_violation(self) -> np.ndarray | None:
        """With constraints on momenta: the violation of all constraints in phase space, those that are implied included."""
        phase = self.equations.kernel.phase
        if phase is None:
            return None
        return phase.violations(np.concatenate([self.q, self.v]), self.t, self.values)

    @property
    def violation_names(self) -> tuple[str, ...]:
        """What the rows of `violation` are."""
        phase = self.equations.kernel.phase
        if phase is not None:
            return phase.names
        names = self.constraint_names
        held = len(self.observed.position_violation)
        return (*(f"{name}, position" for name in names[:held]), *(f"{name}, velocity" for name in names))

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the rows of `multipliers`; see `Equations.constraint_names`."""
        return self.equations.constraint_names

    @cached_property
    def reactions(self) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C along the run, (n, samples): ideal and non-ideal part together."""
        return self._evaluated(Kernel.reactions)

    @cached_property
    def ideal_reactions(self) -> np.ndarray:
        """The first part of (3.47) in papers/poincare along the run, (n, samples): the reactions if C were zero."""
        return self._evaluated(Kernel.ideal_reactions)

    @property
    def non_ideal_reactions(self) -> np.ndarray:
        """The second part of (3.47) in papers/poincare along the run, (n, samples): what C adds to the reactions."""
        return self.reactions - self.ideal_reactions

    @cached_property
    def multipliers(self) -> np.ndarray:
        """λ of M q̈ = h + C + Aᵀλ along the run, one row for each of `constraint_names`; the smallest where not unique."""
        self.equations.model.refuse_canonical("multipliers")
        _, _, A, _ = self.used.workspace.manifold.evaluate(self.q, self.qd, self.t, self.values)
        return smallest_multipliers(self.equations.workspace.facts, A, self._evaluated(Kernel.carried))

    @cached_property
    def drives(self) -> dict[str, np.ndarray]:
        """What every drive exerts along the run, by name: torques and forces in joints, and the λ of prescribed motions.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().drive("theta", "pi/2 + 0*t")
        >>> run = dl.simulate(model, 1.0, samples=3)  # held level: τ = m g l
        >>> run.drives["drive of theta"].round(9).tolist()
        [9.81, 9.81, 9.81]
        """
        model, values = self.used.model, self._named
        names = [name for name in self.constraint_names if name in drive_names(model)]
        rows = dict(zip(self.constraint_names, self.multipliers, strict=True)) if names else {}
        return joint_efforts(model, values, self.t, self.q, self.qd) | {name: rows[name] for name in names}

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """What laws in Python gave along the run, by the name of their load: (samples,), or (3, samples) for a force.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().actuator("bob", law=lambda t, state: 2 * t, name="motor")
        >>> dl.simulate(model, 1.0, samples=3).inputs["motor"]
        array([0., 1., 2.])
        """
        known, out = self.equations.model.inputs, dict[str, np.ndarray]()
        for controller in known.controllers:
            for load in controller.loads:
                rows = self.values[known.rows(controller.of_load(load))]
                out[load] = rows if len(rows) > 1 else rows[0]
        return out

    @cached_property
    def load_forces(self) -> dict[str, np.ndarray]:
        """What every load exerts along the run, by name: world axes (3, samples), or along the motion of its joint (1, samples).

        Between two points it is the pull on the second.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_torque("bob", "2*t", name="motor")
        >>> dl.simulate(model, 1.0, samples=3).load_forces["motor"]
        array([[0., 1., 2.]])
        """
        return load_forces(self._loaded, self._named, self.t, self.q, self.qd)

    @property
    def _loaded(self) -> Elements:
        """The model with the loads that act."""
        return self.used.model

    @property
    def knows_joints(self) -> bool:
        """True where `joint_reactions` can be asked for: bodies, and constraints that are not on momenta."""
        return bool(self.equations.model.bodies) and not self.equations.model.canonical_list

    @checked
    def joint_reactions(self, frame: str = "world") -> dict[str, JointReaction]:
        """The force and moment in every joint along the run, by the name of the child body.

        What the parent exerts on the child through the joint, drives included, at the place of the joint, in the
        axes of `frame`: `world`, `parent` or `child`. Constraints given by formulas, and C of non-ideal ones, act through
        the coordinates, so they show up as drives; contacts (knife edges, rolling discs) act at their place.
        """
        return joint_reactions(self.used, self.values, frame, (self.q, self.qd, self.qdd, self.t, self.multipliers))

    # the principle of least action

    def action(self) -> float:
        """∫ L dt along the run, (5.158) of papers/desapio.

        Between the samples the motion is the polynomial of degree 5 through q, q̇ and q̈ at both. Since the action is
        stationary along a motion, the error falls with the tenth power of their distance.

        >>> import dalembert as dl
        >>> free = dl.Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [3])
        >>> round(dl.simulate(free, 2.0, samples=5).action(), 12)
        9.0
        """
        return self.equations.action(self.t, self.q, self.qd, self.qdd)

    def variation(self, *, count: int = 4, seed: int = 0, steps: Sequence[float] = (0.1, 0.01, 0.001)) -> Variation:
        """The first variation of the action under `count` random variations, and its change at steps ε along each of them.

        Variations are smooth, fulfil Φ δq = 0 and vanish at both ends: (5.258) of papers/desapio. Along a motion the first
        variation vanishes, and the change falls with ε²; forces without potential enter by their virtual work (5.161),
        constraints on velocities as d'Alembert has it. ε is counted in the scales of the coordinates: about a radian, or the
        length of the model.

        >>> import dalembert as dl
        >>> found = dl.simulate("simple-pendulum", 1.0, samples=101).variation()
        >>> found.vanishes, found.orders.round(2).tolist()
        (True, [2.0, 2.0, 2.0, 2.0])
        """
        state = (self.t, self.q, self.qd, self.qdd)
        return self.equations.variation(*state, count=count, seed=seed, steps=steps)

    # the papers' norms

    @property
    def energy_error(self) -> float:
        """The 2-norm over the samples of the relative drift of the energy balance."""
        size = float(np.abs(self.kinetic).max() + np.abs(self.potential).max())
        return observables.relative_drift(self.balance, size)

    @property
    def constraint_error(self) -> float | None:
        """The 2-norm over the samples of all violations of velocities and momenta; None without constraints."""
        violated = self.observed.velocity_violation if self._canonical_violation is None else self._canonical_violation
        return observables.violation(violated) if len(violated) else None

    @property
    def momentum_error(self) -> float | None:
        """The 2-norm over the samples of the relative drift of the first ignorable momentum; None without one."""
        ignorable = self.equations.workspace.facts.ignorable
        return observables.relative_drift(self.momenta[ignorable[0]]) if ignorable else None

    # handing on

    def to_xarray(self) -> xarray.Dataset:
        """The run as an xarray Dataset with named coordinates, units and descriptions."""
        from dalembert.show import dataset

        return dataset.from_trajectory(self)

    def to_dataframe(self) -> pandas.DataFrame:
        """The run as a table of pandas: a row for each sample, a column for everything with a name; units in `.attrs["units"]`.

        >>> import dalembert as dl
        >>> table = dl.simulate("simple-pendulum", 1.0, samples=11).to_dataframe()
        >>> len(table), table.attrs["units"]["dot(theta)"], list(table.columns[:3])
        (11, 'rad/s', ['theta', 'dot(theta)', 'ddot(theta)'])
        """
        from dalembert.show import dataset

        return dataset.frame_of(dataset.from_trajectory(self))

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the run to NetCDF (.nc), which `dalembert.load_run` reads again without loss, or the samples to a table.

        Tables are .csv, .mat for MATLAB, and .parquet where pyarrow is installed. All hold coordinates, rates, accelerations,
        speeds, energies, works and powers, multipliers, reactions, and forces of loads and in joints, with names and units. The
        file appears only when it is complete.
        """
        from dalembert.handles.saved import record_of
        from dalembert.show import dataset

        return dataset.save(self, Path(path), lambda: record_of(self))

    def plot(self, *what: str | Path, path: str | Path | None = None) -> Plot:
        """Draw the run; returns the figure, which a notebook shows, and saves it where a path is given.

        `what` are names of panels: coordinates, velocities, energy, work, balance, violation (the overview that is drawn without
        names), momenta, multipliers, reactions, joints, drives, phase. A name that ends in .png, .pdf or .svg is the path.

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
        from dalembert.show import plots

        names = [each for each in what if not plots.is_picture(each)]
        places = [Path(each) for each in (*what, path) if each is not None and each not in names]
        if len(places) > 1:
            raise InputError(f"plot: got {len(places)} files, {', '.join(map(str, places))}. Expected one at most.")
        return plots.trajectory(self, places[0] if places else None, [str(name) for name in names])

    def scene(self) -> Scene:
        """What the run looks like: shapes, motion, time histories and forces, as pages and films are made of it."""
        from dalembert.show.scene import scene_of

        return scene_of(self.equations.derivation.setup.declared, self)

    @checked
    def animate(
        self,
        path: str | Path | None = None,
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        pixels: int = 480,
        frames: int = 4,
    ) -> Animation:
        """The run as a moving picture, which a notebook shows; written where a path is given.

        The name says what is written: a page with the viewer (.html), a film (.mp4, .gif), or `frames` moments side by side
        (.png, .pdf, .svg). Films have `fps` frames a second, show `speed` seconds of the run in each second, and are `pixels`
        wide and high. The file appears only when it is complete.

        >>> import dalembert as dl, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = dl.simulate("simple-pendulum", 1.0, samples=11).animate(folder / "swing.png", frames=2)
        >>> (folder / "swing.png").read_bytes()[1:4]
        b'PNG'
        """
        from dalembert.show.animation import Animation

        shown = Animation(self.scene(), fps=fps, speed=speed, pixels=pixels, frames=frames)
        if path is not None:
            shown.save(path)
        return shown

    def _repr_html_(self) -> str:
        """The tables, and the viewer below them where the model can be drawn."""
        from dalembert.show.animation import Animation

        tables = super()._repr_html_()
        drawn = Animation(self.scene())._repr_html_() if self.equations.model.bodies else None
        return tables if drawn is None else f"{tables}\n{drawn}"

    def tables(self) -> tuple[Table, ...]:
        """Every coordinate at both ends, with its smallest and largest value, and what was lost on the way."""
        first, last = f"t = {self.t[0]:g}", f"t = {self.t[-1]:g}"
        rows = [
            (name, *(short(float(x)) for x in (values[0], values[-1], values.min(), values.max())))
            for name, values in zip(self.equations.model.coordinate_names, self.q, strict=True)
        ]
        title = (
            f"{self.equations.model.name} by {self.formalism}, {self.integrator}: {len(self.t)} samples. {self.status}"
        )
        lost = f"Relative drift of the energy balance: {short(float(self.energy_error))}."
        return (Table(("coordinate", first, last, "least", "most"), tuple(rows), title, (lost, *self.notes)),)

    def __repr__(self) -> str:
        return (
            f"<Trajectory of '{self.equations.model.name}' by {self.formalism}, {self.integrator}: "
            f"{len(self.t)} samples from t = {self.t[0]:g} to {self.t[-1]:g}>"
        )
