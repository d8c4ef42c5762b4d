"""Maggi's equations: Lagrange's operators projected on the directions the constraints leave free, closed by A q̈ = β.

Source: papers/volterra, ref. [11], in the form its authors compute with; W from (4)(5).

| symbol | name | meaning |
|---|---|---|
| M q̈ − h | `M`, `h` | Lagrange's operators d/dt ∂L/∂q̇ − ∂L/∂q − Q |
| W | `W` | q̇ = W u + X; its columns span the free directions |
| A q̈ = β | `system.A`, `system.beta` | constraints at acceleration level |
"""

from __future__ import annotations

from dalembert.algebra import stack, zeros
from dalembert.equations import About, LinearForm, LinearSystem, Rows, Velocities, in_velocities
from dalembert.equations.free_motion import free_equations, unexplained_force
from dalembert.equations.quantities import SILENT, Show
from dalembert.kinematics import non_ideal_forces
from dalembert.structure import System

ABOUT = About(
    key="maggi",
    title="Maggi's equations",
    source="papers/volterra (4)(5) and ref. [11]",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    along_speeds=True,
    citation="""@article{maggi1901,
  author = {Maggi, Gian Antonio},
  title = {Di alcune nuove forme delle equazioni della dinamica applicabili ai sistemi anolonomi},
  journal = {Rendiconti della Regia Accademia dei Lincei},
  volume = {10},
  pages = {287--291},
  year = {1901}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """[WᵀM; A] q̈ = [Wᵀh; β]."""
    M, h = free_equations(system)
    W, C = system.speeds.W, non_ideal_forces(system.motion)  # (5)
    push = None if C is None else stack(W.T @ C, zeros(len(system.facts.rows)))
    linear = LinearSystem.without_rows(stack(W.T @ M, system.A), stack(W.T @ h, system.beta), push)
    return in_velocities("maggi", system, linear, Rows.NONE, order=system.facts.maggi_order)


reaction = unexplained_force  # M q̈ − h: what Lagrange's operators leave over
