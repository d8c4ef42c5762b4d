"""The null space method: multipliers vanish when the equations are projected on a basis of the motions left free.

Source: papers/desapio (5.296)–(5.306).

| symbol | name | meaning |
|---|---|---|
| W | `W` | columns span ker Φ (5.299); orthonormal in numbers |
| M_p = WᵀM W | | (5.303) |
| z | `z` | minimal accelerations |

    q̈ = A⁺β + W z,   WᵀM W z = Wᵀ(h − M A⁺β)

Deviates: a basis from QR or SVD is not smooth in q, so W is never differentiated as (5.304) would; A⁺β takes its place.
The graph and the reader take the basis of a partition of the coordinates, [−A_d⁻¹A_i; 1], which needs no square roots: q_p are
the free coordinates themselves, and Ẇ q̇_p = [A_d⁻¹β; 0]. Where A_d is nearly singular a run continues with another partition.
With one degree of freedom and up to six coordinates the graph has the cross product of the rows of A for W, which vanishes
nowhere, and A⁺β.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import show_bodies, show_constraints, shown_drift, shown_push
from dalembert.formalisms.shared.free_motion import free_equations, free_parts, held_form, unexplained_force
from dalembert.formalisms.shared.inverses import inverse
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.linear_system import LinearSystem, Numeric, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, zeros
from dalembert.symbolic.linear_algebra import CROSSED, cross_product, ldl_solve, orthogonal_solve

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
    redundant="takes",
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M q̈ = h, projected by `Solver` on the null space of A."""
    show_bodies(system, show, ("(5.54)", "(5.49)"))
    M, h = free_equations(system, show, ("(5.296)", "(5.296)"))
    show.beside(lambda: _show_projection(system, show, M))
    dependent, n = system.facts.dependent, len(system.q)
    trials = None if is_crossed(n, dependent) or not dependent else identity(n)[_free(n, dependent)]
    solver = Solver(partial(graph, dependent=dependent), Numeric.NULL_SPACE, trials=trials)
    return held_form("nullspace", system, (M, h), solver, system.facts.d)


def _show_projection(system: System, show: Show, M: Array) -> None:
    """W by a partition of the coordinates, whose free ones are q_p, and what it makes of M, b, g and τ."""
    b, g, tau = free_parts(system)
    b = show("b", "(5.217)", "centrifugal and Coriolis forces", b)
    g = show("g", "(5.296)", "∂V/∂q", g)
    tau = shown_push(system, show, show("tau", "(5.296)", "applied forces without potential", tau))
    free = _free(len(M), system.facts.dependent)
    W, drift = _shown_basis(system, show, free)
    M_p = show("M_p", "(5.303)", "Wᵀ M W", W.T @ M @ W)
    b_p = show("b_p", "(5.304)", "Wᵀ b + Wᵀ M Ẇ q̇_p", W.T @ b + W.T @ (M @ drift))
    g_p = show("g_p", "(5.305)", "Wᵀ g", W.T @ g)
    tau_p = show("tau_p", "(5.306)", "Wᵀ τ", W.T @ tau)
    qdd, dependent = system.qdd, list(system.facts.dependent)
    words, uses = "τ_p = M_p q̈_p + b_p + g_p", ("M_p", "b_p", "g_p", "tau_p")
    show.law("(5.302)", words, uses, lambda: (tau_p, M_p @ qdd[free] + b_p + g_p))
    if dependent:
        back = (W @ qdd[free] + drift)[dependent]
        prime = "′" if any(system.facts.levels.servo) else ""
        uses = ("W", "W_dot_qd_prime" if prime else "W_dot_qd")
        show.law("(5.301)", f"q̈ = W q̈_p + Ẇ q̇_p{prime}", uses, lambda: (qdd[dependent], back))


