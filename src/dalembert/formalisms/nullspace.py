"""The null space method: projection on a basis of the admissible motions eliminates the multipliers.

Source: papers/desapio (5.296)–(5.306).

| symbol | name | meaning |
|---|---|---|
| W | `W` | columns span ker Φ (5.299); orthonormal in numbers |
| M_p = WᵀM W | | (5.303) |
| z | `z` | minimal accelerations |

    q̈ = A⁺β + W z,   WᵀM W z = Wᵀ(h − M A⁺β)

Deviates: a basis from QR or SVD is not smooth in q, so W is not differentiated as in (5.304); A⁺β is used instead.
The expression graph and the printed equations use the basis of a coordinate partition, [−A_d⁻¹A_i; 1], without square roots:
q_p are the independent coordinates, and Ẇ q̇_p = [A_d⁻¹β; 0]. If A_d is nearly singular, a run continues with another partition.
With one degree of freedom and up to six coordinates the graph uses for W the cross product of the rows of A, which never
vanishes, and A⁺β.
"""

from __future__ import annotations

from functools import partial

from dalembert.formalisms.shared.common_quantities import (
    constrained_form,
    define_bodies,
    define_constraints,
    define_drift,
    define_push,
    free_equations,
    free_parts,
)
from dalembert.formalisms.shared.linear_form import Numeric, Solver
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import printable_inverse, solve_in_null_space, uses_cross_product
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, zeros

ABOUT = About(
    key="nullspace",
    title="The null space method",
    source="papers/desapio (5.296)–(5.306)",
    needs="energies",
    velocities=Velocities.RATES,
    count="d",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    dependent_rows="takes",
    compiles="large",
    citation="""@article{blajer1997,
  author = {Blajer, Wojciech},
  title = {A geometric unification of constrained system dynamics},
  journal = {Multibody System Dynamics},
  volume = {1},
  pages = {3--21},
  year = {1997}
}""",
)


def derive(system: System) -> Derived:
    """M q̈ = h, projected on the null space of A; τ_C = M q̈ − h is orthogonal to every column of W by (5.83)."""
    define, n, dependent = Definitions(system), len(system.q), system.facts.dependent
    define_bodies(define, system, ("(5.54)", "(5.49)"))
    M, h = free_equations(system, define, ("(5.296)", "(5.296)"))
    free = [i for i in range(n) if i not in dependent]
    define.later(lambda: _projection(define, system, M, free))
    trials = None if uses_cross_product(n, dependent) or not dependent else identity(n)[free]
    solver = Solver(partial(solve_in_null_space, dependent=dependent), Numeric.NULL_SPACE, trials=trials)
    return define.derived(constrained_form("nullspace", system, (M, h), solver, system.facts.d))


def _projection(define: Definitions, system: System, M: Array, free: list[int]) -> None:
    """Define W from a partition with independent coordinates q_p, and the projections of M, b, g and τ."""
    b, g, tau = free_parts(system)
    b = define("b", b, "centrifugal and Coriolis forces", "(5.217)")
    g = define("g", g, "∂V/∂q", "(5.296)")
    tau = define_push(define, system, define("tau", tau, "applied forces without potential", "(5.296)"))
    W, drift = _basis(define, system, free)
    M_p = define("M_p", W.T @ M @ W, "Wᵀ M W", "(5.303)")
    b_p = define("b_p", W.T @ b + W.T @ (M @ drift), "Wᵀ b + Wᵀ M Ẇ q̇_p", "(5.304)")
    g_p = define("g_p", W.T @ g, "Wᵀ g", "(5.305)")
    tau_p = define("tau_p", W.T @ tau, "Wᵀ τ", "(5.306)")
    qdd, dependent = system.qdd, list(system.facts.dependent)
    words, uses = "τ_p = M_p q̈_p + b_p + g_p", ("M_p", "b_p", "g_p", "tau_p")
    define.law(words, uses, lambda: (tau_p, M_p @ qdd[free] + b_p + g_p), "(5.302)")
    if dependent:
        back = (W @ qdd[free] + drift)[dependent]
        prime = "′" if any(system.facts.levels.servo) else ""
        uses = ("W", "W_dot_qd_prime" if prime else "W_dot_qd")
        define.law(f"q̈ = W q̈_p + Ẇ q̇_p{prime}", uses, lambda: (qdd[dependent], back), "(5.301)")


def _basis(define: Definitions, system: System, free: list[int]) -> tuple[Array, Array]:
    """W, and q̈ at q̈_p = 0, which is Ẇ q̇_p: both from Φ q̈ = −Φ̇q̇."""
    n, dependent = len(system.q), list(system.facts.dependent)
    W, drift = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if dependent:
        define_constraints(define, system, ("(5.87)", "(5.87)"))
        Phi = define.named("Phi", system.A, "constraint matrix", "(5.299)")
        rate, key, _ = define_drift(define, system)
        rate = define.symbols(key, rate)
        back = printable_inverse(define, system.algebra, "Phi_inv", Phi[:, dependent], "(5.299)", symmetric=False)
        W[dependent], drift[dependent] = -back @ Phi[:, free], -back @ rate
    names = ", ".join(system.model.coordinate_names[i] for i in free)
    W = define.named("W", W, f"a basis of ker Φ, by the partition with q_p = ({names})", "(5.299)")
    if dependent and any(system.facts.levels.servo):
        drift = define.named("W_dot_qd_prime", drift, "Ẇ q̇_p′, stabilized", "(5.304)")
    elif dependent:
        drift = define.named("W_dot_qd", drift, "Ẇ q̇_p", "(5.304)")
    return W, drift
