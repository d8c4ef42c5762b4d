"""Observables along a motion: energies, momenta, speeds and constraint violations, compiled as one function.

Errors are the norms of papers/volterra: 2-norms over the samples, relative to the initial value unless it is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.formalisms.shared.common_quantities import jacobi
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.generalized_speeds import speed_map
from dalembert.mechanics.state_batch import States, motion_at
from dalembert.mechanics.system import System
from dalembert.model.description import Elements
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.symbolic.algebra_base import Array, stack, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.symbols import TIME, Lowering, SymbolKind


@dataclass(frozen=True)
class Observed:
    """Observables along a motion, samples on the last axis."""

    kinetic: np.ndarray
    potential: np.ndarray
    jacobi: np.ndarray  # q̇·∂L/∂q̇ − L
    momenta: np.ndarray  # generalized momenta ∂L/∂q̇, (n, samples)
    linear_momentum: np.ndarray  # Σ m V_G, world axes, (3, samples); zero for models defined by energies
    angular_momentum: np.ndarray  # about the world origin, world axes, (3, samples)
    speeds: np.ndarray  # u, (d, samples)
    position_violation: np.ndarray  # φ, (holonomic, samples)
    velocity_violation: np.ndarray  # φ̇ and ψ, (constraints, samples)

    @property
    def total(self) -> np.ndarray:
        """T + V."""
        return self.kinetic + self.potential


class EnergySamples(NamedTuple):
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
    def _function(self) -> CompiledFunction:
        system = self.system
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, stack(*self._parts), parameters, system.engine)

    @cached_property
    def _interpreted(self) -> CompiledFunction:
        """Energies and generalized momenta in NumPy, without compilation."""
        system = self.system
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, stack(*self._parts[:2]), parameters, "python")

    def energies(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, parameters: np.ndarray) -> EnergySamples:
        """Energies and generalized momenta at a few samples (t, q, q̇); machine code is used if it already exists."""
        if "_function" in self.__dict__:
            found = self.along(t, q, qd, parameters)
            return EnergySamples(found.kinetic, found.potential, found.jacobi, found.momenta)
        out = self._interpreted(np.concatenate([q, qd, t[None]], axis=0), parameters)
        return EnergySamples(out[0], out[1], out[2], out[3:])

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

    If x₀ is only rounding relative to `size`, the magnitude of the terms of x, it is replaced by `size`; if both are
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


def drive_names(model: Elements) -> tuple[str, ...]:
    """The drives: torques and forces in joints, and constraints that prescribe the motion of a coordinate."""
    loads = tuple(load.name for load in model.loads if load.drives)
    return (*loads, *(c.name for c in model.holonomic_constraints if c.prescribed))


def joint_efforts(
    model: Elements, parameters: Mapping[str, float], t: np.ndarray, q: np.ndarray, qd: np.ndarray
) -> dict[str, np.ndarray]:
    """The torque or force of every drive in a joint along the samples, positive on the child.

    >>> from dalembert.model.model import Model
    >>> model = Model("arm").parameters(k=2.0).coordinates("a")
    >>> _ = model.body("link", joint=model.revolute((0, 0, 1), "a"), mass=1).joint_torque("link", "-k*a", name="motor")
    >>> joint_efforts(model, {"k": 3.0}, np.zeros(2), np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    {'motor': array([-3., -6.])}
    """
    names = model.coordinate_names
    values = {**parameters, TIME.name: t, **dict(zip(names, q, strict=True))}
    values |= dict(zip(map(SymbolKind.RATE.of, names), qd, strict=True))
    number = Lowering(FLOATS, values)
    drives = tuple(load for load in model.loads if load.drives)
    by_formula = {load.name: load.value for load in drives if isinstance(load, JointTorque)}
    others = tuple(load for load in drives if not isinstance(load, JointTorque))
    measured = load_forces(model.replaced(loads=others), parameters, t, q, qd)
    return {
        load.name: np.zeros(len(t)) + number(by_formula[load.name])
        if load.name in by_formula
        else measured[load.name][0]
        for load in drives
    }


def load_forces(
    model: Elements, parameters: Mapping[str, float], t: np.ndarray, q: np.ndarray, qd: np.ndarray
) -> dict[str, np.ndarray]:
    """The forces and torques of every load along the samples, by name.

    On bodies they are in world axes, (3, samples); between two points it is the force on the second. Loads in
    joints are scalars along the joint motion, positive on the child, (1, samples).

    >>> from dalembert.model.model import Model
    >>> model = Model("block").parameters(k=2.0).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("block", ("-k*x", 0, 0), name="pull")
    >>> load_forces(model, {"k": 3.0}, np.zeros(2), np.array([[1.0, 2.0]]), np.zeros((1, 2)))["pull"][0]
    array([-3., -6.])
    """
    if not model.loads:
        return {}
    motion, out = motion_at(model, States(q, qd, t), parameters), {}
    for load in model.loads:
        # a spring with a damper contributes twice, and the reaction of a torque has another name
        parts = [part.force for part in load.applied(motion) if part.name == load.name]
        total = sum(parts[1:], start=parts[0]) if parts else zeros(1)
        out[load.name] = numbers(total, len(t))
    return out
