"""The Newton–Euler equations: balance of every body in absolute twists, coupled by joint wrenches.

Source: papers/denoc (11)–(15), about the mass center of each body.

| symbol | name | meaning |
|---|---|---|
| t = (V_G, ω) of all bodies | `twists` | absolute twists, 6N entries: V_G in world axes, ω in body axes |
| 𝓜 = diag(m 1, I) | `Mass` | mass matrix of all bodies (14) |
| w_A | `wrench` | applied wrenches |
| t = N q̇ + e | `N`, `e` | twists that the joints admit |
| w_C | | joint wrenches, with Nᵀ w_C = τ + Aᵀλ: no power in the admissible twists, except by drives and constraints |

    𝓜 ṫ + (0, ω × I ω) = w_A + w_C (13),   ṫ = N q̈ + Ṅ q̇ + ė,   A q̈ = β

Deviates: below (16) the paper prints ṫ = Nᵀθ̈ + …, where N is meant. Its twists are (ω, v) about the joint origin and
its joint wrenches do no work; ours are (V_G, ω), and drives and constraints act through the joints.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.formalisms.shared.common_quantities import (
    body_wrenches,
    define_bodies,
    define_push,
    define_rows,
    multipliers,
    rates,
)
from dalembert.formalisms.shared.linear_form import (
    AccelerationRows,
    Accelerations,
    LinearForm,
    LinearSystem,
    Solver,
    VelocityMap,
)
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import solve_body_by_body
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, stack, zeros
from dalembert.symbolic.elimination import ldl_solve
from dalembert.symbolic.rotations import cross, skew
from dalembert.symbolic.symbols import TWIST

Pair = tuple[Array, Array]

ABOUT = About(
    key="newton_euler",
    title="The Newton–Euler equations",
    source="papers/denoc (11)–(15)",
    needs="bodies",
    velocities=Velocities.TWISTS,
    count="6N",
    lineage=("bodies", "wrenches"),
    nonlinear=True,
    servo=True,
    citation="""@article{saha1999,
  author = {Saha, Subir Kumar},
  title = {Dynamics of serial multibody systems using the decoupled natural orthogonal complement matrices},
  journal = {Journal of Applied Mechanics},
  volume = {66},
  pages = {986--996},
  year = {1999}
}""",
)


def derive(system: System) -> Derived:
    """diag(𝓜, 0) (ṫ, q̈) = (w_A − ω×Iω, τ) + [1 −N; 0 A]ᵀ (w_C, λ), with ṫ − N q̈ = Ṅq̇ + ė and A q̈ = β."""
    define, algebra, bodies, n = Definitions(system), system.algebra, system.motion.masses, len(system.q)
    size = 6 * len(bodies)
    define_bodies(define, system, ("(1)", "(9a)"))
    N = np.concatenate([np.concatenate([body.B, body.D]) for body in bodies])
    e = np.concatenate([np.concatenate([body.C, body.E]) for body in bodies])
    twists = algebra.symbols([part.of(body.name) for body in bodies for part in TWIST])
    square = N.T @ N
    qd = ldl_solve(algebra, square, N.T @ (twists - e))
    drift = system.at_rates(algebra.total_derivative(N @ system.qd + e, (system.q, system.qd), system.clock), qd)
    Mass, gyro = zeros(size, size), zeros(size)
    for i, body in enumerate(bodies):
        w = twists[6 * i + 3 : 6 * i + 6]
        Mass[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * identity(3)  # (14)
        Mass[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia
        gyro[6 * i + 3 : 6 * i + 6] = cross(w, body.inertia @ w)  # (11)
    wrench, tau = body_wrenches(system)
    define.later(lambda: _equations(define, system, twists, (Mass, gyro), (wrench, tau), (N, e)))
    A, beta = system.at_rates(system.A, qd), system.at_rates(system.beta, qd)
    r = len(system.facts.rows)
    M, rows = zeros(size + n, size + n), zeros(size + r, size + n)
    M[:size, :size] = Mass
    rows[:size, :size], rows[:size, size:], rows[size:, size:] = identity(size), -N, A
    C = non_ideal_forces(system.motion)
    C = None if C is None else stack(zeros(size), system.at_rates(C, qd))
    f = stack(system.at_rates(wrench, qd) - gyro, system.at_rates(tau, qd))
    W, bias = ldl_solve(algebra, square, N.T), -ldl_solve(algebra, square, N.T @ drift)
    return define.derived(
        LinearForm(
            formalism="newton_euler",
            system=system,
            velocity=VelocityMap(twists, N @ system.qd + e, qd, W, bias),
            linear=LinearSystem(M, f, rows, stack(drift, beta), C),
            rows=AccelerationRows.JOINTS,
            extra_unknowns=Accelerations(),
            solver=Solver(partial(solve_body_by_body, size=size)),
            reaction=reaction,
        )
    )


def _equations(define: Definitions, system: System, t: Array, inertia: Pair, loads: Pair, joints: Pair) -> None:
    """Define the balance of every body, its joint constraints (48), (9a), and the workless joint wrenches."""
    (M, gyro), (wrench, tau), (N, e), size = inertia, loads, joints, len(t)
    Omega, E = zeros(size, size), zeros(size, size)
    for i in range(0, size, 6):
        Omega[i : i + 3, i : i + 3] = Omega[i + 3 : i + 6, i + 3 : i + 6] = skew(t[i + 3 : i + 6])
        E[i + 3 : i + 6, i + 3 : i + 6] = identity(3)
    define("M", M, "mass matrix of all bodies, about their mass centers", "(14)")
    define("Omega", Omega, "ω × of all bodies", "(47b)")
    define("E", E, "selects ω of a twist (V_G, ω)", "(47b)")
    w_E = define("w_E", wrench, "applied wrenches: forces in world axes, moments in body axes", "(16)")
    td, w_C = rates(system, t), system.algebra.symbols([f"w_C[{i + 1}]" for i in range(size)])
    define.law("M ṫ + Ω M E t = w_E + w_C", ("M", "w_E"), lambda: (M @ td + gyro, w_E + w_C), "(48)")
    N = define("N", N, "twists that the joints admit, t = N q̇", "(9a)")
    drift = system.algebra.total_derivative(N @ system.qd + e, (system.q, system.qd), system.clock)
    drift = define.named("N_dot_qd", drift, "Ṅ q̇ of ṫ = N q̈ + Ṅ q̇", "(16)")
    define.law("ṫ = N q̈ + Ṅ q̇", ("N", "N_dot_qd"), lambda: (td, N @ system.qdd + drift), "(9a)")
    A, beta = define_rows(define, system, "(52a)")
    pull, terms = zeros(len(tau)), list[str]()
    if any(not system.algebra.is_zero(x) for x in tau):
        pull, terms = define("tau", tau, "drives in the joints", "(17)"), ["τ"]
    if (push := define_push(define, system, pull)) is not pull:
        pull, terms = push, [*terms, "C"]
    right = pull + A.T @ multipliers(system, len(beta))
    words = " + ".join([*terms, *(["Aᵀλ"] if len(beta) else [])]) or "0"
    define.law(f"Nᵀ w_C = {words}", ("N",), lambda: (N.T @ w_C, right), "(16)")
    if len(beta):
        define.law("A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta), "(52a)")


def reaction(system: System) -> Array:
    """Nᵀ(𝓜 ṫ + (0, ω×Iω) − w_A) − τ: constraint reactions, without joint wrenches and drives."""
    wrench, tau = body_wrenches(system)
    total = -tau
    for i, body in enumerate(system.motion.masses):
        force, moment = system.inertia_of(body)
        force_applied, moment_applied = wrench[6 * i : 6 * i + 3], wrench[6 * i + 3 : 6 * i + 6]
        total = total + body.B.T @ (force - force_applied) + body.D.T @ (moment - moment_applied)
    return total
