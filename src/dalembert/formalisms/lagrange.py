"""Lagrange's equations with multipliers: the energies know everything, the constraints add their forces.

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

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import multipliers, show_bodies, shown_rows, vanishing
from dalembert.formalisms.shared.linear_form import LinearForm, Rows, in_velocities
from dalembert.formalisms.shared.linear_system import LinearSystem
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import generalized_forces, non_ideal_forces
from dalembert.mechanics.energies import kinetic, potential
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M q̈ = h + C + Aᵀλ with A q̈ = β."""
    algebra, q, qd = system.algebra, system.q, system.qd
    show_bodies(system, show)
    T = show("T", "(7)", "kinetic energy", kinetic(system.motion, qd))
    V = show("V", "Definition 1", "potential energy", potential(system.motion))
    L = show("L", "Definition 1", "the Lagrangian, T − V", T - V)
    p = show("p", "(13)", "momenta ∂L/∂q̇", algebra.gradient(T, qd))  # V does not contain q̇
    Q = show("Q", "(17)", "applied forces without potential", generalized_forces(system.motion))
    M = show("M", "(13)", "mass matrix, ∂p/∂q̇", algebra.jacobian(p, qd))
    pd = algebra.total_derivative(p, (q, qd), system.clock)  # d/dt ∂L/∂q̇ without its q̈ part
    h = show.last("h", "(17)", "all that is free of q̈: M q̈ = h + Aᵀλ", Q + algebra.gradient(L, q) - pd)
    A, beta = shown_rows(system, show, "(17)")
    lam, C = multipliers(system, len(beta)), non_ideal_forces(system.motion)
    if len(beta) and system.facts.levels.held == len(system.facts.levels.names):
        show.also(
            "L_aug", "desapio (5.264)", "the augmented Lagrangian, L + λᵀφ", lambda: np.array(L + lam @ system.phi)
        )
    words = "d/dt ∂L/∂q̇ − ∂L/∂q = Q" + (" + C" if C is not None else "") + (" + Aᵀλ" if len(beta) else "")
    push = h if C is None else h + C
    show.law("(17)", words, ("M", "h"), lambda: vanishing(M @ system.qdd - push - A.T @ lam))
    if len(beta):
        show.law("(17)", "A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta))
    return in_velocities("lagrange", system, LinearSystem(M, h, A, beta, C), Rows.INDEPENDENT)
