"""The DeNOC equations: Newton–Euler equations of every link, projected by N = N_l N_d on the joint motions.

Source: papers/denoc (1)–(54), about the joint origins of a tree as in section 3: (36), (47)–(49), loops (50)–(54).

| symbol | name | meaning |
|---|---|---|
| t = N θ̇ | `chain` | twists (ω, v) of all links, each at its joint origin and in its own axes (36) |
| I = N_dᵀ M̃ N_d | `M` | generalized inertia matrix (GIM), by composite bodies (18)–(21) |
| C θ̇ | `bias` | velocity terms, C the matrix of convective inertia (MCI), and gravity: (22)–(26) at θ̈ = 0 |
| τ | `tau` | generalized forces of the loads (17) |
| θ̇ = Y q̇ | `Y` | 1, except for a quaternion joint, whose speeds are ω instead of four rates |
| J | `system.A` | J θ̇ = 0 at the cut joints (52), and all other constraints |
| B, A; p; N_l, N_d; M̃; U, D | `blocks` | the matrices, in world axes |
| t_i, w_i, w̃_i; M̂_i, ψ_i, τ̂_i | `steps` | the recursions, link by link |

    I θ̈ + C θ̇ = τ + Jᵀλ   (17), (49), (54)       open trees by I = U D Uᵀ, link by link (27)–(33)

Deviates: below (16) the paper prints ṫ = Nᵀθ̈ + …, where N is meant, and below (17) N for Ṅ in C; (25) lacks w_i, and ρ of (26)
is a column; T = 0 below (35) is t = 0; (46b) prints v_k for v̇_k; the signs of (52b) do not belong to Fig. 16, so J comes from
the closure of the cut joints; J_I and J_II of (53) are side by side, with opposite signs. Components are in the axes of each
link, so that A_ij contains its rotation and M_i is constant. P_i has one column per degree of freedom of its joint.
"""

from __future__ import annotations

from functools import partial

from dalembert.formalisms.shared.common_quantities import multipliers
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearSystem, Solver, constrained, in_velocities
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.system import System
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.forward import forward_dynamics
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.link_states import Moving
from dalembert.recursive.modules import Modular, Named, modules_of
from dalembert.recursive.orthogonal_complement import (
    complement_of,
    convective,
    cut_joints,
    efforts,
    in_motion,
    joint_accelerations,
    joint_rates,
    loads,
    speed_matrix,
)
from dalembert.symbolic.algebra_base import Algebra, Array, zeros

ABOUT = About(
    key="denoc",
    title="The DeNOC equations",
    source="papers/denoc (1)–(54)",
    needs="bodies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("recursion",),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    recursive=True,
    compiles="large",
    citation="""@article{saha2013,
  author = {Saha, Subir Kumar and Shah, Suril V. and Nandihal, Paramanand V.},
  title = {Evolution of the {DeNOC}-based dynamic modelling for multibody systems},
  journal = {Mechanical Sciences},
  volume = {4},
  pages = {1--20},
  year = {2013}
}""",
)
# open trees with more coordinates are eliminated link by link: U D Uᵀ then has fewer operations than I
_MAX_DENSE = 6


def derive(system: System, modules: Named | None = None) -> Derived:
    """I θ̈ = τ − C θ̇ + Jᵀλ with J θ̈ = β, in q̇; `modules` are named groups of bodies."""
    define, chain = Definitions(system), in_motion(system)
    at_rest = joint_accelerations(system, chain.tree, zeros(chain.tree.n))  # θ̈ at q̈ = 0: zero, except for quaternions
    M, bias, tau = mass_matrix(chain), inverse_dynamics(chain, at_rest), loads(system)  # (18)–(26)
    if chain.tree.attitudes:
        Y = speed_matrix(system, chain.tree)
        M, bias = Y.T @ (M @ Y), Y.T @ bias
        for norm in system.motion.fictitious_masses[
            len(system.model.rotors) :
        ]:  # makes M regular along the quaternions
            rate = system.algebra.total_derivative(norm.B @ system.qd, (system.q, system.qd))
            M, bias = M + norm.mass * (norm.B.T @ norm.B), bias + norm.mass * (norm.B.T @ rate)
    linear = constrained(system, M, tau - bias, AccelerationRows.INDEPENDENT)
    large = len(system.q) > _MAX_DENSE and not linear.constrained
    define.later(lambda: _matrices(define, system, chain, modules))
    solver = Solver(partial(_solve_by_elimination, chain=chain, tau=tau), uses_other_data=True) if large else None
    return define.derived(
        in_velocities("denoc", system, linear, AccelerationRows.INDEPENDENT, solver=solver)
    )  # (17), (54)


