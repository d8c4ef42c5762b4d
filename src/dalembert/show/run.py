"""What plots and data sets need of a simulated motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.model import Elements
from dalembert.structure import Facts


class Run(Protocol):
    """A simulated motion, samples on the last axis; `dalembert.Trajectory` is one."""

    t: np.ndarray
    q: np.ndarray
    work: np.ndarray
    integrator: str
    cpu_seconds: float

    @property
    def equations(self) -> Any:
        """The equations that were integrated."""
        ...

    @property
    def formalism(self) -> str:
        """The key of the formalism."""
        ...

    @property
    def status(self) -> str:
        """How the simulation ended."""
        ...

    @property
    def qd(self) -> np.ndarray:
        """Velocities."""
        ...

    @property
    def speeds(self) -> np.ndarray:
        """Quasi-velocities."""
        ...

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy."""
        ...

    @property
    def potential(self) -> np.ndarray:
        """Potential energy."""
        ...

    @property
    def energy(self) -> np.ndarray:
        """Total energy."""
        ...

    @property
    def balance(self) -> np.ndarray:
        """Energy less work."""
        ...

    @property
    def momenta(self) -> np.ndarray:
        """Generalized momenta."""
        ...

    @property
    def linear_momentum(self) -> np.ndarray:
        """Linear momentum in world axes."""
        ...

    @property
    def angular_momentum(self) -> np.ndarray:
        """Angular momentum about the world origin."""
        ...

    @property
    def violation(self) -> np.ndarray:
        """Violation of the constraints."""
        ...

    @property
    def violation_names(self) -> Sequence[str]:
        """What the rows of `violation` are."""
        ...

    @property
    def reactions(self) -> np.ndarray:
        """Generalized reaction forces."""
        ...

    @property
    def ideal_reactions(self) -> np.ndarray:
        """The reactions if C were zero."""
        ...

    @property
    def non_ideal_reactions(self) -> np.ndarray:
        """What C adds to the reactions."""
        ...

    @property
    def constraint_names(self) -> Sequence[str]:
        """What the rows of `multipliers` are."""
        ...

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers of the constraints."""
        ...


def model_of(run: Run) -> Elements:
    """The model that moves."""
    return run.equations.model


def structure_of(run: Run) -> Facts:
    """The structural facts of the model."""
    return run.equations.workspace.facts


def speed_units(run: Run) -> tuple[str, ...]:
    """The unit of every speed that is the rate of a coordinate with a unit, else nothing."""
    units = {f"dot({c.name})": rate_unit(c.unit) for c in model_of(run).coordinate_list}
    return tuple(units.get(str(formula), "") for formula in structure_of(run).speeds)


def rate_unit(unit: str) -> str:
    """The unit of a rate.

    >>> rate_unit("rad"), rate_unit("")
    ('rad/s', '')
    """
    return f"{unit}/s" if unit else ""


def balance_error(run: Run) -> np.ndarray:
    """|E − E₀| of the energy balance, relative to E₀, or to the largest energies where E₀ is nothing beside them."""
    size = float(np.max(np.abs(run.kinetic) + np.abs(run.potential)))
    start = abs(float(run.balance[0]))
    return np.abs(run.balance - run.balance[0]) / (start if start > 1e-6 * size else size or 1.0)


def momentum_error(run: Run) -> np.ndarray | None:
    """|p − p₀| of the first ignorable momentum, relative to p₀ unless that is 0; None without one."""
    ignorable = structure_of(run).ignorable
    if not ignorable:
        return None
    p = run.momenta[ignorable[0]]
    return np.abs(p - p[0]) / (abs(float(p[0])) or 1.0)
