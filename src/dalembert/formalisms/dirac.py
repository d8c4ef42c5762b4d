"""Dirac's equations: constraints on coordinates and momenta, all adjoined to the Hamiltonian.

Source: papers/desapio (5.287)–(5.295).

| symbol | name | meaning |
|---|---|---|
| H(q, p, t) | `H` | the Hamiltonian |
| φ(q, t) | | the holonomic constraints |
| χ(q, p, t) = φ̇ with q̇ = H_p | | their secondary constraints |
| φ(q, p, t) | `canonical` | the constraints on momenta, (5.287), and their secondary constraints |
| c | `c`, `c_q`, `c_p`, `c_t` | all of them, and their derivatives |
| Λ | | multipliers of c |
| D = c_p c_qᵀ − c_q c_pᵀ | `brackets` | coefficient matrix of Λ in ċ |

    q̇ = H_p − c_pᵀ Λ (5.291),   ṗ = τ − H_q + c_qᵀ Λ (5.292),   c_q q̇ + c_p ṗ + c_t + α c = 0 (5.294)

Both are integrated with their Λ terms. q̇ differs from H_p by S Λ, S = −c_pᵀ: for holonomic constraints this term vanishes on
the surface c = 0, and off the surface it prevents drift away from it. α = 0 unless a run is stabilized.

Deviates: c_t is added in (5.294) for constraints that depend on time, and C, the non-ideal force, is added to τ. (5.295) is
singular if D is singular: for φ(q) alone, since φ_p = 0, and for any odd number of constraints, since D is
antisymmetric. Then the rates of these constraints are added as secondary constraints, as in Dirac's method, until D is regular.
Constraints for which D stays singular are rejected. Constraints on velocities are rejected: a stationary action under such
constraints gives a motion that differs from that of d'Alembert's principle.
"""

from __future__ import annotations

import numpy as np