def _solve_by_elimination(algebra: Algebra, linear: LinearSystem, chain: Moving, tau: Array) -> tuple[Array, Array]:
    """θ̈ of U D Uᵀ θ̈ = φ by reverse Gaussian elimination from the tips to the world and back: (27)–(33)."""
    return forward_dynamics(chain, tau if linear.C is None else tau + linear.C)[0], zeros(0)


def _matrices(define: Definitions, system: System, chain: Moving, modules: Named | None) -> None:
    """Define the matrices of the paper in its order, in world axes, and I θ̈ + C θ̇ = τ + Jᵀλ: (17), (49), (54)."""
    parts, loops = complement_of(chain, simplify=system.notation.short), bool(system.model.loops)
    letter, carried, rates = ("B", "(8b)", "(5)") if parts.centered else ("A", "(36b)", "(36b)")
    split, grouped = "(9b)" if parts.centered else "(39)", Modular(parts, modules_of(parts, modules))
    define(letter, lambda: parts.propagation, "propagates twists from each parent to its link", carried)
    define("p", lambda: parts.p, "twists for unit joint rates, one column each", rates)
    define("N_l", lambda: parts.N_l, "propagates twists outward to all links", split)
    define("N_d", lambda: parts.N_d, "joint motions, block diagonal", split)
    define("N", lambda: parts.N, "natural orthogonal complement: t = N θ̇", "(9a)" if parts.centered else "(43)")
    define("M_tilde", lambda: parts.M_tilde, "mass matrices of composite bodies, N_lᵀ M N_l", "(19)")
    define("I", lambda: mass_matrix(chain), "generalized inertia matrix, N_dᵀ M̃ N_d", "(21)")
    define("C", lambda: convective(system, parts), "matrix of convective inertia: I θ̈ + C θ̇ = τ", "(17)")
    define("U", lambda: parts.U, "upper triangular, of I = U D Uᵀ", "(28)")
    define("D", lambda: parts.D, "(block) diagonal, of I = U D Uᵀ", "(30)")
    define("I_inv", lambda: parts.inverse, "inverse of I, from U and D", "(27)")
    if modules is not None or len(grouped.modules) > 1:
        define("modules", lambda: grouped.names, "links of each kinematic module", "(38)")
        define("N_l_modules", lambda: grouped.N_l, "propagates twists from module to module", "(44)")
        define("N_d_modules", lambda: grouped.N_d, "joint motions of every module, block diagonal", "(45)")
    if loops:
        define("J", lambda: cut_joints(system, parts), "J θ̇ = 0 closes the cut joints: A_en N", "(53)")

    def sides() -> tuple[Array, Array]:
        theta_ddot = joint_accelerations(system, parts.tree, system.qdd)
        left = system.notation.short(mass_matrix(chain)) @ theta_ddot
        left, tau = left + convective(system, parts) @ joint_rates(system, parts.tree), efforts(system, parts)
        if not loops:
            return left, tau
        J = cut_joints(system, parts)
        return left, tau + J.T @ multipliers(system, len(J))

    number = "(54)" if loops else "(17)" if parts.centered else "(49)"
    define.law("I θ̈ + C θ̇ = τ" + (" + Jᵀλ" if loops else ""), ("I", "C"), sides, number)
