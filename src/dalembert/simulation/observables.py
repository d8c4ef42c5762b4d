"""What can be observed along a motion: energies, momenta, speeds and violations, compiled as one function.

Errors are the norms of papers/volterra: 2-norms over the samples, relative to the initial value where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.function import Function, compile_function
from dalembert.formalisms.shared.common_quantities import jacobi
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.generalized_speeds import speed_map
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros
from dalembert.symbolic.rotations import cross


@dataclass(frozen=True)
class Observed:
    """Observables along a motion, samples on the last axis."""

    kinetic: np.ndarray
    potential: np.ndarray
    jacobi: np.ndarray  # q̇·∂L/∂q̇ − L
    momenta: np.ndarray  # generalized momenta ∂L/∂q̇, (n, samples)
    linear_momentum: np.ndarray  # Σ m V_G, world axes, (3, samples); zero for models given by energies
    angular_momentum: np.ndarray  # about the world origin, world axes, (3, samples)
    speeds: np.ndarray  # u, (d, samples)
    position_violation: np.ndarray  # φ, (holonomic, samples)
    velocity_violation: np.ndarray  # φ̇ and ψ, (constraints, samples)

    @property
    def total(self) -> np.ndarray:
        """T + V."""
        return self.kinetic + self.potential


class Energies(NamedTuple):
    """T, V, the Jacobi function (samples,) and the generalized momenta (n, samples) along a motion."""

    kinetic: np.ndarray
    potential: np.ndarray
    jacobi: np.ndarray
    momenta: np.ndarray


class Observables:
    """The observables of one system, compiled at first use."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def _parts(self) -> tuple[Array, ...]:
        system = self.system
        T, V = kinetic(system.motion, system.qd), potential(system.motion)
        P, H = body_momenta(system)
        Y, Z = speed_map(system.motion, system.facts.speeds)
        known = system.constraints
        scalars = vector([T, V, jacobi(system)])
        return (scalars, system.algebra.gradient(T, system.qd), P, H, Y @ system.qd + Z, known.phi, known.velocity)

    @cached_property
    def _function(self) -> Function:
        system = self.system
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, stack(*self._parts), parameters, system.engine)

    @cached_property
    def _interpreted(self) -> Function:
        """Energies and generalized momenta in NumPy: nothing is compiled."""
        system = self.system
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, stack(*self._parts[:2]), parameters, "python")

    def energies(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, parameters: np.ndarray) -> Energies:
        """Energies and generalized momenta at a few samples (t, q, q̇); machine code is used where it exists already."""
        if "_function" in self.__dict__:
            seen = self.along(t, q, qd, parameters)
            return Energies(seen.kinetic, seen.potential, seen.jacobi, seen.momenta)
        out = self._interpreted(np.concatenate([q, qd, t[None]], axis=0), parameters)
        return Energies(out[0], out[1], out[2], out[3:])

    def along(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, parameters: np.ndarray) -> Observed:
        """The observables at the samples (t, q, q̇)."""
        out = self._function(np.concatenate([q, qd, t[None]], axis=0), parameters)
        (T, V, jacobi_), p, P, H, u, phi, psi = np.split(out, np.cumsum([len(part) for part in self._parts])[:-1])
        return Observed(T, V, jacobi_, p, P, H, u, phi, psi)


def body_momenta(system: System) -> tuple[Array, Array]:
    """Σ m V_G and Σ r_G × m V_G + R I ω, both in world axes, about the world origin."""
    P, H = zeros(3), zeros(3)
    for body in system.motion.bodies:
        V, w = body.B @ system.qd + body.C, body.D @ system.qd + body.E
        P = P + body.mass * V
        H = H + cross(body.p_WG, body.mass * V) + body.R_WB @ (body.inertia @ w)
    return P, H


def relative_drift(values: np.ndarray, size: float = 0.0) -> float:
    """‖(x − x₀)/x₀‖₂ over the samples.

    Where x₀ is only rounding beside `size`, the size of what x is the sum of, that size takes its place; where both are
    zero the drift is absolute.

    >>> relative_drift(np.array([2.0, 2.0, 3.0]))
    0.5
    >>> relative_drift(np.array([1e-17, 0.5]), size=10.0)
    0.05
    """
    start = abs(float(values[0]))
    scale = start if start > 1e-12 * size else size
    return float(np.linalg.norm((values - values[0]) / (scale or 1.0)))


def violation(values: np.ndarray) -> float:
    """‖violation‖₂ over all rows and samples."""
    return float(np.linalg.norm(values))
