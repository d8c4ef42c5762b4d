"""A motion that was computed, and everything that can be asked of it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.analysis import norms
from dalembert.analysis.observables import Observed
from dalembert.analysis.reactions import JointReaction
from dalembert.errors import InputError
from dalembert.integrators import Solution
from dalembert.show.run import Run

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations


def joint_reactions(
    equations: Equations, frame: str, state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
) -> dict[str, JointReaction]:
    """The joint reactions at (q, q̇, q̈, t, λ), one state or many."""
    model = equations.model
    if not model.bodies:
        raise InputError(f"model '{model.name}' is given by its energies, so it has no joints. Describe it by bodies.")
    if frame not in ("world", "parent", "child"):
        raise InputError(f"joint_reactions: there is no frame '{frame}'. Expected 'world', 'parent' or 'child'.")
    return equations.workspace.joint_reactions.along(*state, equations._values, frame)


class Trajectory:
    """A sampled motion: coordinates on the first axis, samples on the last.

    >>> import dalembert as dl
    >>> run = dl.derive(dl.load("simple-pendulum"), "lagrange").simulate(1.0, samples=11)
    >>> run.q.shape, run.status
    ((1, 11), 'The simulation reached its end.')
    """

    def __init__(
        self, equations: Equations, solution: Solution, constants: np.ndarray, integrator: str, cpu_seconds: float
    ) -> None:
        self.equations = equations
        self.solution = solution
        self.integrator = integrator
        self.cpu_seconds = cpu_seconds
        self._constants = constants
        n = len(equations.model.coordinate_names)
        self.t: np.ndarray = solution.t
        self.q: np.ndarray = solution.y[:n]
        self.v: np.ndarray = solution.y[n : equations.n_states]
        self.work: np.ndarray = solution.y[-1] if equations.kernel.has_work else np.zeros(len(self.t))

    @property
    def status(self) -> str:
        """How the simulation ended, as a sentence."""
        return self.solution.status.value

    @property
    def formalism(self) -> str:
        """The key of the formalism that was integrated."""
        return self.equations.formalism

    def at(self, t: float) -> np.ndarray:
        """The state (q, v) at any time of the run; needs `simulate(dense=True)`."""
        if not self.solution.dense:
            raise InputError("this run kept only its samples. Simulate with dense=True to ask for other times.")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(f"t = {t:g} is outside the run. Expected {self.t[0]:g} to {self.t[-1]:g}.")
        starts = [start for start, _, _ in self.solution.dense]
        index = max(0, int(np.searchsorted(starts, t, side="right")) - 1)
        return self.solution.dense[index][2](t)[: self.equations.n_states]

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        """q̇ and q̈ along the run."""
        constants = np.repeat(self._constants[:, None], len(self.t), axis=1)
        rates, accelerations, _ = self.equations.kernel.accelerations(self.q, self.v, self.t, constants)
        return rates, accelerations

    @property
    def qd(self) -> np.ndarray:
        """q̇ along the run, (n, samples)."""
        return self.v if self.equations.about.velocities == "q̇" else self._found[0]

    @property
    def qdd(self) -> np.ndarray:
        """q̈ along the run, (n, samples)."""
        return self._found[1]

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta, speeds and violations along the run."""
        return self.equations.workspace.observables.along(self.t, self.q, self.qd, self.equations._values)

    @property
    def speeds(self) -> np.ndarray:
        """The quasi-velocities u along the run, (d, samples)."""
        return self.observed.speeds

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
        return self.observed.jacobi - self.work

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
        """The violation of every constraint: positions φ first, then velocities φ̇ and ψ; see `violation_names`."""
        return np.concatenate([self.observed.position_violation, self.observed.velocity_violation], axis=0)

    @property
    def violation_names(self) -> tuple[str, ...]:
        """What the rows of `violation` are."""
        names = self.equations.workspace.structure.levels.names
        held = len(self.observed.position_violation)
        return (*(f"{name}, position" for name in names[:held]), *(f"{name}, velocity" for name in names))

    @cached_property
    def reactions(self) -> np.ndarray:
        """The generalized reaction forces Aᵀλ along the run, (n, samples)."""
        constants = np.repeat(self._constants[:, None], len(self.t), axis=1)
        return self.equations.kernel.reactions(self.q, self.v, self.t, constants)

    @cached_property
    def multipliers(self) -> np.ndarray:
        """λ along the run, (constraints, samples); the smallest where it is not unique."""
        _, _, A, _ = self.equations.workspace.manifold.evaluate(self.q, self.qd, self.t, self.equations._values)
        inverse = np.linalg.pinv(np.moveaxis(A, (0, 1), (-1, -2)), rcond=1e-12)
        return np.einsum("skn,ns->ks", inverse, self.reactions)

    def joint_reactions(self, frame: str = "world") -> dict[str, JointReaction]:
        """The force and moment in every joint along the run, by the name of the child body.

        What the parent exerts on the child through the joint, drives included, at the origin of the child's frame, in the
        axes of `frame`: `world`, `parent` or `child`. Constraints given by formulas act through the coordinates, so they
        show up as drives; contacts (knife edges, rolling discs) act at their place.
        """
        return joint_reactions(self.equations, frame, (self.q, self.qd, self.qdd, self.t, self.multipliers))

    # the papers' norms

    @property
    def energy_error(self) -> float:
        """The 2-norm over the samples of the relative drift of the energy balance."""
        size = float(np.abs(self.kinetic).max() + np.abs(self.potential).max())
        return norms.relative_drift(self.balance, size)

    @property
    def constraint_error(self) -> float | None:
        """The 2-norm over the samples of all velocity-level violations; None without constraints."""
        violated = self.observed.velocity_violation
        return norms.violation(violated) if len(violated) else None

    @property
    def momentum_error(self) -> float | None:
        """The 2-norm over the samples of the relative drift of the first ignorable momentum; None without one."""
        ignorable = self.equations.workspace.structure.ignorable
        return norms.relative_drift(self.momenta[ignorable[0]]) if ignorable else None

    # handing on

    def to_xarray(self) -> Any:
        """The run as an xarray Dataset with named coordinates, units and descriptions."""
        from dalembert.show import dataset

        return dataset.from_trajectory(cast(Run, self))

    def save(self, path: str | Path) -> Path:
        """Write the run to NetCDF (.nc) or CSV (.csv); the file appears only when it is complete."""
        from dalembert.show import dataset

        return dataset.save(cast(Run, self), Path(path))

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot coordinates, energy and constraints; returns the matplotlib figure, and saves it when a path is given."""
        from dalembert.show import plots

        return plots.trajectory(cast(Run, self), None if path is None else Path(path))

    def __repr__(self) -> str:
        return (
            f"<Trajectory of '{self.equations.model.name}' by {self.formalism}, {self.integrator}: "
            f"{len(self.t)} samples from t = {self.t[0]:g} to {self.t[-1]:g}>"
        )
