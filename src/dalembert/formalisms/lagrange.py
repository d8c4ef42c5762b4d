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

from dalembert.equations import About, LinearForm, Rows, Velocities, constrained, in_velocities
from dalembert.kinematics import generalized_forces, kinetic, potential
from dalembert.structure import System

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


def derive(system: System) -> LinearForm:
    """M q̈ = h + Aᵀλ with A q̈ = β."""
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = kinetic(system.motion, qd), potential(system.motion)  # (7)
    Q = generalized_forces(system.motion)
    p = algebra.gradient(T, qd)  # ∂L/∂q̇, since V does not contain q̇
    M = algebra.jacobian(p, qd)  # (13)
    pd = algebra.total_derivative(p, (q, qd), system.clock)  # d/dt ∂L/∂q̇ without its q̈ part
    h = Q + algebra.gradient(T - V, q) - pd  # (17)
    return in_velocities("lagrange", system, constrained(system, M, h, Rows.INDEPENDENT), Rows.INDEPENDENT)
