"""The DeNOC equations: Newton and Euler for every link, projected by N = N_l N_d on what the joints admit.

Source: papers/denoc (1)–(54), about the joint origins of a tree as in section 3: (36), (47)–(49), loops (50)–(54).

| symbol | name | meaning |
|---|---|---|
| t = N θ̇ | `chain` | twists (ω, v) of all links, each at its joint origin and in its own axes (36) |
| I = N_dᵀ M̃ N_d | `M` | generalized inertia matrix (GIM), by composite bodies (18)–(21) |
| C θ̇ | `bent` | what the motion itself takes, C the matrix of convective inertia (MCI), and gravity: (22)–(26) at θ̈ = 0 |
| τ | `tau` | what the loads push along every coordinate (17) |
| θ̇ = Y q̇ | `Y` | 1, but for a quaternion, whose joint turns with ω in place of four rates |
| J | `system.A` | J θ̇ = 0 at the cut joints (52), and all other constraints |
| B, A; p; N_l, N_d; M̃; U, D | `blocks` | the matrices themselves, along world axes |
| t_i, w_i, w̃_i; M̂_i, ψ_i, τ̂_i | `steps` | the recursions, link by link |

    I θ̈ + C θ̇ = τ + Jᵀλ   (17), (49), (54)       open trees by I = U D Uᵀ, link by link (27)–(33)

Deviates: below (16) the paper prints ṫ = Nᵀθ̈ + …, where N is meant, and below (17) N for Ṅ in C; (25) lacks w_i, and ρ of (26)
is a column; T = 0 below (35) is t = 0; (46b) prints v_k for v̇_k; the signs of (52b) do not belong to Fig. 16, so J comes from
the closure of the cut joints; J_I and J_II of (53) stand side by side, with opposite signs. Components stand along the axes of
each link, which puts its rotation into A_ij and keeps M_i constant. Joints of several motions have P_i of as many columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import symengine as se

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import multipliers
from dalembert.formalisms.shared.linear_form import LinearForm, Rows, constrained, in_velocities
from dalembert.formalisms.shared.linear_system import LinearSystem, Solver
from dalembert.formalisms.shared.quantities import SILENT, Naming, Quantity, Show, Stage
from dalembert.mechanics.loop_closure import loop_rows
from dalembert.mechanics.system import System
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.forward import forward_dynamics
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.joint_speeds import to_speed_forces, to_speed_rates, to_speeds
from dalembert.recursive.link_states import Moving, moving
from dalembert.recursive.link_steps import Walk
from dalembert.recursive.modules import Modular, ModuleWalk, Named, modules_of
from dalembert.recursive.orthogonal_complement import Complement, complement_of
from dalembert.recursive.tree import Tree, tree_of
from dalembert.symbolic.algebra_base import Algebra, Array, matrix, stack, vector, zeros
from dalembert.symbolic.rotations import cross

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

# open trees of more coordinates are eliminated link by link: U D Uᵀ then has fewer operations than I itself
FEW = 6


def derive(system: System, show: Show = SILENT, modules: Named | None = None) -> LinearForm:
    """I θ̈ = τ − C θ̇ + Jᵀλ with J θ̈ = β, in q̇."""
    chain = in_motion(system)
    M, bent, tau = mass_matrix(chain), inverse_dynamics(chain, _turned(system, chain)), loads(system)  # (18)–(26)
    if chain.tree.attitudes:
        Y = speed_matrix(system, chain)
        M, bent = Y.T @ (M @ Y), Y.T @ bent
        for norm in system.motion.added[len(system.model.rotors) :]:  # completes M along the quaternions
            still = system.algebra.total_derivative(norm.B @ system.qd, (system.q, system.qd))
            M, bent = M + norm.mass * (norm.B.T @ norm.B), bent + norm.mass * (norm.B.T @ still)
    linear = constrained(system, M, tau - bent, Rows.INDEPENDENT)
    large = len(system.q) > FEW and not linear.constrained
    if show is not SILENT:
        show_blocks(system, chain, show, modules)
    solver = Solver(partial(eliminated, chain=chain, tau=tau), knows_more=True) if large else None
    return in_velocities("denoc", system, linear, Rows.INDEPENDENT, solver=solver)  # (17), (54)


def in_motion(system: System) -> Moving:
    """The links in motion: A_ij and P_i of (36), M_i of (47)."""
    algebra, tree = system.algebra, tree_of(system.model)
    parameters = {name: system.lower(se.Symbol(name)) for name in system.model.parameter_values}
    s = to_speeds(tree, algebra, list(system.q), list(system.qd))
    return moving(tree, algebra, system.t, list(system.q), list(s), parameters)


def _turned(system: System, chain: Moving) -> Array:
    """θ̈ at q̈ = 0: zero, but for quaternions."""
    tree, algebra = chain.tree, system.algebra
    if not tree.attitudes:
        return zeros(tree.n)
    return to_speed_rates(tree, algebra, list(system.q), list(system.qd), [0] * tree.n)


def speed_matrix(system: System, chain: Moving) -> Array:
    """Y of θ̇ = Y q̇."""
    n = len(system.q)
    columns = [to_speeds(chain.tree, system.algebra, list(system.q), [int(i == k) for k in range(n)]) for i in range(n)]
    return matrix([list(column) for column in columns]).T


def loads(system: System) -> Array:
    """τ = Nᵀ w^E (17) for all loads but gravity, which the links carry as an acceleration of the world (26)."""
    total = zeros(len(system.q))
    for load in system.model.loads:
        for push in load.applied(system.motion):
            total = total + push.J.T @ push.force
    return total


def eliminated(algebra: Algebra, linear: LinearSystem, chain: Moving, tau: Array) -> tuple[Array, Array]:
    """θ̈ of U D Uᵀ θ̈ = φ by reverse Gaussian elimination from the tips to the world and back: (27)–(33)."""
    pushed = tau if linear.C is None else tau + linear.C
    return forward_dynamics(chain, pushed)[0], zeros(0)


def show_blocks(system: System, chain: Moving, show: Show, modules: Named | None = None) -> None:
    """The matrices of the paper in its order, along world axes; `modules` are named groups of bodies."""
    parts = complement_of(chain, short=show.short)
    letter, carried, rates = ("B", "(8b)", "(5)") if parts.centred else ("A", "(36b)", "(36b)")
    split, grouped = "(9b)" if parts.centred else "(39)", Modular(parts, modules_of(parts, modules))
    show.also(letter, carried, "carries twists from each parent to its link", lambda: parts.propagation)
    show.also("p", rates, "the twists that unit joint rates give, one column each", lambda: parts.p)
    show.also("N_l", split, "carries twists outwards to all links", lambda: parts.N_l)
    show.also("N_d", split, "lets every joint move", lambda: parts.N_d)
    show.also("N", "(9a)" if parts.centred else "(43)", "the natural orthogonal complement: t = N θ̇", lambda: parts.N)
    show.also("M_tilde", "(19)", "mass matrices of composite bodies, N_lᵀ M N_l", lambda: parts.M_tilde)
    show.also("I", "(21)", "generalized inertia matrix, N_dᵀ M̃ N_d", lambda: mass_matrix(chain))
    show.also("C", "(17)", "matrix of convective inertia: I θ̈ + C θ̇ = τ", lambda: convective(system, parts))
    show.also("U", "(28)", "upper triangular, of I = U D Uᵀ", lambda: parts.U)
    show.also("D", "(30)", "(block) diagonal, of I = U D Uᵀ", lambda: parts.D)
    show.also("I_inv", "(27)", "the inverse of I, by U and D", lambda: parts.inverse)
    if modules is not None or len(grouped.modules) > 1:
        show.also("modules", "(38)", "the links of each kinematic module", lambda: grouped.names)
        show.also("N_l_modules", "(44)", "carries twists from module to module", lambda: grouped.N_l)
        show.also("N_d_modules", "(45)", "lets the joints of every module move", lambda: grouped.N_d)
    if system.model.loops:
        show.also("J", "(53)", "J θ̇ = 0 closes the cut joints: A_en N", lambda: cut_joints(system, parts) @ parts.N)
    show_law(system, parts, show)


def show_law(system: System, parts: Complement, show: Show) -> None:
    """I θ̈ + C θ̇ = τ + Jᵀλ: (17), (49), (54)."""
    tree = parts.tree
    number = "(54)" if system.model.loops else "(17)" if parts.centred else "(49)"
    words, uses = "I θ̈ + C θ̇ = τ" + (" + Jᵀλ" if system.model.loops else ""), ("I", "C")

    def rows() -> tuple[Array, Array]:
        turned = to_speed_rates(tree, system.algebra, list(system.q), list(system.qd), list(system.qdd))
        left = show.short(mass_matrix(parts.moving)) @ turned + convective(system, parts) @ joint_rates(system, tree)
        tau = efforts(system, parts)
        if system.model.loops:
            J = cut_joints(system, parts) @ parts.N
            tau = tau + J.T @ multipliers(system, len(J))
        return left, tau

    show.law(number, words, uses, rows)


def modular(system: System, modules: Named | None) -> Modular:
    """The tree by kinematic modules, found or named: (37)–(45)."""
    parts = complement_of(in_motion(system))
    return Modular(parts, modules_of(parts, modules))


def convective(system: System, parts: Complement) -> Array:
    """C(θ, θ̇) of (17), from N and Ṅ."""
    return parts.convective(_derivative(system, parts.N), joint_rates(system, parts.tree))


def joint_rates(system: System, tree: Tree) -> Array:
    """θ̇ = Y q̇."""
    return to_speeds(tree, system.algebra, list(system.q), list(system.qd))


def cut_joints(system: System, parts: Complement) -> Array:
    """A_en of (53): the rate of every row of the cut joints for the twists of the links on its two sides."""
    rows = loop_rows(system.motion)
    places = {body: i for i, node in enumerate(parts.shape) for body in node.bodies}
    out = zeros(len(rows), 6 * len(parts.links))
    for r, row in enumerate(rows):
        for body, side in zip(row.bodies, (-1, 1), strict=True):
            if body in places:
                i = places[body]
                turning = row.moment + cross(row.point - parts.links[i].point, row.force)
                out[r, 6 * i : 6 * i + 6] = out[r, 6 * i : 6 * i + 6] + side * stack(turning, row.force)
    return out


def steps(system: System, named: Naming, modules: Named | None = None) -> Iterator[Stage]:
    """Twists and wrenches outwards (22)–(24), wrenches inwards (25); elimination inwards, accelerations outwards (27)–(33).

    With `modules`, groups of bodies by name, the inverse dynamics goes from module to module (37)–(45).
    """
    parts = complement_of(in_motion(system))
    speeds, tree = joint_rates(system, parts.tree), parts.tree
    accelerations = to_speed_rates(tree, system.algebra, list(system.q), list(system.qd), list(system.qdd))
    phi = system.algebra.symbols([f"phi[{i + 1}]" for i in range(tree.n_speeds)])
    gravity = vector([system.lower(x) for x in system.model.gravity])
    along = partial(_derivative, system)
    walk = Walk(parts, named, speeds, accelerations, phi, gravity, along)
    if modules is None:
        yield from walk.inverse()
    else:
        whole = Modular(parts, modules_of(parts, modules))
        yield from ModuleWalk(whole, named, speeds, accelerations, gravity, along).inverse()
    if tree.decoupled:
        yield from walk.forward()
    law = "I θ̈ + C θ̇ = τ" + (" + Jᵀλ with J θ̇ = 0" if system.model.loops else "")
    yield Stage(law, tuple(final_equation(system, parts)))


def final_equation(system: System, parts: Complement) -> Iterator[Quantity]:
    """I, C and τ, gravity included, of (17), (49); J of (54)."""
    number = "(17)" if parts.centred else "(49)"
    yield Quantity("I", number, "generalized inertia matrix", lambda: mass_matrix(parts.moving))
    yield Quantity("C", number, "matrix of convective inertia", lambda: convective(system, parts))
    yield Quantity("tau", number, "what loads and gravity push along every joint rate", lambda: efforts(system, parts))
    if system.model.loops:
        yield Quantity("J", "(54)", "closes the cut joints", lambda: cut_joints(system, parts) @ parts.N)


def efforts(system: System, parts: Complement) -> Array:
    """τ = Nᵀ w^E of (17), with gravity among the external wrenches."""
    total = to_speed_forces(parts.tree, system.algebra, list(system.q), list(loads(system)))
    falling = stack(zeros(3), vector([system.lower(x) for x in system.model.gravity]))
    for link, N in zip(parts.links, parts.rows, strict=True):
        total = total + N.T @ (link.M @ falling)
    return total


def _derivative(system: System, f: Array) -> Array:
    """d/dt of a function of q and t."""
    return system.algebra.total_derivative(f, (system.q, system.qd), system.clock)
