"""Lagrange's equations with multipliers: equations from the energies, with constraint forces added by multipliers.

Source: papers/volterra (7), (13), (17).

| symbol | name | meaning |
|---|---|---|
| T, V | `T`, `V` | kinetic and potential energy |
| p = ∂T/∂q̇ | `p` | generalized momenta |
| M, h | `M`, `h` | M q̈ = h + Aᵀλ |
| Q | `Q` | applied generalized forces without potential |
| A q̈ = β | `system.A`, `system.beta` | constraints at acceleration level |
"""

from __future__ import annotations

import numpy as np

from dalembert.formalisms.shared.common_quantities import define_bodies, define_rows, multipliers, vanishing
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearSystem, in_velocities
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.system import System

ABOUT = About(
    key="lagrange",
    title="Lagrange's equations with multipliers",
    source="papers/volterra (17)",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    compiles="large",
    citation="""@book{lagrange1788,
  author = {Lagrange, Joseph-Louis},
  title = {M\\'echanique analitique},
  address = {Paris},
  year = {1788}
}""",
)


def derive(system: System) -> Derived:
    """M q̈ = h + C + Aᵀλ with A q̈ = β."""
    define, algebra, q, qd = Definitions(system), system.algebra, system.q, system.qd
    define_bodies(define, system)
    T = define("T", kinetic(system.motion, qd), "kinetic energy", "(7)")
    V = define("V", potential(system.motion), "potential energy", "Definition 1")
    L = define("L", T - V, "the Lagrangian, T − V", "Definition 1")
    p = define("p", algebra.gradient(T, qd), "momenta ∂L/∂q̇", "(13)")  # V does not contain q̇
    Q = define("Q", generalized_forces(system.motion), "applied forces without potential", "(17)")
    M = define("M", algebra.jacobian(p, qd), "mass matrix, ∂p/∂q̇", "(13)")
    h = Q + algebra.gradient(L, q) - algebra.total_derivative(p, (q, qd), system.clock)
    h = define.velocity_terms("h", h, "terms without q̈: M q̈ = h + Aᵀλ", "(17)")
    A, beta = define_rows(define, system, "(17)")
    lam, C = multipliers(system, len(beta)), non_ideal_forces(system.motion)
    if len(beta) and system.facts.levels.n_holonomic == len(system.facts.levels.names):
        augmented = lambda: np.array(L + lam @ system.phi)  # noqa: E731
        define("L_aug", augmented, "the augmented Lagrangian, L + λᵀφ", "desapio (5.264)")
    words = "d/dt ∂L/∂q̇ − ∂L/∂q = Q" + (" + C" if C is not None else "") + (" + Aᵀλ" if len(beta) else "")
    push = h if C is None else h + C
    define.law(words, ("M", "h"), lambda: vanishing(M @ system.qdd - push - A.T @ lam), "(17)")
    if len(beta):
        define.law("A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta), "(17)")
    return define.derived(
        in_velocities("lagrange", system, LinearSystem(M, h, A, beta, C), AccelerationRows.INDEPENDENT)
    )
