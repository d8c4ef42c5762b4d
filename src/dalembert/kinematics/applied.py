"""What pushes on a model in motion: gravity, and the loads, each of which states its forces in its own file."""

from __future__ import annotations

from dalembert.algebra import Array, vector, zeros
from dalembert.kinematics.motion import Motion
from dalembert.model.loads.base import Applied, Span, Wrench


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


def active_forces(motion: Motion, W: Array) -> Array:
    """U = Σ (∂V/∂u)ᵀ F over all applied forces, conservative ones included: (9) of papers/volterra with ∂V/∂u = J W."""
    total = zeros(W.shape[1])
    for load in applied_forces(motion):
        total = total + (load.J @ W).T @ load.force
    return total