def _shown_basis(system: System, show: Show, free: list[int]) -> tuple[Array, Array]:
    """W, and q̈ at q̈_p = 0, which is Ẇ q̇_p: both from Φ q̈ = −Φ̇q̇."""
    n, dependent = len(system.q), list(system.facts.dependent)
    W, drift = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if dependent:
        show_constraints(system, show, ("(5.87)", "(5.87)"))
        Phi = show.named("Phi", show("Phi", "(5.299)", "constraint matrix", system.A))
        rate, key, _ = shown_drift(system, show)
        rate = show.named(key, rate)
        back = inverse(system.algebra, show, "Phi_inv", "(5.299)", Phi[:, dependent], symmetric=False)
        W[dependent], drift[dependent] = -back @ Phi[:, free], -back @ rate
    names = ", ".join(system.model.coordinate_names[i] for i in free)
    W = show.named("W", show("W", "(5.299)", f"a basis of ker Φ, by the partition with q_p = ({names})", W))
    if dependent:
        key, letters = (
            ("W_dot_qd_prime", "Ẇ q̇_p′, stabilized") if any(system.facts.levels.servo) else ("W_dot_qd", "Ẇ q̇_p")
        )
        drift = show.named(key, show(key, "(5.304)", letters, drift))
    return W, drift


reaction = unexplained_force  # τ_C = M q̈ − h, which (5.83) makes orthogonal to every column of W


def graph(algebra: Algebra, linear: LinearSystem, dependent: tuple[int, ...]) -> tuple[Array, Array]:
    """q̈ = x + W z with any solution x of A x = β."""
    M, h, A, beta = linear.M, linear.push, linear.A, linear.beta
    if is_crossed(A.shape[1], dependent):
        W, particular = cross_product(algebra, A)[:, None], least_solution(algebra, A, beta)
    else:
        W, particular = _by_partition(algebra, A, beta, dependent)
    z = ldl_solve(algebra, W.T @ M @ W, W.T @ (h - M @ particular))  # (5.302)
    return particular + W @ z, zeros(len(beta))


def is_crossed(n: int, dependent: tuple[int, ...]) -> bool:
    """True where W is the cross product of the rows of A: one column of few entries."""
    return 1 < n <= CROSSED and len(dependent) == n - 1


def _by_partition(algebra: Algebra, A: Array, beta: Array, dependent: tuple[int, ...]) -> tuple[Array, Array]:
    """W = [−A_d⁻¹A_i; 1] and the solution [A_d⁻¹β; 0]."""
    n, free, solved_for = A.shape[1], _free(A.shape[1], dependent), list(dependent)
    W, particular = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if dependent:
        right = np.column_stack([-A[:, free], beta])
        found = orthogonal_solve(algebra, A[:, solved_for], right)
        W[solved_for], particular[solved_for] = found[:, :-1], found[:, -1]
    return W, particular


def least_solution(algebra: Algebra, A: Array, beta: Array) -> Array:
    """A⁺β, the smallest solution of A x = β, by orthogonal rows of A.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> least_solution(FLOATS, np.array([[1.0, 1.0], [0.0, 2.0]], dtype=object), np.array([3.0, 4.0], dtype=object)).tolist()
    [1.0, 2.0]
    """
    x = zeros(A.shape[1])
    for row, right in _orthogonal_rows(algebra, A, beta):
        left = right if algebra.is_zero(right) else right / (row @ row)
        x = x + left * row
    return x


def _orthogonal_rows(algebra: Algebra, A: Array, beta: Array) -> list[tuple[Array, Scalar]]:
    """The rows of A x = β made orthogonal, each with its right side."""
    found: list[tuple[Array, Scalar]] = []
    for row, right in zip(A, beta, strict=True):
        for known, its in found:
            along = row @ known
            if not algebra.is_zero(along):
                share = along / (known @ known)
                row, right = row - share * known, right - share * its
        found.append((row, right))
    return found


def _free(n: int, dependent: tuple[int, ...]) -> list[int]:
    return [i for i in range(n) if i not in dependent]