from dalembert.formalisms.shared.common_quantities import (
    CONSTRAINTS,
    PRESCRIBED_MOTION,
    channels_of,
    define_bodies,
    rates,
    unique_nonzero_rows,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearForm, LinearSystem, Multipliers, VelocityMap
from dalembert.formalisms.shared.phase_space import (
    CanonicalQuantities,
    ConstraintSurface,
    canonical_of,
    canonical_surface,
    define_hamiltonian,
)
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import inverse
from dalembert.mechanics.energies import generalized_forces, non_ideal_forces, working_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, scaled, stack, vector, zeros
from dalembert.symbolic.elimination import PivotOrder

ABOUT = About(
    key="dirac",
    title="Dirac's equations",
    source="papers/desapio (5.287)–(5.295)",
    needs="energies",
    velocities=Velocities.MOMENTA,
    count="n",
    lineage=("T", "V", "Legendre"),
    nonholonomic=False,
    canonical=True,
    first_order=True,
    citation="""@book{dirac1964,
  author = {Dirac, Paul A. M.},
  title = {Lectures on Quantum Mechanics},
  publisher = {Belfer Graduate School of Science, Yeshiva University},
  address = {New York},
  year = {1964}
}""",
)


def derive(system: System, alpha: float = 0.0) -> Derived:
    """[1 −c_qᵀ; c_p −c_q c_pᵀ] (ṗ, Λ) = (τ − H_q, −αc − c_t − c_q H_p): (5.295) with q̇ = H_p − c_pᵀΛ eliminated."""
    define = Definitions(system)
    define_bodies(define, system, ("volterra (6)", "volterra (54)"))
    can = canonical_of(system, define)
    tau = system.at_rates(generalized_forces(system.motion), can.H_p)
    C = non_ideal_forces(system.motion)
    known = canonical_surface(system, can)
    n, k = len(can.p), len(known.names)
    M = zeros(n + k, n + k)
    M[:n, :n] = identity(n)
    M[:n, n:] = -known.c_q.T  # (5.292)
    M[n:, :n] = known.c_p  # (5.294)
    M[n:, n:] = -(known.c_q @ known.c_p.T)  # (5.291) in (5.294)
    change = known.c_t + scaled(alpha, known.c) if alpha else known.c_t  # (5.293)
    f = stack(tau - can.H_q, -change - known.c_q @ can.H_p)
    C = None if C is None else stack(system.at_rates(C, can.H_p), zeros(k))
    define.later(lambda: _equations(define, system, can, known, change))
    working, power = _powers(system, can, known, change)
    behind = Multipliers(
        S=-known.c_p.T,  # (5.291)
        J=known.c_q if known.on_momenta else system.A,
        working=working,
        power=power,
        surface=known,
    )
    return define.derived(
        LinearForm(
            formalism="dirac",
            system=system,
            velocity=VelocityMap(can.p, can.momenta, can.H_p, can.H_pp, can.H_pq @ can.H_p + can.H_pt),  # (5.270)
            linear=LinearSystem.without_rows(M, f, C),
            rows=AccelerationRows.NONE,
            extra_unknowns=behind if k else None,
            order=PivotOrder(tuple(range(n + k)), tuple(range(n + k)), n, 1.0),
            notes=_notes(known, alpha),
        )
    )


def _powers(
    system: System, can: CanonicalQuantities, known: ConstraintSurface, change: Array
) -> tuple[tuple[str, ...], Array]:
    """Ḣ = H_t + τ·H_p − (change + c_p τ)·Λ, with (5.291), (5.292) and (5.294), by power source: names, and (a, b) of a + b·Λ."""
    drift, found = zeros(1)[0], list[tuple[str, Array]]()
    for each in working_forces(system.motion):
        Q = system.at_rates(stack(each.Q, vector([each.drift])), can.H_p)
        Q, beyond = Q[:-1], Q[-1]
        drift = drift + beyond
        found.append((each.name, stack(vector([Q @ can.H_p + beyond]), -(known.c_p @ Q))))
    found.append((PRESCRIBED_MOTION, stack(vector([can.H_t - drift]), zeros(len(change)))))
    apart, count = unique_nonzero_rows(system), known.n_primary if unique_nonzero_rows(system) else 1
    for i in range(count):
        # multipliers of implied rows vanish if all rows are satisfied
        own = vector([0, *(-x if j % count == i else 0 for j, x in enumerate(change))])
        found.append((known.names[i] if apart else CONSTRAINTS, own))
    return channels_of(system, found)


def _equations(
    define: Definitions, system: System, can: CanonicalQuantities, known: ConstraintSurface, change: Array
) -> None:
    """(5.291) and (5.292), both with their Λ terms; H_q = −∂L/∂q by velocities H_p."""
    pd, constrained = rates(system, can.p), len(known.names) > 0
    H_p, H = define_hamiltonian(define, system, can)
    Lambda = system.algebra.symbols([f"Lambda[{i + 1}]" for i in range(len(known.names))])
    C, rate = non_ideal_forces(system.motion), "c_t" if change is known.c_t else "c_t + α c"
    push = generalized_forces(system.motion) + can.L_q
    push = system.at_rates(push if C is None else push + C, H_p)
    if constrained:
        words = "constraints on coordinates and momenta, with secondary constraints: c(q, p, t) = 0"
        define("c", lambda: system.at_rates(known.c, H_p), words, "(5.287)", known.names)
    words = "the augmented Hamiltonian" + (", H − Λᵀc" if constrained else ": H, without constraints")
    define("H_aug", lambda: np.array(H - Lambda @ known.c, dtype=object), words, "(5.288)")
    if constrained:
        words = f"(c_p c_qᵀ − c_q c_pᵀ) Λ = −(c_q ∂H/∂p + c_p (τ − ∂H/∂q) + {rate})"
        words, found = f"multipliers, from the Poisson brackets of the constraints: {words}", (known, change, H_p, push)
        define("Lambda", lambda: _multipliers(system, *found), words, "(5.295)")
    plus = (" = ∂H/∂p − c_pᵀΛ", " = τ − ∂H/∂q + c_qᵀΛ") if constrained else ("", "")
    define.law(f"q̇ = ∂H_aug/∂p{plus[0]}", ("qd",), lambda: (system.qd, H_p - known.c_p.T @ Lambda), "(5.291)")
    define.law(f"ṗ = τ − ∂H_aug/∂q{plus[1]}", ("H_aug",), lambda: (pd, push + known.c_q.T @ Lambda), "(5.292)")
    if constrained:
        rows = lambda: vanishing(known.c_q @ system.qd + known.c_p @ pd + change)  # noqa: E731
        define.law(f"c_q q̇ + c_p ṗ + {rate} = 0", ("c",), rows, "(5.294)")


def _multipliers(system: System, known: ConstraintSurface, change: Array, H_p: Array, push: Array) -> Array:
    """Λ of (5.295), which enforces ċ + α c = 0; for c = (φ, χ) block by block, as D = [0 −S; S K] with S = Φ H_pp Φᵀ."""
    short = system.notation.short
    D, free = short(known.brackets), short(known.c_q @ H_p + known.c_p @ push + change)
    if known.on_momenta:
        return inverse(system.algebra, D, symmetric=False) @ -free
    m = known.n_primary
    S_inv = short(inverse(system.algebra, D[m:, :m]))
    of_chi = S_inv @ free[:m]
    return stack(-S_inv @ (free[m:] + D[m:, m:] @ of_chi), of_chi)


def _notes(known: ConstraintSurface, alpha: float) -> tuple[str, ...]:
    """Return the notes on secondary constraints and on the feedback."""
    implied = known.names[known.n_primary :] if known.on_momenta else ()
    notes = (
        f"secondary constraints of the constraints on momenta, also enforced: {', '.join(implied)}" if implied else "",
        f"constraints stabilized by feedback: ċ = −{alpha:g} c" if alpha else "",
    )
    return tuple(filter(None, notes))
