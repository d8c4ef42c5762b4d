"""Terms that several formulations share: the free motion, bodies, speeds, constraints, multipliers and momenta.

The functions `define_...` also record what they return, under the letters and equation numbers of the paper.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearForm, Solver, constrained, in_velocities
from dalembert.formalisms.shared.quantities import Definitions, Sides
from dalembert.mechanics.energies import (
    active_forces,
    applied_forces,
    generalized_forces,
    kinetic,
    non_ideal_forces,
    potential,
    working_forces,
)
from dalembert.mechanics.generalized_speeds import Speeds, invert, speed_map
from dalembert.mechanics.motion import MovingBody, velocities
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, Scalar, identity, matrix, stack, vector, zeros
from dalembert.symbolic.elimination import ldl_solve, lu_solve
from dalembert.symbolic.rotations import cross, skew
from dalembert.symbolic.symbols import SymbolKind

PRESCRIBED_MOTION = "prescribed motion"  # power source of explicit dependence on time
CONSTRAINTS = "constraints"  # power source of all constraints together, if their multipliers are not unique


def free_equations(
    system: System, define: Definitions | None = None, numbers: tuple[str, str] = ("", "")
) -> tuple[Array, Array]:
    """M and h of d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q − Q = M q̈ − h; `numbers` are their equation numbers."""
    define, algebra, q, qd = define or Definitions(system), system.algebra, system.q, system.qd
    T, V = system.notation.short(vector([kinetic(system.motion, qd), potential(system.motion)]))
    p = algebra.gradient(T, qd)
    push = generalized_forces(system.motion) + algebra.gradient(T - V, q)
    M = define("M", algebra.jacobian(p, qd), "mass matrix, ∂²T/∂q̇²", numbers[0])
    h = push - algebra.total_derivative(p, (q, qd), system.clock)
    return M, define("h", h, "terms without q̈: M q̈ = h without constraints", numbers[1])


def free_parts(system: System) -> tuple[Array, Array, Array]:
    """b, g and τ of h = τ − b − g, from the energies: (5.217) of papers/desapio, ∂V/∂q, and Q."""
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = kinetic(system.motion, qd), potential(system.motion)
    b = algebra.total_derivative(algebra.gradient(T, qd), (q, qd), system.clock) - algebra.gradient(T, q)
    return b, algebra.gradient(V, q), generalized_forces(system.motion)


def constrained_form(
    formalism: str, system: System, free: tuple[Array, Array], solver: Solver, count: int | None = None
) -> LinearForm:
    """M q̈ = h with all rows of A q̈ = β, redundant ones too, for the solver of a formulation; reactions are M q̈ − h."""
    linear = constrained(system, *free, AccelerationRows.ALL)
    return in_velocities(
        formalism, system, linear, AccelerationRows.ALL, solver=solver, count=count, reaction=reaction_residual
    )


def reaction_residual(system: System) -> Array:
    """M q̈ − h at any q̈: the constraint reactions, as the residual of the applied forces."""
    M, h = free_equations(system)
    return M @ system.qdd - h


def body_wrenches(system: System) -> tuple[Array, Array]:
    """Applied wrenches (force, moment) of all bodies with mass, and the drives inside joints as generalized forces."""
    wrench, tau = zeros(6 * len(system.motion.masses)), zeros(len(system.q))
    first = {body.name: 6 * i for i, body in enumerate(system.motion.masses)}
    for load in applied_forces(system.motion):
        for part in load.wrenches:
            at = first[part.body]
            wrench[at : at + 3] = wrench[at : at + 3] + part.force
            wrench[at + 3 : at + 6] = wrench[at + 3 : at + 6] + part.moment
        if not load.wrenches:
            tau = tau + load.J.T @ load.force
    return wrench, tau


def of_bodies(system: System, value: Callable[[MovingBody], Array]) -> Array:
    """Return a quantity of every body, bodies on the first axis."""
    return np.array([value(body) for body in system.motion.bodies], dtype=object)


def define_bodies(define: Definitions, system: System, numbers: tuple[str, str] = ("(6)", "(54)")) -> None:
    """Define positions, velocities and Jacobians of all bodies; `numbers` are the equations of velocities and Jacobians."""
    qd, names, (velocity, jacobian) = system.qd, [body.name for body in system.motion.bodies], numbers
    if not names:
        return

    def each(key: str, value: Callable[[MovingBody], Array], meaning: str, equation: str) -> None:
        define(key, lambda: of_bodies(system, value), meaning, equation, names)

    each("r_G", lambda b: b.p_WG, "positions of the mass centers, world axes", velocity)
    each("omega", lambda b: b.D @ qd + b.E, "angular velocities, body axes", velocity)
    each("V_G", lambda b: b.B @ qd + b.C, "velocities of the mass centers, world axes", velocity)
    each("Gamma", lambda b: b.B, "∂V_G/∂q̇, world axes", jacobian)
    each("Pi", lambda b: b.D, "∂ω/∂q̇, body axes", jacobian)


def define_speeds(define: Definitions, system: System, speeds: Speeds, number: str = "(5)", mark: str = "") -> Speeds:
    """Define W and X of q̇ = W u + X, with a suffix `mark` on their letters, and return the speeds.

    If symbols replace long entries of W and X, symbols replace their rates too.
    """
    W = define(f"W{mark}", speeds.W, f"∂q̇/∂u{mark}: directions of the speeds", number)
    X = define(f"X{mark}", speeds.X, f"q̇ at u{mark} = 0", number)
    written = replace(speeds, W=define.symbols(f"W{mark}", W), X=define.symbols(f"X{mark}", X))
    changing: list[tuple[Array, Array]] = []
    for letter, full, entries in (("W", W, written.W), ("X", X, written.X)):
        chosen = [i for i in np.ndindex(*full.shape) if entries[i] is not full[i] and entries[i] != full[i]]
        if not chosen:
            continue
        key, rate = f"{letter}_dot{mark}", system.rate_of(full, written)
        rates = define.named(key, rate, f"rate of {letter}{mark}", number)
        changing.append((vector([entries[i] for i in chosen]), vector([rates[i] for i in chosen])))
    return replace(written, named=tuple(changing))


def define_rows(
    define: Definitions, system: System, number: str, numbers: tuple[str, str] | None = None
) -> tuple[Array, Array]:
    """Define A and β of A q̈ = β, the independent rows, with φ and ψ if there are constraints."""
    A, beta = system.A, system.beta
    if not len(beta):
        return A, beta
    define_constraints(define, system, numbers or (number, number))
    A = define("A", A, "constraint matrix", number)
    return A, define("beta", beta, "right side of A q̈ = β", number)


def define_constraints(define: Definitions, system: System, numbers: tuple[str, str]) -> None:
    """Define φ and ψ of the independent constraints; `numbers` are their equation numbers."""
    rows, count = system.facts.rows, system.facts.levels.n_holonomic
    if any(i < count for i in rows):
        define("phi", lambda: constraint_levels(system)[0], "constraints on positions: φ(q, t) = 0", numbers[0])
    if any(i >= count for i in rows):
        define("psi", lambda: constraint_levels(system)[1], "constraints on velocities: ψ(q, q̇, t) = 0", numbers[1])


def constraint_levels(system: System) -> tuple[Array, Array]:
    """φ and ψ of the independent constraints."""
    known, rows = system.facts, system.constraints
    count = known.levels.n_holonomic
    return rows.phi[[i for i in known.rows if i < count]], rows.velocity[[i for i in known.rows if i >= count]]


def define_drift(define: Definitions, system: System) -> tuple[Array, str, str]:
    """Define Φ̇q̇ of Φ q̈ = −Φ̇q̇; returns it, its key and its letters. Stabilized rows add β Φ q̇ + α φ, (5.97); other letters."""
    if not any(system.facts.levels.servo):
        return define("Phi_dot_qd", -system.beta, "Φ̇q̇ of Φ q̈ = −Φ̇q̇", "(5.89)"), "Phi_dot_qd", "Φ̇q̇"
    words = "Φ̇q̇ + β Φ q̇ + α φ of Φ q̈ = −Φ̇q̇′, stabilized"
    return define("Phi_dot_qd_prime", -system.beta, words, "(5.97)"), "Phi_dot_qd_prime", "Φ̇q̇′"


def define_push(define: Definitions, system: System, h: Array) -> Array:
    """Return h, or h + C with C defined for non-ideal constraints."""
    C = non_ideal_forces(system.motion)
    if C is None:
        return h
    return h + define("C", C, "non-ideal constraint forces", "poincare (3.44)")


def along_speeds(system: System, speeds: Speeds) -> tuple[Array, str]:
    """WᵀC, the non-ideal constraint force along the speeds, and its term in a law."""
    C = non_ideal_forces(system.motion)
    if C is None:
        return zeros(len(speeds.u)), ""
    return speeds.W.T @ system.at_rates(C, speeds.qd), " + WᵀC"


def multipliers(system: System, count: int) -> Array:
    """The symbols λ₁, λ₂, ..."""
    return system.algebra.symbols([f"lambda[{i + 1}]" for i in range(count)])


def rates(system: System, symbols: Array) -> Array:
    """The symbols of the rates of other symbols: u̇ of u."""
    return system.algebra.symbols([SymbolKind.RATE.of(str(symbol)) for symbol in symbols])


def vanishing(left: Array) -> Sides:
    """Return the sides of left = 0, row by row."""
    return left, zeros(len(left))


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
    """Σ [d/dt P·∂V_G/∂u + d/dt H_G·∂ω/∂u] along the columns of W, at u̇ = 0: the rest of d/dt ∂T/∂u by (38) and (39)."""
    total = zeros(W.shape[1])
    for body, velocity in velocities(system.motion, speeds.qd, W):
        V, w = velocity.V, velocity.w
        H = body.inertia @ w
        dH = body.inertia @ system.rate_of(w, speeds) + cross(w, H)  # inertial derivative, in body axes
        total = total + body.mass * velocity.V_u.dot(system.acceleration(V, speeds)) + velocity.w_u.T @ dH
    return total


def reaction_by_momenta(system: System) -> Array:
    """Residual of (2) for all n velocities u = q̇: the constraint reactions."""
    qd, n = system.qd, len(system.q)
    free = Speeds(qd, identity(n), zeros(n), identity(n), zeros(n))
    T_u = system.algebra.gradient(kinetic(system.motion, qd), qd)
    return system.derivative(T_u) - momenta_on_changing_directions(system, free) - active_forces(system.motion, free.W)


def jacobi(system: System) -> Scalar:
    """q̇·∂L/∂q̇ − L: equal to T + V unless bodies move explicitly with time."""
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    return system.algebra.gradient(T, system.qd) @ system.qd - T + V


def rheonomic_energy(system: System) -> Scalar:
    """T + V minus the Jacobi function, 2T₀ + T₁: parts of T of degree 0 and 1 in q̇, zero unless bodies move with time."""
    T, rest = kinetic(system.motion, system.qd), zeros(len(system.qd))
    parts = system.at_rates(stack(system.algebra.gradient(T, system.qd), vector([T])), rest)
    return parts[:-1] @ system.qd + 2 * parts[-1]


def power_into(system: System) -> Scalar:
    """The rate of the Jacobi function: Q·q̇ − ∂L/∂t, and Aᵀλ·q̇ for constraints that depend on time.

    A function of (q, q̇, q̈, t); for applied forces alone it is the integrand Qᵀq̇ of (80).
    """
    return sum(powers_into(system)[1], start=0)


def powers_into(system: System) -> tuple[tuple[str, ...], Array]:
    """Return `power_into` by source: names and powers, without sources that never do work.

    The power of a load is F·(J q̇ + c). That of `PRESCRIBED_MOTION` is −∂L/∂t minus the parts F·c, as in the rate of the Jacobi
    function; the rate of T + V contains the rate of `rheonomic_energy` in addition.
    """
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    (explicit,) = system.algebra.gradient(V - T, vector([system.t]))
    working = list(working_forces(system.motion))
    loads = [(each.name, each.Q @ system.qd + each.drift) for each in working]
    drift = sum((each.drift for each in working), start=0)
    found = [*loads, (PRESCRIBED_MOTION, explicit - drift), *_reactions(system)]
    names, powers = channels_of(system, [(name, vector([power])) for name, power in found])
    return names, powers.reshape(len(names))


def channels_of(system: System, rows: Iterable[tuple[str, Array]]) -> tuple[tuple[str, ...], Array]:
    """Return the nonzero rows as a matrix, and a unique name for each."""
    out: dict[str, Array] = {}
    for name, row in rows:
        if not all(map(system.algebra.is_zero, row)):
            others = (f"{name} ({i})" for i in count(2))
            out[name if name not in out else next(other for other in others if other not in out)] = row
    return tuple(out), matrix([list(row) for row in out.values()]) if out else zeros(0, 0)


def working_rows(system: System) -> list[int]:
    """Return the constraints whose ideal reactions can have power: those without a q̇ = 0."""
    levels, is_zero = system.facts.levels, system.algebra.is_zero
    b = system.constraints.b
    return [i for i in range(len(b)) if levels.servo[i] or not (levels.linear[i] and is_zero(b[i]))]


def unique_nonzero_rows(system: System) -> bool:
    """True if the multipliers of all constraints are unique in every state."""
    return not system.facts.dropped and not system.facts.nearly_dependent


def _reactions(system: System) -> Iterator[tuple[str, Scalar]]:
    """Return the power λᵢ (aᵢ q̇) of every working constraint."""
    rows, names = working_rows(system), system.facts.levels.names
    if not rows:
        return
    C, reaction = non_ideal_forces(system.motion), reaction_residual(system)
    reaction = reaction if C is None else reaction - C
    if len(rows) == 1 or not unique_nonzero_rows(system):
        yield names[rows[0]] if len(rows) == 1 else CONSTRAINTS, reaction @ system.qd
        return
    # λ of Aᵀλ = reaction: A U² Aᵀ λ = A U² reaction, with U the scales of the coordinates as powers of two
    A, unit = system.constraints.A, np.exp2(2 * np.round(np.log2(system.facts.scales.positions))).tolist()
    weighted = A * np.array(unit, dtype=object)
    lam, moving = ldl_solve(system.algebra, weighted @ A.T, weighted @ reaction), system.constraints.A @ system.qd
    yield from ((names[i], lam[i] * moving[i]) for i in rows)


def speeds_and_constraints(system: System) -> Speeds:
    """w = Y q̇ + Z, the speeds followed by the constraints a q̇ + b, and its inverse q̇ = W w + X."""
    free = system.speeds
    names = [
        SymbolKind.CONSTRAINED.of(name) for i, name in enumerate(system.facts.levels.names) if i in system.facts.rows
    ]
    w = stack(free.u, system.algebra.symbols(names))
    return invert(system.motion, w, stack(free.Y, system.A), stack(free.Z, system.b), [], system.facts.order)


def quasi_velocities(system: System) -> Speeds:
    """s = G q̇: the speeds, completed to n by other velocities; for a quaternion these are those of ω, and q·q̇."""
    algebra, n, known = system.algebra, len(system.q), system.facts
    G = np.concatenate([system.speeds.Y, speed_map(system.motion, known.completing)[0]], axis=0)
    taken = {*system.model.coordinate_names, *system.model.parameter_values, *known.speed_names}
    letter = next(word for k in itertools.count(1) if not any(f"{(word := 's' * k)}{i + 1}" in taken for i in range(n)))
    s = algebra.symbols([f"{letter}{i + 1}" for i in range(n)])
    return Speeds(s, G, zeros(n), lu_solve(algebra, G, identity(n), known.square_order), zeros(n))


def hamel_coefficients(system: System, full: Speeds) -> tuple[Array, Array]:
    """γⁱ_jl = Σ (∂Y_ik/∂q_m − ∂Y_im/∂q_k) W_kj W_ml (n×n×n), and γⁱ_j from X, ∂Y/∂t and ∂Z/∂q (n×n)."""
    n = len(system.q)
    gamma, drift = zeros(n, n, n), zeros(n, n)
    for i, (curl, rest) in enumerate(_curls(system, full)):
        gamma[i] = full.W.T @ curl @ full.W
        drift[i] = full.W.T @ (curl @ full.X + rest)
    return gamma, drift


def hamel_terms(system: System, full: Speeds, T_w: Array) -> Array:
    """Σ_i ∂T*/∂w_i (Σ_l γⁱ_jl w_l + γⁱ_j) for every j; with w_l summed first, as q̇ = W w + X, no γ is formed."""
    total = zeros(len(system.q))
    for momentum, (curl, rest) in zip(T_w, _curls(system, full), strict=True):
        total = total + momentum * (curl @ full.qd + rest)
    return full.W.T @ total


def _curls(system: System, full: Speeds) -> list[tuple[Array, Array]]:
    """∂Y_ik/∂q_m − ∂Y_im/∂q_k and ∂Y_ik/∂t − ∂Z_i/∂q_k of every i, from which γ is computed."""
    algebra = system.algebra
    Y_q = algebra.jacobian(full.Y, system.q)  # (i, k, m)
    Y_t = algebra.jacobian(full.Y, vector([system.t]))[..., 0]
    Z_q = algebra.jacobian(full.Z, system.q)
    return [(Y_q[i] - Y_q[i].T, Y_t[i] - Z_q[i]) for i in range(len(full.u))]
