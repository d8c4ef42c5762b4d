"""What several formalisms show alike: the motion of the bodies, the speeds, the constraints, the multipliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.quantities import Show
from dalembert.mechanics.applied_forces import non_ideal_forces
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, vector, zeros
from dalembert.symbolic.reserved_symbols import Kind


def show_bodies(system: System, show: Show, numbers: tuple[str, str] = ("(6)", "(54)")) -> None:
    """Positions, velocities and Jacobians of all bodies; `numbers` are those of the velocities and of the Jacobians."""
    bodies, qd = system.motion.bodies, system.qd
    if not bodies:
        return
    names, (velocity, jacobian) = [body.name for body in bodies], numbers

    def of_all(values: list[Array]) -> Array:
        return np.array(values, dtype=object)

    show.also(
        "r_G", velocity, "positions of the mass centres, world axes", lambda: of_all([b.p_WG for b in bodies]), names
    )
    show.also(
        "omega", velocity, "angular velocities, body axes", lambda: of_all([b.D @ qd + b.E for b in bodies]), names
    )
    show.also(
        "V_G",
        velocity,
        "velocities of the mass centres, world axes",
        lambda: of_all([b.B @ qd + b.C for b in bodies]),
        names,
    )
    show.also("Gamma", jacobian, "∂V_G/∂q̇, world axes", lambda: of_all([b.B for b in bodies]), names)
    show.also("Pi", jacobian, "∂ω/∂q̇, body axes", lambda: of_all([b.D for b in bodies]), names)


def shown_speeds(system: System, speeds: Speeds, show: Show, number: str = "(5)", mark: str = "") -> Speeds:
    """The speeds, with W and X of q̇ = W u + X shown under their letters, which may bear a mark.

    Where a reader looks, long entries go on by their names, and so do their rates: what follows is short.
    """
    W = show(f"W{mark}", number, f"∂q̇/∂u{mark}: the directions that the speeds admit", speeds.W)
    X = show(f"X{mark}", number, f"q̇ at u{mark} = 0", speeds.X)
    by_name = replace(speeds, W=show.named(f"W{mark}", W), X=show.named(f"X{mark}", X))
    changing: list[tuple[Array, Array]] = []
    for letter, whole, names in (("W", W, by_name.W), ("X", X, by_name.X)):
        chosen = [i for i in np.ndindex(*whole.shape) if names[i] is not whole[i] and names[i] != whole[i]]
        if not chosen:
            continue
        rate = show(f"{letter}_dot{mark}", number, f"the rate of {letter}{mark}", system.rate_of(whole, by_name))
        rates = show.named(f"{letter}_dot{mark}", rate)
        changing.append((vector([names[i] for i in chosen]), vector([rates[i] for i in chosen])))
    return replace(by_name, named=tuple(changing))


def shown_rows(system: System, show: Show, number: str, numbers: tuple[str, str] | None = None) -> tuple[Array, Array]:
    """A and β of A q̈ = β, the independent rows; shown with φ and ψ where there are constraints."""
    A, beta = system.A, system.beta
    if not len(beta):
        return A, beta
    show_constraints(system, show, numbers or (number, number))
    A = show("A", number, "constraint matrix", A)
    return A, show("beta", number, "right side of A q̈ = β", beta)


def show_constraints(system: System, show: Show, numbers: tuple[str, str]) -> None:
    """φ and ψ, the independent ones; `numbers` are those of their equations."""
    known, rows = system.facts, system.constraints
    held = [i for i in known.rows if i < known.levels.held]
    moving = [i for i in known.rows if i >= known.levels.held]
    if held:
        show.also("phi", numbers[0], "constraints on positions: φ(q, t) = 0", lambda: rows.phi[held])
    if moving:
        show.also("psi", numbers[1], "constraints on velocities: ψ(q, q̇, t) = 0", lambda: rows.velocity[moving])


def shown_drift(system: System, show: Show) -> tuple[Array, str, str]:
    """Φ̇q̇ of Φ q̈ = −Φ̇q̇, its key and its letters; stabilized rows have β Φ q̇ + α φ in it, (5.97), and letters of their own."""
    if not any(system.facts.levels.servo):
        return show("Phi_dot_qd", "(5.89)", "Φ̇q̇ of Φ q̈ = −Φ̇q̇", -system.beta), "Phi_dot_qd", "Φ̇q̇"
    words = "Φ̇q̇ + β Φ q̇ + α φ of Φ q̈ = −Φ̇q̇′, stabilized"
    return show("Phi_dot_qd_prime", "(5.97)", words, -system.beta), "Phi_dot_qd_prime", "Φ̇q̇′"


def held_rows(system: System) -> tuple[Array, Array]:
    """What the independent constraints keep at zero: φ and ψ."""
    known, rows = system.facts, system.constraints
    held = known.levels.held
    return rows.phi[[i for i in known.rows if i < held]], rows.velocity[[i for i in known.rows if i >= held]]


def shown_push(system: System, show: Show, h: Array) -> Array:
    """h, or h + C with C shown where the constraints are not ideal."""
    C = non_ideal_forces(system.motion)
    if C is None:
        return h
    return h + show("C", "poincare (3.44)", "what the constraints do beyond d'Alembert's principle", C)


def beyond(system: System, speeds: Speeds) -> tuple[Array, str]:
    """WᵀC, what constraints that are not ideal push along the speeds, and what a law says of it."""
    C = non_ideal_forces(system.motion)
    if C is None:
        return zeros(len(speeds.u)), ""
    return speeds.W.T @ system.at_rates(C, speeds.qd), " + WᵀC"


def multipliers(system: System, count: int) -> Array:
    """The symbols λ₁, λ₂, ..."""
    return system.algebra.symbols([f"lambda[{i + 1}]" for i in range(count)])


def rates(system: System, symbols: Array) -> Array:
    """The symbols of the rates of other symbols: u̇ of u."""
    return system.algebra.symbols([Kind.RATE.of(str(symbol)) for symbol in symbols])


def vanishing(left: Array) -> tuple[Array, Array]:
    """left = 0, row by row."""
    return left, zeros(len(left))
