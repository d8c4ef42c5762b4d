"""Routh's equations: the constant momenta of ignorable coordinates enter the Routhian, which replaces L.

Source: papers/volterra, introduction, (13)–(16), (22)–(26) and Table 1.

| symbol | name | meaning |
|---|---|---|
| q_I, q_NI | `I`, `N` | ignorable and other coordinates (Definition 1) |
| G_I = ∂T/∂q̇_I | `G` | constant momenta, from the initial state |
| q̇_I(q, q̇_NI, t) | `qd_I` | from G_I = M₂₁ q̇_NI + M₂₂ q̇_I + N₂ |
| R = L − G_I·q̇_I | `R` | the Routhian |

    d/dt ∂R/∂q̇_NI − ∂R/∂q_NI = Q_NI + A_NIᵀ λ
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import define_bodies, multipliers, vanishing
from dalembert.formalisms.shared.linear_form import AccelerationRows, Constants, LinearForm, LinearSystem, VelocityMap
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, vector, zeros
from dalembert.symbolic.elimination import ldl_solve
from dalembert.symbolic.symbols import SymbolKind

ABOUT = About(
    key="routh",
    title="Routh's equations",
    source="papers/volterra (13)–(16), (22)–(26), Table 1 and ref. [8]",
    needs="energies",
    velocities=Velocities.FREE_RATES,
    count="n − s",
    lineage=("T", "V"),
    servo=True,
    nonlinear=True,
    compiles="large",
    citation="""@book{routh1877,
  author = {Routh, Edward John},
  title = {A Treatise on the Stability of a Given State of Motion},
  publisher = {Macmillan},
  address = {London},
  year = {1877}
}""",
)


def derive(system: System) -> Derived:
    """M_R q̈_NI = f + A_NIᵀλ with A_NI q̈_NI = β."""
    define, algebra, q, names = Definitions(system), system.algebra, system.q, system.model.coordinate_names
    I = list(system.facts.ignorable)  # noqa: E741
    N = [i for i in range(len(q)) if i not in I]
    v, G = system.qd[N], algebra.symbols([SymbolKind.CONSTANT.of(names[i]) for i in I])
    define_bodies(define, system)
    T = define("T", kinetic(system.motion, system.qd), "kinetic energy", "(7)")
    momenta, qd_I = algebra.gradient(T, system.qd[I]), zeros(0)  # (22)
    if I:
        momenta = define("p_I", momenta, "constant momenta of the ignorable coordinates", "(22)")
        M22 = algebra.jacobian(momenta, system.qd[I])  # (14)
        rest = algebra.substitute(momenta, {str(x): 0 for x in system.qd[I]})  # M₂₁ q̇_NI + N₂, (23)
        qd_I = define("qd_I", ldl_solve(algebra, M22, G - rest), "rates of the ignorable coordinates", "(23)")
    eliminated = {str(x): value for x, value in zip(system.qd[I], qd_I, strict=True)}
    (L,) = algebra.substitute(vector([T - potential(system.motion)]), eliminated)
    R = define("R", L - G @ qd_I if I else L, "the Routhian, L − G_I·q̇_I", "Table 1")
    p = algebra.gradient(R, v)
    qd, W, bias = zeros(len(q)), zeros(len(q), len(N)), zeros(len(q))
    qd[N], qd[I] = v, qd_I
    along = ((q, qd), system.clock)
    Q, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
    f = algebra.substitute(Q[N], eliminated) + algebra.gradient(R, q)[N] - algebra.total_derivative(p, *along)
    W[N], W[I] = identity(len(N)), algebra.jacobian(qd_I, v)
    bias[I] = algebra.total_derivative(qd_I, *along)
    A, beta = algebra.substitute(system.A[:, N], eliminated), algebra.substitute(system.beta, eliminated)
    C = None if C is None else algebra.substitute(C[N], eliminated)
    M = algebra.jacobian(p, v)
    push, lam, qdd_N = f if C is None else f + C, multipliers(system, len(beta)), system.qdd[N]
    words = "d/dt ∂R/∂q̇_NI − ∂R/∂q_NI = Q_NI" + (" + A_NIᵀλ" if len(beta) else "")
    define.law(words, ("R",), lambda: vanishing(M @ qdd_N - push - A.T @ lam), "(18)")
    if len(beta):
        define.law("A_NI q̈_NI = β", (), lambda: (A @ qdd_N, beta), "(18)")
    if I:
        define.law("q̇_I = M₂₂⁻¹ (G_I − M₂₁ q̇_NI − N₂)", ("qd_I",), lambda: (system.qd[I], qd_I), "(23)")
    ignored = ", ".join(names[i] for i in I)
    note = f"the momenta of {ignored} are constants of the motion"
    note = note if I else "no coordinate is ignorable: the Routhian is the Lagrangian"
    return define.derived(
        LinearForm(
            formalism="routh",
            system=system,
            velocity=VelocityMap(v, v, qd, W, bias),
            linear=LinearSystem(M, f, A, beta, C),
            rows=AccelerationRows.INDEPENDENT,
            constants=Constants(G, momenta),
            notes=(note,),
            reaction=reaction,
        )
    )


def reaction(system: System) -> Array:
    """d/dt ∂R/∂q̇_NI − ∂R/∂q_NI − Q_NI, zero for the ignorable coordinates: papers/volterra (18)(19)."""
    linear, out = derive(system).form.linear, zeros(len(system.q))
    N = [i for i in range(len(system.q)) if i not in system.facts.ignorable]
    out[N] = linear.M @ system.qdd[N] - linear.f
    return out
