"""Momenta of the bodies along partial velocities that change: by them (2) and (63) of papers/volterra correct ∂T/∂u."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dalembert.formalisms.shared.quantities import Show
from dalembert.mechanics.applied_forces import active_forces
from dalembert.mechanics.energies import kinetic
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.motion import MovingBody
from dalembert.mechanics.resolved_velocities import velocities
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, zeros
from dalembert.symbolic.rotations import cross, skew


def momenta_on_changing_directions(system: System, speeds: Speeds) -> Array:
    """Σ [P·d/dt(∂V_G/∂u) + H_G·d/dt(∂ω/∂u)]: the sum in (2), and K_NI = Σ (F_NI + J_NI) of (63)."""
    total = zeros(len(speeds.u))
    for body, velocity in velocities(system.motion, speeds.qd, speeds.W):
        V, w = velocity.V, velocity.w  # (6), (55)
        H = body.inertia @ w  # (8), and P = m V
        V_u, w_u = velocity.V_u, velocity.w_u  # (56)
        dV_u = system.acceleration(V_u, speeds)  # B_NI, (58)
        dw_u = system.rate_of(w_u, speeds) + skew(w) @ w_u  # C_NI, (58): inertial derivative, in body axes
        total = total + body.mass * dV_u.dot(V) + dw_u.T @ H  # (61), where D_NI is printed for C_NI
    return total


def rates_of_momenta(system: System, speeds: Speeds, W: Array) -> Array:
    """Σ [d/dt P·∂V_G/∂u + d/dt H_G·∂ω/∂u] along the columns of W, at u̇ = 0: what (38) and (39) leave of d/dt ∂T/∂u."""
    total = zeros(W.shape[1])
    for body, velocity in velocities(system.motion, speeds.qd, W):
        V, w = velocity.V, velocity.w
        H = body.inertia @ w
        dH = body.inertia @ system.rate_of(w, speeds) + cross(w, H)  # inertial derivative, in body axes
        total = total + body.mass * velocity.V_u.dot(system.acceleration(V, speeds)) + velocity.w_u.T @ dH
    return total


def show_momenta(system: System, speeds: Speeds, show: Show) -> None:
    """P = m V_G (world axes) and H_G = I ω (body axes) of every body."""
    bodies, names = system.motion.bodies, [body.name for body in system.motion.bodies]

    def momenta(of: Callable[[MovingBody], Array]) -> Array:
        return np.array([of(body) for body in bodies], dtype=object)

    P = partial(momenta, lambda body: body.mass * (body.B @ speeds.qd + body.C))
    H = partial(momenta, lambda body: body.inertia @ (body.D @ speeds.qd + body.E))
    show.also("P", "(8)", "linear momenta m V_G, world axes", P, names)
    show.also("H_G", "(8)", "angular momenta about the mass centres, body axes", H, names)


def reaction_by_momenta(system: System) -> Array:
    """(2) written for u = q̇, all n of them: what it leaves over is the reaction of the constraints."""
    qd, n = system.qd, len(system.q)
    free = Speeds(qd, identity(n), zeros(n), identity(n), zeros(n))
    T_u = system.algebra.gradient(kinetic(system.motion, qd), qd)
    return system.derivative(T_u) - momenta_on_changing_directions(system, free) - active_forces(system.motion, free.W)
