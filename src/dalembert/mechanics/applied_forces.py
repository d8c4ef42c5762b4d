"""What pushes on a model in motion: gravity, and the loads, each of which states its forces in its own file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.mechanics.motion import Motion
from dalembert.model.loads.base import Applied, Span, Wrench
from dalembert.symbolic.algebra_base import Array, Scalar, vector, zeros

NON_IDEAL = "non-ideal constraints"


@dataclass(frozen=True)
class Working:
    """What does work by a force of its own, and is accounted for by its name: its power is Q·q̇ + drift."""

    name: str
    Q: Array
    drift: Scalar = 0  # F·c, where the velocity is J q̇ + c


def spans(motion: Motion) -> list[Span]:
    """The loads whose force has no direction where their ends meet."""
    found = (load.span(motion) for load in motion.model.loads)
    return [span for span in found if span is not None]


def applied_forces(motion: Motion) -> list[Applied]:
    """Every force on the system, gravity first."""
    out = _gravity(motion)
    for load in motion.model.loads:
        out += load.applied(motion)
    return out


def _gravity(motion: Motion) -> list[Applied]:
    g = vector([motion.lower(x) for x in motion.model.gravity])
    if all(motion.algebra.is_zero(x) for x in g):
        return []
    return [
        Applied(
            f"gravity on {body.name}",
            body.mass * g,
            body.B,
            body.C,
            -body.mass * (g @ body.p_WG),
            (Wrench(body.name, body.mass * g, zeros(3)),),
        )
        for body in motion.bodies
        if not motion.algebra.is_zero(body.mass)
    ]


def non_ideal_forces(motion: Motion) -> Array | None:
    """C(q, q̇, t): what the constraints do beyond d'Alembert's principle, (3.44) of papers/poincare; None when ideal."""
    given = motion.model.non_ideal_forces
    if not given:
        return None
    return vector([motion.lower(given.get(name, 0)) for name in motion.model.coordinate_names])


def generalized_forces(motion: Motion) -> Array:
    """Q: the applied generalized forces that have no potential."""
    if motion.model.energies is not None:
        return vector([motion.lower(force) for force in motion.model.energies.forces])
    total = zeros(motion.n)
    for load in applied_forces(motion):
        if load.potential is None:
            total = total + load.J.T @ load.force
    return total


def working_forces(motion: Motion, potentials: bool = False) -> Iterator[Working]:
    """Every load but gravity, or every force given with energies, and C; `potentials`: with the part that has a potential."""
    names = motion.model.coordinate_names
    if motion.model.energies is not None:
        for i, force in enumerate(motion.model.energies.forces):
            Q = zeros(motion.n)
            Q[i] = motion.lower(force)
            yield Working(f"force on {names[i]}", Q)
    for load in motion.model.loads:
        Q, drift = zeros(motion.n), 0
        for part in load.applied(motion):
            if potentials or part.potential is None:
                Q, drift = Q + part.J.T @ part.force, drift + part.force @ part.c
        yield Working(load.name, Q, drift)
    if (C := non_ideal_forces(motion)) is not None:
        yield Working(NON_IDEAL, C)


def active_forces(motion: Motion, W: Array) -> Array:
    """U = Σ (∂V/∂u)ᵀ F over all applied forces, conservative ones included: (9) of papers/volterra with ∂V/∂u = J W."""
    total = zeros(W.shape[1])
    for load in applied_forces(motion):
        total = total + (load.J @ W).T @ load.force
    return total
